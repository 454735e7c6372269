"""Event streams as the guard passes them on: checked event by event, each request answered once."""

import asyncio
import contextlib
import re
import time
from typing import TYPE_CHECKING, Any

import anyio
import httpx

from . import faults, rpc
from .errors import EngineError, ProtocolError, ResultTooLarge, SessionLost
from .sse import Decoder, Event

if TYPE_CHECKING:
    from .transport import Flight, GuardTransport

DRAIN_TIMEOUT = 0.05  # s, a drained response leaves its connection to the next request
POST_TIMEOUT = (
    0.1  # s, requests that are being sent when the stream ends may still learn their own fate
)
RESUME_DELAY = 20  # ms before a broken stream is resumed, where the server named no delay


class AnswerStream(httpx.AsyncByteStream):
    """The stream that answers one POST; ends with the answer, and never without one."""

    def __init__(
        self,
        guard: "GuardTransport",
        response: httpx.Response,
        request_id: rpc.Id,
        flight: "Flight",
    ):
        self._guard = guard
        self._response = response
        self._chunks = response.stream.__aiter__()
        self._id = request_id
        self._flight = flight
        self._ended = False
        self._event_id: str | None = None
        self._retry_known = False

    async def __aiter__(self):
        try:
            decoder = Decoder(self._guard.cap)
            size = 0
            while (chunk := await self._next()) is not None:
                size += len(chunk)
                if size > self._guard.cap:
                    raise ResultTooLarge(detail=f"a stream larger than {self._guard.cap} bytes")
                for event in decoder.feed(chunk):
                    message, answered = self._check(event)
                    yield message
                    if answered:
                        return
        except Exception as caught:
            error = faults.of_exception(caught)
        else:
            error = SessionLost("The connection ended before the MCP server had answered.")
        if self._flight.aborted or self._event_id is None or not isinstance(error, SessionLost):
            yield rpc.event(self._guard.fail(self._id, error))
            return
        self._guard.resumable[self._event_id] = self._id
        if not self._retry_known:
            yield Event(retry=RESUME_DELAY).encode()

    async def _next(self) -> bytes | None:
        try:
            return await self._flight.run(self._chunks.__anext__())
        except StopAsyncIteration:
            self._ended = True
            return None

    def _check(self, event: Event) -> tuple[bytes, bool]:
        if event.id:
            self._event_id = event.id
        self._retry_known = self._retry_known or event.retry is not None
        if event.event != "message" or not event.data:
            return Event(id=event.id, retry=event.retry).encode(), False
        message = rpc.parse(event.data)
        if isinstance(message, dict) and isinstance(message.get("method"), str):
            if "id" in message:
                self._guard.asked[str(message["id"])] = self._id
            event.data = rpc.dump(message).decode()
            return event.encode(), False
        event.data = rpc.dump(rpc.normal_answer(message, self._id)).decode()
        self._guard.flights.pop(self._id, None)
        return event.encode(), True

    async def aclose(self) -> None:
        if not self._ended and not self._flight.aborted:
            with anyio.move_on_after(DRAIN_TIMEOUT, shield=True), contextlib.suppress(Exception):
                left = 65_536
                while left > 0:
                    left -= len(await self._chunks.__anext__())
        with anyio.move_on_after(1, shield=True):
            await self._response.aclose()


class ListenStream(httpx.AsyncByteStream):
    """The stream of what a server says by itself. Events that are no messages are left out."""

    def __init__(self, guard: "GuardTransport", response: httpx.Response):
        self._guard = guard
        self._response = response

    async def __aiter__(self):
        begun = time.monotonic()
        decoder = Decoder(self._guard.cap)
        try:
            async for chunk in self._response.stream:
                for event in decoder.feed(chunk):
                    if event.event != "message" or not event.data:
                        yield Event(id=event.id, retry=event.retry).encode()
                        continue
                    message = rpc.parse(event.data)
                    if isinstance(message, dict) and isinstance(message.get("method"), str):
                        event.data = rpc.dump(message).decode()
                        yield event.encode()
        finally:
            self._guard.listen_ended(time.monotonic() - begun)

    async def aclose(self) -> None:
        with anyio.move_on_after(1, shield=True):
            await self._response.aclose()


class LegacyStream(httpx.AsyncByteStream):
    """The one stream of HTTP+SSE (2024-11-05) that carries every answer, and the faults of the POSTs."""

    def __init__(self, guard: "GuardTransport", on_lost):
        self.ended = False
        self._guard = guard
        self._on_lost = on_lost
        self._queue: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._room = asyncio.Semaphore(64)
        self._response: httpx.Response | None = None
        self._pump: asyncio.Task | None = None

    def open(self, response: httpx.Response) -> None:
        self._response = response
        self._pump = asyncio.get_running_loop().create_task(self._read())

    def inject(self, message: dict[str, Any]) -> None:
        self._queue.put_nowait(Event(rpc.dump(message).decode()).encode())

    async def __aiter__(self):
        while (item := await self._queue.get()) is not None:
            self._room.release()
            yield item

    async def _read(self) -> None:
        decoder = Decoder(self._guard.cap)
        try:
            async for chunk in self._response.stream:
                for event in decoder.feed(chunk):
                    if (passed := self._check(event)) is not None:
                        await self._room.acquire()
                        self._queue.put_nowait(passed)
            error: EngineError = SessionLost()
        except Exception as caught:
            error = faults.of_exception(caught)
        self.ended = True
        if self._on_lost:
            self._on_lost()
        await self._guard.posted(POST_TIMEOUT)
        for request_id in list(self._guard.flights):
            self.inject(self._guard.fail(request_id, error))
        self._queue.put_nowait(None)

    def _check(self, event: Event) -> bytes | None:
        if event.event == "endpoint":
            return event.encode()
        if event.event != "message" or not event.data:
            return None
        message = rpc.parse(event.data)
        if isinstance(message, dict) and isinstance(message.get("method"), str):
            event.data = rpc.dump(message).decode()
            return event.encode()
        request_id = self._asked(message, event.data)
        if request_id is None:
            return None
        try:
            event.data = rpc.dump(rpc.normal_answer(message, request_id)).decode()
            self._guard.flights.pop(request_id, None)
        except ProtocolError as error:
            event.data = rpc.dump(self._guard.fail(request_id, error)).decode()
        return event.encode()

    def _asked(self, message: Any, raw: str) -> rpc.Id | None:
        """Which request a message answers; a damaged one counts for the only request that there is."""
        flights = self._guard.flights
        if isinstance(message, dict):
            for request_id in flights:
                if rpc.is_for(message, request_id):
                    return request_id
        elif (match := re.search(r'"id"\s*:\s*"?(\d+)', raw)) and int(match[1]) in flights:
            return int(match[1])
        late = isinstance(message, dict) and str(message.get("id")) in self._guard.aborted
        return next(iter(flights)) if len(flights) == 1 and not late else None

    async def aclose(self) -> None:
        if self._pump:
            self._pump.cancel()
        if self._response is not None:
            with anyio.move_on_after(1, shield=True):
                await self._response.aclose()
