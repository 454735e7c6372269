"""Lists that a server sends page by page (MCP 2025-11-25, server/utilities/pagination)."""

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

from .errors import ProtocolError, ServerTimeout

MAX_PAGES = 100
MAX_ENTRIES = 1_000  # of one list; the host offers fewer tools, see const.MAX_TOOLS_PER_SERVER

Ask = Callable[[str, Mapping[str, Any] | None], Awaitable[Mapping[str, Any]]]
"""Sends a request: method and params, its result."""


def within(seconds: float, request: Callable[..., Awaitable[Mapping[str, Any]]]) -> Ask:
    """All pages together get so many seconds; `request` takes what is left as its ``timeout``."""
    deadline = time.monotonic() + seconds

    async def ask(method: str, params: Mapping[str, Any] | None) -> Mapping[str, Any]:
        left = deadline - time.monotonic()
        if left <= 0:
            raise ServerTimeout
        return await request(method, params, timeout=left)

    return ask


async def entries(ask: Ask, method: str, key: str) -> AsyncIterator[Mapping[str, Any]]:
    """What the pages hold under `key`. Entries that are no objects are passed over; so is what comes after
    `MAX_ENTRIES`, and a cursor that was there before ends the list.

    :raises ProtocolError: a page is no page
    """
    cursor, seen, room = None, set(), MAX_ENTRIES
    for _ in range(MAX_PAGES):
        page = await ask(method, {"cursor": cursor} if cursor else None)
        found = page.get(key)
        if not isinstance(found, list):
            raise ProtocolError("The MCP server sent a list that is not a list.", detail=method)
        for entry in found[:room]:
            if isinstance(entry, Mapping):
                yield entry
        room -= len(found)
        cursor = page.get("nextCursor")
        if not isinstance(cursor, str) or not cursor or cursor in seen or room <= 0:
            return
        seen.add(cursor)
