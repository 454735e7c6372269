"""Ten servers of fifty tools, one dead and one that never answers, through the whole product."""

import asyncio
import contextlib
import socket
import threading

import pytest
from chat import Chat, calls, first, of
from waiting import eventually

from services.testing.fake_mcp import FakeMcp

SERVER = "woow_paas_platform.mcp_server"
TOOL = "woow_paas_platform.mcp_tool"
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}


async def answer(_call):
    return {"content": [{"type": "text", "text": "done"}]}


@contextlib.contextmanager
def serving(count, name_of="tool_{number}".format):
    """The addresses of so many servers with fifty tools each."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    made = [
        FakeMcp(tools={name_of(server=n, number=number): (answer, SCHEMA) for number in range(50)})
        for n in range(count)
    ]

    def wait_for(work):
        return asyncio.run_coroutine_threadsafe(work, loop).result(20)

    for fake in made:
        wait_for(fake.start())
    try:
        yield made
    finally:
        for fake in made:
            wait_for(fake.stop())
        loop.call_soon_threadsafe(loop.stop)
        thread.join(20)


@pytest.fixture
def fakes():
    """The addresses of eight servers with fifty tools each."""
    with serving(8) as made:
        yield [fake.url for fake in made]


@pytest.fixture
def silent():
    """The address of a server that takes connections and says nothing."""
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as listening:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"


def test_the_others_wait_for_neither(odoo, fakes, silent):
    urls = [silent, "http://127.0.0.1:9/mcp", *fakes]
    ids = odoo.rpc(
        SERVER, "create", [{"name": f"many {n}", "url": url} for n, url in enumerate(urls)]
    )
    try:

        def states():
            rows = odoo.rpc(SERVER, "read", ids, ["state", "tool_count"])
            return {row["id"]: (row["state"], row["tool_count"]) for row in rows}

        def written():
            rows = odoo.rpc(SERVER, "read", ids, ["write_date"])
            return {row["id"]: row["write_date"] for row in rows}

        hanging, dead, *well = ids
        eventually(lambda: all(states()[one] == ("connected", 50) for one in well), states)
        eventually(lambda: states()[dead][0] == states()[hanging][0] == "error", states)
        at = written()
        assert min(at[one] for one in well) < at[hanging], "nobody waited for the one that hangs"
    finally:
        odoo.rpc(SERVER, "unlink", ids)


def test_the_last_of_five_hundred_tools_is_found_and_called(odoo, scripted_llm):
    things = (
        "order",
        "parcel",
        "ticket",
        "ship",
        "song",
        "field",
        "train",
        "coin",
        "lamp",
        "violin",
    )
    last = "violin_9__polish_49_violin"

    def name_of(server, number):
        return f"{'polish' if number > 40 else 'list'}_{number}_{things[server]}"

    with serving(10, name_of) as made:
        rows = [
            {"name": f"{things[n]} {n}", "url": fake.url, "trust_level": "annotations"}
            for n, fake in enumerate(made)
        ]
        ids = odoo.rpc(SERVER, "create", rows)
        (assistant,) = odoo.rpc("ai.assistant", "search", [], limit=1, order="sequence, id")
        (before,) = odoo.rpc("ai.assistant", "read", [assistant], ["mcp_server_ids"])
        try:
            eventually(
                lambda: all(
                    row["tool_count"] == 50 for row in odoo.rpc(SERVER, "read", ids, ["tool_count"])
                ),
                lambda: odoo.rpc(SERVER, "read", ids, ["state", "tool_count"]),
            )
            odoo.rpc("ai.assistant", "write", [assistant], {"mcp_server_ids": [[6, 0, ids]]})
            tools = odoo.rpc(TOOL, "search", [["server_id", "in", ids]])
            odoo.rpc(TOOL, "write", tools, {"approval_policy": "auto"})
            finding = calls(("find_tools", {"queries": ["polish violin 49"]}))
            scripted_llm.script(
                first("Polish violin 49.", finding),
                {
                    "match": {
                        "userMessage": "Polish violin 49.",
                        "hasToolResult": True,
                        "turnIndex": 1,
                    },
                    "response": calls((last, {"city": "Taipei"})),
                },
                {
                    "match": {
                        "userMessage": "Polish violin 49.",
                        "hasToolResult": True,
                        "turnIndex": 2,
                    },
                    "response": {"content": "It shines."},
                },
            )
            events = Chat(odoo).ask("Polish violin 49.").events()
        finally:
            odoo.rpc(
                "ai.assistant",
                "write",
                [assistant],
                {"mcp_server_ids": [[6, 0, before["mcp_server_ids"]]]},
            )
            odoo.rpc(SERVER, "unlink", ids)
        assert of(events, "done")[0]["state"] == "done", events
        assert [(call["tool"], call["round"]) for call in of(events, "tool_call")] == [
            ("find_tools", 1),
            ("polish_49_violin", 2),
        ]
        assert [name for _, name, _ in made[-1].calls] == ["polish_49_violin"]
        (notice,) = of(events, "notice")
        assert " tools of 10 servers are available." in notice["message"]
        offered = [
            [tool["function"]["name"] for tool in request["body"].get("tools", ())]
            for request in scripted_llm.requests()
            if "Polish violin" in str(request["body"]["messages"])
        ]
        assert "find_tools" in offered[0] and last not in offered[0] and last in offered[1]
        assert len(offered[0]) < 50
