"""DNS resolver beside the loop: in threads of its own, with a deadline, and with a share for everybody.

`getaddrinfo` cannot be ended, and a name server that says nothing holds it for half a minute. So who has waited
long enough goes, the thread stays in its place until the system gives up, and no owner has more than a few.
"""

import asyncio
import contextlib
import ipaddress
import socket
import threading
import time
from collections.abc import Hashable
from weakref import WeakKeyDictionary

from ..semaphore import FairSemaphore

THREADS = 64  # threads, of one loop
THREADS_PER_OWNER = 2  # of one owner
KEPT = 5.0  # s that an answer serves again
MAX_KEPT = 256  # names

Found = tuple[str, ...]


class Resolver:
    """The look-ups of one event loop. What an owner is looking up is not looked up beside that."""

    def __init__(self):
        self._semaphore = FairSemaphore(THREADS, THREADS_PER_OWNER)
        self._running: dict[tuple[Hashable, str], asyncio.Task[Found]] = {}
        self._known: dict[str, tuple[float, Found]] = {}

    async def addresses(self, host: str, owner: Hashable) -> Found:
        """:param owner: on whose account the look-up goes, e.g. a server
        :raises OSError, UnicodeError: the name means nothing
        """
        if _is_address(host):
            return (host,)
        if (known := self._known.get(host)) and known[0] > time.monotonic():
            return known[1]
        key = owner, host
        if key not in self._running:
            task = asyncio.get_running_loop().create_task(self._look_up(host, owner))
            self._running[key] = task
            task.add_done_callback(lambda done: self._ended(key, done))
        return await asyncio.shield(self._running[key])

    def _ended(self, key: tuple[Hashable, str], task: asyncio.Task[Found]) -> None:
        del self._running[key]
        if task.cancelled() or task.exception():
            return
        if len(self._known) >= MAX_KEPT:
            del self._known[next(iter(self._known))]
        self._known[key[1]] = time.monotonic() + KEPT, task.result()

    async def _look_up(self, host: str, owner: Hashable) -> Found:
        await self._semaphore.acquire(owner)
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Found] = loop.create_future()

        def settle(found: Found | Exception) -> None:
            self._semaphore.release(owner)
            if answer.cancelled():
                return
            if isinstance(found, Exception):
                answer.set_exception(found)
            else:
                answer.set_result(found)

        def work() -> None:
            found = _ask_system(host)
            with contextlib.suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(settle, found)

        threading.Thread(target=work, name="woow-ai-dns", daemon=True).start()
        return await answer


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _ask_system(host: str) -> Found | Exception:
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        return error
    return tuple(str(info[4][0]) for info in found)


_of_loops: WeakKeyDictionary[asyncio.AbstractEventLoop, Resolver] = WeakKeyDictionary()


def of_loop() -> Resolver:
    """The resolver of the running loop."""
    return _of_loops.setdefault(asyncio.get_running_loop(), Resolver())
