"""SSE streams of one turn: the log from disk, then what the listener hands out.

https://html.spec.whatwg.org/multipage/server-sent-events.html
"""

import contextlib
import enum
import time
from collections.abc import Iterator

from odoo.tools import config

from .. import process
from . import listeners
from .listener import Event, read_events

KEEPALIVE = 15.0  # s between two comment lines
THREADED_LIFETIME = 60.0  # s; an older request makes Odoo's threaded server reload itself


class Mode(enum.Enum):
    """How long this kind of process may hold a stream."""

    TAIL = "gevent: as long as the turn runs"
    MINUTE = "threaded: the client resumes after a minute"
    SHORT = "prefork worker: what the log has, and close, so that no worker is pinned"


def mode() -> Mode:
    if process.is_evented():
        return Mode.TAIL
    return Mode.SHORT if process.is_prefork_worker() else Mode.MINUTE


def tail(
    dbname: str, turn_id: int, after: int, mode: Mode, reader: int | None = None
) -> Iterator[bytes]:
    """Events after `after`, each once, in order; ends after a final one, and where PostgreSQL goes away: the client
    resumes.

    No cursor is open while this waits.
    """
    with contextlib.suppress(ConnectionError):
        yield from _tail(dbname, turn_id, after, mode, reader)


def _tail(dbname, turn_id, after, mode, reader):
    if mode is Mode.SHORT:
        yield b"retry: 500\n\n"
        yield from map(_frame, _replay(dbname, turn_id, after))
        return
    yield b"retry: 1000\n\n"
    listener, subscription = listeners.subscribe(dbname, turn_id, after, reader)
    try:
        # Subscribed first, read afterwards: nothing falls between.
        for event in _replay(dbname, turn_id, after):
            yield _frame(event)
            after = event.seq
            if event.is_final:
                return
        until = time.monotonic() + min(THREADED_LIFETIME, config["limit_time_real"] / 2)
        while mode is Mode.TAIL or time.monotonic() < until:
            events = [e for e in subscription.take(KEEPALIVE) if e.seq > after]
            if not events:
                if subscription.is_over:
                    return
                yield b": keep-alive\n\n"
                listener.look_again()
            elif events[0].seq != after + 1:
                events = _replay(dbname, turn_id, after)
            for event in events:
                yield _frame(event)
                after = event.seq
                if event.is_final:
                    return
    finally:
        listener.unsubscribe(subscription)


def _replay(dbname: str, turn_id: int, after: int) -> Iterator[Event]:
    while page := read_events(dbname, [(turn_id, after)]):
        for _turn, event in page:
            yield event
            after = event.seq
            if event.is_final:
                return


def frame(seq: int, data: str) -> bytes:
    return f"id: {seq}\ndata: {data}\n\n".encode()


def _frame(event: Event) -> bytes:
    return frame(event.seq, event.data)
