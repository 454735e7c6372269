"""Traces: what a process does for a turn, as spans; nobody is told of them unless the host says so.

Kinds, numbers, and what assistants, models and tools are called: nothing that a person, a model or a server says.
What they are called here: https://github.com/open-telemetry/semantic-conventions-genai, v0.1.0; what begins with
``woow_ai.`` is our own.
"""

import asyncio
from collections.abc import Mapping
from contextvars import ContextVar, Token
from typing import Any, Protocol

from . import concurrency, text
from .errors import EngineError, ServerRefused
from .specs import CallResult, LlmSpec, ServerSpec, ToolCall, TurnRequest, TurnResult

MAX_NAME = 128  # characters of what others have named
FIRST = 1  # attempt of a turn, whose span the later ones hang on

Facts = Mapping[str, Any]


class Told(Protocol):
    """A span as the tracer keeps it."""

    def note(self, facts: Facts) -> None:
        """Add attributes.

        :param facts: ``{name: value}`` of OpenTelemetry's conventions
        """
        ...

    def fail(self, kind: str) -> None:
        """Mark the span as failed; `kind` is the type of the error."""
        ...

    def end(self) -> None: ...


class Tracer(Protocol):
    """:ivar tells_databases: whether databases are named"""

    tells_databases: bool

    def begin(self, name: str, facts: Facts, parent: Told | None, is_request: bool) -> Told:
        """Begin a span.

        :param facts: its first attributes
        :param parent: None for the first span of a trace
        :param is_request: another machine or program is asked
        """
        ...

    def begin_turn(self, name: str, facts: Facts, key: str, attempt: int, seconds: float) -> Told:
        """Begin the span of a turn, or of one more attempt of it.

        :param key: of the turn, the same in each process: all its attempts are one trace; empty if it has none
        :param attempt: from 1
        :param seconds: ago it began
        """
        ...

    def carrier(self, told: Told) -> dict[str, str]:
        """Headers that make another program's spans children of `told` (W3C Trace Context)."""
        ...


class _Installed:
    """The tracer of one process id."""

    def __init__(self) -> None:
        self.tracer: Tracer | None = None


class Span:
    """Span from its entry to its exit, in the task that has entered it and those that begin there."""

    __slots__ = ("_has_failed", "_token", "_told")

    def __init__(self, told: Told):
        self._told = told
        self._token: Token | None = None
        self._has_failed = False

    def __enter__(self) -> "Span":
        self._token = _current.set(self)
        return self

    def __exit__(self, _kind: Any, error: BaseException | None, _traceback: Any) -> None:
        if self._token is not None:
            _current.reset(self._token)
        if error is not None:
            self.fail(error)
        self._told.end()

    def note(self, facts: Facts) -> None:
        """Note attributes; empty ones are left out.

        :param facts: ``{name: value}`` of OpenTelemetry's conventions
        """
        self._told.note({name: fact for name, fact in facts.items() if fact not in (None, "")})

    def fail(self, error: BaseException | str) -> None:
        """Mark the span as failed; the first error is the cause.

        :param error: or the type of one
        """
        if not self._has_failed:
            self._has_failed = True
            if isinstance(error, ServerRefused) and error.rpc_code:
                self.note({"rpc.response.status_code": text.one_line(str(error.rpc_code), 20)})
            self._told.fail(error if isinstance(error, str) else _kind_of(error))

    def end_turn(self, result: TurnResult) -> None:
        """Note the end of a turn."""
        self.note({"woow_ai.turn.state": result.state})
        if result.error is not None:
            self.fail(result.error)

    def end_call(self, result: CallResult | None) -> None:
        """:param result: None of a call that waits for a person"""
        self.note({"woow_ai.call.outcome": result.outcome if result else "waiting"})
        if result and result.is_error:
            self.fail("tool_error" if result.outcome == "error" else result.outcome)


class Nothing(Span):
    """Stands for each span while nobody wants any."""

    __slots__ = ()

    def __init__(self) -> None:
        pass

    def __enter__(self) -> Span:
        return self

    def __exit__(self, *_error: Any) -> None:
        pass

    def note(self, facts: Facts) -> None:
        pass

    def fail(self, error: BaseException | str) -> None:
        pass


NOTHING = Nothing()
_current: ContextVar[Span] = ContextVar("woow_ai_span", default=NOTHING)
_installed = concurrency.renewed(_Installed())


def install(tracer: Tracer | None) -> None:
    """Trace for the rest of the process; its children begin with none."""
    _installed.tracer = tracer


def current() -> Span:
    """The innermost span that was entered here."""
    return _current.get()


def carrier() -> dict[str, str]:
    """Headers for whoever is asked on behalf of the current span; empty where there is none."""
    tracer, span = _installed.tracer, _current.get()
    return tracer.carrier(span._told) if tracer is not None and span is not NOTHING else {}


def turn(request: TurnRequest, attempt: int, seconds: float) -> Span:
    """One attempt at a turn, until it ends or waits for a person.

    :param attempt: how often it was claimed
    :param seconds: ago it began
    """
    tracer = _installed.tracer
    if tracer is None:
        return NOTHING
    agent = text.one_line(request.assistant, MAX_NAME)
    facts = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": agent,
        "gen_ai.conversation.id": str(request.conversation_id),
        "woow_ai.turn.id": request.turn_id,
        "woow_ai.turn.attempt": attempt,
        **_database(tracer, request.llm.database),
    }
    return Span(tracer.begin_turn(f"invoke_agent {agent}", facts, request.key, attempt, seconds))


def model(spec: LlmSpec, provider: str) -> Span:
    """One answer of a model, with what it is asked again for."""
    tracer = _installed.tracer
    if tracer is None:
        return NOTHING
    name = text.one_line(spec.model, MAX_NAME)
    facts = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": provider,
        "gen_ai.request.model": name,
        "gen_ai.request.stream": True,
        **_database(tracer, spec.database),
    }
    if spec.temperature is not None:
        facts["gen_ai.request.temperature"] = spec.temperature
    if spec.max_tokens:
        facts["gen_ai.request.max_tokens"] = spec.max_tokens
    return _begin(tracer, f"chat {name}", facts, is_request=True)


def tool(call: ToolCall) -> Span:
    """One call of a tool. What a model calls that is not there is not named: nobody but the model has said it."""
    tracer = _installed.tracer
    if tracer is None:
        return NOTHING
    name = text.one_line(call.tool.name, MAX_NAME) if call.tool else ""
    facts: dict[str, Any] = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.call.id": call.id,
        "gen_ai.tool.type": "extension" if call.server else "function",
    }
    if name:
        facts["gen_ai.tool.name"] = name
    if call.server:
        facts |= {"woow_ai.server.id": call.server.id, **_database(tracer, call.server.database)}
    return _begin(tracer, f"execute_tool {name}".strip(), facts, is_request=call.server is not None)


def opening(spec: ServerSpec) -> Span:
    """A session with an MCP server that is not there yet."""
    tracer = _installed.tracer
    if tracer is None:
        return NOTHING
    facts = {
        "mcp.method.name": "initialize",
        "woow_ai.server.id": spec.id,
        **_database(tracer, spec.database),
    }
    return _begin(tracer, "initialize", facts, is_request=True)


def note_request(method: str, transport: str, protocol_version: str) -> None:
    """Mark the current span as an MCP request, too, see `mcp.client` of the conventions."""
    if (span := _current.get()) is not NOTHING:
        span.note(
            {
                "mcp.method.name": method,
                "mcp.protocol.version": protocol_version,
                "network.transport": "pipe" if transport == "stdio" else "tcp",
            }
        )


def note_answer(answered_by: str, finish_reason: str, usage: Mapping[str, int]) -> None:
    """Note what the model of the current span has reported of its answer.

    :param usage: ``{"input_tokens", "output_tokens", "cached_tokens"}``, as far as it is known
    """
    if (span := _current.get()) is not NOTHING:
        reason = text.one_line(finish_reason, MAX_NAME)
        span.note(
            {
                "gen_ai.response.model": text.one_line(answered_by, MAX_NAME),
                "gen_ai.response.finish_reasons": (reason,) if reason else None,
                "gen_ai.usage.input_tokens": usage.get("input_tokens"),
                "gen_ai.usage.output_tokens": usage.get("output_tokens"),
                "gen_ai.usage.cache_read.input_tokens": usage.get("cached_tokens"),
            }
        )


def _begin(tracer: Tracer, name: str, facts: Facts, *, is_request: bool) -> Span:
    parent = _current.get()
    return Span(tracer.begin(name, facts, None if parent is NOTHING else parent._told, is_request))


def _database(tracer: Tracer, database: str) -> Facts:
    return {"woow_ai.database": database} if tracer.tells_databases and database else {}


def _kind_of(error: BaseException) -> str:
    """Few values.

    >>> _kind_of(TimeoutError()), _kind_of(EngineError()), _kind_of(KeyError("secret"))
    ('timeout', 'engine_error', 'KeyError')
    """
    if isinstance(error, EngineError):
        return error.code
    if isinstance(error, asyncio.CancelledError):
        return "cancelled"
    return "timeout" if isinstance(error, TimeoutError) else type(error).__name__
