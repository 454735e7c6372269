"""Places for turns in one process, shared between the queues of its tenants."""

import contextlib
from collections.abc import Iterator


class FairSlots:
    """Number of turns that each queue may begin, so that none takes what another has waited for.

    Used on one thread. `running` is the number of running turns by queue.
    """

    def __init__(self, capacity: int):
        self._capacity = capacity
        self._asked = 0  # places that a claim under way may fill
        self._doubted = 0  # of these, where the database may not answer
        self._refused: dict[str, None] = {}  # queues that found no place, who waits longest first

    @contextlib.contextmanager
    def take(self, name: str, running: dict[str, int], is_doubtful: bool) -> Iterator[int]:
        """Places for turns of this queue, kept while it is asked for them.

        Who has fewer turns goes first, then who waits longer. With other queues beside it, one gets at most half of
        what is free; one whose database did not answer gets one place, and all of these a quarter of all.

        :param running: turns of each queue now, by name
        """
        places = self._free(name, running)
        if len(running) > 1:
            places = (places + 1) // 2
        if is_doubtful:
            share = max(1, self._capacity // 4) - self._doubted
            places = min(places, 1, share)
        if places <= 0:
            self._refused.setdefault(name)
            yield 0
            return
        self._refused.pop(name, None)
        doubted = places if is_doubtful else 0
        self._asked += places
        self._doubted += doubted
        try:
            yield places
        finally:
            self._asked -= places
            self._doubted -= doubted

    def _free(self, name: str, running: dict[str, int]) -> int:
        """Places that nobody has, and nobody who goes first waits for."""
        free = self._capacity - sum(running.values()) - self._asked
        mine, ahead, is_before_me = running.get(name, 0), 0, True
        for other in self._refused:
            if other == name:
                is_before_me = False
            else:
                theirs = running.get(other, 0)
                ahead += theirs < mine or (theirs == mine and is_before_me)
        return free - ahead

    def waiting(self) -> list[str]:
        """Queues that found no place."""
        return list(self._refused)

    def leave(self, name: str) -> None:
        """The queue is gone and waits for nothing."""
        self._refused.pop(name, None)
