"""Large answers of one person come in one after another, and keep nobody else's waiting."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import POLICY, spec_of
from test_large import TRANSPORTS, addresses, called, spec  # noqa: F401 a fixture

from services.mcp.pool.pool import Pool
from services.net.intake import LARGE, LARGE_PER_PERSON, PACE, Intakes
from services.specs import OperationSpec, ServerSpec, ToolCall, ToolSpec
from services.testing.fake_http import read_request, respond, start_stream
from services.testing.fake_mcp import FakeMcp
from services.testing.fake_tools import OBJECT, text
from services.turn.execution import execute

ROOT = Path(__file__).parents[2]
WORK = """
import threading
from services import large
if {is_kept_little}:
    large.keep_little()

def work():
    for _ in range(3):
        bytes(6 << 20)
        b"x" * (6 << 20)

def used():
    return int(open("/proc/self/statm").read().split()[1]) >> 8

before = used()
threads = [threading.Thread(target=work) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(used() - before)
"""


def server(number=1, person=1):
    return ServerSpec(
        id=number, name="a", url="https://mcp.example.com/", person=person, database="one"
    )


async def growing(intake, size=LARGE + 1):
    """A task that has tried to take so much in."""
    task = asyncio.ensure_future(intake.grow(size))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    return task


async def test_the_next_one_of_a_server_comes_after_a_rest(pass_time):
    intakes = Intakes()
    first, second = intakes.of(server()), intakes.of(server())
    await first.grow(LARGE)
    await first.grow(10 * PACE)
    waiting = await growing(second)
    assert not waiting.done()
    first.end()
    first.end()
    await pass_time(9)
    assert not waiting.done(), "the others' time"
    await pass_time(1)
    await waiting


async def test_a_server_that_stops_in_the_midst_keeps_no_other_waiting():
    intakes = Intakes()
    stuck = [intakes.of(server(number)) for number in range(LARGE_PER_PERSON)]
    for intake in stuck[:-1]:
        await intake.grow(LARGE + 1)
        assert not (await growing(intakes.of(server(0)))).done()
    assert (await growing(stuck[-1])).done()
    assert not (await growing(intakes.of(server(LARGE_PER_PERSON)))).done(), (
        "all together have a share"
    )
    assert (await growing(intakes.of(server(0, person=2)))).done(), "of one person"


async def test_who_does_not_wait_any_more_takes_nothing(pass_time):
    intakes = Intakes()
    first, second, third = (intakes.of(server()) for _ in range(3))
    await first.grow(LARGE + 1)
    waiting = await growing(second)
    waiting.cancel()
    await asyncio.wait([waiting])
    first.end()
    await pass_time(1)
    await third.grow(LARGE + 1)
    assert not intakes.of_servers.held((server(2).quota_key, server(2).owner))


async def test_one_intake_takes_one_answer_after_another(pass_time):
    intakes = Intakes()
    serial, other = intakes.of(server()), intakes.of(server())
    await serial.grow(2 * LARGE)
    await serial.grow(10)  # the beginning of the next one
    await pass_time(2 * LARGE / PACE)
    assert (await growing(other)).done()
    assert not (await growing(serial)).done()


# ---------------------------------------------------------------- over the wire


async def waits(pool, spec, calling):  # noqa: F811
    """Whether a call waits for the place that another large answer of its person and server has."""
    held = pool.intakes.of(spec)
    await held.grow(LARGE + 1)
    running = asyncio.ensure_future(calling)
    while not pool.intakes.of_servers._waiting:
        assert not running.done(), running
        await asyncio.sleep(0.01)
    held.end()
    return await running


@pytest.mark.parametrize("spec", TRANSPORTS, indirect=True)
async def test_a_large_answer_waits_for_its_place(spec):  # noqa: F811
    pool = Pool(POLICY)
    try:
        result = await waits(pool, spec, called(pool, spec, "wide text"))
        assert result.outcome == "ok"
    finally:
        await pool.close()


async def test_a_subscription_keeps_no_place():
    heard = asyncio.Event()

    async def listen(call, writer):
        await start_stream(writer)
        for method in [*["notifications/strange"] * 30, "notifications/tools/list_changed"]:
            params = {"said": "x" * (LARGE // 25)}
            await call.send({"jsonrpc": "2.0", "method": method, "params": params})
        await asyncio.Event().wait()

    async def large(call):
        return text("x" * 2 * LARGE)

    async with FakeMcp(eras=("modern",), tools={"large": (large, OBJECT)}) as fake:
        fake.capabilities["tools"] = {"listChanged": True}
        fake.faults["subscriptions/listen"] = listen
        pool = Pool(POLICY, on_list_changed=lambda *_: heard.set())
        await pool.info(spec_of(fake), 1)
        async with asyncio.timeout(60):
            await heard.wait()
        result = await pool.call(spec_of(fake), 1, "large", {}, timeout=10)
        assert len(result["content"][0]["text"]) == 2 * LARGE
        await pool.close()


async def test_so_does_that_of_an_http_service():
    async def serve(reader, writer):
        await read_request(reader)
        await respond(writer, 200, {"said": "x" * 2 * LARGE})
        writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    operation = OperationSpec(method="GET", path="/a", base_url=url)
    tool = ToolSpec(id=1, server_id=1, name="a", alias="a", operation=operation)
    call = ToolCall(id="c", alias="a", round=1, tool=tool, server=server(), arguments={})
    pool = Pool(POLICY)
    async with listening:
        executed = await waits(pool, call.server, execute(call, pool, 1, timeout=60))
    assert executed.result.outcome == "ok"
    assert len(json.loads(executed.result.whole or executed.result.text)["said"]) > LARGE


def test_what_was_large_goes_back_to_the_system():
    """In a process with threads, each of which had something large for a moment."""
    grown = []
    for is_kept_little in (True, False):
        program = WORK.format(is_kept_little=is_kept_little)
        command = [sys.executable, "-c", program]
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
        grown.append(int(done.stdout))
    assert grown[0] <= 4, grown
