"""So many places at once, shared fairly: nobody holds more than a share, and who holds fewest is next.

Pure asyncio; a room belongs to the event loop it is first used on.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Hashable


def nothing_to_spare(_whose: Hashable) -> bool:
    """All places are in use."""
    return False


class Room:
    """:param limit: places
    :param share: places of one holder
    :param spare: called with a holder (None: any) whose unused place is wanted; gives it back with `leave`
        and says whether there was one
    """

    def __init__(
        self,
        limit: int,
        share: int,
        spare: Callable[[Hashable | None], bool] = nothing_to_spare,
    ):
        self._limit = limit
        self._share = share
        self._spare = spare
        self._held: Counter[Hashable] = Counter()
        self._waiting: dict[asyncio.Future[None], Hashable] = {}  # who came first is first

    @property
    def taken(self) -> int:
        return self._held.total()

    def held(self, whose: Hashable) -> int:
        return self._held[whose]

    async def take(self, whose: Hashable) -> None:
        """Wait for a place; at once, and without giving up control, where there is one."""
        waiter = asyncio.get_running_loop().create_future()
        self._waiting[waiter] = whose
        self.seat()
        try:
            await waiter
        except asyncio.CancelledError:
            if not waiter.cancelled():  # it came in the very moment
                self.give(whose)
            raise
        finally:
            self._waiting.pop(waiter, None)

    def give(self, whose: Hashable) -> None:
        """Give a place back."""
        self.leave(whose)
        self.seat()

    def leave(self, whose: Hashable) -> None:
        """Give a place back without handing it on, for `spare`."""
        self._held[whose] -= 1
        if not self._held[whose]:
            del self._held[whose]

    def seat(self) -> None:
        """Hand out what is free; called when a place may have become one to spare, too."""
        waiting = sorted(self._waiting.items(), key=lambda item: self._held[item[1]])
        for waiter, whose in waiting:
            if not waiter.done() and self._is_free(whose):
                self._held[whose] += 1
                waiter.set_result(None)

    def _is_free(self, whose: Hashable) -> bool:
        if self._held[whose] >= self._share:
            return self._spare(whose)
        return self.taken < self._limit or self._spare(None)
