"""Time of the processor that something takes, whatever else the machine and this process have to do."""

import gc
import time


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
