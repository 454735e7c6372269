"""Assistants of a cloud service in a browser: made and changed by its owner in the portal, asked by a member."""

import axe
import languages
import pytest
from chat import first
from conftest import E2E_LOGS
from playwright.sync_api import expect

WIDE, PHONE = {"width": 1440, "height": 900}, {"width": 390, "height": 844}
INSTRUCTIONS = "Answer for flows.\nBe brief."


@pytest.fixture
def service(odoo):
    """The demo's cloud service, whose owner may choose the demo's provider and the server of time."""
    [service] = odoo.rpc("woow_paas_platform.cloud_service", "search", [])
    switch = ["woow_paas_platform.owner_assistants", "True"]
    odoo.rpc("ir.config_parameter", "set_param", *switch)
    offered = {
        "ai.config": odoo.rpc("ai.config", "search", [("name", "=", "Demo Model")]),
        "woow_paas_platform.mcp_server": odoo.rpc(
            "woow_paas_platform.mcp_server", "search", [("name", "=", "time")]
        ),
    }
    for model, ids in offered.items():
        odoo.rpc(model, "write", ids, {"is_for_owners": True})
    yield service
    own = [("cloud_service_id", "=", service), ("active", "in", [True, False])]
    odoo.rpc("ai.assistant", "unlink", odoo.rpc("ai.assistant", "search", own))
    for model, ids in offered.items():
        odoo.rpc(model, "write", ids, {"is_for_owners": False})
    odoo.rpc("ir.config_parameter", "set_param", switch[0], False)


def looked_at(page, name):
    """Wide, and on a phone in the dark, the page is whole, and everybody can read and reach its parts."""
    for size, look in ((PHONE, "dark"), (WIDE, "light")):
        page.set_viewport_size(size)
        page.evaluate("look => document.querySelector('main').dataset.bsTheme = look", look)
        assert axe.violations(page, "main") == []
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        page.screenshot(path=E2E_LOGS / f"service-assistants-{name}-{size['width']}.png")


def test_an_owner_makes_one_that_a_member_asks(odoo, service, page_of, scripted_llm):
    asked, name = "What runs?", "Flow helper"
    scripted_llm.script(first(asked, {"content": "Two flows."}))
    owner = page_of(odoo, "owner", viewport=WIDE)
    owner.goto("/my/services")
    owner.get_by_role("link", name="n8n Automation").click()
    owner.get_by_role("link", name="Assistants", exact=True).click()
    owner.get_by_role("button", name="Add an assistant").click()
    form = owner.locator(".o_woow_assistant_form")
    expect(form.get_by_label("Name")).to_be_focused()
    form.get_by_label("Name").fill(name)
    form.get_by_label("Instructions").fill(INSTRUCTIONS)
    form.get_by_label("Greeting").fill("Ask me about flows")
    form.get_by_label("time").check()
    looked_at(owner, "form")
    form.get_by_role("button", name="Save").click()
    card = owner.locator(f'.o_woow_assistant[data-assistant="{name}"]')
    expect(card.get_by_role("button", name="Edit")).to_be_visible()

    member = page_of(odoo, "user", viewport=WIDE)
    member.goto("/my/ai")
    expect(member.locator(".o_ai_chat_input")).to_be_visible()
    expect(member.get_by_text(name)).to_have_count(0)
    member.goto(f"/my/services/{service}/chat")
    member.locator(".o_ai_chat_choice", has_text=name).click()
    expect(member.get_by_role("heading", name="Ask me about flows")).to_be_visible()
    member.locator(".o_ai_chat_input").fill(asked)
    member.keyboard.press("Enter")
    expect(member.locator(".o_ai_chat_message_assistant")).to_contain_text("Two flows.")
    said = str(scripted_llm.requests()[-1]["body"]["messages"])
    assert "Answer for flows." in said
    member.locator("[data-rating='good']").click()
    expect(member.locator("[data-rating='good']")).to_have_attribute("aria-pressed", "true")

    card.get_by_role("button", name="Edit").click()
    form.get_by_label("Instructions").fill("Answer for flows.\nBe <i>exact</i>.")
    form.get_by_label("Reason for this change").fill("Too short")
    form.get_by_role("button", name="Save").click()
    card.get_by_role("button", name="Versions").click()
    versions = card.locator(".o_woow_version")
    expect(versions).to_have_count(2)
    expect(versions.first).to_contain_text("Too short")
    versions.first.locator("summary").click()
    expect(versions.first.locator("ins")).to_have_text("+ Be <i>exact</i>.")
    expect(versions.first.locator("del")).to_have_text("- Be brief.")
    looked_at(owner, "versions")
    card.get_by_role("button", name="Restore version 1").click()
    expect(card.locator(".o_woow_told")).to_have_text("Version 1 restored")
    expect(versions).to_have_count(3)
    card.get_by_role("button", name="Edit").click()
    expect(form.get_by_label("Instructions")).to_have_value(INSTRUCTIONS)
    owner.keyboard.press("Escape")
    card.get_by_role("button", name="Ratings").click()
    expect(card.locator(".o_woow_good")).to_have_text("1")
    looked_at(owner, "ratings")

    card.get_by_role("switch").click()
    expect(card).to_contain_text("Off")
    member.reload()
    expect(member.get_by_text("This assistant is no longer available to you.")).to_be_visible()
    card.get_by_role("button", name="Delete").click()
    owner.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(card).to_have_count(0)


@pytest.fixture
def chinese_owner(odoo):
    languages.install(odoo, "zh_TW")
    users = odoo.rpc("res.users", "search", [("login", "=", "owner")])
    odoo.rpc("res.users", "write", users, {"lang": "zh_TW"})
    odoo.forget_sessions()
    yield
    odoo.rpc("res.users", "write", users, {"lang": "en_US"})
    odoo.forget_sessions()


def test_on_a_phone_in_the_dark_in_chinese(odoo, service, chinese_owner, page_of):
    name = "流程小幫手"
    page = page_of(odoo, "owner", viewport=PHONE, has_touch=True)
    page.add_init_script(
        "document.addEventListener('DOMContentLoaded', () =>"
        " document.querySelector('main')?.setAttribute('data-bs-theme', 'dark'))"
    )
    path = f"/my/services/{service}/assistants"
    page.goto(path)
    page.get_by_role("button", name="新增助理").tap()
    form = page.locator(".o_woow_assistant_form")
    form.get_by_label("名稱").fill(name)
    form.get_by_label("指示").fill("只回答流程的問題。")
    is_whole(page, "zh-form")
    form.get_by_role("button", name="儲存").tap()
    card = page.locator(f'.o_woow_assistant[data-assistant="{name}"]')
    parts = card.get_by_role("button")
    parts.filter(has_text="編輯").tap()
    form.get_by_label("指示").fill("請簡短回答。")
    form.get_by_role("button", name="儲存").tap()
    parts.filter(has_text="版本").tap()
    versions = card.locator(".o_woow_version")
    expect(versions).to_have_count(2)
    versions.first.locator("summary").tap()
    expect(versions.first.locator("ins")).to_have_text("+ 請簡短回答。")
    is_whole(page, "zh-versions")
    versions.last.get_by_role("button").tap()
    expect(versions).to_have_count(3)

    [made] = odoo.rpc("ai.assistant", "search", [("cloud_service_id", "=", service)])
    admin = page_of(odoo, "admin", viewport=WIDE)
    admin.goto(f"/odoo/ai-assistants/{made}")
    admin.locator("button[name='action_lock']").click()
    dialog = admin.get_by_role("dialog")
    dialog.get_by_label("Reason").fill("Asks for passwords")
    dialog.get_by_role("button", name="Lock", exact=True).click()
    lock = admin.locator(".alert", has_text="Asks for passwords")
    expect(lock).to_contain_text(name)
    admin.screenshot(path=E2E_LOGS / "service-assistants-lock-backend.png")
    page.goto(path)
    expect(card.locator(".o_woow_lock")).to_contain_text("Asks for passwords")
    expect(card.get_by_role("switch")).to_be_disabled()
    card.locator(".o_woow_assistant_toggle").tap()
    for label in ("編輯", "刪除"):
        expect(parts.filter(has_text=label)).to_have_count(0)
    is_whole(page, "zh-locked")
    admin.locator("button[name='action_unlock']").click()
    expect(lock).to_be_hidden()
    page.goto(path)
    card.get_by_role("switch").tap()
    expect(card.locator(".badge")).to_have_count(0)
    card.locator(".o_woow_assistant_toggle").tap()
    parts.filter(has_text="刪除").tap()
    page.get_by_role("dialog").get_by_role("button", name="刪除").tap()
    expect(card).to_have_count(0)


def is_whole(page, name):
    assert page.evaluate("document.querySelector('main').dataset.bsTheme") == "dark"
    assert axe.violations(page, "main") == []
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    page.screenshot(path=E2E_LOGS / f"service-assistants-{name}.png")
