"""Stream aggregation: an LLM's answer, put together from its chunks; nothing is believed before it is complete."""

import json
import math
from dataclasses import dataclass, field, fields
from typing import Any

from .. import text
from ..errors import LlmProtocolError, LlmRejected
from ..sentence import _lt
from .dialect import EXTRAS
from .thinking import KEY, MAX_KEPT, ThinkReader

MAX_TOKENS = 10_000_000  # of one request; no model reads more
CUT = _lt("The arguments were cut off. Call the tool again with shorter arguments.")
NOT_JSON = _lt("The arguments are not a valid JSON object.")


@dataclass(slots=True)
class AskedCall:
    """A call as the provider streamed it."""

    name: str = ""
    arguments: str = ""
    provider_id: str = ""
    index: Any = None
    extra: dict[str, Any] | None = None
    is_cut: bool = False

    def is_another(self, name: str, provider_id: str) -> bool:
        """True if a chunk at the same index begins a new call, as some providers do."""
        if provider_id and self.provider_id and provider_id != self.provider_id:
            return True
        return bool(self.arguments) and name != self.name


@dataclass(slots=True)
class Answer:
    """`begun` is true as soon as something of the answer has arrived; `usage` is the last that was told.

    `thinking` is what the model thought aloud; it is shown, see `dialect` for who is sent it again.
    `repair` are messages that ask the model to say it again, where nobody can read what it has said.
    """

    text: str = ""
    thinking: str = ""
    thought_ms: int = 0  # from the first to the last piece of it
    calls: list[AskedCall] = field(default_factory=list)
    finish_reason: str = ""
    model: str = ""  # which one the provider says it is
    usage: dict[str, int] = field(default_factory=dict)
    begun: bool = False
    stopped: bool = False
    repair: tuple[dict[str, Any], ...] = ()
    _reader: ThinkReader = field(default_factory=ThinkReader)
    _told_thought: int = 0
    _half: str = ""  # of a character, see `text.paired`

    def renew(self) -> None:
        """Forget what has come, before another request is sent for it."""
        new = self._new()
        for one in fields(self):
            setattr(self, one.name, getattr(new, one.name))

    def _new(self) -> "Answer":
        return Answer()

    def add(self, chunk: Any) -> str:
        """Take an AIMessageChunk; the text that may be shown now.

        :param chunk: LangChain's ``AIMessageChunk``
        """
        thought, content = self._reader.feed(self._whole(flatten(chunk.content)))
        self._think(chunk.additional_kwargs.get(KEY, "") + thought)
        extras = chunk.additional_kwargs.get(EXTRAS, {})
        for part in chunk.tool_call_chunks:
            self._add_call(part, extras.get(part.get("index")))
        self.begun = self.begun or bool(content or self.calls or self.thinking)
        delta = self._shown(content)
        self.text += delta
        if reason := chunk.response_metadata.get("finish_reason"):
            self.finish_reason = str(reason)
        if model := chunk.response_metadata.get("model_name"):
            self.model = str(model)
        if chunk.usage_metadata:
            self.usage = _usage(chunk.usage_metadata)
        return delta

    def _whole(self, content: str) -> str:
        """The piece without the half of a character at its end, which the next piece may complete."""
        content = self._half + content
        end = len(content) - ("\ud800" <= content[-1:] <= "\udbff")
        self._half = content[end:]
        return text.paired(content[:end])

    def close(self) -> str:
        """Nothing more comes; the text that may be shown only now."""
        for call in self.calls:
            call.arguments = text.paired(call.arguments)
        thought, content = self._reader.close()
        self._think(thought)
        delta = self._shown(content)
        self.text += delta
        return delta

    def _think(self, thought: str) -> None:
        self.thinking += text.paired(thought)[: MAX_KEPT - len(self.thinking)]

    def take_thought(self) -> str:
        """Thinking since the last time."""
        begun, self._told_thought = self._told_thought, len(self.thinking)
        return self.thinking[begun:]

    def _shown(self, content: str) -> str:
        """The visible part of a piece of the model's text."""
        return content

    def _is_cut(self, call: AskedCall) -> bool:
        return self.finish_reason not in ("tool_calls", "stop", "function_call")

    def _add_call(self, part: dict[str, Any], extra: dict[str, Any] | None = None) -> None:
        name, index, provider_id = part.get("name") or "", part.get("index"), part.get("id") or ""
        call = next((call for call in reversed(self.calls) if call.index == index), None)
        if call is None or (name and call.is_another(name, provider_id)):
            call = AskedCall(index=index)
            self.calls.append(call)
        call.provider_id = call.provider_id or provider_id
        call.extra = extra or call.extra
        if name != call.name:  # some providers repeat the name in every chunk
            call.name += name
        call.arguments += part.get("args") or ""

    def check(self) -> None:
        """Raise unless the answer is whole.

        :raises LlmProtocolError: it was cut, or there is nothing in it
        :raises LlmRejected: the provider's filter held it back
        """
        if self.finish_reason == "content_filter":
            raise LlmRejected(_lt("The provider of the language model withheld the answer."))
        if not self.finish_reason:
            raise LlmProtocolError(detail="the stream ended without a finish_reason")
        if not self.text.strip() and not self.calls and not self.repair:
            raise LlmProtocolError(_lt("The language model returned an empty answer. Try again."))

    def arguments_of(self, call: AskedCall) -> tuple[dict[str, Any] | None, str]:
        """The arguments, or None and what is wrong with them. A cut call can look valid."""
        if self._is_cut(call):
            return None, CUT
        if not call.arguments.strip():
            return {}, ""
        try:
            arguments = json.loads(call.arguments, parse_constant=_refuse, parse_float=_finite)
            if r"\u" in call.arguments:  # it may be half of a character, which cannot be sent
                written = json.dumps(arguments, ensure_ascii=False)
                arguments = json.loads(text.paired(written))
        except (ValueError, RecursionError):
            return None, NOT_JSON
        return (arguments, "") if isinstance(arguments, dict) else (None, NOT_JSON)


def _usage(reported: dict[str, Any]) -> dict[str, int]:
    """`cached_tokens` are those of the input that the provider did not have to read again; left out if none."""
    usage = {key: counted(reported.get(key)) for key in ("input_tokens", "output_tokens")}
    cached = counted((reported.get("input_token_details") or {}).get("cache_read"))
    return {**usage, "cached_tokens": cached} if cached else usage


def counted(told: Any) -> int:
    """A provider's count as one that can be added up and paid for.

    >>> counted(12), counted(-1), counted(10**30), counted("12")
    (12, 0, 10000000, 0)
    """
    return min(max(told, 0), MAX_TOKENS) if isinstance(told, int) else 0


def flatten(content: Any) -> str:
    """The text of a message's content, without what is no text.

    :param content: a string, or a list of strings and of ``{"type": "text", "text": …}``
    """
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    parts = (part.get("text") if isinstance(part, dict) else part for part in content)
    return "".join(part for part in parts if isinstance(part, str))


def _refuse(constant: str):
    raise ValueError(constant)


def _finite(written: str) -> float:
    number = float(written)
    if not math.isfinite(number):
        raise ValueError(written)
    return number
