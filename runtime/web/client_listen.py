"""Streams on which MCP clients are told that their tools or tasks have changed, in the gevent process.

One look at the database, every few seconds and for all streams, tells whether anything has changed that lists are made
of, or a task; then each user's list is compared, once for all streams of this user, and each stream reads its tasks. It
also tells which clients have been disconnected: their streams end. No cursor is open while a stream waits.
"""

import contextlib
import functools
import hashlib
import itertools
import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, NamedTuple

from ...services.gateway.stream import KEEPALIVE, Subscription
from ...services.gateway.tasks import OVER
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

TASKS = """
    SELECT call_id, write_date FROM woow_paas_platform_tool_call WHERE call_id = ANY(%s) ORDER BY 1
"""
CREDENTIALS = """
    SELECT 'grant', id::text FROM woow_paas_platform_oauth_grant WHERE id::text = ANY(%(names)s)
 UNION ALL
    SELECT 'key', index FROM res_users_apikeys
     WHERE index = ANY(%(names)s) AND (expiration_date IS NULL OR expiration_date > now() AT TIME ZONE 'UTC')
"""

# What a client has shown: ("grant", id of an `oauth_grant`) or ("key", public part of an API key).
Credential = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Reader:
    """A user who listens.

    :ivar gateway_id: of a `gateway`, falsy for the personal one
    :ivar company_ids: the only companies, empty for all of the user's
    """

    uid: int
    gateway_id: int | Literal[False] = False
    company_ids: tuple[int, ...] = ()


class _Version(NamedTuple):
    """Counts of changes."""

    lists: int = 0
    tasks: int = 0
    credentials: int = 0


class _Watch:
    """Changes of one database, while there are streams."""

    def __init__(self, dbname: str) -> None:
        self.readers: Counter[Reader] = Counter()
        self.task_ids: Counter[str] = Counter()
        self.credentials: Counter[Credential] = Counter()
        self._withdrawn: frozenset[Credential] = frozenset()
        self.changed_at: dict[str, datetime] = {}  # each task that is looked at
        self._dbname = dbname
        self._lock = threading.Condition()
        self._comparing = threading.Lock()
        self._version = _Version()
        self._is_gone = False
        self._lists: dict[Reader, tuple[int, str]] = {}
        self._thread: threading.Thread | None = None

    @contextlib.contextmanager
    def stream(
        self, reader: Reader, credential: Credential, task_ids: Collection[str] = ()
    ) -> Iterator[None]:
        with self._lock:
            self.readers[reader] += 1
            self.credentials[credential] += 1
            self.task_ids.update(task_ids)
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
                self.task_ids = self.task_ids - Counter(task_ids)
                self.credentials = self.credentials - Counter([credential])
                self.readers[reader] -= 1
                if not self.readers[reader]:
                    del self.readers[reader]
                    self._lists.pop(reader, None)

    def is_withdrawn(self, credential: Credential) -> bool:
        return credential in self._withdrawn

    def wait(self, version: _Version | None, patience: float) -> tuple[_Version, bool]:
        """The version of what is looked at, once it is another one or time is over; and whether it goes on."""
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
        seen: tuple[Any, Any, frozenset[Credential]] = None, None, frozenset()
        while self._has_readers():
            now = seen
            shown = frozenset(self.credentials)
            try:
                look = functools.partial(_changes, [*self.task_ids], shown)
                now = db.read_only(self._dbname, look)
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
                changed = [int(one != before) for one, before in zip(now, seen, strict=True)]
                with self._lock:
                    self.changed_at, self._withdrawn = dict(now[1]), now[-1]
                    self._version = _Version(*map(sum, zip(self._version, changed, strict=True)))
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


def listen(
    dbname: str,
    reader: Reader,
    credential: Credential,
    subscription: Subscription,
    tasks: Callable | None = None,
) -> Iterator[bytes]:
    """Events for a client, until the stream has lasted long enough, its user is gone, or it has been disconnected.

    :param tasks: ``tasks(task_ids, env)`` gives each `services.gateway.tasks.Task` of the subscription
    """
    watch = _watches.setdefault(dbname, _Watch(dbname))
    end = time.monotonic() + LIFETIME
    stream = watch.stream(reader, credential, subscription.task_ids)
    with stream, contextlib.suppress(ConnectionError, StoreGone):
        version, goes_on = watch.wait(None, 0)
        known = watch.list_of(reader, version.lists)
        yield subscription.begun()
        told_tasks = _ToldTasks(dbname, tasks, subscription)
        if known:
            yield from told_tasks.changed(watch.changed_at)
        heard = time.monotonic()
        while known and goes_on and (left := end - time.monotonic()) > 0:
            silent = max(0.0, heard + SILENCE - time.monotonic())
            now, goes_on = watch.wait(version, min(silent, left))
            if watch.is_withdrawn(credential):
                break
            events: Iterable[bytes] = ()
            if now != version:
                has_other_tasks = now.tasks != version.tasks
                version, before = now, known
                known = watch.list_of(reader, version.lists)
                if known and has_other_tasks:
                    events = told_tasks.changed(watch.changed_at)
                if known != before and (told := subscription.changed()):
                    events = itertools.chain(events, [told])
            elif goes_on:
                events = [KEEPALIVE]
            for event in events:
                yield event
                heard = time.monotonic()
        yield subscription.ended()


class _ToldTasks:
    """Tasks of a subscription, as its client knows them; results are not kept."""

    def __init__(self, dbname: str, read: Callable | None, subscription: Subscription) -> None:
        self._dbname = dbname
        self._read: Callable = read or (lambda _task_ids, _env: [])
        self._subscription = subscription
        self._looked: dict[str, datetime | None] = {}  # at the state of which moment
        self._told: dict[str, tuple[str, ...]] = {}  # status, time and questions

    def changed(self, moments: Mapping[str, datetime]) -> Iterator[bytes]:
        """Events for those that have changed.

        :param moments: of the last change of each task, as far as they are known
        """
        for task_id in self._subscription.task_ids:
            moment, is_new = moments.get(task_id), task_id not in self._looked
            is_over = self._told.get(task_id, ("",))[0] in OVER
            if is_over or not (is_new or moment != self._looked[task_id]):
                continue
            self._looked[task_id] = moment
            # one by one: a result may be large
            for task in db.read_only(self._dbname, functools.partial(self._read, [task_id])):
                state = (task.status, task.updated_at, *(task.requests or ()))
                if self._told.get(task.id) != state:
                    self._told[task.id] = state
                    yield self._subscription.task(task)


def counted(
    dbname: str, uid: int, credential: Credential, events: Iterator[bytes]
) -> Iterator[bytes]:
    """Another stream of this user, which counts beside the others and ends like them."""
    watch = _watches.setdefault(dbname, _Watch(dbname))
    stream = watch.stream(Reader(uid), credential)
    with stream, contextlib.suppress(ConnectionError, StoreGone):
        for event in events:
            if watch.is_withdrawn(credential):
                break
            yield event


def _changes(task_ids, credentials, env):
    """:return: what tells that lists, and that tasks have changed; and which of the credentials are no longer valid"""
    env.cr.execute(CHANGES)
    lists, tasks = env.cr.fetchall(), []
    if task_ids:
        env.cr.execute(TASKS, [task_ids])
        tasks = env.cr.fetchall()
    env.cr.execute(CREDENTIALS, {"names": [name for _kind, name in credentials]})
    return lists, tasks, credentials.difference(env.cr.fetchall())


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
