"""Ten servers of fifty tools, one dead and one that never answers, through the whole product."""

import asyncio
import contextlib
import socket
import threading

import pytest
from waiting import eventually

from services.testing.fake_mcp import FakeMcp

SERVER = "woow_paas_platform.mcp_server"
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}


async def answer(_call):
    return {"content": [{"type": "text", "text": "done"}]}


@pytest.fixture
def fakes():
    """The addresses of eight servers with fifty tools each."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    made = [
        FakeMcp(tools={f"tool_{number}": (answer, SCHEMA) for number in range(50)})
        for _number in range(8)
    ]

    def wait_for(work):
        return asyncio.run_coroutine_threadsafe(work, loop).result(20)

    for fake in made:
        wait_for(fake.start())
    yield [fake.url for fake in made]
    for fake in made:
        wait_for(fake.stop())
    loop.call_soon_threadsafe(loop.stop)
    thread.join(20)


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
        assert max(at[one] for one in well) < at[hanging], "nobody waited for the one that hangs"
    finally:
        odoo.rpc(SERVER, "unlink", ids)
