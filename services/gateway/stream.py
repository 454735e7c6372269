"""Stream of the messages that answer one call: progress while it is made, then its response.

Sources: MCP 2025-11-25, basic/transports and basic/utilities/progress; 2026-07-28, basic/transports/streamable-http.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .. import jsonrpc
from .envelope import Era, Headers
from .messages import Message, request_id

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
