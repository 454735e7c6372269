"""What an administrator sees first, and how far it is from nothing to the first answer."""

import re

import axe
import pytest
from chat import Chat, calls, first
from conftest import E2E_LOGS
from playwright.sync_api import expect

MOST_CLICKS = 12
MOST_FIELDS = 5
KINDS = ("ai.assistant", "ai.config", "woow_paas_platform.mcp_server")


@pytest.fixture
def nothing(odoo):
    """Nothing is set up; what was there comes back afterwards."""
    found = {kind: odoo.rpc(kind, "search", []) for kind in KINDS}
    for kind, ids in found.items():
        odoo.rpc(kind, "write", ids, {"active": False})
    yield odoo
    for kind in KINDS:
        odoo.rpc(kind, "unlink", odoo.rpc(kind, "search", []))
    for kind, ids in reversed(found.items()):
        odoo.rpc(kind, "write", ids, {"active": True})


class Walk:
    """A person at the set-up: each click and each field is counted."""

    def __init__(self, page):
        self.page = page
        self.clicks = self.fields = 0

    def click(self, name):
        self.clicks += 1
        self.page.get_by_role("button", name=name, exact=True).last.click()

    def fill(self, field, text):
        self.fields += 1
        self.page.locator(f".modal [name='{field}'] input").first.fill(text)

    def save(self):
        self.click("Save")
        expect(self.page.locator(".modal")).to_have_count(0)

    def step(self, name):
        return self.page.locator(f"[data-step='{name}']")


def test_a_step_is_taken_though_the_page_is_loaded_again_meanwhile(nothing, page_of):
    page = page_of(nothing, "admin")
    page.goto("/odoo/ai-overview")
    walk, held = Walk(page), []
    expect(walk.step("provider")).to_be_visible()
    page.route("**/get_overview*", lambda route: route.continue_() if held else held.append(route))
    page.evaluate(
        "() => void odoo.__WOWL_DEBUG__.root.env.services.action.doAction("
        "{ type: 'ir.actions.client', tag: 'soft_reload' })"
    )
    walk.click("Add a model")
    expect(page.locator(".modal [name='api_base_url']")).to_be_visible()
    held[0].continue_()
    walk.fill("name", "Model of a page that is gone")
    walk.fill("api_base_url", "http://127.0.0.1:1/v1")
    walk.fill("model", "gpt-4o")
    walk.save()
    expect(walk.step("provider")).to_contain_text("Test the model")


def test_from_nothing_to_the_first_answer(nothing, mcp_time, scripted_llm, page_of):
    scripted_llm.script(
        first("Call the tool report_ready now", calls(("report_ready", {}))),
        first("Hello", {"content": "Good morning."}),
    )
    page = page_of(nothing, "admin")
    page.goto("/odoo/ai-overview")
    walk = Walk(page)
    walk.click("Add a model")
    walk.fill("name", "First model")
    walk.fill("api_base_url", scripted_llm.base_url)
    walk.fill("model", "gpt-4o")
    walk.save()
    expect(walk.step("provider")).to_have_attribute("data-done", "false")
    walk.click("Test the model")
    walk.click("Test Provider")
    expect(page.locator(".o_woow_steps")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(".o_woow_steps")).to_have_count(0)
    page.keyboard.press("Escape")
    expect(walk.step("provider")).to_have_attribute("data-done", "true")
    walk.click("Add an MCP server")
    walk.fill("name", "first clock")
    walk.fill("url", mcp_time.url)
    walk.save()
    expect(walk.step("tools")).to_have_attribute("data-done", "true")
    walk.click("Create an assistant")
    walk.save()
    expect(page.locator("[data-step='assistant'][data-done='false']")).to_have_count(0)
    page.goto("/odoo/ai-chat")
    walk.clicks += 1  # the button of the last step, which is gone where an answer was given before
    page.locator(".o_ai_chat_input").fill("Hello")
    page.keyboard.press("Enter")
    expect(page.locator(".o_ai_chat_message_assistant")).to_contain_text("Good morning.")
    assert walk.clicks <= MOST_CLICKS
    assert walk.fields <= MOST_FIELDS


@pytest.mark.parametrize("size", [(1440, 900), (390, 844)], ids=["desktop", "phone"])
def test_the_overview(odoo, page_of, size):
    page = page_of(odoo, "admin", viewport={"width": size[0], "height": size[1]})
    page.goto("/odoo")
    page.goto("/odoo/ai-overview")
    expect(page.locator("[data-number='turns'] td").first).to_have_text(re.compile(r"^\d"))
    expect(page.locator(".o_woow_chart canvas")).to_have_count(3)
    assert axe.violations(page, ".o_woow_overview") == []
    page.locator("[data-state='connected']").click()
    expect(page.locator(".o_list_view, .o_kanban_view").first).to_be_visible()


def test_what_was_spent(odoo, scripted_llm, page_of):
    scripted_llm.script(first("Spend a little", {"content": "Done."}))
    values = {"model": "gpt-4o*", "valid_from": "2020-01-01", "input_price": 5e4, "output_price": 0}
    price = odoo.rpc("woow_paas_platform.price", "create", [values])
    assert Chat(odoo).ask("Spend a little").wait_ended() == "done"
    page = page_of(odoo, "admin", viewport={"width": 1440, "height": 900})
    page.goto("/odoo/ai-overview")
    costs = page.locator(".o_woow_costs")
    expect(costs.locator("[data-cost='month'] dd")).to_have_text(re.compile(r"\$\s[1-9]"))
    expect(costs).to_contain_text("Demo Assistant")
    assert axe.violations(page, ".o_woow_costs") == []
    costs.scroll_into_view_if_needed()
    page.screenshot(path=E2E_LOGS / "overview-costs-1440.png")
    page.set_viewport_size({"width": 390, "height": 844})
    page.reload()
    expect(costs).to_contain_text("Demo Assistant")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    costs.scroll_into_view_if_needed()
    page.screenshot(path=E2E_LOGS / "overview-costs-390.png")
    costs.get_by_role("button", name="All costs").click()
    expect(page.locator(".o_pivot")).to_contain_text("Demo Assistant")
    odoo.rpc("woow_paas_platform.price", "unlink", price)
