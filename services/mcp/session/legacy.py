"""Legacy sessions, revisions 2024-11-05 to 2025-11-25: a handshake, then a `ClientSession` of the MCP SDK."""

import asyncio
import contextlib
import functools
import logging
import os
from collections.abc import Mapping
from typing import Any

import anyio
import httpx

from ... import const, jsonrpc, text
from ...errors import (
    ConnectFailed,
    EngineError,
    ProtocolError,
    ServerError,
    ServerRefused,
    SessionExpired,
    SessionLost,
)
from ...large_result_bypass import LargeResultBypass
from ...net import faults
from ...sentence import _lt
from ..transport import stdio
from ..transport.guard import GuardTransport
from . import elicitation, logs
from .session import LOG, Request, ServerInfo, Session

CONNECTION_CLOSED = -32000  # mcp.types.CONNECTION_CLOSED
GOODBYE_TIMEOUT = 0.3  # s, for cancellations that are on their way when a session closes
LISTEN_TIMEOUT = 0.5  # s, for a server to open the stream on which it may ask
LEVEL_TIMEOUT = 2.0  # s, for a server to take the level of its log messages
NOTIFY_TIMEOUT = 1.0  # s, to hand a notification to the transport


class LegacySession(Session):
    era = "legacy"

    def __init__(self, *args: Any, **options: Any):
        self._guard: GuardTransport | None = None
        self._session: Any = None
        self._asking: dict[jsonrpc.Id, Request] = {}
        self._sent: dict[jsonrpc.Id, Request] = {}  # not answered yet
        self._log_level = ""  # that the server was told
        self._aside = LargeResultBypass()
        super().__init__(*args, **options)

    async def _open(self, stack: contextlib.AsyncExitStack) -> ServerInfo:
        create_session, ClientSession = await asyncio.to_thread(_load)
        if self._transport == "stdio":
            pair = await stack.enter_async_context(
                stdio.streams(self.spec, self._process, self._aside, self._intake())
            )
            session = ClientSession(*pair, **self._session_kwargs())
        else:
            session = create_session(self._connection())
        self._session = await stack.enter_async_context(session)
        self._answer_beside(self._session)
        hello = await self._session.initialize()
        if self._can_ask and self._guard and self._transport == "streamable_http":
            # A question that is asked before the stream is there would be lost with the call that waits for it.
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._guard.listening.wait(), LISTEN_TIMEOUT)
        return ServerInfo(
            transport=self._transport,
            protocol_version=str(hello.protocolVersion),
            name=text.one_line(hello.serverInfo.name, 200),
            version=text.one_line(hello.serverInfo.version, 100),
            instructions=text.instructions(hello.instructions),
            capabilities=hello.capabilities.model_dump(exclude_none=True),
        )

    async def _say_goodbye(self) -> None:
        """Cancellations that are on their way still reach the server."""
        if self._behind:
            await asyncio.wait(list(self._behind), timeout=GOODBYE_TIMEOUT)
        if self._guard:
            await self._guard.posted(GOODBYE_TIMEOUT)

    # ------------------------------------------------------------ connection

    def _connection(self) -> dict[str, Any]:
        """Arguments of `create_session`, which changes the dict it gets: so a new one each time."""
        return {
            "transport": self._transport,
            "url": self.spec.url,
            "headers": self.spec.request_headers,
            "timeout": self.spec.connect_timeout * 0.9,
            "sse_read_timeout": None,
            "httpx_client_factory": self._client,
            "session_kwargs": self._session_kwargs(),
        }

    def _session_kwargs(self) -> dict[str, Any]:
        from mcp.types import Implementation  # noqa: PLC0415

        return {
            "client_info": Implementation(name=const.CLIENT_NAME, version=const.CLIENT_VERSION),
            "message_handler": self._hear,
            "elicitation_callback": self._elicit if self._can_ask else None,
        }

    def _client(self, headers=None, timeout=None, auth=None):
        self._guard = GuardTransport(
            self._http_transport(),
            legacy=self._transport == "sse",
            on_lost=self.retire,
            aside=self._aside,
            intake=self._intake,
            on_log=self._logged,
        )
        return httpx.AsyncClient(
            headers={**(headers or {}), **const.HTTP_HEADERS},
            timeout=timeout,
            auth=auth,
            transport=self._guard,
            trust_env=False,
        )

    # ------------------------------------------------------------ what the server says by itself

    async def _hear(self, message: Any) -> None:
        """Runs in the receive loop: only passes the word on."""
        notification: Any = getattr(message, "root", None)
        method = getattr(notification, "method", None)
        if method == LOG:
            self._logged(None, notification.params.model_dump(exclude_none=True))
        self._heard(method)

    def _logged(self, request_id: jsonrpc.Id | None, params: Any) -> None:
        """Pass a log message on to its call: its stream tells, or there is no other.

        :param request_id: None where the stream is nobody's
        """
        if request_id is None and len(self._sent) == 1:
            (request_id,) = self._sent
        if request_id in self._sent:
            self._sent[request_id].logged(params, self._blotted)

    def _answer_beside(self, session: Any) -> None:
        """The SDK answers the server's requests in its receive loop; a person would hold up every call there."""
        answer = session._received_request

        async def answer_beside(responder: Any) -> None:
            self._spawn(answer(responder))

        session._received_request = answer_beside

    async def _elicit(self, context: Any, params: Any) -> Any:
        from mcp.types import ElicitResult  # noqa: PLC0415

        request = self._asker(context.request_id)
        if request is None:
            return ElicitResult(action="cancel")
        try:
            with request.paused():
                answer = await elicitation.elicit(
                    params.model_dump(by_alias=True), request.options.on_elicit
                )
        except ProtocolError:
            return ElicitResult(action="cancel")
        return ElicitResult.model_validate(answer)

    def _asker(self, asked_id: Any) -> Request | None:
        """The call that a question of the server belongs to: its stream tells, or there is only one."""
        call_id = self._guard.asked.pop(str(asked_id), None) if self._guard else None
        if call_id in self._asking:
            return self._asking[call_id]
        return next(reversed(self._asking.values()), None)

    # ------------------------------------------------------------ requests

    async def _send(self, request: Request) -> dict[str, Any]:
        async def progressed(progress: float, total: float | None, message: str | None) -> None:
            request.progressed(progress, total, message)

        if request.options.on_log:
            await self._let_log(request.options.log_level)
        request_id: jsonrpc.Id = self._session._request_id
        request.id = request_id
        if request.options.on_elicit:
            self._asking[request_id] = request
        self._sent[request_id] = request
        try:
            with self._aside.of(request_id) as held:
                result = await self._session.send_request(
                    _Request(request.method, request.params),
                    _Raw,
                    progress_callback=progressed if request.options.on_progress else None,
                )
                return held.get("result", result)
        finally:
            self._asking.pop(request_id, None)
            self._sent.pop(request_id, None)
            if self._guard:
                self._guard.forget_questions(request_id)

    async def _let_log(self, level: str) -> None:
        """Tell the server the level of its log messages; one that others want more of keeps theirs."""
        offers = (self.info.capabilities or {}).get("logging") is not None
        if not offers or (self._log_level and logs.is_as_severe(level, self._log_level)):
            return
        self._log_level = level
        request_id = self._session._request_id
        with contextlib.suppress(Exception):  # then the call tells what is wrong with the server
            async with asyncio.timeout(LEVEL_TIMEOUT):
                asked = _Request("logging/setLevel", {"level": level})
                await self._session.send_request(asked, _Raw)
        if self._guard:
            self._guard.faults.pop(request_id, None)

    def _error(self, request: Request, caught: BaseException) -> EngineError:
        fault = None
        if self._guard and request.id is not None:
            fault = self._guard.faults.pop(request.id, None)
        error = fault or self._rpc_error(caught) or faults.of_exception(caught)
        if isinstance(error, SessionExpired) or (isinstance(error, SessionLost) and not fault):
            self.broke = True
            self.retire()
        return error

    def _opening_error(self, caught: BaseException) -> EngineError:
        if error := next(iter(self._guard.faults.values()), None) if self._guard else None:
            return error
        for inner in faults.flatten(caught):
            if error := self._rpc_error(inner):
                return error
        return faults.of_exception(next(faults.flatten(caught)))

    def _rpc_error(self, caught: BaseException) -> ServerError | None:
        from mcp import McpError  # noqa: PLC0415

        if isinstance(caught, anyio.ClosedResourceError | anyio.BrokenResourceError):
            return SessionExpired(detail="the session was closed before the request was sent")
        if not isinstance(caught, McpError):
            return None
        error = caught.error
        if error.code == CONNECTION_CLOSED and error.message == "Connection closed":
            if not self._info:
                return ConnectFailed(
                    _lt("The program of this MCP server exited before it answered.")
                    if self.spec.command
                    else _lt("The MCP server closed the connection.")
                )
            # over HTTP+SSE the guard has named the fault of every request that it sent
            return SessionExpired() if self._transport == "sse" else SessionLost()
        return ServerRefused.of_rpc(error.code, error.message, error.data)

    def _abandon(self, request: Request, reason: str) -> None:
        """Tell the server that nobody waits any more (MCP 2025-11-25, basic/utilities/cancellation)."""
        if request.id is not None and not self._owner.done():
            self._spawn(self._cancel(request.id, reason))

    async def _cancel(self, request_id: jsonrpc.Id, reason: str) -> None:
        notification = _Request(
            "notifications/cancelled", {"requestId": request_id, "reason": reason}
        )
        with contextlib.suppress(Exception):
            await asyncio.wait_for(self._session.send_notification(notification), NOTIFY_TIMEOUT)
        if self._guard:
            self._guard.abort(request_id)
            self._guard.faults.pop(request_id, None)


class _Request:
    """Request for `send_request`: arguments go out as they are, unknown methods too."""

    def __init__(self, method: str, params: Mapping[str, Any] | None):
        self._method = method
        self._params = params

    def model_dump(self, **_: Any) -> dict[str, Any]:
        if self._params is None:
            return {"method": self._method}
        return {"method": self._method, "params": dict(self._params)}


class _Raw:
    """Result type for `send_request`: the result stays a dict, unknown content kinds too."""

    @staticmethod
    def model_validate(value: dict[str, Any]) -> dict[str, Any]:
        return value


@functools.cache
def _load() -> tuple[Any, Any]:
    """The adapters' way to open a session, and the SDK's; the first import takes a second, so not on the loop."""
    from langchain_mcp_adapters.sessions import create_session  # noqa: PLC0415
    from mcp import ClientSession  # noqa: PLC0415

    _quieten_libraries()
    return create_session, ClientSession


def _quieten_libraries() -> None:
    """Silence libraries that log URLs, session ids and bodies."""
    for name in ("httpx", "httpcore", "mcp", "client"):
        logger = logging.getLogger(name)
        if logger.level == logging.NOTSET:
            logger.setLevel(logging.WARNING)
    logging.getLogger("mcp.client").setLevel(logging.CRITICAL)
    logging.getLogger().addFilter(_is_not_of_the_sdk)


def _is_not_of_the_sdk(record: logging.LogRecord) -> bool:
    """False for a record of the SDK on the root logger, which no level of a library's logger silences."""
    import mcp  # noqa: PLC0415

    return not record.pathname.startswith(mcp.__path__[0] + os.sep)
