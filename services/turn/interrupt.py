"""Interrupt of a blocking call: a Stop, or the end of its time, reaches what a thread waits for."""

import concurrent.futures
import contextlib
import threading
import time
from collections.abc import Callable, Iterator

from .. import const
from ..errors import EngineError


class Interrupted(EngineError):
    """Raised by a method of the store whose result is no longer needed.

    :ivar has_begun: a thread is still in it; else it was never called
    """

    code = "interrupted"

    def __init__(self, *, has_begun: bool):
        super().__init__()
        self.has_begun = has_begun


class Interrupt:
    """Ends, from any thread, what a blocking method of the store waits for.

    Its statements are cancelled first. What is still there after `GRACE` is in code that nobody can end: its connection
    is cut, so that it commits nothing more, and nobody waits for it.

    :param limit: s that the method may take; for its database, should this process stand still
    :ivar asked: done once it was asked for; a method that has not begun its work by then does not
    :ivar over: done once nobody waits any more
    :ivar left: what the method has sent to others, in words
    """

    # One statement may end, and the next begin, at the moment in which it is asked for.
    AGAIN = 0.1  # s until it is asked for once more, then twice as long
    GRACE = 1.0  # s until the connection is cut

    def __init__(self, limit: float = const.TURN_TOOLS_TIMEOUT) -> None:
        self.limit = limit
        self.asked: concurrent.futures.Future[None] = concurrent.futures.Future()
        self.over: concurrent.futures.Future[None] = concurrent.futures.Future()
        self.left: list[str] = []
        self._lock = threading.Lock()
        self._cancel = self._cut = _nothing

    @property
    def is_set(self) -> bool:
        return self.asked.done()

    def set(self) -> None:
        """Waits for nobody."""
        with self._lock:
            if self.is_set:
                return
            self.asked.set_result(None)
        threading.Thread(target=self._run, name="woow-ai-interrupt", daemon=True).start()

    def _run(self) -> None:
        pause, left = self.AGAIN, self.GRACE
        while left > 0:
            with self._lock, contextlib.suppress(Exception):  # what cannot be ended ends by itself
                self._cancel()
            time.sleep(min(pause, left))
            pause, left = 2 * pause, left - pause
        with self._lock, contextlib.suppress(Exception):
            self._cut()
        self.over.set_result(None)

    @contextlib.contextmanager
    def by(self, cancel: Callable[[], object], cut: Callable[[], object]) -> Iterator[None]:
        """Let another thread end what happens in it by `cancel`, called again and again, or else by `cut`."""
        with self._lock:
            self._cancel, self._cut = cancel, cut
        try:
            yield
        finally:
            with self._lock:
                self._cancel = self._cut = _nothing


def _nothing() -> None:
    pass
