"""Started with this folder in PYTHONPATH, Python gives free memory back to the system every few seconds.

So what is measured from outside is memory in use, without the holes that a peak leaves in the heap.
"""

import _thread
import ctypes
from time import sleep  # gevent replaces the one in its module

PAUSE = 5.0  # s


def _trim():
    malloc_trim = ctypes.CDLL(None).malloc_trim
    while True:
        sleep(PAUSE)
        malloc_trim(0)


_thread.start_new_thread(_trim, ())  # one of threading's keeps gevent from patching that module
