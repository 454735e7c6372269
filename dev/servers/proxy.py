"""A small front proxy for prefork Odoo: streams and websockets go to the gevent port, the rest to the HTTP port.

It does what a production proxy does for ``/websocket``, and nothing is buffered. Every client connection carries one
request: the proxy asks both sides to close after it, so bytes can be passed on as they come.
"""

import argparse
import asyncio
import contextlib
import re

LONG_LIVED = re.compile(rb"/websocket(?:[/?]|$)|/api/ai/turns/[^/?]+/stream(?:\?|$)")
HEAD_LIMIT = 1 << 16  # bytes of a request's head
CHUNK = 1 << 16  # bytes passed on at a time
BAD_GATEWAY = b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


def upstream_port(head: bytes, http_port: int, gevent_port: int) -> int:
    """Port that the request with this head goes to.

    >>> upstream_port(b"GET /api/ai/turns/7/stream?after=3 HTTP/1.1\\r\\n", 1, 2)
    2
    >>> upstream_port(b"POST /api/ai/turns/7/stop HTTP/1.1\\r\\n", 1, 2)
    1
    """
    target = head.split(b" ", 2)[1]
    return gevent_port if LONG_LIVED.match(target) else http_port


def with_one_request(head: bytes) -> bytes:
    """``head`` asking for the connection's end after the answer, unless it asks for an upgrade.

    >>> with_one_request(b"GET / HTTP/1.1\\r\\nConnection: keep-alive\\r\\nHost: a\\r\\n\\r\\n")
    b'GET / HTTP/1.1\\r\\nHost: a\\r\\nConnection: close\\r\\n\\r\\n'
    """
    lines = head[: -len(b"\r\n\r\n")].split(b"\r\n")
    if any(line.lower().startswith(b"upgrade:") for line in lines):
        return head
    kept = [line for line in lines if not line.lower().startswith((b"connection:", b"keep-alive:"))]
    return b"\r\n".join([*kept, b"Connection: close", b"", b""])


def with_close(head: bytes) -> bytes:
    """An answer's ``head`` that says what happens: the connection ends, unless it was upgraded.

    gevent leaves the header out of a 204, and a client that keeps the connection finds it dead.

    >>> with_close(b"HTTP/1.1 204 No Content\\r\\n\\r\\n")
    b'HTTP/1.1 204 No Content\\r\\nConnection: close\\r\\n\\r\\n'
    """
    return head if head.split(b" ", 2)[1] == b"101" else with_one_request(head)


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(with_close(await reader.readuntil(b"\r\n\r\n")))
    await _pass_on(reader, writer)


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while chunk := await reader.read(CHUNK):
        writer.write(chunk)
        await writer.drain()


class Proxy:
    """Routes each connection of one listening port."""

    def __init__(self, http_port: int, gevent_port: int) -> None:
        self._http_port = http_port
        self._gevent_port = gevent_port

    async def serve(self, port: int) -> None:
        server = await asyncio.start_server(
            self._connection, "127.0.0.1", port, limit=HEAD_LIMIT, backlog=1024
        )
        print("listening", port, flush=True)
        await server.serve_forever()

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # A peer that goes away at any moment is the ordinary end of a connection.
        with contextlib.suppress(
            OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, IndexError
        ):
            await self._request(reader, writer)
        await _close(writer)

    async def _request(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        port = upstream_port(head, self._http_port, self._gevent_port)
        try:
            answers, requests = await asyncio.open_connection("127.0.0.1", port, limit=HEAD_LIMIT)
        except OSError:
            writer.write(BAD_GATEWAY)
            await writer.drain()
            return
        try:
            requests.write(with_one_request(head))
            ways = [
                asyncio.create_task(_pass_on(reader, requests)),
                asyncio.create_task(_answer(answers, writer)),
            ]
            # Whichever side closes first ends both: a reader that left must not keep its stream upstream.
            _done, pending = await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            for way in pending:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
        finally:
            await _close(requests)


async def _close(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--http-port", type=int, required=True)
    parser.add_argument("--gevent-port", type=int, required=True)
    options = parser.parse_args()
    asyncio.run(Proxy(options.http_port, options.gevent_port).serve(options.port))


if __name__ == "__main__":
    main()
