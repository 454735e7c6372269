"""The sessions that are open: found again by server, credential and conversation, and limited fairly.

Where there is no room for another one, the longest idle is closed, of whoever asks if that one has a share already;
where none is idle, a call waits for its turn.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Any, NamedTuple

from ... import const
from ...errors import PoolFull, SessionExpired
from ...room import Room
from ...specs import ServerSpec
from ..session.session import Session

ENDED = "The MCP server was switched off, or its conversation is over."


class Key(NamedTuple):
    realm: str
    server_id: int
    fingerprint: str
    conversation_id: Any


@dataclass(eq=False, slots=True)
class _Line:
    """A session and its place. `users` wait for it or use it now."""

    whose: Hashable
    room: Room
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
        """Whether it is being opened or takes requests."""
        return not self.opening.done() or (self.session is not None and self.session.is_open)


class OpenSessions:
    """:param open_: opens a session; told its conversation is over or its server is off, it is cancelled
    :param max_sessions: over HTTP; of programs there are `const.MAX_PROCESSES`
    """

    def __init__(
        self,
        open_: Callable[[ServerSpec], Awaitable[Session]],
        *,
        max_sessions: int = const.MAX_SESSIONS,
        share: int = const.MAX_SESSIONS_OF_ONE,
    ):
        self._open = open_
        self._lines: dict[Key, _Line] = {}
        self._connections = Room(max_sessions, share, lambda whose: self._spare(False, whose))
        self._programs = Room(
            const.MAX_PROCESSES,
            const.MAX_PROCESSES_OF_ONE,
            lambda whose: self._spare(True, whose),
        )

    def _room(self, is_program: bool) -> Room:
        return self._programs if is_program else self._connections

    def is_open(self, spec: ServerSpec, conversation_id: Any) -> bool:
        line = self._lines.get(key_of(spec, conversation_id))
        return line is not None and line.session is not None and line.session.is_open

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
        line = self._usable(key)
        was_there = line is not None
        line = line or await self._line(key, spec, deadline)
        line.users += 1
        try:
            async with asyncio.timeout_at(deadline):
                session = await self._opened(line)
            yield session, was_there
        finally:
            line.users -= 1
            if not line.users:
                line.room.seat()

    def release(self, realm: str, conversation_id: Any) -> None:
        """Close those of a conversation, when the calls in flight have ended."""
        for key in [
            k for k in self._lines if (k.realm, k.conversation_id) == (realm, conversation_id)
        ]:
            self._retire(key)

    def drop(self, realm: str, server_id: int | None = None) -> None:
        """Close those of a server, also while they are being opened; calls in flight end.

        :param server_id: None: of all servers of the realm
        """
        for key in [k for k in self._lines if k.realm == realm]:
            if server_id not in (None, key.server_id):
                continue
            line = self._remove(key)
            if line.session:
                line.session.close()
            else:
                line.opening.cancel()
            line.room.seat()

    def clear(self) -> None:
        for key in list(self._lines):
            self._retire(key)

    # ------------------------------------------------------------ lines

    def _usable(self, key: Key) -> _Line | None:
        line = self._lines.get(key)
        if line is not None and not line.is_usable:
            self._remove(key)
            return None
        return line

    async def _line(self, key: Key, spec: ServerSpec, deadline: float) -> _Line:
        room = self._room(bool(spec.command))
        try:
            async with asyncio.timeout_at(deadline):
                await room.take(spec.asker)
        except TimeoutError as error:
            raise PoolFull from error
        if line := self._usable(key):  # somebody else was first
            room.give(spec.asker)
            return line
        opening = asyncio.get_running_loop().create_task(self._open(spec))
        line = self._lines[key] = _Line(spec.asker, room, opening)
        opening.add_done_callback(lambda _: self._settled(key, line))
        return line

    async def _opened(self, line: _Line) -> Session:
        try:
            return await asyncio.shield(line.opening)
        except asyncio.CancelledError:
            if line.opening.cancelled() and not asyncio.current_task().cancelling():
                raise SessionExpired(ENDED) from None
            raise

    def _settled(self, key: Key, line: _Line) -> None:
        """It is open now, could not be opened, or has ended."""
        if line.session and line.session.is_open:
            line.session.on_closed(lambda: self._settled(key, line))
        elif self._lines.get(key) is line:
            self._remove(key)
            line.room.seat()

    def _remove(self, key: Key) -> _Line:
        line = self._lines.pop(key)
        line.room.leave(line.whose)
        return line

    def _retire(self, key: Key) -> None:
        line = self._remove(key)
        if line.session:
            line.session.retire()
        else:
            line.opening.cancel()
        line.room.seat()

    def _spare(self, is_program: bool, whose: Hashable | None) -> bool:
        """Close the longest idle session of somebody, of anybody of who has most."""
        room = self._room(is_program)
        idle = [
            (-room.held(line.whose), line.session.used, key)
            for key, line in self._lines.items()
            if line.room is room and line.session and not line.users and whose in (None, line.whose)
        ]
        if not idle:
            return False
        line = self._remove(min(idle, key=lambda item: item[:2])[2])
        line.session.retire()
        return True


def key_of(spec: ServerSpec, conversation_id: Any) -> Key:
    return Key(spec.realm, spec.id, spec.fingerprint, conversation_id)
