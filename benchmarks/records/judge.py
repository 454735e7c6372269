"""Judges an answer by what it says, and what it wrote by what is there."""

import re

from .questions import Orm, Question

# No part of a name such as S00012; thousands may be parted.
_NUMBER = re.compile(
    r"(?<![A-Za-z0-9_.,])-?(?:\d{1,3}(?:[,\u00a0 ]\d{3})+|\d+)(?:\.\d+)?(?![A-Za-z0-9_])"
)
NEAR = 0.01  # of an amount


def problem(question: Question, answer: str, orm: Orm) -> str:
    """What is wrong, ``""`` if nothing is."""
    if question.written:
        model, domain = question.written
        count = orm(model, "search_count", domain)
        return "" if count == 1 else f"written {count} times"
    for wanted in question.says:
        if isinstance(wanted, str | tuple):
            said = " ".join(answer.lower().split())
            one_of = (wanted,) if isinstance(wanted, str) else wanted
            if not any(" ".join(one.lower().split()) in said for one in one_of):
                return f"does not say {one_of[0]}"
        elif not any(abs(number - wanted) <= NEAR for number in numbers(answer)):
            return f"does not say {wanted:g}"
    return ""


def numbers(text: str) -> list[float]:
    """
    >>> numbers("It is 1,234.50 EUR, or 7.")
    [1234.5, 7.0]
    """
    return [float(re.sub(r"[^\d.-]", "", found)) for found in _NUMBER.findall(text)]
