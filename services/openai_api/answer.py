"""Answer of a chat completion, made of the events of a turn.

https://platform.openai.com/docs/api-reference/chat/streaming
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

PARAGRAPH = "\n\n"  # between what the model says before a call and after it
DONE = b"data: [DONE]\n\n"
KEEPALIVE = b": keep-alive\n\n"


@dataclass(slots=True)
class Answer:
    """Answer so far.

    :ivar is_held: text is given only when the turn ends, since it may be withdrawn to be checked
    :ivar ending: "" while the turn goes on, then `done`, `asks` or `failed`
    :ivar error: ``(code, sentence)`` of a turn that failed
    """

    is_held: bool = False
    ending: str = ""
    error: tuple[str, str] | None = None
    usage: Mapping[str, Any] = field(default_factory=dict)
    _steps: dict[int, str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        return PARAGRAPH.join(said for said in self._steps.values() if said.strip())

    def hear(self, event: Mapping[str, Any]) -> str:
        """Take in the next event.

        :return: the text that it adds to the answer
        """
        match event["type"]:
            case "text":
                return self._say(event["step"], event["content"])
            case "usage":
                self.usage = event
            case "state" if event["state"] == "waiting":
                self.ending = "asks"
            case "state" if "step" in event:
                self._steps[event["step"]] = ""
            case "done":
                self.ending = "done"
            case "error":
                self.ending, self.error = "failed", (event["code"], event["message"])
        return self.text if self.is_held and self.ending else ""

    def add(self, sentence: str) -> str:
        """Say something at the end of the answer.

        :return: the text that it adds
        """
        return self._say(max(self._steps, default=-1) + 1, sentence, is_held=False)

    def _say(self, step, content, is_held=None):
        begins = not self._steps.get(step)
        before = PARAGRAPH if begins and self.text else ""
        self._steps[step] = self._steps.get(step, "") + content
        return "" if (self.is_held if is_held is None else is_held) else before + content

    def token_counts(self) -> dict[str, int]:
        read, written = (self.usage.get(name) or 0 for name in ("input_tokens", "output_tokens"))
        return {
            "prompt_tokens": read,
            "completion_tokens": written,
            "total_tokens": read + written,
        }


@dataclass(frozen=True, slots=True)
class Head:
    """Beginning of all parts of one answer.

    :ivar created: seconds since 1970
    """

    id: str
    created: int
    model: str

    def completion(self, answer: Answer) -> dict[str, Any]:
        """Body of an answer that is not streamed."""
        message = {"role": "assistant", "content": answer.text, "refusal": None}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
        return self._part("chat.completion", [choice], usage=answer.token_counts())

    def chunk(self, delta: Mapping[str, str], *, is_last: bool = False) -> bytes:
        choice = {
            "index": 0,
            "delta": dict(delta),
            "logprobs": None,
            "finish_reason": "stop" if is_last else None,
        }
        return sse(self._part("chat.completion.chunk", [choice]))

    def usage_chunk(self, answer: Answer) -> bytes:
        return sse(self._part("chat.completion.chunk", [], usage=answer.token_counts()))

    def _part(self, kind, choices, **more):
        return {
            "id": self.id,
            "object": kind,
            "created": self.created,
            "model": self.model,
            "choices": choices,
            **more,
        }


class Completion:
    """Chat completion of one turn, as the parts of a stream or as a whole.

    :param answer: hears the turn
    :param has_usage: whether a stream ends with the numbers of tokens
    """

    def __init__(self, head: Head, answer: Answer, *, has_usage: bool = False) -> None:
        self._head = head
        self._answer = answer
        self._has_usage = has_usage

    @property
    def ending(self) -> str:
        return self._answer.ending

    @property
    def error(self) -> tuple[str, str] | None:
        return self._answer.error

    def begin(self) -> Iterator[bytes]:
        yield self._head.chunk({"role": "assistant", "content": ""})

    def hear(self, event: Mapping[str, Any]) -> Iterator[bytes]:
        """Take in the next `event` of the turn."""
        if text := self._answer.hear(event):
            yield self._head.chunk({"content": text})

    def ask(self, sentence: str) -> Iterator[bytes]:
        """Say that the turn waits for a decision."""
        yield self._head.chunk({"content": self._answer.add(sentence)})

    def end(self) -> Iterator[bytes]:
        yield self._head.chunk({}, is_last=True)
        if self._has_usage:
            yield self._head.usage_chunk(self._answer)
        yield DONE

    def fail(self, body: Mapping[str, Any]) -> Iterator[bytes]:
        """:param body: as of `error_body`"""
        yield sse(body)

    def whole(self) -> dict[str, Any]:
        """Body of an answer that is not streamed."""
        return self._head.completion(self._answer)


def error_body(
    status: int, code: str, message: str, param: str | None = None
) -> dict[str, dict[str, str | None]]:
    """Error in the shape of the OpenAI API.

    >>> error_body(404, "model_not_found", "No such assistant.")["error"]["type"]
    'invalid_request_error'
    """
    kinds = {403: "permission_error", 429: "rate_limit_error"}
    kind = kinds.get(status, "server_error" if status >= 500 else "invalid_request_error")
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def sse(data: Mapping[str, Any]) -> bytes:
    return f"data: {json.dumps(data, ensure_ascii=False)}\n\n".encode()
