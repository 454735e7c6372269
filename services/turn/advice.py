"""Advice behind the result of a failed call, for the model: the nearest permitted values, and no answer from memory."""

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..specs import FAILED, CallResult, ToolCall

NO_ANSWER = (
    "The tool gave no answer, and an answer from memory is none: call it again with other arguments, "
    "call another tool, or say that it failed."
)
NEAREST = 3  # values that are named for an argument
RESEMBLES = 0.6  # ratio of difflib
MAX_VALUE = 100  # characters of a value that is looked for
MAX_KNOWN = 1_000  # values that one is compared with
MAX_ARGUMENTS = 10  # that are looked at
MAX_RESULT = 20_000  # characters of an earlier result that are searched
_QUOTED = re.compile(r'"([^"\\\n]{2,100})"')


def behind(call: ToolCall, result: CallResult, earlier: Iterable[Mapping[str, Any]]) -> str:
    """Sentences for the model, empty after a call that needs none.

    :param earlier: messages of the turn; results hold values that were permitted before
    """
    if result.outcome not in FAILED:
        return ""
    return " ".join([*_nearest(call, earlier), NO_ANSWER])


def _nearest(call: ToolCall, earlier: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    schema = call.tool.input_schema.get("properties") if call.tool else None
    properties = schema if isinstance(schema, Mapping) else {}
    found: list[str] | None = None
    for name, value in list((call.arguments or {}).items())[:MAX_ARGUMENTS]:
        if not isinstance(value, str) or not 0 < len(value) <= MAX_VALUE:
            continue
        permitted = _enumerated(properties.get(name))
        if not permitted:
            found = _of_results(earlier) if found is None else found
        known = permitted or found or []
        if value in known:
            continue
        if near := difflib.get_close_matches(value, known, NEAREST, RESEMBLES):
            yield f"For {name} there is: {', '.join(near)}."


def _enumerated(schema: Any) -> list[str]:
    """Values that a property permits, its alternatives' too."""
    if not isinstance(schema, Mapping):
        return []
    values: list[Any] = []
    for one in (schema, *_listed(schema.get("anyOf")), *_listed(schema.get("oneOf"))):
        if isinstance(one, Mapping):
            values += [*_listed(one.get("enum")), one.get("const")]
    return [value for value in values if isinstance(value, str)][:MAX_KNOWN]


def _listed(value: Any) -> list:
    return value if isinstance(value, list) else []


def _of_results(messages: Iterable[Mapping[str, Any]]) -> list[str]:
    """Quoted texts of earlier results, each once."""
    found: dict[str, None] = {}
    for message in messages:
        if message["role"] == "tool" and message.get("outcome") == "ok":
            for value in _QUOTED.findall(str(message.get("content") or "")[:MAX_RESULT]):
                found.setdefault(value)
                if len(found) == MAX_KNOWN:
                    return list(found)
    return list(found)
