"""The operator's file: a command becomes a server that answers in a chat, and stops without a trace."""

from concurrent.futures import ThreadPoolExecutor

import psutil
import pytest
from chat import Chat, calls, first, then
from waiting import eventually

from dev.setup import venvs

SERVER = "woow_paas_platform.mcp_server"
ZONE = "Pacific/Chatham"  # nobody else's processes have it in their arguments
FILE = """
[[mcp.servers]]
name = "clock"
transport = "stdio"
command = "{program}"
args = ["--local-timezone", "${{ZONE:-Pacific/Chatham}}"]

[[mcp.servers]]
name = "nowhere"
transport = "stdio"
command = "no-such-program"
"""


def processes_of_the_clock():
    return [p for p in psutil.process_iter(["cmdline"]) if ZONE in (p.info["cmdline"] or ())]


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "mcp_servers.toml"
    path.write_text(FILE.format(program=venvs.extra("mcp") / "bin/mcp-server-time"))
    return path


def states(odoo):
    rows = odoo.rpc(
        SERVER,
        "search_read",
        [("managed_by_file", "=", True)],
        ["name", "state", "state_sentence"],
        context={"active_test": False},
    )
    return {row["name"]: row for row in rows}


def reload_together(odoo, file):
    """Two reloads of a file that has just changed are both answered, ten times."""
    chats, text = [Chat(odoo, "admin") for _ in range(2)], file.read_text()

    def reload(chat):
        wanted = {"command": "/mcp reload", "server_ids": []}
        return chat.http.post(f"/api/ai/conversations/{chat.id}/command", json=wanted).status_code

    with ThreadPoolExecutor(len(chats)) as pool:
        for number in range(10):
            entry = f'[[mcp.servers]]\nname = "more"\nurl = "http://127.0.0.1:9/{number}"\n'
            replace(file, f"{text}\n{entry}enabled = false\n")
            assert list(pool.map(reload, chats)) == [200, 200]
            (more,) = odoo.rpc(
                SERVER,
                "search_read",
                [("name", "=", "more")],
                ["url"],
                context={"active_test": False},
            )
            assert more["url"].endswith(f"/{number}")
    replace(file, text)


def replace(file, text):
    """At once, as editors do: who reads it never meets half of it."""
    new = file.with_suffix(".new")
    new.write_text(text)
    new.replace(file)


def test_a_server_of_the_file_answers_stops_and_follows_the_file(new_odoo, scripted_llm, file):
    odoo = new_odoo("server_file", operator={"mcp_servers_file": file})
    odoo.expect_log("mcp_servers.toml")
    found = eventually(lambda: (s := states(odoo)) and s["clock"]["state"] == "connected" and s)
    nowhere = eventually(lambda: (s := states(odoo)["nowhere"])["state"] == "error" and s)
    assert "no-such-program" in nowhere["state_sentence"]
    odoo.rpc(SERVER, "action_stop", [nowhere["id"]])
    odoo.rpc(SERVER, "action_start", [nowhere["id"]])
    nowhere = eventually(lambda: (s := states(odoo)["nowhere"])["state"] == "error" and s)
    assert "no-such-program" in nowhere["state_sentence"]

    clock = found["clock"]["id"]
    odoo.rpc(SERVER, "write", [clock], {"trust_level": "full"})
    assistants = odoo.rpc("ai.assistant", "search", [])
    odoo.rpc("ai.assistant", "write", assistants, {"mcp_server_ids": [[4, clock]]})
    scripted_llm.script(
        first("What time is it", calls(("clock__get_current_time", {"timezone": "UTC"}))),
        then("What time is it", {"content": "It is late."}),
    )
    over, stays = Chat(odoo, "demo"), Chat(odoo, "demo")
    for chat in (over, stays):
        chat.ask("What time is it").wait_ended()
    outcomes = odoo.sql(
        f"SELECT outcome FROM woow_paas_platform_tool_call WHERE server_id = {clock}"
    )
    assert outcomes.split() == ["ok", "ok"]
    eventually(lambda: len(processes_of_the_clock()) == 4)  # in front of each stands a helper
    over.http.delete(f"/api/ai/conversations/{over.id}").raise_for_status()
    eventually(lambda: len(processes_of_the_clock()) == 2)

    reload_together(odoo, file)

    odoo.rpc(SERVER, "action_stop", [clock])
    eventually(lambda: not processes_of_the_clock())
    assert states(odoo)["clock"]["state"] == "disabled"
    odoo.rpc(SERVER, "action_start", [clock])
    eventually(lambda: states(odoo)["clock"]["state"] == "connected")

    replace(file, "[mcp]\nenabled = maybe\n")  # broken: what runs goes on
    eventually(lambda: "mcp_servers.toml" in odoo.log_text())
    assert states(odoo)["clock"]["state"] == "connected"
    replace(file, "[mcp]\n")
    eventually(lambda: states(odoo)["clock"]["state"] == "disabled")
    eventually(lambda: not processes_of_the_clock())
