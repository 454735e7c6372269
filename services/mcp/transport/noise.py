"""Notification rate limit: how much a server may say beside its answers."""

import time

from ... import large
from ...errors import ResultTooLarge

RATE = 200.0  # messages a second, more are passed over
BURST = 400


class Noise:
    """Messages of a server beside its answers, kept to a rate: progress, questions, notifications.

    :param cap: bytes of it between two answers
    """

    def __init__(self, cap: float):
        self._cap = cap
        self._bytes = 0
        self._tokens = float(BURST)
        self._seen = time.monotonic()

    def passes(self, size: int) -> bool:
        """:raises ResultTooLarge: nothing else came for long"""
        self._bytes += size
        if self._bytes > self._cap:
            raise ResultTooLarge(detail=f"more than {self._cap} bytes beside the answers")
        now = time.monotonic()
        self._tokens = min(BURST, self._tokens + (now - self._seen) * RATE)
        self._seen = now
        if self._tokens < 1 or size > large.SMALL:
            return False
        self._tokens -= 1
        return True

    def answered(self) -> None:
        self._bytes = 0
