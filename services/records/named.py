"""Ids that somebody has named: a record is read or changed by its id only if the id came from somewhere.

A small model that does not know a record's id makes one up, and what it reads then, or asks a person to allow, is about
another record. Domains may hold any id: they only find what is there.
"""

import re
from collections.abc import Callable, Container, Iterable, Mapping
from typing import Any

NUMBER = re.compile(r"[0-9]+")
MAX_TOLD = 5  # ids that a sentence tells
SEARCH_FIRST = 'Call search_records first, with a filter such as {"field": "name", "value": "…"}.'


def known(prompt: str, *said: Iterable[Mapping[str, Any]]) -> set[str]:
    """The numbers that somebody has named; a long conversation takes a while.

    :param prompt: may name the record that a conversation is about
    :param said: messages; of this turn's, what the model itself has said must not be among them

    >>> sorted(known("This is sale.order with the id 7.", [{"role": "user", "content": "And S00042?"}]))
    ['00042', '7']
    """
    found = set(NUMBER.findall(prompt))
    for messages in said:
        for message in messages:
            # What was refused repeats what was made up.
            if message.get("outcome") != "invalid_args":
                found.update(NUMBER.findall(str(message.get("content") or "")))
    return found


def made_up(arguments: Mapping[str, Any], named: Callable[[], Container[str]]) -> str:
    """What is wrong with the ids of a call, ``""`` if nothing is.

    :param named: gives what `known` finds; asked only for a call that has ids

    >>> made_up({"ids": [7, 8]}, lambda: {"7"})
    'Nobody has named the id 8. Call search_records first, with a filter such as {"field": "name", "value": "…"}.'
    >>> made_up({"id": 7}, lambda: {"7"})
    ''
    """
    wanted = _ids(arguments)
    if not wanted:
        return ""
    ids = named()
    unknown = [one for one in wanted if one not in ids]
    if not unknown:
        return ""
    which = f"id {unknown[0]}" if len(unknown) == 1 else f"ids {', '.join(unknown[:MAX_TOLD])}"
    return f"Nobody has named the {which}. {SEARCH_FIRST}"


def _ids(arguments: Mapping[str, Any]) -> list[str]:
    given = arguments.get("ids")
    ids = [*(given if isinstance(given, list) else ()), arguments.get("id")]
    return [str(one) for one in dict.fromkeys(ids) if isinstance(one, int)]
