"""The same pool against servers of the MCP SDK, over every transport of it."""

import asyncio
import sys

import pytest
from conftest import POLICY

from services.mcp.discovery.discovery import discover
from services.mcp.pool.pool import Pool
from services.mcp.session.call_options import CallOptions
from services.specs import ServerSpec

SERVER = """
from mcp.server.fastmcp import Context, FastMCP, Image
server = FastMCP("real", host="127.0.0.1", port=PORT)

@server.tool()
async def add(a: int, b: int, ctx: Context) -> int:
    await ctx.report_progress(1, 2, "adding")
    return a + b

@server.tool()
async def picture() -> Image:
    return Image(data=b"png", format="png")

@server.tool()
async def boom() -> str:
    raise ValueError("no")
"""


def build(port=0):
    scope = {"PORT": port}
    exec(SERVER, scope)
    return scope["server"]


@pytest.fixture(params=["streamable_http", "sse", "stdio"])
async def spec(request):
    if request.param == "stdio":
        code = SERVER.replace("PORT", "0") + "\nserver.run('stdio')"
        command = (sys.executable, "-c", code)
        yield ServerSpec(
            id=1,
            name="real",
            transport="stdio",
            command=command,
            connect_timeout=20,
            sync_timeout=20,
        )
        return
    import uvicorn

    sdk = build()
    app = sdk.streamable_http_app() if request.param == "streamable_http" else sdk.sse_app()
    config = uvicorn.Config(
        app, host="127.0.0.1", port=0, log_level="critical", timeout_graceful_shutdown=0
    )
    server = uvicorn.Server(config)
    server.install_signal_handlers = lambda: None
    task = asyncio.create_task(server.serve())
    async with asyncio.timeout(60):
        while not server.started:
            await asyncio.sleep(0.005)
    port = server.servers[0].sockets[0].getsockname()[1]
    path = "mcp" if request.param == "streamable_http" else "sse"
    yield ServerSpec(id=1, name="real", url=f"http://127.0.0.1:{port}/{path}", transport="auto")
    server.should_exit = True
    await asyncio.wait({task}, timeout=60)


async def test_tools_of_the_sdk(spec):
    found = await discover(spec, POLICY)
    assert [tool.name for tool in found.tools] == [
        "add",
        "picture",
        "boom",
    ] and found.info.name == "real"
    pool, steps = Pool(POLICY), []
    options = CallOptions(on_progress=lambda *step: steps.append(step))
    result = await pool.call(spec, 1, "add", {"a": 2, "b": 3}, timeout=60, options=options)
    assert result["content"][0]["text"] == "5" and result["structuredContent"] == {"result": 5}
    assert steps == [(1, 2, "adding")]
    assert (await pool.call(spec, 1, "picture", {}, timeout=60))["content"][0]["type"] == "image"
    assert (await pool.call(spec, 1, "boom", {}, timeout=60))["isError"] is True
    for _ in range(20):
        await pool.call(spec, 1, "add", {"a": 2, "b": 3}, timeout=60)
    assert pool.opened == 1
    await pool.close()
