"""The cards of a turn in Discuss: asked, decided and shown where the person talks."""

import axe
from chat import Chat, calls, first, then
from counter import count
from dark import darken
from playwright.sync_api import expect
from test_discuss import open_discuss, say

EVIL = "<img src=x onerror=window.hacked=1>"
CARDS = ".o_ai_discuss .o_ai_chat_tool"


def streams_of(page):
    """The turns whose streams the page has opened, by their paths."""
    opened = []
    page.on("request", lambda asked: "/stream" in asked.url and opened.append(asked.url))
    return opened


def test_a_call_is_changed_and_allowed_in_discuss(careful, scripted_llm, counter, page_of):
    scripted_llm.script(
        first("Please count", calls(count(EVIL))),
        then("Please count", {"content": "It is **counted**."}),
    )
    chat = Chat(careful, "demo")
    page = page_of(careful, "demo")
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    open_discuss(page, chat.id)
    say(page, "Please count")
    card = page.locator(CARDS)
    expect(card).to_have_attribute("data-outcome", "asked")
    expect(page.get_by_role("button", name="Stop generating")).to_be_visible()
    expect(page.get_by_role("link", name="Decide in the chat")).to_be_visible()
    expect(page.locator(".o_notification")).to_have_count(0)  # it is on the screen
    assert axe.violations(page, ".o_ai_discuss") == []

    darken(page, careful.url)
    page.reload()
    expect(card).to_have_attribute("data-outcome", "asked")
    assert axe.violations(page, ".o_ai_discuss") == []
    form = card.locator(".o_ai_chat_approval")
    expect(form.get_by_label("id")).to_have_value(EVIL)
    form.get_by_label("id").fill(f"changed {EVIL}")
    form.get_by_role("button", name="Allow once").click()

    answer = page.locator(".o-mail-Message", has_text="It is counted.")
    expect(answer).to_have_count(1)
    expect(card).to_have_count(1)
    expect(answer.locator(".o_ai_chat_tool")).to_have_attribute("data-outcome", "ok")
    assert (counter.executions(EVIL), counter.executions(f"changed {EVIL}")) == (0, 1)

    opened = streams_of(page)
    details = []
    page.on("request", lambda asked: "/api/ai/turns/" in asked.url and details.append(asked.url))
    page.reload()
    expect(card).to_have_attribute("data-outcome", "ok")
    expect(answer.locator(".o_ai_call_summary")).to_be_hidden()
    assert not details, "folded cards ask for nothing"
    card.get_by_role("button").click()
    expect(card).to_contain_text("Allowed by")
    expect(card.locator(".o_ai_chat_tool_args")).to_contain_text(f"changed {EVIL}")
    assert (len(details), opened) == (1, [])
    assert axe.violations(page, ".o_ai_discuss") == []
    assert page.evaluate("window.hacked") is None
    assert not errors


def test_a_denial_in_a_second_browser_shows_at_once(careful, scripted_llm, counter, page_of):
    scripted_llm.script(
        first("Count twice", calls(count("discuss-a"), count("discuss-b"))),
        then("Count twice", {"content": "Understood."}),
        first("And then", {"content": "Then nothing."}),
        then("And then", {"content": "Then nothing."}),
    )
    chat = Chat(careful, "demo")
    pages = [page_of(careful, "demo") for _ in range(2)]
    opened = streams_of(pages[0])
    for page in pages:
        open_discuss(page, chat.id)
    say(pages[0], "Count twice")
    say(pages[0], "And then")  # queued behind: it has no stream before its time
    for page in pages:
        expect(page.locator(".o_ai_chat_approval")).to_have_count(2)
    assert len({url.partition("?")[0] for url in opened}) == 1
    form = pages[1].locator(".o_ai_chat_approval").first
    form.get_by_role("button", name="Give a reason…").click()
    form.get_by_label("Reason").fill("Once is enough.")
    pages[1].keyboard.press("Enter")
    expect(pages[0].locator(".o_ai_chat_approval")).to_have_count(1)
    pages[0].locator(".o_ai_chat_approval").get_by_role("button", name="Deny").click()
    for page in pages:
        answer = page.locator(".o-mail-Message", has_text="Understood.")
        expect(answer.locator('[data-outcome="denied"]')).to_have_count(2)
        expect(page.locator(".o-mail-Message", has_text="Then nothing.")).to_have_count(1)
    assert (counter.executions("discuss-a"), counter.executions("discuss-b")) == (0, 0)
    assert "Once is enough." in str(scripted_llm.requests())
