"""Streams of messages: progress of a call and its response, or changes of what a client has listed.

Sources: MCP 2025-11-25, basic/transports and basic/utilities/progress; 2026-07-28, basic/transports/streamable-http and
basic/patterns/subscriptions.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .. import const, jsonrpc
from .envelope import Era, Headers
from .messages import Message, RpcError, request_id

TYPE = "text/event-stream"
KEEPALIVE = b": keep-alive\n\n"


@dataclass(slots=True)
class Stream:
    """One call whose client takes a stream.

    :ivar token: with which the client wants progress, None without
    :ivar is_cancelled_by_close: closing the connection cancels the call; in legacy revisions a line may be lost
    """

    token: jsonrpc.Id | None
    is_cancelled_by_close: bool
    _reached: float | None = None

    def progress(self, progress: float, total: float | None, message: str) -> bytes:
        """Event of a progress notification, empty where nobody wants it or it does not go on.

        :param progress: of the server; it has to grow
        :param message: of the server, for people
        """
        if self.token is None or (self._reached is not None and progress <= self._reached):
            return b""
        self._reached = progress
        params: dict[str, Any] = {"progressToken": self.token, "progress": progress}
        if total is not None:
            params["total"] = total
        if message:
            params["message"] = message
        return event({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})


def of_call(message: Message, era: Era, headers: Headers) -> Stream | None:
    """Stream in which a call may be answered, None where the client takes only JSON.

    :param message: of ``tools/call``, not checked
    """
    if TYPE not in headers.get("accept", ""):
        return None
    meta = message.params.get("_meta")
    token = meta.get("progressToken") if isinstance(meta, Mapping) else None
    return Stream(request_id({"id": token}), is_cancelled_by_close=era == "modern")


def event(message: Mapping[str, Any]) -> bytes:
    """A message as an event of a stream.

    :param message: of JSON-RPC
    """
    return f"event: message\ndata: {json.dumps(message, ensure_ascii=False)}\n\n".encode()


@dataclass(frozen=True, slots=True)
class Subscription:
    """Stream on which a client is told that its tools have changed.

    :ivar id: of the request, None in legacy revisions, which have no subscriptions but a stream of their own
    """

    id: jsonrpc.Id | None
    wants_tools: bool = True

    def begun(self) -> bytes:
        """First event: what will be told."""
        if self.id is None:
            return KEEPALIVE
        told = {"toolsListChanged": True} if self.wants_tools else {}
        return self._notice("notifications/subscriptions/acknowledged", notifications=told)

    def changed(self) -> bytes:
        """Event of other tools, empty where nobody wants it."""
        return self._notice("notifications/tools/list_changed") if self.wants_tools else b""

    def ended(self) -> bytes:
        """Last event, of a stream that ends by itself."""
        if self.id is None:
            return b""
        result = {"resultType": "complete", "_meta": self._meta()}
        return event(jsonrpc.result(self.id, result))

    def _meta(self) -> dict[str, Any]:
        return {} if self.id is None else {f"{const.META_PREFIX}subscriptionId": self.id}

    def _notice(self, method: str, **params: Any) -> bytes:
        meta = self._meta()
        params = {**params, "_meta": meta} if meta else params
        more = {"params": params} if params else {}
        return event({"jsonrpc": "2.0", "method": method, **more})


def of_subscription(message: Message) -> Subscription:
    """Stream that a client has asked for.

    :param message: of ``subscriptions/listen``, not checked
    :raises RpcError: it does not say what the client wants to be told
    """
    wanted = message.params.get("notifications")
    if not isinstance(wanted, Mapping):
        raise RpcError(jsonrpc.INVALID_PARAMS, "`notifications` must be an object.", status=400)
    return Subscription(message.id, wants_tools=wanted.get("toolsListChanged") is True)
