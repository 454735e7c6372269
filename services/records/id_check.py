"""Ids that somebody has named: a call names a record by its id only if the id came from somewhere.

A small model that does not know a record's id makes one up, and what it reads then, or asks a person to allow, is about
another record.
"""

import itertools
import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import Any

from . import conditions

NUMBER = re.compile(r"[0-9]+")
# Dates, times, amounts and counts name nothing.
OTHER_NUMBERS = re.compile(
    r"(?<![0-9])(?:[0-9]{4}-[0-9]{1,2}(-[0-9]{1,2})?([T ][0-9]{1,2}:[0-9]{2}(:[0-9]{2})?)?"
    r"|[0-9]{1,4}([/.])[0-9]{1,2}\4[0-9]{1,4}"
    r"|[0-9]{1,2}:[0-9]{2}(:[0-9]{2})?"
    r"|[0-9]{1,3}(,[0-9]{3})+([.][0-9]+)?|[0-9]+[.][0-9]+"
    r"|[$€£¥₩₹]\s?[0-9]+|[0-9]+\s?[%$€£¥₩₹元円年月日天週周筆笔個个張张位]"
    r"|[0-9]+ (?:[A-Z]{3}\b|(?!(?:was|has|is|does|this)\b)[a-z]+s\b)"
    r"|[0-9]{1,2}(?:st|nd|rd|th)? MONTH[.,]?( [0-9]{4})?|MONTH [0-9]{1,2}(?:,? [0-9]{4})?\b)".replace(
        "MONTH", "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,7}"
    )
)
# How results of our tools tell records: in a table's first column, behind a name, above a sheet.
MODEL = r"[a-z_]{1,60}(?:\.[a-z0-9_]{1,60}){1,8}"
OF_TABLE = re.compile(r"^([0-9]{1,18}) \||\(([0-9]{1,18})\)", re.MULTILINE)
OF_SHEET = re.compile(rf"^{MODEL} ([0-9]{{1,18}}): |\(([0-9]{{1,18}})\)", re.MULTILINE)
IS_TABLE = re.compile(rf"{MODEL} \([^\n]{{1,200}}\n(id \| )?")
IS_ID = re.compile(r"(?:^|[._])ids?$")
EQUALS = frozenset(("=", "==", "!=", "<>", "is", "is not", "in", "not in", "child_of", "parent_of"))
CHANGES = frozenset(("add", "remove", "set"))
MAX_DIGITS = 18  # of an id
MAX_TOLD = 5  # ids that a sentence tells
MAX_DEPTH = 5  # of values within values
BY_NAME = "Use the name of the record instead, or call search_records first."


def id_of(value: Any) -> int | None:
    """Id of a record, as a model writes it: a number, or its digits; None where it is neither.

    >>> id_of(7), id_of(" 007 "), id_of("S00007"), id_of(True), id_of("9" * 30)
    (7, 7, None, None, None)
    """
    if isinstance(value, str):
        digits = value.strip()
        return int(digits) if digits.isdecimal() and len(digits) <= MAX_DIGITS else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def known(prompt: str, *said: Iterable[Mapping[str, Any]]) -> set[str]:
    """The numbers that somebody has named as a record's; a long conversation takes a while.

    :param prompt: may name the record that a conversation is about
    :param said: messages; of this turn's, what the model itself has said must not be among them

    >>> sorted(known("This is sale.order with the id 7.", [{"role": "user", "content": "And S00042?"}]))
    ['00042', '7']
    >>> table = "sale.order (Order): 1 record\\nid | name | user_id | lines\\n8 | S00008 | Ann (2) | 24"
    >>> sorted(known("Today is 2026-11-24.", [{"role": "tool", "content": table}]))
    ['2', '8']
    """
    found = set(_named(prompt))
    for messages in said:
        for message in messages:
            # What was refused repeats what was made up.
            if message.get("outcome") != "invalid_args":
                found.update(_named(str(message.get("content") or "")))
    return found


def _named(said: str) -> Iterator[str]:
    if table := IS_TABLE.match(said):
        for first, behind in OF_TABLE.findall(said):
            if behind or table[1]:
                yield behind or first
    elif OF_SHEET.match(said):
        for pair in OF_SHEET.findall(said):
            yield from filter(None, pair)
    else:
        yield from NUMBER.findall(OTHER_NUMBERS.sub(" ", said))


def made_up(arguments: Mapping[str, Any], named: Callable[[], Container[str]]) -> str:
    """Problem of the ids of a call, ``""`` if there is none.

    :param named: gives what `known` finds; asked only for a call that has ids

    >>> made_up({"ids": [7, 8]}, lambda: {"7"})
    'Nobody has named the id 8. Use the name of the record instead, or call search_records first.'
    >>> made_up({"id": 7, "values": {"color": 3, "line_ids": [{"tax_ids": {"add": [7]}}]}}, lambda: {"7"})
    ''
    >>> made_up({"filters": ["partner_id", "=", "09"]}, lambda: {"09"})[:28]
    'Nobody has named the id 9. U'
    >>> made_up({"domain": ["|", ["partner_id", "=", 9], ["x", ">", 3]]}, lambda: ())[:28]
    'Nobody has named the id 9. U'
    """
    wanted = _ids(arguments)
    if not wanted:
        return ""
    ids = named()
    unknown = [one for one in wanted if one not in ids]
    if not unknown:
        return ""
    which = f"id {unknown[0]}" if len(unknown) == 1 else f"ids {', '.join(unknown[:MAX_TOLD])}"
    return f"Nobody has named the {which}. {BY_NAME}"


def _ids(arguments: Mapping[str, Any]) -> list[str]:
    given = {name: arguments.get(name) for name in ("id", "ids", "values")}
    return list(dict.fromkeys([*_of_values(given), *_of_conditions(arguments)]))


def _of_values(values: Mapping[str, Any], depth: int = 0) -> Iterator[str]:
    for name, value in values.items():
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, Mapping) and depth < MAX_DEPTH:
                within = dict(one)
                if one.keys() <= CHANGES:  # of the relation itself
                    within = {name: [item for some in one.values() for item in _listed(some)]}
                yield from _of_values(within, depth + 1)
            elif IS_ID.search(name):
                yield from _number(one)


def _of_conditions(arguments: Mapping[str, Any]) -> Iterator[str]:
    given = [_listed(arguments.get(name)) for name in ("filters", "domain")]
    for one in itertools.chain.from_iterable(map(conditions.in_brackets, given)):
        if isinstance(one, Mapping):
            one = (one.get("field"), one.get("operator") or "=", one.get("value"))
        if not isinstance(one, list | tuple) or len(one) != 3:
            continue
        path, operator, value = one
        if IS_ID.search(str(path)) and str(operator).strip().lower() in EQUALS:
            for item in value if isinstance(value, list) else [value]:
                yield from _number(item)


def _listed(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else ()


def _number(value: Any) -> Iterator[str]:
    if (number := id_of(value)) is not None:
        yield str(number)
