"""Runs the calls of one answer in parallel and gives each exactly one result."""

import asyncio
import time
from collections.abc import Callable

from .ports import Journal
from .specs import CallResult, ToolCall
from .toolbox import Toolbox, failure

PROGRESS_INTERVAL = 0.1  # s between two progress events of one call
DENIED = "The user or an administrator did not allow this call."
STOPPED = "The user stopped the turn before this call had ended."
EXHAUSTED = (
    "The time for tools in this turn is used up, so the tool was not called. "
    "Answer with what you have and say what is missing."
)


class Calls:
    """:param budget: seconds that all calls together may take
    :param deadline: `time.monotonic` seconds at which the turn is over
    """

    def __init__(
        self,
        journal: Journal,
        toolbox: Toolbox,
        stop: asyncio.Event,
        *,
        budget: float,
        deadline: float,
    ):
        self._journal = journal
        self._toolbox = toolbox
        self._stop = stop
        self._budget = budget
        self._deadline = deadline

    async def run(self, calls: list[ToolCall]) -> tuple[dict[str, CallResult], float]:
        """The result of each call id, and the seconds that the longest took.

        :raises LeaseLost, TurnGone: what the journal says ends all calls at once
        """
        begun = time.monotonic()
        tasks = {asyncio.ensure_future(self._one(call)): call.id for call in calls}
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
            results = {call_id: task.result() for task, call_id in tasks.items() if task.done()}
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        return results, time.monotonic() - begun

    async def _one(self, call: ToolCall) -> CallResult:
        verdict = await self._journal.begin_call(call)
        if verdict.kind == "done" and verdict.result is not None:
            return verdict.result
        if verdict.kind == "deny":
            result = failure("denied", verdict.reason or DENIED)
        elif self._stop.is_set():
            result = failure("cancelled", STOPPED)
        else:
            result = await self._execute(call)
        await self._journal.end_call(call, result)
        return result

    async def _execute(self, call: ToolCall) -> CallResult:
        limit = call.server.call_timeout if call.server else self._budget
        timeout = min(limit, self._budget, self._deadline - time.monotonic())
        if call.tool is not None and call.arguments is not None and timeout <= 0:
            return failure("timeout", EXHAUSTED)
        begun = time.monotonic()
        running = asyncio.ensure_future(
            self._toolbox.call(call, timeout=max(timeout, 0.0), on_progress=self._reporter(call))
        )
        stopped = asyncio.ensure_future(self._stop.wait())
        try:
            await asyncio.wait({running, stopped}, return_when=asyncio.FIRST_COMPLETED)
            if running.done():
                return running.result()
            running.cancel()
            await asyncio.wait({running})
            return failure("cancelled", STOPPED, begun)
        finally:
            stopped.cancel()
            running.cancel()

    def _reporter(self, call: ToolCall) -> Callable[[float, float | None, str], None]:
        last = 0.0

        def report(progress: float, total: float | None, message: str) -> None:
            nonlocal last
            now = time.monotonic()
            if now - last < PROGRESS_INTERVAL and progress != total:
                return
            last = now
            self._journal.emit(
                "tool_progress", id=call.id, progress=progress, total=total, message=message
            )

        return report
