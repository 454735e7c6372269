"""What all requests of a process to one server pass: a breaker, and room for so many at once."""

import asyncio
import contextlib

from . import const
from .breaker import Breaker
from .errors import ServerBusy
from .inputs import InputAnswer, InputRequest, OnInput


class Gate:
    """:ivar in_flight: requests that are under way"""

    def __init__(self, breaker: Breaker, limit: int = const.MAX_IN_FLIGHT):
        self.breaker = breaker
        self._limit = limit
        self._room = asyncio.Semaphore(limit)

    @property
    def in_flight(self) -> int:
        return self._limit - self._room._value

    @contextlib.asynccontextmanager
    async def passage(self, timeout: float):
        """:param timeout: seconds to wait for room
        :raises ServerPaused, ServerBusy: no request may be made now
        """
        try:
            async with asyncio.timeout(timeout):
                await self._room.acquire()
        except TimeoutError as error:
            raise ServerBusy from error
        try:
            ticket = self.breaker.enter()
            try:
                yield
            except BaseException as error:
                self.breaker.leave(ticket, error)
                raise
            self.breaker.leave(ticket, None)
        finally:
            self._room.release()

    def outside(self, on_input: OnInput) -> OnInput:
        """While a person thinks, the request takes no room from others."""

        async def asking(asked: InputRequest) -> InputAnswer:
            self._room.release()
            try:
                return await on_input(asked)
            finally:
                await self._room.acquire()

        return asking
