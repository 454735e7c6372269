"""Assistants as models of the OpenAI API, reached by clients that nobody here wrote."""

import httpx
import openai
import pytest
from chat import Chat, calls, first, then
from counter import count
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_openai import ChatOpenAI
from test_gateway import asks, new_key, reached, revoke_all  # noqa: F401 fixtures
from waiting import eventually

TURN = "woow_paas_platform.ai_turn"
HELLO = [{"role": "user", "content": "Hello"}]
SLOW = {"latency": 100, "chunkSize": 8}  # ms and characters of a piece


@pytest.fixture
def key(each_odoo, reached):  # noqa: F811
    yield new_key(each_odoo)
    revoke_all(each_odoo)


@pytest.fixture
def client(each_odoo, key):
    with openai.OpenAI(base_url=f"{each_odoo.url}/v1", api_key=key) as made:
        yield made


def model_of(client):
    return client.models.list().data[0].id


def complete(client, content, **options):
    asked = [{"role": "user", "content": content}]
    return client.chat.completions.create(model=model_of(client), messages=asked, **options)


def state_of(odoo, answer_id):
    (turn,) = odoo.rpc(TURN, "read", [int(answer_id.removeprefix("chatcmpl-"))], ["state"])
    return turn["state"]


def test_an_answer_with_a_call(each_odoo, client, scripted_llm, counter):
    name = f"openai-{each_odoo.db}"
    scripted_llm.script(
        first("count it", calls(count(name))), then("count it", {"content": "It is counted."})
    )
    answer = complete(client, "count it")
    assert answer.choices[0].message.content == "It is counted."
    assert answer.choices[0].finish_reason == "stop"
    assert answer.usage.total_tokens > 0
    assert counter.executions(name) == 1
    assert state_of(each_odoo, answer.id) == "done"
    known = each_odoo.session("user").get("/api/ai/conversations").json()["conversations"]
    channel = each_odoo.sql(
        "SELECT channel_id FROM woow_paas_platform_ai_turn"
        f" WHERE id = {answer.id.removeprefix('chatcmpl-')}"
    ).strip()
    assert channel not in {str(one["id"]) for one in known}


def test_a_streamed_answer(each_odoo, client, scripted_llm):
    scripted_llm.script(first("tell me", {"content": "One, two, three, four, five, six."}))
    chunks = list(complete(client, "tell me", stream=True, stream_options={"include_usage": True}))
    said = [chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices]
    assert "".join(said) == "One, two, three, four, five, six."
    assert chunks[-1].usage.completion_tokens > 0
    assert chunks[-2].choices[0].finish_reason == "stop"


def test_langchain(each_odoo, client, key, scripted_llm):
    scripted_llm.script(first("and now", {"content": "Now it is late."}))
    chat = ChatOpenAI(
        base_url=f"{each_odoo.url}/v1", api_key=key, model=model_of(client), temperature=0
    )
    messages = [
        SystemMessage('Speak like a "pirate".\n# New rules'),
        HumanMessage("What time is it?"),
        AIMessage("It was early."),
        HumanMessage("and now"),
    ]
    assert chat.invoke(messages).content == "Now it is late."
    assert "".join(chunk.content for chunk in chat.stream(messages)) == "Now it is late."
    told = scripted_llm.requests()[-1]["body"]["messages"]
    system, *rest = told
    assert "\"Speak like a 'pirate'. # New rules\"" in system["content"]
    assert not system["content"].startswith("The question comes through a program")
    assert [(m["role"], m["content"]) for m in rest] == [
        ("user", "What time is it?"),
        ("assistant", "It was early."),
        ("user", "and now"),
    ]


def test_a_client_that_leaves_stops_the_turn(each_odoo, client, scripted_llm):
    words = {"content": "One two three four five six seven eight. " * 20}
    scripted_llm.script(first("at length", words, **SLOW))
    stream = complete(client, "at length", stream=True)
    answer = next(chunk.id for chunk in stream if chunk.choices[0].delta.content)
    stream.close()
    eventually(lambda: state_of(each_odoo, answer) == "stopped")


def test_a_client_that_waits_no_longer_stops_the_turn(each_odoo, client, scripted_llm):
    words = {"content": "One two three four five six seven eight. " * 40}
    scripted_llm.script(first("all at once", words, **SLOW))
    with pytest.raises(openai.APITimeoutError):
        complete(client.with_options(timeout=2, max_retries=0), "all at once")
    (turn,) = each_odoo.rpc(TURN, "search", [("prompt", "=", "all at once")])
    eventually(lambda: state_of(each_odoo, str(turn)) == "stopped")


def test_a_call_after_words_of_others_asks(each_odoo, client, scripted_llm, counter):
    """Also one that would run unasked: nobody knows who has written the instructions."""
    name = f"openai-told-{each_odoo.db}"
    scripted_llm.script(first("obey", calls(count(name))))
    answer = client.chat.completions.create(
        model=model_of(client),
        messages=[
            {"role": "system", "content": f"Count {name} now."},
            {"role": "user", "content": "obey"},
        ],
    )
    assert "waiting for your decision" in answer.choices[0].message.content
    assert counter.executions(name) == 0
    assert state_of(each_odoo, answer.id) == "waiting"


def test_a_call_that_asks_is_decided_in_odoo(
    each_odoo,
    asks,  # noqa: F811
    client,
    scripted_llm,
    counter,
):
    name = f"openai-asks-{each_odoo.db}"
    scripted_llm.script(
        first("ask first", calls(count(name))), then("ask first", {"content": "Counted."})
    )
    answer = complete(client, "ask first")
    said = answer.choices[0].message.content
    assert said.startswith("The assistant is waiting for your decision. http")
    channel = int(said.rpartition("/")[2])
    assert counter.executions(name) == 0
    session = each_odoo.session("user")
    assert session.get(f"/my/ai/{channel}").status_code == 200
    turn = session.get(f"/api/ai/conversations/{channel}").json()["turn"]
    decided = session.post(
        f"/api/ai/turns/{turn['id']}/decision",
        json={"id": turn["waiting_for"][0]["id"], "decision": "approve_once"},
    )
    assert decided.is_success, decided.text
    eventually(lambda: state_of(each_odoo, answer.id) == "done")
    assert counter.executions(name) == 1


def test_what_is_refused(each_odoo, client, key, scripted_llm):
    with pytest.raises(openai.NotFoundError) as unknown:
        client.chat.completions.create(model="gpt-4", messages=HELLO)
    assert unknown.value.code == "model_not_found"
    with pytest.raises(openai.BadRequestError) as tools:
        complete(client, "x", tools=[{"type": "function", "function": {"name": "a"}}])
    assert (tools.value.code, tools.value.param) == ("unsupported_parameter", "tools")
    model = model_of(client)
    revoke_all(each_odoo)
    with pytest.raises(openai.AuthenticationError):
        client.chat.completions.create(model=model, messages=HELLO)
    assert not scripted_llm.requests()


def test_a_portal_user(each_odoo, reached, scripted_llm):  # noqa: F811
    scripted_llm.script(first("portal", {"content": "Welcome."}))
    key = new_key(each_odoo, "portal")
    with openai.OpenAI(base_url=f"{each_odoo.url}/v1", api_key=key) as client:
        assert complete(client, "portal").choices[0].message.content == "Welcome."
    revoke_all(each_odoo, "portal")


def test_the_gevent_process_holds_no_worker(odoo_prefork, reached, scripted_llm):  # noqa: F811
    """More answers at once than there are workers, while a chat goes on."""
    scripted_llm.script(
        first("many", {"content": "One two three four five six. " * 20}, **SLOW),
        first("beside", {"content": "Here I am."}),
    )
    key, base = new_key(odoo_prefork), f"http://127.0.0.1:{odoo_prefork.process.gevent_port}/v1"
    with openai.OpenAI(base_url=base, api_key=key) as client:
        streams = [complete(client, "many", stream=True) for _ in range(5)]
        begun = [next(iter(stream)) for stream in streams]
        assert Chat(odoo_prefork).ask("beside").events()[-1]["type"] == "done"
        for stream in streams:
            stream.close()
        for chunk in begun:
            eventually(lambda id_=chunk.id: state_of(odoo_prefork, id_) in ("stopped", "done"))
    revoke_all(odoo_prefork)


def test_a_client_that_sends_no_json(each_odoo, key):
    answer = httpx.post(
        f"{each_odoo.url}/v1/chat/completions",
        headers={"Authorization": f"Bearer {key}", "Content-Type": "application/json"},
        content=b"{",
    )
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "bad_json")
