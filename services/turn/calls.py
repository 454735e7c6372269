"""Tool execution: runs the calls of one answer in parallel and gives each exactly one result."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any

from .. import events, traces
from ..approval import approval
from ..concurrency import Race
from ..errors import ElicitationRequired, SignInRequired
from ..mcp.session.call_options import CallOptions, OnProgress
from ..mcp.session.elicitation import ElicitRequest, ElicitResult, OnElicit
from ..records.errors import RecordError
from ..sentence import _lt
from ..specs import CallResult, Executed, ToolCall, Verdict
from .execution import failure, now, refusal
from .interrupt import Interrupt
from .ports import Journal
from .tools import TurnTools
from .user_wait import UserWait

PROGRESS_INTERVAL = 0.1  # s between two progress events of one call
PROGRESS_QUICK = 100  # events of a call, then they come every second
PROGRESS_OF_TURN = 5_000  # events of all calls, each is kept
DENIED = _lt("The user or an administrator did not allow this call.")
NOT_FINISHED = _lt("The call was not finished.")
STOPPED = _lt("The user stopped the turn before this call had ended.")
EXHAUSTED = _lt(
    "The time for tools in this turn is used up, so the tool was not called. "
    "Answer with what you have and say what is missing."
)
OUT_OF_TIME = _lt(
    "The time for tools in this turn was used up during this call, so it was ended and nothing was changed."
)


class Reports:
    """The progress of the calls of one turn, few events however many a server sends."""

    def __init__(self, journal: Journal, clock: Callable[[], float] = time.monotonic):
        self._journal = journal
        self._clock = clock
        self._left = PROGRESS_OF_TURN

    def of(self, call: ToolCall) -> OnProgress:
        """Function that reports the progress of one call: ``(progress, total, message)``."""
        last, count, is_over = 0.0, 0, False

        def report(progress: float, total: float | None, message: str) -> None:
            nonlocal last, count, is_over
            now = self._clock()
            interval = PROGRESS_INTERVAL if count < PROGRESS_QUICK else 1.0
            is_last = total is not None and progress >= total
            if is_over or self._left <= 0 or (now - last < interval and not is_last):
                return
            last, count, is_over = now, count + 1, is_last
            self._left -= 1
            self._journal.emit(events.tool_progress(call.id, progress, total, message))

        return report


class Calls:
    """:param reports: of the turn
    :param budget: seconds that all calls together may take
    :param deadline: seconds of `clock` at which the turn is over
    """

    def __init__(
        self,
        journal: Journal,
        tools: TurnTools,
        stop: asyncio.Event,
        reports: Reports,
        *,
        budget: float,
        deadline: float,
        clock: Callable[[], float] = time.monotonic,
    ):
        self._journal = journal
        self._tools = tools
        self._stop = stop
        self._reports = reports
        self._budget = budget
        self._until = min(clock() + budget, deadline)
        self._deadline = deadline
        self._clock = clock
        self._asked = UserWait(clock)

    async def run(self, calls: list[ToolCall]) -> tuple[dict[str, CallResult], float]:
        """The result of each call id, and the seconds that the longest took without those of a person.

        A call without a result waits for a person; the others were brought to their end.

        :raises LeaseLost, TurnGone: what the journal says ends all calls at once
        """
        begun = self._clock()
        tasks = self._started(calls)
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
            results = {
                call_id: result
                for task, call_id in tasks.items()
                if task.done() and (result := task.result()) is not None
            }
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        if self._stop.is_set():
            for call in calls:
                if call.id not in results:
                    results[call.id] = failure("cancelled", STOPPED)
                    await self._journal.end_call(call, results[call.id])
        return results, max(0.0, self._clock() - begun - self._asked.seconds)

    def _started(self, calls: list[ToolCall]) -> dict[asyncio.Task, str]:
        """All calls at once, but those on records one after another: what comes later may need what came before.

        Behind one that waits for a person only what waits, too, is asked about; all else begins after the decision.
        """
        tasks, before = {}, None
        for call in calls:
            if call.tool is not None and call.tool.records:
                before = task = asyncio.ensure_future(self._after(before, call))
            else:
                task = asyncio.ensure_future(self._one(call))
            tasks[task] = call.id
        return tasks

    async def _after(self, before: asyncio.Task | None, call: ToolCall) -> CallResult | None:
        if before is not None:
            await asyncio.wait({before})
            call = replace(call, is_behind=before.result() is None)
        return await self._one(call)

    async def _one(self, call: ToolCall) -> CallResult | None:
        async with self._tools.place(call, self._stop):
            verdict = await self._journal.begin_call(call)
            if verdict.kind == "held" or (verdict.kind == "done" and verdict.result is not None):
                return verdict.result
            with traces.tool(call) as span:
                result = await self._decided(call, verdict)
                span.end_call(result)
            return result

    async def _decided(self, call: ToolCall, verdict: Verdict) -> CallResult | None:
        if verdict.kind == "answered" and verdict.result is not None:
            result = verdict.result
        elif verdict.kind == "deny":
            result = failure("denied", verdict.reason or DENIED)
        elif self._stop.is_set():
            result = failure("cancelled", STOPPED)
        elif call.tool is not None and call.tool.records:
            return await self._on_records(call, verdict)
        elif verdict.kind == "ask":
            result = refusal(call)  # nobody is asked about what cannot be called
            if result is None:
                return None
        else:
            result = await self._make(call, verdict)
            if result is None:
                return None
        await self._journal.end_call(call, result)
        return result.for_llm()

    async def _on_records(self, call: ToolCall, verdict: Verdict) -> CallResult | None:
        """Make a call that the host carries out itself."""
        if verdict.arguments is not None:
            call = replace(call, arguments=verdict.arguments)
        result = refusal(call)
        if result is None:
            try:
                if verdict.kind == "ask":
                    result = await self._while_wanted(self._journal.rehearse_call, call)
                    if result is None:
                        return None
                elif call.tool is not None and call.tool.records == "write":
                    return await self._while_wanted(self._journal.perform_call, call)
                else:
                    result = await self._while_wanted(self._journal.read_records, call)
            except RecordError as error:
                result = failure(error.outcome, str(error))
        await self._journal.end_call(call, result)
        return result

    async def _while_wanted(self, method: Callable[..., Awaitable[Any]], call: ToolCall) -> Any:
        """Result of a call on records; a Stop, or the end of the time for tools, ends its wait.

        What has become of a change is waited for all the same, for a moment.

        :raises RecordError: it was not carried out
        """
        limit = max(0.0, self._until - self._clock())
        interrupt = Interrupt(limit)
        working = asyncio.ensure_future(method(call, interrupt))
        try:
            with Race(self._stop) as race:
                if await race.is_done(working, limit):
                    return working.result()
            ended = failure("timeout", OUT_OF_TIME)
            if self._stop.is_set():
                ended = failure("cancelled", STOPPED)
            if method != self._journal.perform_call:
                return ended
            interrupt.set()
            try:
                return await working
            except RecordError as error:
                if error.outcome == "unknown":
                    raise
                raise RecordError(ended.text, outcome=ended.outcome) from error
        finally:
            if not working.done():
                working.cancel()
                interrupt.set()

    async def _make(self, call: ToolCall, verdict: Verdict) -> CallResult | None:
        """Make the call that may be made; None if it waits for answers of the user now."""
        changed = verdict.arguments if verdict.arguments != call.arguments else None
        if changed is not None:
            call = replace(call, arguments=changed)
        executed = await self._execute(call, verdict.resume)
        result = executed.result
        if isinstance(executed.error, ElicitationRequired | SignInRequired):
            refused = await self._journal.suspend_call(call, executed.error)
            if not refused:
                return None
            result = replace(result, text=refused, display=refused)
        elif executed.error:
            traces.current().fail(executed.error)
        if changed is not None:
            result = approval.told_of_change(result, changed)
        return result

    async def _execute(self, call: ToolCall, resume: Mapping[str, Any] | None) -> Executed:
        limit = call.server.call_timeout if call.server else self._budget
        timeout = min(limit, self._budget, self._deadline - self._clock())
        if call.tool is not None and call.arguments is not None and timeout <= 0:
            return Executed(result=failure("timeout", EXHAUSTED))
        begun, asked = self._clock(), UserWait(now)
        options = CallOptions(
            on_progress=self._reports.of(call), on_elicit=self._asker(call, asked), resume=resume
        )
        running = asyncio.ensure_future(
            self._tools.call(call, timeout=max(timeout, 0.0), options=options)
        )
        try:
            with Race(self._stop) as race:
                if await race.is_done(running):
                    return _without(asked, running.result())
            running.cancel()
            await asyncio.wait({running})
            return _without(asked, Executed(result=failure("cancelled", STOPPED, begun)))
        finally:
            running.cancel()

    def _asker(self, call: ToolCall, asked: UserWait) -> OnElicit:
        """Asks while the server waits. The time in which a person is asked is not the tools'."""

        async def ask(request: ElicitRequest) -> ElicitResult:
            with self._asked, asked:
                return await self._journal.ask(call, request)

        return ask


def _without(asked: UserWait, executed: Executed) -> Executed:
    """The call took as long as its tool did."""
    result = executed.result
    duration = max(0, result.duration_ms - int(asked.seconds * 1000))
    return replace(executed, result=replace(result, duration_ms=duration))
