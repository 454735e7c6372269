"""Refusals: what models answer to a wish that they cannot fulfil. Controllers give each class its HTTP status."""

import logging
from typing import Any

from odoo.exceptions import UserError


class Refusal(UserError):
    """Something cannot be done.

    :param message: a sentence that a person can act on
    :param code: snake_case, stable, for programs
    :param details: JSON for programs
    """

    code = "refused"
    loglevel = logging.INFO  # for Odoo, which would warn of a user's mistake

    def __init__(self, message: str, code: str = "", **details: Any):
        super().__init__(message)
        self.code = code or type(self).code
        self.details = details
        # Odoo's client shows the sentence of a class that it knows; programs over RPC read the code.
        self.context = {"exception_class": "odoo.exceptions.UserError", "code": self.code}


class InvalidArguments(Refusal):
    """Arguments of a call that its tool does not take."""

    code = "invalid_arguments"


class InvalidAnswer(Refusal):
    """An answer that a server's question does not allow."""

    code = "invalid_answer"


class NotThere(Refusal):
    """There is no such thing, or nobody may know of it."""

    code = "not_found"


class BadInput(Refusal):
    """Input of a wrong form."""

    code = "invalid_field"


class Locked(Refusal):
    """An administrator has locked it."""

    code = "locked"


class Unavailable(Refusal):
    """An assistant that does not answer here."""

    code = "assistant_unavailable"


class TooLarge(Refusal):
    """Input of more bytes than is taken."""


class Unsupported(Refusal):
    """Input of a kind that nothing here can use."""


class TooLate(Refusal):
    """It was decided or ended before."""

    code = "already_decided"


class Changed(TooLate):
    """Decision on a question that is not asked any more."""

    code = "question_changed"


class Busy(Refusal):
    """Something else has to end first."""


class TooOften(Refusal):
    """:param retry_after: seconds until it may be tried again"""

    def __init__(self, message: str, code: str = "", *, retry_after: int):
        super().__init__(message, code)
        self.retry_after = retry_after


class TooManyTurns(TooOften):
    """The person has more messages waiting than anybody reads."""

    code = "too_many_turns"


class Broken(Refusal):
    """A configuration that cannot work."""
