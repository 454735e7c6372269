"""Definition diff: two definitions of a tool, line beside line."""

import difflib
import json
import re
from collections import Counter
from collections.abc import Mapping
from itertools import takewhile
from typing import Any, Literal, NamedTuple

CONTEXT = 3  # equal lines around a change
MAX_LINES = 500  # of one side of what has changed
OFTEN = 8  # times that a line may occur and still tell which lines belong together

Kind = Literal["same", "changed", "added", "removed", "gap", "rest"]


class Row(NamedTuple):
    kind: Kind
    left: str
    right: str


def rows(approved: Mapping[str, Any], pending: Mapping[str, Any]) -> list[Row]:
    """Differences, with a little of their surroundings.

    ``gap`` stands for equal lines that are left out; ``rest``, last, tells how many lines of each side are beyond
    `MAX_LINES`.

    :param approved: the fields by name; strings as lines, everything else as JSON

    >>> [tuple(row) for row in rows({"title": "Add"}, {"title": "Add all"})]
    [('changed', 'title: Add', 'title: Add all')]
    """
    left, right = _changed_part(_lines(approved), _lines(pending))
    rest = [len(side[MAX_LINES:]) for side in (left, right)]
    left, right = left[:MAX_LINES], right[:MAX_LINES]
    found: list[Row] = []
    often = {line for line, count in Counter(right).items() if count > OFTEN}
    matcher = difflib.SequenceMatcher(often.__contains__, left, right, autojunk=False)
    for group in matcher.get_grouped_opcodes(CONTEXT):
        if found:
            found.append(Row("gap", "", ""))
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                found += [Row("same", line, line) for line in left[i1:i2]]
                continue
            for at in range(max(i2 - i1, j2 - j1)):
                old = left[i1 + at] if i1 + at < i2 else None
                new = right[j1 + at] if j1 + at < j2 else None
                kind: Kind = "added" if old is None else "removed" if new is None else "changed"
                found.append(Row(kind, old or "", new or ""))
    if any(rest):
        found.append(Row("rest", *map(str, rest)))
    return found


def is_reordered(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """True if definitions differ in nothing but the order of what a ``default`` lists.

    Servers that write one from a Python set give it another order at each start.

    >>> is_reordered({"s": {"default": "a,b"}}, {"s": {"default": "b,a"}})
    True
    >>> is_reordered({"s": {"default": "a,b"}}, {"s": {"default": "b,a,c"}})
    False
    """
    try:
        return _unordered(one) == _unordered(other)
    except RecursionError:
        return False


def _unordered(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {
            name: _listed(inner) if name == "default" else _unordered(inner)
            for name, inner in value.items()
        }
    return [_unordered(inner) for inner in value] if isinstance(value, list) else value


def _listed(value: Any) -> Any:
    """Entries of a default, in a text or in an array, in one order."""
    if isinstance(value, str):
        return "text", sorted(re.split(r"[\s,;]+", value))
    if isinstance(value, list):
        return "array", sorted(json.dumps(item, sort_keys=True) for item in value)
    return _unordered(value)


def _changed_part(left: list[str], right: list[str]) -> tuple[list[str], list[str]]:
    """From the first change to the last, with the context: padding around a change hides none of it."""
    for _ in ("from the front", "from the back"):
        pairs = zip(left, right, strict=False)
        equal = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        start = max(equal - CONTEXT, 0)
        left, right = left[start:][::-1], right[start:][::-1]
    return left, right


def _lines(definition: Mapping[str, Any]) -> list[str]:
    lines: list[str] = []
    for name, value in definition.items():
        if not isinstance(value, str):
            value = json.dumps(value, indent=2, ensure_ascii=False, sort_keys=True) if value else ""
        first, *more = value.split("\n")
        lines += [f"{name}: {first}", *more]
    return lines
