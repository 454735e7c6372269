"""Two databases of one process with the very same server: the same id, address, key, person and conversation.

Whatever the pool keeps, nothing of the one is seen or touched by the other.
"""

import ast
import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import POLICY, spec_of

from services.errors import EngineError, ServerPaused, ServerRefused
from services.mcp.pool.pool import Pool

CONVERSATIONS = (5, "direct-2", "reply-2", "new-2")


@pytest.fixture
def databases(fake):
    return [
        spec_of(fake, database=database, api_key="same", person=2) for database in ("one", "two")
    ]


async def count(pool, spec, conversation=5):
    result = await pool.call(spec, conversation, "count", {}, timeout=60)
    return result["content"][0]["text"]


@pytest.mark.parametrize("conversation", CONVERSATIONS)
async def test_sessions_are_apart(fake, pool, databases, conversation):
    assert [await count(pool, spec, conversation) for spec in databases] == ["1", "1"]
    assert len(fake.sessions) == 2


async def test_two_servers_at_one_address_are_apart(fake, pool):
    assert [await count(pool, spec_of(fake)), await count(pool, replace(spec_of(fake), id=2))] == [
        "1",
        "1",
    ]


@pytest.mark.parametrize("end", ["drop", "release"])
async def test_who_ends_sessions_ends_its_own(fake, pool, databases, end):
    one, two = databases
    await count(pool, one)
    call = asyncio.create_task(pool.call(two, 5, "slow", {"seconds": 0.1}, timeout=60))
    await fake.until(lambda: any(name == "slow" for _, name, _ in fake.calls))
    if end == "drop":
        pool.drop("one", one.id)
    else:
        pool.release("one", 5)
    assert (await call)["content"][0]["text"] == "slept"
    assert pool.is_connected(two, 5) and not pool.is_connected(one, 5)


async def test_of_a_database_that_is_gone_nothing_is_known(fake, databases):
    one, two = databases
    pool = Pool(POLICY)
    assert [await count(pool, spec) for spec in databases] == ["1", "1"]
    running = asyncio.create_task(pool.call(one, 6, "slow", {"seconds": 30}, timeout=60))
    await fake.until(lambda: any(name == "slow" for _, name, _ in fake.calls))
    pool.process(one).on_output(b"from one")
    pool.leave("one")
    with pytest.raises(EngineError):
        await running
    assert pool.process(one).stderr == ""
    assert pool.is_connected(two, 5) and not pool.is_connected(one, 5)
    assert await count(pool, one) == "1", "the server of this id is another one now"
    await pool.close()


async def test_a_pause_and_its_end_are_of_one(fake, databases):
    one, two = databases
    told = []
    pool = Pool(POLICY, on_state=lambda spec, state, reason: told.append((spec.database, state)))
    fake.guard = lambda headers: (503, {})
    for _ in range(3):
        with pytest.raises(ServerRefused):
            await count(pool, one)
    with pytest.raises(ServerPaused):
        await count(pool, one)
    fake.guard = None
    assert await count(pool, two) == "1"
    pool.reset_breaker("two", two.id)
    with pytest.raises(ServerPaused):
        await count(pool, one)
    assert told == [("one", "open")]
    await pool.close()


async def test_neither_takes_the_places_of_the_other(fake, databases):
    one, two = databases
    pool = Pool(POLICY, max_sessions=4, share=2)
    slow = {"seconds": 30}
    running = [
        asyncio.create_task(pool.call(one, conversation, "slow", slow, timeout=30))
        for conversation in range(2)
    ]
    await fake.until(lambda: sum(name == "slow" for _, name, _ in fake.calls) == 2)
    with pytest.raises(EngineError) as caught:
        await pool.call(one, 9, "count", {}, timeout=0.1)
    assert caught.value.code == "pool_full"
    assert await count(pool, two) == "1"
    for task in running:
        task.cancel()
    await asyncio.wait(running)
    await pool.close()


async def test_what_is_known_of_a_program_is_of_one(pool, databases):
    one, two = (replace(spec, url="", command=("same",)) for spec in databases)
    pool.process(one).on_output(b"from one")
    assert pool.process(two).stderr == ""


ROOT = Path(__file__).parents[4]
SHARED = {  # what databases of a process may share, and why
    "runtime/turns/replays.py _names": "databases whose tests run, and are to be looked at again",
    "services/schemas/arguments.py _steps": "one check",
    "services/schemas/arguments.py _until": "one check",
    "services/money/budgets.py _zone": "time zones of the world",
    "services/net/resolver.py _of_loops": "public names; shares are by database and server",
    "services/toolset/words.py stem": "what is left of a word",
    "services/documents/reader.py _places": "how many files are read at once, and for whom of which database",
    "services/traces.py _current": "the span of one task",
    "services/traces.py _installed": "who is told of all of them, by name only where the operator says so",
    "services/sandbox/bubblewrap.py _probe": "whether this host allows sandboxes",
    "services/large.py _worker": "one thread that reads large bodies, one after another",
    "tools/db.py _pools": "everything in it is by database",
    "services/render/formulas.py mathml": "drawings of formulas, which tell nobody whose they were",
    "services/render/markdown.py _parser": "parsers, which keep nothing of a text",
    "tools/db.py _thread": "whether its thread may sleep, nothing of a database",
    "runtime/turns/streams.py _backlogs": "everything in it is by database",
    "runtime/turns/listener.py _readers": "how many connections at once, nothing else",
    "runtime/turns/listeners.py _registry": "everything in it is by database, notes of the channel by its secret name",
    "runtime/traces/collector.py _collector": "the operator's collector, as traces.py",
    "runtime/process.py _process": "everything in it is by database",
    "tools/db.py _writer": "one task, the turn that it writes for",
    "runtime/web/client_listen.py _watches": "everything in it is by database",
    "tools/host.py _installed": "the host, which is told the database",
    "tools/notify.py _process_id": "what the process is called among all others",
    "tools/settings.py _made_key": "when the process looks again for its own key file",
    "tools/server_files.py _known": "the operator's file",
    "tools/server_files.py _lock": "the same",
    "runtime/servers/tokens.py _owner": "one task",
    "tools/rehearsal.py _local": "one thread, while it rehearses a change",
    "tools/rehearsal.py _lock": "held while the sandbox is set up, once a process",
}
HARMLESS = {"_logger", "_lt"}


def state_of(path):
    """Names of a module that are no constants, and functions that remember."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef) and node.args.args:
            cached = [ast.unparse(decorator) for decorator in node.decorator_list]
            if any("cache" in decorator for decorator in cached):
                yield node.name
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(
            node.value, ast.Call | ast.Dict | ast.List | ast.Set
        ):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for name in (target.id for target in targets if isinstance(target, ast.Name)):
                is_state = name.lstrip("_")[:1].islower() and name not in HARMLESS
                if is_state:
                    yield name


def test_nothing_else_is_shared():
    found = {
        f"{path.relative_to(ROOT)} {name}"
        for folder in ("services", "tools", "runtime")
        for path in sorted((ROOT / folder).rglob("*.py"))
        if "testing" not in path.parts
        for name in state_of(path)
    }
    assert found == set(SHARED)
