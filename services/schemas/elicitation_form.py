"""MCP elicitation form: what its flat schema may hold, and whether an answer fits it.

MCP 2025-11-25, client/elicitation: strings, numbers, integers, booleans, one or several of a list.
"""

import json
import re
from collections.abc import Mapping
from datetime import date, datetime
from typing import Any
from urllib.parse import urlsplit

MAX_FIELDS = 50
MAX_SCHEMA = 64 * 1024  # characters of JSON
MAX_TEXT = 10_000  # characters of one value
MAX_EMAIL = 254  # characters, RFC 5321; looking at a long text would take long
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")


def clean(schema: Any) -> dict[str, Any] | None:
    """Schema that a form can be made from, None if it is too large.

    >>> clean({"type": "object", "properties": {"a": {"type": "string"}, "b": 1}, "required": ["a", "b"]})
    {'type': 'object', 'properties': {'a': {'type': 'string'}}, 'required': ['a']}
    """
    schema = schema if isinstance(schema, Mapping) else {}
    found = schema.get("properties")
    properties = {
        name: dict(field)
        for name, field in (found.items() if isinstance(found, Mapping) else ())
        if isinstance(field, Mapping)
    }
    form: dict[str, Any] = {"type": "object", "properties": properties}
    if isinstance(schema.get("required"), list):
        form["required"] = [name for name in schema["required"] if name in properties]
    too_large = len(properties) > MAX_FIELDS or len(json.dumps(form)) > MAX_SCHEMA
    return None if too_large else form


def problems(content: Mapping[str, Any], form: Mapping[str, Any]) -> dict[str, str]:
    """Problem of each field of an answer: a code that the card turns into a sentence.

    required, unknown, text, number, integer, boolean, choice, too_short, too_long, too_small, too_large,
    too_few, too_many, email, uri, date, date-time

    >>> problems({"age": "old"}, {"properties": {"age": {"type": "integer"}, "name": {}}, "required": ["name"]})
    {'age': 'integer', 'name': 'required'}
    """
    properties, required = form.get("properties") or {}, form.get("required") or ()
    wrong = {name: "unknown" for name in content if name not in properties}
    for name, field in properties.items():
        if name not in content:
            if name in required:
                wrong[name] = "required"
        elif code := _problem(content[name], field):
            wrong[name] = code
    return wrong


def choices(field: Mapping[str, Any]) -> list[Any] | None:
    """The values of which one has to be chosen; None where any will do.

    :param field: a property of a form that `clean` has made
    """
    if isinstance(field.get("enum"), list):
        return field["enum"]
    for key in ("oneOf", "anyOf"):
        if isinstance(field.get(key), list):
            return [
                each["const"]
                for each in field[key]
                if isinstance(each, Mapping) and "const" in each
            ]
    return None


def _problem(value: Any, field: Mapping[str, Any]) -> str:
    if field.get("type") == "array":
        return _problem_of_several(value, field)
    if (options := choices(field)) is not None:
        return "" if value in options and not isinstance(value, list | dict) else "choice"
    match field.get("type"):
        case "boolean":
            return "" if isinstance(value, bool) else "boolean"
        case "number" | "integer" as kind:
            return _problem_of_number(value, field, kind)
    return _problem_of_text(value, field)


def _problem_of_several(value: Any, field: Mapping[str, Any]) -> str:
    items = field.get("items")
    options = choices(items) if isinstance(items, Mapping) else None
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        return "choice"
    if options is not None and not all(each in options for each in value):
        return "choice"
    return _out_of(len(value), field, "minItems", "maxItems", ("too_few", "too_many"))


def _problem_of_number(value: Any, field: Mapping[str, Any], kind: str) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return kind
    if kind == "integer" and value % 1:
        return kind
    return _out_of(value, field, "minimum", "maximum", ("too_small", "too_large"))


def _problem_of_text(value: Any, field: Mapping[str, Any]) -> str:
    if not isinstance(value, str):
        return "text"
    if len(value) > MAX_TEXT:
        return "too_long"
    if code := _out_of(len(value), field, "minLength", "maxLength", ("too_short", "too_long")):
        return code
    kind = field.get("format")
    return kind if kind in _FORMATS and not _FORMATS[kind](value) else ""


def _out_of(size: float, field: Mapping[str, Any], low: str, high: str, codes: tuple[str, str]):
    if isinstance(field.get(low), int | float) and size < field[low]:
        return codes[0]
    if isinstance(field.get(high), int | float) and size > field[high]:
        return codes[1]
    return ""


def _is_uri(value: str) -> bool:
    try:
        return bool(urlsplit(value).scheme) and " " not in value
    except ValueError:
        return False


def _is_date(value: str) -> bool:
    try:
        return bool(date.fromisoformat(value)) and len(value) == len("2026-11-21")
    except ValueError:
        return False


def _is_moment(value: str) -> bool:
    """RFC 3339: with a time and a zone."""
    try:
        return datetime.fromisoformat(value).tzinfo is not None
    except ValueError:
        return False


_FORMATS = {
    "email": lambda value: len(value) <= MAX_EMAIL and bool(_EMAIL.fullmatch(value)),
    "uri": _is_uri,
    "date": _is_date,
    "date-time": _is_moment,
}
