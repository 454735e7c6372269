"""LLM client: an OpenAI-compatible endpoint through langchain-openai, one streamed answer at a time."""

import asyncio
import contextlib
import functools
import json
import time
import warnings
from collections.abc import Awaitable, Callable
from typing import Any

from .. import metrics, traces
from ..concurrency import Race
from ..errors import LlmError, LlmProtocolError, LlmRateLimited, LlmTimeout, LlmUnavailable
from ..money.counting import Sending
from ..specs import LlmSpec
from . import dialect, llm_errors, thinking
from .answer import Answer, flatten

RETRY_DELAY = 0.5  # s before the one retry
MAX_RETRY_DELAY = 10.0  # s, an endpoint that asks for more is not waited for
CONNECT_TIMEOUT = 10.0  # s


@contextlib.asynccontextmanager
async def open_http(spec: LlmSpec, connections: Any):
    """A client of its own: nothing is shared between event loops or read from the environment.

    :param connections: `Connections` of this loop
    """
    import httpx  # noqa: PLC0415

    silence = max(spec.first_token_timeout, spec.idle_timeout) + 5
    timeout = httpx.Timeout(silence, connect=CONNECT_TIMEOUT)
    async with (
        connections.open(spec) as transport,
        httpx.AsyncClient(transport=transport, trust_env=False, timeout=timeout) as http,
    ):
        yield http


@contextlib.asynccontextmanager
async def open_model(spec: LlmSpec, connections: Any):
    """Open a LangChain chat model that sends nothing anywhere but to ``spec.base_url``.

    :param connections: `Connections` of this loop
    """
    async with open_http(spec, connections) as http:
        client = _client(spec, http, http.timeout)
        yield _model_class()(
            model=spec.model,
            api_key="unused",
            client=client.chat.completions,
            root_client=client,
            async_client=client.chat.completions,
            root_async_client=client,
            temperature=spec.temperature,
            stream_usage=spec.stream_usage,
            use_responses_api=False,
            stream_chunk_timeout=None,
            with_thoughts=dialect.wants_thoughts(spec.base_url),
            **dialect.length(spec.base_url, spec.max_tokens),
        )


def _client(spec: LlmSpec, http: Any, timeout: Any) -> Any:
    import openai  # noqa: PLC0415

    client = openai.AsyncOpenAI(
        base_url=spec.base_url,
        api_key="unused",
        organization="",
        project="",
        webhook_secret="",
        max_retries=0,
        timeout=timeout,
        http_client=http,
    )
    client.organization = client.project = (
        None  # an empty text was only there to hide the environment
    )
    client._custom_headers = spec.request_headers
    return client


async def stream(
    model: Any,
    messages: list,
    spec: LlmSpec,
    answer: Answer,
    *,
    on_text: Callable[[str], Awaitable[None]] | None = None,
    on_thought: Callable[[str], Awaitable[None]] | None = None,
    sending: Sending,
    stop: asyncio.Event,
    deadline: float,
    clock: Callable[[], float] = time.monotonic,
) -> None:
    """Fill `answer`. Retries once as long as nothing of it has arrived.

    :param sending: around each request, told whether it is the second one
    :param on_thought: is told what the model thinks aloud
    :param deadline: seconds of `clock` at which the turn is over
    :raises LlmError: with what arrived before still in `answer`
    """
    from langsmith import tracing_context  # noqa: PLC0415

    callbacks = (on_text or _no_callback, on_thought or _no_callback)
    sent = (model, messages, spec, answer, callbacks, stop, deadline, clock)
    with (
        tracing_context(enabled=False),
        traces.model(spec, dialect.provider_of(spec.base_url)),
    ):
        try:
            return await _measured(sending(False), *sent)
        except LlmError as error:
            delay = _retry_delay(error)
            if answer.begun or delay is None or clock() + delay >= deadline:
                raise
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(stop.wait(), delay)
            answer.renew()
            return await _measured(sending(True), *sent)
        finally:
            traces.note_answer(answer.model, answer.finish_reason, answer.usage)


async def _measured(
    sending, model, messages, spec, answer, callbacks, stop, deadline, clock
) -> None:
    if stop.is_set():  # before it is put down, and again before it is sent
        answer.stopped = True
        return
    begun, outcome = time.monotonic(), "cancelled"
    try:
        async with sending:
            await _once(model, messages, spec, answer, callbacks, stop, deadline, clock)
        outcome = "ok"
    except LlmError as error:
        outcome = error.code
        raise
    finally:
        metrics.add("model_requests", outcome=outcome)
        metrics.observe("model_seconds", time.monotonic() - begun)


async def _no_callback(_delta: str) -> None:
    pass


def _retry_delay(error: LlmError) -> float | None:
    if isinstance(error, LlmRateLimited):
        delay = RETRY_DELAY if error.retry_after is None else error.retry_after
        return delay if delay <= MAX_RETRY_DELAY else None
    return RETRY_DELAY if isinstance(error, LlmUnavailable | LlmProtocolError) else None


async def _once(model, messages, spec, answer, callbacks, stop, deadline, clock) -> None:
    if stop.is_set():
        answer.stopped = True
        return
    chunks = model.astream(messages).__aiter__()
    chunk: asyncio.Future | None = None
    silence = spec.first_token_timeout
    try:
        with Race(stop) as race:
            while True:
                chunk = asyncio.ensure_future(_next(chunks))
                left = min(silence, deadline - clock())
                is_there = await race.is_done(chunk, max(0.0, left))
                if stop.is_set():
                    answer.stopped = True
                    return
                if not is_there:
                    raise LlmTimeout(detail=f"silent for {left:.1f} s")
                if (part := chunk.result()) is None:
                    break
                silence = spec.idle_timeout
                await _emit(answer, answer.add(part), *callbacks)
        await _emit(answer, answer.close(), *callbacks)
        answer.check()
    except Exception as caught:
        raise llm_errors.of_exception(caught, spec.api_key) from caught
    finally:
        if chunk is not None and not chunk.done():
            chunk.cancel()
            await asyncio.wait({chunk}, timeout=1)
        with contextlib.suppress(Exception):
            await asyncio.wait_for(chunks.aclose(), 1)


async def _emit(answer, delta, on_text, on_thought) -> None:
    if thought := answer.take_thought():
        await on_thought(thought)
    if delta:
        await on_text(delta)


async def _next(chunks) -> Any | None:
    try:
        return await anext(chunks)
    except StopAsyncIteration:
        return None


@functools.cache
def _model_class() -> Any:
    from langchain_openai import ChatOpenAI  # noqa: PLC0415

    # openai dumps each chunk before `_even` sees it, and pydantic warns of what is evened out here
    warnings.filterwarnings(
        "ignore", "Pydantic serializer warnings", UserWarning, r"pydantic\.main"
    )

    class Model(ChatOpenAI):
        """Evens out what providers stream differently, before it is parsed, and what they want to be sent."""

        with_thoughts: bool = False

        def _get_request_payload(self, input_, *, stop=None, **kwargs):
            payload = super()._get_request_payload(input_, stop=stop, **kwargs)
            messages = self._convert_input(input_).to_messages()
            for message, sent in zip(messages, payload["messages"], strict=True):
                extras = message.additional_kwargs
                dialect.completed(sent, extras, with_thoughts=self.with_thoughts)
            # They are what JSON has already. openai would compare each part of them with its types first,
            # which takes 10 ms of the loop for 80 messages; what is "extra" it sends as it is.
            long = {name: payload[name] for name in ("messages", "tools") if payload.get(name)}
            body = {**(payload.get("extra_body") or {}), **long}
            payload.pop("tools", None)
            return {**payload, "messages": [], "extra_body": body}

        def _convert_chunk_to_generation_chunk(
            self, chunk, default_chunk_class, base_generation_info
        ):
            thought, extras = "", {}
            dialect.even_usage(chunk.get("usage"))
            for choice in chunk.get("choices") or ():
                if isinstance(choice.get("delta"), dict):
                    thought += thinking.of_delta(choice["delta"])
                    choice["delta"] = _even(choice["delta"])
                    for call in choice["delta"].get("tool_calls", ()):
                        if extra := dialect.extra_of(call):
                            extras[call["index"]] = extra
            generation = super()._convert_chunk_to_generation_chunk(
                chunk, default_chunk_class, base_generation_info
            )
            if generation is not None:
                generation.message.additional_kwargs |= {
                    thinking.KEY: thought,
                    dialect.EXTRAS: extras,
                }
            return generation

    return Model


def _even(delta: dict[str, Any]) -> dict[str, Any]:
    """Content as text, arguments as JSON text, calls with an index."""
    delta = {**delta, "content": flatten(delta.get("content"))}
    calls = delta.get("tool_calls")
    if not isinstance(calls, list):
        delta.pop("tool_calls", None)
        return delta
    delta["tool_calls"] = [
        {**call, "index": call.get("index", position), "function": _even_function(call["function"])}
        for position, call in enumerate(calls)
        if isinstance(call, dict) and isinstance(call.get("function"), dict)
    ]
    return delta


def _even_function(function: dict[str, Any]) -> dict[str, Any]:
    arguments = function.get("arguments")
    if arguments is not None and not isinstance(arguments, str):
        arguments = json.dumps(arguments, ensure_ascii=False)
    return {**function, "arguments": arguments}
