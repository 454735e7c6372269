"""Parameter headers of the 2026-07-28 revision: names and arguments mirrored for proxies to read.

Source: MCP 2026-07-28, basic/transports/streamable-http, "Request Metadata".
"""

import base64
import binascii
import re
from collections.abc import Iterator, Mapping
from typing import Any

ANNOTATION = "x-mcp-header"
PREFIX = "Mcp-Param-"
# The parameter that the header `Mcp-Name` mirrors, by method.
NAMES = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
    "tasks/get": "taskId",
    "tasks/update": "taskId",
    "tasks/cancel": "taskId",
}
MAX_NODES = 20_000  # schema parts that are looked at

_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")  # RFC 9110, 5.6.2
_PLAIN = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?")
_PRIMITIVES = ("string", "integer", "boolean")
_LEAST = len("=?base64??=")
_DEEPEST = 50  # levels of properties below which no annotation counts

Path = tuple[str, ...]


def encode(value: str | int | bool) -> str:
    """A header value for an argument, in Base64 where it is not plain ASCII.

    >>> encode("us-west1"), encode(True), encode(" padded ")
    ('us-west1', 'true', '=?base64?IHBhZGRlZCA=?=')
    """
    text = str(value).lower() if isinstance(value, bool) else str(value)
    looks_encoded = text.startswith("=?base64?") and text.endswith("?=")
    if text and (looks_encoded or not _PLAIN.fullmatch(text)):
        return f"=?base64?{base64.b64encode(text.encode('utf-8', 'replace')).decode()}?="
    return text


def decode(value: str) -> str | None:
    """The text that a header value stands for, None where it is no such value.

    >>> decode("us-west1"), decode("=?base64?5Y+w5YyX?="), decode("=?base64?!?=")
    ('us-west1', '台北', None)
    """
    if not (value.startswith("=?base64?") and value.endswith("?=") and len(value) >= _LEAST):
        return value if _PLAIN.fullmatch(value) else None
    try:
        return base64.b64decode(value[9:-2], validate=True).decode()
    except (binascii.Error, ValueError):
        return None


def without(schema: Mapping[str, Any], depth: int = _DEEPEST) -> Mapping[str, Any]:
    """The schema without the annotations that `of_call` reads.

    :param schema: of a tool's arguments, which has no `problem`
    :param depth: levels of properties that are looked at

    >>> without({"properties": {"a": {"type": "string", "x-mcp-header": "A"}}})
    {'properties': {'a': {'type': 'string'}}}
    """
    properties = schema.get("properties")
    if not isinstance(properties, Mapping) or depth < 0:
        return schema
    plain = {
        key: without({name: value[name] for name in value if name != ANNOTATION}, depth - 1)
        if isinstance(value, Mapping)
        else value
        for key, value in properties.items()
    }
    return {**schema, "properties": plain}


def of_call(schema: Mapping[str, Any] | None, arguments: Mapping[str, Any]) -> dict[str, str]:
    """The headers that a tool's schema asks for in this call.

    :param schema: of the tool's arguments, as the server has sent it
    :return: ``{header: value}``
    """
    headers = {}
    for path, name in _annotated(schema or {}):
        value: Any = arguments
        for key in path:
            value = value.get(key) if isinstance(value, Mapping) else None
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, str | int):
            headers[f"{PREFIX}{name}"] = encode(value)
    return headers


def problem(schema: Mapping[str, Any] | None) -> str:
    """The reason that a tool with this schema must not be offered, empty if it may.

    :param schema: of the tool's arguments, as the server has sent it
    """
    schema = schema or {}
    seen: set[str] = set()
    reachable = 0
    for path, name in _annotated(schema):
        reachable += 1
        where = ".".join(path)
        if not isinstance(name, str) or not _TOKEN.fullmatch(name):
            return f"{ANNOTATION} of {where} is not a header name"
        if name.lower() in seen:
            return f"{ANNOTATION} {name} is used twice"
        seen.add(name.lower())
        if _at(schema, path).get("type") not in _PRIMITIVES:
            return f"{ANNOTATION} of {where} is on a value that is not a string, integer or boolean"
    if _count(schema) != reachable:
        return f"{ANNOTATION} is in a place where it has no meaning"
    return ""


def _annotated(schema: Mapping[str, Any], path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Properties with the annotation that are reached through ``properties`` alone."""
    properties = schema.get("properties")
    if not isinstance(properties, Mapping) or len(path) > _DEEPEST:
        return
    for key, value in properties.items():
        if isinstance(value, Mapping):
            if ANNOTATION in value:
                yield (*path, key), value[ANNOTATION]
            yield from _annotated(value, (*path, key))


def _at(schema: Mapping[str, Any], path: Path) -> Mapping[str, Any]:
    for key in path:
        schema = schema["properties"][key]
    return schema


# Keywords whose value is data, not a schema; `properties` holds schemas under names that mean nothing.
_DATA = ("default", "const", "enum", "examples", "required")
_NAMED = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")


def _count(schema: Any) -> int:
    """Number of annotations anywhere in the schema."""
    count, left = 0, [(schema, False)]
    for _ in range(MAX_NODES):
        if not left:
            break
        node, named = left.pop()
        if isinstance(node, list):
            left += [(item, False) for item in node]
        elif isinstance(node, Mapping):
            count += not named and ANNOTATION in node
            left += [
                (value, not named and key in _NAMED)
                for key, value in node.items()
                if named or key not in _DATA
            ]
    return count
