"""Pace: how often something happens in the long run, and what may follow at once after a pause."""


class Pace:
    """A token bucket of moments. Not for several threads.

    :param interval: s between two of them in the long run
    :param burst: how many may follow another at once after a pause
    :ivar due: when the next one may happen, on whichever clock `take` is told of
    """

    def __init__(self, interval: float, burst: int):
        self._interval = interval
        self._burst = burst
        self.due = float("-inf")

    def take(self, now: float) -> None:
        """
        >>> pace = Pace(interval=1.0, burst=1)
        >>> for now in (10.0, 10.0, 11.0):
        ...     pace.take(now)
        ...     print(pace.due)
        10.0
        11.0
        12.0
        """
        self.due = max(self.due, now - self._burst * self._interval) + self._interval
