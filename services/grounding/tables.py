"""Rows of a tool's result, in whatever form it has: JSON, a table with bars, CSV, or lines."""

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

MAX_JSON = 200_000  # characters of a result that is read as JSON
MAX_ROWS = 5_000
MAX_CELLS = 30  # of a row
MAX_NUMBERS = 8  # of a row
SMALL = 12  # rows whose numbers are also single ones
MAX_LABEL = 60  # characters of a cell by which rows are grouped
_CELL = re.compile(r"\s?[|\t;]\s?|(?<!\d),|,(?!\d{3}(?!\d))|: | / ")
_NUMBER = re.compile(
    r"^(?:[A-Za-z]{2,3}[ $]|[^\w-]{0,3})\s?(-?\d{1,3}(?:,\d{3})+(?:\.\d+)?|-?\d{1,30}(?:\.\d{1,30})?)\D{0,12}$"
)
_IS_ID = re.compile(r"(?:^|_)ids?$", re.IGNORECASE)

Row = Mapping[Any, Any]  # cells by their column


class Table(NamedTuple):
    """:ivar columns: numbers by column, and those of the rows that share a text, without ids
    :ivar rows: the numbers of each row, at most `MAX_NUMBERS` of them
    :ivar length: items of the longest list, or lines
    :ivar rest: text that is in no row, or all of it where the table is small
    """

    columns: list[list[float]]
    rows: list[list[float]]
    length: int
    rest: str


def read(text: str) -> Table:
    """The tables of a result."""
    return _of_json(text) or _of_lines(text)


def _of_json(text: str) -> Table | None:
    if text.lstrip()[:1] not in ("[", "{") or len(text) > MAX_JSON:
        return None
    try:
        left = [(json.loads(text), False)]
    except (ValueError, RecursionError):
        return None
    columns: list[list[float]] = []
    numbers: list[list[float]] = []
    length, single = 0, []
    while left:
        one, is_item = left.pop()
        if isinstance(one, Mapping):
            left += [
                (value, is_item) for name, value in one.items() if not _IS_ID.search(str(name))
            ]
        elif isinstance(one, list):
            left += [(item, True) for item in one]
            rows = [item if isinstance(item, Mapping) else {"": item} for item in one[:MAX_ROWS]]
            columns += _columns(rows)
            numbers += _numbers_of_rows(rows)
            length = max(length, len(one))
        elif not is_item or length <= SMALL:
            single.append(str(one))
    return Table(columns, numbers, length, " ".join(single))


def _of_lines(text: str) -> Table:
    """Lines whose cells bars, tabs, commas or colons part; the first may name the columns."""
    lines = [line for line in text.splitlines() if line.strip()]
    cells = [_CELL.split(line.strip().strip("|"))[:MAX_CELLS] for line in lines[:MAX_ROWS]]
    several = [row for row in cells if len(row) > 1]
    header = several[0] if several else []
    are_names = not any(_number(cell) is not None for cell in header)
    ids = {place for place, name in enumerate(header) if are_names and _IS_ID.search(name.strip())}
    rows = [
        {place: cell.strip() for place, cell in enumerate(row) if place not in ids}
        for row in several
    ]
    rest = [line for line, row in zip(lines, cells, strict=False) if len(row) < 2]
    if len(rows) <= SMALL:
        rest += [" | ".join(row.values()) for row in rows]
    return Table(list(_columns(rows)), _numbers_of_rows(rows), len(lines), "\n".join(rest))


def _columns(rows: Sequence[Row]) -> Iterator[list[float]]:
    columns: dict[Any, list[float]] = defaultdict(list)
    groups: dict[tuple, list[float]] = defaultdict(list)
    for row in rows:
        cells = list(row.items())[:MAX_CELLS]
        numbers = {
            name: number
            for name, cell in cells
            if not _IS_ID.search(str(name)) and (number := _number(cell)) is not None
        }
        labels = [
            (name, cell)
            for name, cell in cells
            if isinstance(cell, str) and name not in numbers and len(cell) <= MAX_LABEL
        ]
        for name, number in numbers.items():
            columns[name].append(number)
            for label in labels:
                groups[(name, *label)].append(number)
    yield from columns.values()
    yield from (group for group in groups.values() if len(group) > 1)


def _numbers_of_rows(rows: Sequence[Row]) -> list[list[float]]:
    found = (
        [
            number
            for name, cell in row.items()
            if not _IS_ID.search(str(name)) and (number := _number(cell)) is not None
        ]
        for row in rows
    )
    return [numbers[:MAX_NUMBERS] for numbers in found if len(numbers) > 1]


def _number(cell: Any) -> float | None:
    """The number of a cell, which may have a unit."""
    if isinstance(cell, bool):
        return None
    if isinstance(cell, int | float):
        return float(cell)
    found = _NUMBER.match(cell) if isinstance(cell, str) and len(cell) < 60 else None
    return float(found[1].replace(",", "")) if found else None
