"""Fair semaphore: nobody holds more than a share of the permits, and who holds fewest is next.

Pure asyncio; a semaphore belongs to the event loop it is first used on.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Hashable
from typing import Any


def nothing_to_reclaim(_holder: Hashable) -> bool:
    """All permits are in use."""
    return False


class FairSemaphore:
    """:param limit: permits
    :param share: permits of one holder
    :param spare: of the permits, those that only who holds none gets
    :param reclaim: called with a holder (None: any) whose unused permit is wanted; gives it back with `drop`
        and says whether there was one
    """

    def __init__(
        self,
        limit: int,
        share: int,
        reclaim: Callable[[Hashable | None], bool] = nothing_to_reclaim,
        spare: int = 0,
    ):
        self._limit = limit
        self._share = share
        self._spare = spare
        self._reclaim = reclaim
        self._held: Counter[Hashable] = Counter()
        self._waiting: dict[asyncio.Future[None], Hashable] = {}  # who came first is first

    @property
    def in_use(self) -> int:
        return self._held.total()

    def held(self, holder: Hashable) -> int:
        """Number of permits of `holder`."""
        return self._held[holder]

    async def acquire(self, holder: Hashable, unless: asyncio.Future[Any] | None = None) -> bool:
        """Wait for a permit; at once, and without giving up control, where there is one.

        :param unless: ends the wait
        :return: whether there is a permit
        """
        waiter = asyncio.get_running_loop().create_future()
        self._waiting[waiter] = holder
        self.grant()
        try:
            if unless is not None and not waiter.done():
                await asyncio.wait({waiter, unless}, return_when=asyncio.FIRST_COMPLETED)
                return waiter.done()
            await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled():  # it came in the very moment
                self.release(holder)
            raise
        finally:
            self._waiting.pop(waiter, None)
        return True

    def try_acquire(self, holder: Hashable) -> bool:
        """A permit for `holder` if there is one now."""
        if not self._is_free(holder):
            return False
        self._held[holder] += 1
        return True

    def release(self, holder: Hashable) -> None:
        """Give a permit of `holder` back and hand it on."""
        self.drop(holder)
        self.grant()

    def drop(self, holder: Hashable) -> None:
        """Give a permit of `holder` back without handing it on, for `reclaim`."""
        self._held[holder] -= 1
        if not self._held[holder]:
            del self._held[holder]

    def grant(self) -> None:
        """Hand out what is free; called when a permit may have become reclaimable, too."""
        waiting = sorted(self._waiting.items(), key=lambda item: self._held[item[1]])
        for waiter, holder in waiting:
            if not waiter.done() and self._is_free(holder):
                self._held[holder] += 1
                waiter.set_result(None)

    def _is_free(self, holder: Hashable) -> bool:
        held = self._held[holder]
        if held >= self._share:
            return self._reclaim(holder)
        room = self._limit - self._spare if held else self._limit
        return self.in_use < room or self._reclaim(None)
