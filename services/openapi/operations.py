"""OpenAPI operations: performs those of an HTTP service that a document describes, through the egress guard."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import httpx

from .. import const, large, text
from ..errors import (
    AuthRequired,
    ConfigError,
    ConnectFailed,
    EngineError,
    ProtocolError,
    RateLimited,
    ResultTooLarge,
    ServerRefused,
    ServerTimeout,
    SessionLost,
)
from ..mcp.discovery import content
from ..net import faults
from ..net.egress import EgressPolicy
from ..net.http import body_of
from ..net.intake import Intake, TakenIn
from ..net.transport import EgressTransport
from ..sentence import _lt
from ..specs import OperationSpec
from . import loader
from .request import request_parts

MAX_MESSAGE = 300  # characters of a service's error message
TOO_LARGE = _lt("The service sent more data than is allowed.")
_CHARSETS = {
    *("utf-8", "utf8", "utf-16", "us-ascii", "ascii", "iso-8859-1", "iso-8859-15", "latin-1"),
    *(
        "windows-1252",
        "windows-1251",
        "gbk",
        "gb2312",
        "gb18030",
        "big5",
        "shift_jis",
        "euc-jp",
        "euc-kr",
    ),
}
USER_AGENT = f"{const.CLIENT_NAME}/{const.CLIENT_VERSION}"

_SENTENCES = {
    ConnectFailed: _lt("The service cannot be reached. Check its address."),
    ServerTimeout: _lt("The service did not answer in time."),
    SessionLost: _lt("The connection to the service was lost."),
    ProtocolError: _lt("The service's answer cannot be read."),
}


async def perform(
    operation: OperationSpec,
    arguments: Mapping[str, Any],
    policy: EgressPolicy,
    *,
    timeout: float,
    intake: Intake | None = None,
) -> dict[str, Any]:
    """Make the request. What the service said of it, also a 4xx, has the form of a ``CallToolResult``.

    :param arguments: in layers, see `openapi`
    :param timeout: seconds
    :param intake: through which a large answer comes
    :return: with ``_meta.status_code``
    :raises EngineError: it was not reached, refused our credentials, or is broken (5xx)
    """
    parts = request_parts(operation, arguments)
    try:
        async with _client(policy, timeout) as client:
            request = client.build_request(**parts)
            async with asyncio.timeout(timeout):
                response = await client.send(request, stream=True)
                response.stream = TakenIn(body_of(response), intake or Intake())
                body = await _read(response)
    except (httpx.HTTPError, OSError, TimeoutError) as error:
        raise _of_service(faults.of_exception(error)) from error
    _check(response, body)
    return await _result(response, body)


async def fetch(
    url: str, policy: EgressPolicy, *, timeout: float, cap: int = loader.MAX_DOCUMENT
) -> bytearray:
    """The bytes of a document, such as an OpenAPI description. Redirects are not followed.

    :param cap: bytes at most
    :raises EngineError: with a sentence
    """
    try:
        async with _client(policy, timeout) as client, asyncio.timeout(timeout):
            response = await client.send(client.build_request("GET", url), stream=True)
            body = await _read(response, cap)
    except (httpx.HTTPError, OSError, TimeoutError) as error:
        raise _of_service(faults.of_exception(error)) from error
    _check(response, body)
    if response.status_code != 200:
        raise ServerRefused(
            _lt(
                "There is no document at this address (HTTP %(status)s).",
                status=response.status_code,
            ),
            status=response.status_code,
        )
    return body


def _client(policy: EgressPolicy, timeout: float) -> httpx.AsyncClient:
    return httpx.AsyncClient(
        transport=EgressTransport(policy),
        timeout=httpx.Timeout(timeout, connect=min(timeout, const.CONNECT_TIMEOUT)),
        headers={
            "user-agent": USER_AGENT,
            "accept": "application/json, */*;q=0.5",
            "accept-encoding": "identity",  # what unpacks is as large as the cap allows
        },
        follow_redirects=False,
        trust_env=False,
    )


async def _read(response: httpx.Response, cap: int = const.WIRE_CAP) -> bytearray:
    body = bytearray()
    try:
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            raise ProtocolError(
                _lt("The service compresses its answers although it was asked not to.")
            )
        async for chunk in response.aiter_raw():
            body += chunk
            if len(body) > cap:
                raise ResultTooLarge(TOO_LARGE)
    finally:
        await response.aclose()
    return body


def _check(response: httpx.Response, body: bytearray) -> None:
    """:raises EngineError: the service is broken, or does not let us in"""
    status = response.status_code
    message = _error_text(body)
    detail = f"HTTP {status} {message}".strip()
    if status in (401, 403):
        raise AuthRequired(_lt("The service refused the credentials."), detail=detail)
    if status == 429:
        raise RateLimited(
            _lt("The service is receiving too many requests. Try again later."),
            detail=detail,
            retry_after=faults.retry_after(response.headers.get("retry-after")),
        )
    if status >= 500:
        sentence = _lt("The service answered with an error (HTTP %(status)s).", status=status)
        if message:
            sentence = _lt(
                "The service answered with an error (HTTP %(status)s): %(said)s",
                status=status,
                said=message,
            )
        raise ServerRefused(sentence, detail=detail, status=status)
    if 300 <= status < 400:
        raise ServerRefused(
            _lt("The address redirects elsewhere. Enter the final address."),
            detail=detail,
            status=status,
        )


async def _result(response: httpx.Response, body: bytearray) -> dict[str, Any]:
    status = response.status_code
    result: dict[str, Any] = {"isError": status >= 400, "_meta": {"status_code": status}}
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind.endswith("json"):
        parsed = await _parsed(body)
        if isinstance(parsed, dict):
            result["structuredContent"] = parsed
        is_kept = isinstance(parsed, dict) and len(body) > large.SMALL and status < 400
        written = ""
        if parsed is not None and not is_kept:  # else `content` writes it down
            written = await large.apply(large.dump, parsed, content.MAX_READ)
    elif kind.startswith("text/") or not kind or kind.endswith(("xml", "yaml")):
        written = await large.beside(_decoded, body, response.charset_encoding)
    else:
        written = f"[{text.one_line(kind, 80)}, {text.size(len(body))}: not readable here]"
    if result["isError"]:
        written = f"HTTP {status} {written}".strip()
    result["content"] = [{"type": "text", "text": written}] if written else []
    return result


async def _parsed(body: bytearray) -> Any:
    try:
        parsed = await large.parse(body)
    except ResultTooLarge as error:
        raise ResultTooLarge(TOO_LARGE, detail=error.detail) from error
    if parsed is None and body[:100].strip() not in (b"", b"null"):
        raise ProtocolError(_SENTENCES[ProtocolError], detail="broken JSON")
    return parsed


def _decoded(body: bytearray, charset: str | None) -> str:
    """The part of a text that is looked at. Some of Python's codecs take forever, so not each may be asked for."""
    charset = charset if charset and charset.lower() in _CHARSETS else "utf-8"
    written = body[: content.MAX_READ].decode(charset, "replace")
    return f"{written}\n[what follows was left out]" if len(body) > content.MAX_READ else written


def _error_text(body: bytearray) -> str:
    """The service's own words about an error, in one line."""
    try:
        parsed = json.loads(body[:20_000])
    except (ValueError, RecursionError):
        parsed = None
    if isinstance(parsed, Mapping):
        error = parsed.get("error")
        for message in (
            error.get("message") if isinstance(error, Mapping) else error,
            *(parsed.get(key) for key in ("message", "detail", "title")),
        ):
            if isinstance(message, str) and message:
                return text.one_line(message, MAX_MESSAGE)
        return ""
    plain = body[:2_000].decode("utf-8", "replace")
    return "" if plain.lstrip().startswith("<") else text.one_line(plain, MAX_MESSAGE)


def _of_service(error: EngineError) -> EngineError:
    if isinstance(error, ConfigError):
        return error
    kind = type(error)
    if kind in _SENTENCES and str(error) == kind.default_message:
        return kind(_SENTENCES[kind], detail=error.detail)
    return error
