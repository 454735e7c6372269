"""What differs from provider to provider, against streams written after what each of them publishes.

Each stream asks for two tools at once, or for one where the provider's documentation shows one.
"""

import asyncio
import json

import pytest
from turns import request_of, turn

from services.llm import client, dialect, transcript
from services.llm.answer import Answer
from services.llm.connections import Connections
from services.specs import LlmSpec
from services.testing.fake_mcp import FakeMcp
from services.testing.memory_ledger import MemoryLedger
from services.testing.scripted_llm import Reply, ScriptedLlm

OBJECT = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m"}


def stream(*chunks, extra=""):
    """:param extra: what an SSE stream has beside its events, in front of the second one"""
    lines = [
        chunk if isinstance(chunk, str) else json.dumps({**OBJECT, **chunk}) for chunk in chunks
    ]
    if extra:
        lines[0] = f"{lines[0]}\n\n{extra}"
    return Reply(raw=(*lines, "[DONE]"), finish=None)


def delta(finish=None, more=None, **said):
    choice = {"index": 0, "delta": said, "finish_reason": finish, **(more or {})}
    return {"choices": [choice]}


def call(index, name=None, arguments="", id_=None, **more):
    function = {"arguments": arguments, **({"name": name} if name else {})}
    head = {"id": id_, "type": "function"} if id_ else {}
    return {"index": index, **head, "function": function, **more}


SIGNATURE = {"google": {"thought_signature": "c2lnbmF0dXJl"}}
TWO = [("add", {"a": 1}), ("list", {})]

PROVIDERS = {
    # https://platform.openai.com/docs/api-reference/chat-streaming,
    # https://platform.openai.com/docs/guides/prompt-caching
    "OpenAI": (
        stream(
            delta(role="assistant", content=None, refusal=None),
            delta(tool_calls=[call(0, "add", "", "call_a")]),
            delta(tool_calls=[call(0, arguments='{"a"')]),
            delta(tool_calls=[call(0, arguments=":1}")]),
            delta(tool_calls=[call(1, "list", "", "call_b")]),
            delta(tool_calls=[call(1, arguments="{}")]),
            delta("tool_calls"),
            {
                "choices": [],
                "usage": {
                    "prompt_tokens": 2006,
                    "completion_tokens": 30,
                    "total_tokens": 2036,
                    "prompt_tokens_details": {"cached_tokens": 1920, "audio_tokens": 0},
                    "completion_tokens_details": {"reasoning_tokens": 0},
                },
            },
        ),
        {"calls": TWO, "usage": {"input_tokens": 2006, "output_tokens": 30, "cached_tokens": 1920}},
    ),
    # https://learn.microsoft.com/azure/ai-foundry/openai/concepts/content-streaming
    "Azure OpenAI": (
        stream(
            {"choices": [], "prompt_filter_results": [{"prompt_index": 0}], "id": "", "object": ""},
            delta(role="assistant", content="", more={"content_filter_results": {}}),
            delta(content="Yes.", more={"content_filter_results": {"hate": {"filtered": False}}}),
            delta("stop", more={"content_filter_results": {}}),
        ),
        {"text": "Yes."},
    ),
    # https://docs.anthropic.com/en/api/openai-sdk: strict and details of usage do not exist there
    "Anthropic": (
        stream(
            delta(role="assistant", content="Let me see."),
            delta(tool_calls=[call(0, "add", "", "toolu_1")]),
            delta(tool_calls=[call(0, arguments='{"a": 1}')]),
            delta("tool_calls"),
            {
                "choices": [],
                "usage": {"prompt_tokens": 9, "completion_tokens": 4, "total_tokens": 13},
            },
        ),
        {
            "text": "Let me see.",
            "calls": TWO[:1],
            "usage": {"input_tokens": 9, "output_tokens": 4},
        },
    ),
    # https://ai.google.dev/gemini-api/docs/openai: a call comes whole, its usage with each chunk
    "Gemini": (
        stream(
            delta(
                role="assistant",
                tool_calls=[call(0, "add", '{"a":1}', "function-call-1", extra_content=SIGNATURE)],
            )
            | {"usage": {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11}},
            delta("tool_calls", role="assistant", tool_calls=[call(1, "list", "{}", "fc-2")])
            | {"usage": {"prompt_tokens": 9, "completion_tokens": 4, "total_tokens": 13}},
        ),
        {"calls": TWO, "usage": {"input_tokens": 9, "output_tokens": 4}, "extra": SIGNATURE},
    ),
    # https://docs.mistral.ai/capabilities/reasoning/, …/function_calling/: calls come whole and without a type
    "Mistral": (
        stream(
            delta(
                role="assistant",
                content=[{"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}],
            ),
            delta(
                "tool_calls",
                content="",
                tool_calls=[
                    {
                        "id": "D681PevKs",
                        "index": 0,
                        "function": {"name": "add", "arguments": '{"a": 1}'},
                    },
                    {
                        "id": "0h1Kk2xyz",
                        "index": 1,
                        "function": {"name": "list", "arguments": "{}"},
                    },
                ],
            )
            | {"usage": {"prompt_tokens": 94, "completion_tokens": 30, "total_tokens": 124}},
        ),
        {"calls": TWO, "thinking": "Hm.", "usage": {"input_tokens": 94, "output_tokens": 30}},
    ),
    # https://docs.ollama.com/openai, https://ollama.com/blog/thinking: calls come whole, thinking as `reasoning`
    "Ollama": (
        stream(
            delta(role="assistant", content="", reasoning="Hm."),
            delta(role="assistant", content="", tool_calls=[call(0, "add", '{"a":1}', "call_x")]),
            delta(role="assistant", content="", tool_calls=[call(1, "list", "{}", "call_y")]),
            delta("stop", role="assistant", content=""),
        ),
        {"calls": TWO, "thinking": "Hm."},
    ),
    # https://docs.vllm.ai/en/latest/features/reasoning_outputs.html, …/features/tool_calling.html
    "vLLM": (
        stream(
            delta(role="assistant", content=""),
            delta(reasoning_content="H"),
            delta(reasoning="m."),
            delta(tool_calls=[call(0, "add", None, "chatcmpl-tool-1")]),
            delta(tool_calls=[call(0, arguments='{"a": 1}')]),
            delta("tool_calls", content="", more={"stop_reason": None, "logprobs": None}),
        ),
        {"calls": TWO[:1], "thinking": "Hm."},
    ),
    # https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md
    "llama.cpp": (
        stream(
            delta(role="assistant", content=None),
            delta(reasoning_content="Hm."),
            delta(tool_calls=[call(0, "add", "", "0xA")]),
            delta(tool_calls=[call(0, arguments='{"a":1}')]),
            delta("tool_calls"),
            {
                "choices": [],
                "usage": {
                    "prompt_tokens": 90,
                    "completion_tokens": 7,
                    "total_tokens": 97,
                    "prompt_tokens_details": {"cached_tokens": 85},
                },
                "timings": {"cache_n": 85, "prompt_n": 5},
            },
        ),
        {
            "calls": TWO[:1],
            "thinking": "Hm.",
            "usage": {"input_tokens": 90, "output_tokens": 7, "cached_tokens": 85},
        },
    ),
    # https://openrouter.ai/docs/api-reference/streaming, …/docs/use-cases/reasoning-tokens: comments keep it alive
    "OpenRouter": (
        stream(
            delta(role="assistant", content="", reasoning="Hm.", reasoning_details=[{"index": 0}])
            | {"provider": "Somebody"},
            delta(role="assistant", content="Yes."),
            delta("stop", role="assistant", content="", more={"native_finish_reason": "end_turn"}),
            extra=": OPENROUTER PROCESSING",
        ),
        {"text": "Yes.", "thinking": "Hm."},
    ),
    # https://api-docs.deepseek.com/guides/thinking_mode, …/guides/kv_cache
    "DeepSeek": (
        stream(
            delta(role="assistant", content=None, reasoning_content=""),
            delta(content=None, reasoning_content="Hm."),
            delta(content="Yes.", reasoning_content=None),
            delta("stop", content="", reasoning_content=None)
            | {
                "usage": {
                    "prompt_tokens": 60,
                    "completion_tokens": 7,
                    "total_tokens": 67,
                    "prompt_cache_hit_tokens": 48,
                    "prompt_cache_miss_tokens": 12,
                }
            },
        ),
        {
            "text": "Yes.",
            "thinking": "Hm.",
            "usage": {"input_tokens": 60, "output_tokens": 7, "cached_tokens": 48},
        },
    ),
}


async def streamed(reply):
    answer, kept = Answer(), Connections()
    async with ScriptedLlm(reply) as llm:
        spec = LlmSpec(id=1, base_url=llm.base_url, model="m")
        async with client.open_model(spec, kept) as model:
            question = transcript.to_langchain("", [{"role": "user", "content": "Hi"}])
            loop = asyncio.get_running_loop()
            await client.stream(
                model, question, spec, answer, sending=MemoryLedger().account().sending(spec, 0, answer),
                stop=asyncio.Event(), deadline=loop.time() + 30, clock=loop.time,
            )  # fmt: skip
        await kept.close()
    return answer


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_streams(provider):
    reply, expected = PROVIDERS[provider]
    answer = await streamed(reply)
    assert answer.text == expected.get("text", "")
    assert [(c.name, answer.arguments_of(c)[0]) for c in answer.calls] == expected.get("calls", [])
    assert answer.thinking == expected.get("thinking", "")
    assert answer.usage == expected.get("usage", {})
    assert [c.extra for c in answer.calls[:1]] == [expected.get("extra")][: len(answer.calls)]


# https://platform.openai.com/docs/api-reference/chat/create#chat-create-max_completion_tokens,
# https://learn.microsoft.com/azure/ai-foundry/openai/api-version-lifecycle, and the pages above
@pytest.mark.parametrize(
    ("base_url", "name"),
    [
        ("https://api.openai.com/v1", "max_completion_tokens"),
        ("https://eu.api.openai.com/v1", "max_completion_tokens"),
        ("https://acme.openai.azure.com/openai/v1", "max_completion_tokens"),
        ("https://acme.services.ai.azure.com/openai/v1", "max_completion_tokens"),
        ("https://api.anthropic.com/v1", "max_tokens"),
        ("https://generativelanguage.googleapis.com/v1beta/openai", "max_tokens"),
        ("https://api.mistral.ai/v1", "max_tokens"),
        ("http://127.0.0.1:11434/v1", "max_tokens"),
        ("https://openrouter.ai/api/v1", "max_tokens"),
        ("https://api.openai.com.example.org/v1", "max_tokens"),
    ],
)
async def test_what_the_limit_of_an_answer_is_called(base_url, name):
    kept = Connections()
    spec = LlmSpec(id=1, base_url=base_url, model="m", max_tokens=7)
    async with client.open_model(spec, kept) as model:
        bound = model.bind_tools([{"type": "function", "function": {"name": "add"}}])
        payload = model._get_request_payload([("user", "Hi")], **bound.kwargs)
    await kept.close()
    sent = {**payload, **payload.pop("extra_body", {})}
    assert sent[name] == 7
    assert not {"max_tokens", "max_completion_tokens"} - {name} & sent.keys()
    # not everybody takes these: parallel calls and loose schemas are what all do by themselves
    assert not {"parallel_tool_calls", "strict"} & sent.keys()
    assert "strict" not in json.dumps(sent["tools"])


@pytest.mark.parametrize(("host", "sent"), [("api.deepseek.com", "Hm."), ("api.openai.com", None)])
async def test_deepseek_alone_wants_back_what_it_thought_before_a_call(monkeypatch, host, sent):
    monkeypatch.setattr(dialect, "host_of", lambda _url: host)
    asks = Reply(calls=[("fake__add", {"a": 1, "b": 2})], thinking="Hm.")
    async with FakeMcp() as fake, ScriptedLlm(asks, Reply("3", thinking="So.")) as llm:
        done = await turn(llm, fake)
        (said,) = [m for m in llm.requests[1]["messages"] if m["role"] == "assistant"]
    assert (done.result.state, said.get("reasoning_content")) == ("done", sent)


async def test_deepseek_gets_the_field_of_a_call_without_a_thought_too(monkeypatch):
    monkeypatch.setattr(dialect, "host_of", lambda _url: "api.deepseek.com")
    asks = Reply(calls=[("fake__add", {"a": 1, "b": 2})])
    async with FakeMcp() as fake, ScriptedLlm(asks, Reply("3")) as llm:
        await turn(llm, fake)
        (said,) = [m for m in llm.requests[1]["messages"] if m["role"] == "assistant"]
    assert said["reasoning_content"] == ""


async def test_a_signature_goes_back_with_its_call_to_who_gave_it():
    signed = call(0, "fake__add", '{"a":1,"b":2}', "fc-1", extra_content=SIGNATURE)
    asks = stream(delta(role="assistant", tool_calls=[signed]), delta("stop"))
    async with FakeMcp() as fake, ScriptedLlm(asks, Reply("3"), Reply("Again.")) as llm:
        done = await turn(llm, fake)
        (said,) = [m for m in llm.requests[1]["messages"] if m["role"] == "assistant"]
        assert said["tool_calls"][0]["extra_content"] == SIGNATURE
        request = request_of(llm, fake)
        history = (*request.history, *done.progress.messages, *request.history)
        messages = transcript.to_langchain("", history, "elsewhere.example.com")
    assert "thought_signature" not in str(messages)
    assert "thought_signature" in str(transcript.to_langchain("", history, "127.0.0.1"))


async def test_a_huge_signature_is_left_out():
    huge = {"google": {"thought_signature": "x" * (dialect.MAX_EXTRA + 1)}}
    signed = call(0, "add", "{}", "fc-1", extra_content=huge)
    answer = await streamed(stream(delta(role="assistant", tool_calls=[signed]), delta("stop")))
    assert [c.extra for c in answer.calls] == [None]
