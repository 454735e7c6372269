"""A stopwatch of the time that people take, which is no duration of ours."""

from collections.abc import Callable


class UserWait:
    """The seconds in which a person is asked, once where questions overlap."""

    def __init__(self, clock: Callable[[], float]):
        self._clock = clock
        self._open = 0
        self._since = 0.0
        self._before = 0.0

    @property
    def seconds(self) -> float:
        return self._before + (self._clock() - self._since if self._open else 0.0)

    def __enter__(self) -> None:
        if not self._open:
            self._since = self._clock()
        self._open += 1

    def __exit__(self, *_error: object) -> None:
        self._open -= 1
        if not self._open:
            self._before += self._clock() - self._since
