"""A long conversation in real processes and in the browser: summed up, seen, and gone on with."""

import pytest
from chat import Chat, of

LENGTH = 8_000  # tokens


@pytest.fixture
def small_model(odoo):
    """The provider's model takes little, so that a few questions fill it."""
    odoo.sql(f"UPDATE ai_config SET context_length = {LENGTH}")
    yield
    odoo.sql("UPDATE ai_config SET context_length = 0")


def test_it_is_summed_up_by_itself_and_goes_on(odoo, scripted_llm, small_model):
    scripted_llm.script(
        {"match": {"userMessage": "This is the conversation"}, "response": {"content": "S00042."}},
        {"match": {}, "response": {"content": "Noted. " * 60}},
    )
    chat = Chat(odoo)
    made = []
    for number in range(24):
        events = chat.ask(f"Note {number}: " + "word " * 200).events()
        assert of(events, "done")[0]["state"] == "done"
        (usage,) = of(events, "usage")
        assert usage["context"]["limit"] == LENGTH
        made += of(events, "conversation_summary")
    assert 1 <= len(made) <= 8, "not in each turn"
    assert made[0]["content"] == "S00042."
    last = scripted_llm.requests()[-1]["body"]["messages"]
    assert "S00042." in str(last) and "Note 0:" not in str(last)
    assert len(chat.page()["messages"]) >= 30, "nothing is gone"


def test_the_command_in_the_browser(odoo, scripted_llm, page_of):
    scripted_llm.script(
        {"match": {"userMessage": "This is the conversation"}, "response": {"content": "S00042."}},
        {"match": {}, "response": {"content": "Noted."}},
    )
    chat = Chat(odoo)
    chat.ask("Tainan, please.").events()
    page = page_of(odoo, "user")
    page.goto(f"/my/ai/{chat.id}")
    gauge = page.get_by_role("button", name="of the context used")
    gauge.wait_for()
    page.get_by_label("Message", exact=True).fill("/compact the city")
    page.keyboard.press("Enter")
    line = page.locator(".o_ai_chat_summary > summary")
    line.wait_for()
    assert "2 earlier messages summed up" in line.inner_text()
    line.click()
    page.get_by_text("S00042.").wait_for()
    page.reload()
    page.locator(".o_ai_chat_summary > summary").wait_for()
    gauge.click()
    page.get_by_text("Summary", exact=True).wait_for()
