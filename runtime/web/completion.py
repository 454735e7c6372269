"""Response of a chat completion: waits for a turn, which runs elsewhere, and says what it says.

The turn is committed before WSGI iterates the response. The request keeps its thread, without a cursor; in threaded and
prefork servers it takes one of its user's slots. A turn that nobody reads to the end is stopped.
"""

import contextlib
import json
import logging
import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from typing import Any

from odoo.http import Response

from ...services.openai_api import answer as wire
from ...services.openai_api.answer import Answer, Head
from ...tools.sentences import Reader
from .. import process
from ..turns import listeners, streams
from . import client_line
from .api_error import ApiError
from .slots import LONGEST, at_most

_logger = logging.getLogger(__name__)

LOOK = 1.0  # s after which it is looked again whether the client is there
KEEPALIVES = 10  # such times without an event between two comments, for proxies that close a silent connection


@dataclass(frozen=True, slots=True)
class Asked:
    """A turn that a program waits for.

    :ivar to_decide: sentence for a user who has to decide, with the address where
    :ivar is_held: see `Answer`
    """

    dbname: str
    uid: int
    lang: str | None
    turn_id: int
    head: Head
    to_decide: str
    is_held: bool
    is_stream: bool
    has_usage: bool

    def stop(self) -> None:
        try:
            process.store(self.dbname).request_stop(self.turn_id)
        except Exception as error:  # its client has gone: nobody else can be told
            _logger.warning("Turn %s cannot be stopped: %s", self.turn_id, error)


class Completion(Response):
    """
    :param fail: gives the headers and the body of an `ApiError`
    """

    headers: Any  # Odoo passes it on to werkzeug's

    def __init__(self, asked: Asked, connection, fail: Callable[[ApiError], tuple[dict, dict]]):
        kind = "text/event-stream" if asked.is_stream else "application/json"
        headers = {"Content-Type": f"{kind}; charset=utf-8", "Cache-Control": "no-store"}
        super().__init__(headers=headers | {"X-Accel-Buffering": "no"}, direct_passthrough=True)
        self._asked = asked
        self._connection = connection
        self._fail = fail

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
        answer = Answer()
        with contextlib.closing(self._heard(answer)) as heard:
            for _text in heard:
                pass
        if answer.error:
            self._refuse(_error(answer))
        else:
            self.data = json.dumps(self._asked.head.completion(answer), ensure_ascii=False)

    def _stream(self, holding) -> Iterator[bytes]:
        head, answer = self._asked.head, Answer(is_held=self._asked.is_held)
        with holding, contextlib.closing(self._heard(answer)) as heard:
            yield head.chunk({"role": "assistant", "content": ""})
            for text in heard:
                yield head.chunk({"content": text}) if text else wire.KEEPALIVE
            if answer.error:
                _headers, body = self._fail(_error(answer))
                yield wire.sse(body)
                return
            yield head.chunk({}, is_last=True)
            if self._asked.has_usage:
                yield head.usage_chunk(answer)
            yield wire.DONE

    def _heard(self, answer: Answer) -> Generator[str]:
        """Text of the answer as it comes, "" after a long silence; stops a turn that has not come to its end."""
        asked, looks, looked = self._asked, 0, time.monotonic()
        until = time.monotonic() + (LONGEST if process.is_evented() else at_most(LONGEST))
        events = streams.follow(
            asked.dbname,
            asked.turn_id,
            0,
            asked.uid,
            lambda: max(0.0, until - time.monotonic()),
            LOOK,
        )
        try:
            with contextlib.closing(events):
                for event in events:
                    if time.monotonic() - looked >= LOOK:
                        looked = time.monotonic()
                        if client_line.is_closed(self._connection):
                            break
                    if event:
                        if text := answer.hear(_payload(event)):
                            looks = 0
                            yield text
                        if answer.ending:
                            break
                    elif (looks := looks + 1) % KEEPALIVES == 0:
                        yield ""
            if answer.ending == "asks":
                yield answer.add(asked.to_decide)
        except ConnectionError as error:
            answer.error = ("busy", str(error))
        finally:
            if not answer.ending:
                asked.stop()
        if not answer.ending and not answer.error:
            answer.error = ("timeout", "The answer took too long and was stopped.")

    def _refuse(self, error: ApiError) -> None:
        headers, body = self._fail(error)
        self.headers.update(headers | {"Content-Type": "application/json; charset=utf-8"})
        self.status_code = error.code
        self.data = json.dumps(body, ensure_ascii=False)


def _payload(event) -> dict:
    return json.loads(event.frame.partition(b"\ndata: ")[2])


def _error(answer: Answer) -> ApiError:
    code, sentence = answer.error or ("", "")
    return ApiError({"timeout": 504, "busy": 503}.get(code, 502), code, sentence)
