"""The card that asks, in a real browser; decided with the keyboard, after a reload, in a second browser."""

import re

import axe
import pytest
from chat import at_last, calls, first, then
from conftest import E2E_LOGS
from counter import count
from playwright.sync_api import expect

GRANTS = "woow_paas_platform.tool_grant"


def ask(page, text):
    # what an answer said last is shown before its turn has ended, and until then nothing is sent
    expect(page.locator(".o_ai_chat_stop")).to_have_count(0)
    page.locator(".o_ai_chat_input").fill(text)
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/my/ai/\d+$"))


def test_allow_with_changed_arguments_after_a_reload(careful, scripted_llm, counter, page_of):
    scripted_llm.script(
        first("Please count", calls(count("card-wanted"))),
        then("Please count", {"content": "It is **counted**."}),
    )
    page = page_of(careful, "user")
    page.goto("/my/ai")
    ask(page, "Please count")
    card = page.locator(".o_ai_chat_tool")
    expect(card).to_have_attribute("data-outcome", "asked")
    page.reload()
    expect(card).to_have_attribute("data-outcome", "asked")
    form = page.get_by_role("group", name=re.compile("Allow the assistant to call counter.count"))
    expect(form).to_contain_text("This tool has not been marked as safe yet.")
    expect(page.locator("div.visually-hidden[role=status]")).to_contain_text(
        "waiting for your decision"
    )

    form.get_by_label("seconds").fill("many")
    form.get_by_role("button", name="Allow once").click()
    expect(form).to_contain_text("Enter a number.")
    form.get_by_label("seconds").fill("0.5")
    form.get_by_label("id").fill("card-changed")
    page.keyboard.press("Enter")

    expect(card).to_have_attribute("data-outcome", "ok")
    expect(page.locator(".o_ai_chat_message_assistant")).to_contain_text("It is counted.")
    card.get_by_role("button").first.click()
    expect(card).to_contain_text("Allowed by Uma User")
    expect(card.locator(".o_ai_chat_tool_args")).to_contain_text("card-changed")
    page.reload()
    card.get_by_role("button").first.click()
    expect(card).to_contain_text("Allowed by Uma User")
    assert (counter.executions("card-wanted"), counter.executions("card-changed")) == (0, 1)


def test_deny_with_a_reason_in_a_second_browser(careful, scripted_llm, counter, page_of):
    scripted_llm.script(
        first("Count twice", calls(count("card-a"), count("card-b"))),
        then("Count twice", {"content": "Understood."}),
    )
    page = page_of(careful, "user")
    page.goto("/my/ai")
    ask(page, "Count twice")
    cards = page.locator(".o_ai_chat_approval")
    expect(cards).to_have_count(2)
    other = page_of(careful, "user")
    other.goto(page.url)
    form = other.locator(".o_ai_chat_approval").first
    form.get_by_role("button", name="Give a reason…").focus()
    other.keyboard.press("Enter")
    form.get_by_label("Reason").fill("Once is <b>enough</b>.")
    other.keyboard.press("Enter")
    expect(cards).to_have_count(1)
    # By the keyboard, as the first one: the card moves while the other one's answer is drawn.
    cards.get_by_role("button", name="Allow always").press("Enter")
    for tab in (page, other):
        expect(tab.locator(".o_ai_chat_message_assistant")).to_contain_text("Understood.")
    outcomes = [
        card.get_attribute("data-outcome") for card in page.locator(".o_ai_chat_tool").all()
    ]
    assert sorted(outcomes) == ["denied", "ok"]
    assert (counter.executions("card-a"), counter.executions("card-b")) == (0, 1)
    assert "Once is" in str(scripted_llm.requests()[-1]["body"]["messages"])

    scripted_llm.script(
        first("Once more", calls(count("card-c"))), then("Once more", {"content": "Counted again."})
    )
    page.goto("/my/ai")  # in the first conversation an untrusted server has said something
    ask(page, "Once more")
    expect(page.locator(".o_ai_chat_message_assistant").last).to_contain_text("Counted again.")
    assert counter.executions("card-c") == 1


def test_stop_and_answer(odoo, scripted_llm, page_of):
    scripted_llm.script(
        at_last({"content": "That is enough."}),
        first("Round by round", calls(("time__get_current_time", {"timezone": "Asia/Taipei"}))),
    )
    assistants = odoo.rpc("ai.assistant", "search", [])
    odoo.rpc("ai.assistant", "write", assistants, {"confirm_round": 2})
    try:
        page = page_of(odoo, "user")
        page.goto("/my/ai")
        ask(page, "Round by round")
        card = page.locator(".o_ai_chat_round_card")
        expect(card).to_contain_text("wants to continue using tools (round 2)")
        card.get_by_role("button", name="Stop and answer").click()
        expect(page.locator(".o_ai_chat_message_assistant")).to_contain_text("That is enough.")
        expect(card).to_contain_text("was asked to answer without using more tools")
    finally:
        odoo.rpc("ai.assistant", "write", assistants, {"confirm_round": 0})


@pytest.mark.parametrize("look", ["light", "dark", "phone"])
def test_after_foreign_words_the_question_says_why(careful, scripted_llm, counter, page_of, look):
    """It names what was read, marks the value from there, and *Why?* tells every check."""
    stranger, wanted = f"from-mallory-{look}", f"mallory-{look}"
    careful.rpc(GRANTS, "unlink", careful.rpc(GRANTS, "search", []))
    scripted_llm.script(
        first("Read it", calls(count(stranger))),
        {
            "match": {"userMessage": "Read it", "hasToolResult": True, "turnIndex": 1},
            "response": calls(count(wanted)),
        },
        {
            "match": {"userMessage": "Read it", "hasToolResult": True, "turnIndex": 2},
            "response": {"content": "Fine."},
        },
    )
    size = {"width": 375, "height": 720} if look == "phone" else {"width": 1280, "height": 800}
    page = page_of(careful, "user", viewport=size)
    if look == "dark":
        page.context.add_cookies([{"name": "color_scheme", "value": "dark", "url": careful.url}])
    page.goto("/my/ai")
    ask(page, "Read it")
    form = page.get_by_role("group", name=re.compile("Allow the assistant to call counter.count"))
    form.get_by_role("button", name="Allow once").click()
    expect(form).to_contain_text("text that others may have written (count of counter)")
    expect(form.locator("mark")).to_have_text([wanted])
    expect(form.locator('[data-decision="approve_always"]')).to_have_count(0)
    head = page.locator(".o_ai_chat_tool_head").last
    head.click()
    page.get_by_role("button", name="Why?").last.click()
    steps = page.locator(".o_ai_chat_why_steps li")
    expect(steps.last).to_contain_text("Nothing yet: the call waits.")
    expect(page.locator('[data-check="taint"][data-answer="effect"]')).to_be_visible()
    page.screenshot(path=E2E_LOGS / f"why-{look}.png", full_page=True)
    assert axe.violations(page, ".o_ai_chat") == []
    form.get_by_role("button", name="Deny").click()
    expect(page.locator(".o_ai_chat_message_assistant").last).to_contain_text("Fine.")
    assert counter.executions(wanted) == 0
