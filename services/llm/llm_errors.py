"""LLM errors: what went wrong with an endpoint, as the engine's own errors, for the person or the admin."""

import re
import socket
import ssl

from .. import text
from ..errors import (
    LLM_CERTIFICATE_INVALID,
    LLM_HOST_UNKNOWN,
    LLM_QUOTA_USED_UP,
    LlmAuthFailed,
    LlmContextTooLong,
    LlmError,
    LlmModelNotFound,
    LlmNoApi,
    LlmNoTools,
    LlmProtocolError,
    LlmRateLimited,
    LlmRejected,
    LlmTimeout,
    LlmUnavailable,
)
from ..net.faults import chain, retry_after
from ..sentence import _lt

MAX_MESSAGE = 20_000  # characters of an endpoint's words that are looked at
_CONTEXT = re.compile(
    r"context.?(length|size|window)|maximum context|too many tokens|prompt is too long|exceeds? the available context"
    r"|maximum number of tokens",
    re.IGNORECASE,
)
# The surest first: "205123 tokens > 200000 maximum", "context length is 8192" and "context size (8192", "Limit 6000".
# Not what is said of the answer's length ("max_tokens is too large: 4096"), nor by how much a request is too long.
_LIMIT = (
    re.compile(r"(?<!\d)(\d{4,8}) maximum", re.IGNORECASE),
    re.compile(r"context.(?:length|size|window)\D{0,60}?(\d{4,8})(?!\d)", re.IGNORECASE),
    re.compile(
        r"\b(?:max|maximum|limit|available|allowed)\b(?! exceeded by)\D{0,60}?(\d{4,8})(?!\d)",
        re.IGNORECASE,
    ),
)
_NO_TOOLS = re.compile(
    r"not support (the )?(tool|function)|(tool|function).{0,30}not supported|support tool use|tool.?choice|--jinja",
    re.IGNORECASE,
)
_NO_MODEL = re.compile(
    r"(model|deployment).{0,80}(not.found|does not exist|unknown|not exist|not a valid)",
    re.IGNORECASE,
)
_NO_KEY = re.compile(
    r"api.?key.{0,40}(not valid|invalid|incorrect|missing|required)|(invalid|incorrect).{0,20}api.?key",
    re.IGNORECASE,
)
_BUSY = re.compile(r"rate.?limit|overloaded|too many requests|capacity", re.IGNORECASE)
# Not "quota" alone: limits per minute are told with it, too.
_QUOTA = re.compile(r"insufficient_quota|insufficient.balance|credit balance", re.IGNORECASE)


NOT_LISTENING = _lt("Nothing answers at the address of the language model. Try again in a moment.")
FAILS = _lt("The provider of the language model reported an error. Try again in a moment.")


def of_exception(error: BaseException, secret: str = "") -> LlmError:
    """The typed error for whatever the client library raised.

    :param secret: is kept out of the `detail`, whoever repeats it
    """
    typed = _of_exception(error)
    if secret:
        typed.detail = typed.detail.replace(secret, "…")
    return typed


def of_connection(error: BaseException, detail: str) -> LlmUnavailable:
    """Error of a connection that did not come about, with the sentence for its cause.

    :param error: what httpx or the SDK raised
    """
    causes = list(chain(error))
    if any(isinstance(cause, socket.gaierror | UnicodeError) for cause in causes):
        return LlmUnavailable(LLM_HOST_UNKNOWN, detail=detail)
    if any(isinstance(cause, ssl.SSLError) for cause in causes):
        return LlmUnavailable(LLM_CERTIFICATE_INVALID, detail=detail)
    if any(isinstance(cause, ConnectionRefusedError) for cause in causes):
        return LlmUnavailable(NOT_LISTENING, detail=detail)
    return LlmUnavailable(detail=detail)


def _of_exception(error: BaseException) -> LlmError:
    import httpx  # noqa: PLC0415
    import openai  # noqa: PLC0415

    if isinstance(error, LlmError):
        return error
    detail = f"{type(error).__name__}: {text.one_line(str(error), 500)}"
    if isinstance(error, openai.APITimeoutError):
        slow = isinstance(error.__cause__, httpx.ReadTimeout)
        return LlmTimeout(detail=detail) if slow else LlmUnavailable(detail=detail)
    if isinstance(error, openai.APIConnectionError):
        return of_connection(error, detail)
    if isinstance(error, openai.APIStatusError):
        return of_status(error.status_code, f"{error.code} {error}", error.response.headers, detail)
    if isinstance(error, openai.APIError):  # an error inside the stream
        return _of_text(f"{error.code} {error}", detail) or LlmUnavailable(detail=detail)
    if isinstance(error, httpx.TimeoutException | TimeoutError):
        return LlmTimeout(detail=detail)
    if isinstance(error, httpx.ConnectError | httpx.UnsupportedProtocol | httpx.InvalidURL):
        return of_connection(error, detail)
    return LlmProtocolError(detail=detail)


def context_length(detail: str) -> int:
    """The tokens that a model takes, as its provider says where it refuses a request as too long; 0 if it does not.

    >>> context_length("This model's maximum context length is 8192 tokens. However, you requested 9000 tokens.")
    8192
    >>> context_length("prompt is too long: 205123 tokens > 200000 maximum"), context_length("Too long.")
    (200000, 0)
    >>> context_length("'max_tokens' is too large: 4096. This model's maximum context length is 32768 tokens")
    32768
    """
    found = (pattern.search(detail[:MAX_MESSAGE]) for pattern in _LIMIT)
    return next((int(one[1]) for one in found if one), 0)


def counts_tokens(detail: str) -> bool:
    """True if a refusal as too long is the model's; a proxy in front of it counts bytes, of which pictures are most.

    >>> counts_tokens("HTTP 413: Too many tokens."), counts_tokens("413 Request Entity Too Large nginx/1.26.3")
    (True, False)
    """
    return bool(_CONTEXT.search(detail[:MAX_MESSAGE]) or context_length(detail))


def of_status(status: int, message: str, headers, detail: str) -> LlmError:
    """The typed error for an HTTP answer that is not a success.

    :param message: of the endpoint
    :param headers: of the answer, read for `Retry-After`
    :param detail: for administrators and the log
    """
    if status in (401, 403):
        return LlmAuthFailed(detail=detail)
    if status == 402 or (status in (400, 429) and _QUOTA.search(message[:MAX_MESSAGE])):
        return LlmRateLimited(LLM_QUOTA_USED_UP, detail=detail, retry_after=float("inf"))
    if status == 429:
        return LlmRateLimited(detail=detail, retry_after=retry_after(headers.get("retry-after")))
    if status == 413:
        return LlmContextTooLong(detail=detail)
    if by_text := _of_text(message, detail):
        return by_text
    if status in (404, 405) or status // 100 == 3:
        return LlmNoApi(detail=detail)
    if status >= 500 or status in (408, 409):
        return LlmUnavailable(FAILS, detail=detail)
    if _NO_KEY.search(message[:MAX_MESSAGE]):
        return LlmAuthFailed(detail=detail)
    return LlmRejected(detail=detail)


def _of_text(message: str, detail: str) -> LlmError | None:
    message = message[:MAX_MESSAGE]
    if _CONTEXT.search(message):
        return LlmContextTooLong(detail=detail)
    if _NO_TOOLS.search(message):
        return LlmNoTools(detail=detail)
    if _NO_MODEL.search(message):
        return LlmModelNotFound(detail=detail)
    if _BUSY.search(message):
        return LlmRateLimited(detail=detail)
    return None
