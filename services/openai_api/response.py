"""Response of the OpenAI API, made of the events of a turn.

https://platform.openai.com/docs/api-reference/responses/object
https://platform.openai.com/docs/api-reference/responses-streaming
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .response_question import APPROVAL

RESPONSE = "resp_"
MAX_DIGITS = 18  # of a number in an id
OWN_LABEL = "odoo"  # of tools that come from no server
OUTPUT_CHARS = 20_000  # characters of a call's output
CUT = " […]"

Item = dict[str, Any]


def response_id(turn_id: int, step: int = 0) -> str:
    """Id of a response.

    :param step: of the turn, where the response begins

    >>> response_id(7), response_id(7, 2)
    ('resp_7', 'resp_7_2')
    """
    return f"{RESPONSE}{turn_id}_{step}" if step else f"{RESPONSE}{turn_id}"


def read_id(given: str) -> tuple[int, int] | None:
    """Turn and step of an id, None if it is none.

    >>> read_id("resp_7_2"), read_id("resp_7"), read_id("resp_x"), read_id("7")
    ((7, 2), (7, 0), None, None)
    """
    parts = given.removeprefix(RESPONSE).split("_")
    if not given.startswith(RESPONSE) or len(parts) > 2:
        return None
    if not all(part.isascii() and part.isdigit() and len(part) <= MAX_DIGITS for part in parts):
        return None
    turn_id, step = [*map(int, parts), 0][:2]
    return turn_id, step


@dataclass(frozen=True, slots=True)
class ResponseHead:
    """Fields of a response that stay the same.

    :ivar created: seconds since 1970
    :ivar echo: fields of the request
    """

    id: str
    created: int
    model: str
    echo: Mapping[str, Any]

    def body(self, status: str, output: list[Item] | None = None, **more: Any) -> Item:
        """The response as JSON.

        :param more: what is known of error, incomplete_details and usage
        """
        return {
            "id": self.id,
            "object": "response",
            "created_at": self.created,
            "status": status,
            "model": self.model,
            "output": output or [],
            "error": None,
            "incomplete_details": None,
            "usage": None,
            "instructions": None,
            "metadata": {},
            "previous_response_id": None,
            "store": True,
            "background": False,
            **self.echo,
            "max_output_tokens": None,
            "parallel_tool_calls": True,
            "temperature": None,
            "text": {"format": {"type": "text"}},
            "tool_choice": "auto",
            "tools": [],
            "top_p": None,
            "truncation": "disabled",
            **more,
        }


class Response:
    """Response of one turn, as the events of a stream or as a whole.

    :param is_held: text is given only when the step is over, since it may be withdrawn
    :param asked: `tool_call` events of calls that the user has been asked about before, by id
    :ivar ending: "" while the turn goes on, then `done`, `asks` or `failed`
    :ivar error: ``(code, sentence)`` of a turn that failed
    """

    def __init__(
        self,
        head: ResponseHead,
        *,
        is_held: bool = False,
        asked: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        self.ending = ""
        self.error: tuple[str, str] | None = None
        self._head = head
        self._is_held = is_held
        self._asked = asked or {}
        self._output: list[Item] = []
        self._sent = 0  # events
        self._step = -1  # of the message that is being written
        self._text = ""  # of it
        self._is_open = False  # a client knows of it
        self._calls: dict[str, Mapping[str, Any]] = {}  # without a result so far
        self._waiting: list[Mapping[str, Any]] = []  # `approval_required` events
        self._usage: Mapping[str, Any] = {}
        self._is_cut = self._is_stopped = False

    # ------------------------------------------------------------ the turn

    def begin(self) -> Iterator[bytes]:
        for name in ("created", "in_progress"):
            yield self._event(f"response.{name}", response=self._head.body("in_progress"))

    def hear(self, event: Mapping[str, Any]) -> Iterator[bytes]:
        """Take in the next `event` of the turn."""
        match event["type"]:
            case "text":
                yield from self._say(event["step"], event["content"])
            case "tool_call":
                yield from self._close()
                self._calls[event["id"]] = event
            case "tool_result":
                yield from self._close()
                yield from self._call(event)
            case "approval_required":
                self._waiting.append(event)
            case "notice" if event["code"] == "answer_cut":
                self._is_cut = True
            case "usage":
                self._usage = event
            case "state" if event["state"] == "waiting":
                self.ending = "asks"
            case "state" if "step" in event:
                yield from self._withdraw()
            case "done":
                self.ending, self._is_stopped = "done", event["state"] == "stopped"
            case "error":
                self.ending, self.error = "failed", (event["code"], event["message"])

    def ask(self, sentence: str) -> Iterator[bytes]:
        """Say that the turn waits for a decision, and on what."""
        yield from self._close()
        yield from self._say(self._step + 1, sentence)
        yield from self._close()
        for event in self._waiting:
            item = {
                "id": APPROVAL + event["id"],
                "type": "mcp_approval_request",
                **_called(event),
            }
            yield from self._added(item)
            yield from self._done(item)

    def end(self) -> Iterator[bytes]:
        yield from self._close()
        kind = "completed" if self._status() == "completed" else "incomplete"
        yield self._event(f"response.{kind}", response=self.whole())

    def fail(self, body: Mapping[str, Any]) -> Iterator[bytes]:
        """:param body: as of `answer.error_body`"""
        yield from self._close("incomplete")
        error = body["error"]
        self.ending, self.error = "failed", (error["code"], error["message"])
        yield self._event("response.failed", response=self.whole())

    def whole(self, status: str = "") -> Item:
        """The response as JSON.

        :param status: of a turn that goes on
        """
        for _event in self._close("incomplete" if self.error else "completed"):
            pass
        more: Item = {"usage": self._token_counts() if self._usage else None}
        if self.error:  # of the codes of the API this one fits
            more["error"] = {"code": "server_error", "message": self.error[1]}
        if self._is_cut:
            more["incomplete_details"] = {"reason": "max_output_tokens"}
        return self._head.body(status or self._status(), self._output, **more)

    def _status(self):
        if self.ending == "failed":
            return "failed"
        if self._is_stopped:
            return "cancelled"
        return "incomplete" if self._is_cut else "completed"

    def _token_counts(self):
        read, written = (self._usage.get(name) or 0 for name in ("input_tokens", "output_tokens"))
        return {
            "input_tokens": read,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": written,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": read + written,
        }

    # ------------------------------------------------------------ items

    def _say(self, step, content):
        if step != self._step:
            yield from self._close()
            self._step = step
        self._text += content
        self._is_cut = False
        if self._is_held or not self._text.strip():
            return
        if not self._is_open:
            yield from self._open()
            content = self._text
        yield self._of_message("response.output_text.delta", delta=content, logprobs=[])

    def _open(self):
        self._is_open = True
        turn = self._head.id.removeprefix(RESPONSE)
        item = {
            "id": f"msg_{turn}_{len(self._output)}",
            "type": "message",
            "role": "assistant",
            "status": "in_progress",
            "content": [],
        }
        yield from self._added(item)
        yield self._of_message("response.content_part.added", part=_part(""))

    def _close(self, status="completed"):
        """Finish the message that is being written, if there is one."""
        if not self._text.strip():
            self._text = ""
            return
        if not self._is_open:
            yield from self._open()
            yield self._of_message("response.output_text.delta", delta=self._text, logprobs=[])
        part = _part(self._text)
        yield self._of_message("response.output_text.done", text=self._text, logprobs=[])
        yield self._of_message("response.content_part.done", part=part)
        item = self._output[-1] | {"status": status, "content": [part]}
        self._text, self._is_open = "", False
        yield from self._done(item)

    def _withdraw(self):
        """Take back what the step has said; what a client has read already stays as it is."""
        if self._is_open:
            yield from self._close("incomplete")
        self._text = ""

    def _call(self, result):
        call_id = result["id"]
        before = self._asked.get(call_id)
        call = self._calls.pop(call_id, before) or {"tool": result["tool"], "args": {}}
        called = _called({**call, "args": result.get("args", call["args"])})
        text = _output(result["result"])
        item = {
            "id": f"mcp_{call_id}",
            "type": "mcp_call",
            "status": "in_progress",
            "approval_request_id": APPROVAL + call_id if before else None,
            **called,
            "output": None,
            "error": None,
        }
        yield from self._added({**item, "arguments": ""})
        place = {"item_id": item["id"], "output_index": len(self._output) - 1}
        arguments = called["arguments"]
        yield self._event("response.mcp_call.in_progress", **place)
        yield self._event("response.mcp_call_arguments.delta", delta=arguments, **place)
        yield self._event("response.mcp_call_arguments.done", arguments=arguments, **place)
        if result["is_error"]:
            item |= {"status": "failed", "error": text}
        else:
            item |= {"status": "completed", "output": text}
        yield self._event(f"response.mcp_call.{item['status']}", **place)
        yield from self._done(item)

    def _added(self, item):
        self._output.append(item)
        place = len(self._output) - 1
        yield self._event("response.output_item.added", output_index=place, item=item)

    def _done(self, item):
        """The last item is what it will be."""
        self._output[-1] = item
        place = len(self._output) - 1
        yield self._event("response.output_item.done", output_index=place, item=item)

    # ------------------------------------------------------------ the wire

    def _of_message(self, kind, **values):
        place = len(self._output) - 1
        return self._event(
            kind,
            item_id=self._output[-1]["id"],
            output_index=place,
            content_index=0,
            **values,
        )

    def _event(self, kind, **values):
        data = {"type": kind, "sequence_number": self._sent, **values}
        self._sent += 1
        return f"event: {kind}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode()


def _part(text):
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _called(call):
    """Tool and arguments of a `tool_call` or `approval_required` event."""
    return {
        "name": call["tool"],
        "server_label": call.get("server") or OWN_LABEL,
        "arguments": json.dumps(call["args"], ensure_ascii=False),
    }


def _output(result):
    """Text of a result, whose beginning is enough."""
    text = result if isinstance(result, str) else json.dumps(result or "", ensure_ascii=False)
    return text if len(text) <= OUTPUT_CHARS else text[:OUTPUT_CHARS] + CUT
