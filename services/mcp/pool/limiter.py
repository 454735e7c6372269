"""Rate limiter: all requests of a process to one server pass a circuit breaker and a concurrency limit."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable

from ... import const
from ...errors import ConnectFailed, EngineError, ServerBusy, SessionLost
from ...semaphore import FairSemaphore
from ..session.elicitation import ElicitRequest, ElicitResult, OnElicit
from .breaker import Breaker, counts


def server_capacity() -> FairSemaphore:
    """Semaphore for the requests to one server."""
    return FairSemaphore(const.MAX_IN_FLIGHT, const.MAX_IN_FLIGHT_OF_ONE)


class Admission:
    """One admitted request.

    :ivar is_silent: what becomes of it says nothing about the server
    :ivar ping: asks the server for a sign of life, once there is a session
    """

    def __init__(self, capacity: FairSemaphore, holder: Hashable):
        self.is_silent = False
        self.ping: Callable[[], Awaitable[object]] | None = None
        self._capacity = capacity
        self._holder = holder
        self._open_questions = 0
        self._holds = True
        self._is_over = False

    def releasing(self, on_elicit: OnElicit) -> OnElicit:
        """The same function, which holds no permit of the server while a person thinks.

        :param on_elicit: asks the person
        """

        async def asking(request: ElicitRequest) -> ElicitResult:
            self._release()
            try:
                answer = await on_elicit(request)
            except Exception:
                await self._reacquire()
                raise
            except BaseException:  # nothing of the request is left to do
                self._open_questions -= 1
                raise
            await self._reacquire()
            return answer

        return asking

    def _release(self) -> None:
        self._open_questions += 1
        if self._holds:
            self._holds = False
            self._capacity.release(self._holder)

    async def _reacquire(self) -> None:
        self._open_questions -= 1
        if self._open_questions or self._holds or self._is_over:
            return
        await self._capacity.acquire(self._holder)
        if self._holds or self._is_over:  # meanwhile
            self._capacity.release(self._holder)
        else:
            self._holds = True

    def end(self) -> None:
        self._is_over = True
        if self._holds:
            self._holds = False
            self._capacity.release(self._holder)


class Limiter:
    def __init__(self, breaker: Breaker, capacity: FairSemaphore):
        self.breaker = breaker
        self.capacity = capacity
        self._probing: asyncio.Task | None = None

    @property
    def is_forgettable(self) -> bool:
        """There is nothing to remember of this server."""
        return self.breaker.is_untouched and not self.capacity.in_use and self._probing is None

    @contextlib.asynccontextmanager
    async def acquire(self, holder: Hashable, timeout: float) -> AsyncIterator[Admission]:
        """:param holder: whose requests together get a share of the capacity only
        :param timeout: seconds to wait for capacity
        :raises ServerPaused, ServerBusy: no request may be made now
        """
        try:
            async with asyncio.timeout(timeout):
                await self.capacity.acquire(holder)
        except TimeoutError as error:
            raise ServerBusy from error
        admission = Admission(self.capacity, holder)
        try:
            ticket = self.breaker.enter()
            try:
                yield admission
            except BaseException as error:
                self._settle(admission, ticket, error)
                raise
            self._settle(admission, ticket, None)
        finally:
            admission.end()

    def _settle(self, admission: Admission, ticket: int, error: BaseException | None) -> None:
        if admission.is_silent:
            self.breaker.leave_unheard(ticket)
        elif (
            admission.ping
            and error is not None
            and counts(error)
            and not isinstance(error, ConnectFailed)
            and self.breaker.would_open(ticket)
        ):
            self._probe(admission.ping, ticket, error)
        else:
            self.breaker.leave(ticket, error)

    def _probe(
        self, ping: Callable[[], Awaitable[object]], ticket: int, error: BaseException
    ) -> None:
        """A slow or broken tool is not a broken server: that is left alone only if it gives no sign of life."""
        if self._probing is not None:
            self.breaker.leave_unheard(ticket)
            return

        async def probe() -> None:
            is_well = False
            try:
                await ping()
                is_well = True
            except EngineError as silence:
                is_well = not (counts(silence) or isinstance(silence, SessionLost))
            finally:
                self._probing = None
                self.breaker.leave(ticket, None if is_well else error)

        self._probing = asyncio.get_running_loop().create_task(probe())
