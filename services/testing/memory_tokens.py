"""A token store in memory."""

import asyncio
from typing import Any


class MemoryTokens:
    """:ivar grants: key -> grant
    :ivar pending: (key, state) -> sign-in that has begun
    """

    def __init__(self):
        self.grants: dict[str, dict[str, Any]] = {}
        self.pending: dict[tuple[str, str], dict[str, Any]] = {}
        self._locks: dict[str, asyncio.Lock] = {}

    async def load(self, key: str) -> dict[str, Any] | None:
        return self.grants.get(key)

    async def save(self, key: str, grant: dict[str, Any]) -> None:
        self.grants[key] = grant

    async def put_pending(self, key: str, state: str, pending: dict[str, Any]) -> None:
        self.pending[key, state] = pending

    async def take_pending(self, key: str, state: str) -> dict[str, Any] | None:
        return self.pending.pop((key, state), None)

    def lock(self, key: str) -> asyncio.Lock:
        return self._locks.setdefault(key, asyncio.Lock())
