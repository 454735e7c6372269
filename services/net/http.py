"""HTTP helpers for MCP clients: redirects within the origin, capped bodies, refusals as typed errors."""

import contextlib
from collections.abc import AsyncIterator
from typing import Any, cast

import anyio
import httpx

from ..errors import EngineError, ProtocolError, ResultTooLarge
from ..sentence import _lt
from . import faults

ERROR_BODY = 2_000  # bytes of an error's body that are read
ERROR_BODY_TIMEOUT = 0.05  # s
DRAIN_TIMEOUT = 0.05  # s
MAX_REDIRECTS = 5  # requests in a row


async def send(inner: httpx.AsyncBaseTransport, request: httpx.Request) -> httpx.Response:
    """Send a request and follow redirects that keep origin and method; any other is the answer.

    :param inner: transport that the request goes through
    :return: a response whose body is not read
    """
    for _ in range(MAX_REDIRECTS):
        response = await inner.handle_async_request(request)
        target = _redirect(request, response)
        if target is None:
            break
        await response.aclose()
        request = httpx.Request(
            request.method,
            target,
            headers=request.headers,
            content=await request.aread() or None,
            extensions=request.extensions,
        )
    return response


async def read(response: httpx.Response, cap: int) -> bytearray:
    """:raises ResultTooLarge: the body has more than `cap` bytes"""
    body = bytearray()
    try:
        async for chunk in chunks(response):
            body += chunk
            if len(body) > cap:
                raise ResultTooLarge(detail=f"an answer larger than {cap} bytes")
    finally:
        await response.aclose()
    return body


async def drain(response: httpx.Response) -> None:
    """Read what little is left behind an answer, so that its connection serves the next request.

    :param response: its caller closes it
    """
    with anyio.move_on_after(DRAIN_TIMEOUT, shield=True), contextlib.suppress(Exception):
        left = 65_536
        async for chunk in chunks(response):
            left -= len(chunk)
            if left <= 0:
                break


async def error_body(response: httpx.Response) -> bytes:
    """The first bytes of a refusal, read in a moment whatever the server does; the response is closed then.

    :return: `ERROR_BODY` bytes at most
    """
    body = bytearray()
    with anyio.move_on_after(ERROR_BODY_TIMEOUT), contextlib.suppress(httpx.TransportError):
        async for chunk in chunks(response):
            body += chunk
            if len(body) >= ERROR_BODY:
                break
    with anyio.move_on_after(ERROR_BODY_TIMEOUT, shield=True):
        await response.aclose()
    return bytes(body[:ERROR_BODY])


async def refusal(response: httpx.Response, *, in_session: bool) -> EngineError:
    """The typed error for a response that is not 200, its body read and closed.

    :param in_session: a session was named, so 404 means that it has ended
    """
    body = await error_body(response)
    return faults.of_response(response.status_code, response.headers, body, in_session=in_session)


async def check_encoding(response: httpx.Response) -> None:
    """:raises ProtocolError: the body is compressed, so its size on the wire says nothing"""
    if response.headers.get("content-encoding", "identity").lower() != "identity":
        await response.aclose()
        raise ProtocolError(
            _lt("The MCP server compresses its answers although it was asked not to.")
        )


def is_stream(response: httpx.Response) -> bool:
    """True if the body of `response` is a stream of events."""
    return content_type(response).startswith("text/event-stream")


def is_json(response: httpx.Response) -> bool:
    """True if the body of `response` is JSON."""
    return content_type(response).startswith("application/json")


def content_type(response: httpx.Response) -> str:
    """Content type of `response` in lower case, empty if it says none."""
    return response.headers.get("content-type", "").lower()


def body_of(response: httpx.Response) -> httpx.AsyncByteStream:
    """Body of `response` as an asynchronous transport gives it; httpx types it for both kinds."""
    return cast(httpx.AsyncByteStream, response.stream)


def chunks(response: httpx.Response) -> AsyncIterator[bytes]:
    """Bytes of the body of `response` as they come."""
    return aiter(body_of(response))


def with_body(response: httpx.Response, request: httpx.Request, **body: Any) -> httpx.Response:
    """The same response with another body.

    :param body: ``content``, ``json`` or ``stream`` of `httpx.Response`
    """
    headers = [
        (name, value)
        for name, value in response.headers.multi_items()
        if name.lower() not in ("content-length", "transfer-encoding")
    ]
    return httpx.Response(
        response.status_code,
        headers=headers,
        request=request,
        extensions=response.extensions,
        **body,
    )


def _redirect(request: httpx.Request, response: httpx.Response) -> httpx.URL | None:
    """Target of a redirect, if it stays at this origin and the request stays what it is."""
    if response.status_code not in (307, 308) and (
        request.method != "GET" or response.status_code // 100 != 3
    ):
        return None
    try:
        target = request.url.join(response.headers["location"])
    except (KeyError, httpx.InvalidURL):
        return None
    origin = (request.url.scheme, request.url.host, request.url.port)
    return (
        target
        if (target.scheme, target.host, target.port) == origin and not target.userinfo
        else None
    )
