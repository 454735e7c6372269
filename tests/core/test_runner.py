"""The runner with an engine of a few lines and a queue in memory."""

import asyncio
import logging
import os
import threading
import time

import pytest
from memory_store import MemoryStore

from services.errors import LlmRateLimited
from services.runner import MAX_EPOCH, Runner
from services.specs import CallResult, Limits, ToolCall, TurnResult


@pytest.fixture
def store():
    return MemoryStore()


@pytest.fixture
def start(store):
    runners = []

    def start_runner(engine, **options):
        runner = Runner(engine, lambda text: f"<p>{text}</p>", **options)
        runner.attach(store)
        runners.append(runner)
        return runner

    yield start_runner
    for runner in runners:
        runner.stop(0.1)


async def answer(_request, progress, journal, _stop):
    journal.emit("text", content="Hel", step=0)
    journal.emit("text", content="lo", step=0)
    progress.step = 1
    await journal.save_step(progress)
    return TurnResult(state="done", text="Hello")


def test_runs_a_turn_to_its_end(store, start):
    store.queue(1)
    start(answer)
    ending = store.wait_ended(1)
    assert (ending.state, ending.html) == ("done", "<p>Hello</p>")
    assert store.types(1) == ["state", "state", "text", "done"]
    assert store.events[1][3]["content"] == "Hello", "deltas are coalesced"
    assert sorted(store.events[1]) == [1, 2, 3, 4], "no gap in the numbers"


def test_text_is_on_disk_while_the_turn_goes_on(store, start):
    go_on = threading.Event()

    async def slow(_request, _progress, journal, _stop):
        journal.emit("text", content="thinking", step=0)
        await asyncio.get_running_loop().run_in_executor(None, go_on.wait)
        return TurnResult(state="done")

    store.queue(1)
    start(slow)
    store.wait(lambda s: "text" in s.types(1))
    assert 1 not in store.endings
    go_on.set()
    store.wait_ended(1)


def test_many_turns_share_one_thread(store, start):
    together = asyncio.Event()
    names = set()
    waiting = []

    async def meet(request, *_rest):
        names.add(threading.current_thread().name)
        waiting.append(request.turn_id)
        if len(waiting) == 20:
            together.set()
        await together.wait()
        return TurnResult(state="done")

    for turn_id in range(20):
        store.queue(turn_id)
    start(meet)
    for turn_id in range(20):
        store.wait_ended(turn_id)
    assert len(names) == 1


def test_capacity_is_kept(store, start):
    at_once, most = [], []

    async def count(request, *_rest):
        at_once.append(request.turn_id)
        most.append(len(at_once))
        await asyncio.sleep(0)
        at_once.remove(request.turn_id)
        return TurnResult(state="done")

    for turn_id in range(10):
        store.queue(turn_id)
    start(count, capacity=2)
    for turn_id in range(10):
        store.wait_ended(turn_id)
    assert max(most) <= 2


def test_stop_reaches_the_engine(store, start):
    async def until_stopped(_request, _progress, journal, stop):
        journal.emit("text", content="…", step=0)
        await stop.wait()
        return TurnResult(state="stopped", text="so far")

    store.queue(1)
    runner = start(until_stopped)
    store.wait(lambda s: "text" in s.types(1))
    runner.request_stop("memory", 1)
    assert store.wait_ended(1).state == "stopped"


def test_who_lost_the_lease_writes_nothing_more(store, start):
    stolen = threading.Event()
    after = []

    async def robbed(_request, progress, journal, _stop):
        journal.emit("text", content="before", step=0)
        await asyncio.get_running_loop().run_in_executor(None, stolen.wait)
        journal.emit("text", content="after", step=0)
        try:
            await journal.save_step(progress)
        finally:
            after.append("tried")
        return TurnResult(state="done")

    store.queue(1)
    runner = start(robbed)
    store.wait(lambda s: "text" in s.types(1))
    store.steal(1)
    stolen.set()
    while runner.count():
        pass
    assert after == ["tried"]
    assert store.types(1) == ["state", "state", "text"]
    assert 1 not in store.endings


def test_the_heartbeat_ends_what_another_runner_took(store, start):
    begun, cancelled = threading.Event(), threading.Event()

    async def endless(*_args):
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise

    store.queue(1)
    start(endless, lease=0.15)
    assert begun.wait(5)
    store.steal(1)
    assert cancelled.wait(5)
    assert 1 not in store.endings


def test_a_failure_ends_the_turn_with_its_code(store, start):
    async def busy(*_args):
        return TurnResult(state="failed", error=LlmRateLimited(), text="half")

    store.queue(1)
    start(busy)
    ending = store.wait_ended(1)
    assert (ending.state, ending.error_code) == ("failed", "llm_rate_limited")
    assert ending.html == "<p>half</p>", "what was said is kept"


def test_a_bug_says_nothing_of_its_inside(store, start, caplog):
    async def broken(*_args):
        raise RuntimeError("password=hunter2")

    store.queue(1)
    with caplog.at_level(logging.ERROR):
        start(broken)
        ending = store.wait_ended(1)
    assert ending.error_code == "internal_error"
    assert "hunter2" not in ending.error_message
    assert "hunter2" in caplog.text


def test_goes_on_when_the_database_comes_back(store, start):
    begun = threading.Event()

    async def patient(_request, progress, journal, _stop):
        begun.set()
        while not store.away:
            await asyncio.sleep(0)
        await journal.save_step(progress)
        return TurnResult(state="done", text="ok")

    store.queue(1)
    start(patient)
    assert begun.wait(5)
    store.away = True
    threading.Timer(0.3, lambda: setattr(store, "away", False)).start()
    assert store.wait_ended(1).state == "done"


def test_a_stopping_runner_gives_its_turns_back(store, start):
    async def endless(*_args):
        await asyncio.Event().wait()

    store.queue(1)
    runner = start(endless)
    store.wait(lambda s: s.turns[1]["state"] == "running")
    runner.stop(0.1)
    assert store.turns[1]["state"] == "queued"
    start(answer)
    assert store.wait_ended(1).state == "done"


def test_a_call_in_flight_becomes_unknown_and_is_not_repeated(store, start):
    executed = []
    call = ToolCall(id="call_1", alias="x", round=1, arguments={})

    async def calls_once(_request, progress, journal, _stop):
        if not progress.messages:
            progress.messages.append({"role": "assistant", "content": ""})
            await journal.save_step(progress, (call,))
        verdict = await journal.begin_call(call)
        if verdict.kind == "run":
            executed.append(1)
            await asyncio.Event().wait()
        assert verdict.result.outcome == "unknown"
        return TurnResult(state="done")

    store.queue(1)
    first = start(calls_once)
    store.wait(lambda s: s.calls.get("call_1", {}).get("epoch"))
    first.stop(0.1)
    start(calls_once)
    store.wait_ended(1)
    assert executed == [1]
    assert store.types(1).count("tool_result") == 1


def test_a_process_that_stood_still_before_a_call_asks_again(store, start):
    """The lease may be over: whoever took the turn has said that the call is unknown."""
    executed = []
    call = ToolCall(id="call_1", alias="x", round=1, arguments={})

    async def freeze():
        time.sleep(0.1)  # what SIGSTOP does to the loop

    def stand_still():
        store.steal(1)
        runner.submit(freeze())
        time.sleep(0.02)

    async def one_call(_request, progress, journal, _stop):
        await journal.save_step(progress, (call,))
        await journal.begin_call(call)
        executed.append(1)
        return TurnResult(state="done")

    store.on_begin_call = stand_still
    store.queue(1)
    runner = start(one_call, lease=0.15)
    store.wait(lambda s: s.turns[1]["owner"] == "thief")
    while runner.count():
        pass
    assert not executed


def test_a_claim_whose_answer_was_lost_is_left_to_the_sweep(store, start):
    """The commit arrived, the connection broke: nobody runs the turn, so nobody may keep it."""

    async def endless(*_args):
        await asyncio.Event().wait()

    def claim(*args):
        del store.claim  # only the first time
        store.claim(*args)
        raise ConnectionError

    store.claim = claim
    store.queue(1)
    runner = start(endless, lease=0.1)
    store.wait(lambda s: s.turns[1]["owner"] == runner.id)
    store.queue(2)
    runner.wake()
    store.wait(lambda s: {claim.turn_id for claim in s.kept} == {2})


def test_a_turn_that_no_runner_survives_is_ended(store, start):
    store.queue(1)
    store.turns[1]["epoch"] = MAX_EPOCH
    start(answer)
    ending = store.wait_ended(1)
    assert (ending.state, ending.error_code) == ("failed", "internal_error")


def test_a_database_that_is_away_costs_the_others_nothing(store, start):
    async def endless(*_args):
        await asyncio.Event().wait()

    store.queue(1)
    runner = start(endless, lease=0.3)
    other = MemoryStore()
    other.name = "other"
    other.queue(7)
    runner.attach(other)
    other.wait(lambda s: s.kept)
    other.away = True
    store.kept.clear()
    store.wait(lambda s: s.kept)
    store.kept.clear()
    store.wait(lambda s: s.kept)


def test_each_call_has_its_event_before_it_starts(store, start):
    seen = []
    call = ToolCall(id="call_1", alias="x", round=1, arguments={"a": 1})

    async def one_call(_request, progress, journal, _stop):
        await journal.save_step(progress, (call,))
        seen.extend(store.types(1))
        await journal.begin_call(call)
        await journal.end_call(call, CallResult(outcome="ok", text="1", duration_ms=5))
        return TurnResult(state="done")

    store.queue(1)
    start(one_call)
    store.wait_ended(1)
    assert "tool_call" in seen
    result = next(e for e in store.events[1].values() if e["type"] == "tool_result")
    assert result == {
        "type": "tool_result",
        "id": "call_1",
        "tool": "x",
        "result": "1",
        "is_error": False,
        "outcome": "ok",
        "duration_ms": 5,
        "truncated": False,
        "attachments": [],
    }


def test_a_child_process_makes_its_own(store, start):
    """A loop thread does not survive a fork: the child must be able to start one."""
    start(answer)
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        child = MemoryStore()
        child.queue(1)
        Runner(answer, str).attach(child)
        runner = Runner(answer, str)
        runner.attach(child)
        child.wait_ended(1)
        os.write(write, b"done")
        os._exit(0)
    os.waitpid(pid, 0)
    assert os.read(read, 4) == b"done"


def poisoned(store, monkeypatch, method):
    """As when PostgreSQL refuses a value: the write of turn 1 fails whenever it holds the poison."""
    inner = getattr(store, method)

    def write(*args):
        if "poison" in repr(args):
            raise ValueError("refused")
        return inner(*args)

    monkeypatch.setattr(store, method, write)


def test_events_that_cannot_be_written_cost_only_their_turn(store, start, monkeypatch, caplog):
    poisoned(store, monkeypatch, "append")
    both = asyncio.Barrier(2)

    async def speak(request, progress, journal, stop):
        await both.wait()
        journal.emit("text", content="poison" if request.turn_id == 1 else "fine", step=0)
        await asyncio.sleep(0.2)
        journal.emit("text", content="still here", step=0)
        return await answer(request, progress, journal, stop)

    store.queue(1)
    store.queue(2)
    runner = start(speak)
    assert store.wait_ended(2).state == "done"
    assert next(e["content"] for e in store.events[2].values() if e["type"] == "text") == "fine"
    assert 1 not in store.endings
    store.queue(3)
    store.queue(4)
    runner.wake()
    store.wait_ended(3)
    assert store.events[3][3]["content"] == "fine", "the writer lives"


def test_an_end_that_cannot_be_written_is_a_failed_turn(store, start, monkeypatch):
    poisoned(store, monkeypatch, "finish")

    async def speak(*_):
        return TurnResult(state="done", text="poison")

    store.queue(1)
    start(speak)
    ending = store.wait_ended(1)
    assert (ending.state, ending.error_code) == ("failed", "internal_error")


def test_a_turn_that_takes_too_long_is_ended(store, start):
    async def hang(*_):
        await asyncio.Event().wait()

    store.limits = Limits(turn_timeout=0.1)
    store.queue(1)
    start(hang)
    ending = store.wait_ended(1)
    assert (ending.state, ending.error_code) == ("failed", "turn_timeout")
