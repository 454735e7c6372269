"""Odoo's ``db_replica_host`` names a replica that lags: a chat all the same finds what it has just written."""

import contextlib

import pytest
from chat import Chat, calls, first, then

from dev.checks import testbed
from dev.servers.pair import Pair

LAG = "1h"  # whatever is read there, is not there
TIME = ("time__get_current_time", {"timezone": "UTC"})


@pytest.fixture
def odoo(demo_template, demo_facts, tmp_path):
    folder = tmp_path / "pg"
    pair = Pair(folder)
    with contextlib.ExitStack() as made:
        source = made.enter_context(testbed.apart(demo_template, folder, pair.primary))
        made.callback(pair.stop)
        server = testbed.OdooServer(
            source,
            "replica",
            options={"db_replica_host": pair.replica.host, "db_replica_port": pair.replica.port},
            environment=demo_facts,
        )
        made.callback(server.stop)
        pair.primary.drop(source.database)
        pair.add_standby()
        pair.standby.sql("postgres", f"ALTER SYSTEM SET recovery_min_apply_delay = '{LAG}'")
        pair.standby.sql("postgres", "SELECT pg_reload_conf()")
        server.start()
        yield server


def test_a_chat_finds_what_it_has_just_written(odoo, scripted_llm):
    odoo.use_llm(scripted_llm)
    scripted_llm.script(
        first("What time is it?", calls(TIME)), then("What time is it?", {"content": "Late."})
    )
    chat = Chat(odoo)
    assert chat.page()["id"] == chat.id
    assert chat.json("GET", f"/api/sessions/{chat.id}/mcp-config")["servers"]
    chat.json("PATCH", f"/api/ai/conversations/{chat.id}", {"name": "Mine"})
    turn = chat.ask("What time is it?")
    assert turn.events()[-1]["type"] == "done"
    assert chat.json("GET", f"/api/ai/turns/{turn.id}")["state"] == "done"
    assert "Late." in str(chat.page()["messages"])
    [row] = chat.json("GET", "/api/ai/conversations")["conversations"]
    assert (row["id"], row["name"]) == (chat.id, "Mine")
