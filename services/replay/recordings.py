"""Recorded results of tool calls: found again by tool and arguments, so that nothing is called."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from ..specs import CallResult, Outcome

MAX_RESULTS = 50  # of one test
MAX_CHARS = 64_000  # of one result
MAX_ALL_CHARS = 512_000  # of all results of one test


class Recording(NamedTuple):
    """One recorded result.

    :ivar tool: the server's name of the tool
    :ivar arguments: JSON
    :ivar text: the result as the model reads it
    """

    tool: str
    arguments: Mapping[str, Any]
    outcome: Outcome
    text: str


def canonical(value: Any) -> str:
    """Text of JSON that is the same for arguments that mean the same: order of keys, nulls, 3.0 for 3.

    >>> canonical({"b": 3.0, "a": None, "c": ["x", None]})
    '{"b": 3, "c": ["x", null]}'

    :param value: JSON
    """
    return json.dumps(_plain(value), sort_keys=True, ensure_ascii=False)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(one) for key, one in value.items() if one is not None}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


class Recordings:
    """Results of a test for its calls. The same call again gets the next result of it, in the end the last."""

    def __init__(self, recorded: Iterable[Recording]):
        self._left: dict[tuple[str, str], list[Recording]] = {}
        for one in recorded:
            self._left.setdefault((one.tool, canonical(one.arguments)), []).append(one)

    def take(self, tool: str, arguments: Mapping[str, Any] | None) -> CallResult | None:
        """
        :param tool: the server's name of it
        :param arguments: JSON
        :return: None where nothing is recorded
        """
        same = self._left.get((tool, canonical(arguments or {})))
        if not same:
            return None
        one = same.pop(0) if len(same) > 1 else same[0]
        return CallResult(
            outcome=one.outcome, text=one.text, display=one.text, bytes=len(one.text.encode())
        )


Problem = Literal["", "too_many", "too_long", "not_a_list", "not_a_result"]
OUTCOMES = frozenset(Outcome.__args__)  # type: ignore[attr-defined]


def read(rows: Any) -> tuple[list[Recording], Problem]:
    """Recordings as a test keeps them, and what is wrong with them; without recordings where something is.

    :param rows: ``[{"tool", "arguments", "outcome", "text"}]``; the outcome may be missing, it is "ok" then
    """
    if not isinstance(rows, Sequence) or isinstance(rows, str):
        return [], "not_a_list"
    if len(rows) > MAX_RESULTS:
        return [], "too_many"
    found = []
    for row in rows:
        if not _is_result(row):
            return [], "not_a_result"
        found.append(
            Recording(
                row["tool"], row.get("arguments") or {}, row.get("outcome", "ok"), row["text"]
            )
        )
    sizes = [len(one.text) + len(canonical(one.arguments)) for one in found]
    if any(size > MAX_CHARS for size in sizes) or sum(sizes) > MAX_ALL_CHARS:
        return [], "too_long"
    return found, ""


def _is_result(row: Any) -> bool:
    return (
        isinstance(row, Mapping)
        and isinstance(row.get("tool"), str)
        and isinstance(row.get("text"), str)
        and isinstance(row.get("arguments") or {}, Mapping)
        and row.get("outcome", "ok") in OUTCOMES
    )


def fitting(rows: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Cut results to the limits of a test: long ones are shortened, later ones left out.

    :param rows: as `read` takes them
    """
    kept: list[Mapping[str, Any]] = []
    room = MAX_ALL_CHARS
    for row in rows:
        size = len(canonical(row["arguments"]))
        row = {**row, "text": row["text"][: max(0, MAX_CHARS - size)]}
        room -= size + len(row["text"])
        if room < 0 or size > MAX_CHARS or len(kept) == MAX_RESULTS:
            break
        kept.append(row)
    return kept
