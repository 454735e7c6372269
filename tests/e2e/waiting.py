"""Waiting for what another process does."""

import time

PATIENCE = 120  # s, only a test that fails ever waits so long


def eventually(what, seen=None):
    """Wait until `what` returns something true, and return it.

    :param seen: gives what the failure tells
    """
    until = time.monotonic() + PATIENCE
    while not (found := what()):
        assert time.monotonic() < until, seen() if seen else what
        time.sleep(0.05)
    return found
