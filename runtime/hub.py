"""One LISTEN connection per process and database; hands new events to the streams of this process.

Works in native threads and, with gevent's patched primitives, in greenlets: nothing here touches asyncio
or LangChain.
"""

import json
import logging
import os
import select
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

import psycopg2
from odoo.sql_db import connection_info_for
from psycopg2 import sql
from psycopg2.extensions import ISOLATION_LEVEL_AUTOCOMMIT

from . import db
from .notify import CHANNEL

_logger = logging.getLogger(__name__)

FINAL = frozenset({"done", "error"})
LISTEN_TIMEOUT = 5.0  # s of silence, then the connection is checked and orphans are looked for
RECONNECT = (0.1, 0.5, 1.0, 2.0)  # s, pauses between tries; the last one repeats
FETCH_LIMIT = 2000  # events of one query
READERS = 8  # cursors that this process takes for replays at a time


@dataclass(frozen=True, slots=True)
class Event:
    """One event as it goes on the wire: `data` is the payload's JSON text."""

    seq: int
    data: str
    is_final: bool


@dataclass(eq=False, slots=True)
class Subscription:
    turn_id: int
    after: int
    reader: int | None = None
    events: deque = field(default_factory=deque)
    bell: threading.Event = field(default_factory=threading.Event)

    def put(self, event: Event) -> None:
        if event.seq > self.after:
            self.after = event.seq
            self.events.append(event)
            self.bell.set()

    def take(self, timeout: float) -> list[Event]:
        """What has come in, or an empty list after `timeout` seconds."""
        if not self.events:
            self.bell.wait(timeout)
        self.bell.clear()
        taken = []
        while self.events:
            taken.append(self.events.popleft())
        return taken


_readers = threading.BoundedSemaphore(READERS)


def read_events(dbname: str, positions: list[tuple[int, int]]) -> list[tuple[int, Event]]:
    """At most `FETCH_LIMIT` events after each (turn, seq), in order, in one query."""
    with _readers, db.read_cursor(dbname) as cr:
        found = cr.execute_values(
            """
            SELECT p.turn_id, e.seq, e.payload::text, e.payload->>'type'
              FROM (VALUES %s) AS p (turn_id, after, page)
             CROSS JOIN LATERAL (
                    SELECT seq, payload FROM woow_paas_platform_ai_turn_event
                     WHERE turn_id = p.turn_id AND seq > p.after
                     ORDER BY seq LIMIT p.page) AS e
             ORDER BY p.turn_id, e.seq
            """,
            [(turn, after, FETCH_LIMIT) for turn, after in positions],
            fetch=True,
        )
    return [(turn, Event(seq, data, kind in FINAL)) for turn, seq, data, kind in found]


class Hub:
    def __init__(
        self,
        dbname: str,
        on_queued: Callable[[bool], None],
        on_stop: Callable[[int], None],
        on_server_off: Callable[[int], None],
        on_server_well: Callable[[int], None],
        on_answered: Callable[[int], None],
        on_conversation_over: Callable[[int], None],
    ):
        """:param on_queued: called with whether this process queued the turn itself"""
        self.dbname = dbname
        self._on_queued = on_queued
        self._on_stop = on_stop
        self._on_server_off = on_server_off
        self._on_server_well = on_server_well
        self._on_answered = on_answered
        self._on_conversation_over = on_conversation_over
        self._subscriptions: dict[int, set[Subscription]] = {}
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._listen, name="woow-ai-listen", daemon=True)
        self._thread.start()

    def subscribe(self, turn_id: int, after: int, reader: int | None = None) -> Subscription:
        """:param reader: the id of the user who reads"""
        subscription = Subscription(turn_id, after, reader)
        with self._lock:
            self._subscriptions.setdefault(turn_id, set()).add(subscription)
        return subscription

    def unsubscribe(self, subscription: Subscription) -> None:
        with self._lock:
            others = self._subscriptions.get(subscription.turn_id, set())
            others.discard(subscription)
            if not others:
                self._subscriptions.pop(subscription.turn_id, None)

    def count(self, reader: int | None = None) -> int:
        """Open streams, or those of one reader."""
        with self._lock:
            everything = [s for streams in self._subscriptions.values() for s in streams]
        return sum(reader in (None, s.reader) for s in everything)

    def _listen(self) -> None:
        tries = 0
        while True:
            try:
                connection = self._connect()
            except psycopg2.Error as error:
                if not tries:
                    _logger.info("Listening on %s is interrupted: %s", self.dbname, error)
                time.sleep(RECONNECT[min(tries, len(RECONNECT) - 1)])
                tries += 1
                continue
            tries = 0
            try:
                self._on_queued(False)
                self._deliver(None)
                self._follow(connection)
            except (psycopg2.Error, ConnectionError, OSError, ValueError) as error:
                _logger.info("Listening on %s is interrupted: %s", self.dbname, error)
                time.sleep(RECONNECT[0])
            except Exception:
                _logger.exception("Listening on %s failed.", self.dbname)
                time.sleep(RECONNECT[-1])
            finally:
                connection.close()

    def _connect(self):
        _, info = connection_info_for(self.dbname)
        connection = psycopg2.connect(**info)
        connection.set_isolation_level(ISOLATION_LEVEL_AUTOCOMMIT)
        with connection.cursor() as cr:
            cr.execute(sql.SQL("LISTEN {}").format(sql.Identifier(CHANNEL)))
        return connection

    def _follow(self, connection) -> None:
        while True:
            ready = select.select([connection], [], [], LISTEN_TIMEOUT)[0]
            if not ready:
                with connection.cursor() as cr:
                    cr.execute("SELECT 1")
                self._on_queued(False)
            connection.poll()
            notes, connection.notifies[:] = list(connection.notifies), []
            turns: set[int] = set()
            for note in notes:
                turns |= self._hear(json.loads(note.payload))
            if turns:
                self._deliver(turns)

    def _hear(self, payload) -> set[int]:
        if "queued" in payload:
            self._on_queued(payload.get("pid") == os.getpid())
        elif "stop" in payload:
            self._on_stop(payload["stop"])
        elif "server_off" in payload:
            self._on_server_off(payload["server_off"])
        elif "server_well" in payload:
            self._on_server_well(payload["server_well"])
        elif "answered" in payload:
            self._on_answered(payload["answered"])
        elif "conversation_over" in payload:
            self._on_conversation_over(payload["conversation_over"])
        return {turn for turn, _seq in payload.get("events", ()) if turn in self._subscriptions}

    def _deliver(self, turns: set[int] | None) -> None:
        """Read once what is new for the streams of this process; None: for all of them."""
        while True:
            with self._lock:
                wanted = {
                    turn: min(s.after for s in subscriptions)
                    for turn in (self._subscriptions if turns is None else turns)
                    if (subscriptions := self._subscriptions.get(turn))
                }
            if not wanted:
                return
            found = read_events(self.dbname, list(wanted.items()))
            with self._lock:
                for turn, event in found:
                    for subscription in self._subscriptions.get(turn, ()):
                        subscription.put(event)
            if len(found) < FETCH_LIMIT:  # no turn can have more left
                return
