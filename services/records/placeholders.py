"""Placeholders of an instruction: ``{{ object.partner_id.name }}`` stands for a value of a record."""

import re
from collections.abc import Callable

PLACEHOLDER = re.compile(r"\{\{([^{}]{0,200})\}\}")
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
