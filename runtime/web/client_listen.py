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
    "woow_paas_platform_mcp_server",
    "woow_paas_platform_mcp_tool",
    "woow_paas_platform_person_rule",
    "woow_paas_platform_workspace",
)
CHANGES = " UNION ALL ".join(
    f"SELECT '{table}', count(*), max(write_date)::text FROM {table}"  # noqa: S608 constants
    for table in TABLES
)


class _Watch:
    """Changes of one database, while there are streams."""

    def __init__(self, dbname: str) -> None:
        self.readers: Counter[int] = Counter()
        self._dbname = dbname
        self._lock = threading.Condition()
        self._comparing = threading.Lock()
        self._version = 0
        self._is_gone = False
        self._lists: dict[int, tuple[int, str]] = {}
        self._thread: threading.Thread | None = None

    @contextlib.contextmanager
    def stream(self, uid: int) -> Iterator[None]:
        with self._lock:
            self.readers[uid] += 1
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
                self.readers[uid] -= 1
                if not self.readers[uid]:
                    del self.readers[uid]
                    self._lists.pop(uid, None)

    def wait(self, version: int, patience: float) -> tuple[int, bool]:
        """The version of what lists are made of, once it is another one or time is over; and whether it goes on."""
        with self._lock:
            self._lock.wait_for(lambda: self._version != version or self._is_gone, patience)
            return self._version, not self._is_gone

    def list_of(self, uid: int, version: int) -> str:
        """Digest of a user's tools, empty if the user has none any more.

        :raises ConnectionError: the database cannot be asked
        """
        with self._comparing:
            known = self._lists.get(uid)
            if not known or known[0] < version:
                known = version, db.read_only(self._dbname, lambda env: _digest(env, uid))
                self._lists[uid] = known
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
    own = _watches[dbname].readers[uid] if dbname in _watches else 0
    return held >= of_operator.max_streams or own >= of_operator.streams_per_person


def listen(dbname: str, uid: int, subscription: Subscription) -> Iterator[bytes]:
    """Events for a client, until the stream has lasted long enough or its user is gone."""
    watch = _watches.setdefault(dbname, _Watch(dbname))
    end = time.monotonic() + LIFETIME
    with watch.stream(uid), contextlib.suppress(ConnectionError, StoreGone):
        version, goes_on = watch.wait(-1, 0)
        known = watch.list_of(uid, version)
        yield subscription.begun()
        while known and goes_on and (left := end - time.monotonic()) > 0:
            now, goes_on = watch.wait(version, min(SILENCE, left))
            if now == version:
                yield KEEPALIVE
                continue
            version, before = now, known
            known = watch.list_of(uid, version)
            if known != before and (told := subscription.changed()):
                yield told
        yield subscription.ended()


def counted(dbname: str, uid: int, events: Iterator[bytes]) -> Iterator[bytes]:
    """Another stream of this user, which counts beside the others."""
    watch = _watches.setdefault(dbname, _Watch(dbname))
    with watch.stream(uid), contextlib.suppress(ConnectionError, StoreGone):
        yield from events


def _changes(env):
    env.cr.execute(CHANGES)
    return env.cr.fetchall()


def _digest(env, uid):
    user = env["res.users"].browse(uid)
    if not user.exists().active:
        return ""
    tools = env["ai.assistant"].with_user(user)._tools_of_client()
    offered = sorted(repr(spec) for spec in tools._tool_specs())
    return hashlib.sha256("\n".join(offered).encode()).hexdigest()
