"""Result bypass: large results on their way past the client of the MCP SDK, which would read them on the loop."""

import contextlib
from typing import Any

from . import jsonrpc, large
from .errors import ResultTooLarge

THROUGH = 16 * 1024  # bytes of an answer that the client reads itself


class LargeResultBypass:
    """Large results of one session."""

    def __init__(self):
        self._results: dict[str, dict[str, Any]] = {}

    @contextlib.contextmanager
    def of(self, request_id: jsonrpc.Id):
        """While the request is open: where its result comes as ``{"result"}`` if it is large."""
        held = self._results[str(request_id)] = {}
        try:
            yield held
        finally:
            self._results.pop(str(request_id), None)

    def without_large(self, answer: dict[str, Any], size: int) -> dict[str, Any]:
        """The answer for the client.

        :raises ResultTooLarge: nobody waits for so large a result
        """
        if size <= THROUGH or "result" not in answer:
            return answer
        held = self._results.get(str(answer["id"]))
        if held is not None:
            held["result"] = answer["result"]
            return {**answer, "result": {}}
        if size > large.SMALL:
            raise ResultTooLarge(detail="a handshake that is too large")
        return answer
