"""A server whose first answer is waited for: connections to it are made at once, and led on when a test says so."""

import contextlib
import socket
import threading


class HeldServer:
    """:param port: of this machine, where what is asked here is answered"""

    def __init__(self, port: int):
        self._port = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}/mcp"

    def go_on(self) -> None:
        threading.Thread(target=self._accept, daemon=True).start()

    def stop(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # it was stopped
            while True:
                here, _address = self._listener.accept()
                there = socket.create_connection(("127.0.0.1", self._port))
                for way in ((here, there), (there, here)):
                    threading.Thread(target=_pass_on, args=way, daemon=True).start()


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while chunk := source.recv(1 << 16):
            target.sendall(chunk)
        target.shutdown(socket.SHUT_WR)
