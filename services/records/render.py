"""Records as text for a model: one line a record, values short, never more than the cap."""

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from .. import const, text

CAP = const.LLM_RESULT_CAP  # characters of a result
CELL = 200  # characters of a value in a table
VALUE = 4_000  # characters of a value of a record that is read
MAX_ROWS = 200
FOOT = 400  # characters that are kept free for the last line
SURE = 15  # digits of a float that are no noise


def number(value: float, digits: int = 0) -> str:
    """A number as people write it, exact and without an exponent.

    :param digits: after the point, at least

    >>> number(12345678901.25), number(1234567890.5, 2), number(32000.0), number(0.1 + 0.2), number(1e16)
    ('12345678901.25', '1234567890.50', '32000', '0.3', '10000000000000000')
    """
    whole, _point, rest = f"{Decimal(f'{value + 0.0:.{SURE}g}'):f}".partition(".")
    rest = rest.rstrip("0").ljust(digits, "0")
    return f"{whole}.{rest}" if rest else whole


def cell(value: Any, limit: int = CELL) -> str:
    """
    >>> cell({"id": 3, "name": "Azure | Interior"}), cell(None), cell([{"id": 1, "name": "VIP"}])
    ('Azure / Interior (3)', '', 'VIP (1)')
    >>> cell({"key": "draft", "name": "Quotation"}), cell({"key": "done", "name": "Done"})
    ('Quotation (draft)', 'Done')
    >>> cell({"key": "1", "name": "Medium"})
    'Medium'
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        name = text.one_line(str(value.get("name", "")), limit)
        key = value.get("id", value.get("key", name))
        # A number in brackets is the id of a record, see `id_check`.
        is_plain = "id" not in value and (str(key).lower() == name.lower() or str(key).isdecimal())
        return (name if is_plain else f"{name} ({key})").replace("|", "/")
    if isinstance(value, list | tuple):
        line = ", ".join(cell(one, limit) for one in value)
        return line if len(line) <= 4 * limit else line[: 4 * limit - 1].rpartition(", ")[0] + ", …"
    if isinstance(value, float):
        return number(value)
    return text.one_line(str(value), limit).replace("|", "/")


def some(told: Sequence[str], most: int, total: int | None = None, between: str = ", ") -> str:
    """The first of many, and how many more there are.

    >>> some(["a", "b", "c"], 2), some(["a", "b"], 2), some(["a"], 2, 30)
    ('a, b, and 1 more', 'a, b', 'a, and 29 more')
    """
    shown = list(told[:most])
    left = (len(told) if total is None else total) - len(shown)
    return between.join([*shown, *([f"and {left} more"] if left > 0 else [])])


def table(
    head: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    total: int | None,
    whole: str = "",
    offset: int = 0,
) -> str:
    """A head line, the columns and a line a row; as many rows as fit, and how to get the others.

    :param total: of all rows, None if nobody counted
    :param whole: what the head calls all of them, such as ``10000+ records``
    :param offset: rows before the first one

    >>> print(table("m", ["id"], [[1], [2]], 5, offset=2))
    m
    id
    1
    2
    [2 of 5 records. For the next ones: offset 4. Or use narrower filters.]
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
    whole = whole or f"{total} records"
    if shown < given:
        lines.append(
            f"[{given - shown} more rows do not fit here. For them: offset {offset + shown}. Or ask for fewer fields.]"
        )
    elif total is not None and total > offset + given:
        lines.append(
            f"[{given} of {whole}. For the next ones: offset {offset + given}. Or use narrower filters.]"
        )
    return "\n".join(lines)


def sheet(title: str, values: Mapping[str, Any]) -> str:
    """One record, a line a field; fields without a value are named at the end.

    :param values: ``{field: value}`` as the call has read it
    """
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
