"""What servers have to read becomes files of a message: found, read, sent, told to the model, kept."""

import re

import axe
from chat import first
from playwright.sync_api import expect

DARK = {"name": "color_scheme", "value": "dark"}


def open_picker(page):
    page.get_by_role("button", name="Attach").click()
    page.get_by_role("menuitem", name="From a server…").click()
    picker = page.locator(".o_ai_chat_resources")
    expect(picker.get_by_role("option").first).to_be_visible()
    return picker


def test_resources_are_found_attached_and_found_again(odoo, scripted_llm, page_of):
    scripted_llm.script(first("architecture.md", {"content": "I have read both."}))
    page = page_of(odoo, "user")
    page.goto("/my/ai")
    page.locator(".o_ai_chat_input").fill("What do they say?")
    picker = open_picker(page)
    expect(page).to_have_url(re.compile(r"/my/ai$"))
    expect(page.locator(".o_ai_chat_input")).to_have_value("What do they say?")
    assert axe.violations(page, ".o_ai_chat") == []
    page.keyboard.type("architecture")
    expect(picker.get_by_role("option")).to_have_count(1)
    page.keyboard.press("Enter")
    chips = page.locator(".o_ai_chat_chip_name")
    expect(chips).to_have_text(["architecture.md"])
    expect(page).to_have_url(re.compile(r"/my/ai/\d+$"))
    expect(page.locator(".o_ai_chat_input")).to_be_focused()
    expect(page.locator(".o_ai_chat_input")).to_have_value("What do they say?")

    picker = open_picker(page)
    page.keyboard.type("dynamic text")
    page.keyboard.press("Enter")
    expect(picker.locator("form input")).to_be_focused()
    page.keyboard.type("7")
    page.keyboard.press("Enter")
    expect(chips).to_have_text(["architecture.md", "Dynamic Text Resource"])
    page.keyboard.press("Enter")

    expect(page.locator(".o_ai_chat_message_assistant")).to_contain_text("I have read both.")
    question = page.locator(".o_ai_chat_message_user")
    for _time in ("as it was sent", "as the history has it"):
        expect(question.get_by_role("link", name="architecture.md")).to_be_visible()
        expect(question).to_contain_text("everything · demo://resource/dynamic/text/7")
        page.reload()
    told = str(scripted_llm.requests()[-1]["body"]["messages"])
    assert "demo://resource/dynamic/text/7" in told and "Resource 7" in told


def test_the_list_in_the_dark_on_a_phone(odoo, scripted_llm, page_of):
    page = page_of(odoo, "user", viewport={"width": 375, "height": 720})
    page.context.add_cookies([{**DARK, "url": odoo.url}])
    page.goto("/my/ai")
    picker = open_picker(page)
    assert axe.violations(page, ".o_ai_chat") == []
    picker.get_by_role("option", name="Dynamic Text Resource").click()
    expect(picker.locator("input")).to_be_focused()
    assert axe.violations(page, ".o_ai_chat") == []
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
