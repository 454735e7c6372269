"""Digest of a published state, and the difference of two texts, line by line."""

import difflib
import hashlib
import json
from collections.abc import Iterator
from typing import Any, NamedTuple

MAX_LINES = 500  # of one text that are compared; time grows with their square
MAX_LINE = 2_000  # characters of one line that are shown
MAX_SHOWN = 400  # lines of one difference
AROUND = 2  # equal lines that are shown before and after a change
ADDED, REMOVED, SAME, LEFT_OUT = "+", "-", " ", "…"


class Line(NamedTuple):
    """A line of a difference; `text` is empty where lines are left out."""

    sign: str
    text: str


def without_names(content: Any) -> Any:
    """The state as it is compared: what it refers to by an id may be renamed without being another.

    >>> without_names({"servers": [{"id": 3, "name": "time"}], "name": "Helper"})
    {'servers': [{'id': 3}], 'name': 'Helper'}

    :param content: JSON
    """
    if isinstance(content, list):
        return [without_names(one) for one in content]
    if not isinstance(content, dict):
        return content
    is_reference = "id" in content
    return {
        key: without_names(value)
        for key, value in content.items()
        if not (is_reference and key == "name")
    }


def digest(content: Any) -> str:
    """SHA-256 of a state, in hex; the same for states that differ only in names of what they refer to.

    :param content: JSON
    """
    text = json.dumps(without_names(content), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def lines(before: str, now: str) -> list[Line]:
    """The lines that a text has lost and gained, each with those around it; none if nothing has changed.

    >>> [f"{sign}{text}" for sign, text in lines("Be kind.\\nBe brief.", "Be kind.\\nBe exact.")]
    [' Be kind.', '-Be brief.', '+Be exact.']

    :param before: at most `MAX_LINES` lines of it are compared, as of `now`
    """
    if before == now:
        return []
    old, new = before.splitlines(), now.splitlines()
    found = list(_changed(old[:MAX_LINES], new[:MAX_LINES]))
    if len(found) > MAX_SHOWN or old[MAX_LINES:] != new[MAX_LINES:] or not found:
        found = [*found[:MAX_SHOWN], Line(LEFT_OUT, "")]
    return found


def _changed(old: list[str], new: list[str]) -> Iterator[Line]:
    end = 0
    for group in difflib.SequenceMatcher(None, old, new).get_grouped_opcodes(AROUND):
        if group[0][1] > end:
            yield Line(LEFT_OUT, "")
        end = group[-1][2]
        for kind, from_old, to_old, from_new, to_new in group:
            if kind == "equal":
                yield from (Line(SAME, _cut(one)) for one in old[from_old:to_old])
                continue
            yield from (Line(REMOVED, _cut(one)) for one in old[from_old:to_old])
            yield from (Line(ADDED, _cut(one)) for one in new[from_new:to_new])
    if 0 < end < len(old):
        yield Line(LEFT_OUT, "")


def _cut(line: str) -> str:
    return line if len(line) <= MAX_LINE else line[:MAX_LINE] + LEFT_OUT
