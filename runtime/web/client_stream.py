"""Answer to one call of an MCP client: JSON if it is made soon, else a stream with progress and signs of life.

As in `direct_call` the call is made after the commit; the request keeps its thread and a slot of its person. If the
client closes the connection, the call is stopped or goes on, as the revision says; its row is closed either way.
"""

import asyncio
import concurrent.futures
import contextlib
import json
import queue
import time
from collections.abc import Iterator
from typing import Any

from odoo.http import Response
from odoo.tools import json_default

from ...services import text
from ...services.errors import EngineError, ServerTimeout
from ...services.gateway import stream as wire
from ...services.sentence import _lt
from ...services.specs import CallResult, Executed
from ...tools.sentences import Reader
from .. import process
from ..turns import listeners
from . import client_line, direct_call
from .api_error import ApiError
from .slots import at_most

LOOK = 1.0  # s after which it is looked again whether the client is there
SOON = 5  # such times until a call without an answer becomes a stream
KEEPALIVES = 15  # such times without a word between two comments
MAX_BEHIND = 100  # notifications of progress that a client may lag behind
GONE = _lt("The client closed the connection before this call had ended.")
STREAM = {"Content-Type": wire.TYPE, "Cache-Control": "no-store", "X-Accel-Buffering": "no"}


class StreamedCall(Response):
    """
    :param direct: the call, of a server
    :param stream: `services.gateway.stream.Stream`
    :param answer: ``answer(executed)`` gives (data, status)
    :param fail: ``fail(ApiError)`` does, where the person has no slot
    """

    headers: Any  # Odoo passes it on to werkzeug's

    def __init__(self, env, direct, stream, answer, fail):
        super().__init__(content_type="application/json; charset=utf-8", direct_passthrough=True)
        if not direct.is_recorded:
            direct_call.record(env, direct.call, direct.values)
        self._dbname, self._uid, self._lang = env.cr.dbname, env.uid, env.lang
        self._direct, self._stream, self._shape, self._fail = direct, stream, answer, fail
        self._connection = client_line.connection()
        self._events: queue.SimpleQueue[tuple | None] = queue.SimpleQueue()
        self._future: concurrent.futures.Future[Executed] = concurrent.futures.Future()
        self._is_over = False

    def __call__(self, environ, start_response):
        with contextlib.ExitStack() as holding:
            if holding.enter_context(listeners.slots(self._dbname).hold(self._uid)):
                self._make(holding)
            else:
                error = ApiError.too_many_waits(Reader(self._lang).lang)
                self._end(_without_answer("denied", error.description))
                self.headers.update(error.headers)
                self._set(*self._fail(error))
        client_line.limit(environ)
        return super().__call__(environ, start_response)  # pyright: ignore[reportCallIssue] passed on, too

    def _make(self, holding):
        heard = self._heard()
        for looks, piece in enumerate(heard, 1):
            if piece or looks == SOON:
                self.headers.update(STREAM)
                self.response = self._messages(piece, heard, holding.pop_all())
                return
        self._set(*self._shape(self._executed()))

    def _set(self, data, status):
        self.data = json.dumps(text.storable(data), ensure_ascii=False, default=json_default)
        self.status_code = status

    def _messages(self, piece: bytes, heard, holding) -> Iterator[bytes]:
        silent = 0
        with holding, contextlib.closing(heard):
            try:
                yield piece or wire.KEEPALIVE
                for piece in heard:
                    silent = 0 if piece else silent + 1
                    if piece or silent % KEEPALIVES == 0:
                        yield piece or wire.KEEPALIVE
                data, _status = self._shape(self._executed())
                yield wire.event(text.storable(data))
            finally:
                if not self._is_over:
                    self._lose_client()

    def _heard(self) -> Iterator[bytes]:
        """Events of progress as the server tells it, b"" after a silence; ends with the call, or its client or time."""
        try:
            self._future = process.begin(self._call)
        except EngineError as error:
            self._future.set_exception(error)
            return
        self._future.add_done_callback(lambda _future: self._events.put(None))
        looked = time.monotonic()
        until = looked + at_most(self._direct.timeout) + 1
        while time.monotonic() < until:
            with contextlib.suppress(queue.Empty):
                told = self._events.get(timeout=LOOK)
                if told is None:
                    return
                if piece := self._stream.progress(*told):
                    yield piece
            if time.monotonic() - looked >= LOOK:
                looked = time.monotonic()
                if client_line.is_closed(self._connection):
                    self._lose_client()
                    return
                yield b""
        self._future.cancel()

    async def _call(self, engine):
        return await engine.call(
            self._direct.call,
            f"direct-{self._uid}",
            at_most(self._direct.timeout),
            on_progress=self._on_progress,
        )

    def _on_progress(self, *told):
        if self._events.qsize() < MAX_BEHIND:
            self._events.put(told)

    def _executed(self) -> Executed:
        """The call's end, of which the row is told."""
        try:
            executed = self._future.result(0)
        except (concurrent.futures.CancelledError, concurrent.futures.TimeoutError):
            executed = _failed(ServerTimeout())
        except EngineError as error:
            executed = _failed(error)
        return self._end(executed)

    def _end(self, executed):
        if not self._is_over:
            self._is_over = True
            direct_call.close(self._dbname, {self._direct.call.id: executed.result})
        return executed

    def _lose_client(self):
        """Stop the call, or let it go on without its client."""
        if self._stream.is_cancelled_by_close:
            self._future.cancel()
            self._end(_without_answer("cancelled", GONE))
            return
        self._is_over = True
        dbname, call_id, future = self._dbname, self._direct.call.id, self._future

        async def keep(_engine, runner):
            try:
                executed = await asyncio.wrap_future(future)
            except EngineError as error:
                executed = _failed(error)
            await runner.db(dbname, direct_call.close, dbname, {call_id: executed.result})

        process.in_background(keep)


def _failed(error):
    return _without_answer("unknown", str(error), error)


def _without_answer(outcome, sentence, error=None):
    result = CallResult(outcome=outcome, text=sentence, display=sentence)
    return Executed(result=result, error=error)
