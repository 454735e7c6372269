"""Faults of one answer of `FakeMcp`, ``(call, writer)``, each with the code of its error."""

import asyncio
import json
from typing import Any

from .. import const
from .fake_http import reset, respond, start_stream


def answer(call, result=None, **more):
    """The normal answer to a call.

    :param result: instead of an empty ``CallToolResult``
    :param more: other members of the JSON-RPC message
    """
    return {"jsonrpc": "2.0", "id": call.id, "result": result or {"content": []}, **more}


def status(code, body: Any = b"", **headers):
    """A fault that answers with this status.

    :param code: of HTTP
    :param body: bytes, or JSON
    :param headers: with ``_`` for ``-``
    """

    async def fault(call, writer):
        await respond(writer, code, body, {k.replace("_", "-"): v for k, v in headers.items()})

    return fault


def body(content, kind="application/json", **headers):
    """A fault that answers 200 with this body.

    :param content: the body, or a function that makes it of the call
    :param headers: with ``_`` for ``-``
    """

    async def fault(call, writer):
        sent = content(call) if callable(content) else content
        await respond(writer, 200, sent, {k.replace("_", "-"): v for k, v in headers.items()}, kind)

    return fault


def stream(*parts, then="close"):
    """A fault that streams these parts.

    :param parts: bytes, or functions that make them of the call
    :param then: the end: "close" or "reset", anything else leaves the stream open
    """

    async def fault(call, writer):
        await start_stream(writer)
        for part in parts:
            writer.write(part(call) if callable(part) else part)
        await writer.drain()
        if then == "reset":
            await asyncio.sleep(0.02)
            reset(writer)
        elif then == "close":
            writer.close()
        else:
            await asyncio.Event().wait()

    return fault


async def rst(call, writer):
    reset(writer)


async def nothing(call, writer):
    writer.close()


async def half_a_body(call, writer):
    writer.write(
        b"HTTP/1.1 200 X\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n{"
    )
    await writer.drain()
    writer.close()


async def endless_error_body(call, writer):
    writer.write(b"HTTP/1.1 500 X\r\ncontent-type: text/plain\r\ncontent-length: 5000\r\n\r\noops")
    await writer.drain()
    await asyncio.Event().wait()


async def no_http(call, writer):
    writer.write(b"SSH-2.0-OpenSSH\r\n\r\n")
    writer.close()


def data(message):
    return b"data: " + json.dumps(message).encode() + b"\n\n"


def wrong(call):
    return {**answer(call), "id": 4711}


BIG = const.WIRE_CAP + 1000
FAULTS = {
    "401": (status(401), "auth_required"),
    "403": (status(403), "auth_required"),
    "404": (status(404), "session_lost"),
    "400 session": (status(400, {"error": {"message": "No valid session ID"}}), "session_lost"),
    "400": (status(400, {"error": {"code": -32602, "message": "bad"}}), "server_refused"),
    "405": (status(405), "server_refused"),
    "409": (status(409), "server_refused"),
    "429": (status(429, retry_after="7"), "rate_limited"),
    "500": (status(500), "server_refused"),
    "502 html": (status(502, b"<html>" * 1000), "server_refused"),
    "500 with an endless body": (endless_error_body, "server_refused"),
    "202": (status(202), "protocol_error"),
    "redirect elsewhere": (status(307, location="http://127.0.0.2:9/mcp"), "server_refused"),
    "redirect in a circle": (status(307, location="/mcp"), "server_refused"),
    "redirect with a login": (status(308, location="http://a:b@127.0.0.1/"), "server_refused"),
    "html": (body(b"<html>hello</html>", "text/html"), "protocol_error"),
    "no content type": (body(b"hello", ""), "protocol_error"),
    "broken json": (body(b'{"jsonrpc": "2.0", "res'), "protocol_error"),
    "empty body": (body(b""), "protocol_error"),
    "not an object": (body(b"[]"), "protocol_error"),
    "deep json": (body(b"[" * 100_000), "protocol_error"),
    "wrong id": (body(wrong), "protocol_error"),
    "no result": (body(lambda call: {"jsonrpc": "2.0", "id": call.id}), "protocol_error"),
    "result of a wrong kind": (body(lambda call: {**answer(call), "result": 5}), "protocol_error"),
    "compressed": (body(b"\x1f\x8b", content_encoding="gzip"), "protocol_error"),
    "half a body": (half_a_body, "session_lost"),
    "oversize": (body(b" " * BIG), "result_too_large"),
    "reset": (rst, "session_lost"),
    "closed": (nothing, "session_lost"),
    "no http": (no_http, "session_lost"),
    "empty stream": (stream(), "session_lost"),
    "truncated stream": (stream(b'data: {"jsonrpc": "2.0"'), "session_lost"),
    "reset stream": (stream(b": hi\n\n", then="reset"), "session_lost"),
    "broken json in a stream": (stream(b"data: {oops\n\n", then="wait"), "protocol_error"),
    "wrong id in a stream": (stream(lambda call: data(wrong(call)), then="wait"), "protocol_error"),
    "oversize event": (stream(b"data: " + b"x" * BIG, then="wait"), "result_too_large"),
    "oversize stream": (
        stream(*[b": " + b"x" * 1000 + b"\n\n"] * (BIG // 1000), then="wait"),
        "result_too_large",
    ),
    "stream that cannot be resumed": (stream(b"id: 1\ndata:\n\n"), "session_lost"),
}
