"""Messages of a client: JSON-RPC 2.0 as MCP uses it, read from bytes that nobody has checked."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .. import jsonrpc, large, text
from ..errors import ResultTooLarge

MAX_BODY = 1024 * 1024  # bytes of one request
MAX_BATCH = 20  # messages of one body, as many as calls of one answer of a model
MAX_ID = 200  # characters of a request's id
MAX_METHOD = 100  # characters


class RpcError(Exception):
    """An error of the protocol, in place of a result.

    :param code: of JSON-RPC or MCP
    :param status: of HTTP
    :param data: JSON for programs
    """

    def __init__(self, code: int, message: str, *, status: int = 200, data: Any = None):
        super().__init__(message)
        self.code = code
        self.status = status
        self.data = data

    def answer(self, request_id: jsonrpc.Id | None) -> dict[str, Any]:
        """The message that says so.

        :param request_id: of the request, None where it could not be read
        """
        return jsonrpc.error(request_id, str(self), self.code, self.data)


def lacks_capability(sentence: str, data: Any) -> RpcError:
    """Error of a request that asks for more than its client has declared, or than is passed on.

    :param data: of a server that says so, which names the capabilities
    """
    needed = data.get("requiredCapabilities") if isinstance(data, Mapping) else None
    told = {"requiredCapabilities": needed} if isinstance(needed, Mapping) else None
    return RpcError(jsonrpc.MISSING_CAPABILITY, sentence, status=400, data=told)


@dataclass(frozen=True, slots=True)
class Message:
    """A request, or a notification, which has no `id`."""

    method: str
    params: Mapping[str, Any] = field(default_factory=dict)
    id: jsonrpc.Id | None = None


def parse(body: bytes) -> Any:
    """The JSON of a body, an object or a list of a batch, without signs that PostgreSQL refuses.

    :raises RpcError: it is none, or larger or deeper than is read
    """
    if len(body) > MAX_BODY:
        raise _refused("The message is too large.", status=413)
    try:
        large.check(body)
    except ResultTooLarge as error:
        raise _refused("The message has too many values.", status=413) from error
    value = jsonrpc.parse(body)
    if value is None:
        raise RpcError(jsonrpc.PARSE_ERROR, "The message is not valid JSON.", status=400)
    if _is_deeper(value, text.MAX_DEPTH):
        raise _refused("The message is nested too deeply.")
    return text.storable(value)


def read(value: Any) -> Message:
    """One message of a body.

    :param value: JSON of `parse`
    :raises RpcError: it is neither a request nor a notification
    """
    if not isinstance(value, dict) or value.get("jsonrpc") != "2.0":
        raise _refused("Send a JSON-RPC 2.0 request.")
    method, params = value.get("method"), value.get("params", {})
    if not isinstance(method, str) or not 0 < len(method) <= MAX_METHOD:
        raise _refused("The message has no method.")
    if not isinstance(params, dict):
        raise _refused("`params` must be an object.")
    if "id" in value and request_id(value) is None:
        raise _refused("The id of a request must be a short string or an integer.")
    return Message(method, params, request_id(value))


def request_id(value: Any) -> jsonrpc.Id | None:
    """The id of what may be a request, None where it has none that can be used.

    :param value: JSON

    >>> request_id({"id": 7}), request_id({"id": True}), request_id([])
    (7, None, None)
    """
    found = value.get("id") if isinstance(value, dict) else None
    if isinstance(found, bool) or not isinstance(found, int | str):
        return None
    return found if len(str(found)) <= MAX_ID else None


def _refused(sentence: str, status: int = 400) -> RpcError:
    return RpcError(jsonrpc.INVALID_REQUEST, sentence, status=status)


def _is_deeper(value: Any, levels: int) -> bool:
    left = [value]
    for _ in range(levels):
        left = [
            inner
            for item in left
            if isinstance(item, dict | list)
            for inner in (item.values() if isinstance(item, dict) else item)
        ]
        if not left:
            return False
    return any(isinstance(item, dict | list) for item in left)
