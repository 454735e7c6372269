"""JSON-RPC 2.0 as MCP uses it: parse untrusted messages, check that one answers our request."""

import json
import re
from collections.abc import Mapping
from typing import Any

from . import text
from .errors import ProtocolError
from .sentence import _lt

Id = int | str
PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
NOT_UNDERSTOOD = (INVALID_REQUEST, -32000)  # what legacy servers say to a request without a session
HEADER_MISMATCH = -32020  # this and the next two only modern servers send (MCP 2026-07-28, schema)
MISSING_CAPABILITY = -32021
UNSUPPORTED_VERSION = -32022
MODERN_ERRORS = (HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION)
URL_REQUIRED = -32042  # the user has to visit a page first (MCP 2025-11-25, client/elicitation)
MAX_MESSAGE = 2_000  # characters of an error's message
MAX_DATA = 64 * 1024  # bytes of what comes with it
ID = re.compile(rb'"id"\s*:\s*"?(\d{1,15})')  # of an answer that cannot be read
FAULT = -32099  # code of the errors that the guard writes itself (server-defined range of JSON-RPC)


def parse(content: bytes | bytearray | str) -> Any:
    """Any JSON value of `content`, None where it is none; for what is large, see `large`.

    NaN and infinities become null.
    """
    try:
        written = content if isinstance(content, str) else content.decode("utf-8-sig")
        return json.loads(written, parse_constant=lambda _: None)
    except (ValueError, RecursionError):
        return None


def error(
    request_id: Id | None, message: str, code: int = FAULT, data: Any = None
) -> dict[str, Any]:
    """Answer that stands for a request of which `message` says what went wrong.

    :param request_id: of the request, None where it could not be read
    :param code: of JSON-RPC or MCP
    :param data: JSON for programs, None without any
    """
    answer: dict[str, Any] = {"jsonrpc": "2.0", "error": {"code": code, "message": message}}
    if request_id is not None:
        answer["id"] = request_id
    if data is not None:
        answer["error"]["data"] = data
    return answer


def result(request_id: Id | None, value: Mapping[str, Any]) -> dict[str, Any]:
    """Answer to a request.

    :param value: its result
    """
    return {"jsonrpc": "2.0", "id": request_id, "result": dict(value)}


def event(message: dict[str, Any]) -> bytes:
    """A `message` as an event of a stream (SSE)."""
    return b"data: " + dump(message) + b"\n\n"


def dump(message: Any) -> bytes:
    """A `message` as UTF-8."""
    return json.dumps(message, ensure_ascii=False).encode("utf-8", "replace")


def is_answer(message: Any) -> bool:
    """True if `message` is a response, of whatever request."""
    return (
        isinstance(message, dict)
        and "method" not in message
        and ("result" in message or "error" in message)
    )


def is_for(message: dict[str, Any], request_id: Id) -> bool:
    """True if the response `message` names this request, as a number or as text."""
    answered = message.get("id")
    is_id = isinstance(answered, int | str) and not isinstance(answered, bool)
    return is_id and str(answered) == str(request_id)


def answer_in(message: Any, request_id: Id) -> dict[str, Any]:
    """The answer in what an HTTP response said.

    :raises ProtocolError: there is none to this request
    """
    if isinstance(message, list):  # a batch, allowed in 2025-03-26 only
        message = next((m for m in message if is_answer(m) and is_for(m, request_id)), None)
    return normal_answer(message, request_id)


def normal_answer(message: Any, request_id: Id) -> dict[str, Any]:
    """:raises ProtocolError: the message is no answer to this request"""
    if not is_answer(message):
        raise ProtocolError(_lt("The MCP server sent an invalid response."))
    if "error" in message and message.get("id") is None:  # a request that it could not parse
        message = {**message, "id": request_id}
    if not is_for(message, request_id):
        raise ProtocolError(_lt("The MCP server sent a response to a request that was not made."))
    if "error" in message:
        error = message["error"] if isinstance(message["error"], dict) else {}
        code = error.get("code")
        clean = {
            "code": code if isinstance(code, int) and not isinstance(code, bool) else -32000,
            "message": text.cap(str(error.get("message", "")), MAX_MESSAGE),
        }
        if "data" in error and text.weight(error["data"], MAX_DATA) < MAX_DATA:
            clean["data"] = error["data"]
        return {"jsonrpc": "2.0", "id": request_id, "error": clean}
    if not isinstance(message["result"], dict):
        raise ProtocolError(_lt("The MCP server sent a result that is not an object."))
    return {"jsonrpc": "2.0", "id": request_id, "result": message["result"]}
