"""SSE streams of one turn: the log from disk, then what the listener hands out.

https://html.spec.whatwg.org/multipage/server-sent-events.html
"""

import contextlib
import enum
import math
import socket
import threading
from collections import Counter
from collections.abc import Callable, Generator, Iterator

from ...services import concurrency
from .. import process
from ..web.client_line import ClientLine
from . import listeners
from .listener import Event, is_full, read_events

KEEPALIVE = 15.0  # s between two comment lines
BACKLOGS = 16  # streams of one person that read the log at a time, each with a page of it in memory


class Mode(enum.Enum):
    """Limits of streams of a kind of process."""

    TAIL = "gevent: as long as the turn runs"
    MINUTE = "threaded: the client resumes after a minute"
    SHORT = "prefork worker: what the log has, and close, so that no worker is pinned"


LIFETIMES = {Mode.TAIL: math.inf, Mode.MINUTE: 60.0, Mode.SHORT: 10.0}  # s


def mode() -> Mode:
    if process.is_evented():
        return Mode.TAIL
    return Mode.SHORT if process.is_prefork_worker() else Mode.MINUTE


class _Backlogs:
    """Readers of old events in this process, by database and person."""

    def __init__(self) -> None:
        self._left = threading.Condition()
        self._count: Counter[tuple[str, int | None]] = Counter()

    @contextlib.contextmanager
    def one_of(self, dbname: str, reader: int | None, patience: float) -> Iterator[bool]:
        """One of the person's places meanwhile; yields whether there was one within `patience` seconds."""
        key = dbname, reader
        with self._left:
            if not self._left.wait_for(lambda: self._count[key] < BACKLOGS, patience):
                yield False
                return
            self._count[key] += 1
        try:
            yield True
        finally:
            with self._left:
                self._count[key] -= 1
                if not self._count[key]:
                    del self._count[key]
                self._left.notify_all()


_backlogs = concurrency.renewed(_Backlogs())


def tail(
    dbname: str,
    turn_id: int,
    after: int,
    mode: Mode,
    reader: int | None = None,
    connection: socket.socket | None = None,
) -> Iterator[bytes]:
    """Events after `after`, each once, in order; ends after a final one, and where PostgreSQL goes away or the client
    takes nothing: it resumes.

    No cursor is open while this waits.
    """
    line = ClientLine(LIFETIMES[mode], connection)
    with contextlib.suppress(ConnectionError):
        yield from line.pieces(_tail(dbname, turn_id, after, mode, reader, line))


def _tail(dbname, turn_id, after, mode, reader, line):
    if mode is Mode.SHORT:
        yield b"retry: 500\n\n"
        for event in _history(dbname, turn_id, after):
            yield event.frame
            if not line.left():
                return
        return
    yield b"retry: 1000\n\n"
    with contextlib.closing(follow(dbname, turn_id, after, reader, line.left)) as events:
        for event in events:
            yield event.frame if event else b": keep-alive\n\n"


def follow(
    dbname: str,
    turn_id: int,
    after: int,
    reader: int | None,
    left: Callable[[], float],
    silence: float = KEEPALIVE,
) -> Generator[Event | None]:
    """Events after `after` as they come, until a final one; None after so many seconds without any.

    No cursor is open while this waits.

    :param left: seconds in which another event may begin
    """
    listener, subscription = listeners.subscribe(dbname, turn_id, after, reader)
    try:
        while left():
            patience = min(silence, left())
            events = [event for event in subscription.take(patience) if event.seq > after]
            if subscription.is_behind:
                events = _catch_up(subscription, dbname, after, reader, patience)
            elif events and events[0].seq != after + 1:
                events = _history(dbname, turn_id, after)
            is_silent = True
            for event in events:
                yield event
                after, is_silent = event.seq, False
                if event.is_final or not left():
                    return
            if is_silent:
                if subscription.is_over and not subscription.is_behind:
                    return
                yield None
                listener.look_again()
    finally:
        listener.unsubscribe(subscription)


def _catch_up(subscription, dbname, after, reader, patience) -> Iterator[Event]:
    """Events of the log up to where the subscription follows; none where the person has no place in time."""
    turn_id = subscription.turn_id
    with _backlogs.one_of(dbname, reader, patience) as is_free:
        if not is_free:
            return
        for event in _history(dbname, turn_id, after):
            yield event
            after = event.seq
        # First it follows, then the log is read again: nothing falls between.
        subscription.follow(after)
        yield from _history(dbname, turn_id, after)


def _history(dbname: str, turn_id: int, after: int) -> Iterator[Event]:
    """Events of the log, page by page."""
    while True:
        page = read_events(dbname, turn_id, after)
        for event in page:
            yield event
            if event.is_final:
                return
        if not is_full(page):
            return
        after = page[-1].seq
