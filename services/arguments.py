"""Checks what an LLM wrote as arguments against the server's own schema."""

import functools
from collections.abc import Mapping
from typing import Any

from . import text

MAX_PROBLEMS = 3  # named in one sentence


def problem(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    """A sentence for the LLM about what is wrong, empty if nothing is.

    A schema that cannot be applied counts as satisfied: the server has the last word anyway. Patterns are
    not tried, because a stranger's regular expression can take for ever. Models write null for what they
    leave out: where a property is optional, that passes.
    """
    if not schema:
        return ""
    try:
        required = schema.get("required") or ()
        given = {
            key: value for key, value in arguments.items() if value is not None or key in required
        }
        errors = list(_validator()(schema, registry=_registry()).iter_errors(given))
    except Exception:  # whatever a stranger's schema provokes
        return ""
    said = "; ".join(_say(error) for error in errors[:MAX_PROBLEMS])
    more = f" (and {len(errors) - MAX_PROBLEMS} more)" if len(errors) > MAX_PROBLEMS else ""
    return f"The arguments do not fit the tool: {said}{more}." if said else ""


def _say(error: Any) -> str:
    where = ".".join(str(part) for part in error.absolute_path)
    said = text.one_line(error.message, 200)
    return f"{where}: {said}" if where else said


@functools.cache
def _validator():
    from jsonschema import Draft202012Validator, validators  # noqa: PLC0415

    def pass_all(*_):
        return ()

    return validators.extend(
        Draft202012Validator,
        {"pattern": pass_all, "patternProperties": pass_all, "format": pass_all},
    )


@functools.cache
def _registry():
    from referencing import Registry  # noqa: PLC0415

    return Registry()  # without a way to retrieve: remote references stay unresolved
