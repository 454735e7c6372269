"""What a real process learns of a server: pauses, and how it speaks, seen from outside."""

import pytest
from chat import Chat
from counter import Counter
from waiting import eventually

from dev import processes

SERVER = "woow_paas_platform.mcp_server"
PROCESS = "woow_paas_platform.mcp_server_process"


@pytest.fixture
def counter(odoo, tmp_path):
    """A server of the user's own that is not up yet, and its record."""
    counters = []

    def start():
        (tmp_path / "counts").mkdir(exist_ok=True)
        counters.append(Counter(tmp_path / "counts", port=port))
        counters[-1].wait()
        return counters[-1]

    port = processes.free_port()
    (user,) = odoo.rpc("res.users", "search", [("login", "=", "user")])
    values = {"name": "mine", "url": f"http://127.0.0.1:{port}/mcp", "scope": "user"}
    (server,) = odoo.rpc(
        SERVER, "create", [{**values, "owner_user_id": user}], context={"woow_no_sync": True}
    )
    yield start, server
    odoo.rpc(SERVER, "unlink", [server])
    for counter in counters:
        counter.stop()


def test_a_dead_server_is_left_alone_until_a_test_succeeds(odoo, counter):
    start, server = counter
    chat = Chat(odoo)

    def problems():
        answer = chat.json("GET", f"/api/ai/conversations/{chat.id}/prompts")
        return {p["code"] for p in answer["problems"] if p["server"]["id"] == server}

    def rows():
        return odoo.rpc(PROCESS, "search_read", [("server_id", "=", server)])

    assert [problems() for _ in range(4)] == [{"connect_failed"}] * 3 + [{"server_paused"}]
    eventually(lambda: [row["state"] for row in rows()] == ["open"])
    (row,) = rows()
    assert "no service is listening" in row["reason"] and ":" in row["name"]
    start()
    assert problems() == {"server_paused"}
    assert odoo.session("user").post(f"/api/mcp/servers/{server}/test", json={}).json()["ok"]
    eventually(lambda: problems() == set())
    eventually(lambda: [row["state"] for row in rows()] == ["closed"])
    found = odoo.rpc(SERVER, "read", [server], ["detected_transport", "protocol_version"])[0]
    assert (found["detected_transport"], found["protocol_version"]) == (
        "streamable_http",
        "2025-11-25",
    )
