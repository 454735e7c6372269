"""Execution of one tool call: whatever happens is a result, for the LLM and for the person."""

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from .. import const, large, text
from ..approval import approval
from ..errors import EngineError, ServerTimeout, SessionExpired, SessionLost
from ..mcp.discovery import content
from ..mcp.pool.pool import Pool
from ..mcp.session.call_options import DEFAULTS, CallOptions
from ..openapi import operations
from ..schemas import arguments
from ..sentence import _lt, joined
from ..specs import (
    CallResult,
    Executed,
    Limits,
    Outcome,
    ToolCall,
    ToolSpec,
)

MAYBE = _lt("It is not known whether the tool has taken effect.")


async def execute(
    call: ToolCall,
    pool: Pool,
    conversation_id: Any,
    *,
    timeout: float,
    limits: Limits = Limits(),  # noqa: B008 frozen
    options: CallOptions = DEFAULTS,
) -> Executed:
    """Run one call, of a turn or not. Whatever happens, except being cancelled, is a result.

    :param timeout: seconds
    :param options: but for what the tool itself says, its schema and whether it may be repeated
    """
    begun = time.monotonic()
    if refused := refusal(call):
        return Executed(result=refused)
    tool, server, given = call.tool, call.server, call.arguments
    try:
        if tool is None or server is None or given is None:
            raise ValueError(f"{call.alias} is the host's own")
        if tool.operation is not None:
            raw = await operations.perform(
                tool.operation,
                given,
                pool.policy,
                timeout=timeout,
                intake=pool.intakes.of(server),
            )
        else:
            may_repeat = approval.is_repeatable(tool.annotations, server.trust_level)
            raw = await pool.call(
                server,
                conversation_id,
                tool.name,
                given,
                timeout=timeout,
                options=replace(options, schema=tool.input_schema, may_repeat=may_repeat),
            )
        return Executed(result=await large.apply(_read, raw, call, limits, begun), raw=raw)
    except ServerTimeout as error:
        sentence = _lt(
            "The tool did not answer within %(seconds)s s. %(reason)s",
            seconds=f"{timeout:g}",
            reason=MAYBE,
        )
        return Executed(result=failure("timeout", sentence, begun), error=error)
    except SessionExpired as error:
        return Executed(result=failure("error", str(error), begun), error=error)
    except SessionLost as error:
        return Executed(result=failure("unknown", joined(str(error), MAYBE), begun), error=error)
    except EngineError as error:
        return Executed(result=failure("error", error.public_message, begun), error=error)
    except Exception as error:
        return Executed(
            result=failure(
                "error", _lt("The call failed (%(name)s).", name=type(error).__name__), begun
            )
        )


def refusal(call: ToolCall) -> CallResult | None:
    """The result of a call that cannot be made at all; None if it can."""
    if call.refused:
        return failure("denied", call.refused)
    if call.tool is None or (call.server is None and not call.tool.is_builtin):
        return failure(
            "unknown_tool", _lt("There is no tool called %(name)s.", name=repr(call.alias))
        )
    if call.arguments is None:
        return failure("invalid_args", call.problem or _lt("The arguments are not a JSON object."))
    if wrong := arguments.problem(call.arguments, call.tool.input_schema):
        return failure("invalid_args", wrong)
    if call.problem:
        return failure("invalid_args", call.problem)
    return None


def _read(result: Mapping[str, Any], call: ToolCall, limits: Limits, begun: float) -> CallResult:
    read = content.read(
        result, llm_cap=limits.llm_result_cap, ui_cap=limits.ui_result_cap, handle=call.id
    )
    failed = result.get("isError") is True
    empty = (
        _lt("The tool failed without a reason.") if failed else _lt("The tool returned nothing.")
    )
    return CallResult(
        outcome="error" if failed else "ok",
        text=read.text or empty,
        display=read.display if read.display or read.display == 0 else empty,
        duration_ms=elapsed_ms(begun),
        bytes=text.weight(result, const.WIRE_CAP),
        truncated=read.truncated,
        whole=read.whole,
        warning="" if failed else _oddity(result.get("structuredContent"), call.tool),
        attachments=tuple(read.attachments),
    )


def _oddity(structured: Any, tool: ToolSpec | None) -> str:
    """Difference of a structured result from the tool's promise (MCP 2025-11-25, server/tools).

    Reported, not enforced: the result is returned anyway.
    """
    if structured is None or tool is None or not tool.output_schema:
        return ""
    wrong = arguments.misfits(structured, tool.output_schema)
    return (
        _lt(
            "The result of “%(name)s” is not what the tool promises: %(problem)s.",
            name=tool.name,
            problem=wrong,
        )
        if wrong
        else ""
    )


def failure(outcome: Outcome, sentence: str, begun: float | None = None) -> CallResult:
    """The result of a call that has no answer of a tool.

    :param sentence: for the LLM and the person
    :param begun: when the call began, of `now`
    """
    return CallResult(
        outcome=outcome,
        text=sentence,
        display=sentence,
        duration_ms=elapsed_ms(begun) if begun is not None else 0,
    )


def now() -> float:
    """Seconds of the clock that durations of calls are read from."""
    return time.monotonic()


def elapsed_ms(begun: float) -> int:
    """Milliseconds since `begun`, a moment of `now`."""
    return int((now() - begun) * 1000)
