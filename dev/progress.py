"""Progress for the person at the terminal: one line for a step that takes longer than a second."""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager


class DevError(Exception):
    """Something the person can act on; its text is a full sentence and is shown without a traceback."""


def say(message: str) -> None:
    """Print one line at once, also when the output is a pipe."""
    print(message, flush=True)


def warn(message: str) -> None:
    """Print one line that asks for attention."""
    print(f"! {message}", file=sys.stderr, flush=True)


@contextmanager
def step(title: str) -> Iterator[None]:
    """Announce ``title`` once it has taken a second, and its duration when it ends."""
    started = time.monotonic()
    timer = threading.Timer(1.0, say, args=(f"· {title} …",))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
    seconds = time.monotonic() - started
    if seconds >= 1.0:
        say(f"  {title}: {seconds:.1f} s")
