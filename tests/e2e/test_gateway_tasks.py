"""Clients of Odoo as an MCP server that come back for a result, or answer a question of another server meanwhile."""

import contextlib

import httpx
import pytest
from counter import Counter
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp.types import ElicitResult
from test_gateway import SERVERS, TOOL, new_key, outcome_of, revoke_all, run
from waiting import eventually

from services.const import META_PREFIX, MODERN_VERSION
from services.gateway.tasks import EXTENSION

DECLARED = {
    f"{META_PREFIX}protocolVersion": MODERN_VERSION,
    f"{META_PREFIX}clientCapabilities": {"extensions": {EXTENSION: {}}},
}
NAMES = {"tools/call": "name", "tasks/get": "taskId", "tasks/cancel": "taskId"}


@pytest.fixture(scope="module")
def counted(odoo_prefork, counter):
    """The Odoo with workers has a tool that runs unasked."""
    server = counter.register(odoo_prefork)
    yield odoo_prefork
    odoo_prefork.rpc(SERVERS, "unlink", [server])


@pytest.fixture
def asking(counted, tmp_path):
    """A tool that asks its user."""
    folder = tmp_path / "asking"
    folder.mkdir()
    server = Counter(folder, "asking_server.py", "asking")
    with contextlib.ExitStack() as stack:
        stack.callback(server.stop)
        server.wait()
        known = server.register(counted)
        stack.callback(counted.rpc, SERVERS, "unlink", [known])
        yield server


@pytest.fixture
def key(counted):
    yield new_key(counted)
    revoke_all(counted)


@pytest.fixture
def ask(counted, key):
    """A request over a connection of its own, so of either worker."""

    def send(method, **params):
        headers = {
            "Authorization": f"Bearer {key}",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": MODERN_VERSION,
            "Mcp-Method": method,
            "Mcp-Name": params[NAMES[method]],
        }
        params["_meta"] = DECLARED
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        said = httpx.post(f"{counted.url}/mcp", json=message, headers=headers, timeout=60)
        return said.raise_for_status().json()["result"]

    return send


def begun(ask, name):
    """Task of a call that lasts until it is released."""
    made = ask("tools/call", name=TOOL, arguments={"id": name, "until": f"{name}.end"})
    assert (made["resultType"], made["status"]) == ("task", "working")
    return made["taskId"]


def test_any_process_tells_of_a_task(counted, counter, ask):
    task = begun(ask, "task")
    assert [ask("tasks/get", taskId=task)["status"] for _ in range(6)] == ["working"] * 6
    counter.release("task.end")
    found = eventually(lambda: ended(ask("tasks/get", taskId=task)))
    assert found["status"] == "completed"
    assert found["result"]["content"][0]["text"] == "counted task"
    assert (counter.executions("task"), outcome_of(counted, "task")) == (1, "ok")


def test_any_process_cancels_a_task(counted, counter, ask):
    task = begun(ask, "cancelled-task")
    ask("tasks/cancel", taskId=task)
    assert [ask("tasks/get", taskId=task)["status"] for _ in range(4)] == ["cancelled"] * 4
    counter.release("cancelled-task.end")
    assert outcome_of(counted, "cancelled-task") == "cancelled"


def ended(task):
    return task if task["status"] != "working" else None


def test_a_client_of_the_older_sdk_answers_a_server(counted, key, asking):
    """The answer reaches another process than the one whose server waits for it."""
    asked = []

    async def answer(_context, params):
        asked.append(params.message)
        return ElicitResult(action="accept", content={"seats": 2})

    async def use():
        async with (
            httpx.AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=60) as http,
            streamable_http_client(f"{counted.url}/mcp", http_client=http) as (reading, writing, _),
            ClientSession(reading, writing, elicitation_callback=answer) as session,
        ):
            await session.initialize()
            return await session.call_tool("asking__book", {"name": "Ann"})

    called = run(use())
    assert asked == ["asking: How many seats?"]
    assert called.content[0].text == "booked {'meal': 'rice', 'seats': 2} for Ann"
    assert asking.executions("booked") == 1
