"""Clients of Odoo as an MCP server that come back for a result, or answer a question of another server meanwhile."""

import contextlib
import json

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
    return requests_of(counted, key)


def requests_of(odoo, key):
    """A request over a connection of its own, so of either worker."""

    def send(method, **params):
        headers = {
            "Authorization": f"Bearer {key}",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": MODERN_VERSION,
            "Mcp-Method": method,
            "Mcp-Name": params[NAMES[method]],
        }
        params.setdefault("_meta", DECLARED)
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        said = httpx.post(f"{odoo.url}/mcp", json=message, headers=headers, timeout=60)
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


def test_a_client_that_listens_is_told_of_its_tasks(counted, counter, key, ask):
    task = begun(ask, "told-task")
    told, seen = [], []
    headers = {
        "Authorization": f"Bearer {key}",
        "Accept": "text/event-stream",
        "MCP-Protocol-Version": MODERN_VERSION,
        "Mcp-Method": "subscriptions/listen",
    }
    wanted = {"notifications": {"taskIds": [task, "of somebody else"]}, "_meta": DECLARED}
    message = {"jsonrpc": "2.0", "id": 9, "method": "subscriptions/listen", "params": wanted}
    url = f"{counted.url}/mcp"
    with httpx.stream("POST", url, json=message, headers=headers, timeout=60) as answer:
        for line in answer.iter_lines():
            if not line.startswith("data: "):
                continue
            params = json.loads(line.removeprefix("data: "))["params"]
            assert params.pop("_meta") == {f"{META_PREFIX}subscriptionId": 9}
            if "notifications" in params:
                told.append(params["notifications"])
                continue
            assert params["taskId"] == task
            seen.append(params["status"])
            if seen == ["working"]:
                counter.release("told-task.end")
            if params["status"] == "completed":
                break
    assert told == [{"taskIds": [task]}]
    assert (seen, params["result"]["content"][0]["text"]) == (
        ["working", "completed"],
        "counted told-task",
    )


def test_a_task_outlives_its_process_as_failed(new_odoo, counter):
    """kill -9 between the creation of a task and its outcome: the client finds a result, and nothing runs twice."""
    mortal = new_odoo("tasks", workers=2)
    counter.register(mortal)
    send = requests_of(mortal, new_key(mortal))
    task = begun(send, "killed-task")
    eventually(lambda: counter.executions("killed-task") == 1)
    alive = f"SELECT task ? 'alive' FROM woow_paas_platform_tool_call WHERE call_id = '{task}'"
    eventually(lambda: mortal.sql(alive) == "t")
    mortal.kill9()
    counter.release("killed-task.end")
    mortal.restart()
    assert send("tasks/get", taskId=task)["status"] == "working"
    mortal.sql(
        "UPDATE woow_paas_platform_tool_call SET write_date = write_date - interval '4 minutes',"
        " task = jsonb_set(task, '{alive}', '1') WHERE outcome IS NULL"
    )
    found = eventually(lambda: ended(send("tasks/get", taskId=task)))
    assert (found["status"], found["error"]["data"]) == ("failed", {"code": "unknown"})
    assert counter.executions("killed-task") == 1
    assert outcome_of(mortal, "killed-task") == "unknown"


def test_what_waits_for_a_user_outlives_its_process(new_odoo, counter, tmp_path):
    """kill -9 while calls wait in `input_required`: for answers to a server, and for the decision of the user, which
    alone lets its call go on."""
    mortal = new_odoo("waiting", workers=2)
    counter.register(mortal, trust_level="none")
    with contextlib.ExitStack() as stack:
        folder = tmp_path / "asking"
        folder.mkdir()
        asking = Counter(folder, "asking_server.py", "asking")
        stack.callback(asking.stop)
        asking.wait()
        asking.register(mortal)
        send = requests_of(mortal, new_key(mortal))
        shows = {**DECLARED, f"{META_PREFIX}clientCapabilities": {"elicitation": {}}}
        call = {"name": "asking__book", "arguments": {"name": "Ann"}, "_meta": shows}
        asked = send("tools/call", **call)
        assert asked["resultType"] == "input_required"
        waits = send("tools/call", name=TOOL, arguments={"id": "waiting-task"})
        assert (waits["resultType"], waits["status"]) == ("task", "input_required")
        mortal.kill9()
        mortal.restart()

        (key,) = asked["inputRequests"]
        given = {key: {"action": "accept", "content": {"seats": 2, "meal": "rice"}}}
        again = {**call, "requestState": asked["requestState"], "inputResponses": given}
        said = eventually(lambda: send("tools/call", **again))
        assert said["content"][0]["text"] == "booked {'meal': 'rice', 'seats': 2} for Ann"
        assert (asking.executions("called"), asking.executions("booked")) == (2, 1)

        task = waits["taskId"]
        assert send("tasks/get", taskId=task)["status"] == "input_required"
        assert counter.executions("waiting-task") == 0
        decided = mortal.session("user").post(
            f"/api/mcp/calls/{task}/decision", json={"decision": "approve_once"}
        )
        assert decided.status_code == 204, decided.text
        eventually(lambda: counter.executions("waiting-task") == 1)  # before the client looks
        found = eventually(lambda: ended(send("tasks/get", taskId=task)))
        assert found["result"]["content"][0]["text"] == "counted waiting-task"
        assert counter.executions("waiting-task") == 1
        assert outcome_of(mortal, "waiting-task") == "ok"


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
