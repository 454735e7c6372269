"""Listener: of each database that this process uses, hands new events to its streams and everything else to a handler.

It is told by the wake-up channel, and looks by itself, more often while nothing is heard. Works in native threads
and, with gevent's patched primitives, in greenlets: nothing here touches asyncio or LangChain.
"""

import contextlib
import functools
import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from ...services import metrics
from ...services.turn.ports import StoreGone
from ...tools import db, notify
from ...tools.pg_connection import PgConnection
from ..wakeup.channel import Channel, merge

_logger = logging.getLogger(__name__)

FINAL = frozenset({"done", "error"})
STATEMENT_TIMEOUT = 5.0  # s for one statement of the listener
IDLE_INTERVAL = 10.0  # s between two looks for work where none was
OPEN_INTERVAL = 5.0  # s, the same where turns are open: a dead runner's are found
DEAF_INTERVAL = 1.0  # s, the same while the wake-up channel is not heard
LOOK_INTERVAL = 10.0  # s between two looks of the streams for what was missed
REST = 300.0  # s without a stream, a turn or a word, then the listener may end
RECONNECT = (0.1, 0.5, 1.0, 2.0)  # s, pauses between tries; the last one repeats
FETCH_LIMIT = 2000  # events of one page
PAGE = (
    256 * 1024
)  # characters of one page of a turn's log, or bytes of a stream's; one event may be longer
READERS = 8  # cursors that this process takes for replays of one database at a time
KINDS = (
    "queued",
    "stop",
    "server_off",
    "server_recovered",
    "answered",
    "conversation_over",
    "tests",
)


@dataclass(frozen=True, slots=True)
class Event:
    """One event as it goes on the wire: all streams of the process send the same bytes."""

    seq: int
    frame: bytes
    is_final: bool


@dataclass(eq=False, slots=True)
class Subscription:
    """
    :ivar is_behind: its stream reads the log by itself until it calls `follow`; nothing is kept for it meanwhile
    """

    turn_id: int
    after: int
    reader: int | None = None
    is_behind: bool = False
    events: deque = field(default_factory=deque)
    wakeup: threading.Event = field(default_factory=threading.Event)
    is_over: bool = False
    _size: int = 0  # bytes beside the first event, which is kept whatever its size
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def end(self) -> None:
        """Nothing more will come."""
        self.is_over = True
        self.wakeup.set()

    def follow(self, after: int) -> None:
        """From now on keep what comes after this event."""
        with self._lock:
            self.after, self.is_behind = after, False

    def put(self, event: Event) -> None:
        with self._lock:
            if event.seq <= self.after or self.is_behind:
                return
            self.after = event.seq
            if self.events and self._size + len(event.frame) > PAGE:
                self.events.clear()
                self._size, self.is_behind = 0, True
            else:
                self._size += len(event.frame) if self.events else 0
                self.events.append(event)
        self.wakeup.set()

    def take(self, timeout: float) -> list[Event]:
        """Notifications that have come in, or an empty list after `timeout` seconds."""
        if not self.events and not self.is_behind:
            self.wakeup.wait(timeout)
        self.wakeup.clear()
        with self._lock:
            taken, self._size = list(self.events), 0
            self.events.clear()
        return taken


_readers: dict[str, threading.BoundedSemaphore] = {}

FREE_WORK = """
    SELECT COUNT(*) > 0 OR EXISTS (
               SELECT 1 FROM woow_paas_platform_assistant_test_result
                WHERE state IN ('queued', 'running')),
           COALESCE(bool_or(state = 'queued' OR lease_until < now() AT TIME ZONE 'UTC'), FALSE),
           EXISTS (
               SELECT 1 FROM woow_paas_platform_assistant_test_result
                WHERE state = 'queued'
                   OR state = 'running' AND lease_until < now() AT TIME ZONE 'UTC'),
           (SELECT value FROM ir_config_parameter WHERE key = 'database.secret')
      FROM woow_paas_platform_ai_turn WHERE state IN ('queued', 'running')
    """
EVENTS = """
    SELECT p.turn_id, e.seq, e.data, e.type
      FROM unnest(%(turns)s::int[], %(after)s::int[]) AS p (turn_id, after)
     CROSS JOIN LATERAL (
            SELECT *, SUM(length(data)) OVER (ORDER BY seq) - length(data) AS before
              FROM (SELECT seq, payload::text AS data, payload->>'type' AS type
                      FROM woow_paas_platform_ai_turn_event
                     WHERE turn_id = p.turn_id AND seq > p.after
                     ORDER BY seq LIMIT %(events)s) AS next) AS e
     WHERE e.before < %(characters)s
     ORDER BY p.turn_id, e.seq
    """
# One event after the other: a page of a long log costs only what it has.
HISTORY = """
    WITH RECURSIVE page AS (
           (SELECT seq, payload::text AS data, payload->>'type' AS type,
                   length(payload::text) AS size, 1 AS number
              FROM woow_paas_platform_ai_turn_event
             WHERE turn_id = %(turn)s AND seq > %(after)s
             ORDER BY seq LIMIT 1)
         UNION ALL
            SELECT next.seq, next.data, next.type, page.size + length(next.data), page.number + 1
              FROM page CROSS JOIN LATERAL (
                   SELECT seq, payload::text AS data, payload->>'type' AS type
                     FROM woow_paas_platform_ai_turn_event
                    WHERE turn_id = %(turn)s AND seq > page.seq
                    ORDER BY seq LIMIT 1) AS next
             WHERE page.size < %(characters)s AND page.number < %(events)s)
    SELECT seq, data, type FROM page ORDER BY seq
    """


def is_work_free(dbname: str) -> bool:
    """True if a turn waits that has no runner, or that a dead runner has left."""
    ((_is_open, is_free, _has_tests, _secret),) = _read(dbname, FREE_WORK, [])
    return is_free


def read_events(dbname: str, turn_id: int, after: int) -> list[Event]:
    """A page of what comes after this event, in order; see `is_full`."""
    page = {"turn": turn_id, "after": after, "events": FETCH_LIMIT, "characters": PAGE}
    return [_as_event(*row) for row in _read(dbname, HISTORY, page)]


def is_full(page: list[Event]) -> bool:
    """True if no more may follow it."""
    return len(page) >= FETCH_LIMIT or sum(len(event.frame) for event in page) >= PAGE


def open_turns(dbname: str, turns: list[int]) -> set[int]:
    """Turns that have not ended."""
    statement = """
        SELECT id FROM woow_paas_platform_ai_turn
         WHERE id = ANY(%s) AND state NOT IN ('done', 'failed', 'stopped')
        """
    return {turn for (turn,) in _read(dbname, statement, [turns])}


def _read(dbname, statement, values) -> list[tuple]:
    readers = _readers.setdefault(dbname, threading.BoundedSemaphore(READERS))
    with readers, db.read_cursor(dbname) as cr:
        cr.execute(statement, values)
        return cr.fetchall()


def _as_event(seq: int, data: str, kind: str) -> Event:
    return Event(seq, frame(seq, data), kind in FINAL)


def frame(seq: int, data: str) -> bytes:
    """An event of SSE. `data` is the payload's JSON text."""
    return f"id: {seq}\ndata: {data}\n\n".encode()


class NotificationHandler(Protocol):
    """Reaction of a process to notifications. Each method returns at once; an error of one costs only itself."""

    def queued(self, own: bool) -> None:
        """There may be work; `own`: this process queued it itself."""

    def idle(self) -> None:
        """It was looked for work, and there is none."""

    def stop(self, turn_id: int) -> None: ...
    def server_off(self, server_id: int) -> None: ...
    def server_recovered(self, server_id: int) -> None: ...
    def answered(self, turn_id: int) -> None: ...
    def conversation_over(self, channel_id: int) -> None: ...
    def tests(self, run_id: int) -> None: ...

    def rested(self, listener: "Listener") -> bool:
        """True if the listener was not needed for a while.

        :return: whether it may end
        """
        ...

    def gone(self, listener: "Listener") -> None:
        """The database or this addon in it exist no more; the listener ends."""


class Listener:
    """
    :param handler: is told of everything but events
    :param rest: seconds without a stream, a turn or a word, then the listener may end
    """

    def __init__(
        self, dbname: str, handler: NotificationHandler, channel: Channel, rest: float | None = None
    ):
        self.dbname = dbname
        self._rest = rest
        self._handler = handler
        self._channel = channel
        self._subscriptions: dict[int, set[Subscription]] = {}
        self._lock = threading.Lock()
        self._notes: notify.Notes = {}
        self._wakeup = threading.Event()
        self._line: PgConnection | None = None
        self._used = self._looked = time.monotonic()
        self._thread = threading.Thread(target=self._listen, name="woow-ai-listen", daemon=True)
        self._thread.start()

    def hear(self, notes: notify.Notes, is_own: bool) -> None:
        """Handle these notes soon; called by the wake-up channel, and with none when it has to be looked at.

        What this process queued itself is handled at once, in the thread that did.
        """
        if is_own and "queued" in notes:
            self._used = time.monotonic()
            self._notify(self._handler.queued, True)
            notes = {kind: ids for kind, ids in notes.items() if kind != "queued"}
        with self._lock:
            merge(self._notes, notes)
        self._wakeup.set()

    def subscribe(
        self, turn_id: int, after: int, reader: int | None = None, is_behind: bool = False
    ) -> Subscription:
        """
        :param reader: the id of the user who reads
        :param is_behind: see `Subscription`
        """
        subscription = Subscription(turn_id, after, reader, is_behind)
        with self._lock:
            self._subscriptions.setdefault(turn_id, set()).add(subscription)
        metrics.add("streams")
        return subscription

    def unsubscribe(self, subscription: Subscription) -> None:
        self._used = time.monotonic()
        with self._lock:
            others = self._subscriptions.get(subscription.turn_id, set())
            others.discard(subscription)
            if not others:
                self._subscriptions.pop(subscription.turn_id, None)
        metrics.add("streams", -1)

    def count(self, reader: int | None = None) -> int:
        """Open streams, or those of one reader."""
        with self._lock:
            everything = [s for streams in self._subscriptions.values() for s in streams]
        return sum(reader in (None, s.reader) for s in everything)

    def look_again(self) -> None:
        """Read what all streams of this process may have missed, whatever became of the listening.

        Called by each stream that heard nothing for a while; the first one does it for all.
        """
        with self._lock:
            if time.monotonic() - self._looked < LOOK_INTERVAL:
                return
            self._looked = time.monotonic()
            watched = list(self._subscriptions)
        with contextlib.suppress(ConnectionError):  # the next one looks again
            try:
                open_ = open_turns(self.dbname, watched)
                self._deliver(functools.partial(_read, self.dbname))
            except StoreGone:
                open_ = set()
            with self._lock:
                for turn in set(watched) - open_:
                    for subscription in self._subscriptions.get(turn, ()):
                        subscription.end()

    def _listen(self) -> None:
        tries = 0
        while True:
            try:
                interval = self._look_for_work()
                self._deliver(self._query)
                tries = 0
                if not self._follow(interval):
                    return
            except StoreGone:
                _logger.info("%s no longer has AI turns: stopped listening there.", self.dbname)
                self._notify(self._handler.gone, self)
                return
            except ConnectionError as error:
                if not tries:
                    _logger.info("Listening on %s is interrupted: %s", self.dbname, error)
            except Exception:
                _logger.exception("Listening on %s failed.", self.dbname)
                tries = len(RECONNECT)
            finally:
                self._disconnect()
            time.sleep(RECONNECT[min(tries, len(RECONNECT) - 1)])
            tries += 1

    def _query(self, statement, values=()) -> list[tuple]:
        if self._line is None:
            self._line = PgConnection(self.dbname, STATEMENT_TIMEOUT)
        return self._line.query(statement, values)

    def _disconnect(self) -> None:
        if self._line is not None:
            self._line.close()
            self._line = None

    def _follow(self, interval: float) -> bool:
        """:return: False when nobody needs it any more"""
        looked = time.monotonic()
        while True:
            if not self._channel.is_heard():
                interval = DEAF_INTERVAL
            self._wakeup.wait(max(0.0, looked + interval - time.monotonic()))
            notes = self._take()
            if time.monotonic() - looked >= interval:
                interval = self._look_for_work()
                looked = time.monotonic()
                rest = REST if self._rest is None else self._rest
                is_resting = looked - self._used > rest and not self.count()
                if is_resting and self._handler.rested(self):
                    self._channel.leave(self.hear)
                    return False
                if not self._channel.is_heard():
                    notes.setdefault("events", set())
            self._tell(notes)
            if "events" in notes:
                self._deliver(self._query)

    def _take(self) -> notify.Notes:
        self._wakeup.clear()
        with self._lock:
            taken, self._notes = self._notes, {}
        return taken

    def _look_for_work(self) -> float:
        """Look what was queued while nobody told of it, and what a dead runner has left.

        :return: seconds until the next look
        """
        ((is_open, is_free, has_tests, secret),) = self._query(FREE_WORK)
        self._channel.join(notify.token(self.dbname, secret), self.hear)
        if is_open:
            self._used = time.monotonic()
        elif not self.count():
            self._disconnect()  # a database that rests has no connection
        if is_free:
            self._notify(self._handler.queued, False)
        else:
            self._notify(self._handler.idle)
        if has_tests:
            self._notify(self._handler.tests, 0)
        return OPEN_INTERVAL if is_open else IDLE_INTERVAL

    def _tell(self, notes: notify.Notes) -> None:
        if notes:
            self._used = time.monotonic()
        for kind in KINDS:
            if kind == "queued" and kind in notes:
                self._notify(self._handler.queued, False)
            else:
                for number in notes.get(kind, ()):
                    self._notify(getattr(self._handler, kind), number)

    def _notify(self, handle: Callable, *args) -> None:
        try:
            handle(*args)
        except Exception:
            _logger.exception("A notification of %s could not be handled.", self.dbname)

    def _deliver(self, read: Callable) -> None:
        """Read once what is new for the streams of this process.

        :param read: ``read(statement, values)`` gives rows
        """
        while True:
            with self._lock:
                wanted = {
                    turn: min(following)
                    for turn, subscriptions in self._subscriptions.items()
                    if (following := [s.after for s in subscriptions if not s.is_behind])
                }
            if not wanted:
                return
            pages: dict[int, list[Event]] = {}
            positions = {"turns": list(wanted), "after": list(wanted.values())}
            limits = {"events": FETCH_LIMIT, "characters": PAGE}
            for turn, *row in read(EVENTS, positions | limits):
                pages.setdefault(turn, []).append(_as_event(*row))
            with self._lock:
                for turn, page in pages.items():
                    for subscription in self._subscriptions.get(turn, ()):
                        for event in page:
                            subscription.put(event)
            if not any(map(is_full, pages.values())):
                return
