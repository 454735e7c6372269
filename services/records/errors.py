"""Refusals of record tools: each is a sentence that the model, and the person, can act on."""

import difflib
from collections.abc import Iterable
from typing import Any

from ..errors import EngineError
from ..specs import Outcome

NEAREST = 3  # names that a sentence proposes


class RecordError(EngineError):
    """The call has no effect; `outcome` is what becomes of it."""

    code = "record_error"
    default_message = "The records could not be used."

    def __init__(self, message: str = "", *, outcome: Outcome = "error", detail: str = ""):
        super().__init__(message, detail=detail)
        self.outcome = outcome


class RehearsalDiffers(RecordError):
    """The call would change something else than was shown to the person who allowed it; nothing is changed.

    :ivar rehearsal: what it would change
    """

    def __init__(self, rehearsal: dict[str, Any]):
        super().__init__("The records changed meanwhile.")
        self.rehearsal = rehearsal


def invalid(message: str) -> RecordError:
    return RecordError(message, outcome="invalid_args")


def unknown(kind: str, name: object, known: Iterable[str]) -> RecordError:
    """What was named is not there, or is not for this person: nobody learns which.

    >>> str(unknown("field", "emial", ["name", "email"]))
    'There is no field “emial”. Did you mean: email?'
    """
    shown = str(name)[:100]
    near = difflib.get_close_matches(shown, list(known), NEAREST, 0.5)
    hint = f" Did you mean: {', '.join(near)}?" if near else ""
    return invalid(f"There is no {kind} “{shown}”.{hint}")
