"""An OpenAI-compatible server on loopback that answers what a script says, faults included."""

import asyncio
import contextlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .fake_http import read_request, respond, this_task


@dataclass
class Reply:
    """One answer. `text` is streamed in pieces of `piece` characters, `calls` are (name, arguments).

    Arguments are a dict, or a string that goes out as it is. `finish` None leaves the end out.
    `status` other than 200 answers with an error. `cut` ends the connection in mid-stream,
    `wait` seconds pass before the first chunk, `gap` between two, `raw` lines come after the text,
    `thinking` before it, in a field of its own.
    """

    text: str = ""
    calls: list[tuple[str, Any]] = field(default_factory=list)
    finish: str | None = "auto"
    status: int = 200
    error: str = "refused"
    headers: dict[str, str] = field(default_factory=dict)
    piece: int = 8
    wait: float = 0.0
    gap: float = 0.0
    cut: bool = False
    raw: tuple[str, ...] = ()
    thinking: str = ""


class ScriptedLlm:
    """``async with ScriptedLlm(Reply("Hi")) as llm:``; each request takes the next reply, the last stays.

    A script may also be one function from the request's body to a `Reply`.

    :ivar models: names that ``/models`` lists; None where there is no such list
    :ivar embed: gives ``/embeddings`` the vector of each text; None where there is no such thing
    :ivar key: what every request has to carry, if anything
    """

    models: list[str] | None = None
    embed: Callable[[str], list[float]] | None = None
    key = ""

    def __init__(self, *script: Reply | Callable[[dict], Reply]):
        self.script = list(script) or [Reply("Hello.")]
        self.requests: list[dict[str, Any]] = []
        self.embedded: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.open_streams = 0
        self.connections = 0  # that were ever made
        self.open_connections = 0
        self.arrived = asyncio.Event()
        self._server: Any = None  # `asyncio.Server` once it is entered
        self._tasks: set[asyncio.Task] = set()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"

    async def __aenter__(self):
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_):
        self._server.close()
        for task in list(self._tasks):
            task.cancel()

    async def _serve(self, reader, writer) -> None:
        self._tasks.add(task := this_task())
        self.connections += 1
        self.open_connections += 1
        try:
            while request := await read_request(reader):
                method, path, headers, body = request
                if self.key and headers.get("authorization") != f"Bearer {self.key}":
                    await self._reply(Reply(status=401, error="bad key"), reader, writer)
                    continue
                if method == "GET":
                    await self._list(path, writer)
                    continue
                if path.endswith("/embeddings"):
                    await self._embed(json.loads(body), writer)
                    continue
                self.headers.append(headers)
                self.requests.append(json.loads(body))
                self.arrived.set()
                await self._reply(self._next(), reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(task)
            self.open_connections -= 1
            with contextlib.suppress(Exception):
                writer.close()

    async def _list(self, path: str, writer) -> None:
        if self.models is None or not path.endswith("/models"):
            return await respond(writer, 404, {"detail": "Not Found"})
        return await respond(writer, 200, {"data": [{"id": name} for name in self.models]})

    async def _embed(self, body: dict[str, Any], writer) -> None:
        self.embedded.append(body)
        if self.embed is None:
            return await respond(writer, 404, {"detail": "Not Found"})
        data = [
            {"index": number, "embedding": self.embed(one)}
            for number, one in enumerate(body["input"])
        ]
        return await respond(writer, 200, {"object": "list", "data": data})

    def _next(self) -> Reply:
        step = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        return step if isinstance(step, Reply) else step(self.requests[-1])

    async def _reply(self, reply: Reply, reader, writer) -> None:
        if reply.status != 200:
            await _pause(reply.wait, reader)
            body = {"error": {"message": reply.error, "type": "error", "code": None}}
            return await respond(writer, reply.status, body, reply.headers)
        self.open_streams += 1
        try:
            writer.write(
                b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
            )
            await _pause(reply.wait, reader)
            for line in self._lines(reply):
                data = f"data: {line}\n\n".encode()
                writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
                await writer.drain()
                await _pause(reply.gap, reader)
            if reply.cut:
                writer.transport.abort()
                return None
            writer.write(b"0\r\n\r\n")
            return await writer.drain()
        finally:
            self.open_streams -= 1

    def _lines(self, reply: Reply):
        yield chunk({"role": "assistant", "content": ""})
        for start in range(0, len(reply.thinking), reply.piece):
            yield chunk({"reasoning_content": reply.thinking[start : start + reply.piece]})
        for start in range(0, len(reply.text), reply.piece):
            yield chunk({"content": reply.text[start : start + reply.piece]})
        for index, (name, arguments) in enumerate(reply.calls):
            written = arguments if isinstance(arguments, str) else json.dumps(arguments)
            head = {"index": index, "id": f"call_{index}", "type": "function"}
            yield chunk({"tool_calls": [{**head, "function": {"name": name, "arguments": ""}}]})
            for start in range(0, len(written), 16):
                part = {"index": index, "function": {"arguments": written[start : start + 16]}}
                yield chunk({"tool_calls": [part]})
        yield from reply.raw
        if reply.cut or reply.finish is None:
            return
        finish = (
            ("tool_calls" if reply.calls else "stop") if reply.finish == "auto" else reply.finish
        )
        yield chunk({}, finish)
        usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
        yield json.dumps(
            {"id": "x", "object": "chat.completion.chunk", "choices": [], "usage": usage}
        )
        yield "[DONE]"


def chunk(delta: dict[str, Any], finish: str | None = None) -> str:
    """One chunk of a stream as JSON.

    :param delta: as OpenAI's API has it
    :param finish: its ``finish_reason``
    """
    return json.dumps(
        {
            "id": "x",
            "object": "chat.completion.chunk",
            "created": 0,
            "model": "scripted",
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
        }
    )


async def _pause(seconds: float, reader) -> None:
    """Wait, but not longer than the client."""
    if seconds:
        with contextlib.suppress(asyncio.TimeoutError):
            if await asyncio.wait_for(reader.read(1), seconds) == b"":
                raise ConnectionResetError
