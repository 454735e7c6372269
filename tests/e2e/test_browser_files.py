"""Files in the chat: chosen, dropped, pasted, taken away, sent, read by the model and found again."""

import base64
import io

import axe
import pytest
from chat import first
from playwright.sync_api import expect
from reportlab.lib.pdfencrypt import StandardEncryption
from reportlab.pdfgen import canvas

NOTES = {"name": "notes.txt", "mimeType": "text/plain", "buffer": b"The word is XYLOPHONE-7."}
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
)
WITH_FILE = """([target, kind, name]) => {
    const data = new DataTransfer();
    if (kind === "paste" && name.length > 100) {
        data.setData("text/plain", name);
    } else {
        data.items.add(new File(["dropped"], name, {type: "text/plain"}));
    }
    const at = document.querySelector(target);
    const options = {bubbles: true, cancelable: true};
    at.dispatchEvent(kind === "paste"
        ? new ClipboardEvent("paste", {...options, clipboardData: data})
        : new DragEvent(kind, {...options, dataTransfer: data}));
}"""


def pdf(*pages, password=""):
    """A page for each text; one without text has a drawing, as a scanned one."""
    file = io.BytesIO()
    page = canvas.Canvas(file, encrypt=StandardEncryption(password) if password else None)
    for text in pages:
        page.drawString(50, 700, text)
        page.showPage()
    page.save()
    return file.getvalue()


def test_files_are_attached_sent_and_found_again(odoo, scripted_llm, page_of):
    scripted_llm.script(first("XYLOPHONE-7", {"content": "I have read your notes."}))
    page = page_of(odoo, "user")
    page.goto("/my/ai")
    chips, choose = page.locator(".o_ai_chat_chip_name"), page.locator(".o_ai_chat_file_input")
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


@pytest.mark.parametrize("width", [1440, 390])
def test_a_long_text_becomes_a_file_and_a_passage_is_quoted(odoo, scripted_llm, page_of, width):
    asked, long = f"Which word, {width}?", "這是很長的文字。" * 1_300 + "XYLOPHONE-7"
    scripted_llm.script(
        first("> the word XYLOPHONE-7", {"content": "I said so."}),
        first(asked, {"content": "It is the word **XYLOPHONE-7** at the end."}),
    )
    page = page_of(odoo, "user", viewport={"width": width, "height": 844})
    page.goto("/my/ai")
    box = page.locator(".o_ai_chat_input")
    expect(box).to_be_enabled()
    page.evaluate(WITH_FILE, [".o_ai_chat_input", "paste", long])
    expect(page.locator(".o_ai_chat_chip_name")).to_have_text("Pasted text.txt")
    box.fill(asked)
    page.keyboard.press("Enter")
    answer = page.locator(".o_ai_chat_message_assistant").first
    expect(answer).to_contain_text("at the end")
    file = page.locator(".o_ai_chat_message_user").get_by_role("link", name="Pasted text.txt")
    with page.expect_download() as download:
        file.click()
    assert download.value.path().read_text() == long

    answer.locator(".o_ai_chat_html p").evaluate(
        "p => getSelection().setBaseAndExtent(p.firstChild, 6, p.querySelector('strong').firstChild, 11)"
    )
    answer.get_by_role("button", name="Quote in your message").press("Enter")
    expect(box).to_have_value("> the word XYLOPHONE-7\n\n")
    assert axe.violations(page, ".o_ai_chat_thread") == []
    box.press_sequentially("Really?")
    box.press("Enter")
    expect(page.locator(".o_ai_chat_message_assistant").last).to_contain_text("I said so.")


def test_a_document_is_read_before_it_is_sent(odoo, scripted_llm, page_of):
    scripted_llm.script(
        first("[page 2 of 3]\nThe word is XYLOPHONE-7", {"content": "I have read it."})
    )
    page = page_of(odoo, "user")
    page.goto("/my/ai")
    choose, chip = page.locator(".o_ai_chat_file_input"), page.locator(".o_ai_chat_chip")
    content = pdf("Contract", "The word is XYLOPHONE-7", "Signed")
    choose.set_input_files(
        [{"name": "contract.pdf", "mimeType": "application/pdf", "buffer": content}]
    )
    expect(chip).to_have_attribute("data-state", "kept")
    expect(chip.locator(".o_ai_chat_chip_facts")).to_contain_text("3 pages")
    page.reload()
    expect(chip.locator(".o_ai_chat_chip_name")).to_have_text("contract.pdf")
    page.locator(".o_ai_chat_input").fill("Which word?")
    page.keyboard.press("Enter")
    expect(page.locator(".o_ai_chat_message_assistant")).to_contain_text("I have read it.")
    question = page.locator(".o_ai_chat_message_user")
    with page.expect_download() as download:
        question.get_by_role("link", name="contract.pdf").click()
    assert download.value.path().read_bytes() == content


def test_a_message_sent_at_once_waits_for_its_file(odoo, scripted_llm, page_of):
    scripted_llm.script(first("XYLOPHONE-7", {"content": "I have read it."}))
    page = page_of(odoo, "user")
    page.goto("/my/ai")
    expect(page.locator(".o_ai_chat_input")).to_be_enabled()
    page.locator(".o_ai_chat_input").fill("Which word?")
    many = pdf(*["The word is XYLOPHONE-7"] * 100)
    page.locator(".o_ai_chat_file_input").set_input_files(
        [{"name": "long.pdf", "mimeType": "application/pdf", "buffer": many}]
    )
    page.locator(".o_ai_chat_input").press("Enter")
    expect(page.locator(".o_ai_chat_message_assistant")).to_contain_text("I have read it.")


def test_what_cannot_be_read_is_refused_when_it_is_chosen(odoo, page_of):
    page = page_of(odoo, "user")
    page.goto("/my/ai")
    chips, choose = page.locator(".o_ai_chat_chip_name"), page.locator(".o_ai_chat_file_input")

    def conversations():
        return page.request.get("/api/ai/conversations").json()["conversations"]

    before = conversations()
    page.locator(".o_ai_chat_input").fill("Run it")
    choose.set_input_files([NOTES])
    expect(chips).to_have_text(["notes.txt"])
    for name, content, reason in (
        ("run.exe", b"MZ\0\0", "Files of this type cannot be read."),
        ("locked.pdf", pdf("Secret", password="secret"), "protected with a password"),
        ("scan.pdf", pdf(""), "There is no text in the file."),
    ):
        file = {"name": name, "mimeType": "application/octet-stream", "buffer": content}
        choose.set_input_files([file])
        expect(page.get_by_role("alert")).to_contain_text(f"“{name}” was not attached.")
        expect(page.get_by_role("alert")).to_contain_text(reason)
        expect(chips).to_have_text(["notes.txt"])
    expect(page.locator(".o_ai_chat_input")).to_have_value("Run it")
    expect(page.locator(".o_ai_chat_message_user")).to_have_count(0)
    assert conversations() == before


def test_a_phone_offers_its_camera(odoo, page_of):
    page = page_of(odoo, "user", has_touch=True, is_mobile=True)
    page.goto("/my/ai")
    page.get_by_role("button", name="Attach").click()
    page.get_by_role("menuitem", name="Camera or photos…").focus()
    expect(page.locator(".o_ai_chat_picture_input")).to_have_attribute("accept", "image/*")
    picture = {"name": "red.png", "mimeType": "image/png", "buffer": PIXEL}
    page.locator(".o_ai_chat_picture_input").set_input_files([picture])
    chip = page.locator(".o_ai_chat_chip")
    expect(chip.locator("img")).to_have_js_property("naturalWidth", 1)
