"""The client's connection: how long a request may wait for it.

Odoo's threaded server reloads itself for a request that takes longer than `limit_time_real`, whatever the request waits
for: a client that takes nothing must not be waited for so long.
"""

import contextlib
import math
import select
import socket
import threading
import time
from collections.abc import Generator, Iterator

from odoo.http import request
from odoo.tools import config

PIECE = 8 * 1024  # bytes that are written at once; a socket that takes something takes so much
TCP_ESTABLISHED = 1  # enum tcp_state of Linux
WRITE_TIMEOUT = 60.0  # s in which a client has to take something


def connection() -> socket.socket | None:
    """Connection of the response, None where the server does not tell."""
    environ = request.httprequest._HTTPRequest__environ  # Odoo's own copy leaves it out
    return environ.get("socket") or environ.get("werkzeug.socket")


def limit(environ) -> None:
    """Let the rest of this request end before a threaded server takes it for one that hangs."""
    started = getattr(threading.current_thread(), "start_time", None)
    line = environ.get("socket")  # neither a worker's, which has Odoo's own limit
    longest = config["limit_time_real"]
    if line is not None and started and longest > 0:
        left = longest * 7 / 8 - (time.time() - started)
        line.settimeout(max(1.0, min(WRITE_TIMEOUT, left)))


def is_closed(line: socket.socket | None) -> bool:
    """True if the client has closed the connection, False where nothing is known of it."""
    with contextlib.suppress(OSError, ValueError):
        if line is not None:
            state = line.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0]
            return state != TCP_ESTABLISHED
    return False


class ClientLine:
    """
    :param lifetime: s in which events may begin
    :param connection: without one nothing is known of what the client takes
    """

    def __init__(self, lifetime: float, connection: socket.socket | None = None) -> None:
        now, longest = time.monotonic(), config["limit_time_real"]
        if lifetime == math.inf or longest <= 0:
            longest = math.inf
        self._until = now + min(lifetime, longest / 2)
        self._end = now + longest * 3 / 4
        self._connection = connection

    def left(self) -> float:
        """Seconds in which another event may begin."""
        return max(0.0, self._until - time.monotonic())

    def pieces(self, parts: Generator[bytes]) -> Iterator[bytes]:
        """Each when the client takes something; ends in the midst of a part where it does not, or for too long."""
        with contextlib.closing(parts):
            for part in parts:
                for start in range(0, len(part), PIECE):
                    if not self._is_taking():
                        return
                    yield part[start : start + PIECE]

    def _is_taking(self) -> bool:
        patience = min(WRITE_TIMEOUT, self._end - time.monotonic())
        if self._connection is None or patience <= 0:
            return patience > 0
        poll = select.poll()
        poll.register(self._connection.fileno(), select.POLLOUT)
        return bool(poll.poll(patience * 1000))
