"""DatabaseProbes: one statement in each of many databases, in one thread; whichever hangs keeps none of the others.

psycopg2's asynchronous mode, all connections waited for at once. Each is closed after its answer: a database that rests
has no connection.
"""

import contextlib
import select
import time
from collections import deque

import psycopg2

from ...tools import db
from ...tools.pg_connection import awaited

PROBE_TIMEOUT = 5.0  # s from the first step to the answer
PARALLEL_PROBES = 32  # connections

Seen = list[tuple] | psycopg2.Error


class _Probe:
    """A statement on its way."""

    def __init__(self, name: str, statement: str, values: tuple):
        self.name = name
        self.until = time.monotonic() + PROBE_TIMEOUT
        self.wanted = select.POLLOUT
        self._query = statement, values
        self._connection = psycopg2.connect(**db.line_to(name), async_=True)
        self._cursor = None

    def fileno(self) -> int:
        return self._connection.fileno()

    def step(self) -> list[tuple] | None:
        """:return: the rows, None while they are to be waited for"""
        while not (wanted := awaited(self._connection)):
            if self._cursor is not None:
                return self._cursor.fetchall()
            self._cursor = self._connection.cursor()
            self._cursor.execute(*self._query)
        self.wanted = wanted
        return None

    def close(self) -> None:
        with contextlib.suppress(psycopg2.Error):
            self._connection.close()


class DatabaseProbes:
    def __init__(self):
        self._waiting: deque[tuple[str, str, tuple]] = deque()
        self._probes: list[_Probe] = []

    def begin(self, name: str, statement: str, values: tuple = ()) -> None:
        """Look into this database soon; `collect` gives what was seen."""
        self._waiting.append((name, statement, values))

    def collect(self, timeout: float, wake: int) -> list[tuple[str, Seen]]:
        """Collect results or errors by database; after `timeout` seconds at the latest.

        :param wake: number of a file that ends the waiting once it can be read
        """
        seen: list[tuple[str, Seen]] = []
        while self._waiting and len(self._probes) < PARALLEL_PROBES:
            name, statement, values = self._waiting.popleft()
            try:
                self._probes.append(_Probe(name, statement, values))
            except psycopg2.Error as error:
                seen.append((name, error))
        if not seen:
            self._wait(timeout, wake)
        for probe in list(self._probes):
            try:
                found: Seen | None = probe.step()
                if found is None and time.monotonic() >= probe.until:
                    found = psycopg2.OperationalError(f"no answer within {PROBE_TIMEOUT:.0f} s")
            except psycopg2.Error as error:
                found = error
            if found is not None:
                probe.close()
                self._probes.remove(probe)
                seen.append((probe.name, found))
        return seen

    def _wait(self, timeout: float, wake: int) -> None:
        now = time.monotonic()
        poll = select.poll()
        poll.register(wake, select.POLLIN)
        for probe in self._probes:
            poll.register(probe.fileno(), probe.wanted)
            timeout = min(timeout, probe.until - now)
        poll.poll(max(0.0, timeout) * 1000)

    def close(self) -> None:
        for probe in self._probes:
            probe.close()
