"""What servers ask in the middle of a call, answered in a real browser, over a restart, or not at all."""

import re

import pytest
from chat import Chat, calls, first, of, text_of, then
from counter import Counter
from playwright.sync_api import expect

ASK = "asks__trigger-elicitation-request"
PAGE = "asks__trigger-url-elicitation"


@pytest.fixture(scope="module")
def asking(tmp_path_factory):
    """A server of 2026-07-28 whose tool asks before it books."""
    server = Counter(tmp_path_factory.mktemp("asking"), "asking_server.py", "asking")
    server.wait()
    yield server
    server.stop()


@pytest.fixture
def card(trusted, page_of, scripted_llm):
    """Asks the assistant to call a tool; the card of the call."""

    def ask(name, arguments):
        scripted_llm.script(
            first("Go ahead", calls((name, arguments))), then("Go ahead", {"content": "All done."})
        )
        page = page_of(trusted, "user")
        page.goto("/my/ai")
        page.locator(".o_ai_chat_input").fill("Go ahead")
        page.keyboard.press("Enter")
        expect(page).to_have_url(re.compile(r"/my/ai/\d+$"))
        return page.locator(".o_ai_chat_tool")

    return ask


def answered(page):
    """The model has read the results."""
    expect(page.locator(".o_ai_chat_message_assistant")).to_contain_text("All done.")


GROW = """async content => {
    const line = () => Object.assign(document.createElement("p"), {textContent: "More."});
    for (const _one of [1, 2, 3]) {
        content.append(line());
        await new Promise(resolve => requestAnimationFrame(() => requestAnimationFrame(resolve)));
    }
}"""


def grow(page):
    """Add paragraphs below what is shown, one after another, each drawn."""
    page.locator(".o_ai_chat_scroll .o_ai_chat_column").evaluate(GROW)


def test_a_form_of_a_server_is_filled_in(card, scripted_llm):
    tool = card(ASK, {})
    form = tool.get_by_role("group", name="Question from “asks”")
    expect(form).to_contain_text("Please provide inputs")
    expect(tool).to_have_attribute("data-outcome", "asked")
    send = form.get_by_role("button", name="Send")
    send.scroll_into_view_if_needed()
    grow(form.page)  # the end of a long form stays in view
    expect(send).to_be_in_viewport()
    send.click()
    expect(form).to_contain_text("Fill in this field.")
    form.locator("[name=name]").fill("Ann")
    form.get_by_label("Integer", exact=True).fill("142")
    form.get_by_label("String with email format").fill("nobody")
    form.get_by_role("button", name="Send").click()
    expect(form).to_contain_text("This number is too large.")
    expect(form).to_contain_text("Enter an email address.")
    form.get_by_label("Integer", exact=True).fill("7")
    form.get_by_label("String with email format").fill("ann@example.com")
    form.get_by_label("Titled Single Select Enum", exact=True).select_option("Wonder Woman")
    form.get_by_label("Piano").check()
    form.get_by_role("button", name="Send").click()
    expect(tool).to_have_attribute("data-outcome", "ok")
    answered(tool.page)
    told = str(scripted_llm.requests()[-1]["body"]["messages"])
    assert "hero-3" in told and "ann@example.com" in told and "Piano" in told
    tool.get_by_role("button").first.click()
    expect(tool).to_contain_text("Uma User answered the question from asks.")
    tool.page.reload()
    tool.get_by_role("button").first.click()
    expect(tool).to_contain_text("Uma User answered the question from asks.")


def test_a_form_of_a_server_is_declined(card, scripted_llm):
    """Also where something else grows while the button is pressed."""
    tool = card(ASK, {})
    decline = tool.get_by_role("button", name="Decline")
    decline.scroll_into_view_if_needed()
    decline.hover()
    tool.page.mouse.down()
    grow(tool.page)
    tool.page.mouse.up()
    expect(tool).to_have_attribute("data-outcome", "ok")
    answered(tool.page)
    assert "declined" in str(scripted_llm.requests()[-1]["body"]["messages"]).lower()


@pytest.mark.parametrize("error_path", [False, True])
def test_a_page_to_visit(card, error_path):
    """Asked during the call, or before it is made (-32042)."""
    url = "https://pay.example.com/order?id=1"
    tool = card(PAGE, {"url": url, "message": "Please pay.", "errorPath": error_path})
    pages = [("pay.example.com", url)]
    if error_path:  # what this server refuses the call with leads to a page of its own
        pages.insert(0, ("modelcontextprotocol.io", "https://modelcontextprotocol.io"))
    for host, address in pages:
        link = tool.get_by_role("link", name=f"Open {host}")
        expect(link).to_have_attribute("href", address)
        expect(link).to_have_attribute("target", "_blank")
        tool.get_by_role("button", name="I have finished").click()
        expect(link).to_have_count(0)
    expect(tool).to_have_attribute("data-outcome", "ok")
    answered(tool.page)


def test_a_question_waits_over_a_restart_and_the_call_goes_on(new_odoo, scripted_llm, asking):
    scripted_llm.script(
        first("book it", calls(("asking__book", {"name": "Ann"}))),
        then("book it", {"content": "Booked."}),
    )
    mortal = new_odoo("asking")
    asking.register(mortal)
    turn = Chat(mortal, client=mortal.login("user")).ask("book it")
    question = turn.until("input_required")
    assert (question["message"], question["choices"][0]) == ("How many seats?", "accept")
    mortal.kill9()
    mortal.restart()
    assert turn.state() == "waiting"
    turn.chat.http = mortal.login("user")
    path, answer = f"/api/ai/turns/{turn.id}/decision", {"id": question["id"], "decision": "accept"}
    refused = turn.chat.http.post(path, json={**answer, "content": {"seats": 9}})
    assert refused.status_code == 422
    assert refused.json()["error"]["details"] == {"fields": {"seats": "too_large"}}
    turn.chat.json("POST", path, {**answer, "content": {"seats": 2}})
    events = turn.events()
    (result,) = of(events, "tool_result")
    assert result["result"] == "booked {'meal': 'rice', 'seats': 2} for Ann"
    assert text_of(events) == "Booked."
    assert (asking.executions("called"), asking.executions("booked")) == (2, 1)
