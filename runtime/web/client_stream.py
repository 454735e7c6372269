"""Answer to one call of an MCP client: JSON if it is made soon, else a task or a stream with signs of life.

As in `direct_call` the call is made after the commit; the request keeps its thread and a slot of its person. If the
client closes the connection, the call is stopped or goes on, as the revision says; its row is closed either way. A
task needs neither thread nor slot: see `client_tasks`.
"""

import asyncio
import concurrent.futures
import contextlib
import json
import queue
import time
from collections.abc import Callable, Iterator
from typing import Any

from odoo.http import Response
from odoo.tools import json_default

from ...services import text
from ...services.errors import ElicitationRequired, EngineError, ServerTimeout
from ...services.gateway import questions
from ...services.gateway import stream as wire
from ...services.gateway.questions import Asked
from ...services.mcp.session.elicitation import ElicitResult
from ...services.sentence import _lt
from ...services.specs import Executed
from ...tools.sentences import Reader
from .. import process
from ..turns import listeners
from . import client_line, client_tasks, direct_call
from .api_error import ApiError
from .client_tasks import without_answer
from .slots import LONGEST, at_most

LOOK = 1.0  # s after which it is looked again whether the client is there
SOON = 5  # such times until a call without an answer becomes a stream
TASK_AFTER = 0.8  # s after which a call without an answer becomes a task
KEEPALIVES = 15  # such times without a word between two comments
MAX_BEHIND = 100  # notifications of progress, or log messages, that a client may lag behind
GONE = _lt("The client closed the connection before this call had ended.")
STREAM = {"Content-Type": wire.TYPE, "Cache-Control": "no-store", "X-Accel-Buffering": "no"}


class StreamedCall(Response):
    """
    :param direct: the call, of a server
    :param stream: `services.gateway.stream.Stream`
    :param server: of `services.gateway.uris.address`
    :param answer: ``answer(made)`` gives (data, status) of an `Executed`, a task, or what is `Asked`
    :param fail: ``fail(ApiError)`` does, where the person has no slot
    """

    headers: Any  # Odoo passes it on to werkzeug's

    def __init__(self, env, direct, stream, server, answer, fail):
        super().__init__(content_type="application/json; charset=utf-8", direct_passthrough=True)
        if not direct.is_recorded:
            direct_call.record(env, direct.call, direct.values)
        self._dbname, self._uid, self._lang = env.cr.dbname, env.uid, env.lang
        self._direct, self._stream, self._shape, self._fail = direct, stream, answer, fail
        self._server = server
        self._timeout = direct.timeout if stream.takes_task else at_most(direct.timeout)
        self._connection = client_line.connection()
        self._events: queue.SimpleQueue[Callable | None] = queue.SimpleQueue()
        self._future: concurrent.futures.Future[Executed] = concurrent.futures.Future()
        self._is_over = False
        self._asked = 0
        self._one_question = asyncio.Lock()
        self._thinking = 0.0  # s that the user has taken for answers

    def __call__(self, environ, start_response):
        with contextlib.ExitStack() as holding:
            if holding.enter_context(listeners.slots(self._dbname).hold(self._uid)):
                self._make(holding)
            else:
                error = ApiError.too_many_waits(Reader(self._lang).lang)
                self._end(without_answer("denied", error.description))
                self.headers.update(error.headers)
                self._set(*self._fail(error))
        client_line.limit(environ)
        return super().__call__(environ, start_response)  # pyright: ignore[reportCallIssue] passed on, too

    def _make(self, holding):
        self._begin()
        if self._stream.takes_task and (task := self._task()):
            self._set(*self._shape(task))
            return
        heard = self._heard()
        for looks, piece in enumerate(heard, 1):
            if self._stream.is_taken and (piece or looks == SOON):
                self.headers.update(STREAM)
                self._keep_for_resumption()
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
                yield self._stream.begun()
                if piece:
                    yield piece
                for piece in heard:
                    silent = 0 if piece else silent + 1
                    if piece or silent % KEEPALIVES == 0:
                        yield piece or wire.KEEPALIVE
                data, _status = self._shape(self._executed())
                yield self._stream.event(text.storable(data))
            finally:
                if not self._is_over:
                    self._lose_client()

    def _begin(self):
        try:
            self._future = process.begin(self._call)
        except EngineError as error:
            self._future.set_exception(error)
        self._future.add_done_callback(lambda _future: self._events.put(None))

    def _task(self):
        """Task of a call that is not made soon, None where there is none."""
        done, _ = concurrent.futures.wait([self._future], TASK_AFTER)
        if done:
            return None
        call_id = self._direct.call.id
        task = client_tasks.make(self._dbname, call_id, self._server, self._stream)
        if task:
            self._leave()
        return task

    def _keep_for_resumption(self):
        if not self._stream.resumes:
            return
        call_id = self._direct.call.id
        if client_tasks.make(self._dbname, call_id, self._server, self._stream):
            self._stream.name = call_id

    def _heard(self) -> Iterator[bytes]:
        """Events of progress as the server tells it, b"" after a silence; ends with the call, or its client or time."""
        looked = time.monotonic()
        until = looked + at_most(self._direct.timeout) + 1
        last = looked + at_most(LONGEST)
        while time.monotonic() < min(until + self._thinking, last):
            with contextlib.suppress(queue.Empty):
                told = self._events.get(timeout=LOOK)
                if told is None:
                    return
                if piece := told(self._stream):
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
            self._timeout,
            on_progress=self._on_progress,
            on_log=self._on_log if self._stream.log_level else None,
            log_level=self._stream.log_level,
            on_elicit=self._elicit if self._stream.resumes and self._stream.shows else None,
            suspends=bool(self._stream.shows) and not self._stream.resumes,
            takes_task=self._stream.takes_task,
            resume=self._direct.resume,
        )

    def _on_progress(self, *told):
        if self._events.qsize() < MAX_BEHIND:
            self._events.put(lambda stream: stream.progress(*told))

    def _on_log(self, message):
        if self._events.qsize() < MAX_BEHIND:
            server = self._direct.call.server_name
            self._events.put(lambda stream: stream.log(message, server))

    async def _elicit(self, question):
        """Let a legacy client ask its user."""
        if questions.mode(question) not in self._stream.shows:
            return ElicitResult(action="cancel")
        # A server may ask several at once, and the row waits for one answer.
        async with self._one_question:
            self._asked += 1
            call, began = self._direct.call, time.monotonic()
            key = f"{call.id}.q{self._asked}"
            self._thinking += client_tasks.ANSWER_TIME

            def tell():
                self._events.put(lambda stream: stream.question(key, question, call.server_name))

            found = await client_tasks.answer_of(
                process.running(), self._dbname, call.id, key, question, tell
            )
            self._thinking += time.monotonic() - began - client_tasks.ANSWER_TIME
            return found

    def _result_of_call(self) -> Executed:
        """Result of the call, which has ended or is given up."""
        try:
            return self._future.result(0)
        except (concurrent.futures.CancelledError, concurrent.futures.TimeoutError):
            return _failed(ServerTimeout())
        except EngineError as error:
            return _failed(error)

    def _executed(self) -> Executed | Asked:
        """The call's end, of which the row is told; or questions, which wait in the row."""
        executed = self._result_of_call()
        if isinstance(executed.error, ElicitationRequired):
            wanted, call_id = executed.error, self._direct.call.id
            if asked := client_tasks.ask(self._dbname, call_id, wanted, self._stream.shows):
                self._is_over = True
                return asked
        return self._end(executed)

    def _end(self, executed):
        if self._stream.name and not self._is_over:
            self._is_over = True
            client_tasks.end_soon(self._dbname, self._direct.call.id, executed)
        if not self._is_over:
            self._is_over = True
            direct_call.close(self._dbname, {self._direct.call.id: executed.result})
        return executed

    def _lose_client(self):
        """Stop the call, or let it go on without its client."""
        if not self._stream.is_cancelled_by_close:
            self._leave()
            return
        gone = without_answer("cancelled", GONE)
        # It may have ended unheard.
        made = gone if self._future.cancel() else self._result_of_call()
        self._end(gone if isinstance(made.error, ElicitationRequired) else made)

    def _leave(self):
        """Let the call go on while nobody waits here."""
        self._is_over = True
        dbname, call_id, future = self._dbname, self._direct.call.id, self._future

        async def follow(_engine, runner):
            await client_tasks.follow(runner, dbname, call_id, asyncio.wrap_future(future))

        process.in_background(follow)


def _failed(error):
    return without_answer("unknown", str(error), error)
