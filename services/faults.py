"""What a fault of the HTTP transport means: the one place that names it in the engine's own errors."""

import datetime
import email.utils
import json
import socket
import ssl
from typing import Any

import httpx

from . import rpc, text
from .errors import (
    AuthRequired,
    ConnectFailed,
    EngineError,
    ProtocolError,
    RateLimited,
    ServerRefused,
    ServerTimeout,
    SessionExpired,
    SessionLost,
)

CONNECT_TIMEOUT = "The connection timed out. Check the server's address."
MAX_RETRY_AFTER = 3_600.0  # s, a longer wait that a server asks for counts as this


def of_exception(error: BaseException) -> EngineError:
    """The typed error for whatever a transport raised."""
    for cause in _chain(error):
        if isinstance(cause, EngineError):
            return cause
        if isinstance(cause, ssl.SSLError):
            return ConnectFailed(
                "The certificate of the MCP server is not valid.",
                detail=text.one_line(str(cause), 300),
            )
    detail = f"{type(error).__name__}: {text.one_line(str(error), 300)}"
    if isinstance(error, httpx.ConnectTimeout):
        return ConnectFailed(CONNECT_TIMEOUT, detail=detail)
    if isinstance(error, httpx.ConnectError | httpx.PoolTimeout):
        return ConnectFailed(_why_not_connected(error), detail=detail)
    if isinstance(error, httpx.TimeoutException | TimeoutError):
        return ServerTimeout(detail=detail)
    if isinstance(error, httpx.UnsupportedProtocol | httpx.InvalidURL | httpx.LocalProtocolError):
        return ConnectFailed(detail=detail)
    if isinstance(error, httpx.TransportError | OSError | EOFError):
        return SessionLost(detail=detail)
    return ProtocolError(detail=detail)


def _why_not_connected(error: BaseException) -> str:
    """A sentence for the commonest causes, else ``""``."""
    for cause in _chain(error):
        if isinstance(cause, ConnectionRefusedError):
            return "The connection failed: nothing listens at this address and port."
        if isinstance(cause, socket.gaierror):
            return "The connection failed: the name of the host is not known."
    return ""


def of_response(
    status: int, headers: httpx.Headers, body: bytes, *, in_session: bool
) -> EngineError:
    """The typed error for an HTTP answer that is not a success.

    :param body: the first bytes, only for the log and to see why a session was refused
    :param in_session: the request named a session; 404 and many a 400 then mean that it is over, also
        because the server speaks another revision now
    """
    said = _message(body)
    detail = f"HTTP {status} {said}".strip()
    if 200 <= status < 300:
        return ProtocolError(
            "The MCP server accepted the request without answering it.", detail=detail
        )
    if status in (401, 403):
        return AuthRequired(detail=f"{detail} {headers.get('www-authenticate', '')}".strip())
    if status == 429:
        return RateLimited(detail=detail, retry_after=retry_after(headers.get("retry-after")))
    if in_session and (
        status == 404
        or (status == 400 and ("session" in said.lower() or _code(body) in rpc.MODERN_ERRORS))
    ):
        return SessionExpired(detail=detail)
    if 300 <= status < 400:
        return ServerRefused(
            "The address redirects to another place. Enter the final address.",
            detail=f"{detail} to {text.one_line(headers.get('location', ''), 300)}",
            status=status,
        )
    if status == 404:
        return ServerRefused(
            "There is no MCP server at this address (HTTP 404). Check the path.",
            detail=detail,
            status=status,
        )
    return ServerRefused(
        f"The MCP server answered with an error (HTTP {status}).", detail=detail, status=status
    )


def retry_after(value: str | None) -> float | None:
    """Seconds that a Retry-After header asks for (RFC 9110, 10.2.3: seconds or a date)."""
    if not value:
        return None
    if value.strip().isdecimal():
        seconds = float(value.strip()[:9])
    else:
        try:
            moment = email.utils.parsedate_to_datetime(value)
        except ValueError:
            return None
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=datetime.UTC)
        seconds = (moment - datetime.datetime.now(datetime.UTC)).total_seconds()
    return min(max(seconds, 0.0), MAX_RETRY_AFTER)


def _code(body: bytes) -> Any:
    parsed = rpc.parse(body)
    error = parsed.get("error") if isinstance(parsed, dict) else None
    return error.get("code") if isinstance(error, dict) else None


def _message(body: bytes) -> str:
    try:
        parsed: Any = json.loads(body)
        return text.one_line(str(parsed["error"]["message"]), 300)
    except (ValueError, LookupError, TypeError, RecursionError):
        return text.one_line(body.decode("utf-8", "replace"), 300)


def flatten(error: BaseException):
    """The exceptions of a group, and of the groups in it."""
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from flatten(inner)
    else:
        yield error


def _chain(error: BaseException | None):
    seen = 0
    while error is not None and seen < 20:
        if isinstance(error, BaseExceptionGroup):
            for inner in error.exceptions:
                yield from _chain(inner)
        yield error
        error = error.__cause__ or error.__context__
        seen += 1
