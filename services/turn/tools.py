"""Tools of one turn: what the LLM is offered, and what becomes of a call."""

import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from .. import const, large, text
from ..errors import EngineError, ServerTimeout, SessionExpired, SessionLost
from ..mcp.discovery import content
from ..mcp.pool.pool import Pool
from ..mcp.session.call_options import DEFAULTS, CallOptions
from ..openapi import operations, recall
from ..schemas import arguments, schema
from ..specs import (
    CallResult,
    Executed,
    Limits,
    Outcome,
    ServerSpec,
    ToolCall,
    ToolSpec,
    TurnRequest,
)
from . import approval, names, read_result

MAX_FUNCTIONS = 127  # OpenAI takes 128 tools of one request, one may be ours
MAX_DESCRIPTION = 1_024  # characters, OpenAI function description

MAYBE = "It is not known whether the tool has taken effect."


class TurnTools:
    """:ivar functions: OpenAI function definitions of the usable tools, in the request's order
    :ivar skipped: (tool, sentence) of those that cannot be offered
    """

    def __init__(self, request: TurnRequest, pool: Pool):
        self.functions: list[dict[str, Any]] = []
        self.skipped: list[tuple[ToolSpec, str]] = []
        self._request = request
        self._pool = pool
        self._servers = {server.id: server for server in request.servers}
        self._tools: dict[str, ToolSpec] = {}
        for tool in request.tools:
            if problem := self._offer(tool):
                self.skipped.append((tool, problem))
        self.let_read_on(request.history)

    def _offer(self, tool: ToolSpec) -> str:
        """Add a tool; a sentence if that is not possible."""
        if tool.problem:
            return tool.problem
        if tool.server_id not in self._servers and not tool.records:
            return "Its server is not available."
        is_taken = tool.alias in self._tools or tool.alias == read_result.NAME
        if is_taken or not names.LEGAL.fullmatch(tool.alias):
            return "Its name cannot be offered to a language model."
        if len(self.functions) >= MAX_FUNCTIONS:
            return f"A language model takes at most {MAX_FUNCTIONS} tools."
        try:
            parameters = schema.clean(tool.input_schema)
            if tool.action_id:
                parameters = recall.described(recall.hidden(parameters, tool.fixed), tool.notes)
        except EngineError as error:
            return str(error)
        title = (
            tool.title if tool.title and tool.title.lower() not in tool.description.lower() else ""
        )
        about = ". ".join(filter(None, (title, tool.description))) or tool.name
        function = {
            "name": tool.alias,
            "description": text.clean(about)[:MAX_DESCRIPTION],
            "parameters": parameters,
        }
        self.functions.append({"type": "function", "function": function})
        self._tools[tool.alias] = tool
        return ""

    def let_read_on(self, messages: Iterable[Mapping[str, Any]]) -> None:
        """From now on offer to read on, if a result among these messages was cut."""
        if read_result.NAME not in self._tools and read_result.is_wanted(messages):
            self.functions.append(read_result.FUNCTION)
            self._tools[read_result.NAME] = read_result.TOOL

    def resolve(self, alias: str) -> tuple[ToolSpec, ServerSpec | None] | None:
        """The tool that an alias means, None if it was not offered. Ours has no server."""
        tool = self._tools.get(alias)
        return (tool, self._servers.get(tool.server_id)) if tool else None

    def find(self, origin: list[Any]) -> tuple[ToolSpec, ServerSpec | None] | None:
        """The very tool of an earlier offer (see `ToolSpec.origin`), None if it is not offered any more."""
        for alias, tool in self._tools.items():
            if tool.origin == origin:
                return self.resolve(alias)
        return None

    def server_states(self) -> list[dict[str, str]]:
        """``{"name", "state"}`` of each server of the turn; "open" if a session is open already."""
        conversation = self._request.conversation_id
        return [
            {
                "name": server.name,
                "state": "open" if self._pool.is_connected(server, conversation) else "idle",
            }
            for server in self._request.servers
        ]

    async def call(
        self,
        call: ToolCall,
        *,
        timeout: float,
        options: CallOptions = DEFAULTS,
    ) -> Executed:
        """Run one call; where the server need not be kept waiting, its questions end it.
        Whatever happens, except being cancelled, is a result.

        :param timeout: seconds
        """
        return await execute(
            call,
            self._pool,
            self._request.conversation_id,
            timeout=timeout,
            limits=self._request.limits,
            options=replace(options, suspends=True),
        )


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
    try:
        if call.tool.operation is not None:
            raw = await operations.perform(
                call.tool.operation, call.arguments, pool.policy, timeout=timeout
            )
        else:
            may_repeat = approval.is_repeatable(call.tool.annotations, call.server.trust_level)
            raw = await pool.call(
                call.server,
                conversation_id,
                call.tool.name,
                call.arguments,
                timeout=timeout,
                options=replace(options, schema=call.tool.input_schema, may_repeat=may_repeat),
            )
        return Executed(result=await large.apply(_read, raw, call, limits, begun), raw=raw)
    except ServerTimeout as error:
        sentence = f"The tool did not answer within {timeout:g} s. {MAYBE}"
        return Executed(result=failure("timeout", sentence, begun), error=error)
    except SessionExpired as error:
        return Executed(result=failure("error", str(error), begun), error=error)
    except SessionLost as error:
        return Executed(result=failure("unknown", f"{error} {MAYBE}", begun), error=error)
    except EngineError as error:
        return Executed(result=failure("error", error.outline, begun), error=error)
    except Exception as error:
        return Executed(
            result=failure("error", f"The call failed ({type(error).__name__}).", begun)
        )


def refusal(call: ToolCall) -> CallResult | None:
    """The result of a call that cannot be made at all; None if it can."""
    if call.refused:
        return failure("denied", call.refused)
    if call.tool is None or (call.server is None and not call.tool.records):
        return failure("unknown_tool", f"There is no tool called {call.alias!r}.")
    if call.arguments is None:
        return failure("invalid_args", call.problem or "The arguments are not a JSON object.")
    if wrong := arguments.problem(call.arguments, call.tool.input_schema):
        return failure("invalid_args", wrong)
    return None


def _read(result: Mapping[str, Any], call: ToolCall, limits: Limits, begun: float) -> CallResult:
    read = content.read(
        result, llm_cap=limits.llm_result_cap, ui_cap=limits.ui_result_cap, handle=call.id
    )
    failed = result.get("isError") is True
    empty = "The tool failed without a reason." if failed else "The tool returned nothing."
    return CallResult(
        outcome="error" if failed else "ok",
        text=read.text or empty,
        display=read.display if read.display or read.display == 0 else empty,
        duration_ms=_ms(begun),
        bytes=text.weight(result, const.WIRE_CAP),
        truncated=read.truncated,
        whole=read.whole,
        warning="" if failed else _oddity(result.get("structuredContent"), call.tool),
        attachments=tuple(read.attachments),
    )


def _oddity(structured: Any, tool: ToolSpec) -> str:
    """What of a structured result is not as the tool has promised (MCP 2025-11-25, server/tools).

    Only told: the answer is there, and people see it.
    """
    if structured is None or not tool.output_schema:
        return ""
    wrong = arguments.misfits(structured, tool.output_schema)
    return f"The result of “{tool.name}” is not what the tool promises: {wrong}." if wrong else ""


def failure(outcome: Outcome, sentence: str, begun: float | None = None) -> CallResult:
    """The result of a call that has no answer of a tool; `sentence` is for the LLM and the person."""
    return CallResult(
        outcome=outcome,
        text=sentence,
        display=sentence,
        duration_ms=_ms(begun) if begun is not None else 0,
    )


def _ms(begun: float) -> int:
    return int((time.monotonic() - begun) * 1000)
