"""HTTP fault mapping: the one place that names a transport's fault in the engine's own errors."""

import datetime
import email.utils
import json
import re
import socket
import ssl
from typing import Any

import httpcore
import httpx

from .. import jsonrpc, text
from ..errors import (
    AuthRequired,
    ConnectFailed,
    EngineError,
    HostUnreachable,
    PackageMissing,
    ProtocolError,
    RateLimited,
    ServerRefused,
    ServerTimeout,
    SessionExpired,
    SessionLost,
)
from ..sentence import _lt
from ..specs import ServerSpec

CONNECT_TIMEOUT = _lt("The connection timed out. Check the server's address.")
BAD_HEADER = _lt(
    "The key or a header for this server contains a character that cannot be sent. Enter it again."
)
NOT_LISTENING = _lt("The connection failed: no service is listening at this address and port.")
START_TIMEOUT = _lt(
    "The program of this MCP server did not start in time. The operator can increase start_timeout."
)
MAX_RETRY_AFTER = 3_600.0  # s, a longer wait that a server asks for counts as this


def of_exception(error: BaseException) -> EngineError:
    """The typed error for whatever a transport raised.

    :param error: of httpx, httpcore, anyio, the SDK or our own; also a group of them
    """
    for cause in chain(error):
        if isinstance(cause, EngineError):
            return cause
        if isinstance(cause, ImportError):
            return PackageMissing(cause.name or str(cause))
    if isinstance(error, httpx.LocalProtocolError):
        # Its text repeats the header, and with it the key.
        is_header = str(error).startswith("Illegal header")
        return ConnectFailed(BAD_HEADER if is_header else "", detail=type(error).__name__)
    detail = f"{type(error).__name__}: {text.one_line(str(error), 300)}"
    if isinstance(error, httpx.ConnectTimeout):
        return ConnectFailed(CONNECT_TIMEOUT, detail=detail)
    if tls := _tls_problem(error):
        return tls
    if isinstance(error, httpx.ConnectError | httpx.PoolTimeout):
        if any(isinstance(cause, socket.gaierror | UnicodeError) for cause in chain(error)):
            return HostUnreachable(detail=detail)
        return ConnectFailed(_why_not_connected(error), detail=detail)
    if isinstance(error, httpx.TimeoutException | TimeoutError):
        return ServerTimeout(detail=detail)
    if isinstance(error, httpx.UnsupportedProtocol | httpx.InvalidURL):
        return ConnectFailed(detail=detail)
    if isinstance(error, httpx.TransportError | OSError | EOFError):
        return SessionLost(detail=detail)
    return ProtocolError(detail=detail)


def not_opened_in_time(spec: ServerSpec) -> str:
    """Sentence for a server that did not open a session within ``spec.connect_timeout``."""
    return START_TIMEOUT if spec.command else CONNECT_TIMEOUT


def _tls_problem(error: BaseException) -> ConnectFailed | None:
    """A handshake that failed, so nothing was sent."""
    causes = list(chain(error))
    is_connecting = any(
        isinstance(cause, httpx.ConnectError | httpcore.ConnectError | ssl.SSLCertVerificationError)
        for cause in causes
    )
    tls = next((cause for cause in causes if isinstance(cause, ssl.SSLError)), None)
    if not (is_connecting and tls):
        return None
    return ConnectFailed(
        _lt("The certificate of the server is not valid."), detail=text.one_line(str(tls), 300)
    )


def _why_not_connected(error: BaseException) -> str:
    """A sentence for the commonest cause, else ``""``."""
    for cause in chain(error):
        if isinstance(cause, ConnectionRefusedError):
            return NOT_LISTENING
    return ""


def of_response(
    status: int, headers: httpx.Headers, body: bytes, *, in_session: bool
) -> EngineError:
    """The typed error for an HTTP answer that is not a success.

    :param body: the first bytes, only for the log and to see why a session was refused
    :param in_session: the request named a session; 404 and many a 400 then mean that it is over, also
        because the server speaks another revision now
    """
    message = _message(body)
    detail = f"HTTP {status} {message}".strip()
    if 200 <= status < 300:
        return ProtocolError(
            _lt("The MCP server accepted the request but did not answer it."), detail=detail
        )
    if status in (401, 403):
        challenge = headers.get("www-authenticate", "")
        is_explained = status == 403 and message and not (challenge or message.startswith("<"))
        sentence = _lt("The MCP server denied access: %(said)s", said=message)
        return AuthRequired(
            sentence if is_explained else "", detail=f"{detail} {challenge}".strip()
        )
    if status == 429:
        return RateLimited(detail=detail, retry_after=retry_after(headers.get("retry-after")))
    if in_session and (status == 404 or (status == 400 and _was_not_taken(message, body))):
        return SessionExpired(detail=detail)
    if 300 <= status < 400:
        return ServerRefused(
            _lt("The address redirects elsewhere. Enter the final address."),
            detail=f"{detail} to {text.one_line(headers.get('location', ''), 300)}",
            status=status,
        )
    if status == 404:
        return ServerRefused(
            _lt("There is no MCP server at this address (HTTP 404). Check the path."),
            detail=detail,
            status=status,
        )
    return ServerRefused(
        _lt("The MCP server answered with an error (HTTP %(status)s).", status=status),
        detail=detail,
        status=status,
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


# What the transports of common SDKs and their examples say, each as a whole, before a request is taken.
_NO_SESSION = re.compile(
    r"(bad request: )?"
    r"((no valid|invalid|missing|unknown) session id( provided)?"
    r"|session( id)? (not found|is missing|missing)"
    r"|mcp-session-id header is required"
    r"|server not initialized)\W*",
    re.IGNORECASE,
)


def _was_not_taken(sentence: str, body: bytes) -> bool:
    """True if a refusal in a session proves that the request was not carried out."""
    parsed = jsonrpc.parse(body)
    message = parsed if isinstance(parsed, dict) else {}
    error = message.get("error")
    if isinstance(error, dict) and error.get("code") in jsonrpc.MODERN_ERRORS:
        return True
    # an answer to the request itself, though an error, comes from behind the transport
    return message.get("id") in (None, "server-error") and bool(_NO_SESSION.fullmatch(sentence))


def _message(body: bytes) -> str:
    try:
        parsed: Any = json.loads(body)
        return text.one_line(str(parsed["error"]["message"]), 300)
    except (ValueError, LookupError, TypeError, RecursionError):
        return text.one_line(body.decode("utf-8", "replace"), 300)


def flatten(error: BaseException):
    """The exceptions of a group, and of the groups in it; any other `error` is its own only one."""
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from flatten(inner)
    else:
        yield error


def chain(error: BaseException | None):
    """The exception and what caused it, 20 at most; none of an `error` that is None."""
    seen = 0
    while error is not None and seen < 20:
        if isinstance(error, BaseExceptionGroup):
            for inner in error.exceptions:
                yield from chain(inner)
        yield error
        error = error.__cause__ or error.__context__
        seen += 1
