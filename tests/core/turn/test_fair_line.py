"""Who may work in the threads of a database."""

import concurrent.futures

import pytest

from services.turn.ports import StoreGone
from services.turn.queue.fair_line import FairLine


async def test_who_waits_for_threads_that_are_given_back_hears_that_the_database_is_gone():
    """And takes nobody's place: the next one hears it, too."""
    line = FairLine(concurrent.futures.ThreadPoolExecutor(1), 1, 1)
    assert await line.run(5, lambda: "done") == "done"
    line.executor.shutdown()
    for _time in range(2):
        with pytest.raises(StoreGone):
            await line.run(5, lambda: "done")
