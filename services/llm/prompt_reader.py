"""Prompt-based tool calling, streaming parser: calls that are written as JSON among the text of an answer.

The form that models are asked for (document 001) is ``{"tool_calls": [{"name", "arguments"}], "message": "…"}``. What
they write is that with prose around it, in code blocks or tags, as a bare call or a list of them, broken or cut.
What is meant for the person comes out as soon as it is certain; JSON that calls tools never does.
"""

import json
import re
from collections.abc import Collection
from typing import Any

from .answer import AskedCall
from .lenient_json import LenientJson, TooDeep

_MISTRAL = "[TOOL_CALLS]"  # begins like a list
_TAGS = ("<tool_call>", "<tool_calls>", "<|tool_call|>", "<|python_tag|>", _MISTRAL)
_OPENER = re.compile(rf"(?P<fence>`{{3}})|(?P<tag>{'|'.join(map(re.escape, _TAGS))})|[\[{{]")
_FENCE = re.compile(r"`{3,}+[ \t]*+(?P<language>[\w+-]*+)\s*+(?=(?P<next>\S))")
_JSON_LANGUAGES = ("", "json", "json5", "jsonc", "tool_call", "tool_calls", "tool_code")
_FIRST_KEY = re.compile(r"(?:\[\s*+)?\{\s*+[\"'“]?(?P<key>\w++)[\"'”]?\s*+:")
_FIRST_KEY_BEGUN = re.compile(r"(?:\[\s*+)?+(?:\{\s*+[\"'“]?+\w*+[\"'”]?+\s*+)?+")
_REMAINS = re.compile(r"(?:[\s,;\]}]|</tool_calls?>|<\|/?tool_call\|>)*+")
MAX_HELD = 300  # characters that are held back until it is known what they begin
_PIECE = 1_000  # characters that are read at a time, so that taking from the front costs little
_CLOSING_TAGS = ("</tool_call>", "</tool_calls>", "<|/tool_call|>", "<|tool_call|>")
_CALLS = ("tool_calls", "tool_call", "function_call")
_NAMES = ("name", "tool", "tool_name", "function")
_ARGUMENTS = ("arguments", "parameters", "args", "input")
_KEYS = {*_CALLS, *_NAMES, *_ARGUMENTS, "message", "type", "id"}


class PromptReader:
    """:param names: of the tools that were offered; JSON without ``tool_calls`` calls a tool only by such a name
    :ivar calls: those that were read, in their order
    :ivar unread: JSON that was meant to call tools and could not be read
    """

    def __init__(self, names: Collection[str]):
        self.calls: list[AskedCall] = []
        self.unread: list[str] = []
        self.names = frozenset(names)
        self._buffer = ""
        self._is_over = False
        self._mode = self._in_text
        self._wrapper = ""  # a fence or a tag whose content is not known yet
        self._is_fenced = False
        self._json = LenientJson()
        self._raw: list[str] = []
        self._streamed: list[str] | None = None  # letters of the message that is being shown
        self._told = 0  # how many of them
        self._looked_at = 0  # keys of the object
        self._has_calls = False  # among them
        self._last_said = ""  # the last character that was shown
        self._needs_gap = False

    def feed(self, delta: str) -> str:
        """The visible part of the answer's next piece."""
        shown = []
        for start in range(0, max(len(delta), 1), _PIECE):
            self._buffer += delta[start : start + _PIECE]
            while (piece := self._mode()) is not None:
                if piece:
                    shown.append(self._with_gap(piece))
        return "".join(shown)

    def close(self) -> str:
        """The rest, when nothing more comes."""
        self._is_over = True
        return self.feed("")

    def _with_gap(self, piece: str) -> str:
        if self._needs_gap and self._last_said:
            if not (piece := piece.lstrip()):
                return ""
            if self._last_said != "\n":
                piece = f"\n\n{piece}"
        self._needs_gap = False
        self._last_said = piece[-1]
        return piece

    def _may_hold(self) -> bool:
        return not self._is_over and len(self._buffer) < MAX_HELD

    def _take(self, length: int) -> str:
        taken, self._buffer = self._buffer[:length], self._buffer[length:]
        return taken

    # ------------------------------------------------------------ modes: what to show, None if more is needed

    def _in_text(self) -> str | None:
        opener = _OPENER.search(self._buffer)
        if opener is None:
            held = 0 if self._is_over else _begun_opener(self._buffer)
            return self._take(len(self._buffer) - held) or None
        if opener.start():
            return self._take(opener.start())
        if opener["fence"]:
            self._mode = self._at_fence
        elif opener["tag"]:
            self._mode = self._at_tag
        elif not self._is_over and _MISTRAL.startswith(self._buffer):
            return None
        else:
            self._mode = self._at_bracket
        return ""

    def _at_fence(self) -> str | None:
        head = _FENCE.match(self._buffer)
        if head is None and self._may_hold():
            return None
        if head and head["next"] in "[{" and head["language"].lower() in _JSON_LANGUAGES:
            self._wrapper, self._is_fenced = self._take(head.end()), True
            self._mode = self._at_bracket
            return ""
        self._mode = self._in_code
        return self._take(head.end() if head else len(self._buffer))

    def _in_code(self) -> str | None:
        end = self._buffer.find("```")
        if end >= 0:
            self._mode = self._in_text
            return self._take(end + 3)
        held = 0 if self._is_over else len(self._buffer) - len(self._buffer.rstrip("`"))
        return self._take(len(self._buffer) - held) or None

    def _at_tag(self) -> str | None:
        opener = _OPENER.match(self._buffer)
        tag = opener[0] if opener else ""
        behind = self._buffer[len(tag) :].lstrip()
        if not behind and self._may_hold():
            return None
        if behind[:1] in ("[", "{"):
            self._wrapper, self._mode = (
                self._take(len(self._buffer) - len(behind)),
                self._at_bracket,
            )
            return ""
        self._mode = self._in_text
        return self._take(len(tag))

    def _at_bracket(self) -> str | None:
        key = _FIRST_KEY.match(self._buffer)
        if key is None and self._may_hold() and _FIRST_KEY_BEGUN.fullmatch(self._buffer):
            return None
        if key is None and self._is_over and any(word in self._buffer for word in _CALLS):
            self.unread.append(self._wrapper + self._take(len(self._buffer)))
            return None
        # An answer that is nothing but an object may begin with what the model thinks.
        if key is None or (key["key"] not in _KEYS and self._last_said):
            return self._not_a_call(self._take(1))
        self._json, self._raw, self._streamed, self._told = LenientJson(), [], None, 0
        self._looked_at, self._has_calls = 0, False
        self._mode = self._in_json
        return ""

    def _in_json(self) -> str | None:
        position = 0
        try:
            while position < len(self._buffer) and not self._json.is_done:
                self._json.feed(self._buffer[position])
                position += 1
            if self._is_over:
                self._json.close()
        except TooDeep:
            self._mode = self._in_unreadable
            return ""
        self._raw.append(self._take(position))
        message = self._message_so_far()
        if not self._json.is_done:
            return message or None
        if rest := self._json.rest:
            self._buffer = rest + self._buffer
        return message + self._end_of_json("".join(self._raw).removesuffix(rest))

    def _in_unreadable(self) -> str | None:
        """Nothing that follows can be told apart."""
        self._raw.append(self._take(len(self._buffer)))
        if self._is_over and self._raw:
            self.unread.append(self._wrapper + "".join(self._raw))
            self._raw = []
        return None

    def _after_json(self) -> str | None:
        """Drops brackets that were too many, closing tags and the closing fence."""
        if remains := _REMAINS.match(self._buffer):
            self._take(remains.end())
        if not self._is_over and (
            not self._buffer
            or (self._is_fenced and self._buffer in ("`", "``"))
            or any(tag.startswith(self._buffer) for tag in _CLOSING_TAGS)
        ):
            return None
        if self._is_fenced and self._buffer[:1] in ("[", "{"):
            self._mode = self._at_bracket
            return ""
        if self._is_fenced:
            self._buffer = self._buffer.lstrip("`")
        self._is_fenced = False
        self._needs_gap = True
        self._mode = self._in_text
        return ""

    # ------------------------------------------------------------ one object or list

    def _message_so_far(self) -> str:
        """A message streams only behind the calls, when it is certain what it belongs to."""
        keys = self._json.keys
        if keys and keys[-1] == "message" and not self._told:
            before = keys[self._looked_at : -1]
            self._has_calls = self._has_calls or any(key in _CALLS for key in before)
            self._looked_at = len(keys) - 1
            if self._has_calls:
                self._streamed = self._json.letters
        if self._streamed is None:
            return ""
        self._needs_gap = self._needs_gap or not self._told
        streamed = "".join(self._streamed[self._told :])
        self._told = len(self._streamed)
        return streamed

    def _end_of_json(self, raw: str) -> str:
        value = self._json.value
        if calls := self._calls_in(value):
            self.calls += calls
        elif self._only_says(value):
            pass
        elif any(key in _CALLS for key in self._json.keys):
            self.unread.append(self._wrapper + raw)
        else:
            return self._not_a_call(raw)
        self._wrapper = ""
        self._mode = self._after_json
        message = value.get("message") if isinstance(value, dict) else None
        if self._streamed is not None or not isinstance(message, str):
            return ""
        self._needs_gap = True
        return message

    def _not_a_call(self, raw: str) -> str:
        self._mode = self._in_code if self._is_fenced else self._in_text
        released, self._wrapper, self._is_fenced = self._wrapper + raw, "", False
        return released

    def _only_says(self, value: Any) -> bool:
        if not isinstance(value, dict) or not isinstance(value.get("message"), str):
            return False
        requested = [value[key] for key in _CALLS if key in value]
        return not any(requested) if requested else len(value) == 1 and not self._last_said

    def _calls_in(self, value: Any) -> list[AskedCall]:
        if isinstance(value, dict):
            requested = next((value[key] for key in _CALLS if key in value), None)
            if requested is None:
                return [call for call in [self._call(value)] if call and call.name in self.names]
        else:
            requested = value
            if not any(call and call.name in self.names for call in map(self._call, value)):
                return []
        entries = [entry for entry in _as_list(requested) if isinstance(entry, dict)]
        calls = [self._call(entry) or self._nameless(entry) for entry in entries]
        return calls if any(call.name for call in calls) else []

    def _nameless(self, entry: dict[str, Any]) -> AskedCall:
        """A broken call among others: the model is told that there is no such tool."""
        return AskedCall(is_cut=self._json.was_cut(entry))

    def _call(self, entry: Any) -> AskedCall | None:
        if not isinstance(entry, dict):
            return None
        inner = entry["function"] if isinstance(entry.get("function"), dict) else entry
        name = next((inner[key] for key in _NAMES if isinstance(inner.get(key), str)), "").strip()
        if not name:
            return None
        arguments = next((inner[key] for key in _ARGUMENTS if key in inner), None)
        is_whole = (
            isinstance(arguments, dict)
            and not self._json.was_cut(arguments)
            and [*inner][-1] not in _NAMES  # the name itself may have been cut
        )
        return AskedCall(
            name=name,
            arguments=_written(arguments),
            is_cut=not is_whole and self._json.was_cut(inner),
        )


def _begun_opener(text: str) -> int:
    """The length of the text's end that may become an opener."""
    longest = max(map(len, _TAGS))
    for length in range(min(longest, len(text)), 0, -1):
        if any(opener.startswith(text[-length:]) for opener in ("```", *_TAGS)):
            return length
    return 0


def _as_list(value: Any) -> list:
    return value if isinstance(value, list) else [value]


def _written(arguments: Any) -> str:
    """The arguments as JSON text; some models write an object into a text."""
    if isinstance(arguments, str):
        return arguments
    return json.dumps({} if arguments is None else arguments, ensure_ascii=False)
