"""Clients of Odoo as an MCP server that are told when their tools change."""

import asyncio
import contextlib
import json
import os
import subprocess
from pathlib import Path

import httpx
import pytest
from test_gateway import SERVERS, TOOL, TOOLS, new_key, revoke_all, run

from dev.setup import venvs
from services.const import META_PREFIX, MODERN_VERSION

LISTENING = Path(__file__).with_name("listening_client.py")
MANY = 60  # listeners of one user, of whom a process holds 64
DECLARED = {
    f"{META_PREFIX}protocolVersion": MODERN_VERSION,
    f"{META_PREFIX}clientCapabilities": {},
}
LISTEN = {
    "jsonrpc": "2.0",
    "id": "a",
    "method": "subscriptions/listen",
    "params": {"notifications": {"toolsListChanged": True}, "_meta": DECLARED},
}
NAMED = {"MCP-Protocol-Version": MODERN_VERSION, "Mcp-Method": "subscriptions/listen"}


@pytest.fixture(scope="module")
def counted(odoo_prefork, counter):
    """The Odoo with workers has a tool that runs unasked."""
    server = counter.register(odoo_prefork)
    yield odoo_prefork
    odoo_prefork.rpc(SERVERS, "unlink", [server])


@pytest.fixture
def key(counted):
    yield new_key(counted)
    revoke_all(counted)


@contextlib.contextmanager
def switched_off(odoo):
    (tool,) = odoo.rpc(
        TOOLS, "search", [("name", "=", "count"), ("server_id.name", "=", "counter")]
    )
    odoo.rpc(TOOLS, "write", [tool], {"active": False})
    yield
    odoo.rpc(TOOLS, "write", [tool], {"active": True})


def test_many_listeners_hold_no_worker(counted, key):
    """Half of them are of an older revision, whose stream is a GET."""
    url, headers = f"{counted.url}/mcp", {"Authorization": f"Bearer {key}"}
    ready, agreed = asyncio.Event(), set()

    async def listen(http, number):
        takes = {**headers, "Accept": "text/event-stream"}
        opened = (
            http.stream("GET", url, headers=takes)
            if number % 2
            else http.stream("POST", url, json=LISTEN, headers=takes | NAMED)
        )
        async with opened as answer:
            assert answer.status_code == 200
            async for line in answer.aiter_lines():
                if "acknowledged" in line or (number % 2 and line.startswith(":")):
                    agreed.add(number)
                    if len(agreed) == MANY:
                        ready.set()
                if "notifications/tools/list_changed" in line:
                    return

    async def use():
        limits = httpx.Limits(max_connections=2 * MANY)
        async with httpx.AsyncClient(timeout=60, limits=limits) as http:
            listeners = [asyncio.create_task(listen(http, number)) for number in range(MANY)]
            await asyncio.wait_for(ready.wait(), 60)
            ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
            pings = [http.post(url, json=ping, headers=headers) for _ in range(8)]
            assert {answer.status_code for answer in await asyncio.gather(*pings)} == {200}
            with switched_off(counted):
                await asyncio.wait_for(asyncio.gather(*listeners), 60)

    run(use())


def test_the_streams_of_a_client_end_with_its_key(counted):
    """Another client of the same user listens on."""
    revoked, kept = new_key(counted, "demo"), new_key(counted, "demo")
    keys = {"revoked": revoked, "older": revoked, "kept": kept}

    async def use():
        ready, begun, ended = asyncio.Event(), set(), asyncio.Queue()

        async def listen(http, name):
            takes = {"Authorization": f"Bearer {keys[name]}", "Accept": "text/event-stream"}
            url = f"{counted.url}/mcp"
            opened = (
                http.stream("GET", url, headers=takes)
                if name == "older"
                else http.stream("POST", url, json=LISTEN, headers=takes | NAMED)
            )
            async with opened as answer:
                async for _line in answer.aiter_lines():
                    begun.add(name)
                    if len(begun) == len(keys):
                        ready.set()
            await ended.put(name)

        async with httpx.AsyncClient(timeout=60) as http:
            listeners = [asyncio.create_task(listen(http, name)) for name in keys]
            await asyncio.wait_for(ready.wait(), 60)
            session = counted.session("demo")
            oldest = min(known["id"] for known in session.get("/api/mcp/keys").json()["keys"])
            assert session.delete(f"/api/mcp/keys/{oldest}").status_code == 204
            first = {await asyncio.wait_for(ended.get(), 60) for _ in range(2)}
            assert first == {"revoked", "older"}
            assert not listeners[-1].done()
            for listener in listeners:
                listener.cancel()

    run(use())
    revoke_all(counted, "demo")


def test_a_client_of_the_newer_sdk_is_told(counted):
    key = new_key(
        counted, "admin"
    )  # the streams of the others are noticed to be closed a little later
    client = subprocess.Popen(
        [venvs.extra("mcp2") / "bin/python", LISTENING, f"{counted.url}/mcp"],
        env={"PATH": os.environ["PATH"], "KEY": key},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert client.stdout.readline() == "listening\n"
        with switched_off(counted):
            tools = json.loads(client.stdout.readline())
    finally:
        client.kill()
        client.wait()
    revoke_all(counted, "admin")
    assert tools and TOOL not in tools


def test_without_workers_nobody_listens(odoo):
    headers = {"Authorization": f"Bearer {new_key(odoo)}", "Accept": "text/event-stream"}
    said = httpx.post(f"{odoo.url}/mcp", headers=headers | NAMED, json=LISTEN, timeout=60)
    assert said.status_code == 404 and "gevent" in said.json()["error"]["message"]
    assert httpx.get(f"{odoo.url}/mcp", headers=headers, timeout=60).status_code == 405
    revoke_all(odoo)


def test_a_worker_names_the_port(counted, key):
    """A proxy that does not know of listeners sends them to a worker."""
    headers = {"Authorization": f"Bearer {key}", **NAMED}
    worker = f"http://127.0.0.1:{counted.process.http_port}/mcp"
    said = httpx.post(worker, headers=headers, json=LISTEN, timeout=60)
    assert said.status_code == 404 and "gevent port" in said.json()["error"]["message"]
