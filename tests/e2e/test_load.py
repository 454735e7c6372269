"""Many people at once, on the processes that Odoo has in production: two workers and the gevent process."""

import asyncio
import collections
import concurrent.futures
import contextlib
import json
import os
import random
import re
import signal
import threading
import time
from pathlib import Path

import httpx
import pytest
from chat import Chat, calls, first, of, text_of, then
from counter import count
from waiting import PATIENCE, eventually

from dev.checks import testbed
from dev.progress import DevError

TAIPEI = ("time__get_current_time", {"timezone": "Asia/Taipei"})
SEED = 20_260
CUTS = 100
BURST = 300
# By Odoo, since it stood still.
KILLED = re.compile(r"WorkerHTTP \((\d+)\) timeout")
REPLACED = re.compile(r"Worker \((\d+)\) exiting")


def cookie_of(odoo, login="user"):
    return odoo.session(login).cookies["session_id"]


def test_thirty_turns_at_once_while_pages_answer(odoo_prefork, scripted_llm):
    odoo = odoo_prefork
    scripted_llm.script(
        first("busy", calls(TAIPEI), latency=100),
        then("busy", {"content": "word " * 120}, latency=60, chunkSize=20),
    )
    chats = [Chat(odoo) for _chat in range(30)]
    turns = [chat.ask("busy") for chat in chats]
    running, pages = 30, 0
    while running:
        assert httpx.get(f"{odoo.url}/web/login", timeout=PATIENCE).status_code == 200
        pages += 1
        open_turns = "SELECT COUNT(*) FROM woow_paas_platform_ai_turn WHERE ended_at IS NULL"
        running = int(odoo.sql(open_turns))
    assert pages >= 5, "pages wait for turns"
    for turn in turns:
        events = turn.events()
        assert (events[-1]["type"], events[-1]["state"]) == ("done", "done")
        assert [event["outcome"] for event in of(events, "tool_result")] == ["ok"]
        assert text_of(events).split() == ["word"] * 120


def test_a_line_cut_anywhere_goes_on_with_the_identical_events(odoo_prefork, scripted_llm):
    """100 times: read some events, hang up in the middle of a byte stream, resume from what was seen."""
    odoo = odoo_prefork
    random_ = random.Random(SEED)
    words = " ".join(f"word{number}" for number in range(300))
    scripted_llm.script(
        first("cut", calls(TAIPEI)), then("cut", {"content": words}, latency=30, chunkSize=12)
    )
    turn = Chat(odoo).ask("cut")

    def reader(cuts):
        seen = []
        client = httpx.Client(
            base_url=odoo.url, cookies={"session_id": cookie_of(odoo)}, timeout=PATIENCE
        )
        with client:
            while not seen or seen[-1][1]["type"] not in ("done", "error"):
                # After some bytes the line is cut, often within an event.
                room = random_.randint(20, 1500) if cuts > 0 else 10**9
                cuts -= 1
                seen += part_of(client, turn.url, seen[-1][0] if seen else 0, room)
        return seen, cuts

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        live = list(pool.map(reader, [CUTS // 4] * 4))
    whole = turn.numbered()
    assert [seq for seq, _payload in whole] == list(range(1, len(whole) + 1))
    for seen, left in live:
        assert seen == whole
        assert left < 0, "the turn ended before all cuts were made"
    assert text_of([payload for _seq, payload in whole]) == words


def part_of(client, url, after, room):
    """The whole events within the first `room` bytes."""
    with client.stream("GET", url, headers={"Last-Event-ID": str(after)}) as answer:
        assert answer.status_code == 200
        data = b""
        for chunk in answer.iter_raw():
            data += chunk
            if len(data) >= room:
                data = data[:room]
                break
    return list(events_in(data))


def events_in(data):
    for block in data.split(b"\n\n")[:-1]:  # what follows the last empty line is not whole
        fields = dict(line.split(b": ", 1) for line in block.split(b"\n") if b": " in line)
        if b"data" in fields:
            yield int(fields[b"id"]), json.loads(fields[b"data"])


@pytest.mark.parametrize("start", ["cold", "warm"])
def test_a_burst_of_streams_is_let_in_or_told_to_wait(bursting_odoo, scripted_llm, start):
    odoo = bursting_odoo
    scripted_llm.script(first("burst", {"content": "word " * 40}, latency=100, chunkSize=5))
    turn = Chat(odoo).ask("burst")
    with concurrent.futures.ThreadPoolExecutor(
        1
    ) as pool:  # browser tests leave a loop in this thread
        bursting = pool.submit(asyncio.run, burst(odoo, turn.url, BURST))
        statuses, sequences = bursting.result()
    whole = turn.numbered()
    assert set(statuses) <= {200, 503}, statuses
    assert statuses[200] >= BURST * 0.9
    for sequence in sequences:
        assert sequence == whole


@pytest.fixture(scope="module")
def bursting_odoo(new_odoo):
    """The gevent process has not served anything when the first test begins."""
    return new_odoo("burst", workers=2, operator={"streams_per_person": BURST})


async def burst(odoo, url, number):
    """Open `number` streams at the same moment at the gevent port; who gets 503 is told when to come back."""
    statuses, sequences = collections.Counter(), []
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(
        base_url=odoo.gevent_url,
        cookies={"session_id": cookie_of(odoo)},
        timeout=PATIENCE,
        limits=limits,
    ) as client:

        async def one():
            async with client.stream("GET", url) as answer:
                statuses[answer.status_code] += 1
                body = await answer.aread()
                if answer.status_code == 200:
                    sequences.append(list(events_in(body)))
                elif answer.status_code == 503:
                    assert int(answer.headers["retry-after"]) > 0

        await asyncio.gather(*(one() for _stream in range(number)))
    return statuses, sequences


def test_a_stream_on_a_worker_closes_at_once(odoo_prefork, scripted_llm):
    """Without the proxy's rule for streams nothing is pinned: the browser comes again after half a second."""
    odoo = odoo_prefork
    scripted_llm.script(first("pinned", {"content": "word " * 60}, latency=100, chunkSize=10))
    turn = Chat(odoo).ask("pinned")
    turn.until("text")
    with httpx.Client(
        base_url=f"http://127.0.0.1:{odoo.process.http_port}",
        cookies={"session_id": cookie_of(odoo)},
    ) as client:
        answer = client.get(turn.url)
        assert answer.text.startswith("retry: 500\n\n")
        assert "data: " in answer.text and '"done"' not in answer.text
        assert turn.state() == "running"
        assert turn.numbered(http=client) == turn.numbered()


class TestLimits:
    """Odoo replaces its workers after some requests and kills those that stand still; turns go on."""

    @pytest.fixture(scope="class")
    def limited(self, new_odoo, counter):
        server = new_odoo(
            "limited",
            workers=2,
            # A cron worker sleeps for a minute, longer than this limit.
            options={
                "limit_request": 10,
                "limit_time_real": 20,
                "limit_time_real_cron": 120,
            },
            operator={"lease_seconds": 12},
        )
        counter.register(server)
        return server

    def test_a_worker_that_is_replaced_ends_its_calls(self, limited, scripted_llm, counter):
        names = [f"recycled{number}x" for number in range(8)]
        for name in names:
            scripted_llm.script(
                first(name, calls(count(name, 1.5))),
                then(name, {"content": "Counted."}),
            )
        turns = [Chat(limited).ask(name) for name in names]
        # Not longer: on a busy machine new workers would be replaced before they can do anything.
        while limited.log_text().count("max request") < 2:
            assert httpx.get(f"{limited.url}/web/login", timeout=PATIENCE).status_code == 200
        for name, turn in zip(names, turns, strict=True):
            assert turn.wait_ended() == "done"
            (result,) = of(turn.events(), "tool_result")
            assert (result["outcome"], counter.executions(name)) == ("ok", 1)

    def test_a_turn_may_take_longer_than_a_request(self, limited, scripted_llm):
        """The time limit of requests is 20 s: no worker is killed for a turn of 22 s."""
        scripted_llm.script(
            first("patience", {"content": "word " * 220}, latency=200, chunkSize=10)
        )
        before = len(limited.log_text())
        turn = Chat(limited).ask("patience")
        begun = time.monotonic()
        assert turn.wait_ended() == "done"
        assert time.monotonic() - begun > 20
        # Its worker may have answered enough requests meanwhile: then another one goes on, and on a busy machine
        # the one that ends needs longer than this limit.
        said = limited.log_text()[before:]
        assert set(KILLED.findall(said)) <= set(REPLACED.findall(said))

    def test_a_direct_call_ends_before_its_worker_is_killed(self, limited, counter):
        """The tool may take 30 s, a request 20 s: the call ends in between, and no worker does."""
        body = {"toolName": "count", "arguments": {"id": "endless", "until": "never"}}
        client = limited.session("user")
        before = len(limited.log_text())
        answer = client.post("/api/mcp/execute-tool", json=body)
        assert answer.status_code == 200
        assert answer.json()["outcome"] in ("timeout", "unknown")  # which, a busy processor decides
        assert counter.executions("endless") == 1
        assert not KILLED.search(limited.log_text()[before:])

    def test_turns_of_a_killed_worker_need_no_request(self, limited, scripted_llm):
        """And those that were queued before a start need none."""
        scripted_llm.script(first("killed", {"content": "word " * 600}, latency=100, chunkSize=10))
        turn = Chat(limited).ask("killed")
        turn.until("text")
        os.kill(int(turn.value("split_part(lease_owner, ':', 2)")), signal.SIGKILL)
        eventually(lambda: turn.value("lease_epoch") == "2")
        limited.kill9()
        turn.give_back()
        limited.process.stop()
        limited.process.start()
        eventually(lambda: turn.value("lease_epoch") == "3")
        limited.process.wait()
        turn.stop()


def test_workers_share_what_their_master_has_imported(odoo_prefork):
    """Each of them would take seconds and some 100 MB to import the libraries of models by itself."""
    libraries = Path(f"/proc/{odoo_prefork.process.pid}/maps").read_text()
    assert "/_tiktoken." in libraries


@pytest.fixture
def separate(demo_template, demo_facts, tmp_path):
    """A threaded Odoo and the PostgreSQL of its own that it uses."""
    with testbed.apart(demo_template, tmp_path / "pg") as source:
        server = testbed.OdooServer(source, "separate", environment=demo_facts)
        server.start()
        yield server
        server.stop()


def test_a_restart_of_postgresql_loses_nothing(separate, scripted_llm, counter):
    """Two turns are between their calls, two readers are connected; the database goes and comes back."""
    odoo = separate
    counter.register(odoo)
    for name in ("before", "during"):
        scripted_llm.script(
            first(name, calls(("counter__count", {"id": name, "until": f"{name}.go"}))),
            then(name, {"content": "word " * 100}, latency=60, chunkSize=20),
        )
    chats = {name: Chat(odoo) for name in ("before", "during")}
    turns = {name: chat.ask(name) for name, chat in chats.items()}
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        readers = {name: pool.submit(read_on, odoo, turn) for name, turn in turns.items()}
        counter.release("before.go")
        turns["before"].until("text")
        eventually(lambda: counter.executions("during") == 1)
        odoo.instance.postgres.restart()
        counter.release("during.go")
        for name, turn in turns.items():
            seen = readers[name].result(PATIENCE)
            assert seen == turn.numbered()
            events = [payload for _seq, payload in seen]
            assert (events[-1]["type"], events[-1]["state"]) == ("done", "done")
            assert [event["outcome"] for event in of(events, "tool_result")] == ["ok"]
            assert text_of(events).split() == ["word"] * 100
            assert counter.executions(name) == 1


def test_a_backend_that_is_killed_ends_no_turn(separate, scripted_llm):
    """As by a kernel without memory: PostgreSQL starts anew, and to who uses its socket it says so without a code."""
    odoo = separate
    odoo.expect_log("psycopg2|bad query|unusable|in cron")
    idle = (
        f"SELECT pid FROM pg_stat_activity WHERE datname = '{odoo.db}' AND state = 'idle' LIMIT 1"
    )
    scripted_llm.script(first("go on", {"content": "word " * 300}, latency=60, chunkSize=20))
    turns = [Chat(odoo).ask("go on") for _ in range(4)]
    for turn in turns:
        turn.until("text")
    said, ended = collections.Counter(), threading.Event()

    def idle_backend():
        with contextlib.suppress(DevError):  # it starts again
            return odoo.sql(idle)

    def ask():
        with httpx.Client(base_url=odoo.url, cookies={"session_id": cookie_of(odoo)}) as client:
            while not ended.is_set():
                answer = client.get("/api/ai/assistants", timeout=60)
                # What Odoo itself says, before it knows whose route it is, is a page.
                is_ours = answer.headers["content-type"].startswith("application/json")
                said[answer.status_code if is_ours else "Odoo"] += 1

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        asking = [pool.submit(ask) for _ in range(2)]
        try:
            for _kill in range(4):
                os.kill(int(eventually(idle_backend)), signal.SIGKILL)
            eventually(idle_backend)
            states = [turn.wait_ended() for turn in turns]
        finally:
            ended.set()
        for one in asking:
            one.result()
    assert states == ["done"] * len(turns)
    assert [turn.value("lease_epoch") for turn in turns] == ["1"] * len(turns)
    assert len(scripted_llm.requests()) == len(turns), "no model was asked again"
    assert 500 not in said and said[200], said


def read_on(odoo, turn):
    """What a browser does: go on from the last event, also after a failed request."""
    seen = []
    # As patient as a browser: a stream that stays open has to go on by itself.
    session = {"session_id": cookie_of(odoo)}
    with httpx.Client(base_url=odoo.url, cookies=session, timeout=60) as client:
        until = time.monotonic() + PATIENCE
        while not seen or seen[-1][1]["type"] not in ("done", "error"):
            assert time.monotonic() < until
            try:
                seen += part_of(client, turn.url, seen[-1][0] if seen else 0, 10**9)
            except (httpx.TransportError, AssertionError):
                time.sleep(0.1)
    return seen


def test_a_process_that_has_not_chatted_has_loaded_no_langchain(odoo):
    loaded = odoo.shell(
        "import sys\n"
        "names = ('langchain_core', 'langchain_openai', 'langchain_mcp_adapters', 'openai', 'mcp')\n"
        "result = [name for name in names if name in sys.modules]"
    )
    assert loaded == []
