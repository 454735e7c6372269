"""Responses of the OpenAI API, read by the client that its makers ship."""

import openai
import pytest
from chat import calls, first, then
from counter import count
from langchain_core.messages import AIMessage, HumanMessage
from langchain_openai import ChatOpenAI
from test_gateway import asks, reached, revoke_all  # noqa: F401 fixtures
from test_openai_api import SLOW, client, key, model_of, state_of  # noqa: F401 fixtures
from waiting import eventually

KINDS = [
    "created",
    "in_progress",
    "output_item.added",
    "mcp_call.in_progress",
    "mcp_call_arguments.delta",
    "mcp_call_arguments.done",
    "mcp_call.completed",
    "output_item.done",
    "output_item.added",
    "content_part.added",
    "output_text.delta",
    "output_text.done",
    "content_part.done",
    "output_item.done",
    "completed",
]


def respond(client, content, **options):  # noqa: F811
    return client.responses.create(model=model_of(client), input=content, **options)


def state(odoo, made):
    return state_of(odoo, made.id.split("_")[1])


def test_an_answer_with_a_call(each_odoo, client, scripted_llm, counter):  # noqa: F811
    name = f"response-{each_odoo.db}"
    scripted_llm.script(
        first("count it", calls(count(name))), then("count it", {"content": "It is counted."})
    )
    made = respond(client, "count it", instructions="Speak like a pirate.")
    assert made.output[-1].type == "mcp_approval_request", "nobody knows who wrote the instructions"
    made = respond(client, "count it")
    call, message = made.output
    assert (call.type, call.name, call.server_label) == ("mcp_call", "count", "counter")
    assert name in call.arguments and call.output and not call.error
    assert (made.output_text, made.status, message.status) == (
        "It is counted.",
        "completed",
        "completed",
    )
    assert made.usage.total_tokens > 0 and counter.executions(name) == 1
    found = client.responses.retrieve(made.id)
    assert (found.output, found.status) == (made.output, "completed")


def test_a_streamed_answer(each_odoo, client, scripted_llm):  # noqa: F811
    name = f"response-stream-{each_odoo.db}"
    scripted_llm.script(
        first("stream it", calls(count(name))), then("stream it", {"content": "One, two, three."})
    )
    told = [*respond(client, "stream it", stream=True)]
    kinds = [event.type.removeprefix("response.") for event in told]
    assert [kind for n, kind in enumerate(kinds) if kind != kinds[n - 1]] == KINDS
    assert [event.sequence_number for event in told] == [*range(len(told))]
    said = [event.delta for event in told if event.type == "response.output_text.delta"]
    assert "".join(said) == told[-1].response.output_text == "One, two, three."
    with client.responses.stream(model=model_of(client), input="stream it") as stream:
        assert stream.get_final_response().output_text == "One, two, three."


def test_a_conversation(each_odoo, client, scripted_llm):  # noqa: F811
    scripted_llm.script(
        first("My name is Ada", {"content": "Hello, Ada."}), first("And yours", {"content": "Bo."})
    )
    one = respond(client, "My name is Ada")
    two = respond(client, "And yours?", previous_response_id=one.id)
    assert (two.output_text, two.previous_response_id) == ("Bo.", one.id)
    told = scripted_llm.requests()[-1]["body"]["messages"]
    assert [m["content"] for m in told[1:]] == ["My name is Ada", "Hello, Ada.", "And yours?"]
    client.responses.delete(two.id)
    client.responses.delete(one.id)
    with pytest.raises(openai.NotFoundError):
        client.responses.retrieve(one.id)
    with pytest.raises(openai.NotFoundError) as gone:
        respond(client, "And yours?", previous_response_id=two.id)
    assert gone.value.code == "previous_response_not_found"


def test_langchain(each_odoo, client, key, scripted_llm):  # noqa: F811
    scripted_llm.script(first("and now", {"content": "Now it is late."}))
    chat = ChatOpenAI(
        base_url=f"{each_odoo.url}/v1",
        api_key=key,
        model=model_of(client),
        use_responses_api=True,
    )
    messages = [
        HumanMessage("What time is it?"),
        AIMessage("It was early."),
        HumanMessage("and now"),
    ]
    assert chat.invoke(messages).text == "Now it is late."
    assert "".join(chunk.text for chunk in chat.stream(messages)) == "Now it is late."


def test_in_the_background(each_odoo, client, scripted_llm):  # noqa: F811
    words = {"content": "One two three four five six seven eight. " * 20}
    scripted_llm.script(first("behind", {"content": "Done."}), first("slowly", words, **SLOW))
    made = respond(client, "behind", background=True)
    eventually(lambda: client.responses.retrieve(made.id).status == "completed")
    assert client.responses.retrieve(made.id).output_text == "Done."
    made = respond(client, "slowly", background=True)
    eventually(lambda: client.responses.retrieve(made.id).status == "in_progress")
    assert client.responses.cancel(made.id).status == "cancelled"
    eventually(lambda: state(each_odoo, made) == "stopped")


def test_a_client_that_leaves_stops_the_turn(each_odoo, client, scripted_llm):  # noqa: F811
    words = {"content": "One two three four five six seven eight. " * 20}
    scripted_llm.script(first("at length", words, **SLOW), first("hello", {"content": "Hello."}))
    stream = respond(client, "at length", stream=True)
    made = next(iter(stream)).response
    stream.close()
    eventually(lambda: state(each_odoo, made) == "stopped")
    again = respond(client, "hello", previous_response_id=made.id, background=True)
    assert again.status == "queued"
    eventually(lambda: state(each_odoo, again) == "done")


def decide(odoo, channel, asked, decision):
    session = odoo.session("user")
    turn = session.get(f"/api/ai/conversations/{channel}").json()["turn"]
    decided = session.post(
        f"/api/ai/turns/{turn['id']}/decision", json={"id": asked.id[5:], "decision": decision}
    )
    assert decided.is_success, decided.text


def approval(asked):
    return {"type": "mcp_approval_response", "approval_request_id": asked.id, "approve": True}


def test_all_calls_that_ask_are_decided_first(
    each_odoo,
    asks,  # noqa: F811
    client,  # noqa: F811
    scripted_llm,
    counter,
):
    name = f"response-two-{each_odoo.db}"
    scripted_llm.script(
        first("both", calls(count(f"{name}-1"), count(f"{name}-2"))),
        then("both", {"content": "Both."}),
    )
    made = respond(client, "both")
    message, one, two = made.output
    channel = int(message.content[0].text.rpartition("/my/ai/")[2])
    decide(each_odoo, channel, one, "approve_once")
    with pytest.raises(openai.ConflictError):
        respond(client, [approval(one)], previous_response_id=made.id)
    assert state(each_odoo, made) == "waiting"
    decide(each_odoo, channel, two, "deny")
    further = respond(client, [approval(one), approval(two)], previous_response_id=made.id)
    assert {item.type for item in further.output} == {"mcp_call", "message"}
    assert len(further.output) == 3
    assert (counter.executions(f"{name}-1"), counter.executions(f"{name}-2")) == (1, 0)


@pytest.mark.parametrize("decision", ["approve_once", "deny"])
def test_a_call_that_asks_is_decided_in_odoo(
    each_odoo,
    asks,  # noqa: F811
    client,  # noqa: F811
    scripted_llm,
    counter,
    decision,
):
    name = f"response-{decision}-{each_odoo.db}"
    scripted_llm.script(
        first("ask first", calls(count(name))), then("ask first", {"content": "So be it."})
    )
    made = respond(client, "ask first")
    message, asked = made.output
    assert (asked.type, asked.name, counter.executions(name)) == (
        "mcp_approval_request",
        "count",
        0,
    )
    answer = [approval(asked)]
    with pytest.raises(openai.ConflictError) as refused:
        respond(client, answer, previous_response_id=made.id)
    assert refused.value.code == "approval_required"
    channel = int(refused.value.message.rpartition("/my/ai/")[2].split("'")[0])
    assert f"/my/ai/{channel}" in message.content[0].text

    decide(each_odoo, channel, asked, decision)
    further = respond(client, answer, previous_response_id=made.id)
    call, message = further.output
    assert (call.type, call.approval_request_id) == ("mcp_call", asked.id)
    assert counter.executions(name) == (decision == "approve_once")
    assert bool(call.error) == (decision == "deny")
    assert further.output_text == "So be it."
    found = client.responses.retrieve(further.id)
    assert [item.id for item in found.output] == [item.id for item in further.output]
    assert client.responses.retrieve(made.id).output[-1].content[0].text == "So be it."
    streamed = [*respond(client, answer, previous_response_id=made.id, stream=True)]
    assert streamed[-1].response.output_text == "So be it."
