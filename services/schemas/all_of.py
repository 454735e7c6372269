"""``allOf``: two schemas that both hold, as one."""

from collections.abc import Mapping
from typing import Any

_LARGEST = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties")
_SMALLEST = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties")


def merged(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Merge of two schemas; of texts and of what cannot be joined, the first one's.

    >>> merged({"maximum": 100}, {"type": "integer", "minimum": 1, "maximum": 50})
    {'maximum': 50, 'type': 'integer', 'minimum': 1}
    """
    out = dict(one)
    for key, value in other.items():
        before = out.get(key)
        if before is None:
            out[key] = value
        elif key == "properties" and _both(Mapping, before, value):
            out[key] = {**before, **{name: _both_of(before, name, value[name]) for name in value}}
        elif key == "required" and _both(list, before, value):
            out[key] = [*before, *value]
        elif key == "enum" and _both(list, before, value):
            out[key] = [item for item in before if item in value] or before
        elif key == "type":
            out[key] = _type(before, value)
        elif key in (*_LARGEST, *_SMALLEST) and _both(int | float, before, value):
            out[key] = max(before, value) if key in _LARGEST else min(before, value)
    return out


def _both_of(properties: Mapping[str, Any], name: str, value: Any) -> Any:
    before = properties.get(name, value)
    return before if before == value else {"allOf": [before, value]}


def _type(one: Any, other: Any) -> Any:
    first, second = (kind if isinstance(kind, list) else [kind] for kind in (one, other))
    both = [kind for kind in first if kind in second]
    if not both and {"integer", "number"} <= {*map(str, first), *map(str, second)}:
        both = ["integer"]
    return (both[0] if len(both) == 1 else both) if both else one


def _both(kind: Any, *values: Any) -> bool:
    return all(isinstance(value, kind) for value in values)
