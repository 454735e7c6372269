import asyncio
import json
import time

import httpx
import pytest
from turns import Turn, request_of, turn

from services.llm import client, llm_errors
from services.testing.scripted_llm import Reply, ScriptedLlm, chunk


async def failed(*script, **options):
    async with ScriptedLlm(*script) as server:
        done = await turn(server, **options)
    assert done.result.state == "failed"
    assert (
        str(done.result.error).endswith(".")
        and "secret-key" not in f"{done.result.error}{done.result.error.detail}"
    )
    return done, server


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch):
    monkeypatch.setattr(client, "RETRY_DELAY", 0.01)


@pytest.mark.parametrize(
    ("status", "said", "code", "requests"),
    [
        (401, "bad key secret-key", "llm_auth_failed", 1),
        (403, "not yours", "llm_auth_failed", 1),
        (404, "The model `x` does not exist", "llm_model_not_found", 1),
        (400, "This model's maximum context length is 8192 tokens", "llm_context_too_long", 1),
        (413, "too large", "llm_context_too_long", 1),
        (400, "the request exceeds the available context size", "llm_context_too_long", 1),
        (400, "gemma does not support tools", "llm_no_tools", 1),
        (400, "temperature is wrong", "llm_rejected", 1),
        (500, "boom", "llm_unavailable", 2),
        (503, "loading model", "llm_unavailable", 2),
        (429, "slow down", "llm_rate_limited", 2),
        (429, "rate limit, see https://aka.ms/oai/quotaincrease", "llm_rate_limited", 2),
        (429, "insufficient_quota", "llm_rate_limited", 1),
        (402, "Insufficient Balance", "llm_rate_limited", 1),
        (400, "Your credit balance is too low", "llm_rate_limited", 1),
    ],
)
async def test_refusals(status, said, code, requests):
    done, server = await failed(Reply(status=status, error=said.replace("secret-key", "")))
    assert done.result.error.code == code and len(server.requests) == requests


@pytest.mark.parametrize(
    ("said", "length"),
    [
        ("This model's maximum context length is 8192 tokens. However, you requested 9000", 8_192),
        (
            "'max_tokens' or 'max_completion_tokens' is too large: 4096. This model's maximum context length is 32768"
            " tokens and your request has 30000 input tokens (4096 > 32768 - 30000).",
            32_768,
        ),
        ("request (9000 tokens) exceeds the available context size (8192 tokens)", 8_192),
        (
            "Prompt contains 65673 tokens and 0 draft tokens, too large for model with 32768 maximum context length"
            "', 'type': 'invalid_request_message', 'param': None, 'code': '3051'}",
            32_768,
        ),
        ("prompt is too long: 205123 tokens > 200000 maximum", 200_000),
        (
            "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
            1_048_576,
        ),
        (
            "too many tokens: size limit exceeded by 1000 tokens. The limit for this model is 8192 tokens.",
            8_192,
        ),
        ("Request too large on tokens per minute (TPM): Limit 6000, Requested 7461", 6_000),
        ("Input tokens exceed the configured limit of 272000 tokens: 300013 tokens.", 272_000),
        ("the request exceeds the available context size. Try increasing it", 0),
        ("max_tokens is too large: 4096", 0),
    ],
)
def test_how_long_a_request_may_be_is_read_from_a_refusal(said, length):
    """In the words of OpenAI, vLLM, llama.cpp, Mistral, Anthropic, Google, Cohere, Groq and OpenAI once more."""
    assert llm_errors.context_length(f"BadRequestError: Error code: 400 - {said}") == length


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_one_retry_before_the_first_token_helps(status):
    async with ScriptedLlm(Reply(status=status), Reply("Here.")) as server:
        done = await turn(server)
    assert done.result.text == "Here."


async def test_retry_after_is_kept_and_a_long_one_not_waited_for():
    done, server = await failed(Reply(status=429, headers={"retry-after": "77"}))
    assert done.result.error.retry_after == 77 and len(server.requests) == 1


async def test_short_retry_after_is_waited_for():
    async with ScriptedLlm(
        Reply(status=429, headers={"retry-after": "1"}), Reply("Here.")
    ) as server:
        begun = time.monotonic()
        assert (await turn(server)).result.state == "done"
        assert time.monotonic() - begun >= 1


async def test_cut_stream_keeps_what_was_said():
    done, server = await failed(Reply("This is the beginn", cut=True))
    assert done.result.error.code == "llm_protocol_error"
    assert done.result.text == done.journal.text and done.result.text.startswith("This is")
    assert len(server.requests) == 1 and done.progress.step == 0


async def test_stream_cut_before_the_first_token_is_tried_again():
    async with ScriptedLlm(Reply(cut=True), Reply("Here.")) as server:
        assert (await turn(server)).result.text == "Here."


async def test_stream_that_ends_without_a_reason():
    done, _ = await failed(Reply("half", finish=None))
    assert done.result.error.code == "llm_protocol_error" and done.result.text == "half"


async def test_cut_stream_in_mid_call_runs_nothing(fake):
    async with ScriptedLlm(Reply(calls=[("fake__count", {})], cut=True)) as server:
        done = await turn(server, fake)
    assert done.result.state == "failed" and not fake.calls and not done.journal.begun


async def test_corrupt_chunk():
    done, _ = await failed(Reply("good ", raw=('{"choices": [{"delta"',), finish=None))
    assert done.result.error.code == "llm_protocol_error" and done.result.text == "good "


@pytest.mark.parametrize(
    "raw",
    [
        "[]",
        "5",
        '{"choices": [5]}',
        '{"choices": [{"delta": {"tool_calls": [1, {"function": 3}]}}]}',
        '{"choices": null}',
    ],
)
async def test_odd_chunks_never_escape(raw):
    async with ScriptedLlm(Reply("said", raw=(raw,))) as server:
        done = await turn(server)
    assert done.result.state in ("done", "failed")


async def test_error_inside_the_stream():
    error = json.dumps({"error": {"message": "The server is overloaded", "code": "overloaded"}})
    done, _ = await failed(Reply("so far", raw=(error,), finish=None))
    assert done.result.error.code == "llm_rate_limited" and done.result.text == "so far"


async def test_silence_before_the_first_token():
    done, server = await failed(Reply("late", wait=30), first_token_timeout=0.2)
    assert done.result.error.code == "llm_timeout" and len(server.requests) == 1


async def test_silence_in_mid_stream():
    done, _ = await failed(
        Reply("one two three", gap=30, piece=3), first_token_timeout=30, idle_timeout=0.2
    )
    assert done.result.error.code == "llm_timeout"


async def test_the_turn_has_a_limit_of_its_own(monkeypatch):
    from services.specs import Limits
    from services.turn.steps import step

    monkeypatch.setattr(step, "DEADLINE_MARGIN", 0)
    done, _ = await failed(Reply("word " * 500, gap=0.02), limits=Limits(turn_timeout=0.5))
    assert done.result.error.code == "llm_timeout" and "too long" in str(done.result.error)


async def test_empty_answer_is_tried_again_then_an_error():
    done, server = await failed(Reply(""))
    assert done.result.error.code == "llm_protocol_error" and len(server.requests) == 2


async def test_filtered_answer():
    done, _ = await failed(Reply("I", finish="content_filter"))
    assert done.result.error.code == "llm_rejected"


async def test_nobody_listens():
    server = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    server.close()
    await server.wait_closed()

    class Nobody:
        base_url = f"http://127.0.0.1:{port}/v1"

    done = await Turn(request_of(Nobody)).run()
    assert done.result.error.code == "llm_unavailable"


async def test_bad_address():
    class Bad:
        base_url = "ftp://nowhere"

    done = await Turn(request_of(Bad)).run()
    assert done.result.state == "failed"


async def test_answer_cut_at_its_maximum_length_is_told():
    async with ScriptedLlm(Reply("word", finish="length")) as server:
        done = await turn(server)
    assert done.result.state == "done" and done.journal.of("notice")[0]["code"] == "answer_cut"


async def test_model_that_only_calls_tools(fake):
    from services.specs import Limits

    async with ScriptedLlm(Reply(calls=[("fake__count", {})])) as server:
        done = await turn(server, fake, limits=Limits(max_rounds=1))
    assert done.result.state == "failed" and done.result.error.code == "llm_protocol_error"


async def test_many_turns_on_one_loop_share_no_connection():
    async with ScriptedLlm(Reply("ok", gap=0.01)) as server:
        done = await asyncio.gather(*(turn(server) for _ in range(30)))
    assert {one.result.state for one in done} == {"done"}


def test_unknown_exceptions_are_protocol_errors():
    assert llm_errors.of_exception(KeyError("choices")).code == "llm_protocol_error"
    assert llm_errors.of_exception(httpx.ReadTimeout("x")).code == "llm_timeout"
    assert chunk({"content": "x"})
