"""Export of a conversation by a real Odoo, opened by the readers of other programs."""

import io

from chat import Chat, calls, first, then
from pypdf import PdfReader

QUESTION, ANSWER = "What does the map show? 地圖", "It shows two harbours."


def test_a_pdf_holds_messages_calls_and_pictures(each_odoo, scripted_llm):
    """Printed by the program that the set-up brings."""
    scripted_llm.script(
        first(QUESTION, calls(("everything__get-tiny-image", {}))),
        then(QUESTION, {"content": ANSWER}),
    )
    chat = Chat(each_odoo)
    chat.ask(QUESTION).events()
    answer = chat.http.get(f"/api/ai/conversations/{chat.id}/export?format=pdf")
    assert answer.headers["Content-Type"] == "application/pdf", answer.text
    pages = PdfReader(io.BytesIO(answer.content)).pages
    # without blanks, which readers see between letters of different fonts
    said = "".join("".join(page.extract_text() for page in pages).split())
    for words in (QUESTION, ANSWER, "everything.get-tiny-image", "Attached:"):
        assert "".join(words.split()) in said
    assert [image for page in pages for image in page.images]
