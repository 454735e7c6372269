"""API errors: the one answer to an exception, for requests, deferred answers and items of a batch."""

import json
import logging
import math

import psycopg2
from odoo.exceptions import AccessDenied, AccessError, MissingError, UserError, ValidationError
from odoo.http import SessionExpiredException, request
from odoo.tools.translate import LazyTranslate
from werkzeug import Response
from werkzeug.exceptions import HTTPException

from ...models.base.ir_http import LANGUAGE_HEADER, CrossSite
from ...services.errors import (
    BudgetExhausted,
    ConfigError,
    EngineError,
    FileError,
    LlmSwitchedOff,
    ReaderBusy,
    UnsupportedFile,
)
from ...tools import db, sentences
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
    Unavailable,
    Unsupported,
)

_logger = logging.getLogger(__name__)
_lt = LazyTranslate(__name__)

STATUS = {
    BadInput: 400,
    Locked: 403,
    Unavailable: 403,
    NotThere: 404,
    TooLate: 409,
    Busy: 409,
    TooLarge: 413,
    Unsupported: 415,
    TooOften: 429,
    Broken: 500,
}  # any other refusal is 422

ENGINE_STATUS = (
    (BudgetExhausted, 402),
    (UnsupportedFile, 415),
    (ReaderBusy, 503),
    ((FileError, ConfigError, LlmSwitchedOff), 422),
)  # any other error of the engine is 502

RETRY_AFTER = 2  # s, after a moment's trouble
WAIT_RETRY_AFTER = 5  # s, where too many requests of one person wait

NO_RECORD = _lt("This record does not exist.")
NOT_ALLOWED = _lt("You are not allowed to do this.")
OTHER_SITE = _lt("Requests from other sites are not accepted.")
NO_DATABASE = _lt("Odoo cannot reach its database right now. Try again in a moment.")
NO_CONNECTION = _lt("Too many people are connecting at once. Try again in a moment.")
WENT_WRONG = _lt("Something went wrong. An administrator can find the details in the log.")
TOO_MANY_WAITS = _lt(
    "Too many of your requests are already waiting for an answer. Try again when one of them has finished."
)


class ApiError(HTTPException):
    """HTTP status, code, sentence, details and headers; raised by routes, made of any exception by `of`.

    :param status: HTTP status
    :param error_code: snake_case, stable, for programs
    :param message: a sentence that a person can act on
    :param details: JSON for programs
    :param retry_after: seconds; whole seconds in `details.retry_after` and in the header
    """

    code: int

    def __init__(
        self,
        status: int,
        error_code: str,
        message: str,
        *,
        details=None,
        headers=None,
        retry_after: float | None = None,
    ):
        super().__init__(message)
        self.code = status
        self.error_code = error_code
        self.details = dict(details or {})
        self.headers = dict(headers or {})
        if retry_after and math.isfinite(retry_after):
            self.details["retry_after"] = math.ceil(retry_after)
            self.headers["Retry-After"] = str(math.ceil(retry_after))

    def item(self) -> dict:
        """``{code, message}``, for an item of a batch or a part of an answer."""
        return {"code": self.error_code, "message": self.description}

    def body(self) -> dict:
        """``{"error": {code, message, details}}``, the body of a response."""
        return {"error": self.item() | {"details": self.details}}

    def as_response(self) -> Response:
        """The response to a request that has no dispatcher yet."""
        body = json.dumps(self.body())
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
        return cls(503, "busy", sentence, retry_after=RETRY_AFTER)

    @classmethod
    def too_many_waits(cls, lang: str | None):
        """Refuse a request while too many requests of its person wait."""
        sentence = sentences.in_language(lang, TOO_MANY_WAITS)
        return cls(429, "too_many_waits", sentence, retry_after=WAIT_RETRY_AFTER)

    @classmethod
    def not_found(cls, sentence: str):
        return cls(404, "not_found", sentence)

    @classmethod
    def invalid(cls, field: str, sentence: str, **details):
        return cls(400, "invalid_field", sentence, details={"field": field, **details})


def of(exc: BaseException, reader: sentences.Reader) -> ApiError:
    """Turn an exception into the API's answer; an unknown one discloses nothing."""

    def say(sentence):
        return sentences.in_language(reader.lang, sentence)

    match exc:  # narrowest class first
        case ApiError():
            return exc
        case SessionExpiredException() | AccessDenied():
            return ApiError.unauthenticated()
        case MissingError():
            return ApiError.not_found(say(NO_RECORD))
        case AccessError():
            return ApiError(403, "forbidden", say(NOT_ALLOWED))
        case CrossSite():
            return ApiError(403, "cross_site", say(OTHER_SITE))
        case Refusal():
            return _of_refusal(exc)
        case ValidationError():
            return ApiError(422, "invalid", str(exc.args[0]))
        case UserError():
            return ApiError(422, "refused", str(exc.args[0]))
        case EngineError():
            return _of_engine(exc, reader)
        case HTTPException() if exc.code and exc.code < 500:
            return ApiError(exc.code, "http_error", exc.description or exc.name)
        case db.DatabaseGone():
            return ApiError.busy(say(NO_DATABASE))
        case psycopg2.Error() if db.passes(exc):
            return ApiError.busy(say(NO_DATABASE))
    return ApiError(500, "internal_error", say(WENT_WRONG))


def logged(exc: BaseException, reader: sentences.Reader, path: str) -> ApiError:
    """Error as of `of`, with the cause in the log.

    :param path: of the request
    """
    error = of(exc, reader)
    if error.error_code == "busy":  # Odoo has logged the database's own words
        _logger.info("%s: %s", path, exc)
    elif isinstance(exc, EngineError):
        if exc.detail:
            _logger.info("%s: %s (%s)", path, exc, exc.detail)
    elif error.code >= 500 and error is not exc:  # a route's own error needs no traceback
        _logger.error("%s failed.", path, exc_info=exc)
    elif error.code < 500:
        _logger.debug("%s is refused: %s %s.", path, error.code, error.error_code)
    return error


def _of_refusal(refusal: Refusal) -> ApiError:
    return ApiError(
        next((STATUS[kind] for kind in type(refusal).__mro__ if kind in STATUS), 422),
        refusal.code,
        str(refusal.args[0]),
        details=refusal.details,
        retry_after=getattr(refusal, "retry_after", None),
    )


def _of_engine(error: EngineError, reader: sentences.Reader) -> ApiError:
    status = next((status for kind, status in ENGINE_STATUS if isinstance(error, kind)), 502)
    wait = getattr(error, "retry_after", None) or (RETRY_AFTER if status == 503 else None)
    return ApiError(status, error.code, sentences.for_reader(error, reader), retry_after=wait)


def request_reader() -> sentences.Reader:
    """The current request's person; without a database, the language of the page or session."""
    try:
        if request.env is not None:
            return sentences.Reader(request.env.lang)
    except psycopg2.Error:
        pass
    return sentences.Reader(page_language())


def page_language() -> str:
    """The page's language, else the session's; Odoo keeps a catalog of any language asked for, so only shipped ones."""
    if not request:
        return "en_US"
    asked = request.httprequest.headers.get(LANGUAGE_HEADER) or request.session.context.get("lang")
    return asked if asked in sentences.LANGUAGES else "en_US"
