"""Transport guard between an MCP client and HTTP: what happens on the line ends only the one request it hit.

The client of the MCP SDK waits for a JSON-RPC answer to each request and has no way to fail a single one:
an HTTP error, broken JSON or a cut stream leaves the caller waiting or ends the whole session. The guard
sits below it as an httpx transport and gives every request exactly one answer. Where the server did
not, it writes a JSON-RPC error itself and keeps the typed error in `faults` for the caller.
"""

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

import anyio
import httpx

from ... import const, jsonrpc, large
from ...errors import EngineError, ProtocolError, ServerTimeout, SessionLost
from ...large_result_bypass import LargeResultBypass
from ...net import faults, http
from ...net.intake import Intake, TakenIn
from .flight import Aborted, Flight
from .streams import AnswerStream, LegacyStream, ListenStream

CLOSE_TIMEOUT = 1.0  # s, the DELETE that ends a session
NOTIFY_TIMEOUT = 5.0  # s, a notification that must arrive before the next message
MAX_ASKED = 10  # questions of one request that wait for an answer; what exceeds it is taken for the latest call's
MAX_ASKED_ID = 200  # characters
SHORT_LISTENS = 3  # streams in a row that end at once, then the server is not listened to any more


class GuardTransport(httpx.AsyncBaseTransport):
    """:param inner: the transport that connects
    :param cap: bytes of one answer
    :param legacy: HTTP+SSE of 2024-11-05, where all answers come on one stream
    :param on_lost: called when that stream ends
    :param aside: where large results go
    :param intake: makes one for an answer
    :param on_log: called with a request's id and params of a log message on its stream
    """

    def __init__(
        self,
        inner: httpx.AsyncBaseTransport,
        *,
        cap: int = const.WIRE_CAP,
        legacy: bool = False,
        on_lost=None,
        aside: LargeResultBypass | None = None,
        intake: Callable[[], Intake] = Intake,
        on_log: Callable[[jsonrpc.Id, Any], None] = lambda _request_id, _params: None,
    ):
        self.cap = cap
        self.aside = aside or LargeResultBypass()
        self.intake = intake
        self.on_log = on_log
        self.faults: dict[jsonrpc.Id, EngineError] = {}
        self.flights: dict[jsonrpc.Id, Flight] = {}
        self.aborted: set[str] = set()
        self.resumable: dict[str, jsonrpc.Id] = {}
        # question of the server -> request on whose stream it came
        self.asked: dict[str, jsonrpc.Id] = {}
        self._inner = inner
        self._legacy = LegacyStream(self, on_lost) if legacy else None
        self._behind: set[asyncio.Task] = set()
        self._short_listens = 0
        self.listening = asyncio.Event()  # the server has answered the GET, whatever it said

    # ------------------------------------------------------------ for the session

    def abort(self, request_id: jsonrpc.Id) -> None:
        """Stop working for this request; its connection is closed."""
        if flight := self.flights.get(request_id):
            flight.abort()
        if self._legacy:
            self.aborted.add(str(request_id))
            self.flights.pop(request_id, None)

    def fail(self, request_id: jsonrpc.Id, error: EngineError) -> dict[str, Any]:
        """Remember why the request failed. Returns the JSON-RPC error that stands for it."""
        self.faults[request_id] = error
        self.flights.pop(request_id, None)
        return jsonrpc.error(request_id, str(error))

    def note_question(self, asked_id: Any, request_id: jsonrpc.Id) -> None:
        asked = str(asked_id)
        waiting = list(self.asked.values()).count(request_id)
        if len(asked) <= MAX_ASKED_ID and waiting < MAX_ASKED:
            self.asked[asked] = request_id

    def forget_questions(self, request_id: jsonrpc.Id) -> None:
        """Drop what the server has asked for a request that has ended."""
        self.asked = {asked: by for asked, by in self.asked.items() if by != request_id}

    # ------------------------------------------------------------ httpx

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if request.method == "POST":
            message = jsonrpc.parse(await request.aread())
            request_id = (
                message.get("id") if isinstance(message, dict) and "method" in message else None
            )
            method = message.get("method", "") if isinstance(message, dict) else ""
            if request_id is None:
                return await self._notify(request, method)
            if self._legacy:
                if not self._legacy.ended:
                    self.flights[request_id] = Flight()
                    self._spawn(self._post_behind(request, request_id))
                return httpx.Response(202, request=request)
            return await self._request(request, request_id)
        if request.method == "GET":
            try:
                return await self._get(request)
            finally:
                self.listening.set()
        return await self._end(request)

    async def aclose(self) -> None:
        for task in self._behind:
            task.cancel()
        await self._inner.aclose()

    # ------------------------------------------------------------ requests

    async def _request(self, request: httpx.Request, request_id: jsonrpc.Id) -> httpx.Response:
        flight = self.flights[request_id] = Flight()
        try:
            response = await flight.run(http.send(self._inner, request))
            if response.status_code != 200:
                raise await http.refusal(response, in_session="mcp-session-id" in request.headers)
            return await self._answer(request, response, request_id, flight)
        except Aborted:
            error: EngineError = ServerTimeout()
        except Exception as caught:
            error = faults.of_exception(caught)
        return httpx.Response(200, json=self.fail(request_id, error), request=request)

    async def _answer(
        self,
        request: httpx.Request,
        response: httpx.Response,
        request_id: jsonrpc.Id,
        flight: Flight,
    ) -> httpx.Response:
        await http.check_encoding(response)
        response.stream = TakenIn(http.body_of(response), self.intake())
        if http.is_stream(response):
            stream = AnswerStream(self, response, request_id, flight)
            return http.with_body(response, request, stream=stream)
        if http.is_json(response):
            body = await flight.run(http.read(response, self.cap))
            answer = jsonrpc.answer_in(await large.parse(body), request_id)
            content = jsonrpc.dump(self.aside.without_large(answer, len(body)))
            self.flights.pop(request_id, None)
            return http.with_body(response, request, content=content)
        await response.aclose()
        raise ProtocolError(detail=f"content type {http.content_type(response)[:100]!r}")

    # ------------------------------------------------------------ everything else

    async def _notify(self, request: httpx.Request, method: str) -> httpx.Response:
        """A notification or an answer of ours: its failure is nobody's, so it must not end the session."""
        if method == "notifications/initialized":
            with anyio.move_on_after(NOTIFY_TIMEOUT):
                await self._send_only(request)
        else:
            self._spawn(self._send_only(request))
        return httpx.Response(202, request=request)

    async def _send_only(self, request: httpx.Request) -> None:
        with contextlib.suppress(Exception), anyio.move_on_after(NOTIFY_TIMEOUT):
            await http.refusal(await http.send(self._inner, request), in_session=False)

    async def _post_behind(self, request: httpx.Request, request_id: jsonrpc.Id) -> None:
        flight = self.flights[request_id]
        try:
            response = await flight.run(http.send(self._inner, request))
            error = await http.refusal(response, in_session=True)
            if response.is_success:
                return
        except Aborted:
            return
        except Exception as caught:
            error = faults.of_exception(caught)
        if self._legacy and request_id in self.flights:
            self._legacy.inject(self.fail(request_id, error))

    async def _get(self, request: httpx.Request) -> httpx.Response:
        request_id = self.resumable.pop(request.headers.get("last-event-id", ""), None)
        if request_id is not None:
            return await self._resume(request, request_id)
        if self._short_listens >= SHORT_LISTENS:
            return httpx.Response(405, request=request)
        try:
            response = await http.send(self._inner, request)
        except httpx.TransportError as caught:
            if self._legacy:
                raise faults.of_exception(caught) from caught
            raise
        if self._legacy:
            if response.status_code != 200:
                raise await http.refusal(response, in_session=False)
            if not http.is_stream(response):
                await response.aclose()
                raise ProtocolError(detail="the SSE endpoint does not stream events")
            self._legacy.open(response)
            return http.with_body(response, request, stream=self._legacy)
        if response.status_code == 200 and http.is_stream(response):
            return http.with_body(response, request, stream=ListenStream(self, response))
        await response.aclose()
        self._short_listens = SHORT_LISTENS
        return httpx.Response(405, request=request)

    async def _resume(self, request: httpx.Request, request_id: jsonrpc.Id) -> httpx.Response:
        """The stream of one answer broke and may go on (2025-11-25, basic/transports, resumability)."""
        flight = self.flights.get(request_id) or Flight()
        try:
            response = await flight.run(http.send(self._inner, request))
            if response.status_code == 200 and http.is_stream(response):
                response.stream = TakenIn(http.body_of(response), self.intake())
                return http.with_body(
                    response, request, stream=AnswerStream(self, response, request_id, flight)
                )
            error = await http.refusal(response, in_session=False)
        except Aborted:
            error = ServerTimeout()
        except Exception as caught:
            error = faults.of_exception(caught)
        lost = SessionLost(detail=f"the stream could not be resumed: {error.detail or error}")
        stream = jsonrpc.event(self.fail(request_id, lost))
        headers = {"content-type": "text/event-stream"}
        return httpx.Response(200, headers=headers, content=stream, request=request)

    async def _end(self, request: httpx.Request) -> httpx.Response:
        with contextlib.suppress(Exception), anyio.move_on_after(CLOSE_TIMEOUT):
            response = await self._inner.handle_async_request(request)
            await response.aclose()
        return httpx.Response(204, request=request)

    async def posted(self, timeout: float) -> None:
        """Wait until nothing is being sent behind the client's back any more."""
        if self._behind:
            await asyncio.wait(list(self._behind), timeout=timeout)

    def listen_ended(self, seconds: float) -> None:
        self._short_listens = self._short_listens + 1 if seconds < 1 else 0

    def _spawn(self, coroutine) -> None:
        task = asyncio.get_running_loop().create_task(coroutine)
        self._behind.add(task)
        task.add_done_callback(self._behind.discard)
