"""JSON Schema normalization: a server's schema as OpenAI-compatible endpoints accept it for parameters.

References are inlined, recursion and depth are cut (type and description stay), keywords that make
endpoints refuse the whole request are rewritten or left out. One bad property never costs the tool:
it becomes a property without a type. The server's own schema still decides whether arguments are right.

A tool has a budget of bytes, which is spent breadth first: descriptions become shorter until all of it fits, then
what lies deepest is cut. Cut texts end in “…”.
"""

import json
from collections import deque
from collections.abc import Callable, Mapping
from sys import float_info
from typing import Any, TypeGuard
from urllib.parse import unquote

from .. import text
from ..errors import UnusableSchema
from . import all_of

MAX_BYTES = 12_000  # of a result, about; the median of 1 119 real tools has 500
MAX_DEPTH = 12  # nested schemas; what lies deeper keeps its type and description
MAX_NODES = 2_000  # schemas in one result: references may fan out exponentially
MAX_TRAIL = 32  # references that lead to each other
MAX_TEXTS = (1_000, 300, 100)  # characters of one description, tried in this order
_BETWEEN = 6  # bytes of quotation marks, colon and comma around a name
_KEYWORD = 20  # bytes of a keyword with its brackets
_OPEN = 30  # bytes that say that an object may hold anything
MAX_ENUM = 4_000  # bytes of one list of values

Resolver = Callable[[str], Any]
"""Gives the schema that a reference means; raises `LookupError` where there is none."""

_TYPES = {"object", "array", "string", "number", "integer", "boolean", "null"}
_NUMBERS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_COUNTS = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")
_UNIONS = ("anyOf", "oneOf")
_FORMATS = {"date", "time", "date-time", "email", "uri", "uuid", "ipv4", "ipv6", "hostname"}


def local_references(document: Any) -> Resolver:
    """References into `document`: JSON pointers, ``$anchor`` and ``$id``. Nothing is ever fetched.

    With a schema as document this is JSON Schema's rule, with an OpenAPI description it resolves
    ``#/components/schemas/…``.
    """
    named: dict[str, Any] | None = None

    def resolve(reference: str) -> Any:
        nonlocal named
        if reference == "#":
            return document
        if reference.startswith("#/"):
            return _pointer(document, reference[2:])
        if named is None:
            named = dict(_names(document, MAX_DEPTH))
        return named[reference]

    return resolve


def clean(
    schema: Any, *, resolve: Resolver | None = None, depth: int = MAX_DEPTH
) -> dict[str, Any]:
    """The parameters object of an OpenAI function, made of a tool's input schema.

    :param resolve: the reference strategy; by default references point into the schema itself
    :raises UnusableSchema: the schema cannot describe an object of arguments at all
    """
    if schema is None or schema is True:
        schema = {}
    if not isinstance(schema, Mapping):
        raise UnusableSchema(detail=f"the schema is a {type(schema).__name__}")
    resolve = resolve or local_references(schema)
    for max_text in MAX_TEXTS:
        cleaner = _Cleaner(resolve, max_text)
        cleaned = cleaner.clean(schema, depth)
        if not cleaner.is_over:
            break
    if cleaner.leads_nowhere:
        raise UnusableSchema(detail="the schema is a reference that leads nowhere")
    return _as_object(cleaned)


class _Cleaner:
    """
    :ivar is_over: the budget was not enough
    :ivar leads_nowhere: the whole schema is a reference without a target
    """

    def __init__(self, resolve: Resolver, max_text: int):
        self.is_over = False
        self.leads_nowhere = False
        self._resolve = resolve
        self._max_text = max_text
        self._left = MAX_BYTES
        self._nodes = 0
        self._queue: deque[tuple[Mapping, dict[str, Any], int, tuple[str, ...]]] = deque()
        self._unions: list[dict[str, Any]] = []  # nodes whose items are several schemas
        self._open: list[dict[str, Any]] = []  # nodes with a schema for further properties
        self._objects: list[dict[str, Any]] = []  # the root, and what is of this type

    def clean(self, schema: Mapping, depth: int) -> dict[str, Any]:
        self.leads_nowhere = not self._follow(schema, ())[2]
        out = self._outline(schema, depth, ())
        while self._queue:
            self._fill(*self._queue.popleft())
        for node in reversed(self._unions):
            kinds = node["items"]["anyOf"]
            distinct = {json.dumps(kind, sort_keys=True, default=str): kind for kind in kinds}
            node["items"] = kinds[0] if len(distinct) == 1 else {"anyOf": list(distinct.values())}
        for node in self._open:
            node["additionalProperties"] = node["additionalProperties"] or True
        for node in self._objects[1:]:  # a tool without parameters has none
            if not node.get("properties") and "anyOf" not in node:
                node.setdefault("additionalProperties", True)
        return out

    def _outline(self, schema: Any, depth: int, trail: tuple[str, ...]) -> dict[str, Any]:
        """Type and description; what is inside comes in its turn. `trail` holds the references that led here."""
        self._nodes += 1
        if not isinstance(schema, Mapping):
            return {}
        whole = self._nodes <= MAX_NODES
        if whole:
            schema, trail, whole = self._follow(schema, trail)
        if whole and depth > 0 and "allOf" in schema:
            schema = self._merged(schema, trail, depth)
        out = _annotations(schema, self._max_text)
        if self._left < 0:
            out.pop("description", None)
        _typed(out)
        self._spend(out, _KEYWORD if _has_inside(schema) else 0)  # for the sign that it is cut
        if not self._objects or "object" in _list_or_one(out.get("type")):
            self._objects.append(out)
            self._spend({}, 0 if _has_inside(schema) else _OPEN)
        if whole and depth > 0:
            self._queue.append((schema, out, depth, trail))
        return out

    def _fill(
        self, schema: Mapping, out: dict[str, Any], depth: int, trail: tuple[str, ...]
    ) -> None:
        scalars = _scalars(schema)
        for key in ("enum", "default"):
            if key in scalars and _size(scalars[key]) > min(MAX_ENUM, max(self._left, 100)):
                del scalars[key]
                _mark_cut(out)
        self._spend(scalars)
        out |= scalars
        if self._left < 0:
            if _has_inside(schema):
                _mark_cut(out)
            return
        self._object(schema, out, depth, trail)
        self._array(schema, out, depth, trail)
        for union in _UNIONS:
            branches = [branch for branch in _list(schema.get(union)) if branch is not False]
            if branches:
                self._spend({}, _KEYWORD)
                cleaned = [self._outline(branch, depth - 1, trail) for branch in branches]
                out.setdefault("anyOf", []).extend(cleaned)
        was_known = out is self._objects[0] or "object" in _list_or_one(out.get("type"))
        _typed(out)
        if not was_known and "object" in _list_or_one(out.get("type")):
            self._objects.append(out)
            self._spend({}, _OPEN)

    def _spend(self, written: Any, more: int = 0) -> None:
        self._left -= _size(written) + more
        self.is_over |= self._left < 0

    def _follow(
        self, schema: Mapping, trail: tuple[str, ...]
    ) -> tuple[Mapping, tuple[str, ...], bool]:
        """Inline ``$ref`` (keywords beside it win). The flag is False where it leads nowhere or round."""
        while "$ref" in schema or "$dynamicRef" in schema:
            reference = schema["$ref" if "$ref" in schema else "$dynamicRef"]
            beside = {k: v for k, v in schema.items() if k not in ("$ref", "$dynamicRef")}
            try:
                target = self._resolve(reference)
            except (LookupError, TypeError, ValueError, AttributeError):
                return beside, trail, False
            if not isinstance(target, Mapping):
                return beside, trail, target is True
            if reference in trail or len(trail) >= MAX_TRAIL:
                return _annotations(target) | beside, trail, False
            trail = (*trail, reference)
            schema = {**target, **beside}
        return schema, trail, True

    def _merged(self, schema: Mapping, trail: tuple[str, ...], depth: int) -> dict[str, Any]:
        """``allOf`` folded into one schema: many endpoints refuse or ignore it."""
        merged = {k: v for k, v in schema.items() if k != "allOf"}
        for part in _list(schema["allOf"]):
            self._nodes += 1
            if not isinstance(part, Mapping) or self._nodes > MAX_NODES:
                continue
            part, part_trail, whole = self._follow(part, trail)
            if not whole:
                continue
            if "allOf" in part and depth > 0:
                part = self._merged(part, part_trail, depth - 1)
            merged = all_of.merged(merged, part)
        return merged

    def _object(self, schema: Mapping, out: dict, depth: int, trail: tuple[str, ...]) -> None:
        properties = _mapping(schema.get("properties"))
        if properties or "object" in _list_or_one(out.get("type")):
            out["properties"] = {}
            self._spend({}, _KEYWORD)
            for name, value in properties.items():
                if value is not False:
                    self._spend({}, len(str(name)) + _BETWEEN)
                    out["properties"][str(name)] = self._outline(value, depth - 1, trail)
            required = [
                name
                for name in _list(schema.get("required"))
                if _is_text(name) and name in out["properties"]
            ]
            if required:
                out["required"] = list(dict.fromkeys(required))
                self._spend(out["required"], _KEYWORD)
        extra = schema.get("additionalProperties")
        if isinstance(extra, bool):
            out["additionalProperties"] = extra
            self._spend({}, _KEYWORD)
        elif isinstance(extra, Mapping):
            out["additionalProperties"] = self._outline(extra, depth - 1, trail)
            self._open.append(out)

    def _array(self, schema: Mapping, out: dict, depth: int, trail: tuple[str, ...]) -> None:
        items = schema.get("items")
        positions = items if isinstance(items, list) else _list(schema.get("prefixItems"))
        if items or positions:
            self._spend({}, _KEYWORD)
        if isinstance(items, Mapping):
            out["items"] = self._outline(items, depth - 1, trail)
        elif positions:
            kinds = [self._outline(item, depth - 1, trail) for item in positions]
            out["items"] = {"anyOf": kinds}
            self._unions.append(out)


def _size(written: Any) -> int:
    return len(json.dumps(written, ensure_ascii=False, default=str).encode("utf-8", "replace"))


def _has_inside(schema: Mapping) -> bool:
    return any(schema.get(key) for key in ("properties", "items", *_UNIONS))


def _mark_cut(out: dict[str, Any]) -> None:
    description = out.get("description", "")
    if not description.endswith("…"):
        out["description"] = f"{description} …".strip()


def _annotations(schema: Mapping, max_text: int = MAX_TEXTS[0]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    kind = schema.get("type")
    if isinstance(kind, list):
        kinds = [k for k in dict.fromkeys(filter(_is_text, kind)) if k in _TYPES]
        kind = kinds[0] if len(kinds) == 1 else kinds
    if schema.get("nullable") is True and isinstance(kind, str) and kind != "null":
        kind = [kind, "null"]
    if (isinstance(kind, list) and kind) or (isinstance(kind, str) and kind in _TYPES):
        out["type"] = kind
    description = schema.get("description") or schema.get("title")
    if isinstance(description, str) and (description := text.squeezed(description, max_text)):
        out["description"] = description
    return out


def _scalars(schema: Mapping) -> dict[str, Any]:
    out: dict[str, Any] = {}
    if isinstance(schema.get("enum"), list) and schema["enum"] and _is_json(schema["enum"]):
        out["enum"] = schema["enum"]
    for key in ("const", "default"):
        if key in schema and _is_json(schema[key]):
            out[key] = schema[key]
    for key in _NUMBERS:
        number = schema.get(key)
        if _is_number(number) and (key != "multipleOf" or number > 0):
            out[key] = number
    for key in _COUNTS:
        count = schema.get(key)
        if _is_number(count) and count >= 0 and count == int(count):
            out[key] = int(count)
    if _is_text(schema.get("format")) and schema["format"] in _FORMATS:
        out["format"] = schema["format"]
    if _is_portable(pattern := schema.get("pattern")):
        out["pattern"] = pattern
    return out


def _typed(out: dict[str, Any]) -> dict[str, Any]:
    """Arrays need items, objects need properties, in the eyes of OpenAI's validator.

    Grammars of llama.cpp take these for all that there may be: an object of which nothing is known is said to be open.
    """
    kinds = _list_or_one(out.get("type"))
    if not kinds and "properties" in out:
        out["type"] = "object"
    if not kinds and "items" in out:
        out["type"] = "array"
    if "array" in kinds:
        out.setdefault("items", {})
    if "object" in kinds:
        out.setdefault("properties", {})
    return out


def _as_object(cleaned: dict[str, Any]) -> dict[str, Any]:
    """The top level: type object, without a union (OpenAI refuses one there)."""
    branches = [
        b for b in cleaned.pop("anyOf", []) if "object" in _list_or_one(b.get("type", "object"))
    ]
    kinds = _list_or_one(cleaned.get("type", "object"))
    if "object" not in kinds:
        raise UnusableSchema(detail=f"the arguments are of type {kinds}")
    for key in ("enum", "const", "default"):
        cleaned.pop(key, None)
    found: dict[str, list] = {}
    for branch in branches:
        for name, value in branch.get("properties", {}).items():
            if value not in found.setdefault(name, []):
                found[name].append(value)
    properties = dict(cleaned.get("properties", {}))
    for name, values in found.items():
        properties.setdefault(name, values[0] if len(values) == 1 else {"anyOf": values})
    required = list(cleaned.get("required", []))
    for name in branches[0].get("required", []) if branches else []:
        if name not in required and all(name in branch.get("required", []) for branch in branches):
            required.append(name)
    out = {**cleaned, "type": "object", "properties": properties}
    if required:
        out["required"] = required
    return out


def _is_portable(pattern: Any) -> bool:
    """llama.cpp refuses a request whose pattern is not anchored or uses groups of the ``(?`` kind."""
    return (
        isinstance(pattern, str)
        and pattern.startswith("^")
        and pattern.endswith("$")
        and not any(part in pattern for part in ("(?", "\\b", "\\p", "\\B"))
    )


def _pointer(document: Any, pointer: str) -> Any:
    for part in unquote(pointer).split("/"):
        part = part.replace("~1", "/").replace("~0", "~")
        document = document[int(part)] if isinstance(document, list) else document[part]
    return document


def _names(schema: Any, depth: int):
    if depth <= 0 or not isinstance(schema, Mapping | list):
        return
    if isinstance(schema, list):
        for item in schema:
            yield from _names(item, depth - 1)
        return
    for key, prefix in (("$anchor", "#"), ("$dynamicAnchor", "#"), ("$id", "")):
        if isinstance(schema.get(key), str):
            yield prefix + schema[key], schema
    for value in schema.values():
        yield from _names(value, depth - 1)


def _list(value: Any) -> list:
    return value if isinstance(value, list) else []


def _list_or_one(value: Any) -> list:
    return value if isinstance(value, list) else [] if value is None else [value]


def _mapping(value: Any) -> Mapping:
    return value if isinstance(value, Mapping) else {}


def _is_number(value: Any) -> TypeGuard[int | float]:
    """True for a number that other programs hold, too: neither NaN nor infinite, nor an integer of any length."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and abs(value) <= float_info.max


def _is_json(value: Any) -> bool:
    """True if it can be written as JSON: Python reads ``NaN``, which no endpoint does."""
    if isinstance(value, str | int | bool) or value is None:
        return True
    try:
        json.dumps(value, allow_nan=False)
    except (ValueError, TypeError, RecursionError):
        return False
    return True


def _is_text(value: Any) -> bool:
    return isinstance(value, str)
