"""One open MCP session, owned by one task.

The contexts of the MCP SDK have to be left by the task that entered them, so the owner opens the session,
waits, and closes it; calls of other tasks are raced against the owner and so never outlive it.
"""

import asyncio
import contextlib
import functools
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import anyio
import httpx

from . import const, faults, text
from .egress import EgressPolicy
from .errors import (
    ConfigError,
    ConnectFailed,
    EngineError,
    ServerError,
    ServerRefused,
    ServerTimeout,
    SessionExpired,
    SessionLost,
)
from .network import EgressTransport
from .specs import ServerSpec
from .transport import GuardTransport

OnProgress = Callable[[float, float | None, str], None]
"""Called on the loop with progress, total and message; must not block."""

CONNECTION_CLOSED = -32000  # mcp.types.CONNECTION_CLOSED
GOODBYE_TIMEOUT = 0.3  # s, for cancellations that are on their way when a session closes
NOTIFY_TIMEOUT = 1.0  # s, to hand a notification to the transport


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerInfo:
    """What the handshake told."""

    transport: str
    protocol_version: str
    name: str = ""
    version: str = ""
    instructions: str = ""
    capabilities: Mapping[str, Any] | None = None


class Session:
    """:param transport: "streamable_http", "sse" or "stdio"
    :param idle: seconds without a request after which the session closes itself
    :param on_notification: called with the method of each notification of the server, e.g.
        ``notifications/tools/list_changed``; must not block
    """

    def __init__(
        self,
        spec: ServerSpec,
        policy: EgressPolicy,
        transport: str,
        *,
        idle: float = const.SESSION_IDLE,
        on_notification: Callable[[str], None] | None = None,
    ):
        self.spec = spec
        self.info: ServerInfo | None = None
        self.in_flight = 0
        self.used = time.monotonic()
        self._policy = policy
        self._transport = transport
        self._idle = idle
        self._on_notification = on_notification
        self._over = asyncio.Event()
        self._retired = False
        self._guard = None
        self._session = None
        self._behind: set[asyncio.Task] = set()
        loop = asyncio.get_running_loop()
        self._ready: asyncio.Future[None] = loop.create_future()
        self._owner = loop.create_task(self._own(), name=f"mcp session of {spec.name}")

    # ------------------------------------------------------------ life

    @property
    def is_open(self) -> bool:
        """Whether it takes new requests."""
        return not (self._retired or self._over.is_set() or self._owner.done())

    async def opened(self) -> None:
        """Wait for the handshake.

        :raises EngineError: why there is no session
        """
        await asyncio.shield(self._ready)

    def on_closed(self, callback: Callable[[], None]) -> None:
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

    async def _own(self) -> None:
        try:
            async with contextlib.AsyncExitStack() as stack:
                async with asyncio.timeout(self.spec.connect_timeout):
                    await self._open(stack)
                self._ready.set_result(None)
                await self._until_over()
                await self._said_goodbye()
        except asyncio.CancelledError:
            self._settle(SessionLost())
            raise
        except BaseException as caught:
            self._settle(self._opening_error(caught))
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

    def _opening_error(self, caught: BaseException) -> EngineError:
        if any(isinstance(inner, TimeoutError) for inner in _flatten(caught)):
            return ServerTimeout("The MCP server did not complete the connection in time.")
        if error := next(iter(self._guard.faults.values()), None) if self._guard else None:
            return error
        for inner in _flatten(caught):
            if isinstance(inner, FileNotFoundError | PermissionError):
                return ConfigError(
                    "The command of the MCP server cannot be started.", detail=str(inner)
                )
            if error := self._rpc_error(inner):
                return error
        return faults.of_exception(next(_flatten(caught)))

    async def _open(self, stack: contextlib.AsyncExitStack) -> None:
        _quieten_libraries()
        from langchain_mcp_adapters.sessions import create_session  # noqa: PLC0415

        self._session = await stack.enter_async_context(create_session(self._connection()))
        hello = await self._session.initialize()
        self.info = ServerInfo(
            transport=self._transport,
            protocol_version=str(hello.protocolVersion),
            name=text.one_line(hello.serverInfo.name, 200),
            version=text.one_line(hello.serverInfo.version, 100),
            instructions=text.cap(text.clean(hello.instructions or ""), 4_000),
            capabilities=hello.capabilities.model_dump(exclude_none=True),
        )

    async def _until_over(self) -> None:
        while not self._over.is_set():
            left = self._idle if self.in_flight else self.used + self._idle - time.monotonic()
            if left <= 0:
                self.close()
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._over.wait(), left)

    async def _said_goodbye(self) -> None:
        """Cancellations that are on their way still reach the server."""
        if self._behind:
            await asyncio.wait(list(self._behind), timeout=GOODBYE_TIMEOUT)
        if self._guard:
            await self._guard.posted(GOODBYE_TIMEOUT)

    # ------------------------------------------------------------ connection

    def _connection(self) -> dict[str, Any]:
        """For `create_session`, which changes the dict it gets: so a new one each time."""
        from mcp.types import Implementation  # noqa: PLC0415

        session_kwargs = {
            "client_info": Implementation(name=const.CLIENT_NAME, version=const.CLIENT_VERSION),
            "message_handler": self._hear,
        }
        spec = self.spec
        if self._transport == "stdio":
            if not spec.command:
                raise ConfigError("The MCP server has no command.")
            command, *args = spec.command
            return {
                "transport": "stdio",
                "command": command,
                "args": args,
                "env": dict(spec.env),
                "session_kwargs": session_kwargs,
            }
        return {
            "transport": self._transport,
            "url": spec.url,
            "headers": _headers(spec),
            "timeout": spec.connect_timeout * 0.9,
            "sse_read_timeout": None,
            "httpx_client_factory": self._client,
            "session_kwargs": session_kwargs,
        }

    def _client(self, headers=None, timeout=None, auth=None):
        self._guard = GuardTransport(
            EgressTransport(self._policy), legacy=self._transport == "sse", on_lost=self.retire
        )
        headers = {
            **(headers or {}),
            "accept-encoding": "identity",
            "user-agent": const.CLIENT_NAME,
        }
        return httpx.AsyncClient(
            headers=headers, timeout=timeout, auth=auth, transport=self._guard, trust_env=False
        )

    async def _hear(self, message: Any) -> None:
        """Runs in the receive loop: only passes the word on."""
        method = getattr(getattr(message, "root", None), "method", None)
        if isinstance(method, str) and self._on_notification:
            self._on_notification(method)

    # ------------------------------------------------------------ requests

    async def request(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        timeout: float,
        on_progress: OnProgress | None = None,
    ) -> dict[str, Any]:
        """Send one request; its result as the server sent it.

        :param timeout: seconds; then, and when the caller is cancelled, the server is told to stop
        :raises ServerError: one of its subclasses
        """
        if not self.is_open:
            raise SessionExpired
        ids: list[int] = []
        call = asyncio.ensure_future(self._send(method, params, ids, on_progress))
        self.in_flight += 1
        try:
            done, _ = await asyncio.wait(
                {call, self._owner}, timeout=timeout, return_when=asyncio.FIRST_COMPLETED
            )
            if call in done:
                return self._result(call, ids)
            if done:
                raise SessionLost
            self._abandon(ids, f"no answer within {timeout:g} s")
            raise ServerTimeout(detail=f"{method} took longer than {timeout:g} s")
        except asyncio.CancelledError:
            self._abandon(ids, "stopped by the user")
            raise
        finally:
            self.in_flight -= 1
            self.used = time.monotonic()
            if self._retired:
                self.retire()
            if not call.done():
                call.cancel()

    async def _send(self, method, params, ids: list[int], on_progress: OnProgress | None):
        async def progressed(progress: float, total: float | None, message: str | None) -> None:
            on_progress(progress, total, text.one_line(message or "", 500))

        ids.append(self._session._request_id)
        return await self._session.send_request(
            _Request(method, params), _Raw, progress_callback=progressed if on_progress else None
        )

    def _result(self, call: asyncio.Task, ids: list[int]) -> dict[str, Any]:
        caught = call.exception()
        if caught is None:
            return call.result()
        fault = self._guard.faults.pop(ids[0], None) if self._guard and ids else None
        error = fault or self._rpc_error(caught) or faults.of_exception(caught)
        if isinstance(error, SessionExpired) or (isinstance(error, SessionLost) and not fault):
            self.retire()
        raise error from caught

    def _rpc_error(self, caught: BaseException) -> ServerError | None:
        from mcp import McpError  # noqa: PLC0415

        if isinstance(caught, anyio.ClosedResourceError | anyio.BrokenResourceError):
            return SessionExpired(detail="the session was closed before the request was sent")
        if not isinstance(caught, McpError):
            return None
        said = caught.error
        if said.code == CONNECTION_CLOSED and said.message == "Connection closed":
            if not self.info:
                return ConnectFailed("The MCP server ended the connection.")
            # over HTTP+SSE the guard has named the fault of every request that it sent
            return SessionExpired() if self._transport == "sse" else SessionLost()
        message = text.one_line(said.message, 500)
        return ServerRefused(
            f"The MCP server answered: {message}", detail=f"JSON-RPC error {said.code}"
        )

    def _abandon(self, ids: list[int], reason: str) -> None:
        """Tell the server that nobody waits for this request (MCP, basic/utilities/cancellation)."""
        if ids and not self._owner.done():
            task = asyncio.get_running_loop().create_task(self._cancel(ids[0], reason))
            self._behind.add(task)
            task.add_done_callback(self._behind.discard)

    async def _cancel(self, request_id: int, reason: str) -> None:
        notification = _Request(
            "notifications/cancelled", {"requestId": request_id, "reason": reason}
        )
        with contextlib.suppress(Exception):
            await asyncio.wait_for(self._session.send_notification(notification), NOTIFY_TIMEOUT)
        if self._guard:
            self._guard.abort(request_id)
            self._guard.faults.pop(request_id, None)


class _Request:
    """What `send_request` needs of a request: arguments go out as they are, unknown methods too."""

    def __init__(self, method: str, params: Mapping[str, Any] | None):
        self._method = method
        self._params = params

    def model_dump(self, **_: Any) -> dict[str, Any]:
        if self._params is None:
            return {"method": self._method}
        return {"method": self._method, "params": dict(self._params)}


class _Raw:
    """What `send_request` needs of a result type: the result stays a dict, unknown content kinds too."""

    @staticmethod
    def model_validate(value: dict[str, Any]) -> dict[str, Any]:
        return value


def _headers(spec: ServerSpec) -> dict[str, str]:
    headers = dict(spec.headers)
    if spec.api_key and not any(name.lower() == "authorization" for name in headers):
        headers["Authorization"] = f"Bearer {spec.api_key}"
    return headers


def _flatten(error: BaseException):
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _flatten(inner)
    else:
        yield error


@functools.cache
def _quieten_libraries() -> None:
    """They log URLs, session ids and bodies."""
    for name in ("httpx", "httpcore", "mcp", "client"):
        logger = logging.getLogger(name)
        if logger.level == logging.NOTSET:
            logger.setLevel(logging.WARNING)
    logging.getLogger("mcp.client").setLevel(logging.CRITICAL)
