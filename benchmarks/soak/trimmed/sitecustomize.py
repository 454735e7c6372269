"""Started with this folder in PYTHONPATH, Python tells now and then how much memory it has in use.

That is what nothing can give back: garbage in cycles is collected first, for which Python itself waits until there
is a quarter more of everything, and what is free goes back to the system. ``$MEMORY_IN_USE/<process>`` holds the
bytes; what a peak leaves in the heap as holes is resident, and no leak.
"""

import _thread
import ctypes
import gc
import os
from time import sleep  # gevent replaces the one in its module

PAUSE = 20.0  # s
FIELDS = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost"


class Mallinfo2(ctypes.Structure):
    """``struct mallinfo2`` of the GNU C library 2.33 and later: sums over all arenas."""

    _fields_ = [(name, ctypes.c_size_t) for name in FIELDS.split()]


def _trim():
    libc = ctypes.CDLL(None)
    libc.mallinfo2.restype = Mallinfo2
    while True:
        sleep(PAUSE)
        gc.collect()
        libc.malloc_trim(0)
        now = libc.mallinfo2()
        file = os.path.join(os.environ["MEMORY_IN_USE"], str(os.getpid()))
        with open(f"{file}.new", "w") as new:
            new.write(str(now.uordblks + now.hblkhd))
        os.replace(f"{file}.new", file)


_thread.start_new_thread(_trim, ())  # one of threading's keeps gevent from patching that module
