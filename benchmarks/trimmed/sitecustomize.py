"""Started with this folder in PYTHONPATH, Python gives free memory back to the system every few seconds.

So what is measured from outside is memory in use, without the holes that a peak leaves in the heap.
"""

import ctypes
import threading
from time import sleep  # gevent replaces the one in its module

PAUSE = 5.0  # s


def _trim():
    malloc_trim = ctypes.CDLL(None).malloc_trim
    while True:
        sleep(PAUSE)
        malloc_trim(0)


threading.Thread(target=_trim, name="malloc_trim", daemon=True).start()
