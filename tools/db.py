"""Database transactions of our own, short, outside any request: fast retries, fresh caches, no waiting inside.

Each database has connections of its own, so that one that hangs does not keep those of the others.
"""

import contextlib
import logging
import os
import random
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any, TypeVar

import psycopg2
from odoo import api, sql_db
from odoo.api import SUPERUSER_ID
from odoo.modules import get_manifest
from odoo.modules import module as odoo_module
from odoo.modules.registry import Registry
from odoo.service.model import PG_CONCURRENCY_EXCEPTIONS_TO_RETRY
from odoo.tools import SQL, config
from psycopg2.errors import (
    FeatureNotSupported,
    LockNotAvailable,
    ReadOnlySqlTransaction,
    UndefinedColumn,
    UndefinedTable,
)

from ..services import concurrency
from ..services.turn.ports import NotNow, StoreGone
from . import settings

_logger = logging.getLogger(__name__)
T = TypeVar("T")

MAX_TRIES = 10
QUICK_TRIES = 3  # in a thread that others wait for
MIN_PATIENCE = 2.0  # s
IDLE = 15.0  # s that connections are kept for nobody while other databases are used; crons come once a minute
# PostgreSQL's classes of errors that pass: connection, rollback, resources, operator; then a session
# that idled, and a lock that was not had. https://www.postgresql.org/docs/current/errcodes-appendix.html
PASSING = ("08", "40", "53", "57", "25P03", "55P03")
REFUSING = (
    "40",
    "53",
    "55P03",
    "57014",
)  # of these, those of a statement, from a server that is there
# A peer that vanished is noticed within 10 s, not after the system's quarter of an hour.
LINE = {
    "connect_timeout": 5,  # s
    "keepalives_idle": 4,  # s
    "keepalives_interval": 2,  # s
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,  # ms
}
# What is written to people here, Odoo's crons send: see models/base/mail_thread.py.
SEND_LATER = {"woow_ai_send_later": True}
_writer: ContextVar[int] = ContextVar("woow_ai_writer", default=0)
ADDON = "woow_paas_platform"
MARK = f"{ADDON}.ai_turn"
TABLE = MARK.replace(".", "_")


class DatabaseGone(ConnectionError):
    """PostgreSQL does not answer, or the transaction's fate is unknown; idempotent work may be repeated."""


class NotUpdated(DatabaseGone):
    """This process has another version of the addon than the database was last updated to."""


class Refused(DatabaseGone, NotNow):
    """PostgreSQL answers, and others changed, or have locked, the same rows each time, or a limit of its own is
    reached; nothing was written."""


class _Pools:
    """The connections of this process id, by database."""

    def __init__(self):
        self.lock = threading.Lock()
        self.by_name: dict[str, sql_db.ConnectionPool] = {}
        self.looked = 0.0  # when the unused ones were closed
        self.loading: dict[int, tuple[str, float]] = {}  # by thread: a registry, and since when


_pools = concurrency.renewed(_Pools())
_thread = threading.local()


def patience() -> float:
    """Seconds that one statement may take, or wait for a lock."""
    return max(MIN_PATIENCE, settings.get().lease_seconds / 3)


def line_to(dbname: str) -> dict:
    """Arguments of `psycopg2.connect`."""
    return {**sql_db.connection_info_for(dbname)[1], **LINE}


def transaction(
    dbname: str, work: Callable[[Any], T], alone: str = "", tries: int | None = None
) -> T:
    """Run ``work(env)`` as superuser and commit; concurrency failures repeat it within milliseconds.

    `work` must not have an effect outside the transaction, or not be repeated. Sudo throughout: the callers
    are the runner and the stop route, which act on rows that people cannot write.

    :param alone: a table; of all transactions that name it one runs at a time, and sees what the one before has done.
        Who reads or writes it otherwise waits for none of them
    :raises DatabaseGone: no connection; as a `Refused`: it failed so many times
    :raises StoreGone: the database or this addon in it exist no more
    """

    def once():
        registry = _loaded(dbname)
        with _open(dbname) as cr:
            if alone:
                # Takes no snapshot, unlike the functions of advisory locks: what is read after it is newer.
                cr.execute(
                    SQL("LOCK TABLE %s IN SHARE UPDATE EXCLUSIVE MODE", SQL.identifier(alone))
                )
            registry = _current(registry, cr)
            env = api.Environment(cr, SUPERUSER_ID, SEND_LATER)
            result = work(env)
            env.flush_all()
        registry.signal_changes()
        return result

    return _repeated(dbname, once, tries)


def read_only(dbname: str, work: Callable[[Any], T], tries: int | None = None) -> T:
    """Run as `transaction`, but PostgreSQL refuses what would write.

    :raises DatabaseGone, StoreGone: as `transaction`
    """

    def read(env):
        env.cr.execute("SET TRANSACTION READ ONLY")
        return work(env)

    return undone(dbname, read, tries)


def undone(dbname: str, work: Callable[[Any], T], tries: int | None = None) -> T:
    """Run as `transaction`, but nothing of it stays, and what was to follow a commit does not.

    :raises DatabaseGone, StoreGone: as `transaction`
    """

    def once():
        registry = _loaded(dbname)
        with _open(dbname) as cr:
            registry = _current(registry, cr)
            try:
                return work(api.Environment(cr, SUPERUSER_ID, SEND_LATER))
            finally:
                cr.rollback()
                registry.reset_changes()

    return _repeated(dbname, once, tries)


@contextlib.contextmanager
def written_by(turn_id: int) -> Iterator[None]:
    """Count what this thread writes inside as a turn's, and so what Odoo runs because of it, such as automation rules.

    :param turn_id: id of an `ai_turn` whose call or answer is written
    """
    token = _writer.set(turn_id)
    try:
        yield
    finally:
        _writer.reset(token)


def writer() -> int:
    """
    :return: id of the turn that writes in this thread, 0 if a person or anything else does
    """
    return _writer.get()


def _loaded(dbname):
    """A registry, without the lock of `Registry()` if it is there: another database may be loading under it."""
    registry = Registry.registries.get(dbname)
    if registry is not None and registry.ready:
        return registry
    with _loading(dbname):
        return Registry(dbname)


def _current(registry, cr):
    """The registry as other processes have left it.

    :raises StoreGone: it does not have the addon
    """
    with _loading(cr.dbname):
        registry = registry.check_signaling(cr)
    if MARK not in registry:
        raise StoreGone(cr.dbname)
    return registry


@contextlib.contextmanager
def _loading(dbname):
    _pools.loading[threading.get_ident()] = dbname, time.monotonic()
    try:
        yield
    finally:
        _pools.loading.pop(threading.get_ident(), None)


def end_long_loads(limit: float) -> None:
    """Let loads of registries fail that take longer: Odoo's own connections have no time-out, and who loads one
    holds the lock of all.

    :param limit: s
    """
    for dbname, since in list(_pools.loading.values()):
        if time.monotonic() - since > limit:
            _logger.warning("The registry of %s was not loaded within %.0f s.", dbname, limit)
            _cut(dbname)


def _cut(dbname):
    """End what waits for an answer on Odoo's own connections to this database."""
    for pool in (sql_db._Pool, sql_db._Pool_readonly):
        for connection in list(pool._connections) if pool else ():
            with contextlib.suppress(psycopg2.Error, OSError):
                if connection.info.dbname == dbname:
                    cut(connection)


def cut(connection) -> None:
    """End a connection that another thread uses, or waits on; PostgreSQL rolls back what was not committed.

    :param connection: of psycopg2
    """
    # Not closed: that would wait for the thread that waits.
    with socket.socket(fileno=os.dup(connection.fileno())) as line:
        line.shutdown(socket.SHUT_RDWR)


def end_when_idle(cr, seconds: float) -> None:
    """Let PostgreSQL end this transaction when it is not used for so long, whatever has become of this process.

    :param seconds: without a statement
    """
    cr.execute(
        "SELECT set_config(name, LEAST(NULLIF(setting::int, 0), %s)::text, true) FROM pg_settings"
        " WHERE name = 'idle_in_transaction_session_timeout'",
        [int(seconds * 1000)],
    )


def raw(dbname: str, work: Callable[[Any], T]) -> T:
    """Run as `transaction`, but ``work(cr)`` is plain SQL: a database that rests is not loaded for it."""

    def once():
        with _open(dbname) as cr:
            return work(cr)

    return _repeated(dbname, once)


def never_sleep() -> None:
    """Let a transaction of this thread that others are in the way of be `DatabaseGone` after `QUICK_TRIES`: its caller
    waits elsewhere.
    """
    _thread.never_sleeps = True


def _repeated(dbname: str, once: Callable[[], T], tries: int | None = None) -> T:
    never_sleeps = getattr(_thread, "never_sleeps", False)
    tries = tries or (QUICK_TRIES if never_sleeps else MAX_TRIES)
    attempt = 0
    while True:
        with typed_errors(dbname):
            try:
                return once()
            except LockNotAvailable:  # it has waited already
                raise
            except PG_CONCURRENCY_EXCEPTIONS_TO_RETRY:
                if attempt == tries - 1:
                    raise
        if not never_sleeps:
            time.sleep(random.uniform(0, 0.004 * 2**attempt))  # noqa: S311 no secret
        attempt += 1


@contextlib.contextmanager
def read_cursor(dbname: str):
    """A plain cursor for raw reads; closed without a commit. Never a replica, which may lag."""
    with typed_errors(dbname), contextlib.closing(_open(dbname)) as cr:
        yield cr


@contextlib.contextmanager
def typed_errors(dbname: str):
    """Errors of PostgreSQL that pass become `DatabaseGone`; without database or tables it is `StoreGone`."""
    try:
        yield
    except (UndefinedColumn, UndefinedTable) as error:
        if is_gone(dbname):  # while this process still has the registry of before
            raise StoreGone(dbname) from error
        if is_of_other_version(dbname):
            raise NotUpdated(f"{dbname} is not updated yet: run -u {ADDON} on it") from error
        raise
    except psycopg2.Error as error:
        if not passes(error):
            raise
        if is_of_replica(error):
            forget(dbname)  # its connections lead to what is a replica now
        if error.pgcode is None and is_gone(dbname):
            raise StoreGone(dbname) from error
        is_refusal = (error.pgcode or "").startswith(REFUSING)
        raise (Refused if is_refusal else DatabaseGone)(str(error).strip()) from error


def passes(error: object) -> bool:
    """True if PostgreSQL cannot be reached, or cannot do this now; False if it never will.

    :param error: of psycopg2, or of Odoo's pool; any other never passes
    """
    if not isinstance(error, psycopg2.Error):
        return False
    if is_of_replica(error):
        return True
    if error.pgcode is None:
        # libpq says it without a code; of a line over a unix socket psycopg2 then knows no closer class.
        passing = psycopg2.OperationalError | psycopg2.InterfaceError | sql_db.PoolError
        return isinstance(error, passing) or type(error) is psycopg2.DatabaseError
    return error.pgcode.startswith(PASSING)


def is_of_replica(error: psycopg2.Error) -> bool:
    """True if the server is a replica that only reads until it is promoted: of a write, or a transaction.

    :param error: of psycopg2
    """
    if isinstance(error, FeatureNotSupported):
        return "recovery" in str(error)
    return isinstance(error, ReadOnlySqlTransaction) or error.pgcode == "25006"


def is_gone(dbname: str) -> bool:
    """True if PostgreSQL answers, and knows no such database or no such addon in it."""
    try:
        is_there = _ask("postgres", "SELECT 1 FROM pg_database WHERE datname = %s", dbname)
        return not is_there or not _ask(dbname, "SELECT to_regclass(%s)", TABLE)
    except psycopg2.Error:
        return False


def is_of_other_version(dbname: str) -> bool:
    """True if PostgreSQL answers, and the database was last updated by another version of the addon."""
    query = "SELECT latest_version FROM ir_module_module WHERE name = %s"
    try:
        return _ask(dbname, query, ADDON) != get_manifest(ADDON)["version"]
    except psycopg2.Error:
        return False


def _ask(dbname, query, value):
    """One value, in a connection of its own."""
    with (
        contextlib.closing(psycopg2.connect(**line_to(dbname))) as connection,
        connection.cursor() as cr,
    ):
        cr.execute(query, [value])
        row = cr.fetchone()
        return row and row[0]


def forget(dbname: str) -> None:
    """Close the connections to a database."""
    with _pools.lock:
        pool = _pools.by_name.pop(dbname, None)
    if pool is not None:
        pool.close_all()


def close_idle(but: str = "") -> None:
    """Close connections that nobody has used for a while; looks for them once in `IDLE` seconds at most.

    :param but: a database that keeps its own
    """
    with _pools.lock:
        if time.monotonic() - _pools.looked < IDLE:
            return
        _pools.looked = time.monotonic()
        others = [pool for name, pool in _pools.by_name.items() if name != but]
    for pool in others:
        if not pool._lock.acquire(blocking=False):  # it may be connecting to what does not answer
            continue
        try:
            for connection in list(pool._connections):
                idle_for = time.time() - connection._pool_last_used
                if not connection._pool_in_use and idle_for > IDLE:
                    pool._connections.remove(connection)
                    connection.close()
        finally:
            pool._lock.release()


def leave_replica(cr) -> None:
    """Close what of Odoo's own connections leads where this cursor does, to a server that only reads: Odoo keeps them
    for as long as they are used.
    """
    if not isinstance(cr, sql_db.Cursor) or cr.closed:  # a test's
        return
    cr.postrollback.add(cr._cnx.close)
    pool: Any = sql_db._Pool  # there is one: the cursor is of it
    with pool._lock:
        for connection in pool._connections:
            is_idle = not connection._pool_in_use and not connection.closed
            if is_idle and connection.info.dbname == cr.dbname:
                connection.close()


class _Cursor(sql_db.Cursor):
    """Logs no statement that failed: who asked for the transaction repeats it, or has the error."""

    def execute(self, query, params=None, log_exceptions=False):
        return super().execute(query, params, log_exceptions)

    def rollback(self):
        """Roll back; where the connection is lost nothing is left to undo, and an error before this one says why."""
        with contextlib.suppress(psycopg2.Error):
            return super().rollback()


@contextlib.contextmanager
def timeouts(
    cr: Any, *, statement: float | None = None, lock: float | None = None
) -> Iterator[None]:
    """Limit the statements of a transaction for a while; what counted before counts again, unless one of them failed.

    :param statement: s that one may run, None for what counts now
    :param lock: s that one may wait for a lock, likewise
    """
    cr.execute("SELECT current_setting('statement_timeout'), current_setting('lock_timeout')")
    before = cr.fetchone()
    wanted = (
        former if seconds is None else f"{max(1, int(seconds * 1000))}ms"
        for seconds, former in zip((statement, lock), before, strict=True)
    )
    _set_timeouts(cr, *wanted)
    yield
    _set_timeouts(cr, *before)


def _set_timeouts(cr, statement, lock):
    cr.execute(
        "SELECT set_config('statement_timeout', %s, true), set_config('lock_timeout', %s, true)",
        [statement, lock],
    )


def _open(dbname):
    # Without the lock of `Registry()`, which Odoo holds while it runs tests.
    registry = Registry.registries.get(dbname) if odoo_module.current_test else None
    if registry is not None and "cursor" in vars(registry):  # inside the test's transaction
        return registry.cursor()
    with _pools.lock:
        if dbname not in _pools.by_name:
            _pools.by_name[dbname] = sql_db.ConnectionPool(int(config["db_maxconn"]))
        pool = _pools.by_name[dbname]
    close_idle(dbname)
    cr = _Cursor(pool, dbname, line_to(dbname))
    try:
        # Not in the connection's options: a pooler in between need not pass them on.
        cr.execute(
            "SET LOCAL lock_timeout = %(limit)s; SET LOCAL statement_timeout = %(limit)s",
            {"limit": int(patience() * 1000)},
        )
    except BaseException:
        cr.close()
        raise
    return cr
