"""Session registry: open sessions, found again by server, credential and conversation, and limited fairly.

Where there is no room for another one, the longest idle is closed, of whoever asks if that one has a share already;
where none is idle, a call waits for its turn.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine, Hashable
from dataclasses import dataclass
from typing import Any, NamedTuple

from ... import const
from ...errors import PoolFull, SessionExpired
from ...semaphore import FairSemaphore
from ...sentence import _lt
from ...specs import ServerSpec
from ..session.session import Session

ENDED = _lt("The MCP server was switched off, or its conversation has ended.")


class Key(NamedTuple):
    database: str
    server_id: int
    fingerprint: str
    conversation_id: Any


@dataclass(eq=False, slots=True)
class _Entry:
    """A session and its permit. `users` wait for it or use it now."""

    holder: Hashable
    semaphore: FairSemaphore
    opening: asyncio.Task[Session]
    users: int = 0

    @property
    def session(self) -> Session | None:
        """None before it is open, and when it could not be opened."""
        task = self.opening
        if not task.done() or task.cancelled() or task.exception():
            return None
        return task.result()

    @property
    def is_usable(self) -> bool:
        """True if it is being opened or takes requests."""
        return not self.opening.done() or (self.session is not None and self.session.is_open)


class OpenSessions:
    """:param open_: opens a session; told its conversation is over or its server is off, it is cancelled
    :param max_sessions: over HTTP; of programs there are `const.MAX_PROCESSES`
    """

    def __init__(
        self,
        open_: Callable[[ServerSpec], Coroutine[Any, Any, Session]],
        *,
        max_sessions: int = const.MAX_SESSIONS,
        share: int = const.MAX_SESSIONS_OF_ONE,
    ):
        self._open = open_
        self._entries: dict[Key, _Entry] = {}
        self._connections = FairSemaphore(
            max_sessions, share, lambda holder: self._reclaim(False, holder)
        )
        self._programs = FairSemaphore(
            const.MAX_PROCESSES,
            const.MAX_PROCESSES_OF_ONE,
            lambda holder: self._reclaim(True, holder),
        )

    def _semaphore(self, is_program: bool) -> FairSemaphore:
        return self._programs if is_program else self._connections

    def is_open(self, spec: ServerSpec, conversation_id: Any) -> bool:
        """True if the conversation has a session with this server that takes requests."""
        entry = self._entries.get(key_of(spec, conversation_id))
        return entry is not None and entry.session is not None and entry.session.is_open

    @contextlib.asynccontextmanager
    async def use(
        self, spec: ServerSpec, conversation_id: Any, deadline: float
    ) -> AsyncIterator[tuple[Session, bool]]:
        """A session, and whether it was there before.

        :param deadline: seconds of the loop's clock; then the caller waits no longer, the opening goes on
        :raises TimeoutError: it was being opened
        :raises PoolFull: there was no room
        :raises EngineError: it cannot be opened
        """
        key = key_of(spec, conversation_id)
        entry = self._usable(key)
        was_there = entry is not None
        entry = entry or await self._entry(key, spec, deadline)
        entry.users += 1
        try:
            async with asyncio.timeout_at(deadline):
                session = await self._opened(entry)
            yield session, was_there
        finally:
            entry.users -= 1
            if not entry.users:
                entry.semaphore.grant()

    def release(self, database: str, conversation_id: Any) -> None:
        """Close those of a conversation, when the calls in flight have ended."""
        for key in [
            k
            for k in self._entries
            if (k.database, k.conversation_id) == (database, conversation_id)
        ]:
            self._retire(key)

    def drop(self, database: str, server_id: int | None = None) -> None:
        """Close those of a server, also while they are being opened; calls in flight end.

        :param server_id: None: of all servers of the database
        """
        for key in [k for k in self._entries if k.database == database]:
            if server_id not in (None, key.server_id):
                continue
            entry = self._remove(key)
            if entry.session:
                entry.session.close()
            else:
                entry.opening.cancel()
            entry.semaphore.grant()

    def clear(self) -> None:
        for key in list(self._entries):
            self._retire(key)

    # ------------------------------------------------------------ lines

    def _usable(self, key: Key) -> _Entry | None:
        entry = self._entries.get(key)
        if entry is not None and not entry.is_usable:
            self._remove(key)
            return None
        return entry

    async def _entry(self, key: Key, spec: ServerSpec, deadline: float) -> _Entry:
        semaphore = self._semaphore(bool(spec.command))
        try:
            async with asyncio.timeout_at(deadline):
                await semaphore.acquire(spec.quota_key)
        except TimeoutError as error:
            raise PoolFull from error
        if entry := self._usable(key):  # somebody else was first
            semaphore.release(spec.quota_key)
            return entry
        opening = asyncio.get_running_loop().create_task(self._open(spec))
        entry = self._entries[key] = _Entry(spec.quota_key, semaphore, opening)
        opening.add_done_callback(lambda _: self._settled(key, entry))
        return entry

    async def _opened(self, entry: _Entry) -> Session:
        try:
            return await asyncio.shield(entry.opening)
        except asyncio.CancelledError:
            caller = asyncio.current_task()
            if entry.opening.cancelled() and not (caller and caller.cancelling()):
                raise SessionExpired(ENDED) from None
            raise

    def _settled(self, key: Key, entry: _Entry) -> None:
        """It is open now, could not be opened, or has ended."""
        if entry.session and entry.session.is_open:
            entry.session.on_closed(lambda: self._settled(key, entry))
        elif self._entries.get(key) is entry:
            self._remove(key)
            entry.semaphore.grant()

    def _remove(self, key: Key) -> _Entry:
        entry = self._entries.pop(key)
        entry.semaphore.drop(entry.holder)
        return entry

    def _retire(self, key: Key) -> None:
        entry = self._remove(key)
        if entry.session:
            entry.session.retire()
        else:
            entry.opening.cancel()
        entry.semaphore.grant()

    def _reclaim(self, is_program: bool, holder: Hashable | None) -> bool:
        """Close the longest idle session of somebody, of anybody of who has most."""
        semaphore = self._semaphore(is_program)
        idle = [
            (-semaphore.held(entry.holder), session.used, key, session)
            for key, entry in self._entries.items()
            if entry.semaphore is semaphore
            and (session := entry.session)
            and not entry.users
            and holder in (None, entry.holder)
        ]
        if not idle:
            return False
        *_, key, session = min(idle, key=lambda item: item[:2])
        self._remove(key)
        session.retire()
        return True


def key_of(spec: ServerSpec, conversation_id: Any) -> Key:
    """Key of a session: a changed credential or conversation makes another one."""
    return Key(spec.database, spec.id, spec.fingerprint, conversation_id)
