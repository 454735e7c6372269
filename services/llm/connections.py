"""Kept connections: a step, and the next turn, find the line to the model's endpoint open.

A pool for each endpoint and key, so that databases and credentials share no connection.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import httpx

from ..net import http
from ..net.transport import ssl_context
from ..specs import LlmSpec

KEEPALIVE = 60.0  # s, an idle connection is kept; load balancers close theirs after 60 s and more
MAX_IDLE = 16  # connections of one endpoint that are kept
DRAIN_TIME = (
    0.25  # s for the last bytes behind an answer, without which a connection cannot be used again
)
DRAIN_CAP = 64 * 1024  # bytes of them
LAST = b"[DONE]"  # the last event of a stream that was read to its end
STALE = (httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError, httpx.CloseError)


class Connections:
    """Connections of one event loop."""

    def __init__(self) -> None:
        self._lines: dict[tuple, _Line] = {}
        self._closing: set[asyncio.Task] = set()

    @contextlib.asynccontextmanager
    async def open(self, spec: LlmSpec) -> AsyncIterator[httpx.AsyncBaseTransport]:
        """Lend the transport of an endpoint, which is kept for `KEEPALIVE` seconds after its last user."""
        key = (spec.database, spec.base_url, spec.api_key)
        if (line := self._lines.get(key)) is None:
            line = self._lines[key] = _Line()
        line.begin()
        try:
            yield line
        finally:
            line.end(lambda: self._forget(key))

    def _forget(self, key: tuple) -> None:
        if line := self._lines.pop(key, None):
            closing = asyncio.ensure_future(line.close())
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)

    async def close(self) -> None:
        lines, self._lines = list(self._lines.values()), {}
        for line in lines:
            await line.close()


class _Line(httpx.AsyncBaseTransport):
    """The connections to one endpoint. Clients that end leave them open; what nobody uses is closed after a while."""

    def __init__(self) -> None:
        limits = httpx.Limits(
            max_connections=None, max_keepalive_connections=MAX_IDLE, keepalive_expiry=KEEPALIVE
        )
        self._inner = httpx.AsyncHTTPTransport(verify=ssl_context(), trust_env=False, limits=limits)
        self._users = 0
        self._timer: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        self._users += 1
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def end(self, forget) -> None:
        self._users -= 1
        if not self._users:
            self._timer = asyncio.get_running_loop().call_later(KEEPALIVE, forget)

    async def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        await self._inner.aclose()

    async def aclose(self) -> None:
        """Do nothing: a client that ends leaves the line open."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """An endpoint may close a kept connection at any time: what met one is sent again on another one.

        A request for an answer has no effect there, so it may be sent twice.
        """
        is_new = False

        async def trace(event: str, _info: dict) -> None:
            nonlocal is_new
            is_new = is_new or event.startswith("connection.connect_tcp")

        request.extensions["trace"] = trace
        while True:
            try:
                response = await self._inner.handle_async_request(request)
            except STALE:
                if is_new:
                    raise
            else:
                response.stream = _Drained(http.body_of(response))
                return response


class _Drained(httpx.AsyncByteStream):
    """Stream that is read to its end: readers of an answer stop at its last event, and HTTP goes on behind it."""

    def __init__(self, inner: httpx.AsyncByteStream):
        self._inner = inner
        self._parts = aiter(inner)
        self._tail = b""

    def __aiter__(self):
        return self

    async def __anext__(self) -> bytes:
        part = await anext(self._parts)
        self._tail = (self._tail + part)[-2 * len(LAST) :]
        return part

    async def aclose(self) -> None:
        try:
            if LAST in self._tail:
                with contextlib.suppress(TimeoutError, httpx.HTTPError):
                    async with asyncio.timeout(DRAIN_TIME):
                        await self._drain()
        finally:
            await self._inner.aclose()

    async def _drain(self) -> None:
        left = DRAIN_CAP
        async for part in self._parts:
            left -= len(part)
            if left < 0:
                return
