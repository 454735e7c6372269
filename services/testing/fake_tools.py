"""The tools of `FakeMcp`: coroutines ``(call) -> result dict``, each with its input schema."""

import asyncio
import base64
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(24)).decode()
OBJECT = {"type": "object", "properties": {}}


@dataclass
class Call:
    """One request on its way through the fake."""

    fake: Any  # the `FakeMcp`
    id: Any
    session: str
    params: dict[str, Any]
    send: Callable[[dict], Awaitable[None]]
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def arguments(self) -> dict[str, Any]:
        return self.params.get("arguments") or {}


def text(value: str, **more: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": value}], **more}


async def _echo(call):
    return text(str(call.arguments.get("message", "")))


async def _add(call):
    return text(str(call.arguments["a"] + call.arguments["b"]))


async def _slow(call):
    await asyncio.sleep(call.arguments.get("seconds", 30))
    return text("slept")


async def _count(call):
    call.fake.counts[call.session] = call.fake.counts.get(call.session, 0) + 1
    return text(str(call.fake.counts[call.session]))


async def _fail(call):
    return text("it went wrong", isError=True)


async def _lines(call):
    return text("\n".join(f"第 {n} 行" for n in range(call.arguments.get("count", 3000))))


async def _picture(call):
    return {
        "content": [
            {"type": "text", "text": "look"},
            {"type": "image", "data": PNG, "mimeType": "image/png"},
        ]
    }


async def _structured(call):
    return {"content": [], "structuredContent": {"city": "台北", "temp": 21}}


async def _progress(call):
    token = call.params.get("_meta", {}).get("progressToken")
    for step in (1, 2, 3):
        await call.send(
            {
                "jsonrpc": "2.0",
                "method": "notifications/progress",
                "params": {
                    "progressToken": token,
                    "progress": step,
                    "total": 3,
                    "message": f"step {step}",
                },
            }
        )
    return text("done")


TOOLS: dict[str, tuple[Callable, dict]] = {
    "echo": (
        _echo,
        {"type": "object", "properties": {"message": {"type": "string"}}, "required": ["message"]},
    ),
    "add": (
        _add,
        {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
            "required": ["a", "b"],
        },
    ),
    "slow": (_slow, {"type": "object", "properties": {"seconds": {"type": "number"}}}),
    "count": (_count, OBJECT),
    "fail": (_fail, OBJECT),
    "lines": (_lines, {"type": "object", "properties": {"count": {"type": "integer"}}}),
    "picture": (_picture, OBJECT),
    "structured": (_structured, OBJECT),
    "progress": (_progress, OBJECT),
}
