"""A token store in memory."""

import asyncio
from typing import Any


class MemoryTokens:
    """:ivar token_sets: key -> token set
    :ivar pending: (key, state) -> sign-in that has begun
    """

    def __init__(self):
        self.token_sets: dict[str, dict[str, Any]] = {}
        self.pending: dict[tuple[str, str], dict[str, Any]] = {}
        self._locks: dict[str, asyncio.Lock] = {}

    async def load(self, key: str) -> dict[str, Any] | None:
        return self.token_sets.get(key)

    async def save(self, key: str, token_set: dict[str, Any]) -> None:
        self.token_sets[key] = token_set

    async def put_pending(self, key: str, state: str, pending: dict[str, Any]) -> None:
        self.pending[key, state] = pending

    async def take_pending(self, key: str, state: str) -> dict[str, Any] | None:
        return self.pending.pop((key, state), None)

    def lock(self, key: str) -> asyncio.Lock:
        return self._locks.setdefault(key, asyncio.Lock())
