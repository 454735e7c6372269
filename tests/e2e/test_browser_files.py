"""Files in the chat: chosen, dropped, pasted, taken away, sent, read by the model and found again."""

import base64

from chat import first
from playwright.sync_api import expect

NOTES = {"name": "notes.txt", "mimeType": "text/plain", "buffer": b"The word is XYLOPHONE-7."}
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
)
WITH_FILE = """([target, kind, name]) => {
    const data = new DataTransfer();
    data.items.add(new File(["dropped"], name, {type: "text/plain"}));
    const at = document.querySelector(target);
    const options = {bubbles: true, cancelable: true};
    at.dispatchEvent(kind === "paste"
        ? new ClipboardEvent("paste", {...options, clipboardData: data})
        : new DragEvent(kind, {...options, dataTransfer: data}));
}"""


def test_files_are_attached_sent_and_found_again(odoo, scripted_llm, page_of):
    scripted_llm.script(first("XYLOPHONE-7", {"content": "I have read your notes."}))
    page = page_of(odoo, "user")
    page.goto("/my/ai")
    chips, choose = page.locator(".o_ai_chat_chip"), page.locator(".o_ai_chat_attach input")
    picture = {"name": "red.png", "mimeType": "image/png", "buffer": PIXEL}
    choose.set_input_files([NOTES, picture])
    expect(chips).to_have_text(["notes.txt", "red.png"])

    expect(page.locator(".o_ai_chat_input")).to_be_enabled()
    page.evaluate(WITH_FILE, [".o_ai_chat_input", "paste", "pasted.txt"])
    page.evaluate(WITH_FILE, [".o_ai_chat_input", "dragover", "dropped.txt"])
    expect(page.locator(".o_ai_chat_drop")).to_be_visible()
    page.evaluate(WITH_FILE, [".o_ai_chat_drop", "drop", "dropped.txt"])
    expect(page.locator(".o_ai_chat_drop")).to_have_count(0)
    expect(chips).to_have_text(["notes.txt", "red.png", "pasted.txt", "dropped.txt"])
    page.get_by_role("button", name="Remove pasted.txt").click()
    page.get_by_role("button", name="Remove dropped.txt").click()
    expect(chips).to_have_count(2)

    large = {"name": "large.txt", "mimeType": "text/plain", "buffer": b"x" * (8 * 1024 * 1024 + 1)}
    choose.set_input_files([large])
    expect(page.get_by_role("alert")).to_contain_text("“large.txt” is too large")
    page.locator(".o_ai_chat_input").fill("What do they say?")
    page.keyboard.press("Enter")

    expect(page.locator(".o_ai_chat_message_assistant")).to_contain_text("I have read your notes.")
    expect(chips).to_have_count(0)
    question = page.locator(".o_ai_chat_message_user")
    for _time in ("as it was sent", "as the history has it"):
        expect(question.get_by_role("link", name="notes.txt")).to_be_visible()
        expect(question.get_by_role("img", name="red.png")).to_have_js_property("naturalWidth", 1)
        page.reload()


def test_a_file_that_nobody_can_read_keeps_the_message(odoo, scripted_llm, page_of):
    page = page_of(odoo, "user")
    page.goto("/my/ai")
    program = {"name": "run.exe", "mimeType": "application/octet-stream", "buffer": b"MZ\0\0"}
    page.locator(".o_ai_chat_attach input").set_input_files([program])
    page.locator(".o_ai_chat_input").fill("Run it")
    page.keyboard.press("Enter")
    expect(page.locator(".o_ai_chat_unsent")).to_contain_text("neither a picture")
    page.get_by_role("button", name="Edit").click()
    expect(page.locator(".o_ai_chat_chip")).to_have_text("run.exe")
    expect(page.locator(".o_ai_chat_input")).to_have_value("Run it")
