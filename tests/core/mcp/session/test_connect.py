"""Protocol negotiation: which era and transport a server speaks, found out where nobody said."""

import asyncio

import pytest
from conftest import POLICY, spec_of

from services.errors import ProtocolError, ServerRefused
from services.mcp.discovery.discovery import discover
from services.mcp.pool.pool import Pool
from services.specs import ServerSpec
from services.testing.fake_http import read_request, respond
from services.testing.fake_mcp import FakeMcp


@pytest.mark.parametrize("eras", [("modern",), ("legacy", "modern")])
async def test_a_modern_server_is_found(eras):
    async with FakeMcp(eras=eras) as fake:
        found = await discover(ServerSpec(id=1, name="new", url=fake.url), POLICY)
        assert found.era == "modern" and found.protocol_version == "2026-07-28"
        assert "initialize" not in fake.methods and found.tried == ()


async def test_the_era_can_be_fixed():
    async with FakeMcp(eras=("legacy", "modern")) as fake:
        spec = ServerSpec(id=1, name="old", url=fake.url, era="legacy")
        assert (await discover(spec, POLICY)).era == "legacy"
        assert fake.methods[0] == "initialize"


async def test_what_worked_is_tried_first_and_forgotten_when_it_fails():
    async with FakeMcp() as fake:
        spec = ServerSpec(id=1, name="one", url=fake.url)
        pool = Pool(POLICY)
        await pool.call(spec, 1, "echo", {"message": "x"}, timeout=60)
        assert fake.methods.count("server/discover") == 1
        await pool.call(spec, 2, "echo", {"message": "x"}, timeout=60)
        assert fake.methods.count("server/discover") == 1  # legacy is known
        await fake.restart()
        fake.eras = ("modern",)
        result = await pool.call(spec, 2, "echo", {"message": "now modern"}, timeout=60)
        assert result["content"][0]["text"] == "now modern"
        fake.eras = ("legacy",)
        result = await pool.call(spec, 2, "echo", {"message": "and back"}, timeout=60)
        assert result["content"][0]["text"] == "and back"
        await pool.close()


async def test_the_host_may_remember_the_way():
    async with FakeMcp() as fake:
        variant = ("legacy", "streamable_http")
        spec = ServerSpec(id=1, name="one", url=fake.url, last_variant=variant)
        await discover(spec, POLICY)
        assert "server/discover" not in fake.methods


async def test_a_result_that_is_no_discovery_means_legacy():
    """Some old servers answer any method with an empty result."""
    async with FakeMcp(eras=("legacy", "modern")) as fake:

        async def empty(call, writer):
            await respond(writer, 200, {"jsonrpc": "2.0", "id": call.id, "result": {}})

        fake.faults["server/discover"] = empty
        found = await discover(spec_of(fake), POLICY)
        assert found.era == "legacy" and found.tried[0][0].endswith("2026-07-28")


async def test_a_version_that_was_refused_by_mistake_is_tried_again():
    async with FakeMcp(eras=("modern",)) as fake:

        async def once(call, writer):
            fake.faults.clear()
            error = {"code": -32022, "message": "no", "data": {"supported": ["2026-07-28"]}}
            await respond(writer, 400, {"jsonrpc": "2.0", "id": call.id, "error": error})

        fake.faults["server/discover"] = once
        assert (await discover(spec_of(fake), POLICY)).era == "modern"


async def test_a_revision_that_nobody_knows():
    async with FakeMcp(eras=("modern",)) as fake:

        async def newer(call, writer):
            error = {"code": -32022, "message": "too old", "data": {"supported": []}}
            await respond(writer, 400, {"jsonrpc": "2.0", "id": call.id, "error": error})

        fake.faults["server/discover"] = newer
        with pytest.raises(ServerRefused, match="too old"):
            await discover(spec_of(fake), POLICY)
        assert "initialize" not in fake.methods


async def test_no_mcp_server_says_what_was_tried():
    async with FakeMcp(eras=(), listen=False) as fake:
        fake.refuse_sse = 405
        with pytest.raises(ProtocolError, match=r"Tried streamable HTTP of 2026-07-28.*SSE"):
            await discover(ServerSpec(id=1, name="none", url=fake.url), POLICY)


async def test_what_every_way_ran_into_is_said_once():
    async def nothing(reader, writer):
        while await read_request(reader):
            await respond(writer, 404)

    async with await asyncio.start_server(nothing, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(ProtocolError) as caught:
            await discover(ServerSpec(id=1, name="none", url=f"http://127.0.0.1:{port}"), POLICY)
    sentence = "There is no MCP server at this address (HTTP 404). Check the path."
    assert str(caught.value) == sentence
    assert "SSE: " in caught.value.detail
