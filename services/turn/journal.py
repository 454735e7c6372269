"""Journal of a held turn, as the engine sees it: its steps, its calls and what people are asked."""

import asyncio
import contextlib
import functools
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, replace
from typing import Any

from .. import const, events, metrics
from ..errors import ElicitationRequired, LeaseLost, SignInRequired, TurnGone
from ..mcp.session.elicitation import ElicitRequest, ElicitResult
from ..records.errors import (
    ConnectionLost,
    RecordError,
    RehearsalDiffers,
    SomethingLeft,
    TryAgain,
)
from ..sentence import _lt
from ..specs import CallResult, ModelRequest, ToolCall, TurnProgress, Verdict
from .event_log import EventLog
from .interrupt import Interrupt, Interrupted
from .ports import OutcomeUnknown, StoreGone
from .user_wait import UserWait

BEGIN_TRIES = 3  # a process that stands still each time gives the turn up
RECORDS = "records"  # the lane of what may take long: no other write waits for it
RECORD_TRIES = 5  # of one call on records, as Odoo has for a request
RECORD_PAUSE = 0.1  # s after the first of them, twice as long after each further one
ANSWER_POLL = 5.0  # s between two looks for an answer that nobody told of
UNKNOWN_TEXT = _lt(
    "The connection was interrupted while this call ran. It may or may not have taken effect."
)


class TurnJournal(EventLog):
    """Implements `ports.Journal` over a store.

    :ivar asked: how long the person was asked something while a server waited
    """

    def __init__(
        self,
        claim,
        store,
        db: Callable[..., Awaitable[Any]],
        wake: Callable[[EventLog, bool], None],
        max_rounds: int = const.MAX_ROUNDS,
        *,
        on_lost: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = time.monotonic,
    ):
        super().__init__(claim, db, wake, on_lost)
        self.store = store
        self.max_rounds = max_rounds
        self.asked = UserWait(clock)
        self._clock = clock
        self._wakeups: list[asyncio.Event] = []  # who asked first takes its answer first

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
        saved = asdict(progress)
        await self._write(self.store.save_step, saved, calls, own_events=[*more_events, *started])
        del progress.spent[: len(saved["spent"])]

    async def reserve(self, request: ModelRequest, spent: list[dict[str, Any]]) -> str:
        key = f"{self.claim.epoch}-{request.key}"
        ended = tuple(spent)
        await self._call_store(self.store.reserve, replace(request, key=key), ended)
        del spent[: len(ended)]
        return key

    async def begin_call(self, call: ToolCall) -> Verdict:
        if self.lost:
            raise LeaseLost
        asked_at = 0.0

        def begin(*args):
            nonlocal asked_at
            asked_at = self._clock()
            return self.store.begin_call(*args)

        for _ in range(BEGIN_TRIES):
            verdict = await self._call_store(begin, call)
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

    async def read_records(self, call: ToolCall, interrupt: Interrupt) -> CallResult:
        return await self._tried(call, interrupt, self._call_store, self.store.read_records)

    async def rehearse_call(self, call: ToolCall, interrupt: Interrupt) -> None:
        await self._tried(call, interrupt, self._call_store, self.store.rehearse_call)

    async def _tried(self, call: ToolCall, interrupt: Interrupt, write, method, **own):
        """Try a call on records until it has become something, a few times and as long as it is wanted.

        :raises RecordError: it was not carried out
        """
        attempted = functools.partial(method, interrupt=interrupt)
        options = {"lane": RECORDS, "interrupt": interrupt, "db": self._until_known, **own}
        for attempt in range(RECORD_TRIES):
            try:
                return await write(attempted, call.id, **options)
            except Interrupted as error:
                raise RecordError(outcome="cancelled") from error
            except TryAgain as error:
                if error.has_left:
                    raise SomethingLeft from error
                if interrupt.is_set or max(error.losses, attempt + 1) >= RECORD_TRIES:
                    raise
            await asyncio.sleep(RECORD_PAUSE * 2**attempt)
        raise AssertionError

    async def _until_known(self, attempted, claim, call_id, *args, interrupt, **options):
        """Run one try as `_db`; where nobody heard its end, the call's row says whether it is over.

        :raises OutcomeUnknown: it cannot say so either
        """
        try:
            return await self._db(attempted, claim, call_id, *args, interrupt=interrupt, **options)
        except Interrupted as error:
            if not error.has_begun:
                raise
            lost = ConnectionLost(has_left=bool(interrupt.left))
        except ConnectionLost as error:
            lost = error
        try:
            result, lost.losses = await self._db(
                self.store.lose_call, claim, call_id, is_over=self._is_lost
            )
        except (LeaseLost, TurnGone, StoreGone, OutcomeUnknown):
            raise
        except Exception as error:  # it may be over, and nobody can say so
            raise OutcomeUnknown(str(error)) from error
        if result is None:
            raise lost
        return result

    async def perform_call(self, call: ToolCall, interrupt: Interrupt) -> CallResult | None:
        own_events = [events.result_of(call.id)]
        try:
            result = await self._tried(
                call, interrupt, self._write, self.store.perform_call, own_events=own_events
            )
        except RehearsalDiffers as differs:
            await self._call_store(self.store.ask_again, call.id, differs.rehearsal)
            return None
        _measure(result)
        return result

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
    metrics.add("calls", outcome=result.outcome)
    metrics.observe("call_seconds", result.duration_ms / 1000)
