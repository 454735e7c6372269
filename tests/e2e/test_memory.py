"""AI settings in a browser: a fact from chat to memory and out of it, and the daily digest."""

import re

import axe
from chat import calls, first, then
from conftest import E2E_LOGS
from playwright.sync_api import expect

FACT, OTHER = "I prefer short answers.", "I prefer long answers."
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


def ask(page, text):
    page.goto("/my/ai")
    page.locator(".o_ai_chat_input").fill(text)
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/my/ai/\d+$"))


def test_a_fact_from_the_chat_to_the_settings(odoo, scripted_llm, page_of):
    scripted_llm.script(
        first("Please remember", calls(("remember", {"text": FACT}))),
        then("Please remember", {"content": "It is in my memory."}),
        first("What do you know?", {"content": "How you like answers."}),
    )
    page = page_of(odoo, "user")
    page.goto("/my/ai/memory")
    expect(page.locator("main")).to_contain_text("Memory is off.")
    page.get_by_role("button", name="Turn on").click()
    expect(page.locator("main")).to_contain_text("Memory is on.")

    ask(page, "Please remember")
    form = page.get_by_role("group", name=re.compile("Allow the assistant to call"))
    expect(form).to_contain_text("Assistants read what you allow here")
    expect(form.get_by_label("text")).to_have_value(FACT)
    assert axe.violations(page, ".o_ai_chat_approval") == []
    page.screenshot(path=E2E_LOGS / "memory-card-1440.png")
    form.get_by_label("text").fill(OTHER)
    form.get_by_role("button", name="Allow once").click()
    expect(page.locator(".o_ai_chat_message_assistant")).to_contain_text("It is in my memory.")

    ask(page, "What do you know?")
    expect(page.locator(".o_ai_chat_message_assistant")).to_contain_text("How you like answers.")
    messages = scripted_llm.requests()[-1]["body"]["messages"]
    told = [one for one in messages if OTHER in str(one["content"])]
    assert [one["role"] for one in told] == ["user"] and FACT not in str(messages)

    page.goto("/my/ai/memory")
    field = page.get_by_label("Remembered fact")
    expect(field).to_have_value(OTHER)
    page.screenshot(path=E2E_LOGS / "memory-1440.png")
    assert axe.violations(page, "main") == []
    field.fill(FACT)
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name=f"Save “{FACT}”")).to_be_visible()
    page.context.add_cookies([{"name": "color_scheme", "value": "dark", "url": page.url}])
    page.set_viewport_size({"width": 390, "height": 800})
    page.reload()
    assert axe.violations(page, "main") == []
    assert page.evaluate(OVERFLOW) <= 0
    page.screenshot(path=E2E_LOGS / "memory-390-dark.png")
    page.get_by_role("button", name=f"Delete “{FACT}”").click()
    expect(page.locator("main")).to_contain_text("Nothing is remembered about you.")
    page.get_by_role("button", name="Turn off").click()
    expect(page.locator("main")).to_contain_text("Memory is off.")


def test_the_daily_digest_is_switched_on(odoo, page_of):
    page = page_of(odoo, "user")
    page.goto("/my/ai/notifications")
    buttons = page.get_by_role("button", name="Turn on")
    buttons.last.click()
    expect(page.get_by_role("status").last).to_have_text("Currently on")
    [user] = odoo.rpc("res.users", "search_read", [("login", "=", "user")], ["woow_ai_digest"])
    assert user["woow_ai_digest"]
    assert axe.violations(page, "main") == []
    page.context.add_cookies([{"name": "color_scheme", "value": "dark", "url": page.url}])
    page.set_viewport_size({"width": 390, "height": 800})
    page.reload()
    assert axe.violations(page, "main") == []
    assert page.evaluate(OVERFLOW) <= 0
    page.screenshot(path=E2E_LOGS / "notifications-390-dark.png")
    page.get_by_role("button", name="Turn off").last.click()
    expect(page.get_by_role("status").last).to_have_text("Currently off")
