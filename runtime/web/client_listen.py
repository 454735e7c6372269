"""Streams on which MCP clients are told that their tools have changed, in the gevent process.

One look at the database, every few seconds and for all streams, tells whether anything has changed that lists are made
of; then each user's list is compared, once for all streams of this user. No cursor is open while a stream waits.
"""

import contextlib
import hashlib
import logging
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from ...services.gateway.stream import KEEPALIVE, Subscription
from ...services.turn.ports import StoreGone
from ...tools import db, settings

_logger = logging.getLogger(__name__)

LOOK = 3.0  # s between two looks at the database
SILENCE = 15.0  # s between two comment lines
LIFETIME = 600.0  # s, then the client comes again, with a key or token that is valid
TABLES = (
    "ai_assistant",
    "ir_config_parameter",
    "res_groups",
    "res_users",
    "woow_paas_platform_approval_rule",
    "woow_paas_platform_cloud_service",
    "woow_paas_platform_gateway",
    "woow_paas_platform_mcp_server",
    "woow_paas_platform_mcp_tool",
    "woow_paas_platform_person_rule",
    "woow_paas_platform_workspace",
)
CHANGES = " UNION ALL ".join(
    f"SELECT '{table}', count(*), max(write_date)::text FROM {table}"  # noqa: S608 constants
    for table in TABLES
)


@dataclass(frozen=True, slots=True)
class Reader:
    """A user who listens.

    :ivar gateway_id: of a `gateway`, falsy for the personal one
    :ivar company_ids: the only companies, empty for all of the user's
    """

    uid: int
    gateway_id: int | Literal[False] = False
    company_ids: tuple[int, ...] = ()


class _Watch:
    """Changes of one database, while there are streams."""

    def __init__(self, dbname: str) -> None:
        self.readers: Counter[Reader] = Counter()
        self._dbname = dbname
        self._lock = threading.Condition()
        self._comparing = threading.Lock()
        self._version = 0
        self._is_gone = False
        self._lists: dict[Reader, tuple[int, str]] = {}
        self._thread: threading.Thread | None = None

    @contextlib.contextmanager
    def stream(self, reader: Reader) -> Iterator[None]:
        with self._lock:
            self.readers[reader] += 1
            if not self._thread or not self._thread.is_alive():
                self._is_gone = False
                self._thread = threading.Thread(
                    target=self._look, name="woow-ai-lists", daemon=True
                )
                self._thread.start()
        try:
            yield
        finally:
            with self._lock:
                self.readers[reader] -= 1
                if not self.readers[reader]:
                    del self.readers[reader]
                    self._lists.pop(reader, None)

    def wait(self, version: int, patience: float) -> tuple[int, bool]:
        """The version of what lists are made of, once it is another one or time is over; and whether it goes on."""
        with self._lock:
            self._lock.wait_for(lambda: self._version != version or self._is_gone, patience)
            return self._version, not self._is_gone

    def list_of(self, reader: Reader, version: int) -> str:
        """Digest of a user's tools at a gateway, empty if the user has none any more.

        :raises ConnectionError: the database cannot be asked
        """
        with self._comparing:
            known = self._lists.get(reader)
            if not known or known[0] < version:
                known = version, db.read_only(self._dbname, lambda env: _digest(env, reader))
                self._lists[reader] = known
            return known[1]

    def _look(self) -> None:
        seen = None
        while self._has_readers():
            now = seen
            try:
                now = db.read_only(self._dbname, _changes)
            except StoreGone:
                self._end()
                return
            except ConnectionError as error:
                _logger.info(
                    "Whether tools of %s have changed is not known: %s", self._dbname, error
                )
            except Exception:
                _logger.exception("No client of %s is told of changed tools.", self._dbname)
                self._end()
                return
            if now != seen:
                with self._lock:
                    self._version += 1
                    self._lock.notify_all()
            seen = now
            time.sleep(LOOK)

    def _end(self) -> None:
        with self._lock:
            self._is_gone = True
            self._lock.notify_all()

    def _has_readers(self) -> bool:
        with self._lock:
            if not self.readers:
                self._thread = None
            return bool(self.readers)


_watches: dict[str, _Watch] = {}


def is_full(dbname: str, uid: int) -> bool:
    """True if this process holds as many streams as its operator allows, or as one user may have."""
    of_operator = settings.get()
    held = sum(sum(watch.readers.values()) for watch in list(_watches.values()))
    readers = _watches[dbname].readers if dbname in _watches else {}
    own = sum(count for reader, count in list(readers.items()) if reader.uid == uid)
    return held >= of_operator.max_streams or own >= of_operator.streams_per_person


def listen(dbname: str, reader: Reader, subscription: Subscription) -> Iterator[bytes]:
    """Events for a client, until the stream has lasted long enough or its user is gone."""
    watch = _watches.setdefault(dbname, _Watch(dbname))
    end = time.monotonic() + LIFETIME
    with watch.stream(reader), contextlib.suppress(ConnectionError, StoreGone):
        version, goes_on = watch.wait(-1, 0)
        known = watch.list_of(reader, version)
        yield subscription.begun()
        while known and goes_on and (left := end - time.monotonic()) > 0:
            now, goes_on = watch.wait(version, min(SILENCE, left))
            if now == version:
                yield KEEPALIVE
                continue
            version, before = now, known
            known = watch.list_of(reader, version)
            if known != before and (told := subscription.changed()):
                yield told
        yield subscription.ended()


def counted(dbname: str, uid: int, events: Iterator[bytes]) -> Iterator[bytes]:
    """Another stream of this user, which counts beside the others."""
    watch = _watches.setdefault(dbname, _Watch(dbname))
    with watch.stream(Reader(uid)), contextlib.suppress(ConnectionError, StoreGone):
        yield from events


def _changes(env):
    env.cr.execute(CHANGES)
    return env.cr.fetchall()


def _digest(env, reader):
    user = env["res.users"].browse(reader.uid)
    if not user.exists().active:
        return ""
    companies = {"allowed_company_ids": [*reader.company_ids]} if reader.company_ids else {}
    gateways = env["woow_paas_platform.gateway"].with_user(user).with_context(**companies)
    if reader.gateway_id:
        gateways = gateways._of_caller().filtered(lambda one: one.id == reader.gateway_id)
        if not gateways:
            return ""
    offered = sorted(repr(spec) for spec in gateways._list())
    return hashlib.sha256("\n".join(offered).encode()).hexdigest()
