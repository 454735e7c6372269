"""A journal in memory: what a turn said, saved and called, in order."""

import copy
from collections.abc import Awaitable, Callable
from typing import Any

from ..errors import ElicitationRequired, SignInRequired
from ..mcp.session.elicitation import ElicitRequest, ElicitResult, OnElicit
from ..specs import CallResult, ModelRequest, ToolCall, TurnProgress, Verdict
from ..turn.interrupt import Interrupt


class MemoryJournal:
    """:ivar events: ``{"type", …}`` in order, with ``tool_call`` and ``tool_result`` as a host writes them
    :ivar saved: a copy of the progress at each step
    :ivar reserved: requests to the model, in order
    :ivar settled: what requests took, told with the next one
    :ivar suspended: calls that wait for a person, with what they want
    :ivar asked: what servers asked while they waited, answered by `answers`
    :ivar steering: messages that the person sends meanwhile
    :ivar refuses_questions: why nobody can be asked
    :ivar records: tool name -> coroutine function ``(call) -> CallResult`` of tools that act on the host's records
    :ivar interruptible: the same, with the `Interrupt` of the call
    :param verdicts: tool name -> `Verdict`; every other call runs
    :param lose_at: name of the method that raises `error`, e.g. "begin_call"
    """

    def __init__(
        self,
        verdicts: dict[str, Verdict] | None = None,
        *,
        lose_at: str = "",
        error: Exception | None = None,
    ):
        self.events: list[dict[str, Any]] = []
        self.saved: list[TurnProgress] = []
        self.begun: list[ToolCall] = []
        self.reserved: list[ModelRequest] = []
        self.settled: list[dict[str, Any]] = []
        self.ended: dict[str, list[CallResult]] = {}
        self.verdicts = verdicts or {}
        self.suspended: list[tuple[ToolCall, ElicitationRequired | SignInRequired]] = []
        self.asked: list[ElicitRequest] = []
        self.steering: list[dict[str, Any]] = []
        self.answers: OnElicit | None = None
        self.refuses_questions = ""
        self.records: dict[str, Callable[[ToolCall], Awaitable[CallResult]]] = {}
        self.interruptible: dict[str, Callable[..., Awaitable[CallResult]]] = {}
        self._lose_at = lose_at
        self._error = error

    def emit(self, event: dict[str, Any]) -> None:
        self.events.append(event)

    async def take_steering(self, known) -> list[dict[str, Any]]:
        return [sent for sent in self.steering if sent["turn"] not in known]

    async def save_step(
        self, progress: TurnProgress, calls: tuple[ToolCall, ...] = (), more_events=()
    ) -> None:
        self._perhaps_lose("save_step")
        self.saved.append(copy.deepcopy(progress))
        self.events += more_events
        for call in calls:
            event = {"id": call.id, "tool": call.tool.name if call.tool else call.alias}
            event |= {"args": call.arguments, "round": call.round}
            self.emit({"type": "tool_call", **event})

    async def reserve(self, request: ModelRequest, spent: list[dict[str, Any]]) -> str:
        self._perhaps_lose("reserve")
        self.reserved.append(request)
        self.settled += spent
        spent.clear()
        return request.key

    async def begin_call(self, call: ToolCall) -> Verdict:
        self._perhaps_lose("begin_call")
        self.begun.append(call)
        verdict = self.verdicts.get(call.tool.name if call.tool else "", Verdict(kind="run"))
        return Verdict(kind="held") if call.is_behind and verdict.kind == "run" else verdict

    async def read_records(self, call: ToolCall, interrupt: Interrupt) -> CallResult:
        name = call.tool.name if call.tool else ""
        if name in self.interruptible:
            return await self.interruptible[name](call, interrupt)
        return await self.records[name](call)

    async def rehearse_call(self, call: ToolCall, interrupt: Interrupt) -> None:
        await self.read_records(call, interrupt)

    async def perform_call(self, call: ToolCall, interrupt: Interrupt) -> CallResult | None:
        result = await self.read_records(call, interrupt)
        if result is not None:
            await self.end_call(call, result)
        return result

    async def suspend_call(
        self, call: ToolCall, wanted: ElicitationRequired | SignInRequired
    ) -> str:
        self._perhaps_lose("suspend_call")
        self.suspended.append((call, wanted))
        return self.refuses_questions

    async def ask(self, call: ToolCall, asked: ElicitRequest) -> ElicitResult:
        self.asked.append(asked)
        return await self.answers(asked) if self.answers else ElicitResult(action="cancel")

    async def end_call(self, call: ToolCall, result: CallResult) -> None:
        self._perhaps_lose("end_call")
        self.ended.setdefault(call.id, []).append(result)
        event = {"id": call.id, "outcome": result.outcome, "result": result.display}
        self.emit({"type": "tool_result", **event})

    def _perhaps_lose(self, method: str) -> None:
        if self._error and method == self._lose_at:
            raise self._error

    # ------------------------------------------------------------ for tests

    def types(self) -> list[str]:
        """The kinds of events, repetitions in a row counted once."""
        kinds: list[str] = []
        for event in self.events:
            if not kinds or kinds[-1] != event["type"]:
                kinds.append(event["type"])
        return kinds

    def of(self, type_: str) -> list[dict[str, Any]]:
        return [event for event in self.events if event["type"] == type_]

    @property
    def text(self) -> str:
        return "".join(event["content"] for event in self.of("text"))

    @property
    def results(self) -> list[CallResult]:
        """The one result of each call, in the order in which the calls began."""
        assert all(len(results) == 1 for results in self.ended.values())  # noqa: S101
        return [self.ended[call.id][0] for call in self.begun if call.id in self.ended]
