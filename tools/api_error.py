"""The API's errors: an HTTP status, a stable code, a sentence."""

from werkzeug.exceptions import HTTPException


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

    @classmethod
    def unauthenticated(cls):
        return cls(
            401,
            "unauthenticated",
            "Sign in, or send an Odoo API key as a bearer token.",
            headers={"WWW-Authenticate": "Bearer"},
        )

    @classmethod
    def not_found(cls, sentence: str):
        return cls(404, "not_found", sentence)


def error_body(error: ApiError) -> dict:
    """What the wire carries of it."""
    return {
        "error": {
            "code": error.error_code,
            "message": error.description,
            "details": error.details,
        },
    }
