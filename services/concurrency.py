"""Concurrency: what a process makes again after a fork, and work that a Stop may end."""

import asyncio
import os
from typing import Any, Self, TypeVar

_T = TypeVar("_T")


def renewed(made: _T) -> _T:
    """Let it be made again, in place, in each child of this process.

    Threads, locks and connections, which a process has once, do not come along with a fork.

    :param made: ``__init__`` without arguments makes all of it
    """
    os.register_at_fork(after_in_child=made.__init__)
    return made


class Race:
    """Race between pieces of work, one after another, and a Stop; ends neither.

    :param stop: set by whoever stops
    """

    def __init__(self, stop: asyncio.Event) -> None:
        self._stop = stop

    def __enter__(self) -> Self:
        self._stopped = asyncio.ensure_future(self._stop.wait())
        return self

    def __exit__(self, *_error: object) -> None:
        self._stopped.cancel()

    async def is_done(self, work: asyncio.Future[Any], limit: float | None = None) -> bool:
        """Wait for the work, the Stop or the end of the time, whichever comes first.

        :param limit: s, None for no end
        :return: True if the work is done
        """
        waiting = {work, self._stopped}
        await asyncio.wait(waiting, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
        return work.done()
