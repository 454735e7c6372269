import asyncio
import logging
from dataclasses import replace
from types import SimpleNamespace

import pytest
from conftest import POLICY, spec_of

from services import const
from services.errors import (
    ConnectFailed,
    EngineError,
    ProtocolError,
    ServerRefused,
    ServerTimeout,
)
from services.mcp.discovery import health
from services.mcp.discovery.discovery import discover
from services.mcp.pool.pool import Pool
from services.mcp.session import connect
from services.mcp.session.call_options import CallOptions
from services.mcp.session.logs import BLOT
from services.specs import ServerSpec
from services.testing.fake_http import respond
from services.testing.fake_mcp import FakeMcp
from services.testing.fake_tools import OBJECT, text


async def call(pool, fake, tool="echo", arguments=None, *, conversation=1, timeout=60, **more):
    arguments = {"message": "hi"} if arguments is None else arguments
    result = await pool.call(
        fake.spec, conversation, tool, arguments, timeout=timeout, options=CallOptions(**more)
    )
    return result["content"][0]["text"]


async def test_call_over_each_transport(any_fake, pool):
    assert await call(pool, any_fake) == "hi"
    assert await call(pool, any_fake, "add", {"a": 2, "b": 3}) == "5"
    assert pool.opened == 1


async def test_one_session_for_each_conversation_and_credential(legacy_fake, pool):
    other = spec_of(legacy_fake, legacy=legacy_fake.spec.transport == "sse", api_key="other")
    assert await call(pool, legacy_fake, "count", {}) == "1"
    assert await call(pool, legacy_fake, "count", {}) == "2"
    assert await call(pool, legacy_fake, "count", {}, conversation=2) == "1"
    result = await pool.call(other, 1, "count", {}, timeout=60)
    assert result["content"][0]["text"] == "1"
    assert pool.opened == 3


async def test_warm_calls_open_no_connection_and_ask_nothing_else(fake, pool):
    await call(pool, fake)
    await fake.until(lambda: "notifications/initialized" in fake.methods)
    before, methods = fake.connections, len(fake.methods)
    for _ in range(50):
        await call(pool, fake)
    assert fake.connections - before <= 1  # the stream the server may speak on
    assert fake.methods[methods:] == ["tools/call"] * 50


async def test_parallel_first_calls_share_one_handshake(any_fake, pool):
    await asyncio.gather(*(call(pool, any_fake, conversation=7) for _ in range(10)))
    assert pool.opened == 1


async def test_quiet_restart_is_invisible(any_fake, pool):
    assert await call(pool, any_fake) == "hi"
    await any_fake.restart()
    assert await call(pool, any_fake) == "hi"
    assert pool.opened == (1 if "modern" in any_fake.eras else 2)


async def test_call_while_the_server_is_down_and_after(any_fake, pool):
    await call(pool, any_fake)
    await any_fake.stop()
    with pytest.raises(ConnectFailed):
        await call(pool, any_fake)
    await any_fake.start()
    assert await call(pool, any_fake) == "hi"


async def test_a_call_in_flight_when_the_server_dies_is_not_repeated(any_fake, pool):
    await call(pool, any_fake)
    running = asyncio.create_task(call(pool, any_fake, "slow", {"seconds": 30}, timeout=60))
    await any_fake.until(lambda: any(name == "slow" for _, name, _ in any_fake.calls))
    await any_fake.restart()
    with pytest.raises(Exception) as caught:
        await running
    assert caught.value.code == "session_lost"
    assert sum(name == "slow" for _, name, _ in any_fake.calls) == 1
    assert await call(pool, any_fake) == "hi"


async def test_a_call_in_flight_is_not_repeated_where_the_server_stays_away(any_fake, pool):
    await call(pool, any_fake)
    running = asyncio.create_task(call(pool, any_fake, "slow", {"seconds": 30}, timeout=60))
    await any_fake.until(lambda: any(name == "slow" for _, name, _ in any_fake.calls))
    await any_fake.stop()
    with pytest.raises(EngineError) as caught:
        await running
    assert caught.value.code == "session_lost"
    await any_fake.start()
    assert sum(name == "slow" for _, name, _ in any_fake.calls) == 1


def _patch_pauses(monkeypatch, pause):
    clock = SimpleNamespace(sleep=pause, get_running_loop=asyncio.get_running_loop)
    monkeypatch.setattr(health, "asyncio", clock)


@pytest.mark.parametrize("tries", [1, 2])
async def test_a_call_waits_for_a_server_that_comes_back(any_fake, pool, monkeypatch, tries):
    pauses = []

    async def pause(_seconds):
        pauses.append(1)
        if len(pauses) == tries:
            await any_fake.start()

    await any_fake.stop()
    _patch_pauses(monkeypatch, pause)
    assert await call(pool, any_fake) == "hi"
    assert (len(pauses), len(any_fake.calls)) == (tries, 1)


async def test_a_call_is_tried_three_times_within_its_own_time(any_fake, pool, monkeypatch):
    pauses = []

    async def pause(seconds):
        pauses.append(seconds)

    await any_fake.stop()
    _patch_pauses(monkeypatch, pause)
    with pytest.raises(ConnectFailed):
        await call(pool, any_fake)
    assert pauses == [1.0, 1.0]
    with pytest.raises(ConnectFailed):
        await call(pool, any_fake, timeout=0.9)
    assert len(pauses) == 2
    assert pool.limiter(any_fake.spec).breaker.state == "closed", "a call is one failure"


async def test_a_harmless_call_in_flight_is_repeated(fake, pool):
    await call(pool, fake)
    running = asyncio.create_task(call(pool, fake, "slow", {"seconds": 0.3}, may_repeat=True))
    await fake.until(lambda: any(name == "slow" for _, name, _ in fake.calls))
    await fake.restart()
    assert await running == "slept"


async def test_timeout_tells_the_server_and_frees_the_connection(any_fake, pool):
    await call(pool, any_fake)
    with pytest.raises(ServerTimeout):
        await call(pool, any_fake, "slow", {"seconds": 30}, timeout=0.2)
    await any_fake.until(lambda: any_fake.cancelled)
    assert await call(pool, any_fake) == "hi"
    assert pool.opened == 1


async def test_stop_tells_the_server(any_fake, pool):
    running = asyncio.create_task(call(pool, any_fake, "slow", {"seconds": 30}, timeout=60))
    await any_fake.until(lambda: any(name == "slow" for _, name, _ in any_fake.calls))
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await any_fake.until(lambda: any_fake.cancelled)
    assert await call(pool, any_fake) == "hi"


async def test_a_slow_call_does_not_hold_up_others(any_fake, pool):
    running = asyncio.create_task(call(pool, any_fake, "slow", {"seconds": 30}, timeout=60))
    await any_fake.until(lambda: any(name == "slow" for _, name, _ in any_fake.calls))
    assert await call(pool, any_fake) == "hi"
    assert not running.done()
    running.cancel()


async def test_progress_is_passed_on(any_fake, pool):
    seen = []
    assert (
        await call(pool, any_fake, "progress", {}, on_progress=lambda *step: seen.append(step))
        == "done"
    )
    assert seen == [(1, 3, "step 1"), (2, 3, "step 2"), (3, 3, "step 3")]


async def _logs(call):
    for level, data in (("debug", "far too much"), ("error", {"disk": "full"}), ("odd", "nothing")):
        params = {"level": level, "logger": "store", "data": data}
        await call.send({"jsonrpc": "2.0", "method": "notifications/message", "params": params})
    return text(str(call.params.get("_meta", {}).get(f"{const.META_PREFIX}logLevel")))


@pytest.fixture
def logging_fake(any_fake):
    any_fake.stream = True
    any_fake.capabilities["logging"] = {}
    any_fake.tools["logs"] = (_logs, OBJECT)
    return any_fake


async def test_log_messages_reach_the_call_that_takes_them(logging_fake, pool):
    levels, seen, others = [], [], []

    async def set_level(call):
        levels.append(call.params["level"])
        return {}

    logging_fake.methods_more["logging/setLevel"] = set_level
    asked = {"on_log": seen.append, "log_level": "info"}
    told = await call(pool, logging_fake, "logs", {}, **asked)
    assert seen == [{"level": "error", "logger": "store", "data": {"disk": "full"}}]
    await call(pool, logging_fake, "logs", {}, on_log=others.append, log_level="debug")
    await call(pool, logging_fake, "logs", {}, **asked)
    await call(pool, logging_fake, "logs", {})
    assert [one["level"] for one in others] == ["debug", "error"] and len(seen) == 2
    if told == "None":
        assert levels == ["info", "debug"], "a session tells a level once, and never a stricter one"
    else:
        assert (told, levels) == ("info", [])


async def test_log_messages_do_not_repeat_what_the_server_was_sent(logging_fake, pool):
    async def leaks(call):
        data = {"Authorization": "Bearer sk-of-everybody", "headers": ["k3y-of-all", 1], "tries": 1}
        params = {"level": "debug", "data": data}
        await call.send({"jsonrpc": "2.0", "method": "notifications/message", "params": params})
        return text("done")

    logging_fake.tools["leaks"] = (leaks, OBJECT)
    sent = {"headers": {"X-Key": "k3y-of-all", "X-Tenant": "1"}, "api_key": "sk-of-everybody"}
    logging_fake.spec = replace(logging_fake.spec, **sent)
    seen = []
    await call(pool, logging_fake, "leaks", {}, on_log=seen.append)
    data = {"Authorization": f"Bearer {BLOT}", "headers": [BLOT, 1], "tries": 1}
    assert seen == [{"level": "debug", "data": data}]


@pytest.mark.parametrize("method", ["ping", "elicitation/create"])
async def test_what_a_server_asks_is_not_kept_beyond_the_call(method):
    async def asks(call):
        for number in range(20):
            asked = {"jsonrpc": "2.0", "id": f"{number}" + "x" * 50_000 * (number % 2)}
            await call.send({**asked, "method": method, "params": {}})
        return text("done")

    async with FakeMcp(stream=True, tools={"asks": (asks, OBJECT)}) as fake:
        session = await connect.open_session(
            spec_of(fake), POLICY, first=("legacy", "streamable_http")
        )
        done = await session.request("tools/call", {"name": "asks", "arguments": {}}, timeout=60)
        assert done["content"][0]["text"] == "done" and not session._guard.asked
        session.close()


async def test_no_library_logs_what_a_server_says(legacy_fake, pool, caplog):
    async def leaks(call):
        for method in ("notifications/strange", "notifications/progress"):
            await call.send({"jsonrpc": "2.0", "method": method, "params": {"says": "k3y-of-all"}})
        return text("done")

    legacy_fake.stream = True
    legacy_fake.tools["leaks"] = (leaks, OBJECT)
    assert await call(pool, legacy_fake, "leaks", {}) == "done"
    logging.warning("another word on the root logger")
    assert "k3y-of-all" not in caplog.text and "another word" in caplog.text


async def test_a_definition_that_cannot_be_stored_costs_only_what_cannot():
    async def listed(call, writer):
        odd = b'{"name": "odd", "description": "\\ud800", "inputSchema": {"title": "x\\ud800", "maximum": 1e999}}'
        rest = b'"result": {"tools": [%b, {"name": "plain", "inputSchema": {}}]}}' % odd
        await respond(writer, 200, b'{"jsonrpc": "2.0", "id": %d, %b' % (call.id, rest))

    async with FakeMcp(eras=("modern",)) as fake:
        fake.faults["tools/list"] = listed
        odd, plain = (await discover(spec_of(fake), POLICY)).tools
    assert odd.input_schema == {"title": "x", "maximum": None} and plain.name == "plain"
    assert [code for code, _ in odd.warnings] == ["invisible"]


async def test_log_messages_of_one_call_reach_no_other(logging_fake, pool):
    begun, go_on, seen = asyncio.Event(), asyncio.Event(), []

    async def waits(_call):
        begun.set()
        await go_on.wait()
        return text("done")

    logging_fake.tools["waits"] = (waits, OBJECT)
    asked = {"on_log": seen.append, "log_level": "debug"}
    waiting = asyncio.create_task(call(pool, logging_fake, "waits", {}, **asked))
    await begun.wait()
    await call(pool, logging_fake, "logs", {})
    go_on.set()
    assert await waiting == "done" and seen == []


async def test_a_server_that_takes_no_level_is_called_all_the_same(legacy_fake, pool):
    legacy_fake.capabilities["logging"] = {}
    assert await call(pool, legacy_fake, on_log=print, log_level="info") == "hi"
    assert "logging/setLevel" in legacy_fake.methods


async def test_arguments_with_reserved_names_arrive(fake, pool):
    arguments = {"message": "x", "config": 1, "run_manager": 2, "runtime": 3, "_meta": None}
    await call(pool, fake, "echo", arguments)
    assert fake.calls[-1][2] == arguments


async def test_idle_session_closes_itself(fake):
    pool = Pool(POLICY, idle=0.5)
    await call(pool, fake)
    await fake.until(lambda: not fake.sessions)
    assert not pool.is_connected(fake.spec, 1)
    assert await call(pool, fake) == "hi"
    await pool.close()


async def test_the_longest_idle_session_makes_room(fake):
    pool = Pool(POLICY, max_sessions=2)
    for conversation in (1, 2, 1, 3):
        await call(pool, fake, conversation=conversation)
    await fake.until(lambda: len(fake.sessions) == 2)
    assert pool.is_connected(fake.spec, 1) and not pool.is_connected(fake.spec, 2)
    await pool.close()


async def test_release_ends_the_sessions_of_a_conversation(fake, pool):
    await call(pool, fake, conversation=1)
    await call(pool, fake, conversation=2)
    pool.release("another database", 1)
    assert pool.is_connected(fake.spec, 1)
    pool.release(fake.spec.database, 1)
    await fake.until(lambda: len(fake.sessions) == 1)
    assert pool.is_connected(fake.spec, 2)


async def test_close_leaves_no_task(any_fake):
    before = {task for task in asyncio.all_tasks() if "FakeMcp" not in repr(task)}
    pool = Pool(POLICY)
    await call(pool, any_fake)
    await pool.close()
    await asyncio.sleep(0.05)
    left = {task for task in asyncio.all_tasks() if "FakeMcp" not in repr(task)} - before
    assert not left


async def test_list_tools_reads_every_page(any_fake, pool):
    any_fake.page = 4
    tools = await pool.list_tools(any_fake.spec, 1)
    assert [tool.name for tool in tools] == list(any_fake.tools)
    assert tools[0].input_schema["required"] == ["message"]


async def test_list_tools_that_never_ends(fake, pool):
    async def again(call, writer):
        await respond(
            writer,
            200,
            {
                "jsonrpc": "2.0",
                "id": call.id,
                "result": {"tools": [{"name": "a"}, "junk", {"name": 5}], "nextCursor": "x"},
            },
        )

    fake.faults["tools/list"] = again
    assert [tool.name for tool in await pool.list_tools(fake.spec, 1)] == ["a"]
    assert fake.methods.count("tools/list") == 2, "the cursor was there before"


async def test_discover_tells_what_it_found(any_fake):
    found = await discover(any_fake.spec, POLICY)
    assert [tool.name for tool in found.tools] == list(any_fake.tools)
    assert found.transport == any_fake.spec.transport
    assert found.info.name == "fake" and found.protocol_version


async def test_auto_finds_both_transports_and_remembers(fake, pool):
    legacy = ServerSpec(id=2, name="old", url=fake.sse_url)
    found = await discover(legacy, POLICY)
    assert found.transport == "sse"
    assert [variant for variant, _ in found.tried] == [
        "streamable HTTP of 2026-07-28",
        "streamable HTTP",
    ]
    assert (
        await discover(ServerSpec(id=3, name="new", url=fake.url), POLICY)
    ).transport == "streamable_http"
    await pool.call(legacy, 1, "echo", {"message": "x"}, timeout=60)
    await pool.call(legacy, 2, "echo", {"message": "x"}, timeout=60)
    assert pool._variants[legacy.address] == ("legacy", "sse")


async def test_auto_at_an_address_that_is_no_mcp_server():
    async def serve(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        await respond(writer, 200, b"<html>hello</html>", kind="text/html")
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    with pytest.raises(ProtocolError):
        await discover(ServerSpec(id=1, name="web", url=url), POLICY)
    server.close()


async def test_a_server_that_says_nothing_ends_the_sync_in_time():
    server = await asyncio.start_server(lambda reader, writer: asyncio.sleep(60), "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    mute = ServerSpec(id=1, name="mute", url=url, connect_timeout=0.3, sync_timeout=0.5)
    async with asyncio.timeout(60):
        with pytest.raises(ServerTimeout):
            await discover(mute, POLICY)
    server.close()


async def test_credentials_go_out_and_nothing_of_the_environment(fake, pool, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    spec = spec_of(fake, api_key="key", headers={"X-Team": "a"})
    await pool.call(spec, 1, "echo", {"message": "x"}, timeout=60)
    assert fake.headers[-1]["authorization"] == "Bearer key" and fake.headers[-1]["x-team"] == "a"


async def test_unknown_tool_is_an_answer_not_a_lost_session(any_fake, pool):
    with pytest.raises(ServerRefused, match="Unknown tool"):
        await call(pool, any_fake, "nope", {})
    assert await call(pool, any_fake) == "hi" and pool.opened == 1


async def test_many_servers_one_dead(pool):
    async with FakeMcp() as one, FakeMcp() as two:
        one.spec, two.spec = spec_of(one), spec_of(two)
        await two.stop()
        good, bad = await asyncio.gather(call(pool, one), call(pool, two), return_exceptions=True)
        assert good == "hi" and isinstance(bad, ConnectFailed)
        await two.start()
