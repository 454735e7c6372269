"""A model without function calling answers through tools, over HTTP from end to end."""

import json

import pytest
from chat import Chat, of, text_of

QUESTION = "What time is it in Taipei?"
ASKED = {
    "tool_calls": [{"name": "time__get_current_time", "arguments": {"timezone": "Asia/Taipei"}}],
    "message": "I look at the clock.",
}


def says(match, content, **more):
    response = {"content": content if isinstance(content, str) else json.dumps(content)}
    return {"match": {"userMessage": match}, "response": response, "chunkSize": 5, **more}


@pytest.fixture
def provider(odoo):
    """Sets fields of the demo's provider, and puts them back."""
    (provider,) = odoo.rpc("ai.config", "search", [("name", "=", "Demo Model")])
    yield lambda **values: odoo.rpc("ai.config", "write", [provider], values)
    odoo.rpc("ai.config", "write", [provider], {"tool_protocol": "native"})


def test_the_demos_question_is_answered_through_a_tool(odoo, scripted_llm, provider):
    provider(tool_protocol="prompt")
    scripted_llm.script(
        says("the results of the tools", "It is **late** in Taipei."), says(QUESTION, ASKED)
    )
    chat = Chat(odoo)
    events = chat.ask(QUESTION).events()
    (call,), (result,) = of(events, "tool_call"), of(events, "tool_result")
    assert (call["tool"], call["args"]) == ("get_current_time", {"timezone": "Asia/Taipei"})
    assert result["outcome"] == "ok" and "+08:00" in str(result["result"])
    assert text_of(events) == "I look at the clock.It is **late** in Taipei."
    first, second = (request["body"] for request in scripted_llm.requests()[-2:])
    assert "tools" not in first and "+08:00" in str(second["messages"][-1])
    answer = chat.page()["messages"][-1]
    assert "<strong>late</strong>" in answer["html"] and "tool_calls" not in answer["html"]
    assert answer["turn"]["tool_calls"][0]["id"] == call["id"]


def test_what_the_model_can_do_is_found_out_once(odoo, scripted_llm, provider):
    provider(tool_protocol="auto")
    scripted_llm.script(
        says("report_ready", "I am ready."),
        says("the results of the tools", "It is late."),
        says(QUESTION, ASKED),
        says("And now?", "Later still."),
    )
    chat = Chat(odoo)
    events = chat.ask(QUESTION).events()
    assert [e["outcome"] for e in of(events, "tool_result")] == ["ok"]
    assert odoo.sql("SELECT found_protocol FROM ai_config WHERE name = 'Demo Model'") == "prompt"
    before = len(scripted_llm.requests())
    assert "Later still." in text_of(chat.ask("And now?").events())
    assert len(scripted_llm.requests()) == before + 1


def test_an_unreadable_answer_is_withdrawn_and_asked_for_again(odoo, scripted_llm, provider):
    provider(tool_protocol="prompt")
    scripted_llm.script(
        says("could not be read", ASKED),
        says("the results of the tools", "It is late."),
        says(QUESTION, 'Wait. {"tool_calls": "time__get_current_time()"}'),
    )
    events = Chat(odoo).ask(QUESTION).events()
    assert len(of(events, "tool_result")) == 1 and "tool_calls" not in text_of(events)
    said = next(at for at, event in enumerate(events) if event["type"] == "text")
    assert {"type": "state", "state": "running", "step": 0} in events[said:]
