"""TCP connections of the wake-up channel to something else than PostgreSQL: nothing waits longer than it says."""

import contextlib
import select
import socket
import ssl
import time
from urllib.parse import SplitResult, unquote

PATIENCE = 5.0  # s to connect, for what is asked at the start, and to send
CHUNK = 65_536  # bytes
KEEP_ALIVE = {"TCP_KEEPIDLE": 4, "TCP_KEEPINTVL": 2, "TCP_KEEPCNT": 3}  # s, s, times


class Wire:
    """:raises ConnectionError: of each method; it is to be closed then"""

    def __init__(self, address: SplitResult, port: int):
        self._host = address.hostname or ""
        with _typed():
            self._socket = socket.create_connection((self._host, address.port or port), PATIENCE)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            for name, value in KEEP_ALIVE.items():
                if hasattr(socket, name):
                    self._socket.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)

    def encrypt(self) -> None:
        with _typed():
            context = ssl.create_default_context()
            self._socket = context.wrap_socket(self._socket, server_hostname=self._host)

    def fileno(self) -> int:
        return self._socket.fileno()

    def send(self, data: bytes) -> None:
        with _typed():
            self._socket.sendall(data)

    def receive(self) -> bytes:
        """What has come; waits for the first of it."""
        with _typed():
            data = self._socket.recv(CHUNK)
            if isinstance(self._socket, ssl.SSLSocket):  # what it holds decrypted, no file tells of
                while data and (more := self._socket.pending()):
                    data += self._socket.recv(more)
        if not data:
            raise ConnectionError("The connection was closed.")
        return data

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.close()


def ready(wires: list[Wire], timeout: float, wake: int | None = None) -> list[Wire]:
    """Those that can be read, within `timeout` seconds.

    :param wake: number of a file that ends it too, once it can be read
    """
    poll = select.poll()
    by_number = {wire.fileno(): wire for wire in wires}
    for number in [*by_number, *([] if wake is None else [wake])]:
        poll.register(number, select.POLLIN)
    found = poll.poll(max(0.0, timeout) * 1000)
    return [by_number[number] for number, _event in found if number in by_number]


def answers(wire: Wire, decoder):
    """What the server says of what was asked, one after another.

    :raises ConnectionError: it says nothing within `PATIENCE`
    """
    until = time.monotonic() + PATIENCE
    while ready([wire], until - time.monotonic()):
        yield from decoder.feed(wire.receive())
    raise ConnectionError(f"no answer within {PATIENCE:.0f} s")


def credentials(address: SplitResult) -> tuple[str, str]:
    return unquote(address.username or ""), unquote(address.password or "")


@contextlib.contextmanager
def _typed():
    try:
        yield
    except ConnectionError:
        raise
    except (OSError, ValueError) as error:  # a name that has no address, a bad certificate, silence
        raise ConnectionError(str(error)) from error
