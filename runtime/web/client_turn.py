"""Answer of an assistant to an MCP client: a turn, told as the result of one call.

A turn that waits for its user, or that goes on without its client, keeps the call's row open: the same call, made
again, hears the same turn.
"""

import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ...services.gateway import asking, results
from ...services.gateway import stream as wire
from ...services.gateway.host import ToolResult
from ...services.gateway.stream import Stream
from ...services.openai_api.answer import Answer
from ...services.specs import CallResult
from . import client_line, direct_call
from .api_error import ApiError
from .client_stream import GONE
from .completion import Asked, Completion

STILL_RUNS = "The assistant has not finished yet. Make the same call again to wait for its answer."


class TurnReply:
    """
    :param shape: makes a message of a result
    :param stream: for progress, None without
    :param waits: times that the turn has waited before now
    """

    error = None  # a turn that fails is a result, too

    def __init__(
        self,
        shape: Callable[[ToolResult], Any],
        stream: Stream | None,
        conversation: int,
        waits: int = 0,
    ) -> None:
        self._shape, self._stream, self._conversation, self._waits = (
            shape,
            stream,
            conversation,
            waits,
        )
        self._answer = Answer(is_held=True)
        self._where = ""
        self._calls = 0

    @property
    def ending(self) -> str:
        return self._answer.ending

    def begin(self) -> Iterator[bytes]:
        yield from ()

    def hear(self, event: Mapping[str, Any]) -> Iterator[bytes]:
        """Take in the next event of the turn; each call that it makes is progress."""
        if event["type"] == "state" and event["state"] == "waiting" and self._waits:
            self._waits -= 1
            return
        self._answer.hear(event)
        if event["type"] == "tool_call" and self._stream:
            self._calls += 1
            if told := self._stream.progress(self._calls, None, event["title"]):
                yield told

    def ask(self, sentence: str) -> Iterator[bytes]:
        self._where = sentence
        yield from ()

    def end(self) -> Iterator[bytes]:
        yield wire.event(self.whole())

    def fail(self, body: Mapping[str, Any]) -> Iterator[bytes]:
        yield wire.event(body)

    def whole(self) -> Any:
        """The message that answers the call."""
        return self._shape(self._result())

    def refused(self, error: ApiError) -> Any:
        """The message in place of an answer."""
        return self._shape(results.failed(str(error.description), error.error_code))

    def _result(self) -> ToolResult:
        if self.ending == "asks":
            return results.failed(self._where, "approval_required")
        if self._answer.error:
            code, sentence = self._answer.error
            return results.failed(sentence, code)
        return asking.answered(self._answer.text, self._conversation)

    def outcome(self) -> CallResult:
        """End of the call, for its row."""
        if self._answer.error:
            sentence = self._answer.error[1]
            return CallResult(outcome="error", text=sentence, display=sentence)
        if not self.ending:
            return CallResult(outcome="cancelled", text=GONE, display=GONE)
        text = self._answer.text
        return CallResult(outcome="ok", text=text, display=text)


class CallReply(TurnReply):
    """The same of a turn that makes one call.

    :param made: gives the result of that call, a `CallResult`
    """

    def __init__(self, *args: Any, made: Callable[[], CallResult]) -> None:
        super().__init__(*args)
        self._made = functools.cache(made)

    def _result(self) -> ToolResult:
        if self.ending != "done":
            return super()._result()
        result = self._made()
        if result.is_error:
            return results.failed(result.text, result.outcome)
        return results.of_tool({"content": [{"type": "text", "text": result.text}]})

    def outcome(self) -> CallResult:
        return self._made() if self.ending == "done" else super().outcome()


class AskedTurn(Completion):
    """
    :param call_id: of the call's row
    """

    _reply: TurnReply

    def __init__(self, asked: Asked, reply: TurnReply, call_id: str):
        super().__init__(
            asked,
            reply,
            client_line.connection(),
            lambda error: (error.headers, reply.refused(error)),
        )
        self._call_id = call_id

    def _status_of(self, error: ApiError) -> int:
        return 200  # the error is a result, which a model can read

    def _failure(self) -> ApiError | None:
        error = super()._failure()
        if error and error.error_code == "timeout" and self._asked.is_background:
            error.description = STILL_RUNS
        return error

    def _over(self) -> None:
        goes_on = self._asked.is_background and not self._reply.ending
        if self._reply.ending != "asks" and not goes_on:
            direct_call.close(self._asked.dbname, {self._call_id: self._reply.outcome()})
