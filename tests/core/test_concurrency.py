"""A process that was forked from one in the middle of its work begins with nothing of it."""

import asyncio
import os
import threading
import traceback
from pathlib import Path

from services import concurrency, large

ROOT = Path(__file__).parents[2]


class Held:
    def __init__(self):
        self.lock = threading.Lock()


def in_child(work):
    """What it says there, as text."""
    read, write = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            os.write(write, repr(work()).encode())
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(0)
    os.close(write)
    os.waitpid(pid, 0)
    with os.fdopen(read) as said:
        return said.read()


def test_a_child_has_its_own():
    held = concurrency.renewed(Held())
    with held.lock:
        assert in_child(lambda: held.lock.acquire(timeout=1)) == "True"
        assert held.lock.locked()


def test_what_is_read_beside_the_loop_is_read_in_a_child_too():
    def read():
        return asyncio.run(asyncio.wait_for(large.beside(str.upper, "large"), 5))

    assert read() == "LARGE"  # the thread is there
    assert in_child(read) == "'LARGE'"


def test_one_place_knows_of_forks():
    folders = ("services", "tools", "models", "runtime")
    files = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    assert [path.name for path in files if "register_at_fork" in path.read_text()] == [
        "concurrency.py"
    ]
