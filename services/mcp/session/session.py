"""MCP session: one open connection to a server, owned by one task.

The contexts of the MCP SDK have to be left by the task that entered them, so the owner opens the session,
waits, and closes it; calls of other tasks are raced against the owner and so never outlive it.
`legacy` and `modern` say how each era of the protocol opens and sends.
"""

import abc
import asyncio
import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import httpx

from ... import const, jsonrpc, text
from ...errors import EngineError, ServerTimeout, SessionExpired, SessionLost
from ...net import faults
from ...net.egress import EgressPolicy
from ...net.intake import Intake, Intakes
from ...net.transport import EgressTransport
from ...oauth.flow import OAuth, OAuthTransport
from ...specs import ServerSpec
from ..transport.stdio import Process
from . import logs
from .call_options import DEFAULTS, CallOptions

LOG = "notifications/message"
MAX_NUMBER = 2**53  # of steps; readers in JavaScript count no further

Era = Literal["legacy", "modern"]
"""legacy: revisions up to 2025-11-25, with a handshake. modern: 2026-07-28, each request stands alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerInfo:
    """Server info of the handshake, cleaned."""

    transport: str  # "streamable_http", "sse" or "stdio"
    protocol_version: str  # a date, such as "2025-11-25"
    era: Era = "legacy"
    name: str = ""
    version: str = ""  # the server's own
    instructions: str = ""  # for models
    capabilities: Mapping[str, Any] | None = None  # MCP's ``ServerCapabilities``


@dataclass(slots=True, kw_only=True)
class Request:
    """One request on its way."""

    method: str
    params: Mapping[str, Any] | None = None
    options: CallOptions = DEFAULTS
    id: jsonrpc.Id | None = None  # once it was sent
    limit: asyncio.Timeout | None = None  # the clock of its caller

    @contextlib.contextmanager
    def paused(self):
        """While a person is asked, the caller's time does not run."""
        limit = self.limit
        end = limit.when() if limit else None
        if limit is None or end is None:
            yield
            return
        loop = asyncio.get_running_loop()
        left = end - loop.time()
        with contextlib.suppress(RuntimeError):  # the caller has gone
            limit.reschedule(None)
        try:
            yield
        finally:
            with contextlib.suppress(RuntimeError):
                limit.reschedule(loop.time() + left)

    def progressed(self, progress: Any, total: Any, message: Any) -> None:
        """Pass on a notification of progress, if its numbers are numbers.

        :param progress, total, message: as the server has sent them
        """
        if self.options.on_progress and _is_number(progress):
            total = total if _is_number(total) else None
            message = message if isinstance(message, str) else ""
            self.options.on_progress(progress, total, text.one_line(message, 500))

    def logged(self, params: Any, secrets: Sequence[str]) -> None:
        """Pass on a log message, if the caller takes those of its level.

        :param params: as the server has sent them
        :param secrets: of the server, blotted out
        """
        take = self.options.on_log
        if take and (message := logs.cleaned(params, self.options.log_level, secrets)):
            take(message)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and abs(value) < MAX_NUMBER


class Session(abc.ABC):
    """:param transport: "streamable_http", "sse" or "stdio"
    :param idle: seconds without a request after which the session closes itself
    :param oauth: the tokens of this credential, where the server wants some
    :param can_ask: there is somebody whom the server may ask; some offer other tools then
    :param process: what is known about the processes of a stdio server
    :param intakes: through which large answers come
    :param on_notification: called with the method of each notification of the server, e.g.
        ``notifications/tools/list_changed``; must not block
    """

    era: Era

    def __init__(
        self,
        spec: ServerSpec,
        policy: EgressPolicy,
        transport: str,
        *,
        idle: float = const.SESSION_IDLE,
        oauth: OAuth | None = None,
        process: Process | None = None,
        intakes: Intakes | None = None,
        can_ask: bool = False,
        on_notification: Callable[[str], None] | None = None,
    ):
        self.spec = spec

        self.broke = False  # the line ended without us
        self.in_flight = 0
        self.used = time.monotonic()
        self._policy = policy
        self._oauth = oauth
        self._process = process or Process()
        self._intakes = intakes or Intakes()
        self._can_ask = can_ask
        self._transport = transport
        self._idle = idle
        self._on_notification = on_notification
        self._info: ServerInfo | None = None
        self._over = asyncio.Event()
        self._retired = False
        self._behind: set[asyncio.Task] = set()
        self._loop = asyncio.get_running_loop()
        self._ready: asyncio.Future[None] = self._loop.create_future()
        self._owner = self._loop.create_task(self._own(), name=f"mcp session of {spec.name}")

    # ------------------------------------------------------------ what an era says

    @abc.abstractmethod
    async def _open(self, stack: contextlib.AsyncExitStack) -> ServerInfo:
        """Connect; what has to be closed goes on the stack."""

    @abc.abstractmethod
    async def _send(self, request: Request) -> dict[str, Any]:
        """The result of a request. Sets its `id`."""

    def _error(self, request: Request, caught: BaseException) -> EngineError:
        """The `EngineError` of an exception of `_send`."""
        return faults.of_exception(caught)

    def _opening_error(self, caught: BaseException) -> EngineError:
        """The `EngineError` of an exception of `_open`."""
        return faults.of_exception(caught)

    def _abandon(self, request: Request, reason: str) -> None:  # noqa: B027 not every era tells
        """Give up a request whose answer is no longer needed."""

    async def _say_goodbye(self) -> None:  # noqa: B027 see `_abandon`
        """The session is about to close."""

    # ------------------------------------------------------------ life

    @property
    def info(self) -> ServerInfo:
        """Server info of the handshake.

        :raises SessionLost: the session has never been open
        """
        if self._info is None:
            raise SessionLost
        return self._info

    @property
    def is_open(self) -> bool:
        """True if it takes new requests."""
        return not (self._retired or self._over.is_set() or self._owner.done())

    async def opened(self) -> None:
        """Wait for the handshake.

        :raises EngineError: why there is no session
        """
        await asyncio.shield(self._ready)

    def on_closed(self, callback: Callable[[], None]) -> None:
        """Call this without arguments when the session has ended, whatever ended it.

        :param callback: must not raise
        """
        self._owner.add_done_callback(lambda _: callback())

    def retire(self) -> None:
        """Take no new requests, and close when the last one has ended."""
        self._retired = True
        if not self.in_flight:
            self.close()

    def close(self) -> None:
        """Let the owner end the session; returns at once."""
        self._over.set()

    async def closed(self, timeout: float) -> None:
        """Wait for the end; after `timeout` seconds the owner is cancelled."""
        self.close()
        _, late = await asyncio.wait({self._owner}, timeout=timeout)
        if late:
            self._owner.cancel()
            await asyncio.wait({self._owner}, timeout=timeout)

    def abort(self) -> None:
        """End it at once, also while it is being opened; returns at once."""
        self._owner.cancel()

    async def _own(self) -> None:
        try:
            async with contextlib.AsyncExitStack() as stack:
                async with asyncio.timeout(self.spec.connect_timeout):
                    self._info = await self._open(stack)
                self._ready.set_result(None)
                await self._until_over()
                await self._say_goodbye()
        except asyncio.CancelledError:
            self._settle(SessionLost())
            raise
        except BaseException as caught:
            if not self._ready.done():
                self._settle(self._why_not_opened(caught))
            if not isinstance(caught, Exception):
                raise
        finally:
            self._over.set()
            for task in self._behind:
                task.cancel()

    def _settle(self, error: EngineError) -> None:
        if not self._ready.done():
            self._ready.set_exception(error)
            self._ready.exception()  # nobody may be waiting any more

    def _why_not_opened(self, caught: BaseException) -> EngineError:
        if any(isinstance(inner, TimeoutError) for inner in faults.flatten(caught)):
            error: EngineError = ServerTimeout(faults.not_opened_in_time(self.spec))
        else:
            error = self._opening_error(caught)
        error.last_output = self._process.last_output
        return error

    async def _until_over(self) -> None:
        while not self._over.is_set():
            left = self._idle if self.in_flight else self.used + self._idle - time.monotonic()
            if left <= 0:
                self.close()
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._over.wait(), left)

    def _http_transport(self) -> httpx.AsyncBaseTransport:
        """Our egress, with tokens where the server wants some."""
        transport = EgressTransport(self._policy, owner=self.spec.owner)
        return OAuthTransport(transport, self._oauth) if self._oauth else transport

    @property
    def _blotted(self) -> tuple[str, ...]:
        """Values that nobody reads in what the server logs."""
        return (*(self._oauth.sent if self._oauth else ()), *self.spec.blotted)

    def _intake(self) -> Intake:
        return self._intakes.of(self.spec)

    def _spawn(self, coroutine) -> asyncio.Task:
        """Run something beside the requests, until it ends or the session does."""
        task = self._loop.create_task(coroutine)
        self._behind.add(task)
        task.add_done_callback(self._behind.discard)
        return task

    def _heard(self, method: Any) -> None:
        if isinstance(method, str) and self._on_notification:
            self._on_notification(method)

    # ------------------------------------------------------------ requests

    async def request(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        timeout: float,
        options: CallOptions = DEFAULTS,
    ) -> dict[str, Any]:
        """Send one request; its result as the server sent it.

        :param timeout: seconds; then, and when the caller is cancelled, the server is told to stop
        :raises ServerError: one of its subclasses
        """
        if not self.is_open:
            raise SessionExpired
        request = Request(method=method, params=params, options=options)
        call = asyncio.ensure_future(self._send(request))
        self.in_flight += 1
        try:
            async with asyncio.timeout(timeout) as request.limit:
                await asyncio.wait({call, self._owner}, return_when=asyncio.FIRST_COMPLETED)
            if call.done():
                return self._result(call, request)
            raise SessionLost
        except TimeoutError as error:
            self._abandon(request, f"no answer within {timeout:g} s")
            raise ServerTimeout(detail=f"{method} took longer than {timeout:g} s") from error
        except asyncio.CancelledError:
            self._abandon(request, "stopped by the user")
            raise
        finally:
            self.in_flight -= 1
            self.used = time.monotonic()
            if self._retired:
                self.retire()
            if not call.done():
                call.cancel()

    async def ping(self) -> None:
        """Ask for a sign of life.

        :raises EngineError: there is none, or the server refuses, which is one
        """
        method = "ping" if self.era == "legacy" else "server/discover"
        await self.request(method, timeout=self.spec.connect_timeout)

    def _result(self, call: asyncio.Task, request: Request) -> dict[str, Any]:
        if call.cancelled():
            raise SessionLost
        caught = call.exception()
        if caught is None:
            return call.result()
        raise self._error(request, caught) from caught
