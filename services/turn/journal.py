"""Event log of a held turn, as the engine sees it: ordered, batched, guarded by the lease."""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict
from typing import Any

from .. import const, events, measures
from ..asked import Asked
from ..errors import ElicitationRequired, LeaseLost, SignInRequired, TurnGone
from ..mcp.session.elicitation import ElicitRequest, ElicitResult
from ..records.errors import RehearsalDiffers
from ..specs import CallResult, ToolCall, TurnProgress, Verdict
from .ports import StoreGone

BEGIN_TRIES = 3  # a process that stands still each time gives the turn up
RECORDS = "records"  # the lane of what may take long: no other write waits for it
ANSWER_POLL = 5.0  # s between two looks for an answer that nobody told of
FLOWING = ("text", "thinking")  # events whose pieces are joined
UNKNOWN_TEXT = (
    "The connection was interrupted while this call ran. It may or may not have taken effect."
)


class TurnJournal:
    """Implements `ports.Journal` over a store.

    :param db: runs a blocking store method in the executor and retries it while PostgreSQL is away
    :param wake: tells the writer that there is something to flush
    :param on_lost: called once, when nothing more may be written
    :ivar asked: how long the person was asked something while a server waited
    """

    def __init__(
        self,
        claim,
        store,
        db: Callable[..., Awaitable[Any]],
        wake: Callable[["TurnJournal"], None],
        max_rounds: int = const.MAX_ROUNDS,
        *,
        on_lost: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = time.monotonic,
    ):
        self.claim = claim
        self.store = store
        self.max_rounds = max_rounds
        self.lock = asyncio.Lock()
        self.lost = False
        self.asked = Asked(clock)
        self.next_seq = claim.next_seq
        self._db = db
        self._wake = wake
        self._on_lost = on_lost
        self._clock = clock
        self._pending: list[dict[str, Any]] = []
        self._wakeups: list[asyncio.Event] = []  # who asked first takes its answer first
        self._writing: set[asyncio.Future] = set()

    def emit(self, event: events.Event) -> None:
        last = self._pending[-1] if self._pending else None
        is_more = last and event["type"] == last["type"] and event["type"] in FLOWING
        if is_more and event["step"] == last["step"]:
            last.update(event, content=last["content"] + event["content"])
        else:
            self._pending.append(event)
        self._wake(self)

    def drain(self) -> list[tuple[int, dict[str, Any]]]:
        """Number and hand out what is pending; the caller holds `lock` until it is on disk."""
        pending, self._pending = self._pending, []
        first, self.next_seq = self.next_seq, self.next_seq + len(pending)
        return list(enumerate(pending, first))

    def put_back(self, drained: list[tuple[int, events.Event]]) -> None:
        """They were drained and not written; the caller still holds `lock`."""
        if drained and not self.lost:
            self.next_seq = drained[0][0]
            self._pending[:0] = [event for _seq, event in drained]

    def lose(self) -> None:
        if not self.lost:
            self.lost = True
            self._pending.clear()
            self._on_lost()

    def forget(self) -> None:
        """Drop what is not on disk yet."""
        self._pending.clear()

    async def _write(self, method, *args, own_events=(), **lane):
        """Who is cancelled leaves the write to end, so that no number is given twice or left out."""

        def arguments(earlier):
            return [*args, [*earlier, *self._numbered(own_events)]]

        return await self._undisturbed(method, arguments, **lane)

    def _numbered(self, unnumbered):
        first, self.next_seq = self.next_seq, self.next_seq + len(unnumbered)
        return enumerate(unnumbered, first)

    async def _undisturbed(self, method, arguments: Callable[[list], list], **lane):
        writing = asyncio.get_running_loop().create_task(self._locked(method, arguments, **lane))
        self._writing.add(writing)
        writing.add_done_callback(self._written)
        return await asyncio.shield(writing)

    def _written(self, writing: asyncio.Future) -> None:
        self._writing.discard(writing)
        if not writing.cancelled():
            writing.exception()  # who waits for it has it, if anybody does

    async def _locked(self, method, arguments: Callable[[list], list], **lane):
        """:param arguments: of the method, from the numbered events that stand before"""
        async with self.lock:
            if self.lost:
                raise LeaseLost
            first = self.next_seq
            earlier = self.drain()
            try:
                return await self._db(
                    method, self.claim, *arguments(earlier), is_over=self._is_lost, **lane
                )
            except (LeaseLost, TurnGone, StoreGone):
                self.lose()
                raise
            except Exception:  # nothing of it is on disk: what others said goes with the next write
                self.next_seq = first
                self.put_back(earlier)
                raise

    def _is_lost(self) -> bool:
        return self.lost

    async def take_steering(self, known) -> list[dict[str, Any]]:
        return await self._call_store(self.store.take_steering, known)

    async def save_step(
        self,
        progress: TurnProgress,
        calls: tuple[ToolCall, ...] = (),
        more_events: Sequence[events.Event] = (),
    ) -> None:
        started = [
            events.tool_call(
                call.id,
                tool=call.tool.name if call.tool else call.alias,
                title=(call.tool.title or call.tool.name) if call.tool else call.alias,
                server=call.server_name,
                arguments=call.arguments or {},
                fixed=call.tool.fixed_names if call.tool and call.tool.fixed else (),
                round_=call.round,
                max_rounds=self.max_rounds,
                records=call.tool.records if call.tool else "",
            )
            for call in calls
        ]
        progress.epoch = self.claim.epoch
        await self._write(
            self.store.save_step, asdict(progress), calls, own_events=[*more_events, *started]
        )

    async def begin_call(self, call: ToolCall) -> Verdict:
        if self.lost:
            raise LeaseLost
        for _ in range(BEGIN_TRIES):
            asked_at = self._clock()
            verdict = await self._call_store(self.store.begin_call, call)
            # A process that stood still between the check and here asks again: the lease may be over.
            if verdict.kind != "run" or self._clock() - asked_at < self.claim.lease:
                break
        else:
            self.lose()
            raise LeaseLost(detail="the database takes longer than a lease")
        if verdict.kind == "lost":
            result = CallResult(outcome="unknown", text=UNKNOWN_TEXT, display=UNKNOWN_TEXT)
            await self.end_call(call, result)
            return Verdict(kind="done", result=result)
        return verdict

    async def read_records(self, call: ToolCall) -> CallResult:
        return await self._call_store(self.store.read_records, call.id, lane=RECORDS)

    async def rehearse_call(self, call: ToolCall) -> None:
        await self._call_store(self.store.rehearse_call, call.id, lane=RECORDS)

    async def perform_call(self, call: ToolCall) -> CallResult | None:
        try:
            result = await self._write(
                self.store.perform_call,
                call.id,
                own_events=[events.result_of(call.id)],
                lane=RECORDS,
            )
        except RehearsalDiffers as differs:
            await self._call_store(self.store.ask_again, call.id, differs.rehearsal)
            return None
        _measure(result)
        return result

    async def _call_store(self, method, *args, **lane):
        try:
            return await self._db(method, self.claim, *args, is_over=self._is_lost, **lane)
        except (LeaseLost, TurnGone, StoreGone):
            self.lose()
            raise

    async def end_call(self, call: ToolCall, result: CallResult) -> None:
        await self._write(
            self.store.end_call, call.id, result, own_events=[events.result_of(call.id)]
        )
        _measure(result)

    async def suspend_call(
        self, call: ToolCall, wanted: ElicitationRequired | SignInRequired
    ) -> str:
        return await self._write(self.store.suspend_call, call.id, wanted)

    async def ask(self, call: ToolCall, request: ElicitRequest) -> ElicitResult:
        wakeup = asyncio.Event()
        self._wakeups.append(wakeup)
        try:
            with self.asked:
                return await self._ask(call, request, wakeup)
        except (LeaseLost, TurnGone):  # who runs the call hears it by itself
            return ElicitResult(action="cancel")
        finally:
            self._wakeups.remove(wakeup)

    async def _ask(
        self, call: ToolCall, request: ElicitRequest, wakeup: asyncio.Event
    ) -> ElicitResult:
        limit = const.SESSION_ASK_TIMEOUT
        question = await self._call_store(self.store.ask, call.id, request, limit)
        if question is None:
            return ElicitResult(action="cancel")
        self.emit(question)
        deadline = self._clock() + limit
        while True:
            wakeup.clear()
            left = deadline - self._clock()
            answer, decided = await self._call_store(
                self.store.take_answer, question["id"], left <= 0
            )
            if answer is not None:
                self.emit(decided)
                return answer
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(min(left, ANSWER_POLL)):
                    await wakeup.wait()

    def look_for_answers(self) -> None:
        """A person has answered something."""
        for wakeup in self._wakeups:
            wakeup.set()

    async def finish(self, ending_of: Callable[[int], Any]) -> None:
        """Close the turn. `ending_of(next_seq)` is called when all earlier events are numbered."""
        await self._undisturbed(
            self.store.finish, lambda earlier: [ending_of(self.next_seq), earlier]
        )


def _measure(result: CallResult) -> None:
    measures.add("calls", outcome=result.outcome)
    measures.observe("call_seconds", result.duration_ms / 1000)
