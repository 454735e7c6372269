"""Servers as processes of ours: what they see, what they leave behind, and what happens when they crash."""

import asyncio
import json
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import POLICY

from services.errors import ConfigError, ConnectFailed, EngineError, ServerPaused, ServerTimeout
from services.mcp.discovery.diagnose import diagnose
from services.mcp.discovery.discovery import discover
from services.mcp.pool.pool import Pool
from services.mcp.transport import stdio
from services.specs import ServerSpec

ROOT = Path(__file__).parents[4]
SERVER = """
import json, os, subprocess, sys

helper = subprocess.Popen(["sleep", "1000"])
print("started", file=sys.stderr, flush=True)

def answer(message):
    if message["method"] == "initialize":
        return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                "serverInfo": {"name": "bare", "version": "1"}}
    tool = message["params"]["name"]
    if tool == "crash":
        print("going down", file=sys.stderr, flush=True)
        os._exit(3)
    said = {"pids": [os.getpid(), helper.pid], "environment": dict(os.environ)}
    return {"content": [{"type": "text", "text": json.dumps(said)}]}

for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        reply = {"jsonrpc": "2.0", "id": message["id"], "result": answer(message)}
        print(json.dumps(reply), flush=True)
helper.wait()  # a server that does not end by itself
"""
SAYS = """
import json, sys

def answer(message):
    return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
            "serverInfo": {"name": "bare", "version": "1"}, "content": []}

def serve():
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:
            reply = {"jsonrpc": "2.0", "id": message["id"], "result": answer(message)}
            print(json.dumps(reply), flush=True)
"""
ENDS = {
    "by itself": (SAYS + "serve(); print('saved', file=sys.stderr)", "saved"),
    "when it is asked to": (
        SAYS
        + """
import signal, time
def end(*_):
    print('saved', file=sys.stderr, flush=True)
    sys.exit()
signal.signal(signal.SIGTERM, end)
serve()
time.sleep(1000)
""",
        "saved",
    ),
    "only when it is killed": (
        SAYS
        + """
import signal, time
signal.signal(signal.SIGTERM, lambda *_: print('I stay', file=sys.stderr, flush=True))
serve()
while True:
    time.sleep(1000)
""",
        "I stay",
    ),
}
LEAVES_OTHERS = (
    SAYS.replace('"content": []', '"content": [{"type": "text", "text": json.dumps(pids)}]')
    + """
import subprocess, time
code = (
    "import os, signal, sys, time\\n"
    "signal.signal(signal.SIGTERM, signal.SIG_IGN)\\n"
    "print(os.getpid(), flush=True)\\n"
    "if os.fork(): time.sleep(1000)\\n"
    "os.setsid()\\n"
    "print(os.getpid(), flush=True)\\n"
    "time.sleep(1000)\\n"
)
helper = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
pids = [int(helper.stdout.readline()) for _ in range(2)]
serve()
"""
)
STAYS = """
import signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
while True:
    time.sleep(1000)
"""


def spec_of(code=SERVER, **more):
    return ServerSpec(
        id=1, name="bare", command=(sys.executable, "-c", code), connect_timeout=20, **more
    )


@pytest.fixture(autouse=True)
def little_time(monkeypatch):
    """For programs to end; the machine may be slow, so a program that would end may not come to it."""
    monkeypatch.setattr(stdio, "EXIT_GRACE", 0.3)


@pytest.fixture
async def pool():
    pool = Pool(POLICY)
    yield pool
    await pool.close()


async def ask(pool, spec, tool="look"):
    result = await pool.call(spec, 1, tool, {}, timeout=60)
    return json.loads(result["content"][0]["text"])


def alive(pid):
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False


async def until_gone(pids):
    async with asyncio.timeout(60):
        while any(alive(pid) for pid in pids):
            await asyncio.sleep(0.02)


async def test_clean_environment_and_nothing_left(pool, monkeypatch):
    monkeypatch.setenv("PGPASSWORD", "secret")
    monkeypatch.setenv("WOOW_AI_SECRET_KEY", "secret")
    said = await ask(pool, spec_of(env={"TOKEN": "its own"}))
    assert said["environment"]["TOKEN"] == "its own"
    assert "secret" not in said["environment"].values()
    assert pool.process(spec_of()).stderr == "started\n"
    await pool.close()
    await until_gone(said["pids"])


async def test_no_orphan_after_kill_9():
    code = f"""
        import asyncio, os, signal, sys
        sys.path.insert(0, {str(ROOT)!r})
        from services.net.egress import EgressPolicy
        from services.mcp.pool.pool import Pool
        from services.specs import ServerSpec

        async def main():
            command = (sys.executable, "-c", {SERVER!r})
            spec = ServerSpec(id=1, name="bare", command=command, connect_timeout=20)
            result = await Pool(EgressPolicy()).call(spec, 1, "look", {{}}, timeout=60)
            print(result["content"][0]["text"], flush=True)
            os.kill(os.getpid(), signal.SIGKILL)

        asyncio.run(main())
    """
    done = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=40,
    )
    assert done.returncode == -9, done.stderr
    await until_gone(json.loads(done.stdout)["pids"])


@pytest.mark.parametrize("how", ENDS)
async def test_how_a_program_ends(pool, monkeypatch, how):
    monkeypatch.setattr(stdio, "EXIT_GRACE", 20 if how == "by itself" else 0.05)
    monkeypatch.setattr(stdio, "TERM_GRACE", 0.3 if how == "only when it is killed" else 20)
    code, last = ENDS[how]
    spec = spec_of(code)
    await pool.call(spec, 1, "any", {}, timeout=20)
    (session,) = pool._alive
    pool.release(spec.database, 1)
    await session.closed(20)
    assert pool.process(spec).last_output == last


@pytest.mark.parametrize("then", ["", STAYS])
async def test_nothing_that_a_program_has_started_is_left(pool, monkeypatch, then):
    """Neither who ignores SIGTERM, nor a daemon with a session of its own; and all are reaped."""
    monkeypatch.setattr(stdio, "TERM_GRACE", 0.1)
    monkeypatch.setattr(stdio, "KILL_GRACE", 20)
    spec = spec_of(LEAVES_OTHERS + then)
    pids = await ask(pool, spec)
    assert all(alive(pid) for pid in pids)
    (session,) = pool._alive
    pool.release(spec.database, 1)
    await session.closed(20)
    assert [pid for pid in pids if Path(f"/proc/{pid}").exists()] == []


async def test_closing_the_pool_waits_for_no_program(monkeypatch):
    monkeypatch.setattr(stdio, "EXIT_GRACE", 1000)
    monkeypatch.setattr(stdio, "TERM_GRACE", 1000)
    monkeypatch.setattr("services.mcp.pool.pool.CLOSE_TIMEOUT", 0.1)
    pool = Pool(POLICY)
    said = await ask(pool, spec_of())
    async with asyncio.timeout(20):
        await pool.close()
        await until_gone(said["pids"])


async def test_a_program_that_does_not_start_in_time(pool):
    spec = replace(spec_of("import time; time.sleep(1000)"), connect_timeout=0.2)
    with pytest.raises(ServerTimeout, match="did not start in time") as caught:
        await ask(pool, spec)
    assert "start_timeout" in str(caught.value) and "address" not in str(caught.value)


async def test_what_a_program_says_last_stands_beside_the_error(pool):
    code = "import os, sys; sys.exit('no licence for ' + os.environ['KEY'])"
    spec = spec_of(code, env={"KEY": "s3cret-key"}, secrets=("s3cret-key",))
    with pytest.raises(ConnectFailed) as caught:
        await ask(pool, spec)
    assert "no licence" not in str(caught.value), "people who chat are not told"
    assert caught.value.full_message() == (
        "The program of this MCP server exited before it answered. Last output: no licence for •••"
    )
    diagnosis = await diagnose(spec, POLICY)
    assert diagnosis.steps[0].message == caught.value.full_message()


async def test_the_output_of_an_earlier_process_is_not_its_last_output(pool):
    process = stdio.Process()
    process.on_output(b"from before")
    process.forget_output()
    assert process.last_output == "" and process.stderr == "from before"
    process.on_output(b"x" * 1000 + b" end")
    assert process.last_output.endswith("end") and len(process.last_output) <= 300


async def test_what_a_program_says_as_its_database_rests_is_told_to_nobody(monkeypatch):
    """Whoever writes it down would load the database again."""
    monkeypatch.setattr(stdio, "STDERR_DELAY", 0.01)
    told = []
    pool = Pool(POLICY, on_stderr=lambda spec, said: told.append((spec.database, said)))
    rests, works = (pool.process(spec_of(database=database)) for database in ("rests", "works"))
    rests.on_output(b"Here I am.")
    pool.leave("rests")
    rests.on_output(b"Good night.")
    works.on_output(b"Here I am, too.")
    while not told:
        await asyncio.sleep(0.01)
    assert told == [("works", "Here I am, too.")]


async def test_a_crash_is_named_and_the_next_call_starts_it_again(pool):
    spec = spec_of()
    first = await ask(pool, spec)
    with pytest.raises(EngineError) as caught:
        await ask(pool, spec, "crash")
    assert caught.value.code == "session_lost"
    second = await ask(pool, spec)
    assert first["pids"][0] != second["pids"][0]
    assert "going down" in pool.process(spec).stderr
    await until_gone(first["pids"])


async def test_a_process_that_crashes_again_and_again_is_left_alone(pool):
    spec = spec_of("import sys; sys.exit('no licence')")
    codes = []
    for _ in range(3):
        with pytest.raises(EngineError) as caught:
            await ask(pool, spec)
        codes.append(type(caught.value))
    assert codes == [ConnectFailed, ConnectFailed, ServerPaused]
    assert caught.value.retry_after <= 1 and "no licence" in pool.process(spec).stderr


async def test_a_command_that_is_not_there(pool):
    spec = ServerSpec(id=1, name="none", command=("no-such-command-here",))
    with pytest.raises(ConfigError, match="is not installed on this host"):
        await ask(pool, spec)


async def test_stderr_is_a_ring(pool):
    noise = "import sys; print('x' * 100_000, file=sys.stderr); print('last', file=sys.stderr)\n"
    spec = spec_of(noise + SERVER)
    await ask(pool, spec)
    said = pool.process(spec).stderr
    assert len(said) <= 16_000 and "last" in said


async def test_a_secret_that_a_process_writes_is_blotted_out(pool):
    code = "import os, sys; print('with', os.environ['DSN'], file=sys.stderr)\n" + SERVER
    spec = spec_of(code, env={"DSN": "db://u:s3cret@x"}, secrets=("db://u:s3cret@x", "s3cret"))
    await ask(pool, spec)
    assert "with •••" in pool.process(spec).stderr
    assert "s3cret" not in pool.process(spec).stderr


async def test_what_a_process_writes_is_told_a_moment_later(monkeypatch):
    monkeypatch.setattr(stdio, "STDERR_DELAY", 0.01)
    heard = asyncio.Queue()
    pool = Pool(POLICY, on_stderr=lambda spec, said: heard.put_nowait((spec.name, said)))
    spec = spec_of()
    await ask(pool, spec)
    async with asyncio.timeout(60):
        assert await heard.get() == ("bare", "started\n")
        with pytest.raises(EngineError):
            await ask(pool, spec, "crash")
        assert await heard.get() == ("bare", "started\ngoing down\n")
    await pool.close()


async def test_what_a_process_writes_before_it_fails_is_kept_by_a_sync(pool):
    spec = spec_of("import sys; sys.exit('no configuration')")
    with pytest.raises(EngineError):
        await discover(spec, POLICY, process=pool.process(spec))
    assert "no configuration" in pool.process(spec).stderr
