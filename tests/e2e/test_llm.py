"""What language models do wrong, over real HTTP: a sentence for the person, and nothing asked or shown twice."""

import asyncio
import contextlib
import json
import threading

import pytest
from chat import Chat, of, text_of
from waiting import PATIENCE

from services.testing.scripted_llm import Reply, ScriptedLlm

TIMEOUT = 1.0  # s, instead of the minute that a model usually has


def fail(status, **more):
    return {"type": "fail", "status": status, **more}


def broken(kind, after=3, **more):
    return {"type": "stream_fault", "kind": kind, "after_chunks": after, **more}


REPLY = {"type": "reply", "text": "one two three four five six seven eight nine ten"}
CONTEXT = "This model's maximum context length is 8192 tokens."
NO_TOOLS = "This model does not support tools."


@contextlib.contextmanager
def waiting_for(odoo, code):
    """Where a time-out is what comes, the provider is given up soon; else a busy machine may take its time."""
    if code != "llm_timeout":
        yield
        return
    providers = odoo.rpc("ai.config", "search", [])
    (before,) = odoo.rpc("ai.config", "read", providers, ["first_token_timeout", "idle_timeout"])
    del before["id"]
    odoo.rpc("ai.config", "write", providers, dict.fromkeys(before, TIMEOUT))
    try:
        yield
    finally:
        odoo.rpc("ai.config", "write", providers, before)


@pytest.fixture
def llm(odoo, fault_llm, scripted_llm):
    odoo.use_llm(fault_llm)
    yield fault_llm
    odoo.use_llm(scripted_llm)


def asked(llm):
    """How many requests the model got."""
    return len(llm.requests()["requests"])


@pytest.mark.parametrize(
    ("behaviors", "code", "requests"),
    [
        ([fail(401)], "llm_auth_failed", 1),
        ([fail(403)], "llm_auth_failed", 1),
        ([fail(404, message="The model `x` does not exist")], "llm_model_not_found", 1),
        ([fail(429, retry_after=60)], "llm_rate_limited", 1),
        ([fail(429, code="insufficient_quota", message="quota")], "llm_rate_limited", 1),
        ([fail(500, times=2)], "llm_unavailable", 2),
        ([fail(400, message=CONTEXT)], "llm_context_too_long", 1),
        ([fail(400, message=NO_TOOLS)], "llm_no_tools", 1),
        ([fail(400, message="No such thing")], "llm_rejected", 1),
        ([broken("disconnect", 0, times=2)], "llm_protocol_error", 2),
        ([{"type": "slow_first_token", "seconds": 20}], "llm_timeout", 1),
    ],
)
def test_a_refusal_is_a_sentence(odoo, llm, behaviors, code, requests):
    odoo.expect_log(f"A turn failed: {code}")
    llm.behave(*behaviors)
    chat = Chat(odoo)
    with waiting_for(odoo, code):
        events = chat.ask("Hi").events()
    final = events[-1]
    assert (final["type"], final["code"]) == ("error", code)
    assert final["message"].endswith(".")
    assert "Traceback" not in final["message"]
    assert chat.page()["messages"][-1]["turn"]["error"] == {
        "code": code,
        "message": final["message"],
    }
    assert asked(llm) == requests
    llm.behave(REPLY)
    assert text_of(chat.ask("Again").events()) == REPLY["text"], "the conversation goes on"


@pytest.mark.parametrize(
    "fault", [fail(429, retry_after=1), fail(503), broken("disconnect", 0)], ids=str
)
def test_one_more_try_before_the_first_word(odoo, llm, fault):
    llm.behave(fault, {**REPLY, "times": 2})
    events = Chat(odoo).ask("Hi").events()
    assert (events[-1]["type"], text_of(events)) == ("done", REPLY["text"])
    assert asked(llm) == 2


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (broken("disconnect"), "llm_protocol_error"),
        (broken("truncate"), "llm_protocol_error"),
        (broken("malformed"), "llm_protocol_error"),
        (broken("stall", stall_seconds=20), "llm_timeout"),
    ],
    ids=lambda value: value if isinstance(value, str) else value["kind"],
)
def test_an_answer_that_breaks_keeps_what_was_said(odoo, llm, fault, code):
    odoo.expect_log(f"A turn failed: {code}")
    llm.behave(fault, REPLY)
    chat = Chat(odoo)
    with waiting_for(odoo, code):
        events = chat.ask("Hi").events()
    assert (events[-1]["type"], events[-1]["code"]) == ("error", code)
    said = text_of(events)
    assert said
    assert REPLY["text"].startswith(said.strip())
    assert said.strip() in chat.page()["messages"][-1]["text"]
    assert asked(llm) == 1, "what was shown is not asked for again"


@pytest.fixture
def own_llm(odoo, scripted_llm):
    """Our own scripted server, for what no other one does: ``own_llm(Reply(…))``."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    servers = []

    def start(*script):
        server = ScriptedLlm(*script)
        asyncio.run_coroutine_threadsafe(server.__aenter__(), loop).result(PATIENCE)
        servers.append(server)
        odoo.use_llm(server)
        return server

    yield start
    odoo.use_llm(scripted_llm)
    for server in servers:
        asyncio.run_coroutine_threadsafe(server.__aexit__(), loop).result(PATIENCE)
    loop.call_soon_threadsafe(loop.stop)
    thread.join(PATIENCE)


def test_an_error_inside_the_stream(odoo, own_llm):
    odoo.expect_log("A turn failed: llm_rate_limited")
    error = json.dumps({"error": {"message": "The server is overloaded", "code": "overloaded"}})
    own_llm(Reply("so far", raw=(error,), finish=None))
    events = Chat(odoo).ask("Hi").events()
    assert (events[-1]["type"], events[-1]["code"]) == ("error", "llm_rate_limited")
    assert text_of(events) == "so far"


def test_calls_as_providers_write_them(odoo, own_llm):
    """No id, arguments as an object, content as a list, usage in each chunk."""
    odd = [
        {"choices": [{"index": 0, "delta": {"content": [{"type": "text", "text": "Look: "}]}}]},
        {
            "choices": [
                {
                    "index": 0,
                    "delta": {
                        "tool_calls": [
                            {
                                "function": {
                                    "name": "time__get_current_time",
                                    "arguments": {"timezone": "Asia/Taipei"},
                                }
                            }
                        ]
                    },
                }
            ],
            "usage": {"prompt_tokens": 5, "completion_tokens": 1, "total_tokens": 6},
        },
        {
            "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}],
            "usage": {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7},
        },
    ]
    lines = tuple(
        json.dumps({"id": "1", "object": "chat.completion.chunk", "model": "m", **part})
        for part in odd
    )
    server = own_llm(Reply(raw=lines, finish=None), Reply("It is late."))
    events = Chat(odoo).ask("What time is it?").events()
    assert [event["outcome"] for event in of(events, "tool_result")] == ["ok"]
    assert text_of(events) == "Look: It is late."
    assert len(server.requests) == 2


def test_a_provider_that_refuses_usage_is_not_asked_for_it(odoo, own_llm):
    server = own_llm(Reply("Hello."))
    providers = odoo.rpc("ai.config", "search", [])
    odoo.rpc("ai.config", "write", providers, {"stream_usage": False})
    try:
        Chat(odoo).ask("Hi").events()
        assert "stream_options" not in server.requests[-1]
    finally:
        odoo.rpc("ai.config", "write", providers, {"stream_usage": True})
    Chat(odoo).ask("Hi").events()
    assert server.requests[-1]["stream_options"] == {"include_usage": True}
