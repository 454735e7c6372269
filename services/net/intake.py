"""Intake: one person's large answers come in one after another, with a rest after each, so that they neither fill the
memory nor hold up the loop.

A server that stops in the midst of one keeps its own next ones waiting, and another server's not.
"""

import asyncio
import sys
from collections.abc import AsyncIterator, Hashable

import httpx

from ..semaphore import FairSemaphore
from ..specs import ServerSpec

LARGE = 256 * 1024  # bytes of an answer that come in at once
LARGE_PER_PERSON = 2  # of one person, each of another server
PACE = 8 * 1024 * 1024  # bytes a second, of one server and person in the long run


class Intakes:
    """Semaphores of one process for large answers.

    :ivar of_servers: one permit for each server and person
    :ivar of_persons: `LARGE_PER_PERSON` permits for each person
    """

    def __init__(self) -> None:
        self.of_servers = FairSemaphore(sys.maxsize, 1)
        self.of_persons = FairSemaphore(sys.maxsize, LARGE_PER_PERSON)

    def of(self, spec: ServerSpec) -> "Intake":
        """Return an intake for one answer at a time, of this server and for this person."""
        return Intake(
            (self.of_servers, (spec.quota_key, spec.owner)), (self.of_persons, spec.quota_key)
        )


class Intake:
    """Flow control of one answer: beyond `LARGE` bytes it needs permits, and returns them after a rest.

    :param places: ``(semaphore, holder)``, acquired in this order
    """

    def __init__(self, *places: tuple[FairSemaphore, Hashable]):
        self._places = places
        self._held: list[tuple[FairSemaphore, Hashable]] = []
        self._size = 0

    async def grow(self, size: int) -> None:
        """Tell how many bytes of the answer have arrived, and wait for the permits that it needs from now on.

        :param size: bytes so far; fewer than before are those of the next answer
        """
        if size < self._size:
            self.end()
        self._size = size
        if size <= LARGE or self._held:
            return
        try:
            for semaphore, holder in self._places:
                await semaphore.acquire(holder)
                self._held.append((semaphore, holder))
        except BaseException:
            self._size = 0
            self.end()
            raise

    def end(self) -> None:
        """Return the permits, after a rest in proportion to the answer's bytes (`PACE`)."""
        held, self._held = self._held, []
        size, self._size = self._size, 0
        for semaphore, holder in held:
            asyncio.get_running_loop().call_later(size / PACE, semaphore.release, holder)


class TakenIn(httpx.AsyncByteStream):
    """The body of an answer, on its way through an intake."""

    def __init__(self, stream: httpx.AsyncByteStream, intake: Intake):
        self._stream = stream
        self._intake = intake

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        try:
            async for chunk in self._stream:
                size += len(chunk)
                await self._intake.grow(size)
                yield chunk
        finally:
            self._intake.end()

    async def aclose(self) -> None:
        self._intake.end()
        await self._stream.aclose()
