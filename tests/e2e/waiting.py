"""Waiting for what another process does."""

import time


def eventually(what, seconds=30):
    """Wait until `what` returns something true, and return it."""
    until = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < until, what
        time.sleep(0.1)
    return found
