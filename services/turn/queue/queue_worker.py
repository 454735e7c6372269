"""Queue worker: what a runner does for one queue: claim, keep, sweep, give back.

Each database has one of these with tasks and threads of its own: one that is away or hangs costs the others nothing.
"""

import asyncio
import contextlib
import functools
import logging
from collections.abc import Callable

from ... import const, metrics
from ...errors import EngineError, LeaseLost, TurnGone
from ..journal import TurnJournal
from ..ports import Claim, NotNow, OutcomeUnknown, Store, StoreGone, TurnsLocked
from ..writer import Writer
from .heartbeat import BEATS, Heartbeat
from .turn_run import Stopped, TurnRun

_logger = logging.getLogger(__name__)

POLL_INTERVAL = 10.0  # s, looks for work without a notification
AWAY_INTERVAL = 1.0  # s, the same while its database does not answer
TRIES = 10  # of a write that PostgreSQL refuses, though it is there
GIVING_BACK = 2.0  # s for rows to be unlocked and for a database to be back


class QueueWorker:
    """:param runner: the `Runner` that has the loop, the threads and the room"""

    def __init__(self, runner, store: Store):
        self.store = store
        self.running: dict[Claim, TurnRun] = {}
        self.wakeup = asyncio.Event()
        self._runner = runner
        self._writer = Writer(
            store.append, self._held_db, self._lose, const.TEXT_FLUSH_INTERVAL, runner.clock
        )
        self.heartbeat = Heartbeat(
            store, runner.id, runner.lease, runner.call_soon, self._on_renewed, runner.clock
        )
        self._claiming: asyncio.Task | None = None
        self._is_doubtful = False  # its database did not answer the last claim
        self._is_away = False  # and said so
        self._tasks: list[asyncio.Task] = []

    def start(self, is_threaded: bool) -> None:
        """:param is_threaded: whether the heartbeat gets its thread; else who steps the loop calls `beat`"""
        claiming = self._claiming = self._runner.spawn(self._claim_forever())
        self._tasks = [
            claiming,
            self._runner.spawn(self._writer.run()),
            self._runner.spawn(self._sweep_forever()),
        ]
        if is_threaded:
            self.heartbeat.start()

    def look(self) -> None:
        """There may be work."""
        self.wakeup.set()

    def stop_turn(self, turn_id: int) -> None:
        """Stop a turn that runs here."""
        for running in self._of_turn(turn_id):
            running.stop.set()

    def look_for_answers(self, turn_id: int) -> None:
        """Have a turn that runs here look for what its person has answered."""
        for running in self._of_turn(turn_id):
            running.journal.look_for_answers()

    def _of_turn(self, turn_id: int) -> list[TurnRun]:
        """One, or two for the moment in which this process took the turn from itself."""
        return [running for claim, running in self.running.items() if claim.turn_id == turn_id]

    async def _once(self, method, *args, **share):
        return await self._runner.once(self.store.name, method, *args, **share)

    async def _held_db(
        self,
        method,
        *args,
        is_over: Callable[[], bool] = lambda: False,
        stop: asyncio.Event | None = None,
        **share,
    ):
        """Run a store method; while PostgreSQL is away, try again: only it can say who holds a turn.

        What it refuses while it is there is tried `TRIES` times, with pauses that grow: 26 s at a lease of 15 s, and as
        long again as it waits for locks.

        :param is_over: whether nobody wants it any more
        :param stop: ends the tries
        :param share: `lane`, `person` and `interrupt` of `Runner.once`
        :raises NotNow: it was refused each time, and is not on disk
        :raises OutcomeUnknown: it failed, and an earlier try may be on disk
        :raises Stopped: after a try that failed
        """
        is_doubtful, refusals = False, 0
        while True:
            try:
                return await self._once(method, *args, **share)
            except ConnectionError as error:
                if is_over():
                    raise LeaseLost(detail=str(error)) from error
                is_refusal = isinstance(error, NotNow)
                is_doubtful, refusals = is_doubtful or not is_refusal, refusals + is_refusal
                if refusals == TRIES and is_doubtful:
                    raise OutcomeUnknown(str(error)) from error
                if refusals == TRIES:
                    raise
            except (EngineError, StoreGone, TurnsLocked):
                raise
            except Exception as error:
                if is_doubtful:
                    raise OutcomeUnknown(str(error)) from error
                raise
            longest = max(const.DB_RETRY, self._runner.lease / 3)
            pause = min(const.DB_RETRY * 2 ** max(0, refusals - 1), longest)
            if await _is_set_within(pause, stop or asyncio.Event()):
                raise Stopped

    # ------------------------------------------------------------ claims

    async def _claim_forever(self) -> None:
        while not self._runner.is_stopping:
            self.wakeup.clear()
            pause = POLL_INTERVAL
            try:
                await self._claim()
            except StoreGone:
                return self._gone()
            except ConnectionError as error:
                self._say_away(error)
                pause = AWAY_INTERVAL
            except Exception:
                _logger.exception("Claiming turns of %s failed.", self.store.name)
            await _is_set_within(pause, self.wakeup)

    async def _return_doubtful(self) -> bool:
        """Give back turns that this process may have claimed without being told of them.

        :return: whether one of them is locked just now, and is still to be given back
        """
        if self._is_doubtful:
            locked = await self._once(self.store.release, self._runner.id, sorted(self.running))
            self._is_doubtful = bool(locked)
        return self._is_doubtful

    async def _claim(self) -> None:
        with self._runner.reserve(self.store.name, self._is_doubtful) as slots:
            if self._runner.is_stopping:
                return
            is_locked = await self._return_doubtful()
            if not slots or self._runner.is_stopping:
                return
            self._is_doubtful = True
            claims = await self._once(self.store.claim, self._runner.id, slots, self._runner.lease)
            if self._runner.is_stopping:  # `drain` gives them back
                return
            self._is_doubtful = is_locked
            metrics.add("claims", len(claims))
            for claim in claims:
                self._begin(claim)
        if len(claims) == slots:  # there may be more
            self.wakeup.set()

    def _begin(self, claim: Claim) -> None:
        held_db = functools.partial(self._held_db, person=claim.person)
        journal = TurnJournal(
            claim,
            self.store,
            held_db,
            self._writer.wake,
            on_lost=lambda: self.heartbeat.let_go(claim),
            clock=self._runner.clock,
        )
        for former in self._of_turn(claim.turn_id):
            self._lose(former.claim)
        running = self.running[claim] = TurnRun(claim, journal, self.store, held_db, self._runner)
        self.heartbeat.hold(claim)
        running.task = self._runner.spawn(self._run(running))
        metrics.add("turns_running")

    async def _run(self, running: TurnRun) -> None:
        claim = running.claim
        try:
            await running.run()
        except (LeaseLost, TurnGone) as lost:
            _logger.info("Turn %s of %s: %s", claim.turn_id, self.store.name, lost)
        except StoreGone:
            self._gone()
        except asyncio.CancelledError:
            _logger.info("Turn %s of %s goes on elsewhere.", claim.turn_id, self.store.name)
        except Exception:
            _logger.exception("Turn %s of %s could not be closed.", claim.turn_id, self.store.name)
        finally:
            running.journal.lose()
            del self.running[claim]
            metrics.add("turns_running", -1)
            self.look()  # the conversation's next turn may wait
            self._runner.look_again()

    async def _sweep_forever(self) -> None:
        while not self._runner.is_stopping:
            await asyncio.sleep(self._runner.lease / BEATS)
            try:
                await self._once(self.store.sweep)
                self._is_away = False
            except StoreGone:
                return self._gone()
            except ConnectionError as error:
                self._say_away(error)
                # Who was cut off lets those who were cut off with it keep what they hold.
                await asyncio.sleep(self._runner.lease)
            except Exception:
                _logger.exception("Sweeping the turns of %s failed.", self.store.name)

    def _say_away(self, error: ConnectionError) -> None:
        """Once for each time that it is."""
        if not self._is_away:
            _logger.info("Turns of %s cannot be looked after now: %s", self.store.name, error)
        self._is_away = True

    def _on_renewed(self, lost: set[Claim], stops: set[Claim]) -> None:
        for claim in lost:
            self._lose(claim)
        for claim in stops:
            if running := self.running.get(claim):
                running.stop.set()

    def _lose(self, claim: Claim) -> None:
        """Another has it: nothing more is written, nothing more is kept."""
        if running := self.running.get(claim):
            running.journal.lose()
            if not running.is_ending:  # its last write hears it by itself
                running.cancel()

    def _gone(self) -> None:
        if self._runner.queues.get(self.store.name) is self:
            _logger.debug("%s is gone: its turns are no longer run.", self.store.name)
            self._runner.end(self.store.name)

    def end(self) -> None:
        """Drop everything at once; what still runs is for others, if anybody."""
        self._close()
        for running in list(self.running.values()):
            running.journal.lose()
            running.cancel()

    async def drain(self, timeout: float) -> None:
        """Take no more turns, let those that run end, and give the rest back.

        :param timeout: seconds for them to end
        """
        until = self._runner.clock() + timeout
        if self._claiming:
            await asyncio.wait([self._claiming], timeout=timeout)
        with contextlib.suppress(Exception):  # else they are given back with all others
            await self._return_doubtful()
        tasks = [running.task for running in self.running.values() if running.task]
        if tasks:
            left = max(0.0, until - self._runner.clock())
            _, late = await asyncio.wait(tasks, timeout=left)
            for running in list(self.running.values()):
                if running.task in late:
                    self._lose(running.claim)
            if late:
                await asyncio.wait(late, timeout=2)
        self._close()
        until = self._runner.clock() + GIVING_BACK
        with contextlib.suppress(Exception):
            while not await self._give_back() and self._runner.clock() < until:
                await asyncio.sleep(const.DB_RETRY)

    async def _give_back(self) -> bool:
        """:return: whether all are; what was cut a moment ago may hold its row until it is rolled back"""
        try:
            return not await self._once(self.store.release, self._runner.id)
        except ConnectionError:
            return False

    def _close(self) -> None:
        self.heartbeat.stop()
        for task in self._tasks:
            task.cancel()


async def _is_set_within(seconds: float, event: asyncio.Event) -> bool:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):  # Python 3.11's `wait_for` may swallow the end
            await event.wait()
    return event.is_set()
