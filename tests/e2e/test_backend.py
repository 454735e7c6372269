"""The backend in a real browser: an administrator sets up a server, an internal user chats."""

import contextlib
import re
from urllib.parse import urlsplit

import pytest
from chat import Chat, calls, first, then
from held_server import HeldServer
from playwright.sync_api import TimeoutError as NotInTime
from playwright.sync_api import expect

SERVERS = "/odoo/action-woow_paas_platform.mcp_server_action"
ASSISTANTS = "/odoo/action-woow_paas_platform.ai_assistant_action"
BUNDLE = "woow_paas_platform.assets_chat_backend"
TAIPEI = ("time__get_current_time", {"timezone": "Asia/Taipei"})


def ask(page, text):
    box = page.locator(".o_ai_chat_input")
    box.fill(text)
    box.press("Enter")  # the page around it may have taken the focus


def save(page):
    page.locator(".o_form_button_save").click()
    expect(page.locator(".o_form_saved")).to_have_count(1)


@pytest.fixture
def slow_server(mcp_everything):
    server = HeldServer(urlsplit(mcp_everything.url).port)
    yield server
    server.stop()


@pytest.fixture
def watched(page_of):
    """A page of a user whose JavaScript errors fail the test."""
    errors = []

    def open_page(server, login, **options):
        page = page_of(server, login, **options)
        page.on("pageerror", lambda error: errors.append(str(error)))
        return page

    yield open_page
    assert not errors


def test_a_new_server_answers_in_a_chat(odoo, scripted_llm, mcp_everything, watched):
    scripted_llm.script(
        first("Add two and three", calls(("refs__get-sum", {"a": 2, "b": 3}))),
        then("Add two and three", {"content": "That makes 5."}),
    )
    page = watched(odoo, "admin")
    page.goto(f"{SERVERS}/new")
    page.locator("div[name=name] input").fill("refs")
    page.locator("div[name=url] input").fill(mcp_everything.url)
    save(page)
    current = page.locator(".o_statusbar_status .o_arrow_button_current")
    expect(current).to_have_text("Connected")  # nobody pressed a button for it
    expect(page.locator("div[name=tool_ids] .o_data_row")).to_have_count(15)
    page.get_by_role("button", name="Reload Tools").click()
    told = page.locator(".o_notification")
    expect(told.filter(has_text="“refs” is up to date: 15 tools.")).to_be_visible()

    page.goto(f"{ASSISTANTS}/new")
    page.locator("div[name=name] input").fill("Calculator")
    page.locator("div[name=config_id] input").fill("Demo Model")
    page.locator(".o-autocomplete--dropdown-item", has_text="Demo Model").first.click()
    page.locator(".o_notebook .nav-link[name=tools]").click()
    row = page.locator(".o_woow_tool_server[data-server=refs]")
    row.locator(".o_woow_server_switch input").click()
    row.locator("[data-tool=get-env] input").click()
    expect(row.locator(".o_woow_tool_count")).to_have_text("14 of 15 tools")
    save(page)
    page.get_by_role("button", name="Chat", exact=True).click()
    expect(page.locator(".o_ai_chat_start")).to_contain_text("Calculator")
    ask(page, "Add two and three")
    # Nobody has said yet that the new server is harmless, so the person is asked.
    page.get_by_role("button", name="Allow once").first.click()
    expect(page.locator(".o_ai_chat_tool")).to_have_attribute("data-outcome", "ok")
    expect(page.locator(".o_ai_chat_message_assistant")).to_contain_text("That makes 5.")

    assistant = odoo.rpc("ai.assistant", "search", [("name", "=", "Calculator")])
    page.goto(f"{ASSISTANTS}/{assistant[0]}")
    expect(page.locator("button[name=action_view_calls]")).to_contain_text("1")
    page.locator("button[name=action_view_calls]").click()
    expect(page.locator(".o_data_row")).to_have_count(1)
    odoo.rpc("ai.assistant", "write", assistant, {"active": False})


def test_a_server_that_does_not_answer_is_a_sentence(odoo, watched):
    page = watched(odoo, "admin")
    page.goto(f"{SERVERS}/new")
    page.locator("div[name=name] input").fill("nobody")
    page.locator("div[name=url] input").fill("http://127.0.0.1:9/mcp")
    save(page)
    expect(page.locator(".alert-danger")).to_be_visible()
    page.get_by_role("button", name="Test Connection").click()
    test = page.locator(".o_woow_connection_test")
    failed = test.locator('[data-step][data-state="failed"]')
    expect(failed).to_have_attribute("data-step", "connection")
    expect(failed.locator(".o_woow_advice")).to_contain_text("Check the port")
    expect(test.locator('[data-step="tools"]')).to_have_attribute("data-state", "skipped")
    test.get_by_role("button", name="Close").last.click()
    expect(test).to_have_count(0)
    expect(page.locator(".alert-danger")).to_be_visible()


def test_an_internal_user_chats_in_the_backend(odoo, scripted_llm, watched):
    scripted_llm.script(
        first("What time is it", calls(TAIPEI)),
        then("What time is it", {"content": "It is tea time."}),
    )
    page = watched(odoo, "demo", color_scheme="dark")
    page.context.add_cookies([{"name": "color_scheme", "value": "dark", "url": odoo.url}])
    page.goto("/odoo/ai-chat")
    expect(page.locator(".o_main_navbar")).to_contain_text("Chat")
    expect(page.locator(".o_main_navbar")).not_to_contain_text("Platform")
    ask(page, "What time is it")
    answer = page.locator(".o_ai_chat_message_assistant")
    expect(answer).to_contain_text("It is tea time.")
    expect(page).to_have_url(re.compile(r"/odoo/ai-chat/\d+$"))

    page.locator(".o_ai_chat_rename").click()
    page.locator(".o_ai_chat_name").fill("Tea")
    page.keyboard.press("Enter")
    expect(page.locator(".o_ai_chat_title")).to_have_text("Tea")

    page.get_by_role("button", name="Hide the tool calls").click()
    expect(page.locator(".o_ai_chat_tool")).to_have_count(0)
    page.reload()
    expect(answer).to_contain_text("It is tea time.")
    expect(page.locator(".o_ai_chat_tool")).to_have_count(0)
    page.get_by_role("button", name="Show the tool calls").click()
    expect(page.locator(".o_ai_chat_tool")).to_have_count(1)

    page.locator(".o_ai_chat_delete").click()
    page.locator(".modal .btn-danger").click()
    expect(page.locator(".o_ai_chat_conversation", has_text="Tea")).to_have_count(0)


def test_an_answer_goes_on_where_its_chat_is_entered_anew(odoo, scripted_llm, watched):
    """The panel is opened as a page, the page is left, and Back leads to it again."""
    story = {"content": "once upon a time " * 4_000}
    scripted_llm.script(first("Tell a story", story, latency=40, chunkSize=40))
    page = watched(odoo, "demo")
    page.goto("/odoo/discuss")
    page.locator(".o_ai_chat_systray button").click()
    panel = page.locator(".o_ai_chat_panel")
    panel.locator(".o_ai_chat_input").fill("Tell a story")
    panel.locator(".o_ai_chat_input").press("Enter")  # Discuss takes the focus when it is there
    expect(panel.locator(".o_ai_chat_stop")).to_be_visible()
    panel.get_by_role("button", name="Open full page").click()
    expect(page).to_have_url(re.compile(r"/odoo/.*ai_chat/\d+$"))
    _grows(page)
    page.go_back()
    expect(page.locator(".o_ai_chat_action")).to_have_count(0)
    page.go_forward()
    _grows(page)
    page.locator(".o_ai_chat_stop").click()
    expect(page.locator(".o_ai_chat_turn")).to_have_attribute("data-state", "stopped")
    expect(page.locator(".o_ai_chat_stop")).to_have_count(0)


def _grows(page):
    """More of the answer comes, and it can be stopped."""
    expect(page.locator(".o_ai_chat_action .o_ai_chat_stop")).to_be_visible()
    text = page.locator(".o_ai_chat_message_assistant")
    expect(text).to_contain_text("once")
    size = len(text.inner_text())
    page.wait_for_function(
        "size => document.querySelector('.o_ai_chat_message_assistant').innerText.length > size",
        arg=size,
    )


def test_the_page_is_called_as_its_conversation(odoo, scripted_llm, watched):
    scripted_llm.script(first("Green or black", {"content": "Green."}))
    page = watched(odoo, "demo")
    page.goto("/odoo/ai-chat")
    expect(page).to_have_title(re.compile("AI assistants"))
    ask(page, "Green or black?")
    expect(page.locator(".o_ai_chat_message_assistant")).to_contain_text("Green.")
    expect(page).to_have_title(re.compile(re.escape("Green or black?")))
    page.get_by_role("button", name="New chat").click()
    expect(page).to_have_title(re.compile("AI assistants"))


IN_DISCUSS = """
id => {
    const store = odoo.__WOWL_DEBUG__.root.env.services["mail.store"];
    return store.Thread.get({ model: "discuss.channel", id });
}
"""
HEARD = f"id => ({IN_DISCUSS})(id)?.newestPersistentMessage?.body?.toString().includes('Two.')"
READ = f"id => ({IN_DISCUSS})(id).self_member_id.message_unread_counter === 0"


def test_what_is_read_in_the_chat_is_not_unread_in_discuss(odoo, scripted_llm, watched):
    scripted_llm.script(
        first("Here or there", {"content": "There."}), first("One or two", {"content": "Two."})
    )
    page = watched(odoo, "demo")
    page.goto("/odoo/ai-chat")
    ask(page, "Here or there?")
    expect(page.locator(".o_ai_chat_message_assistant")).to_contain_text("There.")
    expect(page).to_have_url(re.compile(r"/odoo/ai-chat/\d+$"))
    channel = int(page.url.rpartition("/")[2])
    for answers in (2, 3, 4):
        page.reload()
        ask(page, "One or two?")
        expect(page.locator(".o_ai_chat_message_assistant")).to_have_count(answers)
        expect(page.locator(".o_ai_chat_message_assistant").last).to_contain_text("Two.")
        with contextlib.suppress(NotInTime):
            # Odoo's bus may miss what comes before a page listens to it: the message, or that it was read.
            page.wait_for_function(HEARD, arg=channel, timeout=20_000)
            page.wait_for_function(READ, arg=channel, timeout=20_000)
            break
    assert page.evaluate(HEARD, channel) and page.evaluate(READ, channel)


def test_the_chat_that_cannot_be_loaded_is_asked_for_again(odoo, page_of):
    page = page_of(odoo, "demo")
    held = []

    def hold(route):
        held.append(route)

    page.route(f"**/web/bundle/{BUNDLE}*", hold)
    with page.expect_request(f"**/web/bundle/{BUNDLE}*"):
        page.goto("/odoo/ai-chat")
    expect(page.locator(".o_ai_chat_skeleton")).to_be_visible()
    held.pop().abort()
    expect(page.locator(".o_ai_chat_failed")).to_be_visible()
    page.unroute_all()
    page.get_by_role("button", name="Try again").click()
    expect(page.locator(".o_ai_chat_input")).to_be_visible()


def test_a_new_server_is_read_before_it_has_a_state(odoo, watched, slow_server):
    page = watched(odoo, "admin")
    page.goto(f"{SERVERS}/new")
    page.locator("div[name=name] input").fill("slow")
    page.locator("div[name=url] input").fill(slow_server.url)
    save(page)
    reading = page.locator(".o_woow_first_contact")
    expect(reading).to_have_text("Reading the tools of this server…")
    slow_server.go_on()
    expect(page.locator(".o_statusbar_status .o_arrow_button_current")).to_have_text("Connected")
    expect(reading).to_be_hidden()


def test_retry_repeats_no_call(odoo, scripted_llm, watched):
    slow = {"content": "once upon a time " * 300}
    scripted_llm.script(
        first("Tell the time", calls(TAIPEI)),
        then("Tell the time", slow, latency=30, chunkSize=10),
    )
    chat = Chat(odoo, "demo")
    turn = chat.ask("Tell the time")
    turn.until("text")
    turn.stop()
    turn.wait_ended()
    scripted_llm.reset()
    scripted_llm.script(then("Tell the time", {"content": "It is late."}))

    page = watched(odoo, "demo")
    page.goto(f"/odoo/ai-chat/{chat.id}")
    page.get_by_role("button", name="Retry answer").click()
    answer = page.locator(".o_ai_chat_message_assistant").last
    expect(answer).to_contain_text("It is late.")
    expect(answer.locator(".o_ai_chat_tool")).to_have_attribute("data-outcome", "ok")
    rows = odoo.sql(
        "SELECT count(*) FROM woow_paas_platform_tool_call c JOIN woow_paas_platform_ai_turn t"
        f" ON t.id = c.turn_id WHERE t.channel_id = {chat.id}"
    )
    assert rows.strip() == "1"
