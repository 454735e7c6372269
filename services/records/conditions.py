"""Conditions on records: a domain in Odoo's prefix notation, or flat filters, as a tree of checked plain data.

Nothing of it is ever evaluated. Which fields there are is the host's to say, path by path.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from .errors import invalid, unknown

OPERATORS = (
    "=",
    "!=",
    "<",
    "<=",
    ">",
    ">=",
    "in",
    "not in",
    "like",
    "not like",
    "ilike",
    "not ilike",
    "=like",
    "=ilike",
    "child_of",
    "parent_of",
)
SYNONYMS = {
    "==": "=",
    "<>": "!=",
    "contains": "ilike",
    "not contains": "not ilike",
    "starts with": "=ilike",
    "is": "=",
    "is not": "!=",
}
IS_SET = {"is set": "!=", "is not empty": "!=", "is not set": "=", "is empty": "="}
BETWEEN = "between"
MAX_CONDITIONS = 60
MAX_DEPTH = 4  # relations of one path
MAX_VALUES = 200
MAX_TEXT = 500  # characters of a value


@dataclass(frozen=True, slots=True)
class Condition:
    path: tuple[str, ...]
    operator: str
    value: Any


@dataclass(frozen=True, slots=True)
class Group:
    """:ivar operator: ``&``, ``|`` or ``!``, which has one part"""

    operator: str
    parts: tuple["Condition | Group", ...]


def parse(domain: Any = None, filters: Any = None) -> Group:
    """All of both must hold.

    >>> parse(["|", ["a", "=", 1], ["b.c", "like", "x"]]).parts[0].operator
    '|'
    >>> [(one.operator, one.value) for one in parse([["a", "between", [1, 2]]]).parts[0].parts]
    [('>=', 1), ('<=', 2)]
    >>> parse([["a", "is not set", True]]).parts[0]
    Condition(path=('a',), operator='=', value=False)
    """
    if _is_domain(filters):
        filters, domain = (), [*filters, *(domain or ())]
    parts = [*_of_filters(filters or ()), *_of_domain(domain or ())]
    return Group("&", tuple(parts))


def _is_domain(filters: Any) -> bool:
    return isinstance(filters, list) and any(isinstance(one, str) for one in filters)


def _of_filters(filters: Any) -> Iterator[Condition | Group]:
    if not isinstance(filters, list | tuple) or len(filters) > MAX_CONDITIONS:
        raise invalid(f"“filters” must be a list of at most {MAX_CONDITIONS} filters.")
    for one in filters:
        if isinstance(one, list | tuple):
            yield _condition(one)
        elif isinstance(one, dict) and one.get("field"):
            yield _condition((one["field"], one.get("operator") or "=", one.get("value", False)))
        else:
            raise invalid("A filter must have “field”, “operator” and “value”.")


def _of_domain(domain: Any) -> Sequence[Condition | Group]:
    if not isinstance(domain, list | tuple):
        raise invalid('“domain” must be a list such as [["name", "ilike", "Azure"]].')
    if len(domain) > 2 * MAX_CONDITIONS:
        raise invalid(f"A domain has at most {MAX_CONDITIONS} conditions.")
    stack: list[Condition | Group] = []
    for item in reversed(in_brackets(domain)):
        if item == "!":
            _need(stack, 1, item)
            stack.append(Group("!", (stack.pop(),)))
        elif isinstance(item, str) and item in ("&", "|"):
            _need(stack, 2, item)
            stack.append(Group(item, (stack.pop(), stack.pop())))
        elif isinstance(item, list | tuple):
            stack.append(_condition(item))
        else:
            raise invalid(f"“{str(item)[:50]}” cannot stand in a domain.")
    return stack[::-1]


def in_brackets(domain: Sequence[Any]) -> Sequence[Any]:
    """Conditions of a domain, also of one whose outer brackets the model forgot.

    >>> in_brackets(["name", "=", "Azure"]), in_brackets(["!", ["name", "=", "Azure"]])
    ([['name', '=', 'Azure']], ['!', ['name', '=', 'Azure']])
    """
    is_one = len(domain) == 3 and isinstance(domain[0], str) and domain[0] not in ("&", "|", "!")
    return [domain] if is_one else domain


def _need(stack: list, count: int, operator: str) -> None:
    if len(stack) < count:
        raise invalid(f"“{operator}” in the domain needs {count} condition(s) after it.")


def _condition(item: Sequence[Any]) -> Condition | Group:
    if len(item) != 3 or not isinstance(item[0], str) or not isinstance(item[1], str):
        raise invalid('A condition must be a list such as ["name", "ilike", "Azure"].')
    path = tuple(item[0].strip().split("."))
    if len(path) > MAX_DEPTH or not all(path):
        raise invalid(f"A path has 1 to {MAX_DEPTH} field names with dots between them.")
    symbol = " ".join(item[1].lower().split())
    if symbol in IS_SET:
        return Condition(path, IS_SET[symbol], False)
    if symbol == BETWEEN:
        return _between(path, item[2])
    operator = SYNONYMS.get(symbol, symbol)
    if operator not in OPERATORS:
        raise unknown("operator", symbol, [*OPERATORS, *SYNONYMS, *IS_SET, BETWEEN])
    if isinstance(item[2], list | tuple):
        operator = {"=": "in", "!=": "not in"}.get(operator, operator)
    value = _value(item[2], operator)
    return Condition(path, operator, f"{value}%" if symbol == "starts with" else value)


def _between(path: tuple[str, ...], ends: Any) -> Group:
    if not isinstance(ends, list | tuple) or len(ends) != 2:
        raise invalid("“between” takes a list of two values, both of which are included.")
    first, last = map(_scalar, ends)
    return Group("&", (Condition(path, ">=", first), Condition(path, "<=", last)))


def _value(value: Any, operator: str) -> Any:
    if isinstance(value, list | tuple):
        if operator not in ("in", "not in", "child_of", "parent_of"):
            raise invalid(f"The operator “{operator}” takes one value, not a list.")
        if len(value) > MAX_VALUES:
            raise invalid(f"A condition has at most {MAX_VALUES} values.")
        return [_scalar(one) for one in value]
    value = _scalar(value)
    return [value] if operator in ("in", "not in") else value


def _scalar(value: Any) -> Any:
    if value is None:
        return False
    if isinstance(value, str):
        if len(value) > MAX_TEXT:
            raise invalid(f"A value has at most {MAX_TEXT} characters.")
        return value.replace("\0", "")
    if isinstance(value, bool | int | float):
        return value
    raise invalid(
        "The value of a condition must be a text, a number, true or false, or a list of these."
    )
