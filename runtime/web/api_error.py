"""API errors: an HTTP status, a stable code, a sentence."""

import json

from werkzeug import Response
from werkzeug.exceptions import HTTPException

from ...services.errors import ConfigError, EngineError, FileError, ReaderBusy, UnsupportedFile
from ...tools.refusals import (
    BadInput,
    Broken,
    Busy,
    Locked,
    NotThere,
    Refusal,
    TooLarge,
    TooLate,
    TooOften,
    Unsupported,
)

STATUS = {
    BadInput: 400,
    Locked: 403,
    NotThere: 404,
    TooLate: 409,
    Busy: 409,
    TooLarge: 413,
    Unsupported: 415,
    TooOften: 429,
    Broken: 500,
}  # any other refusal is 422

ENGINE_STATUS = (
    (UnsupportedFile, 415),
    (ReaderBusy, 503),
    ((FileError, ConfigError), 422),
)  # any other error of the engine is 502

RETRY_AFTER = 2  # s, told to who is turned away for a moment
WAIT_RETRY_AFTER = 5  # s, told to who has too many requests that wait


class ApiError(HTTPException):
    """Raised by a route or its authentication, mapped to the wire by `controllers.dispatcher`.

    :param status: HTTP status
    :param error_code: snake_case, stable, for programs
    :param message: a sentence that a person can act on
    """

    def __init__(self, status: int, error_code: str, message: str, *, details=None, headers=None):
        super().__init__(message)
        self.code = status
        self.error_code = error_code
        self.details = details or {}
        self.headers = headers or {}

    def as_response(self) -> Response:
        """The answer to a request that has no dispatcher yet."""
        body = json.dumps(error_body(self))
        return Response(body, self.code, self.headers, mimetype="application/json")

    @classmethod
    def unauthenticated(cls):
        return cls(
            401,
            "unauthenticated",
            "Sign in, or send an Odoo API key as a bearer token.",
            headers={"WWW-Authenticate": "Bearer"},
        )

    @classmethod
    def busy(cls, sentence: str):
        return cls(
            503,
            "busy",
            sentence,
            details={"retry_after": RETRY_AFTER},
            headers={"Retry-After": str(RETRY_AFTER)},
        )

    @classmethod
    def too_many_waits(cls, sentence: str):
        """So many of the person's requests wait already."""
        return cls(
            429,
            "too_many_waits",
            sentence,
            details={"retry_after": WAIT_RETRY_AFTER},
            headers={"Retry-After": str(WAIT_RETRY_AFTER)},
        )

    @classmethod
    def not_found(cls, sentence: str):
        return cls(404, "not_found", sentence)

    @classmethod
    def invalid(cls, field: str, sentence: str, **details):
        return cls(400, "invalid_field", sentence, details={"field": field, **details})

    @classmethod
    def of_refusal(cls, refusal: Refusal):
        wait = getattr(refusal, "retry_after", None)
        return cls(
            next((STATUS[kind] for kind in type(refusal).__mro__ if kind in STATUS), 422),
            refusal.code,
            str(refusal.args[0]),
            details=refusal.details,
            headers={"Retry-After": str(wait)} if wait else None,
        )

    @classmethod
    def of_engine(cls, error: EngineError, sentence: str):
        """:param sentence: that of the error, in the language of who asks"""
        status = next((status for kind, status in ENGINE_STATUS if isinstance(error, kind)), 502)
        if status != 503:
            return cls(status, error.code, sentence)
        wait = str(RETRY_AFTER)
        return cls(
            status,
            error.code,
            sentence,
            details={"retry_after": RETRY_AFTER},
            headers={"Retry-After": wait},
        )


def error_body(error: ApiError) -> dict:
    """What the wire carries of it."""
    return {
        "error": {
            "code": error.error_code,
            "message": error.description,
            "details": error.details,
        },
    }
