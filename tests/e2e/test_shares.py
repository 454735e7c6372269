"""A conversation that is shared by a link, read by a colleague, and continued."""

import re

import axe
import pytest
from chat import Chat, first
from conftest import E2E_LOGS
from playwright.sync_api import expect

OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.mark.parametrize("scheme,width", [("light", 1440), ("dark", 390)])
def test_a_colleague_reads_and_continues(odoo, scripted_llm, page_of, scheme, width):
    question = f"Which bird sings {scheme}?"
    scripted_llm.script(
        first(question, {"content": "A **Zebrafink**."}),
        first("Does it sing?", {"content": "It does."}),
    )
    chat = Chat(odoo, "demo")
    chat.ask(question).wait_ended()
    look = {"viewport": {"width": width, "height": 844}, "color_scheme": scheme}
    page = page_of(odoo, "demo", **look)
    page.goto(f"/my/ai/{chat.id}")
    page.get_by_role("button", name="Export").click()
    with page.context.expect_page() as opened:
        page.get_by_role("menuitem", name="Share").click()
    sharing = opened.value
    expect(sharing.get_by_role("heading", level=1)).to_have_text("Share This Conversation")
    expect(sharing.locator(".o_woow_shared_text strong")).to_have_text("Zebrafink")
    assert axe.violations(sharing, "main") == []
    assert sharing.evaluate(OVERFLOW) <= 0
    sharing.screenshot(path=E2E_LOGS / f"share-{width}.png")
    sharing.get_by_label("1 day").check()
    sharing.get_by_role("button", name="Share This Text").click()
    link = sharing.get_by_label("Copy this link now")
    expect(link).to_be_focused()
    address = link.input_value()
    assert axe.violations(sharing, "main") == []

    reader = page_of(odoo, "admin", **look)
    reader.goto(address)
    expect(reader.locator(".o_woow_shared_text strong")).to_have_text("Zebrafink")
    assert axe.violations(reader, "main") == []
    assert reader.evaluate(OVERFLOW) <= 0
    reader.screenshot(path=E2E_LOGS / f"shared-{width}.png")
    reader.get_by_role("button", name="Continue from Here").click()
    expect(reader).to_have_url(re.compile(r"/my/ai/\d+$"))
    beginning = reader.locator(".o_ai_chat_message_assistant").first
    expect(beginning.locator("strong", has_text="Zebrafink")).to_be_visible()
    expect(beginning).to_contain_text(f"This conversation continues “{question}”, shared by")
    reader.locator(".o_ai_chat_input").fill("Does it sing?")
    reader.keyboard.press("Enter")
    expect(reader.locator(".o_ai_chat_message_assistant").last).to_contain_text("It does.")
    assert axe.violations(reader, ".o_ai_chat") == []

    sharing.goto("/my/ai/shares")
    assert axe.violations(sharing, "main") == []
    assert sharing.evaluate(OVERFLOW) <= 0
    sharing.get_by_role("button", name=f"Revoke {question}").click()
    expect(sharing.locator(".o_woow_share", has_text=question)).to_have_count(0)
    reader.goto(address)
    expect(reader.locator(".o_woow_gone")).to_be_visible()


def test_the_owner_goes_on_from_an_answer(odoo, scripted_llm, page_of):
    scripted_llm.script(first("Which fish?", {"content": "A trout."}))
    chat = Chat(odoo, "demo")
    chat.ask("Which fish?").wait_ended()
    page = page_of(odoo, "demo")
    page.goto(f"/my/ai/{chat.id}")
    page.get_by_role("button", name="Continue from here in a new conversation").click()
    said = page.locator(".o_ai_chat_message_assistant")
    expect(said).to_contain_text("This conversation continues “Which fish?”.")
    expect(said).to_contain_text("A trout.")
    expect(page).not_to_have_url(re.compile(rf"/my/ai/{chat.id}$"))
