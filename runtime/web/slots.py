"""Request slots: how many requests of one person may hold a thread while they wait for a server, in all
processes together, and for how long.

A slot is an advisory lock of PostgreSQL: it is taken at once or not at all, counts over processes and hosts,
and falls free when its process dies. One connection per process and database holds those of all requests.
"""

import contextlib
import threading

import psycopg2
from odoo.tools import config

from ...services.turn.ports import StoreGone
from ...tools import settings
from ...tools.line import Line

END_MARGIN = 15.0  # s of Odoo's limit that stay for what a request does beside waiting
PATIENCE = 5.0  # s for one statement
BROKEN = psycopg2.Error, ConnectionError, StoreGone
FIRST_KEY = 0x776F6F77  # of the locks' first number; the second one is the person


def per_person() -> int:
    """Slots of one person; of three workers and more, that serve a request each, one stays for the others."""
    wanted = settings.get().waits_per_person
    return min(wanted, max(2, config["workers"] - 1)) if config["workers"] else wanted


def at_most(seconds: float) -> float:
    """So long may a request wait: Odoo ends the process of one that takes longer than `limit_time_real`."""
    limit = config["limit_time_real"]
    return min(seconds, limit - min(END_MARGIN, limit / 2)) if limit > 0 else seconds


class Slots:
    """Those of one database, as this process sees them."""

    def __init__(self, dbname: str):
        self._dbname = dbname
        self._lock = threading.Lock()
        self._held: dict[int, set[int]] = {}
        self._line: Line | None = None

    @contextlib.contextmanager
    def hold(self, uid: int):
        """Hold one slot of a person meanwhile; yields whether there was one."""
        with self._lock:
            slot = self._take(uid)
        if slot is None:
            yield False
            return
        try:
            yield True
        finally:
            with self._lock:
                self._give_back(uid, slot)

    def _take(self, uid: int) -> int | None:
        # A session may take its own lock twice, so what this process holds is counted here.
        own = self._held.get(uid, set())
        free = [slot for slot in range(per_person()) if slot not in own]
        if not free:
            return None
        try:
            slot = self._query(
                "SELECT slot FROM unnest(%s) AS slot"
                " WHERE pg_try_advisory_lock(%s + slot, %s) LIMIT 1",
                (free, FIRST_KEY, uid),
            )
        except BROKEN:
            slot = free[0]  # without its database the request itself will fail, with a sentence
        if slot is not None:
            self._held.setdefault(uid, set()).add(slot)
        return slot

    def _give_back(self, uid: int, slot: int) -> None:
        self._held[uid].discard(slot)
        if not self._held[uid]:
            del self._held[uid]
        with contextlib.suppress(*BROKEN):  # a lock does not outlive its connection
            self._query("SELECT pg_advisory_unlock(%s, %s)", (FIRST_KEY + slot, uid))

    def _query(self, query: str, values):
        """One value of the database, None if there is none; a connection that broke is opened anew.

        Slots of a broken connection are free for other processes, and still taken for this one.
        """
        for is_last in (False, True):
            try:
                if self._line is None:
                    self._line = Line(self._dbname, PATIENCE)
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
