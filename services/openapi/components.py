"""OpenAPI components: the schemas that an operation needs, in today's dialect of JSON Schema, bounded in size."""

from collections.abc import Iterator, Mapping
from typing import Any

from .. import text

MAX_COMPONENTS = 300  # that come along with one operation
MAX_DEPTH = 60  # nested schemas
MAX_SCHEMA = (
    256 * 1024
)  # bytes of one operation's schema, about; the largest that is known has 124 kB

_PREFIX = "#/components/schemas/"


class Components:
    """Components of a document, each looked at once."""

    def __init__(self, document: Mapping[str, Any]):
        self._modern = str(document.get("openapi", "")).startswith("3.1")
        self._all = mapping(mapping(document.get("components")).get("schemas"))
        self._read: dict[str, tuple[Any, list[str], int]] = {}  # translated, its references, weight

    def beside(self, schema: dict[str, Any]) -> dict[str, Any]:
        """The schema in today's dialect, with all components that it needs, as far as they are not too large."""
        schema = translated(schema, self._modern)
        included: dict[str, Any] = {}
        waiting, room = list(_references(schema)), MAX_SCHEMA
        while waiting and len(included) < MAX_COMPONENTS and room > 0:
            name = waiting.pop()
            if name in included or name not in self._all:
                continue
            included[name], more, weight = self._component(name)
            waiting += more
            room -= weight
        return {**schema, "components": {"schemas": included}} if included else schema

    def _component(self, name: str) -> tuple[Any, list[str], int]:
        if name not in self._read:
            read = translated(self._all[name], self._modern)
            names = list(dict.fromkeys(_references(read)))
            self._read[name] = read, names, text.weight(read, MAX_SCHEMA)
        return self._read[name]


def translated(schema: Any, modern: bool, depth: int = MAX_DEPTH) -> Any:
    """OpenAPI 3.0's ``nullable`` and boolean limits as JSON Schema 2020-12 says them; examples go.

    :param schema: of the document, or any part of one
    :param modern: OpenAPI 3.1, which has today's dialect already
    :param depth: levels that are kept
    """
    if depth <= 0:
        return {}
    if isinstance(schema, list):
        return [translated(item, modern, depth - 1) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    out = {}
    for key, value in schema.items():
        if key == "properties" and isinstance(value, Mapping):
            out[key] = {
                str(name): translated(item, modern, depth - 1) for name, item in value.items()
            }
        elif key in ("enum", "const", "default", "required"):
            out[key] = value
        elif key not in ("example", "examples", "xml", "externalDocs") and not (
            isinstance(key, str) and key.startswith("x-")
        ):
            out[key] = translated(value, modern, depth - 1)
    if modern:
        return out
    if out.pop("nullable", None) is True:
        if isinstance(out.get("type"), str):
            out["type"] = [out["type"], "null"]
        if isinstance(out.get("enum"), list) and None not in out["enum"]:
            out["enum"] = [*out["enum"], None]
    for limit, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if isinstance(out.get(exclusive), bool):
            is_exclusive = out.pop(exclusive)
            if is_exclusive and limit in out:
                out[exclusive] = out.pop(limit)
    return out


def _references(schema: Any) -> Iterator[str]:
    """Names of the components that a schema mentions."""
    if isinstance(schema, Mapping):
        reference = schema.get("$ref")
        if isinstance(reference, str) and reference.startswith(_PREFIX):
            yield (
                reference.removeprefix(_PREFIX).split("/")[0].replace("~1", "/").replace("~0", "~")
            )
        for value in schema.values():
            yield from _references(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from _references(value)


def mapping(value: Any) -> Mapping[str, Any]:
    """The `value` if it is a mapping, else an empty one."""
    return value if isinstance(value, Mapping) else {}
