"""What all requests of a process to one server pass: a breaker, and room for so many at once."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable

from ... import const
from ...errors import ConnectFailed, EngineError, ServerBusy, SessionLost
from ...room import Room
from ..session.elicitation import InputAnswer, InputRequest, OnInput
from .breaker import Breaker, counts


def room() -> Room:
    """For the requests to one server."""
    return Room(const.MAX_IN_FLIGHT, const.MAX_IN_FLIGHT_OF_ONE)


class Visit:
    """One request on its way.

    :ivar is_silent: what becomes of it says nothing about the server
    :ivar ping: asks the server for a sign of life, once there is a session
    """

    def __init__(self, room: Room, whose: Hashable):
        self.is_silent = False
        self.ping: Callable[[], Awaitable[object]] | None = None
        self._room = room
        self._whose = whose
        self._people = 0  # that are being asked
        self._is_inside = True
        self._is_over = False

    def outside(self, on_input: OnInput) -> OnInput:
        """While a person thinks, the request takes no room from others."""

        async def asking(asked: InputRequest) -> InputAnswer:
            self._step_out()
            try:
                answer = await on_input(asked)
            except Exception:
                await self._step_in()
                raise
            except BaseException:  # nothing of the request is left to do
                self._people -= 1
                raise
            await self._step_in()
            return answer

        return asking

    def _step_out(self) -> None:
        self._people += 1
        if self._is_inside:
            self._is_inside = False
            self._room.give(self._whose)

    async def _step_in(self) -> None:
        self._people -= 1
        if self._people or self._is_inside or self._is_over:
            return
        await self._room.take(self._whose)
        if self._is_inside or self._is_over:  # meanwhile
            self._room.give(self._whose)
        else:
            self._is_inside = True

    def end(self) -> None:
        self._is_over = True
        if self._is_inside:
            self._is_inside = False
            self._room.give(self._whose)


class Gate:
    def __init__(self, breaker: Breaker, room: Room):
        self.breaker = breaker
        self.room = room
        self._proving: asyncio.Task | None = None

    @property
    def is_forgettable(self) -> bool:
        """There is nothing to remember of this server."""
        return self.breaker.is_untouched and not self.room.taken and self._proving is None

    @contextlib.asynccontextmanager
    async def passage(self, whose: Hashable, timeout: float) -> AsyncIterator[Visit]:
        """:param whose: of whom all requests together get a share of the room only
        :param timeout: seconds to wait for room
        :raises ServerPaused, ServerBusy: no request may be made now
        """
        try:
            async with asyncio.timeout(timeout):
                await self.room.take(whose)
        except TimeoutError as error:
            raise ServerBusy from error
        visit = Visit(self.room, whose)
        try:
            ticket = self.breaker.enter()
            try:
                yield visit
            except BaseException as error:
                self._left(visit, ticket, error)
                raise
            self._left(visit, ticket, None)
        finally:
            visit.end()

    def _left(self, visit: Visit, ticket: int, error: BaseException | None) -> None:
        if visit.is_silent:
            self.breaker.leave_unheard(ticket)
        elif (
            visit.ping
            and counts(error)
            and not isinstance(error, ConnectFailed)
            and self.breaker.would_open(ticket)
        ):
            self._prove(visit.ping, ticket, error)
        else:
            self.breaker.leave(ticket, error)

    def _prove(
        self, ping: Callable[[], Awaitable[object]], ticket: int, error: BaseException
    ) -> None:
        """A slow or broken tool is not a broken server: that is left alone only if it gives no sign of life."""
        if self._proving is not None:
            self.breaker.leave_unheard(ticket)
            return

        async def prove() -> None:
            is_well = False
            try:
                await ping()
                is_well = True
            except EngineError as silence:
                is_well = not (counts(silence) or isinstance(silence, SessionLost))
            finally:
                self._proving = None
                self.breaker.leave(ticket, None if is_well else error)

        self._proving = asyncio.get_running_loop().create_task(prove())
