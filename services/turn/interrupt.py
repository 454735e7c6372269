"""Interrupt of a blocking call: a Stop, or the end of its time, reaches what a thread waits for."""

import concurrent.futures
import contextlib
import threading
import time
from collections.abc import Callable, Iterator

from ..errors import EngineError


class Interrupted(EngineError):
    """A method of the store was never called: it was interrupted while it waited for a thread."""

    code = "interrupted"


class Interrupt:
    """Ends, from any thread, what a blocking method of the store waits for.

    :ivar asked: done once it was asked for; a method that has not begun its work by then does not
    """

    # One statement may end, and the next begin, at the moment in which it is asked for.
    AGAIN = 0.1  # s until it is asked for once more, then twice as long, up to
    SELDOM = 2.0  # s

    def __init__(self) -> None:
        self.asked: concurrent.futures.Future[None] = concurrent.futures.Future()
        self._lock = threading.Lock()
        self._cancel: Callable[[], object] | None = None

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
        pause = self.AGAIN
        while self._cancel_now():
            time.sleep(pause)
            pause = min(2 * pause, self.SELDOM)

    def _cancel_now(self) -> bool:
        with self._lock:
            if self._cancel is None:
                return False
            with contextlib.suppress(Exception):  # what cannot be ended ends by itself
                self._cancel()
            return True

    @contextlib.contextmanager
    def by(self, cancel: Callable[[], object]) -> Iterator[None]:
        """What happens in it ends by `cancel`, which is called from another thread, again and again."""
        with self._lock:
            self._cancel = cancel
        try:
            yield
        finally:
            with self._lock:
                self._cancel = None
