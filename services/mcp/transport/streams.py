"""SSE streams as the guard passes them on: checked event by event, each request answered once."""

import asyncio
import contextlib
import math
import time
from collections.abc import AsyncIterator
from typing import Any

import anyio
import httpx

from ... import jsonrpc, large
from ...errors import EngineError, ProtocolError, ResultTooLarge, SessionLost
from ...net import faults, http
from ...net.sse import Decoder, Event
from ...sentence import _lt
from .flight import Flight, Guard
from .noise import Noise

DRAIN_TIMEOUT = 0.05  # s, a drained response leaves its connection to the next request
POST_TIMEOUT = (
    0.1  # s, requests that are being sent when the stream ends may still learn their own fate
)
RESUME_DELAY = 20  # ms before a broken stream is resumed, where the server named no delay
BREATH = 50  # events after which the loop looks after others


async def events(decoder: Decoder, chunk: bytes) -> AsyncIterator[Event]:
    """The events that a chunk completes; the loop goes on between them, however many they are.

    :param chunk: bytes as they came
    """
    for number, event in enumerate(decoder.feed(chunk), 1):
        yield event
        if not number % BREATH:
            await asyncio.sleep(0)


class AnswerStream(httpx.AsyncByteStream):
    """The stream that answers one POST; ends with the answer, and never without one."""

    def __init__(
        self,
        guard: Guard,
        response: httpx.Response,
        request_id: jsonrpc.Id,
        flight: Flight,
    ):
        self._guard = guard
        self._response = response
        self._chunks = http.chunks(response)
        self._id = request_id
        self._flight = flight
        self._ended = False
        self._noise = Noise(guard.cap)
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
                async for event in events(decoder, chunk):
                    message, answered = await self._check(event)
                    if message:
                        yield message
                    if answered:
                        return
        except Exception as caught:
            error = faults.of_exception(caught)
        else:
            error = SessionLost(_lt("The connection was closed before the MCP server answered."))
        if self._flight.aborted or self._event_id is None or not isinstance(error, SessionLost):
            yield jsonrpc.event(self._guard.fail(self._id, error))
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

    async def _check(self, event: Event) -> tuple[bytes, bool]:
        if event.id:
            self._event_id = event.id
        self._retry_known = self._retry_known or event.retry is not None
        size = len(event.data)
        if event.event != "message" or not size:
            event.data = b""
            return Event(id=event.id, retry=event.retry).encode(), False
        message = await large.parse(event.data)
        if isinstance(message, dict) and isinstance(message.get("method"), str):
            is_log = message["method"] == "notifications/message"
            passes = self._noise.passes(size)
            if passes and is_log:
                self._guard.on_log(self._id, message.get("params"))
            if is_log or not passes:
                event.data = b""  # its id stays: the stream is resumed from there
                return event.encode(), False
            if message["method"] == "elicitation/create":
                self._guard.note_question(message.get("id"), self._id)
            event.data = jsonrpc.dump(message)
            return event.encode(), False
        answer = jsonrpc.normal_answer(message, self._id)
        event.data = jsonrpc.dump(self._guard.aside.without_large(answer, size))
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

    def __init__(self, guard: Guard, response: httpx.Response):
        self._guard = guard
        self._response = response

    async def __aiter__(self):
        begun = time.monotonic()
        decoder, noise = Decoder(large.SMALL), Noise(math.inf)
        try:
            async for chunk in http.chunks(self._response):
                async for event in events(decoder, chunk):
                    if event.event != "message" or not event.data:
                        yield Event(id=event.id, retry=event.retry).encode()
                    elif noise.passes(len(event.data)):
                        message = jsonrpc.parse(event.data)
                        if isinstance(message, dict) and isinstance(message.get("method"), str):
                            event.data = jsonrpc.dump(message)
                            yield event.encode()
        finally:
            self._guard.listen_ended(time.monotonic() - begun)

    async def aclose(self) -> None:
        with anyio.move_on_after(1, shield=True):
            await self._response.aclose()


class LegacyStream(httpx.AsyncByteStream):
    """The one stream of HTTP+SSE (2024-11-05) that carries every answer, and the faults of the POSTs."""

    def __init__(self, guard: Guard, on_lost):
        self.ended = False
        self._guard = guard
        self._on_lost = on_lost
        self._queue: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._permits = asyncio.Semaphore(64)
        self._noise = Noise(guard.cap)
        self._response: httpx.Response | None = None
        self._pump: asyncio.Task | None = None

    def open(self, response: httpx.Response) -> None:
        """Begin to read the one stream of an HTTP+SSE session.

        :param response: of its GET
        """
        self._response = response
        self._pump = asyncio.get_running_loop().create_task(self._read(response))

    def inject(self, message: dict[str, Any]) -> None:
        """Put a message among those of the server.

        :param message: JSON-RPC
        """
        self._queue.put_nowait(Event(jsonrpc.dump(message)).encode())

    async def __aiter__(self):
        while (item := await self._queue.get()) is not None:
            self._permits.release()
            yield item

    async def _read(self, response: httpx.Response) -> None:
        decoder, intake = Decoder(self._guard.cap), self._guard.intake()
        try:
            async for chunk in http.chunks(response):
                async for event in events(decoder, chunk):
                    if (passed := await self._check(event)) is not None:
                        await self._permits.acquire()
                        self._queue.put_nowait(passed)
                await intake.grow(decoder.size)
            error: EngineError = SessionLost()
        except Exception as caught:
            error = faults.of_exception(caught)
        finally:
            intake.end()
        self.ended = True
        if self._on_lost:
            self._on_lost()
        await self._guard.posted(POST_TIMEOUT)
        for request_id in list(self._guard.flights):
            self.inject(self._guard.fail(request_id, error))
        self._queue.put_nowait(None)

    async def _check(self, event: Event) -> bytes | None:
        size = len(event.data)
        if event.event == "endpoint":
            return event.encode() if size <= large.SMALL else None
        if event.event != "message" or not size:
            return None
        try:
            message = await large.parse(event.data)
        except ResultTooLarge as error:
            return self._failed(self._request_of(None, event.data), error)
        if isinstance(message, dict) and isinstance(message.get("method"), str):
            if not self._noise.passes(size):
                return None
            event.data = jsonrpc.dump(message)
            return event.encode()
        self._noise.answered()
        request_id = self._request_of(message, event.data)
        if request_id is None:
            return None
        try:
            answer = jsonrpc.normal_answer(message, request_id)
            event.data = jsonrpc.dump(self._guard.aside.without_large(answer, size))
            self._guard.flights.pop(request_id, None)
        except (ProtocolError, ResultTooLarge) as error:
            return self._failed(request_id, error)
        return event.encode()

    def _failed(self, request_id: jsonrpc.Id | None, error: EngineError) -> bytes | None:
        if request_id is None:
            return None
        return Event(jsonrpc.dump(self._guard.fail(request_id, error))).encode()

    def _request_of(self, message: Any, raw: bytes | bytearray) -> jsonrpc.Id | None:
        """The request that a message answers; a damaged one counts for the only request that there is."""
        flights = self._guard.flights
        if isinstance(message, dict):
            for request_id in flights:
                if jsonrpc.is_for(message, request_id):
                    return request_id
        elif (match := jsonrpc.ID.search(raw, 0, large.SMALL)) and int(match[1]) in flights:
            return int(match[1])
        late = isinstance(message, dict) and str(message.get("id")) in self._guard.aborted
        return next(iter(flights)) if len(flights) == 1 and not late else None

    async def aclose(self) -> None:
        if self._pump:
            self._pump.cancel()
        if self._response is not None:
            with anyio.move_on_after(1, shield=True):
                await self._response.aclose()
