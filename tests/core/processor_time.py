"""Time of the processor that something takes, whatever else the machine and this process have to do."""

import gc
import time
from contextlib import contextmanager

QUIET = 0.024  # s that `_yardstick` takes on two cores that have nothing else to do


def seconds(work, runs=5, enough=1.0):
    """The least of some runs; the collector rests, which would look at the objects of other tests.

    :param enough: s, after which nobody tries again
    """
    gc.disable()
    try:
        least = float("inf")
        for _ in range(runs):
            begun = time.thread_time()
            work()
            least = min(least, time.thread_time() - begun)
            if least > enough:
                break
        return least
    finally:
        gc.enable()


def moments(work, most, tries=5):
    """Whether it takes at most so many seconds of a quiet machine's processor, for once in some tries.

    Beside other work the same instructions take longer, whoever counts their seconds: caches and memory are shared.
    """
    return any(seconds(work) < most * slowness() for _ in range(tries))


@contextmanager
def within(most):
    """Fails when what it holds takes more seconds of a quiet machine's processor."""
    begun = time.thread_time()
    yield
    took = time.thread_time() - begun
    assert took < most or took < most * slowness()


def slowness():
    """How many times longer than on a quiet machine things take now; at least 1."""
    return max(1.0, seconds(_yardstick) / QUIET)


def _yardstick():
    return {str(number): number for number in range(100_000)}
