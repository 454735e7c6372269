"""Queue worker: what a runner does for one queue: claim, keep, run, sweep, give back.

Each database has one of these with tasks and threads of its own: one that is away or hangs costs the others nothing.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass

from ... import const, events, large, measures, traces
from ...errors import EngineError, LeaseLost, TurnGone
from ...render import markdown
from ...specs import TurnProgress, TurnRequest, TurnResult
from ..journal import TurnJournal
from ..ports import Claim, Ending, Store, StoreGone
from ..writer import Writer
from .heartbeat import BEATS, Heartbeat

_logger = logging.getLogger(__name__)

POLL_INTERVAL = 10.0  # s, looks for work without a notification
FILES = "files"  # the lane of reading a question's files, which takes seconds
AWAY_INTERVAL = 1.0  # s, the same while its database does not answer
MAX_TRIES = 50  # runners that may try a turn; one that kills each of them must end


Engine = Callable[..., Awaitable[TurnResult]]
"""``run(request, progress, journal, stop) -> TurnResult``, see `ai_client.run_turn`."""


@dataclass(slots=True)
class Running:
    claim: Claim
    stop: asyncio.Event
    journal: TurnJournal
    task: asyncio.Task | None = None
    is_ending: bool = False


class QueueHost:
    """:param runner: the `Runner` that has the loop, the threads and the room"""

    def __init__(self, runner, store: Store):
        self.store = store
        self.running: dict[Claim, Running] = {}
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
        self._claiming = self._runner.spawn(self._claim_forever())
        self._tasks = [
            self._claiming,
            self._runner.spawn(self._writer.run()),
            self._runner.spawn(self._sweep_forever()),
        ]
        if is_threaded:
            self.heartbeat.start()

    def stop_turn(self, turn_id: int) -> None:
        for running in self._of_turn(turn_id):
            running.stop.set()

    def look_for_answers(self, turn_id: int) -> None:
        for running in self._of_turn(turn_id):
            running.journal.look_for_answers()

    def _of_turn(self, turn_id: int) -> list[Running]:
        """One, or two for the moment in which this process took the turn from itself."""
        return [running for claim, running in self.running.items() if claim.turn_id == turn_id]

    async def _once(self, method, *args, lane: str = ""):
        return await self._runner.once(self.store.name, method, *args, lane=lane)

    async def _held_db(
        self, method, *args, is_over: Callable[[], bool] = lambda: False, lane: str = ""
    ):
        """Run a store method; while PostgreSQL is away, try again: only it can say who holds a turn.

        :param is_over: whether nobody wants it any more
        :param lane: see `Runner.once`
        """
        while True:
            try:
                return await self._once(method, *args, lane=lane)
            except ConnectionError as error:
                if is_over():
                    raise LeaseLost(detail=str(error)) from error
                await asyncio.sleep(const.DB_RETRY)

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
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self.wakeup.wait(), pause)

    async def _claim(self) -> None:
        with self._runner.reserve(self.store.name, self._is_doubtful) as slots:
            if not slots or self._runner.is_stopping:
                return
            if self._is_doubtful:  # it may have taken turns that this process was never told of
                await self._once(self.store.release, self._runner.id, sorted(self.running))
            self._is_doubtful = True
            claims = await self._once(self.store.claim, self._runner.id, slots, self._runner.lease)
            self._is_doubtful = False
            if self._runner.is_stopping:  # `drain` gives them back
                return
            measures.add("claims", len(claims))
            for claim in claims:
                self._begin(claim)
        if len(claims) == slots:  # there may be more
            self.wakeup.set()

    def _begin(self, claim: Claim) -> None:
        journal = TurnJournal(
            claim,
            self.store,
            self._held_db,
            self._writer.wake,
            on_lost=lambda: self.heartbeat.let_go(claim),
            clock=self._runner.clock,
        )
        for former in self._of_turn(claim.turn_id):
            self._lose(former.claim)
        running = self.running[claim] = Running(claim, asyncio.Event(), journal)
        self.heartbeat.hold(claim)
        running.task = self._runner.spawn(self._run(running))
        measures.add("turns_running")

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
                running.task.cancel()

    def _gone(self) -> None:
        if self._runner.queues.get(self.store.name) is self:
            _logger.debug("%s is gone: its turns are no longer run.", self.store.name)
            self._runner.end(self.store.name)

    def end(self) -> None:
        """Drop everything at once; what still runs is for others, if anybody."""
        self._close()
        for running in list(self.running.values()):
            running.journal.lose()
            running.task.cancel()

    async def drain(self, timeout: float) -> None:
        until = self._runner.clock() + timeout
        if self._claiming:
            await asyncio.wait([self._claiming], timeout=timeout)
        tasks = [running.task for running in self.running.values()]
        if tasks:
            left = max(0.0, until - self._runner.clock())
            _, late = await asyncio.wait(tasks, timeout=left)
            for running in list(self.running.values()):
                if running.task in late:
                    self._lose(running.claim)
            if late:
                await asyncio.wait(late, timeout=2)
        self._close()
        with contextlib.suppress(Exception):
            await self._once(self.store.release, self._runner.id)

    def _close(self) -> None:
        self.heartbeat.stop()
        for task in self._tasks:
            task.cancel()

    # ------------------------------------------------------------ one turn

    async def _run(self, running: Running) -> None:
        claim = running.claim
        try:
            await self._run_held(running)
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
            measures.add("turns_running", -1)
            self._runner.ring()

    async def _run_held(self, running: Running) -> None:
        begun = self._runner.clock()
        journal = running.journal
        progress = None
        try:
            loaded = await self._held_db(self.store.load, running.claim)
            request, progress = loaded.request, loaded.progress
            if running.claim.epoch - progress.epoch > MAX_TRIES:
                error = EngineError(detail=f"no runner survived it, {MAX_TRIES} tries")
                error.code = "internal_error"
                raise error
            journal.max_rounds = request.limits.max_rounds
            if loaded.stop_requested:
                running.stop.set()
            journal.emit(events.state("running", progress.step))
            with traces.turn(request, running.claim.epoch, self._runner.clock() - begun) as span:
                async with asyncio.timeout(request.limits.turn_timeout):
                    if loaded.has_unread_files:
                        request = await self._with_files(running)
                    result = await self._runner.run_engine(request, progress, journal, running.stop)
                span.end_turn(result)
        except (LeaseLost, TurnGone, StoreGone):
            raise
        except TimeoutError:
            error = EngineError("The answer took too long and was stopped. Try again.")
            error.code = "turn_timeout"
            result = TurnResult(state="failed", error=error)
        except EngineError as error:
            result = TurnResult(state="failed", error=error)
        except Exception as error:
            _logger.exception(
                "Turn %s of %s failed unexpectedly.", running.claim.turn_id, self.store.name
            )
            result = TurnResult(state="failed", error=error)
        await self._finish(running, result, progress, begun)

    async def _with_files(self, running: Running) -> TurnRequest:
        """Have the question's files read first; who stops does not wait for that."""
        journal = running.journal
        reading = asyncio.ensure_future(
            self._held_db(
                self.store.read_files, running.claim, is_over=lambda: journal.lost, lane=FILES
            )
        )
        stopped = asyncio.ensure_future(running.stop.wait())
        try:
            await asyncio.wait({reading, stopped}, return_when=asyncio.FIRST_COMPLETED)
            if reading.done():
                reading.result()
        finally:
            reading.cancel()
            stopped.cancel()
        return (await self._held_db(self.store.load, running.claim)).request

    async def _finish(self, running: Running, result, progress, begun) -> None:
        """It must end whatever refuses to be written, or runner after runner would ask the model again."""
        journal, running.is_ending = running.journal, True
        begun += journal.asked.seconds  # what a person takes is not the turn's
        measures.add("turns", state=result.state)
        measures.observe("turn_seconds", self._runner.clock() - begun)
        if progress:
            progress.epoch = running.claim.epoch
        try:
            html = await self._html(result.text)
            return await journal.finish(
                lambda seq: self._ending(result, progress, begun, seq, html)
            )
        except (LeaseLost, TurnGone, StoreGone):
            raise
        except Exception as error:
            _logger.exception(
                "The end of turn %s of %s cannot be written.",
                running.claim.turn_id,
                self.store.name,
            )
            failed = TurnResult(state="failed", error=error)
        try:
            return await journal.finish(lambda seq: self._ending(failed, None, begun, seq))
        except (LeaseLost, TurnGone, StoreGone):
            raise
        except Exception:
            journal.forget()
            return await journal.finish(lambda seq: self._ending(failed, None, begun, seq))

    async def _html(self, source: str) -> str:
        if len(source) > markdown.AT_ONCE:
            return await large.beside(self._runner.render, source)
        return self._runner.render(source) if source else ""

    def _ending(
        self,
        result: TurnResult,
        progress: TurnProgress | None,
        begun: float,
        next_seq: int,
        html: str = "",
    ) -> Ending:
        error = result.error
        if error is not None and not isinstance(error, EngineError):
            error = EngineError()
            error.code = "internal_error"
        if error is not None and error.detail:
            _logger.warning("A turn failed: %s (%s)", error.code, error.detail)
        usage = dict(progress.usage) if progress else {}
        if progress and progress.context:
            usage["context"] = {k: v for k, v in progress.context.items() if k != "ratio"}
        seconds = self._runner.clock() - begun
        usage["duration_ms"] = usage.get("duration_ms", 0) + int(seconds * 1000)
        if progress:  # a turn that waits for a decision goes on counting from here
            progress.usage["duration_ms"] = usage["duration_ms"]
        usage["rounds"] = progress.round if progress else 0
        usage.setdefault("input_tokens", 0)
        usage.setdefault("output_tokens", 0)
        usage["tool_calls"] = (
            sum(message["role"] == "tool" for message in progress.messages) if progress else 0
        )
        return Ending(
            state=result.state,
            html=html,
            usage=usage,
            progress=asdict(progress) if progress else None,
            error_code=error.code if error is not None else "",
            error_message=str(error) if error is not None else "",
            error_detail=error.detail if error is not None else "",
            confirm=result.confirm,
            next_seq=next_seq,
        )
