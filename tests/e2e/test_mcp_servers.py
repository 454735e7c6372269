"""Servers that nobody here wrote, over every transport that they speak, through the engine alone."""

import asyncio
import functools
import json
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from dev import processes
from dev.servers import mcp_servers
from dev.setup import node, venvs
from services.mcp.discovery.discovery import discover
from services.mcp.features.prompts_resources import ServerFeatures
from services.mcp.pool.pool import Pool
from services.net.egress import EgressPolicy
from services.specs import ServerSpec

POLICY = EgressPolicy.parse("127.0.0.1:*")
SLOW_START = {"connect_timeout": 60, "sync_timeout": 60}
NEWER = Path(__file__).with_name("newer_server.py")
TOOLS = {
    "everything": 13,
    "filesystem": 14,
    "memory": 9,
    "time": 2,
    "git": 12,
    "fetch": 1,
    "newer": 1,
}


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
        "fetch": lambda: by_python("mcp-server-fetch", "--allow-private-ips"),
    }[kind]()


def call_of(kind, folder, page):
    """A tool of that server, arguments, and what stands in its answer."""
    return {
        "everything": ("echo", {"message": "台北"}, "台北"),
        "filesystem": ("list_allowed_directories", {}, str(folder)),
        "memory": ("read_graph", {}, "entities"),
        "time": ("get_current_time", {"timezone": "UTC"}, "UTC"),
        "git": ("git_status", {"repo_path": str(folder)}, "page.txt"),
        "fetch": ("fetch", {"url": page}, "written here"),
    }[kind]


@pytest.fixture
def folder(tmp_path):
    """A folder that is a git repository with one file."""
    (tmp_path / "page.txt").write_text("written here")
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    return tmp_path


@pytest.fixture
def page(folder):
    """The URL of that file."""
    handler = functools.partial(SimpleHTTPRequestHandler, directory=folder)
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/page.txt"
    server.shutdown()


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


def run(coroutine):
    with ThreadPoolExecutor(1) as pool:  # the browser tests leave a loop running in this thread
        return pool.submit(asyncio.run, coroutine).result()


def check(spec, kind, transport, call):
    run(_check(spec, kind, transport, call))


async def _check(spec, kind, transport, call):
    found = await discover(spec, POLICY)
    assert found.transport == transport and found.protocol_version
    assert len(found.tools) == TOOLS[kind], [tool.name for tool in found.tools]
    tool, arguments, expected = call
    pool = Pool(POLICY)
    try:
        for conversation in (1, 1, 2):
            result = await pool.call(spec, conversation, tool, arguments, timeout=60)
            assert expected in json.dumps(result, ensure_ascii=False)
    finally:
        await pool.close()


@pytest.mark.parametrize("kind", [kind for kind in TOOLS if kind != "newer"])
def test_over_stdio(kind, folder, page):
    spec = ServerSpec(id=1, name=kind, **stdio_of(kind, folder), **SLOW_START)
    check(spec, kind, "stdio", call_of(kind, folder, page))


@pytest.mark.parametrize("transport", ["streamable_http", "sse"])
@pytest.mark.parametrize("kind", ["everything", "time"])
def test_over_http(kind, transport, start, folder):
    port = processes.free_port()
    if kind == "everything":
        spoken = "streamableHttp" if transport == "streamable_http" else "sse"
        url = start(mcp_servers.start_everything(port, transport=spoken, folder=folder)).url
    else:
        url = start(mcp_servers.start_time(port, folder=folder)).url
        if transport == "sse":
            url = url.removesuffix("mcp") + "sse"
    spec = ServerSpec(id=1, name=kind, url=url, **SLOW_START)
    check(spec, kind, transport, call_of(kind, folder, page=""))


# ------------------------------------------------------------ prompts and resources


async def _features(spec, prompt, arguments, uri):
    """What a server offers beside tools: names of its prompts, its templates, and one of each."""
    pool = Pool(POLICY)
    try:
        features = ServerFeatures(pool, spec, 1)
        filled = await features.prompt(prompt, arguments)
        (content,) = await features.resource(uri)
        return {
            "prompts": {one.name for one in await features.prompts()},
            "templates": {one.uri for one in await features.templates()},
            "prompt": filled.messages[0].text,
            "resource": content.text,
        }
    finally:
        await pool.close()


def test_prompts_and_resources_of_the_reference_server(mcp_everything):
    spec = ServerSpec(id=1, name="everything", url=mcp_everything.url, **SLOW_START)
    found = run(
        _features(spec, "args-prompt", {"city": "Taipei"}, "demo://resource/dynamic/text/1")
    )
    assert {"simple-prompt", "args-prompt"} <= found["prompts"]
    assert "demo://resource/dynamic/text/{resourceId}" in found["templates"]
    assert "Taipei" in found["prompt"] and found["resource"]

    async def complete():
        pool = Pool(POLICY)
        try:
            return await ServerFeatures(pool, spec, 1).complete(
                prompt="completable-prompt", argument="department", value="E", given={}
            )
        finally:
            await pool.close()

    assert "Engineering" in run(complete()).values


# ------------------------------------------------------------ the SDK that speaks both eras

WAYS = {
    "auto over HTTP": ("streamable-http", {}, ("modern", "streamable_http")),
    "a handshake over HTTP": ("streamable-http", {"era": "legacy"}, ("legacy", "streamable_http")),
    "HTTP+SSE": ("sse", {}, ("legacy", "sse")),
    "stdio": ("stdio", {}, ("legacy", "stdio")),
}


@pytest.mark.parametrize("way", WAYS)
def test_the_sdk_of_both_eras(way, start, folder):
    spoken, options, expected = WAYS[way]
    program = (str(venvs.extra("mcp2") / "bin/python"), str(NEWER))
    if spoken == "stdio":
        options = {"command": (*program, "stdio")}
    else:
        port = processes.free_port()
        process = processes.start(
            "MCP server newer",
            [*program, spoken, str(port)],
            log=folder / "newer.log",
            env=processes.bare_environment(),
        )
        path = "/sse" if spoken == "sse" else "/mcp"
        options |= {"url": start(mcp_servers.McpServer("newer", port, process, path)).url}
    spec = ServerSpec(id=1, name="newer", **options, **SLOW_START)
    found = run(discover(spec, POLICY))
    assert (found.era, found.transport) == expected
    check(spec, "newer", expected[1], ("add", {"a": 2, "b": 3}, "5"))
    offered = run(_features(spec, "greet", {"who": "台北"}, "note://one"))
    assert offered == {
        "prompts": {"greet"},
        "templates": {"note://{name}"},
        "prompt": "Greet 台北.",
        "resource": "note one",
    }
