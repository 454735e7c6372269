"""MCP pagination: lists that a server sends page by page (MCP 2025-11-25, server/utilities/pagination)."""

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

from ... import large, text
from ...errors import ProtocolError, ServerTimeout
from ...sentence import _lt

MAX_PAGES = 100
MAX_CURSOR = 4_096  # characters
MAX_WEIGHT = (
    4 * 1024 * 1024
)  # bytes of all pages, about; the largest list that is known has 2.2 MB (344 tools)
MAX_ENTRIES = 1_000  # of one list; the host offers fewer tools, see const.MAX_TOOLS_PER_SERVER

Ask = Callable[[str, Mapping[str, Any] | None], Awaitable[Mapping[str, Any]]]
"""Sends a request: method and params, its result."""


def within(seconds: float, request: Callable[..., Awaitable[Mapping[str, Any]]]) -> Ask:
    """Bound the time of all pages together.

    :param seconds: for all of them; what is left goes to `request` as its ``timeout``
    """
    deadline = time.monotonic() + seconds

    async def ask(method: str, params: Mapping[str, Any] | None) -> Mapping[str, Any]:
        left = deadline - time.monotonic()
        if left <= 0:
            raise ServerTimeout
        return await request(method, params, timeout=left)

    return ask


class Listing:
    """The entries of a list, page by page. Those that are no objects are passed over, and a cursor that was there
    before ends the list.

    :ivar is_cut: there is more, behind `MAX_ENTRIES` or `MAX_WEIGHT`
    """

    def __init__(self, ask: Ask, method: str, key: str):
        self.is_cut = False
        self._ask = ask
        self._method = method
        self._key = key

    async def pages(self) -> AsyncIterator[list[Mapping[str, Any]]]:
        """:raises ProtocolError: a page is no page"""
        cursor, seen, room, weight = None, set(), MAX_ENTRIES, MAX_WEIGHT
        for _ in range(MAX_PAGES):
            page = await self._ask(self._method, {"cursor": cursor} if cursor else None)
            found = page.get(self._key)
            if not isinstance(found, list):
                raise ProtocolError(
                    _lt("The MCP server sent an invalid list."), detail=self._method
                )
            yield [entry for entry in found[:room] if isinstance(entry, Mapping)]
            self.is_cut = len(found) > room
            room -= len(found)
            weight -= await large.apply(text.weight, found, MAX_WEIGHT)
            cursor = page.get("nextCursor")
            if not isinstance(cursor, str) or not 0 < len(cursor) <= MAX_CURSOR or cursor in seen:
                return
            if room <= 0 or weight <= 0:
                self.is_cut = True
                return
            seen.add(cursor)
