"""Request in flight: one HTTP request, and what its stream may ask of the guard."""

from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeVar

import anyio

from ... import jsonrpc
from ...errors import EngineError
from ...large_result_bypass import LargeResultBypass
from ...net.intake import Intake

_T = TypeVar("_T")


class Aborted(Exception):
    """The caller does not wait for this request any more."""


class Flight:
    """One request on its way; may be aborted from another task of the loop."""

    def __init__(self):
        self.aborted = False
        self._scope: anyio.CancelScope | None = None

    async def run(self, awaitable: Awaitable[_T]) -> _T:
        """:raises Aborted: `abort` was called before or meanwhile"""
        try:
            with anyio.CancelScope() as self._scope:
                if self.aborted:
                    self._scope.cancel()
                return await awaitable
        finally:
            self._scope = None
        raise Aborted

    def abort(self) -> None:
        self.aborted = True
        if self._scope is not None:
            self._scope.cancel()


class Guard(Protocol):
    """The transport as a stream sees it, see `guard.GuardTransport`."""

    cap: int
    aside: LargeResultBypass
    flights: dict[jsonrpc.Id, Flight]
    resumable: dict[str, jsonrpc.Id]
    intake: Callable[[], Intake]
    on_log: Callable[[jsonrpc.Id, Any], None]
    aborted: set[str]

    def fail(self, request_id: jsonrpc.Id, error: EngineError) -> dict[str, Any]:
        """Keep the error of a request for its caller; the JSON-RPC error that stands for it."""
        ...

    def note_question(self, asked_id: Any, request_id: jsonrpc.Id) -> None:
        """Remember on which request's stream the server has asked.

        :param asked_id: of its question, as the server has sent it, of any type
        """
        ...

    def listen_ended(self, seconds: float) -> None:
        """Count a stream of what the server says by itself.

        :param seconds: it was open
        """
        ...

    async def posted(self, timeout: float) -> None:
        """Wait until nothing is being sent behind the client's back any more.

        :param timeout: seconds
        """
        ...
