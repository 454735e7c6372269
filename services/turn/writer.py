"""Journal writer: flushes the journals of one store, all turns in one transaction."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any

from ..errors import LeaseLost
from ..pace import Pace
from .event_log import EventLog
from .ports import Claim, StoreGone, TurnsLocked

_logger = logging.getLogger(__name__)

GATHER = 0.01  # s that a remark waits for others: that a turn runs, what it has, and quick words are one write
BURST = 1  # writes that may follow another at once after a pause: the first words wait for none


class Writer:
    """Flushes every 40 ms at most; after a pause the first words follow what began the answer at once.

    :param append: the store's
    :param lose: called with each claim that is lost
    """

    def __init__(
        self,
        append,
        db: Callable[..., Awaitable[Any]],
        lose: Callable[[Claim], None],
        interval: float,
        clock: Callable[[], float] = time.monotonic,
    ):
        self._append_to = append
        self._db = db
        self._lose = lose
        self._interval = interval
        self._pace = Pace(interval, BURST)
        self._clock = clock
        self._dirty: dict[EventLog, None] = {}
        self._wakeup = asyncio.Event()

    def wake(self, journal: EventLog, is_urgent: bool = True) -> None:
        """:param is_urgent: else what follows within moments is written with it"""
        self._dirty[journal] = None
        if is_urgent:
            self._wakeup.set()
        else:
            asyncio.get_running_loop().call_later(GATHER, self._wakeup.set)

    async def run(self) -> None:
        while True:
            await self._wakeup.wait()
            await asyncio.sleep(max(0.0, self._pace.due - self._clock()))
            self._pace.take(self._clock())
            self._wakeup.clear()
            await self._flush()

    async def _flush(self) -> None:
        journals, self._dirty = list(self._dirty), {}
        free = [journal for journal in journals if not journal.lock.locked()]
        for journal in journals:
            if journal.lock.locked():  # its own writer drains it; look again if something is left
                self._wake_later(journal)
        for journal in free:
            await journal.lock.acquire()  # never waits: nothing ran since the check
        try:
            batch = {j.claim: events for j in free if not j.lost and (events := j.drain())}
            lost, locked = await self._append(batch) if batch else ((), ())
            for claim in lost:
                self._lose(claim)
            for journal in free:
                if journal.claim in locked:
                    journal.put_back(batch[journal.claim])
                    self._wake_later(journal)
        finally:
            for journal in free:
                journal.lock.release()

    def _wake_later(self, journal: EventLog) -> None:
        asyncio.get_running_loop().call_later(self._interval, self.wake, journal)

    async def _append(self, batch: dict) -> tuple[set[Claim], set[Claim]]:
        """The claims that are lost, and those whose turn is locked.

        What cannot be written costs its own turn, never the others.
        """
        try:
            return await self._db(self._append_to, batch), set()
        except TurnsLocked as locked:
            return locked.lost, locked.locked
        except (LeaseLost, StoreGone):
            return set(batch), set()
        except Exception:
            if len(batch) == 1:
                _logger.exception("Events of turn %s cannot be written.", next(iter(batch)).turn_id)
                return set(batch), set()
        parts = [await self._append({claim: batch[claim]}) for claim in batch]
        return set().union(*(lost for lost, _ in parts)), set().union(*(held for _, held in parts))
