"""Discuss in a real browser: an internal user talks to an assistant as to a colleague."""

import contextlib

from chat import Chat, calls, first, then
from playwright.sync_api import TimeoutError as PageTimeout
from playwright.sync_api import expect
from test_browser_files import pdf
from waiting import eventually

TAIPEI = ("time__get_current_time", {"timezone": "Asia/Taipei"})


def open_discuss(page, channel_id):
    page.goto(f"/odoo/discuss?active_id=discuss.channel_{channel_id}")
    expect(page.locator(".o-mail-Composer-input").first).to_be_visible()


def say(page, text):
    page.locator(".o-mail-Composer-input").first.fill(text)
    page.keyboard.press("Enter")


def test_an_assistant_answers_in_discuss(odoo, scripted_llm, page_of):
    scripted_llm.script(
        first("What time is it", calls(TAIPEI)),
        then("What time is it", {"content": "It is **tea** time."}),
        first("And now", {"content": "Still tea time."}),
        then("And now", {"content": "Still tea time."}),
    )
    chat = Chat(odoo, "demo")
    page = page_of(odoo, "demo")
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    open_discuss(page, chat.id)
    expect(page.locator(".o_ai_chat_category")).to_contain_text("AI assistants")

    say(page, "What time is it")
    say(page, "And now")  # the first is not answered yet: this one waits behind it
    messages = page.locator(".o-mail-Message")
    expect(messages.filter(has_text="It is tea time.")).to_have_count(1)
    expect(messages.filter(has_text="Still tea time.")).to_have_count(1)
    summary = messages.filter(has_text="It is tea time.").locator(".o_ai_call_summary")
    expect(summary).to_contain_text("time.get_current_time · Done")
    sidebar = page.locator(".o-mail-DiscussSidebarChannel", has_text="What time is it")
    expect(sidebar).to_have_count(1)

    page.goto(f"/odoo/ai-chat/{chat.id}")
    answers = page.locator(".o_ai_chat_message_assistant")
    expect(answers).to_have_count(2)
    expect(answers.first.locator(".o_ai_chat_tool")).to_have_attribute("data-outcome", "ok")
    expect(answers.first).not_to_contain_text("Tools used")
    assert not errors


def test_a_document_in_discuss_is_read(odoo, scripted_llm, page_of):
    scripted_llm.script(first("Sum it up", {"content": "The rent is 900."}))
    chat = Chat(odoo, "demo")
    page = page_of(odoo, "demo")
    open_discuss(page, chat.id)
    page.locator(".o-mail-Composer input[type=file]").first.set_input_files(
        [
            {"name": "contract.pdf", "mimeType": "application/pdf", "buffer": pdf("Rent is 900")},
            {"name": "scan.pdf", "mimeType": "application/pdf", "buffer": pdf("")},
        ]
    )
    kept = page.locator(".o-mail-Composer .o-mail-AttachmentContainer:not(.o-isUploading)")
    expect(kept).to_have_count(2)
    say(page, "Sum it up")
    messages = page.locator(".o-mail-Message, .o-mail-NotificationMessage")
    expect(messages.filter(has_text="The rent is 900.")).to_have_count(1)
    expect(messages.filter(has_text="“scan.pdf” cannot be read.")).to_have_count(1)
    asked = str(scripted_llm.requests()[-1]["body"]["messages"])
    assert "Rent is 900" in asked and "There is no text in the file" in asked


def test_a_mention_is_answered_in_a_thread(odoo, scripted_llm, page_of):
    scripted_llm.script(
        first("what time is it", calls(TAIPEI)),
        then("what time is it", {"content": "Tea time for everybody."}),
    )
    channel = odoo.rpc("discuss.channel", "create", [{"name": "Kitchen"}], as_login="demo")[0]
    page = page_of(odoo, "demo")
    open_discuss(page, channel)
    odoo.rpc("discuss.channel", "write", [channel], {"woow_ai_mentions": True}, as_login="demo")
    box = page.locator(".o-mail-Composer-input").first
    box.press_sequentially("@Demo A", delay=30)
    page.locator(".o-mail-Composer-suggestion", has_text="Demo Assistant").click()
    box.press_sequentially("what time is it")
    page.keyboard.press("Enter")
    thread = page.locator(".o-mail-DiscussSidebarSubchannel", has_text="what time")
    expect(thread).to_have_count(1)
    thread.click()
    answer = page.locator(".o-mail-Message", has_text="Tea time for everybody.").first

    def shown():
        """Discuss hears of a new thread before it listens there; what is posted between shows when it is opened."""
        with contextlib.suppress(PageTimeout):
            answer.wait_for(timeout=10_000)
            return True
        page.reload()
        return False

    eventually(shown)
