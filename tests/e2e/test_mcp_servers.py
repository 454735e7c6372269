"""Servers that nobody here wrote, over every transport that they speak, through the engine alone."""

import json

import pytest

from services.discovery import discover
from services.egress import EgressPolicy
from services.pool import Pool
from services.specs import ServerSpec
from tools.dev import mcp_servers, node, processes, venvs

POLICY = EgressPolicy.parse("127.0.0.1:*")
SLOW_START = {"connect_timeout": 60, "sync_timeout": 60}


def by_node(package, *arguments, **env):
    command = (node.node(), mcp_servers.script(package), *arguments)
    return {"command": tuple(map(str, command)), "env": env}


def by_python(program, *arguments):
    return {"command": (str(venvs.extra("mcp") / "bin" / program), *map(str, arguments))}


def stdio_of(kind, folder):
    return {
        "everything": lambda: by_node("server-everything", "stdio"),
        "filesystem": lambda: by_node("server-filesystem", str(folder)),
        "memory": lambda: by_node("server-memory", MEMORY_FILE_PATH=str(folder / "memory.json")),
        "time": lambda: by_python("mcp-server-time", "--local-timezone", "UTC"),
        "git": lambda: by_python("mcp-server-git"),
        "fetch": lambda: by_python("mcp-server-fetch"),
    }[kind]()


CALLS = {
    "everything": ("echo", {"message": "台北"}, "台北"),
    "filesystem": ("list_allowed_directories", {}, "/"),
    "memory": ("read_graph", {}, "entities"),
    "time": ("get_current_time", {"timezone": "UTC"}, "UTC"),
    "git": ("git_status", {"repo_path": "/nowhere"}, ""),
    "fetch": None,  # it would go out
}
TOOLS = {"everything": 13, "filesystem": 14, "memory": 9, "time": 2, "git": 12, "fetch": 1}


@pytest.fixture
def start():
    """Start an HTTP server; all of them end with the test."""
    running = []

    def begin(server):
        running.append(server)
        server.wait()
        return server

    yield begin
    for server in running:
        server.kill()


async def check(spec, kind, transport):
    found = await discover(spec, POLICY)
    assert found.transport == transport and found.protocol_version
    assert len(found.tools) == TOOLS[kind], [tool.name for tool in found.tools]
    pool = Pool(POLICY)
    try:
        if CALLS[kind]:
            tool, arguments, expected = CALLS[kind]
            for conversation in (1, 1, 2):
                result = await pool.call(spec, conversation, tool, arguments, timeout=30)
                assert expected in json.dumps(result, ensure_ascii=False)
    finally:
        await pool.close()


@pytest.mark.parametrize("kind", TOOLS)
async def test_over_stdio(kind, tmp_path):
    spec = ServerSpec(id=1, name=kind, **stdio_of(kind, tmp_path), **SLOW_START)
    await check(spec, kind, "stdio")


@pytest.mark.parametrize("transport", ["streamable_http", "sse"])
@pytest.mark.parametrize("kind", ["everything", "time"])
async def test_over_http(kind, transport, start, tmp_path):
    port = processes.free_port()
    if kind == "everything":
        spoken = "streamableHttp" if transport == "streamable_http" else "sse"
        server = start(mcp_servers.start_everything(port, transport=spoken, folder=tmp_path))
        url = server.url
    else:
        server = start(mcp_servers.start_time(port, folder=tmp_path))
        url = server.url if transport == "streamable_http" else server.url[: -len("mcp")] + "sse"
    await check(ServerSpec(id=1, name=kind, url=url, **SLOW_START), kind, transport)
