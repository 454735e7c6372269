"""Records as text for a model: one line a record, values short, never more than the cap."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .. import const, text

CAP = const.LLM_RESULT_CAP  # characters of a result
CELL = 200  # characters of a value in a table
VALUE = 4_000  # characters of a value of a record that is read
MAX_ROWS = 200
FOOT = 400  # characters that are kept free for the last line


def cell(value: Any, limit: int = CELL) -> str:
    """
    >>> cell({"id": 3, "name": "Azure | Interior"}), cell(None), cell([{"id": 1, "name": "VIP"}])
    ('Azure / Interior (3)', '', 'VIP (1)')
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        name = text.one_line(str(value.get("name", "")), limit)
        return f"{name} ({value['id']})".replace("|", "/") if "id" in value else name
    if isinstance(value, list | tuple):
        return ", ".join(cell(one, limit) for one in value)[: 4 * limit]
    if isinstance(value, float):
        return f"{value:.10g}"
    return text.one_line(str(value), limit).replace("|", "/")


def table(
    head: str, columns: Sequence[str], rows: Iterable[Sequence[Any]], total: int | None
) -> str:
    """A head line, the columns and a line a row; as many rows as fit.

    :param total: of all records, None if nobody counted
    """
    lines, size, shown, given = [head, " | ".join(columns)], len(head) + FOOT, 0, 0
    for row in rows:
        given += 1
        line = " | ".join(cell(value) for value in row)
        if size + len(line) + 1 > CAP or shown < given - 1:
            continue
        size += len(line) + 1
        shown += 1
        lines.append(line)
    if shown < given:
        lines.append(
            f"[{given - shown} more rows do not fit here. Ask for fewer fields or fewer records.]"
        )
    elif total is not None and total > given:
        lines.append(
            f"[{given} of {total} records. Use offset, or narrower filters, for the others.]"
        )
    return "\n".join(lines)


def sheet(title: str, values: Mapping[str, Any]) -> str:
    """One record, a line a field; fields without a value are named at the end."""
    lines, empty = [title], []
    for name, value in values.items():
        if value is None or value == [] or value == "":
            empty.append(name)
        elif isinstance(value, str):
            lines.append(f"{name}: {text.cap(text.clean(value), VALUE)}")
        else:
            lines.append(f"{name}: {cell(value)}")
    if empty:
        lines.append(f"(empty: {', '.join(empty)})")
    return "\n".join(lines)
