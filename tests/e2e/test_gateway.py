"""Odoo as an MCP server, reached by clients that nobody here wrote, and by our own host."""

import asyncio
import contextlib
import json
import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from axe import violations
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp.types import PromptReference
from playwright.sync_api import expect
from waiting import eventually

from dev.setup import venvs
from services.const import META_PREFIX, MODERN_VERSION
from services.mcp.discovery.discovery import discover
from services.mcp.pool.pool import Pool
from services.mcp.session.call_options import CallOptions
from services.mcp.session.elicitation import ElicitResult
from services.net.egress import EgressPolicy
from services.specs import ServerSpec

SERVERS = "woow_paas_platform.mcp_server"
TOOLS = "woow_paas_platform.mcp_tool"
TOOL = "counter__count"
PROMPT = "everything__completable-prompt"  # of the reference server, which the demo has
NEWER = Path(__file__).with_name("newer_client.py")
POLICY = EgressPolicy.parse("127.0.0.1:*")


@pytest.fixture(scope="module")
def reached(odoo, odoo_prefork, counter):
    """Both Odoos with a tool that runs unasked."""
    ids = [(odoo, counter.register(odoo)), (odoo_prefork, counter.register(odoo_prefork))]
    yield
    for server, counted in ids:
        server.rpc(SERVERS, "unlink", [counted])


@pytest.fixture
def key(each_odoo, reached):
    return new_key(each_odoo)


def new_key(odoo, login="user"):
    made = odoo.session(login).post(
        "/api/mcp/keys", json={"name": "e2e", "days": 30, "password": login}
    )
    assert made.status_code == 201, made.text
    return made.json()["key"]


def revoke_all(odoo, login="user"):
    session = odoo.session(login)
    for known in session.get("/api/mcp/keys").json()["keys"]:
        assert session.delete(f"/api/mcp/keys/{known['id']}").status_code == 204


@pytest.fixture(autouse=True)
def no_key_stays(each_odoo):
    yield
    revoke_all(each_odoo)


def run(coroutine):
    with ThreadPoolExecutor(1) as pool:  # the browser tests leave a loop running in this thread
        return pool.submit(asyncio.run, coroutine).result()


async def older_reader(url, key):
    """The SDK of the legacy era: prompts, resources and templates; a completion, a prompt and a resource."""
    async with (
        httpx.AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=60) as http,
        streamable_http_client(url, http_client=http) as (reading, writing, _session_id),
        ClientSession(reading, writing) as session,
    ):
        await session.initialize()
        prompts, resources = await session.list_prompts(), await session.list_resources()
        templates = await session.list_resource_templates()
        typed, given = {"name": "name", "value": "E"}, {"department": "Sales"}
        told = await session.complete(PromptReference(type="ref/prompt", name=PROMPT), typed, given)
        filled = await session.get_prompt(PROMPT, {"department": "Sales", "name": "Ada"})
        read = await session.read_resource(resources.resources[0].uri)
        return {
            "prompts": [known.name for known in prompts.prompts],
            "resources": [str(known.uri) for known in resources.resources],
            "templates": [known.uriTemplate for known in templates.resourceTemplates],
            "completed": told.completion.values,
            "filled": filled.messages[0].content.text,
            "read": [part.text for part in read.contents],
        }


async def older_client(url, key, name, arguments, on_progress=None):
    """The SDK of the legacy era: version, names of tools, result."""
    async with (
        httpx.AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=60) as http,
        streamable_http_client(url, http_client=http) as (reading, writing, _session_id),
        ClientSession(reading, writing) as session,
    ):
        hello = await session.initialize()
        await session.send_ping()
        listed = await session.list_tools()
        called = await session.call_tool(name, arguments, progress_callback=on_progress)
        return hello.protocolVersion, [tool.name for tool in listed.tools], called


def newer_client(url, key, mode, name, arguments, *answer):
    called = (url, mode, name, json.dumps(arguments), *answer)
    done = subprocess.run(
        [venvs.extra("mcp2") / "bin/python", NEWER, *called],
        env={"PATH": os.environ["PATH"], "KEY": key},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def test_a_client_of_the_older_sdk(each_odoo, key, counter):
    name = f"older-{each_odoo.db}"
    version, tools, called = run(older_client(f"{each_odoo.url}/mcp", key, TOOL, {"id": name}))
    assert version == "2025-11-25"
    assert TOOL in tools and tools == sorted(tools)
    assert not called.isError and called.content[0].text == f"counted {name}"
    assert counter.executions(name) == 1


@pytest.mark.parametrize(("mode", "version"), [("auto", "2026-07-28"), ("legacy", "2025-11-25")])
def test_a_client_of_the_newer_sdk(each_odoo, key, counter, mode, version):
    name = f"{mode}-{each_odoo.db}"
    seen = newer_client(f"{each_odoo.url}/mcp", key, mode, TOOL, {"id": name})
    assert seen["version"] == version
    assert TOOL in seen["tools"]
    assert (seen["is_error"], seen["text"]) == (False, f"counted {name}")
    assert counter.executions(name) == 1


LONG = "everything__trigger-long-running-operation"


def test_clients_of_both_sdks_see_progress(each_odoo, key):
    url, arguments, told = f"{each_odoo.url}/mcp", {"duration": 1, "steps": 4}, []

    async def on_progress(progress, total, _message):
        told.append((progress, total))

    called = run(older_client(url, key, LONG, arguments, on_progress))[2]
    assert not called.isError and told == [(step, 4) for step in range(1, 5)]
    newer = newer_client(url, key, "auto", LONG, arguments)
    assert not newer["is_error"] and newer["progress"] == [list(one) for one in told]


def outcome_of(odoo, name):
    table = "woow_paas_platform_tool_call"
    return odoo.sql(f"SELECT outcome FROM {table} WHERE arguments::jsonb ->> 'id' = '{name}'")


@contextlib.contextmanager
def waiting_call(odoo, key, counter, name, *, is_modern):
    """A call that the server has begun, over an open connection."""
    params = {"name": TOOL, "arguments": {"id": name, "until": f"{name}.end"}}
    headers = {"Authorization": f"Bearer {key}", "Accept": "application/json, text/event-stream"}
    if is_modern:
        params["_meta"] = {
            f"{META_PREFIX}protocolVersion": MODERN_VERSION,
            f"{META_PREFIX}clientCapabilities": {},
        }
        named = {"Mcp-Method": "tools/call", "Mcp-Name": TOOL}
        headers |= {"MCP-Protocol-Version": MODERN_VERSION, **named}
    else:
        headers["MCP-Protocol-Version"] = "2025-11-25"
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    with httpx.stream(
        "POST", f"{odoo.url}/mcp", json=message, headers=headers, timeout=60
    ) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert counter.executions(name) == 1
        yield answer


def test_a_long_call_is_answered_in_a_stream(each_odoo, key, counter):
    name = f"long-{each_odoo.db}"
    with waiting_call(each_odoo, key, counter, name, is_modern=False) as answer:
        counter.release(f"{name}.end")
        (data,) = [line for line in answer.iter_lines() if line.startswith("data: {")]
    assert f"counted {name}" in data
    assert outcome_of(each_odoo, name) == "ok"


def test_closing_the_stream_cancels_the_call(each_odoo, key, counter):
    name = f"closed-{each_odoo.db}"
    with waiting_call(each_odoo, key, counter, name, is_modern=True):
        pass
    eventually(lambda: outcome_of(each_odoo, name) == "cancelled")


def test_a_lost_line_of_an_older_client_cancels_nothing(each_odoo, key, counter):
    """It resumes the stream and finds the answer, which nobody else does."""
    name, url = f"lost-{each_odoo.db}", f"{each_odoo.url}/mcp"
    with waiting_call(each_odoo, key, counter, name, is_modern=False) as answer:
        (event_id,) = (line for line in first_lines(answer) if line.startswith("id: "))
    assert outcome_of(each_odoo, name) == ""
    headers = {"Accept": "text/event-stream", "Last-Event-ID": event_id[4:]}
    own = headers | {"Authorization": f"Bearer {key}"}
    counter.release(f"{name}.end")
    eventually(lambda: outcome_of(each_odoo, name) == "ok")
    with httpx.stream("GET", url, headers=own, timeout=60) as resumed:
        (data,) = (line for line in resumed.iter_lines() if line.startswith("data: "))
    assert f"counted {name}" in data
    others = headers | {"Authorization": f"Bearer {new_key(each_odoo, 'admin')}"}
    assert httpx.get(url, headers=others, timeout=60).status_code == 404
    revoke_all(each_odoo, "admin")
    assert counter.executions(name) == 1


def first_lines(answer):
    """Lines of the first event of a stream."""
    for line in answer.iter_lines():
        if not line:
            return
        yield line


def test_clients_of_both_sdks_read_prompts_and_resources(each_odoo, key):
    url = f"{each_odoo.url}/mcp"
    seen = run(older_reader(url, key))
    assert PROMPT in seen["prompts"] and seen["prompts"] == sorted(seen["prompts"])
    assert seen["completed"] == ["Eve"]
    assert seen["filled"] == "Please promote Ada to the head of the Sales team."
    assert all(uri.startswith("odoo://") for uri in seen["resources"] + seen["templates"])
    assert seen["templates"] and seen["read"][0]
    newer = newer_client(url, key, "auto", TOOL, {"id": f"reads-{each_odoo.db}"})
    assert newer["prompts"] == seen["prompts"]
    assert newer["resources"] == seen["resources"] and newer["read"] == seen["read"]


@pytest.mark.parametrize(("era", "version"), [("auto", "2026-07-28"), ("legacy", "2025-11-25")])
def test_our_own_host(each_odoo, key, counter, era, version):
    name = f"host-{era}-{each_odoo.db}"
    url = f"{each_odoo.url}/mcp"
    spec = ServerSpec(id=1, name="odoo", url=url, api_key=key, era=era, connect_timeout=60)

    async def use():
        found = await discover(spec, POLICY)
        pool = Pool(POLICY)
        try:
            return found, await pool.call(spec, 1, TOOL, {"id": name}, timeout=60)
        finally:
            await pool.close()

    found, result = run(use())
    assert found.protocol_version == version
    assert TOOL in [tool.name for tool in found.tools]
    assert result["content"][0]["text"] == f"counted {name}"
    assert counter.executions(name) == 1


@pytest.fixture
def asks(each_odoo):
    """The tool asks before it runs."""
    (tool,) = each_odoo.rpc(
        TOOLS, "search", [("name", "=", "count"), ("server_id.name", "=", "counter")]
    )
    each_odoo.rpc(TOOLS, "write", [tool], {"approval_policy": "ask"})
    yield
    each_odoo.rpc(TOOLS, "write", [tool], {"approval_policy": "default"})


def test_a_call_waits_for_its_user_on_a_page(each_odoo, key, asks, counter, page_of):
    name, url = f"asks-{each_odoo.db}", f"{each_odoo.url}/mcp"
    _version, tools, called = run(older_client(url, key, TOOL, {"id": name}))
    assert TOOL in tools
    assert called.isError and called.meta["code"] == "approval_required"
    newer = newer_client(url, key, "auto", TOOL, {"id": name})
    assert newer["is_error"] and newer["text"] == called.content[0].text
    assert counter.executions(name) == 0

    page = page_of(each_odoo, "user", viewport={"width": 390, "height": 844})
    page.goto(re.search(r"http\S+/my/ai/decisions", newer["text"])[0])
    waiting = page.locator(".o_woow_decision").filter(has_text=name)
    waiting.locator(".o_woow_decision_head").click()
    expect(waiting.locator(".o_woow_waiting_value").first).to_have_text(name)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert violations(page, ".o_woow_decisions") == []
    waiting.get_by_role("button", name="Allow once").click()
    expect(page.locator(".o_woow_decisions_said")).to_contain_text("is allowed")
    again = run(older_client(url, key, TOOL, {"id": name}))[2]
    assert again.content[0].text == f"counted {name}"
    third = run(older_client(url, key, TOOL, {"id": name}))[2]
    assert third.meta["code"] == "approval_required"
    assert counter.executions(name) == 1


@pytest.mark.parametrize("answer", ["accept", "decline"])
def test_a_client_asks_its_user(each_odoo, key, asks, counter, answer):
    name = f"{answer}-{each_odoo.db}"
    seen = newer_client(f"{each_odoo.url}/mcp", key, "auto", TOOL, {"id": name}, answer)
    (question,) = seen["asked"]
    assert name in question
    assert seen["is_error"] == (answer == "decline")
    assert counter.executions(name) == (1 if answer == "accept" else 0)


def test_our_own_host_asks_its_user(each_odoo, key, asks, counter):
    name, asked = f"host-asks-{each_odoo.db}", []
    spec = ServerSpec(
        id=1, name="odoo", url=f"{each_odoo.url}/mcp", api_key=key, connect_timeout=60
    )

    async def ask(request):
        asked.append(request.message)
        return ElicitResult(action="accept")

    async def use():
        pool, options = Pool(POLICY, can_ask=True), CallOptions(on_elicit=ask)
        try:
            return await pool.call(spec, 1, TOOL, {"id": name}, timeout=60, options=options)
        finally:
            await pool.close()

    assert run(use())["content"][0]["text"] == f"counted {name}"
    assert len(asked) == 1 and name in asked[0]
    assert counter.executions(name) == 1


def test_a_revoked_key_opens_no_process(each_odoo, key):
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    headers = {"Authorization": f"Bearer {key}"}

    def statuses():
        """Of several connections, so of both workers."""
        answers = [
            httpx.post(f"{each_odoo.url}/mcp", json=ping, headers=headers, timeout=60)
            for _ in range(8)
        ]
        return {answer.status_code for answer in answers}

    assert statuses() == {200}
    revoke_all(each_odoo)
    assert statuses() == {401}
