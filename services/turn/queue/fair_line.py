"""Fair line of people before the threads of a database: one person's work never keeps the others' waiting for long."""

import asyncio
import concurrent.futures
from collections.abc import Callable, Hashable
from typing import Any

from ...semaphore import FairSemaphore
from ..interrupt import Interrupt, Interrupted
from ..ports import StoreGone

NOBODY = 0  # whose work is for many: each kind of it has a share of its own


class FairLine:
    """No more work at a time than there are threads.

    :param executor: has the threads
    :param width: number of its threads
    :param share: of them, of one person
    :param spare: of them, those for people who have none
    """

    def __init__(
        self, executor: concurrent.futures.Executor, width: int, share: int, spare: int = 0
    ):
        self.executor = executor
        self._places = FairSemaphore(width, share, spare=spare)

    async def run(
        self,
        person: int,
        method: Callable[..., Any],
        *args: Any,
        interrupt: Interrupt | None = None,
    ) -> Any:
        """Result of the method. Who is cancelled meanwhile leaves it to end, and its place is taken until then.

        :param interrupt: ends the wait for a thread, and in the end the one for the method
        :raises Interrupted: it was not called, or has begun and goes on alone
        :raises StoreGone: it was not called, since its threads were given back meanwhile
        """
        holder = method if person == NOBODY else person
        if interrupt is None:
            await self._places.acquire(holder)
        elif interrupt.is_set or not await self._places.acquire(
            holder, unless=asyncio.wrap_future(interrupt.asked)
        ):
            raise Interrupted(has_begun=False)
        try:
            loop = asyncio.get_running_loop()
            running = loop.run_in_executor(self.executor, method, *args)
        except RuntimeError as shut_down:
            self._places.release(holder)
            raise StoreGone from shut_down
        except BaseException:
            self._places.release(holder)
            raise
        running.add_done_callback(lambda ended: self._ended(ended, holder))
        if interrupt is not None:
            over = asyncio.wrap_future(interrupt.over)
            await asyncio.wait({running, over}, return_when=asyncio.FIRST_COMPLETED)
            if not running.done():
                raise Interrupted(has_begun=True)
        return await asyncio.shield(running)

    def is_idle(self) -> bool:
        """True if nobody works in its threads, or waits for one."""
        return not self._places.in_use

    def _ended(self, running: asyncio.Future[Any], holder: Hashable) -> None:
        self._places.release(holder)
        if not running.cancelled():
            running.exception()  # who waits for it has it, if anybody does
