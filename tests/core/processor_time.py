"""Time of the processor that something takes, whatever else the machine and this process have to do."""

import gc
import time


def seconds(work, runs=5, enough=1.0):
    """The least of some runs; objects of other tests are not looked at by the collector meanwhile.

    :param enough: s, after which nobody tries again
    """
    gc.freeze()
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
        gc.unfreeze()
