"""A small MCP server on loopback that does what it is told, every fault included.

Speaks streamable HTTP at ``/mcp`` (2025-11-25, and 2026-07-28 where asked to) and HTTP+SSE (2024-11-05)
at ``/sse``, written on bare sockets so that it can also break them. `FakeMcp.faults` answer with a fault of the
transport instead.
"""

import asyncio
import contextlib
import itertools
import json
from collections.abc import Callable
from typing import Any

from . import fake_features
from .fake_http import read_request, respond, start_stream, this_task
from .fake_tools import TOOLS, Call

NO_SESSION = {"code": -32001, "message": "Session not found"}
MODERN = "2026-07-28"
NO_VERSION = {
    "jsonrpc": "2.0",
    "error": {"code": -32600, "message": "Bad Request: Unsupported protocol version"},
}
NOT_MODERN = {
    "jsonrpc": "2.0",
    "error": {"code": -32022, "message": "Too old", "data": {"supported": [MODERN]}},
}


class FakeMcp:
    """``async with FakeMcp() as fake:`` serves until the end of the block.

    :param stream: answer with an event stream instead of JSON
    :param eras: of the protocol that it speaks at ``/mcp``
    :param tools: name -> (coroutine function, input schema)
    """

    def __init__(
        self,
        *,
        stream: bool = False,
        tools: dict | None = None,
        page: int = 100,
        listen: bool = True,
        eras: tuple[str, ...] = ("legacy",),
    ):
        self.stream = stream
        self.eras = eras
        self.capabilities: dict[str, Any] = {"tools": {}, **fake_features.CAPABILITIES}
        self.tools = dict(TOOLS if tools is None else tools)
        self.page = page
        self.listen = listen
        self.faults: dict[
            str, Callable
        ] = {}  # tool or method -> (call, writer), instead of an answer
        self.posts: dict[str, Callable] = {}  # the same, for the POST of a legacy session
        self.methods_more: dict[
            str, Callable
        ] = {}  # method -> coroutine function (call) of its result
        self.paths: dict[str, Callable] = {}  # path -> called when it is asked for
        self.resume: Callable | None = None  # (headers, writer), for a GET with Last-Event-ID
        self.guard: Callable | None = None  # headers -> (status, headers) of a refusal, or None
        self.refuse_sse = 0  # HTTP status
        self.annotations = {"destructiveHint": False, "openWorldHint": False}  # of all tools
        self.instructions = "Be kind."
        self.last_id: Any = None
        self.calls: list[tuple[str, str, dict]] = []
        self.methods: list[str] = []
        self.cancelled: list[Any] = []
        self.answers: dict[Any, dict] = {}  # to requests of ours
        self.headers: list[dict[str, str]] = []
        self.counts: dict[str, int] = {}
        self.sessions: set[str] = set()
        self.connections = 0
        self.changed = asyncio.Event()
        self.port = 0
        self._ids = itertools.count(1)
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task] = set()
        self._writers: set[asyncio.StreamWriter] = set()
        self._legacy: dict[str, asyncio.StreamWriter] = {}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    @property
    def sse_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/sse"

    async def __aenter__(self):
        await self.start()
        return self

    async def __aexit__(self, *_):
        await self.stop()

    async def start(self) -> None:
        """Listen; on the same port as before after a `stop`."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Stop as a killed process: every connection and session is gone."""
        if self._server:
            self._server.close()
        for writer in list(self._writers):
            writer.close()
        for task in list(self._tasks):
            task.cancel()
        if self._tasks:
            await asyncio.wait(list(self._tasks), timeout=1)
        self.sessions.clear()
        self.counts.clear()
        self._legacy.clear()

    async def restart(self) -> None:
        await self.stop()
        await self.start()

    async def until(self, condition: Callable[[], bool], timeout: float = 30) -> None:
        """Wait for something that requests change.

        :param timeout: seconds, then `TimeoutError` is raised
        """
        async with asyncio.timeout(timeout):
            while not condition():
                self.changed.clear()
                await self.changed.wait()

    async def answered(self, request_id: Any) -> dict:
        """The client's answer to a request that a tool sent."""
        await self.until(lambda: request_id in self.answers, 600)
        return self.answers.pop(request_id)

    # ------------------------------------------------------------ HTTP

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._writers.add(writer)
        self._tasks.add(task := this_task())
        try:
            while request := await read_request(reader):
                await self._answer(*request, reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(task)
            self._writers.discard(writer)
            with contextlib.suppress(Exception):
                writer.close()

    async def _answer(
        self, method: str, path: str, headers: dict, body: bytes, reader, writer
    ) -> None:
        self.headers.append(headers)
        if seen := self.paths.get(path):
            seen()
        if self.guard and (refused := self.guard(headers)):
            return await respond(writer, refused[0], headers=refused[1])
        if method == "GET" and "last-event-id" in headers:
            return await (self.resume(headers, writer) if self.resume else respond(writer, 405))
        if method == "GET" and path.startswith("/sse"):
            if self.refuse_sse:
                return await respond(writer, self.refuse_sse)
            return await self._open_legacy(writer)
        if method == "GET":
            if not self.listen:
                return await respond(writer, 405)
            await start_stream(writer)
            await asyncio.Event().wait()
            return None
        if path.startswith("/sse"):
            return await respond(writer, 405)
        if method == "DELETE":
            self.sessions.discard(headers.get("mcp-session-id"))
            self._change()
            return await respond(writer, 200)
        legacy = path.startswith("/messages") and path.partition("=")[2]
        message = json.loads(body)
        session = legacy or headers.get("mcp-session-id", "")
        self.methods.append(message.get("method", ""))
        self._change()
        if "id" not in message or "method" not in message:
            if "result" in message:
                self.answers[message["id"]] = message["result"]
                self._change()
            if message.get("method") == "notifications/cancelled":
                self.cancelled.append(message["params"]["requestId"])
                self._change()
            return await respond(writer, 202)
        if path == "/mcp" and headers.get("mcp-protocol-version") == MODERN:
            if "modern" in self.eras:
                return await self._reply_modern(message, headers, reader, writer)
            return await respond(writer, 400, {"id": message["id"], **NO_VERSION})
        if "legacy" not in self.eras and not legacy:
            error = NOT_MODERN if "modern" in self.eras else NO_VERSION
            return await respond(writer, 400, {"id": message["id"], **error})
        if message["method"] == "initialize" and not legacy:
            session = f"s{next(self._ids)}"
            self.sessions.add(session)
        if session not in self.sessions:
            return await respond(
                writer,
                404,
                {
                    "jsonrpc": "2.0",
                    "id": None,
                    "error": NO_SESSION,
                },
            )
        self.last_id = message["id"]
        if legacy:
            if fault := self.posts.get((message.get("params") or {}).get("name", "")):
                return await fault(None, writer)
            await respond(writer, 202)
            stream = self._legacy[session]
            self._spawn(self._reply(message, session, headers, stream, legacy=True))
            return None
        return await self._reply(message, session, headers, writer)

    async def _open_legacy(self, writer) -> None:
        session = f"s{next(self._ids)}"
        self.sessions.add(session)
        self._legacy[session] = writer
        await start_stream(writer)
        writer.write(f"event: endpoint\ndata: /messages?session_id={session}\n\n".encode())
        await writer.drain()
        await asyncio.Event().wait()

    # ------------------------------------------------------------ MCP

    async def _reply(self, message, session, headers, writer, *, legacy: bool = False) -> None:
        streaming = legacy or self.stream or message.get("params", {}).get("name") == "progress"
        if streaming and not legacy:
            fault = self._fault(message)
            if not fault:
                await start_stream(writer, {"mcp-session-id": session})

        async def send(item: dict) -> None:
            writer.write(b"event: message\ndata: " + json.dumps(item).encode() + b"\n\n")
            await writer.drain()

        call = Call(self, message["id"], session, message.get("params") or {}, send, headers)
        if fault := self._fault(message):
            self.calls.append((session, call.params.get("name", ""), call.arguments))
            self._change()
            return await fault(call, writer)
        answer = {
            "jsonrpc": "2.0",
            "id": message["id"],
            **await self._result(message["method"], call),
        }
        if not streaming:
            return await respond(writer, 200, answer, {"mcp-session-id": session})
        await send(answer)
        if not legacy:
            writer.close()
        return None

    async def _reply_modern(self, message, headers, reader, writer) -> None:
        """Reply without a session: `counts` go by the credential. A client that closes has cancelled."""
        self.last_id = message["id"]
        session = headers.get("authorization", "")
        work = asyncio.ensure_future(self._reply(message, session, headers, writer))
        gone = asyncio.ensure_future(reader.read(1))
        try:
            await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                self.cancelled.append(message["id"])
                self._change()
                raise ConnectionError
            await work
        finally:
            work.cancel()
            gone.cancel()
            await asyncio.wait({work, gone})

    def _fault(self, message):
        name = (message.get("params") or {}).get("name", "")
        return self.faults.get(name) or self.faults.get(message["method"])

    async def _result(self, method: str, call: Call) -> dict[str, Any]:
        if method == "initialize":
            return {
                "result": {
                    "protocolVersion": call.params["protocolVersion"],
                    "capabilities": {**self.capabilities, "tools": {"listChanged": True}},
                    "serverInfo": {"name": "fake", "version": "1"},
                    "instructions": self.instructions,
                }
            }
        if method == "server/discover":
            return {
                "result": {
                    "resultType": "complete",
                    "supportedVersions": [MODERN],
                    "capabilities": self.capabilities,
                    "serverInfo": {"name": "fake", "version": "1"},
                    "instructions": self.instructions,
                }
            }
        if method == "ping":
            return {"result": {}}
        if method == "tools/list":
            tools = [
                {
                    "name": name,
                    "description": f"The {name} tool",
                    "inputSchema": schema,
                    "annotations": self.annotations,
                }
                for name, (_, schema) in self.tools.items()
            ]
            return {"result": fake_features.page(call, "tools", tools)}
        if method == "tools/call" and call.params.get("name") in self.tools:
            self.calls.append((call.session, call.params["name"], call.arguments))
            self._change()
            return {"result": await self.tools[call.params["name"]][0](call)}
        if more := self.methods_more.get(method):
            result = await more(call)
            self._change()
            return {"result": result}
        if answer := fake_features.answer(method, call):
            return answer
        return {
            "error": {
                "code": -32602,
                "message": f"Unknown tool or method: {call.params.get('name') or method}",
            }
        }

    def _change(self) -> None:
        self.changed.set()

    def _spawn(self, coroutine) -> None:
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(lambda done: done.cancelled() or done.exception())  # a client left
