"""Texts of a change, without what is another one each time: numbers of sequences, tokens."""

import re
from collections.abc import Iterable

MAX_TEXT = 20_000  # characters that are looked through for tokens
_TOKEN = re.compile(
    r"\b[0-9a-f]{32,}\b|\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b",
    re.IGNORECASE,
)


def comparable(said: str, numbers: Iterable[str] = ()) -> str:
    """
    >>> comparable("Order S00012 from S00012", ["S00012"]), comparable("id 0123456789abcdef0123456789ABCDEF.")
    ('Order number from number', 'id token.')
    """
    for number in numbers:
        said = said.replace(number, "number")
    return _TOKEN.sub("token", said) if len(said) <= MAX_TEXT else said
