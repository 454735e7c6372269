"""Refusals of record tools: each is a sentence that the model, and the person, can act on."""

import difflib
from collections.abc import Iterable
from typing import Any

from ..errors import EngineError
from ..sentence import _lt
from ..specs import Outcome

NEAREST = 3  # names that a sentence proposes
FEW = 12  # names that a sentence lists


class RecordError(EngineError):
    """The call has no effect; `outcome` is what becomes of it."""

    code = "record_error"
    default_message = _lt("The records could not be used.")

    def __init__(self, message: str = "", *, outcome: Outcome = "error", detail: str = ""):
        super().__init__(message, detail=detail)
        self.outcome: Outcome = outcome


class RehearsalDiffers(RecordError):
    """The call would change something else than was shown to the person who allowed it; nothing is changed.

    :ivar rehearsal: what it would change
    """

    def __init__(self, rehearsal: dict[str, Any]):
        super().__init__(_lt("The records changed meanwhile."))
        self.rehearsal = rehearsal


class SomethingLeft(RecordError):
    """The call failed after something had been sent to others; nobody knows what became of that."""

    default_message = _lt(
        "This failed after something had been sent to others. No record was changed, "
        "but what was sent may have taken effect."
    )

    def __init__(self, reason: str = ""):
        """:param reason: a sentence"""
        said = reason and (
            _lt(
                "This failed after something had been sent to others: %(reason)s No record was "
                "changed, but what was sent may have taken effect.",
                reason=reason,
            )
        )
        super().__init__(said, outcome="unknown")


class TryAgain(RecordError):
    """A try that failed for a passing reason: it changed no record, and the call may be tried again.

    :ivar has_left: something was sent in it, so the call may not be tried again
    :ivar losses: how often the connection was lost in the middle of this call, whoever ran it
    """

    losses = 0
    default_message = _lt(
        "Others keep changing these records, so nothing was changed. Try again in a moment."
    )

    def __init__(self, *, has_left: bool = False, detail: str = ""):
        super().__init__(detail=detail)
        self.has_left = has_left


class ConnectionLost(TryAgain):
    """The connection was lost in the middle of a try; only the call's row says whether that was over."""

    default_message = _lt(
        "The connection to the database was lost each time that this was tried. Nothing was changed."
    )


def invalid(message: str) -> RecordError:
    """Error for arguments that a call on records cannot have; `message` is for the model."""
    return RecordError(message, outcome="invalid_args")


def unknown(kind: str, name: object, known: Iterable[str], hint: str = "") -> RecordError:
    """Error of a name that does not exist, or not for this person: the two cannot be told apart.

    :param known: what there is, as far as this person may know; few are listed, of many the nearest
    :param hint: a sentence that stands before those

    >>> str(unknown("operator", "=<", ["<=", "<", "="]))
    'There is no operator “=<”. There are: <=, <, =.'
    """
    shown, known = str(name)[:100], list(known)
    near = difflib.get_close_matches(shown, known, NEAREST, 0.5)
    if known and len(known) <= FEW:
        names = f"There are: {', '.join(known)}."
    else:
        names = f"Did you mean: {', '.join(near)}?" if near else ""
    return invalid(" ".join(filter(None, (f"There is no {kind} “{shown}”.", hint, names))))
