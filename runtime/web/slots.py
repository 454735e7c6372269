"""Request slots: how many requests of one person may hold a thread while they wait for a server, in all
processes together, and for how long.

A slot is a row: it is taken at once or not at all, counts over processes and hosts, and falls free when its request
is over, at the latest when that could not last any longer. Nothing of it is state of a connection: a pooler may stand
in between.
"""

import contextlib
import threading
import uuid
from collections.abc import Iterable

import psycopg2
from odoo.tools import config

from ...services.turn.ports import StoreGone
from ...tools import settings
from ...tools.notify import process_id
from ...tools.pg_connection import PgConnection

END_MARGIN = 15.0  # s of Odoo's limit that stay for what a request does beside waiting
STATEMENT_TIMEOUT = 5.0  # s for one statement
BROKEN = psycopg2.Error, ConnectionError, StoreGone
LONGEST = 600.0  # s that a request may wait where Odoo does not end it
TABLE = "woow_paas_platform_request_slot"
TAKE = f"""
    INSERT INTO {TABLE} AS taken (uid, number, holder, until)
    SELECT %(uid)s, number, %(holder)s, now() AT TIME ZONE 'UTC' + %(longest)s * interval '1 second'
      FROM unnest(%(free)s::int[]) AS number
     WHERE NOT EXISTS (SELECT 1 FROM {TABLE} t WHERE t.uid = %(uid)s AND t.number = number.number
                          AND t.until > now() AT TIME ZONE 'UTC')
     LIMIT 1
        ON CONFLICT (uid, number) DO UPDATE SET holder = EXCLUDED.holder, until = EXCLUDED.until
     WHERE taken.until <= now() AT TIME ZONE 'UTC'
 RETURNING number
    """  # noqa: S608 a constant
GIVE_BACK = f"DELETE FROM {TABLE} WHERE uid = %s AND number = %s AND holder = %s"  # noqa: S608
SEARCH = 1000  # the slot of a search: one of a person at a time
TRIES = 3  # of two processes that want the same slot at the same moment, one looks again


def per_person() -> int:
    """Slots of one person; of three workers and more, that serve a request each, one stays for the others."""
    wanted = settings.get().waits_per_person
    return min(wanted, max(2, config["workers"] - 1)) if config["workers"] else wanted


def at_most(seconds: float) -> float:
    """So long may a request wait: Odoo ends the process of one that takes longer than `limit_time_real`."""
    limit = config["limit_time_real"]
    return min(seconds, limit - min(END_MARGIN, limit / 2)) if limit > 0 else seconds


class Slots:
    """Slots of one database, as this process sees them."""

    def __init__(self, dbname: str):
        self._dbname = dbname
        self._lock = threading.Lock()
        self._held: dict[int, set[int]] = {}
        self._holder = f"{process_id()}:{uuid.uuid4().hex[:8]}"
        self._line: PgConnection | None = None

    @contextlib.contextmanager
    def hold(self, uid: int, only: int | None = None):
        """Hold one slot of a person meanwhile; yields whether there was one.

        :param only: this one, which counts beside the others
        """
        with self._lock:
            slot = self._take(uid, range(per_person()) if only is None else [only])
        if slot is None:
            yield False
            return
        try:
            yield True
        finally:
            with self._lock:
                self._give_back(uid, slot)

    def _take(self, uid: int, wanted: Iterable[int]) -> int | None:
        own = self._held.get(uid, set())
        free = [slot for slot in wanted if slot not in own]
        if not free:
            return None
        longest = at_most(LONGEST) + END_MARGIN
        values = {"uid": uid, "free": free, "holder": self._holder, "longest": longest}
        try:
            found = (self._query(TAKE, values) for _ in range(TRIES))
            slot = next((slot for slot in found if slot is not None), None)
        except BROKEN:
            slot = free[0]  # without its database the request itself will fail, with a sentence
        if slot is not None:
            self._held.setdefault(uid, set()).add(slot)
        return slot

    def _give_back(self, uid: int, slot: int) -> None:
        self._held[uid].discard(slot)
        if not self._held[uid]:
            del self._held[uid]
        with contextlib.suppress(*BROKEN):  # it falls free by itself
            self._query(GIVE_BACK, (uid, slot, self._holder))

    def _query(self, query: str, values):
        """One value of the database, None if there is none; a connection that broke is opened again."""
        for is_last in (False, True):
            try:
                if self._line is None:
                    self._line = PgConnection(self._dbname, STATEMENT_TIMEOUT)
                rows = self._line.query(query, values)
                return rows[0][0] if rows else None
            except BROKEN:
                self.close()
                if is_last:
                    raise

    def disconnect_when_unused(self) -> None:
        """Close the connection if no slot is held."""
        with self._lock:
            if not self._held:
                self.close()

    def close(self) -> None:
        if self._line is not None:
            self._line.close()
            self._line = None
