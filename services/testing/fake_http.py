"""HTTP/1.1 on bare sockets, for servers that must also be able to break it."""

import asyncio
import json
import socket
import struct
from typing import Any, cast


def this_task() -> asyncio.Task[Any]:
    """The task that runs this, for a server that cancels what it has begun."""
    return cast(asyncio.Task[Any], asyncio.current_task())


async def read_request(
    reader: asyncio.StreamReader,
) -> tuple[str, str, dict[str, str], bytes] | None:
    """Read one request.

    :return: method, path, headers in lower case, body; None at the end of the connection
    """
    first = await reader.readline()
    if not first.strip():
        return None
    method, path, _ = first.decode().split(" ", 2)
    headers: dict[str, str] = {}
    while (line := (await reader.readline()).strip()) != b"":
        name, _, value = line.decode("latin-1").partition(":")
        headers[name.lower()] = value.strip()
    return method, path, headers, await reader.readexactly(int(headers.get("content-length", 0)))


async def respond(
    writer,
    status: int,
    body: Any = b"",
    headers: dict | None = None,
    kind: str = "application/json",
) -> None:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [f"HTTP/1.1 {status} X", f"content-type: {kind}", f"content-length: {len(content)}"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    writer.write("\r\n".join([*lines, "", ""]).encode() + content)
    await writer.drain()


async def start_stream(writer, headers: dict | None = None) -> None:
    """Begin an answer that is a stream of events.

    :param headers: beside those of a stream
    """
    lines = ["HTTP/1.1 200 OK", "content-type: text/event-stream", "connection: close"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    writer.write("\r\n".join([*lines, "", ""]).encode())
    await writer.drain()


def reset(writer) -> None:
    """End a connection with RST instead of FIN; `writer` is of asyncio."""
    sock = writer.get_extra_info("socket")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
