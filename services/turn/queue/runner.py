"""Turn runner: one asyncio loop in one native daemon thread, shared by all turns of a process.

The runner knows queues (`Store`) and an engine (`run`), nothing of Odoo. It is created per process;
after a fork the child makes its own.
"""

import asyncio
import concurrent.futures
import contextlib
import functools
import logging
import os
import socket
import threading
import time
import uuid
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures.thread import ThreadPoolExecutor
from typing import Any

from ... import const
from ...specs import TurnResult
from ..interrupt import Interrupt
from ..journal import RECORDS
from ..ports import Store
from .fair_line import NOBODY, FairLine
from .fair_slots import FairSlots
from .queue_worker import QueueWorker

_logger = logging.getLogger(__name__)

DRAIN_TIMEOUT = 10.0  # s, a stopping runner lets its turns end this long
REST_TIMEOUT = 1.0  # s for what else runs on its loop to clean up
DB_THREADS = 4  # of each database
SHORT_OF_ONE = 1  # of these, of one person: they share the interpreter, too
LONG_OF_ONE = 2  # the same, of a lane of what may take long
LONG_SPARE = 1  # of the threads of such a lane, for people who have none of them

Engine = Callable[..., Awaitable[TurnResult]]
"""``run(request, progress, journal, stop) -> TurnResult``, see `ai_client.run_turn`."""


# `ThreadPoolExecutor` comes with this module, not with its first use: Python ends executors before whatever was
# registered ahead of their import, and a runner that drains needs them.
def executor(
    name: str, lane: str, initializer: Callable[[], None] = lambda: None
) -> concurrent.futures.Executor:
    """Threads for the store's methods of one database.

    :param name: of the database
    :param lane: threads of their own for what may take long
    :param initializer: called once in each thread
    """
    if lane == RECORDS:
        return LooseThreads(f"woow-ai-db-{name}-{lane}", initializer)
    return ThreadPoolExecutor(DB_THREADS, f"woow-ai-db-{name}-{lane}", initializer)


class LooseThreads(concurrent.futures.Executor):
    """A thread for each piece of work, which the end of the process does not wait for: it may be in code of others for
    as long as that likes."""

    def __init__(self, name: str, initializer: Callable[[], None]):
        self._name = name
        self._initializer = initializer

    def submit(self, work, /, *args, **kwargs):
        """Run ``work(*args, **kwargs)`` in a thread of its own."""
        future: concurrent.futures.Future[Any] = concurrent.futures.Future()
        job = functools.partial(self._run, future, functools.partial(work, *args, **kwargs))
        threading.Thread(target=job, name=self._name, daemon=True).start()
        return future

    def _run(self, future, work):
        if not future.set_running_or_notify_cancel():
            return
        try:
            self._initializer()
            result = work()
        except BaseException as error:
            future.set_exception(error)
        else:
            future.set_result(result)


class Runner:
    """
    :param run: the engine, such as `ai_client.run_turn` with its tools
    :param render: Markdown of the last answer to HTML
    :param capacity: turns at a time, of all queues
    :param lease: s for which a turn is claimed; heartbeats extend it
    :param on_close: called on the loop in the end
    :param loop: instead of one of its own, for who steps it without `start`
    :param executor: makes the threads that wait for a database, by its name and the lane
    """

    def __init__(
        self,
        run: Engine,
        render: Callable[[str], str],
        *,
        capacity: int = 32,
        lease: float = 15.0,
        on_close: Callable[[], Awaitable[None]] | None = None,
        loop: asyncio.AbstractEventLoop | None = None,
        executor: Callable[[str, str], concurrent.futures.Executor] = executor,
        clock: Callable[[], float] = time.monotonic,
    ):
        self.id = f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:8]}"
        self.capacity = capacity
        self.lease = lease
        self.clock = clock
        self.is_stopping = False
        self.queues: dict[str, QueueWorker] = {}
        self.run_engine = run
        self.render = render
        self._on_close = on_close
        self._places = FairSlots(capacity)
        self._tasks: set[asyncio.Task] = set()
        self._make_executor = executor
        self._lines: dict[tuple[str, str], FairLine] = {}
        self._loop = loop or asyncio.new_event_loop()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Turn the loop in a native thread of its own."""
        self._thread = threading.Thread(target=self._main, name="woow-ai-runner", daemon=True)
        self._thread.start()

    # ------------------------------------------------------------ from any thread

    def attach(self, store: Store) -> None:
        """Serve this queue, too, and look for work there if it is new; idempotent."""
        self._call_soon(self._attach, store)

    def wake(self, name: str, delay: float = 0.0) -> None:
        """Look for work in this queue.

        :param delay: seconds until then
        """
        self._call_soon(self._loop.call_later, delay, self._of_queue, name, QueueWorker.look)

    def request_stop(self, name: str, turn_id: int) -> None:
        """Stop a turn of this queue, if it runs here."""
        self._call_soon(self._of_queue, name, QueueWorker.stop_turn, turn_id)

    def tell_answered(self, name: str, turn_id: int) -> None:
        """A person has answered what a server of this turn waits for."""
        self._call_soon(self._of_queue, name, QueueWorker.look_for_answers, turn_id)

    def detach(self, name: str) -> None:
        """Serve this queue no more: it rests, or is gone."""
        self._call_soon(self.end, name)

    def submit(self, coroutine: Coroutine) -> concurrent.futures.Future:
        """Run a `coroutine` on the loop from any thread, such as a server's discovery."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def count(self) -> int:
        return sum(len(queue.running) for queue in list(self.queues.values()))

    def stop(self, timeout: float = DRAIN_TIMEOUT) -> None:
        """Stop claiming, let turns end for `timeout` seconds, give the rest back. Idempotent."""
        if self.is_stopping:
            return
        self.is_stopping = True
        future = self.submit(self._end_all(timeout))
        try:
            future.result(timeout + 5)
        except (concurrent.futures.TimeoutError, concurrent.futures.CancelledError):
            _logger.warning("The AI runner did not stop in time.")
        self._loop.call_soon_threadsafe(self._loop.stop)
        if self._thread:
            self._thread.join(2)
        for line in self._lines.values():
            line.executor.shutdown(wait=False)

    def _call_soon(self, function: Callable, *args) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: another process hears it too
            self._loop.call_soon_threadsafe(function, *args)

    # ------------------------------------------------------------ on the loop

    def _main(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()

    def spawn(self, coroutine: Coroutine) -> asyncio.Task:
        """Run a `coroutine` as a task that the runner keeps until it ends; on the loop only."""
        task = self._loop.create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def once(
        self,
        name: str,
        method,
        *args,
        lane: str = "",
        person: int = NOBODY,
        interrupt: Interrupt | None = None,
    ):
        """Run a blocking method in a thread of this database.

        :param lane: threads of their own for what may take long
        :param person: for whom, see `FairLine`
        :param interrupt: ends the wait for a thread, and in the end the one for the method
        :raises Interrupted: the method was not called, or goes on alone
        """
        key = (name, lane)
        if key not in self._lines:
            shares = (LONG_OF_ONE, LONG_SPARE) if lane else (SHORT_OF_ONE,)
            self._lines[key] = FairLine(self._make_executor(name, lane), DB_THREADS, *shares)
        line = self._lines[key]
        try:
            return await line.run(person, method, *args, interrupt=interrupt)
        finally:
            # A process that serves no turns, such as a cron's, is led through all databases.
            if name not in self.queues and line.is_idle() and self._lines.get(key) is line:
                self._lines.pop(key).executor.shutdown(wait=False)

    async def db(self, name: str, method, *args):
        """Run as `once`; while PostgreSQL is away, try again for the time of a lease.

        :raises ConnectionError: it is still away
        """
        deadline = self.clock() + self.lease
        while True:
            try:
                return await self.once(name, method, *args)
            except ConnectionError:
                if self.clock() > deadline:
                    raise
                await asyncio.sleep(const.DB_RETRY)

    def _attach(self, store: Store) -> None:
        if store.name not in self.queues:
            queue = self.queues[store.name] = QueueWorker(self, store)
            queue.start(is_threaded=self._thread is not None)

    def call_soon(self, function: Callable, *args) -> None:
        """:raises RuntimeError: the loop is closed"""
        self._loop.call_soon_threadsafe(function, *args)

    def end(self, name: str) -> None:
        """Drop a queue at once, with what runs of it."""
        if queue := self.queues.pop(name, None):
            queue.end()
            for key in [key for key in self._lines if key[0] == name]:
                self._lines.pop(key).executor.shutdown(wait=False)
            self._places.leave(name)
            self.look_again()

    def _of_queue(self, name: str, function: Callable, *args) -> None:
        if queue := self.queues.get(name):
            function(queue, *args)

    def ring(self) -> None:
        for queue in self.queues.values():
            queue.wakeup.set()

    @contextlib.contextmanager
    def reserve(self, name: str, is_doubtful: bool = False):
        """Places for turns of this queue, kept while it is asked for them, see `Places.take`."""
        running = {name: len(queue.running) for name, queue in self.queues.items()}
        places = 0
        try:
            with self._places.take(name, running, is_doubtful) as places:
                yield places
        finally:
            if places:
                self.look_again()

    def look_again(self) -> None:
        """There may be places again for queues that found none."""
        for name in self._places.waiting():
            self.queues[name].look()

    async def _end_all(self, timeout: float) -> None:
        """Drain all; what still runs then is cut while there is a loop on which it can clean up."""
        await self.drain(timeout)
        rest = asyncio.all_tasks() - {asyncio.current_task()}
        for task in rest:
            task.cancel()
        if rest:
            await asyncio.wait(rest, timeout=REST_TIMEOUT)

    async def drain(self, timeout: float) -> None:
        """Claim nothing more, let turns end for `timeout` seconds, give the rest back."""
        self.is_stopping = True
        self.ring()
        await asyncio.gather(*(queue.drain(timeout) for queue in self.queues.values()))
        if self._on_close:
            with contextlib.suppress(Exception):
                await asyncio.wait_for(self._on_close(), 3)
