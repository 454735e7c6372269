"""Response to a program that asks an assistant: waits for a turn, which runs elsewhere, and says what it says.

The turn is committed before WSGI iterates the response. The request keeps its thread, without a cursor; in threaded and
prefork servers it takes one of its user's slots. A turn that nobody reads to the end is stopped.
"""

import contextlib
import json
import logging
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from odoo.http import Response

from ...services.errors import BudgetExhausted
from ...services.openai_api import answer as wire
from ...tools.sentences import Reader
from .. import process
from ..turns import listeners, streams
from . import client_line
from .api_error import ApiError
from .slots import LONGEST, at_most

_logger = logging.getLogger(__name__)

STATUS = {"timeout": 504, "busy": 503, BudgetExhausted.code: 402}
STOPPED = "The answer took too long and was stopped."
STILL_RUNS = "The answer takes longer. Ask for it again by its id."
LOOK = 1.0  # s after which it is looked again whether the client is there
KEEPALIVES = 10  # such times without an event between two comments, for proxies that close a silent connection


class Reply(Protocol):
    """Answer to a program in the words of its API.

    :ivar ending: "" while the turn goes on, then `done`, `asks` or `failed`
    :ivar error: ``(code, sentence)`` of a turn that failed
    """

    @property
    def ending(self) -> str: ...
    @property
    def error(self) -> tuple[str, str] | None: ...

    def begin(self) -> Iterable[bytes]: ...
    def hear(self, event: dict[str, Any]) -> Iterable[bytes]: ...
    def ask(self, sentence: str) -> Iterable[bytes]: ...
    def end(self) -> Iterable[bytes]: ...
    def fail(self, body: dict[str, Any]) -> Iterable[bytes]: ...
    def whole(self) -> dict[str, Any]: ...


@dataclass(frozen=True, slots=True)
class Asked:
    """A turn that a program waits for.

    :ivar after: number of the event after which the answer begins
    :ivar is_background: the turn goes on when the client has left
    :ivar to_decide: sentence for a user who has to decide, with the address where
    """

    dbname: str
    uid: int
    lang: str | None
    turn_id: int
    to_decide: str
    is_stream: bool
    after: int = 0
    is_background: bool = False

    def stop(self) -> None:
        if self.is_background:
            return
        try:
            process.store(self.dbname).request_stop(self.turn_id)
        except Exception as error:  # its client has gone: nobody else can be told
            _logger.warning("Turn %s cannot be stopped: %s", self.turn_id, error)


class Completion(Response):
    """
    :param reply: hears the turn and is what the client gets
    :param fail: gives the headers and the body of an `ApiError`
    """

    headers: Any  # Odoo passes it on to werkzeug's

    def __init__(
        self,
        asked: Asked,
        reply: Reply,
        connection,
        fail: Callable[[ApiError], tuple[dict, dict]],
    ):
        kind = "text/event-stream" if asked.is_stream else "application/json"
        headers = {"Content-Type": f"{kind}; charset=utf-8", "Cache-Control": "no-store"}
        super().__init__(headers=headers | {"X-Accel-Buffering": "no"}, direct_passthrough=True)
        self._asked = asked
        self._reply = reply
        self._connection = connection
        self._fail = fail
        self._error: tuple[str, str] | None = None

    def __call__(self, environ, start_response):
        asked, holding = self._asked, contextlib.ExitStack()
        has_slot = process.is_evented() or holding.enter_context(
            listeners.slots(asked.dbname).hold(asked.uid)
        )
        if not has_slot:
            asked.stop()
            self._refuse(ApiError.too_many_waits(Reader(asked.lang).lang))
        elif asked.is_stream:
            self.response = self._stream(holding)
        else:
            with holding:
                self._wait()
        client_line.limit(environ)
        return super().__call__(environ, start_response)  # pyright: ignore[reportCallIssue] passed on, too

    def _wait(self):
        try:
            with contextlib.closing(self._heard()) as heard:
                for _part in heard:
                    pass
        finally:
            self._over()
        if error := self._failure():
            self._refuse(error)
        else:
            self.data = json.dumps(self._reply.whole(), ensure_ascii=False)

    def _stream(self, holding) -> Iterator[bytes]:
        with holding:
            try:
                with contextlib.closing(self._heard()) as heard:
                    yield from heard
            finally:
                self._over()
            if error := self._failure():
                _headers, body = self._fail(error)
                yield from self._reply.fail(body)
            else:
                yield from self._reply.end()

    def _over(self) -> None:
        """Hook: the turn has ended, or is not heard any more."""

    def _heard(self) -> Generator[bytes]:
        """Parts of the answer as they come, a comment after a long silence; stops a turn that has not ended."""
        asked, reply, looks, looked = self._asked, self._reply, 0, time.monotonic()
        until = time.monotonic() + (LONGEST if process.is_evented() else at_most(LONGEST))
        events = streams.follow(
            asked.dbname,
            asked.turn_id,
            asked.after,
            asked.uid,
            lambda: max(0.0, until - time.monotonic()),
            LOOK,
        )
        try:
            yield from reply.begin()  # a client may leave as early as this
            with contextlib.closing(events):
                for event in events:
                    if time.monotonic() - looked >= LOOK:
                        looked = time.monotonic()
                        if client_line.is_closed(self._connection):
                            break
                    if event:
                        for part in reply.hear(_payload(event)):
                            looks = 0
                            yield part
                        if reply.ending:
                            break
                    elif (looks := looks + 1) % KEEPALIVES == 0:
                        yield wire.KEEPALIVE
            if reply.ending == "asks":
                yield from reply.ask(asked.to_decide)
        except ConnectionError as error:
            self._error = ("busy", str(error))
        finally:
            if not reply.ending:
                asked.stop()
        if not reply.ending and not self._error:
            self._error = ("timeout", STILL_RUNS if asked.is_background else STOPPED)

    def _failure(self) -> ApiError | None:
        if not (found := self._error or self._reply.error):
            return None
        code, sentence = found
        return ApiError(STATUS.get(code, 502), code, sentence)

    def _status_of(self, error: ApiError) -> int:
        return error.code

    def _refuse(self, error: ApiError) -> None:
        headers, body = self._fail(error)
        self.headers.update(headers | {"Content-Type": "application/json; charset=utf-8"})
        self.status_code = self._status_of(error)
        self.data = json.dumps(body, ensure_ascii=False)


def _payload(event) -> dict:
    return json.loads(event.frame.partition(b"\ndata: ")[2])
