"""Bounded connection to PostgreSQL: nothing on it waits longer than it says, whatever the other end does.

psycopg2's asynchronous mode, waited for with `poll`: no backend that is frozen and no route that is lost holds the
thread, nor, with gevent's patched `select`, the greenlet.
"""

import contextlib
import select
import time
from typing import Any

import psycopg2
from psycopg2 import extensions

from . import db


def awaited(connection: Any) -> int:
    """Let an asynchronous connection go on; the events of `poll` that it waits for then, 0 where it is done.

    :param connection: of psycopg2
    """
    state = connection.poll()
    if state == extensions.POLL_OK:
        return 0
    return select.POLLIN if state == extensions.POLL_READ else select.POLLOUT


class PgConnection:
    """Every statement is a transaction of its own.

    :raises DatabaseGone: of each method, the line is to be closed then
    :raises StoreGone: the database or this addon in it exist no more
    """

    def __init__(self, dbname: str, patience: float):
        """:param patience: seconds that connecting, or a statement, may take"""
        self._dbname = dbname
        self._patience = patience
        with db.typed_errors(dbname):
            self._connection = psycopg2.connect(**db.line_to(dbname), async_=True)
            try:
                self._finish()
            except BaseException:
                self._connection.close()
                raise

    @property
    def process(self) -> int:
        """PostgreSQL's process, as it was told when the connection was made; a pooler tells another one."""
        return self._connection.info.backend_pid

    def query(self, statement, values=()) -> list[tuple]:
        """Run a statement; the rows that it gives.

        :param statement: SQL with ``%s`` for each of `values`
        """
        with db.typed_errors(self._dbname):
            cr = self._connection.cursor()
            cr.execute(statement, values)
            self._finish()
            return cr.fetchall() if cr.description else []

    def notes(self, timeout: float, wake: int | None = None) -> list[str]:
        """Payloads of the notifications that came within `timeout` seconds; it ends with the first.

        :param wake: number of a file that ends it too, once it can be read
        """
        with db.typed_errors(self._dbname):
            if not self._connection.notifies:
                self._wait(select.POLLIN, timeout, wake)
            self._connection.poll()
        notes, self._connection.notifies[:] = list(self._connection.notifies), []
        return [note.payload for note in notes]

    def close(self) -> None:
        with contextlib.suppress(psycopg2.Error):
            self._connection.close()

    def _finish(self) -> None:
        until = time.monotonic() + self._patience
        while wanted := awaited(self._connection):
            if not self._wait(wanted, until - time.monotonic()):
                raise psycopg2.OperationalError(f"no answer within {self._patience:.0f} s")

    def _wait(self, wanted: int, timeout: float, wake: int | None = None) -> bool:
        poll = select.poll()  # unlike `select`, it knows no highest number of a file
        poll.register(self._connection.fileno(), wanted)
        if wake is not None:
            poll.register(wake, select.POLLIN)
        return bool(poll.poll(max(0.0, timeout) * 1000))
