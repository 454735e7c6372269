"""Action recall: what an action type fixes of a tool's arguments, and what is left to the LLM.

An argument is a slot: ``(location, name)``. Arguments of MCP tools are flat, their location is ``""``; those
of an operation stand in layers (see `openapi`), their location is the layer.
"""

import contextlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..schemas import schema
from .parser import LAYERS

DEPTH = 3  # nested schemas of an argument (document 002, 3.1)

Fixed = Mapping[tuple[str, str], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """One argument of a tool, with its own cleaned schema."""

    location: str
    name: str
    schema: Mapping[str, Any]
    required: bool


def parameters(input_schema: Mapping[str, Any], *, layered: bool) -> dict[str, Any]:
    """The tool's parameters as an OpenAI function takes them, `DEPTH` levels deep.

    :raises UnusableSchema: there is no way to offer the tool
    """
    # Layers are a level of ours, and each argument is one below its object.
    return schema.clean(input_schema, depth=DEPTH + 1 + int(layered))


def slots(cleaned: Mapping[str, Any], *, layered: bool) -> list[Slot]:
    """The arguments that can be fixed one by one.

    :param cleaned: as `parameters` has made them
    """
    if not layered:
        return _slots(cleaned, "")
    layers = cleaned.get("properties") or {}
    return [slot for name in LAYERS if name in layers for slot in _slots(layers[name], name)]


def _slots(of: Mapping[str, Any], location: str) -> list[Slot]:
    required = of.get("required") or ()
    return [
        Slot(location=location, name=name, schema=described, required=name in required)
        for name, described in (of.get("properties") or {}).items()
    ]


def arguments(fixed: Fixed, *, layered: bool) -> dict[str, Any]:
    """Fixed values in the form of the call: flat, or every layer, also an empty one.

    >>> arguments({("", "city"): "Taipei"}, layered=False)
    {'city': 'Taipei'}
    >>> arguments({("path", "id"): 7}, layered=True)
    {'header': {}, 'path': {'id': 7}, 'query': {}, 'body': {}}
    """
    if not layered:
        return {name: value for (_, name), value in fixed.items()}
    out: dict[str, Any] = {layer: {} for layer in ("header", "path", "query", "body")}
    for (location, name), value in fixed.items():
        out[location][name] = value
    return out


def optional(cleaned: Mapping[str, Any], fixed: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """The parameters with nothing required that is fixed: who calls adds it.

    :param cleaned: as `parameters` has made them
    :param fixed: ``(location, name)`` of each
    """
    return _edit(cleaned, set(fixed), keep=True)


def hidden(cleaned: Mapping[str, Any], fixed: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """The parameters without what is fixed: the LLM neither sees nor writes it.

    :param cleaned: as `parameters` has made them
    :param fixed: ``(location, name)`` of each
    """
    return _edit(cleaned, set(fixed), keep=False)


def described(cleaned: Mapping[str, Any], texts: Mapping[tuple[str, str], str]) -> dict[str, Any]:
    """The parameters with descriptions of one's own.

    :param cleaned: as `parameters` has made them
    :param texts: ``{(location, name): description}``
    """
    out = dict(cleaned)
    for (location, name), text in texts.items():
        layer = out if not location else (out.get("properties") or {}).get(location)
        if not layer or name not in (layer.get("properties") or {}):
            continue
        properties = {**layer["properties"]}
        properties[name] = {**properties[name], "description": text}
        if location:
            layers = {**out["properties"], location: {**layer, "properties": properties}}
            out["properties"] = layers
        else:
            out["properties"] = properties
    return out


def _edit(cleaned, fixed, *, keep) -> dict[str, Any]:
    out = _without(cleaned, {name for location, name in fixed if not location}, keep)
    locations = {location for location, _ in fixed if location}
    if not locations:
        return out
    layers = dict(out.get("properties") or {})
    dropped = []
    for location in locations & layers.keys():
        names = {name for where, name in fixed if where == location}
        layers[location] = _without(layers[location], names, keep)
        if not layers[location].get("required"):
            dropped.append(location)
        if not keep and not layers[location].get("properties"):
            del layers[location]
    required = [name for name in out.get("required") or () if name not in dropped]
    out = {**out, "properties": layers, "required": required}
    if not required:
        del out["required"]
    return out


def _without(of: Mapping[str, Any], names: set[str], keep: bool) -> dict[str, Any]:
    if not names:
        return dict(of)
    out = dict(of)
    if not keep:
        properties = of.get("properties") or {}
        out["properties"] = {key: value for key, value in properties.items() if key not in names}
    required = [name for name in of.get("required") or () if name not in names]
    out.pop("required", None)
    if required:
        out["required"] = required
    return out


def merged(given: Mapping[str, Any], fixed: Fixed) -> dict[str, Any]:
    """Arguments of the call: the LLM's, with the fixed values over them.

    >>> merged({"city": "Rome", "days": 2}, {("", "city"): "Taipei"})
    {'city': 'Taipei', 'days': 2}
    """
    out = dict(given)
    for (location, name), value in fixed.items():
        if location:
            layer = out.get(location)
            out[location] = {**(layer if isinstance(layer, Mapping) else {}), name: value}
        else:
            out[name] = value
    return out


def fitting(value: Any, described: Mapping[str, Any]) -> Any:
    """A value of a record in the type that the argument wants, where that loses nothing.

    >>> fitting(7, {"type": "string"}), fitting("7", {"type": "integer"}), fitting("x", {"type": "integer"})
    ('7', 7, 'x')
    """
    kinds = described.get("type")
    kinds = kinds if isinstance(kinds, list) else [kinds] if kinds else []
    if not kinds or value is None:
        return value
    if "array" in kinds and not isinstance(value, list):
        return [fitting(value, described.get("items") or {})]
    if isinstance(value, list):
        return [fitting(item, described.get("items") or {}) for item in value]
    if isinstance(value, bool):
        return ("true" if value else "false") if kinds == ["string"] else value
    if (
        isinstance(value, int | float)
        and "string" in kinds
        and not {"number", "integer"} & {*kinds}
    ):
        return str(value)
    if isinstance(value, str) and "string" not in kinds:
        with contextlib.suppress(ValueError):
            if "integer" in kinds:
                return int(value)
            if "number" in kinds:
                return float(value)
    if isinstance(value, float) and "integer" in kinds and value.is_integer():
        return int(value)
    return value
