"""Runs turns: one asyncio loop in one native daemon thread, shared by all turns of a process.

The runner knows a queue (`Store`) and an engine (`run`), nothing of Odoo. It is created per process;
after a fork the child makes its own.
"""

import asyncio
import concurrent.futures
import contextlib
import logging
import os
import socket
import threading
import time
import uuid
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import asdict, dataclass

from . import const
from .errors import EngineError, LeaseLost, TurnGone
from .journal import TurnJournal, Writer
from .ports import Claim, Ending, Store
from .specs import TurnResult

_logger = logging.getLogger(__name__)

POLL_INTERVAL = 10.0  # s, looks for work without a notification, and for turns of dead runners
DRAIN_TIMEOUT = 10.0  # s, a stopping runner lets its turns end this long
DB_THREADS = 4
DB_RETRY = 0.2  # s between two tries while PostgreSQL is away
MAX_EPOCH = 50  # runners that may try a turn; one that kills each of them must end


Engine = Callable[..., Awaitable[TurnResult]]
"""``run(request, progress, journal, stop) -> TurnResult``, see `ai_client.run_turn`."""


@dataclass(slots=True)
class _Running:
    claim: Claim
    stop: asyncio.Event
    journal: TurnJournal | None = None
    task: asyncio.Task | None = None


class Runner:
    def __init__(
        self,
        run: Engine,
        render: Callable[[str], str],
        *,
        capacity: int = 32,
        lease: float = 15.0,
        on_close: Callable[[], Awaitable[None]] | None = None,
    ):
        self.id = f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:8]}"
        self.capacity = capacity
        self.lease = lease
        self._run_engine = run
        self._render = render
        self._on_close = on_close
        self._stores: dict[str, Store] = {}
        self._writers: dict[str, Writer] = {}
        self._running: dict[tuple[str, int], _Running] = {}
        self._tasks: set[asyncio.Task] = set()
        self._claiming: list[asyncio.Task] = []
        self._stopping = False
        self._executor = concurrent.futures.ThreadPoolExecutor(DB_THREADS, "woow-ai-db")
        self._loop = asyncio.new_event_loop()
        self._bells: dict[str, asyncio.Event] = {}
        self._thread = threading.Thread(target=self._main, name="woow-ai-runner", daemon=True)
        self._thread.start()

    # ------------------------------------------------------------ from any thread

    def attach(self, store: Store) -> None:
        """Serve this queue too; idempotent."""
        self._loop.call_soon_threadsafe(self._attach, store)

    def wake(self, delay: float = 0.0) -> None:
        """There may be work."""
        with contextlib.suppress(RuntimeError):  # the loop is closed: another process hears it too
            self._loop.call_soon_threadsafe(self._loop.call_later, delay, self._ring)

    def request_stop(self, name: str, turn_id: int) -> None:
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._stop_turn, name, turn_id)

    def tell_answered(self, name: str, turn_id: int) -> None:
        """A person has answered what a server of this turn waits for."""
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._look_for_answers, name, turn_id)

    def submit(self, coroutine: Coroutine) -> concurrent.futures.Future:
        """Run something else on the loop, such as a server's discovery."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def count(self) -> int:
        return len(self._running)

    def stop(self, timeout: float = DRAIN_TIMEOUT) -> None:
        """Stop claiming, let turns end for `timeout` seconds, give the rest back. Idempotent."""
        if self._stopping:
            return
        self._stopping = True
        future = asyncio.run_coroutine_threadsafe(self._drain(timeout), self._loop)
        try:
            future.result(timeout + 5)
        except (concurrent.futures.TimeoutError, concurrent.futures.CancelledError):
            _logger.warning("The AI runner did not stop in time.")
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(2)
        self._executor.shutdown(wait=False)

    # ------------------------------------------------------------ on the loop

    def _main(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()

    def _spawn(self, coroutine: Coroutine) -> asyncio.Task:
        task = self._loop.create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def db(self, method, *args):
        """Run a blocking store method; while PostgreSQL is away, try again until the lease is over."""
        deadline = time.monotonic() + self.lease
        while True:
            try:
                return await self._loop.run_in_executor(self._executor, method, *args)
            except ConnectionError as error:
                if time.monotonic() > deadline:
                    raise LeaseLost(detail=str(error)) from error
                await asyncio.sleep(DB_RETRY)

    def _attach(self, store: Store) -> None:
        if store.name not in self._stores:
            self._stores[store.name] = store
            writer = Writer(store, self.db, const.TEXT_FLUSH_INTERVAL)
            self._writers[store.name] = writer
            self._bells[store.name] = asyncio.Event()
            self._spawn(writer.run())
            # Loops of its own: a database that is away must not cost the others their leases.
            self._claiming.append(self._spawn(self._claim_forever(store)))
            self._spawn(self._heartbeat_forever(store))
        self._bells[store.name].set()

    def _ring(self) -> None:
        for bell in self._bells.values():
            bell.set()

    def _stop_turn(self, name: str, turn_id: int) -> None:
        if running := self._running.get((name, turn_id)):
            running.stop.set()

    def _look_for_answers(self, name: str, turn_id: int) -> None:
        running = self._running.get((name, turn_id))
        if running and running.journal:
            running.journal.look_for_answers()

    async def _claim_forever(self, store: Store) -> None:
        bell = self._bells[store.name]
        while not self._stopping:
            bell.clear()
            try:
                await self._claim(store)
            except ConnectionError as error:
                _logger.info("No turn of %s can be claimed now: %s", store.name, error)
            except Exception:
                _logger.exception("Claiming turns of %s failed.", store.name)
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(bell.wait(), POLL_INTERVAL)

    async def _claim(self, store: Store) -> None:
        free = self.capacity - len(self._running)
        if free <= 0 or self._stopping:
            return
        claims = await self._loop.run_in_executor(
            self._executor, store.claim, self.id, free, self.lease
        )
        if self._stopping:  # `_drain` gives them back
            return
        for claim in claims:
            running = _Running(claim, asyncio.Event())
            self._running[store.name, claim.turn_id] = running
            running.task = self._spawn(self._run(store, running))

    async def _heartbeat_forever(self, store: Store) -> None:
        while True:
            await asyncio.sleep(self.lease / 3)
            try:
                await self._heartbeat(store)
                await self._loop.run_in_executor(self._executor, store.sweep)
            except (ConnectionError, LeaseLost) as error:
                _logger.info("No heartbeat in %s: %s", store.name, error)
            except Exception:
                _logger.exception("The heartbeat of %s failed.", store.name)

    async def _heartbeat(self, store: Store) -> None:
        """Only what really runs here is kept: a turn that this runner lost track of goes to another."""
        before = [r for (name, _), r in self._running.items() if name == store.name]
        if not before:
            return
        claims = [running.claim for running in before]
        held, stops = await self.db(store.heartbeat, claims, self.lease)
        for running in before:
            if running.claim not in held and not running.task.done():
                if running.journal:
                    running.journal.lose()
                running.task.cancel()
            if running.claim in stops:
                running.stop.set()

    async def _run(self, store: Store, running: _Running) -> None:
        claim = running.claim
        try:
            await self._run_held(store, running)
        except (LeaseLost, TurnGone) as lost:
            _logger.info("Turn %s of %s: %s", claim.turn_id, store.name, lost)
        except asyncio.CancelledError:
            _logger.info("Turn %s of %s goes on elsewhere.", claim.turn_id, store.name)
        except Exception:
            _logger.exception("Turn %s of %s could not be closed.", claim.turn_id, store.name)
        finally:
            if self._running.get((store.name, claim.turn_id)) is running:
                del self._running[store.name, claim.turn_id]
            self._ring()

    async def _run_held(self, store: Store, running: _Running) -> None:
        begun = time.monotonic()
        journal = TurnJournal(
            running.claim, store, self.db, self._writers[store.name].wake, patience=self.lease / 3
        )
        running.journal = journal
        progress = None
        try:
            if running.claim.epoch > MAX_EPOCH:
                error = EngineError(detail=f"no runner survived it, {MAX_EPOCH} tries")
                error.code = "internal_error"
                raise error
            loaded = await self.db(store.load, running.claim)
            request, progress = loaded.request, loaded.progress
            journal.max_rounds = request.limits.max_rounds
            if loaded.stop_requested:
                running.stop.set()
            journal.emit("state", state="running", step=progress.step)
            async with asyncio.timeout(request.limits.turn_timeout):
                result = await self._run_engine(request, progress, journal, running.stop)
        except (LeaseLost, TurnGone):
            raise
        except TimeoutError:
            error = EngineError("The answer took too long and was ended.")
            error.code = "turn_timeout"
            result = TurnResult(state="failed", error=error)
        except EngineError as error:
            result = TurnResult(state="failed", error=error)
        except Exception as error:
            _logger.exception("Turn %s of %s broke.", running.claim.turn_id, store.name)
            result = TurnResult(state="failed", error=error)
        try:
            await journal.finish(lambda seq: self._ending(result, progress, begun, seq))
        except (LeaseLost, TurnGone):
            raise
        except Exception as error:
            # It must end all the same, or runner after runner would ask the model again.
            _logger.exception(
                "The end of turn %s of %s cannot be written.", running.claim.turn_id, store.name
            )
            failed = TurnResult(state="failed", error=error)
            await journal.finish(lambda seq: self._ending(failed, None, begun, seq))

    def _ending(self, result: TurnResult, progress, begun: float, next_seq: int) -> Ending:
        error = result.error
        if error is not None and not isinstance(error, EngineError):
            error = EngineError()
            error.code = "internal_error"
        if error is not None and error.detail:
            _logger.warning("A turn failed: %s (%s)", error.code, error.detail)
        usage = dict(progress.usage) if progress else {}
        usage["duration_ms"] = usage.get("duration_ms", 0) + int((time.monotonic() - begun) * 1000)
        usage["rounds"] = progress.round if progress else 0
        usage.setdefault("input_tokens", 0)
        usage.setdefault("output_tokens", 0)
        usage["tool_calls"] = (
            sum(message["role"] == "tool" for message in progress.messages) if progress else 0
        )
        return Ending(
            state=result.state,
            html=self._render(result.text) if result.text else "",
            usage=usage,
            progress=asdict(progress) if progress else None,
            error_code=error.code if error is not None else "",
            error_message=str(error) if error is not None else "",
            confirm=result.confirm,
            next_seq=next_seq,
        )

    async def _drain(self, timeout: float) -> None:
        self._ring()
        if self._claiming:
            await asyncio.wait(self._claiming, timeout=timeout)
        tasks = [running.task for running in self._running.values() if running.task]
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=timeout)
            for running in list(self._running.values()):
                if running.journal and running.task in late:
                    running.journal.lose()
                    running.task.cancel()
            if late:
                await asyncio.wait(late, timeout=2)
        for store in self._stores.values():
            with contextlib.suppress(Exception):
                await self._loop.run_in_executor(self._executor, store.release, self.id)
        if self._on_close:
            with contextlib.suppress(Exception):
                await asyncio.wait_for(self._on_close(), 3)
