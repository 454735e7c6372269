"""The chat in a real browser, as the portal user of the demo."""

import re

from chat import calls, first, then
from playwright.sync_api import expect
from waiting import PATIENCE, eventually

TAIPEI = ("time__get_current_time", {"timezone": "Asia/Taipei"})
SLOW = ("everything__trigger-long-running-operation", {"duration": 3, "steps": 3})


def ask(page, text):
    page.locator(".o_ai_chat_input").fill(text)
    page.locator(".o_ai_chat_send").click()


def test_ask_watch_reload_and_find_it_again(odoo, scripted_llm, page_of):
    scripted_llm.script(
        first("How long?", calls(SLOW)),
        then("How long?", {"content": "It took **three** seconds."}),
    )
    page = page_of(odoo, "user")
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto("/my")
    page.get_by_role("link", name=re.compile("AI assistants")).click()
    ask(page, "How long?")

    card = page.locator(".o_ai_chat_tool")
    expect(card).to_have_attribute("data-outcome", "running")
    expect(card).to_contain_text("everything.trigger-long-running-operation")
    expect(page).to_have_url(re.compile(r"/my/ai/\d+$"))

    page.reload()
    expect(page.locator(".o_ai_chat_tool")).to_have_count(1)
    expect(card).to_have_attribute("data-outcome", "ok")
    answer = page.locator(".o_ai_chat_message_assistant")
    expect(answer).to_contain_text("It took three seconds.")
    expect(answer.locator("strong", has_text="three")).to_be_visible()

    body = card.locator(".o_ai_chat_tool_body")
    expect(body).to_be_hidden()
    card.get_by_role("button").first.click()
    expect(body).to_contain_text('"duration": 3')
    expect(body).to_contain_text("Long running operation completed")

    page.goto("/my/ai")
    page.locator(".o_ai_chat_conversation", has_text="How long?").first.click()
    expect(page.locator(".o_ai_chat_tool")).to_have_attribute("data-outcome", "ok")
    expect(page.locator(".o_ai_chat_message_assistant")).to_contain_text("three seconds")
    assert not errors


def test_an_invented_value_is_marked(odoo, scripted_llm, page_of):
    """The model gives the same answer when it is asked again; who comes back later sees what was marked."""
    scripted_llm.script(first("What time is it in Lyon?", {"content": "It is **18:27** in Lyon."}))
    demo = odoo.rpc("ai.assistant", "search", [])
    odoo.rpc("ai.assistant", "write", demo, {"is_grounded": True})
    try:
        page = page_of(odoo, "user")
        page.goto("/my/ai")
        ask(page, "What time is it in Lyon?")
        answer = page.locator(".o_ai_chat_message_assistant")
        expect(answer).to_contain_text("It is 18:27 (not from a tool) in Lyon.")
        expect(page.locator(".o_ai_chat_turn[data-state=done]")).to_be_visible()
        page.reload()
        expect(answer).to_have_count(1)
        expect(answer).to_contain_text("It is 18:27 (not from a tool) in Lyon.")
    finally:
        odoo.rpc("ai.assistant", "write", demo, {"is_grounded": False})
    asked_again = scripted_llm.requests()[-1]["body"]["messages"][-1]["content"]
    assert "18:27" in asked_again and "What time is it in Lyon?" in asked_again


RICH = """# Time

It is *late*, see https://example.com/clock.

| a | b |
|---|---|
| 1 | 2 |

- [x] asked
- [ ] slept

```python
if late:
    go("home")
```

So $t_1 * t_2$ it is.
"""
ORDER = """[...document.querySelectorAll(".o_ai_chat_turn > *:not(.o_ai_chat_usage)")].flatMap((row) =>
    row.matches(".o_ai_chat_html") ? [...row.children].map((block) => block.outerHTML) : row.innerText)"""


def test_the_history_looks_like_the_live_answer(odoo, scripted_llm, page_of):
    said = {"content": "I **look** it up.\n\n- once\n- only\n"}
    scripted_llm.script(
        first("In order", {**calls(TAIPEI), **said}),
        then("In order", {"content": RICH}),
    )
    page = page_of(odoo, "user")
    page.goto("/my/ai")
    ask(page, "In order")
    turn = page.locator(".o_ai_chat_turn")
    expect(turn).to_have_attribute("data-state", "done")
    expect(turn.locator("table")).to_be_visible()
    expect(turn.locator(".token")).not_to_have_count(0)
    live, height = page.evaluate(ORDER), turn.bounding_box()["height"]
    page.reload()
    expect(turn.locator(".token")).not_to_have_count(0)
    assert page.evaluate(ORDER) == live
    assert turn.bounding_box()["height"] == height
    expect(turn.locator(".o_ai_chat_code .token.keyword")).to_have_text("if")
    expect(turn.locator(".o_ai_task").first).to_have_text("☑ asked")
    expect(turn.locator("math msub")).to_have_count(2)
    assert turn.locator("a").get_attribute("rel") == "noopener noreferrer nofollow"
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    turn.get_by_role("button", name="Copy answer").click()
    expect(turn.get_by_role("button", name="Copied")).to_be_visible()
    assert RICH.strip() in page.evaluate("navigator.clipboard.readText()")


def test_stop_in_the_middle_of_an_answer(odoo, scripted_llm, page_of):
    scripted_llm.script(
        first("Tell a story", {"content": "once upon a time " * 300}, latency=30, chunkSize=10)
    )
    page = page_of(odoo, "user")
    page.goto("/my/ai")
    ask(page, "Tell a story")
    answer = page.locator(".o_ai_chat_message_assistant")
    expect(answer).to_contain_text("once upon a time")
    page.get_by_role("button", name="Stop generating").click()
    expect(page.locator(".o_ai_chat_send")).to_be_visible()
    expect(page.locator(".o_ai_chat_turn")).to_have_attribute("data-state", "stopped")
    page.reload()
    expect(answer).to_contain_text("once upon a time")


def test_keys_and_drafts(odoo, scripted_llm, page_of):
    scripted_llm.script(first("two lines", {"content": "Understood."}))
    page = page_of(odoo, "user")
    page.goto("/my/ai")
    box = page.locator(".o_ai_chat_input")
    box.click()
    page.keyboard.type("two lines")
    page.keyboard.press("Shift+Enter")
    page.keyboard.type("of text")
    expect(box).to_have_value("two lines\nof text")
    page.keyboard.press("Enter")
    expect(box).to_have_value("")
    expect(page.locator(".o_ai_chat_message_assistant")).to_contain_text("Understood.")


def test_two_tabs_see_the_same_turn(odoo, scripted_llm, page_of):
    scripted_llm.script(
        first("Both tabs", calls(SLOW)), then("Both tabs", {"content": "Seen by both."})
    )
    page = page_of(odoo, "user")
    page.goto("/my/ai")
    ask(page, "Both tabs")
    expect(page).to_have_url(re.compile(r"/my/ai/\d+$"))
    other = page.context.new_page()
    other.goto(page.url)
    for tab in (page, other):
        tab.bring_to_front()
        expect(tab.locator(".o_ai_chat_message_assistant")).to_contain_text("Seen by both.")
        expect(tab.locator(".o_ai_chat_tool")).to_have_count(1)


def test_an_error_is_a_sentence_on_the_page(odoo, fault_llm, scripted_llm, page_of):
    odoo.use_llm(fault_llm)
    odoo.expect_log("A turn failed: llm_auth_failed")
    try:
        fault_llm.behave(*[{"type": "fail", "status": 401}] * 3)
        page = page_of(odoo, "user")
        page.goto("/my/ai")
        ask(page, "Anybody there?")
        turn = page.locator(".o_ai_chat_turn")
        expect(turn).to_have_attribute("data-state", "failed")
        expect(turn).to_contain_text("An administrator must check it.")
    finally:
        odoo.use_llm(scripted_llm)


def test_a_phone_shows_the_chat_first(odoo, scripted_llm, page_of):
    scripted_llm.script(first("small", {"content": "Fits."}))
    page = page_of(odoo, "user", viewport={"width": 375, "height": 700}, has_touch=True)
    page.goto("/my/ai")
    ask(page, "small")
    expect(page.locator(".o_ai_chat_message_assistant")).to_contain_text("Fits.")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


HIDDEN = """
Object.defineProperty(document, "visibilityState", { get: () => window.testHidden ? "hidden" : "visible" });
window.testHide = (hidden) => {
    window.testHidden = hidden;
    document.dispatchEvent(new Event("visibilitychange"));
};
"""


class Streams:
    """The requests of a browser that read a turn's events."""

    def __init__(self, context):
        self._context = context
        self.opened, self.open = [], set()
        context.on("request", self._begun)
        context.on("requestfinished", self._ended)
        context.on("requestfailed", self._ended)

    def wait(self, condition):
        """Until what the browser reports makes this true."""
        for _try in range(20 * PATIENCE):
            if condition():
                return
            self._context.pages[-1].wait_for_timeout(50)
        raise AssertionError(f"{len(self.opened)} streams were opened, {len(self.open)} are open")

    def _begun(self, request):
        if re.search(r"/turns/\d+/stream", request.url):
            self.opened.append(request)
            self.open.add(request)

    def _ended(self, request):
        self.open.discard(request)


def test_of_seven_tabs_only_the_visible_one_streams(odoo, scripted_llm, page_of):
    """Browsers open six connections to a host: a seventh tab must not wait for the first six."""
    scripted_llm.script(first("Seven tabs", {"content": "word " * 2000}, latency=80, chunkSize=8))
    front = page_of(odoo, "user")
    front.context.add_init_script(HIDDEN)
    streams = Streams(front.context)
    front.goto("/my/ai")
    ask(front, "Seven tabs")
    expect(front).to_have_url(re.compile(r"/my/ai/\d+$"))
    others = [front]
    for _tab in range(6):
        tab = front.context.new_page()
        others[-1].evaluate("testHide(true)")
        tab.goto(front.url)
        expect(tab.locator(".o_ai_chat_message_assistant").last).to_contain_text("word")
        others.append(tab)
    streams.wait(lambda: len(streams.opened) >= 6 and len(streams.open) == 1)
    visible = others.pop()
    visible.get_by_role("button", name="Stop generating").click()
    expect(visible.locator(".o_ai_chat_turn").last).to_have_attribute("data-state", "stopped")
    answer = visible.locator(".o_ai_chat_turn").last.inner_text()
    for tab in others:
        tab.evaluate("testHide(false)")
        expect(tab.locator(".o_ai_chat_turn").last).to_have_attribute("data-state", "stopped")
        expect(tab.locator(".o_ai_chat_turn").last).to_have_text(answer, use_inner_text=True)


def test_ask_in_other_words_and_find_it_again(odoo, scripted_llm, page_of):
    scripted_llm.script(
        first("Which harbour is near?", calls(TAIPEI)),
        then("Which harbour is near?", {"content": "Keelung."}),
        first("Which harbour is far?", {"content": "Kaohsiung."}),
    )
    page = page_of(odoo, "user")
    page.goto("/my/ai")
    ask(page, "Which harbour is near?")
    answer = page.locator(".o_ai_chat_message_assistant")
    expect(answer).to_contain_text("Keelung.")
    page.get_by_role("button", name="Edit and resend").click()
    page.get_by_label("Edited question").fill("Which harbour is far?")
    page.keyboard.press("Enter")
    expect(answer).to_contain_text("Kaohsiung.")
    expect(page.locator(".o_ai_chat_tool")).to_have_count(0)
    page.get_by_role("button", name="Previous version").click()
    expect(answer).to_contain_text("Keelung.")
    expect(page.locator(".o_ai_chat_tool")).to_have_attribute("data-outcome", "ok")
    assert len(scripted_llm.requests()) == 3, "showing a branch asks and calls nothing"

    page.goto("/my/ai")
    expect(page.locator(".o_ai_chat_conversation").first).to_be_visible()
    page.get_by_label("Search conversations").fill("kaohsiung")
    expect(page.locator(".o_ai_chat_conversation")).to_have_count(1)
    page.locator(".o_ai_chat_conversation").click()
    expect(answer).to_contain_text("Keelung.")
    page.get_by_label("Search conversations").fill("no such words")
    expect(page.get_by_text("No conversations found.")).to_be_visible()


def test_a_picture_and_a_table_come_from_tools(odoo, scripted_llm, page_of):
    scripted_llm.script(
        first(
            "Show me",
            calls(
                ("everything__get-tiny-image", {}),
                ("everything__get-structured-content", {"location": "New York"}),
            ),
        ),
        then("Show me", {"content": "There."}),
    )
    page = page_of(odoo, "user")
    page.goto("/my/ai")
    ask(page, "Show me")
    picture = page.locator(".o_ai_chat_file img")
    expect(picture).to_be_visible()
    expect(page.locator(".o_ai_chat_turn")).to_have_attribute("data-state", "done")
    eventually(lambda: picture.evaluate("image => image.naturalWidth") > 0)
    page.locator(".o_ai_chat_tool_head").nth(1).click()
    table = page.locator(".o_ai_chat_tool_table")
    expect(table).to_contain_text("temperature")
    page.reload()
    expect(picture).to_be_visible()
