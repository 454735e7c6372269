"""What the pool reports to its host: changed lists, and each session with what it speaks."""

import asyncio

from conftest import POLICY

from services.mcp.pool.pool import Pool
from services.testing.fake_http import start_stream


async def test_new_tools_are_told(legacy_fake):
    heard = asyncio.Queue()
    pool = Pool(POLICY, on_list_changed=lambda spec, what: heard.put_nowait((spec.name, what)))

    async def grow(call):
        await call.send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        return {"content": []}

    legacy_fake.stream = True
    legacy_fake.tools["grow"] = (grow, {"type": "object"})
    await pool.call(legacy_fake.spec, 1, "grow", {}, timeout=60)
    async with asyncio.timeout(60):
        assert await heard.get() == ("fake", "tools")
    await pool.close()


async def test_a_modern_server_is_listened_to(modern_fake):
    heard = asyncio.Queue()
    pool = Pool(POLICY, on_list_changed=lambda spec, what: heard.put_nowait(what))
    modern_fake.capabilities = {"tools": {"listChanged": True}, "prompts": {}}

    async def listen(call, writer):
        assert call.params["notifications"] == {"toolsListChanged": True}
        await start_stream(writer)
        await call.send({"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged"})
        await call.send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        await asyncio.Event().wait()

    modern_fake.faults["subscriptions/listen"] = listen
    await pool.call(modern_fake.spec, 1, "echo", {"message": "x"}, timeout=60)
    async with asyncio.timeout(60):
        assert await heard.get() == "tools"
    await pool.close()
    await modern_fake.until(lambda: modern_fake.cancelled)


async def test_every_session_is_told_with_what_it_speaks(any_fake):
    heard = []
    pool = Pool(POLICY, on_opened=lambda spec, info: heard.append((spec.id, info)))
    for conversation in (1, 1, 2):
        await pool.call(any_fake.spec, conversation, "echo", {"message": "x"}, timeout=60)
    (one, first), (two, second) = heard
    assert one == two == any_fake.spec.id and first == second
    assert first.transport == any_fake.spec.transport and first.protocol_version
    await pool.close()
