"""Expectations of a test: compared with what an assistant has called and answered."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from .. import text
from ..grounding.check import spoken_numbers
from ..grounding.values import values
from ..sentence import _lt
from .recordings import canonical

MAX_EXPECTATIONS = 20  # of one test
MAX_SAID = 200  # characters of a text in a sentence
ANY = "*"  # stands for any text in a pattern

Kind = Literal[
    "called", "not_called", "contains", "not_contains", "value", "no_question", "tokens", "seconds"
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """One thing that is expected.

    :ivar tool: name of a tool, of the server or as models call it
    :ivar arguments: some of the call's, as JSON; a text with ``*`` is a pattern
    :ivar text: part of the answer, a pattern if it has a ``*``; of a value, how people read it
    :ivar number: the number of a value, or the most tokens or seconds
    """

    kind: Kind
    tool: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    text: str = ""
    number: float | None = None


@dataclass(slots=True, kw_only=True)
class Seen:
    """Record of a replay.

    :ivar calls: ``(the server's name of the tool, as the model calls it, arguments)``
    :ivar missing: calls without a recorded result, as in `calls`
    :ivar questions: what would have asked the user, in words
    """

    answer: str = ""
    calls: list[tuple[str, str, Mapping[str, Any]]] = field(default_factory=list)
    missing: list[tuple[str, str, Mapping[str, Any]]] = field(default_factory=list)
    questions: list[str] = field(default_factory=list)
    tokens: int = 0
    seconds: float = 0.0
    error: str = ""


def failures(expected: Iterable[Expectation], seen: Seen) -> list[str]:
    """Sentences about everything that is not as expected; none if all is."""
    found = [seen.error] if seen.error else []
    found += [
        _lt(
            "No recorded result for “%(tool)s” with %(arguments)s.",
            tool=tool,
            arguments=_short(canonical(arguments)),
        )
        for tool, _alias, arguments in seen.missing
    ]
    return found + [said for one in expected if (said := _failure(one, seen))]


def _failure(expected: Expectation, seen: Seen) -> str:
    return _CHECKS[expected.kind](expected, seen)


def _called(expected: Expectation, seen: Seen) -> str:
    of_tool = [arguments for *names, arguments in seen.calls if expected.tool in names]
    if not of_tool:
        return _lt("The tool “%(tool)s” was not called.", tool=expected.tool)
    if any(includes(arguments, expected.arguments) for arguments in of_tool):
        return ""
    return _lt(
        "No call of “%(tool)s” had the expected arguments. The last one had %(arguments)s.",
        tool=expected.tool,
        arguments=_short(canonical(of_tool[-1])),
    )


def _not_called(expected: Expectation, seen: Seen) -> str:
    if not any(
        expected.tool in names and includes(arguments, expected.arguments)
        for *names, arguments in seen.calls
    ):
        return ""
    return _lt("The tool “%(tool)s” was called.", tool=expected.tool)


def _contains(expected: Expectation, seen: Seen) -> str:
    if is_in(expected.text, seen.answer):
        return ""
    return _lt("The answer does not contain “%(text)s”.", text=_short(expected.text))


def _not_contains(expected: Expectation, seen: Seen) -> str:
    if not is_in(expected.text, seen.answer):
        return ""
    return _lt("The answer contains “%(text)s”.", text=_short(expected.text))


def _value(expected: Expectation, seen: Seen) -> str:
    if expected.number is None and not expected.text:
        return _lt("There is no value to compare the answer with: no record was found.")
    if expected.number is None:
        return _contains(expected, seen)
    if has_number(seen.answer, expected.number):
        return ""
    return _lt("The answer does not contain the value %(value)s.", value=f"{expected.number:g}")


def _no_question(_expected: Expectation, seen: Seen) -> str:
    if not seen.questions:
        return ""
    return _lt("The user would have been asked: %(what)s.", what=_short(seen.questions[0]))


def _tokens(expected: Expectation, seen: Seen) -> str:
    if seen.tokens <= (expected.number or 0):
        return ""
    return _lt(
        "It took %(count)s tokens, more than %(limit)s.",
        count=seen.tokens,
        limit=int(expected.number or 0),
    )


def _seconds(expected: Expectation, seen: Seen) -> str:
    if seen.seconds <= (expected.number or 0):
        return ""
    return _lt(
        "It took %(seconds)s s, more than %(limit)s s.",
        seconds=f"{seen.seconds:.1f}",
        limit=f"{expected.number or 0:g}",
    )


_CHECKS = {
    "called": _called,
    "not_called": _not_called,
    "contains": _contains,
    "not_contains": _not_contains,
    "value": _value,
    "no_question": _no_question,
    "tokens": _tokens,
    "seconds": _seconds,
}


def includes(arguments: Any, expected: Any) -> bool:
    """Tell whether the arguments hold everything that is expected; a list holds each item somewhere.

    >>> includes({"city": "Taipei", "days": 3}, {"city": "Tai*"}), includes({"city": "Taipei"}, {"days": 3})
    (True, False)

    :param arguments: JSON
    :param expected: JSON
    """
    if isinstance(expected, Mapping):
        return isinstance(arguments, Mapping) and all(
            key in arguments and includes(arguments[key], value) for key, value in expected.items()
        )
    if isinstance(expected, list):
        return isinstance(arguments, Sequence) and all(
            any(includes(one, value) for one in arguments) for value in expected
        )
    if isinstance(expected, str) and ANY in expected:
        return isinstance(arguments, str) and matches(expected, arguments)
    return canonical(arguments) == canonical(expected)


def matches(pattern: str, said: str) -> bool:
    """Tell whether the whole text is like the pattern, in which ``*`` is any text, in upper or lower case.

    >>> matches("S0*2", "s00042"), matches("S0*2", "S00042 and more")
    (True, False)
    """
    first, *parts = pattern.casefold().split(ANY)
    said = said.casefold()
    if not parts:
        return said == first
    *middle, last = parts
    at = len(first)
    if not said.startswith(first):
        return False
    for part in middle:
        at = said.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return said.endswith(last) and len(said) - len(last) >= at


def is_in(pattern: str, said: str) -> bool:
    """Tell whether the text holds the pattern, see `matches`, with any white space for white space."""
    pattern, said = (" ".join(one.split()) for one in (pattern, said))
    return matches(f"{ANY}{pattern}{ANY}", said)


def has_number(said: str, number: float) -> bool:
    """Tell whether one of the text's numbers means this one, however it is written.

    >>> has_number("That is 1,234.50 in all.", 1234.5), has_number("S1234", 1234)
    (True, False)
    >>> has_number("There is one order.", 1), has_number("要三天。", 3)
    (True, True)
    """
    in_words = (spoken for spoken, _unit in spoken_numbers(said))
    readings = (key for value in values(said) if value.kind == "number" for key in value.keys)
    return number in in_words or any(
        abs(reading - number) <= tolerance for reading, tolerance in readings
    )


def _short(said: str) -> str:
    return text.one_line(said, MAX_SAID)
