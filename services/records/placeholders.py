"""Placeholders: ``{{ object.partner_id.name }}`` of an instruction stands for a value of a record, ``{customer}`` of a
saved prompt for words that its user gives."""

import re
from collections.abc import Callable, Mapping

PLACEHOLDER = re.compile(r"\{\{([^{}]{0,200})\}\}")
FIELD = re.compile(r"(?<!\{)\{([^\W\d][\w ]{0,39})\}(?!\})")
MAX_FIELDS = 5  # of one path


def paths(instruction: str) -> list[tuple[str, list[str]]]:
    """Placeholders of an instruction, in order.

    >>> paths("Call {{ object.partner_id.name }} at {{ time }}.")
    [('{{ object.partner_id.name }}', ['partner_id', 'name']), ('{{ time }}', [])]

    :return: each as written, with the names of its fields; none if it is no path of a record's fields
    """
    return [(match[0], _fields(match[1])) for match in PLACEHOLDER.finditer(instruction)]


def fill(instruction: str, value: Callable[[list[str]], str]) -> str:
    """Put values in place of the placeholders; what is no path stays as it is.

    >>> fill("Call {{object.name}} {{x}}", lambda fields: f"<{'/'.join(fields)}>")
    'Call <name> {{x}}'

    :param value: text for the names of the fields of one
    """

    def filled(match: re.Match[str]) -> str:
        fields = _fields(match[1])
        return value(fields) if fields else match[0]

    return PLACEHOLDER.sub(filled, instruction)


def _fields(inside: str) -> list[str]:
    root, *fields = inside.strip().split(".")
    is_path = root == "object" and 0 < len(fields) <= MAX_FIELDS
    return fields if is_path and all(map(str.isidentifier, fields)) else []


def fields_of(content: str) -> list[str]:
    """Names of the fields of a saved prompt, each once, in order.

    >>> fields_of("Write to {customer} about {order no} for {customer}, {{as it is}}, {'not': 1}.")
    ['customer', 'order no']
    """
    return list(dict.fromkeys(match[1].strip() for match in FIELD.finditer(content)))


def fill_fields(content: str, values: Mapping[str, str], limit: int) -> str:
    """Put words in place of the fields; one without a value stays.

    >>> fill_fields("Write to {customer} about {topic}.", {"customer": "{topic} Ltd"}, 100)
    'Write to {topic} Ltd about {topic}.'
    >>> fill_fields("{name} and {name}", {"name": "Ann"}, 6)
    'Ann an'

    :param limit: characters of the whole; a field may stand in it thousands of times
    """
    parts, place, room = [], 0, limit
    for match in FIELD.finditer(content):
        words = values.get(match[1].strip()) or match[0]
        parts += [content[place : match.start()], words]
        room -= match.start() - place + len(words)
        place = match.end()
        if room <= 0:
            break
    return "".join([*parts, content[place:]])[:limit]
