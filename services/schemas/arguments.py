"""JSON Schema validation: an LLM's arguments, and a tool's answer, against the server's own schema."""

import functools
import itertools
import time
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from typing import Any

from .. import text
from ..sentence import _lt

MAX_PROBLEMS = 3  # named in one sentence
MAX_STEPS = 5_000  # keywords that are applied: references may fan out exponentially
MAX_SECONDS = 0.03  # of work on one value: a step over a long list takes long

_steps: ContextVar[Iterator[int]] = ContextVar("steps")
_until: ContextVar[float] = ContextVar("until")


class _TooManySteps(Exception):
    pass


def problem(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    """A sentence for the LLM about what is wrong, empty if nothing is.

    A schema that cannot be applied in `MAX_STEPS` and `MAX_SECONDS` counts as satisfied: the server has the
    last word anyway. Patterns are not tried, because an untrusted regular expression can take forever, nor
    is each item of a list compared with every other. Models write null for what they leave out: where a
    property is optional, that passes.
    """
    required = schema.get("required") or ()
    given = {key: value for key, value in arguments.items() if value is not None or key in required}
    wrong = misfits(given, schema)
    return (
        _lt("The arguments are not valid for the tool: %(problem)s.", problem=wrong)
        if wrong
        else ""
    )


def misfits(value: Any, schema: Mapping[str, Any]) -> str:
    """Places where a value violates an untrusted schema.

    :param value: JSON
    :return: one sentence, empty if it fits
    """
    if not schema:
        return ""
    errors = []
    try:
        validator = _validator()(schema, registry=_registry())
        _steps.set(itertools.count(1))
        _until.set(time.thread_time() + MAX_SECONDS)
        for error in validator.iter_errors(value):
            errors.append(error)
            if _is_late():
                break
    except Exception:  # whatever an untrusted schema provokes
        return ""
    problems = "; ".join(_say(error) for error in errors[:MAX_PROBLEMS])
    more = f" (and {len(errors) - MAX_PROBLEMS} more)" if len(errors) > MAX_PROBLEMS else ""
    return f"{problems}{more}"


def _is_late() -> bool:
    return time.thread_time() > _until.get()


def _say(error: Any) -> str:
    where = ".".join(str(part) for part in error.absolute_path)
    message = text.one_line(error.message, 200)
    return f"{where}: {message}" if where else message


@functools.cache
def _validator():
    from jsonschema import Draft202012Validator, validators  # noqa: PLC0415

    def pass_all(*_):
        return ()

    def additional(validator, value, instance, schema):
        """Additional properties, which depend on patterns, where there are any."""
        checks = Draft202012Validator.VALIDATORS["additionalProperties"]
        return () if "patternProperties" in schema else checks(validator, value, instance, schema)

    unbounded = (
        "pattern",
        "patternProperties",
        "format",
        "uniqueItems",
        # these two walk the schema by themselves, uncounted, and try its patterns
        "unevaluatedItems",
        "unevaluatedProperties",
    )
    keywords = {
        **Draft202012Validator.VALIDATORS,
        "additionalProperties": additional,
        **dict.fromkeys(unbounded, pass_all),
    }
    return validators.extend(
        Draft202012Validator, {name: _counted(check) for name, check in keywords.items()}
    )


def _counted(check: Callable) -> Callable:
    def counted(validator, value, instance, schema):
        if next(_steps.get()) > MAX_STEPS or _is_late():
            raise _TooManySteps
        return check(validator, value, instance, schema)

    return counted


@functools.cache
def _registry():
    from referencing import Registry  # noqa: PLC0415

    return Registry()  # without a way to retrieve: remote references stay unresolved
