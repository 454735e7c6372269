"""The runner beside a database that is away or refuses, an engine with a bug, and its own end."""

import asyncio
import logging
import threading

import pytest
from memory_store import MemoryStore
from runners import answer, endless, until

from services import const, events
from services.errors import LlmRateLimited
from services.specs import CallResult, Limits, ToolCall, TurnResult
from services.turn.ports import NotNow
from services.turn.queue.queue_worker import TRIES
from services.turn.queue.turn_run import MAX_TRIES


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
    assert begun.wait(60)
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


def test_a_lost_claim_is_given_back_before_other_turns_end(store, start):
    """The answer of a claim is lost in the moment in which the process is asked to stop."""
    store.queue(1)
    runner = start(endless)
    store.wait(lambda s: s.turns[1]["state"] == "running")
    stopping, claim = threading.Thread(target=runner.stop, args=(5,)), store.claim

    def cut(*args):
        if not claim(*args):
            return []
        stopping.start()
        until(lambda: runner.is_stopping)
        raise ConnectionError("cut")

    store.claim = cut
    store.queue(2)
    runner.ring()
    until(lambda: store.turns[2]["epoch"])
    store.wait(lambda s: s.turns[2]["state"] == "queued", timeout=3)
    assert store.turns[1]["state"] == "running"
    stopping.join()


def test_what_runs_beside_the_turns_ends_with_the_runner(store, start):
    """It cleans up while there is a loop, and not when the interpreter throws it away."""
    began, ended = threading.Event(), threading.Event()

    async def beside():
        began.set()
        try:
            await asyncio.sleep(1_000)
        finally:
            await asyncio.sleep(0)
            ended.set()

    runner = start(answer)
    runner.submit(beside())
    assert began.wait(10)
    runner.stop(0.1)
    assert ended.is_set()


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


def test_a_turn_that_no_runner_survives_is_ended(store, start):
    loaded = []
    store.load = loaded.append  # which may be what they die of
    store.queue(1)
    store.turns[1]["epoch"] = MAX_TRIES
    start(answer)
    ending = store.wait_ended(1)
    assert (ending.state, ending.error_code) == ("failed", "internal_error")
    assert not loaded


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
        journal.emit(events.text("poison" if request.turn_id == 1 else "fine", 0))
        mate = 2 if request.turn_id == 1 else request.turn_id  # the events of 1 are never there
        while "text" not in store.types(mate):
            await asyncio.sleep(0.01)
        journal.emit(events.text("still here", 0))
        return await answer(request, progress, journal, stop)

    store.queue(1)
    store.queue(2)
    runner = start(speak)
    assert store.wait_ended(2).state == "done"
    assert next(e["content"] for e in store.events[2].values() if e["type"] == "text") == "fine"
    assert 1 not in store.endings
    store.queue(3)
    store.queue(4)
    runner.wake(store.name)
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


CALL = ToolCall(id="call_1", alias="x", round=1, arguments={})


async def one_call(_request, progress, journal, _stop):
    await journal.save_step(progress, (CALL,))
    await journal.begin_call(CALL)
    await journal.end_call(CALL, CallResult(outcome="ok", text="1"))
    return TurnResult(state="done", text="Hi")


@pytest.fixture
def refuse(store, monkeypatch):
    """``refuse(method, when)`` lets PostgreSQL refuse it each time; gives the list of these times."""
    monkeypatch.setattr(const, "DB_RETRY", 0.001)

    def refusing(method, when=lambda *_args: True):
        times, inner = [], getattr(store, method)

        def write(*args):
            if not when(*args):
                return inner(*args)
            times.append(args)
            raise NotNow("could not serialize access due to concurrent update")

        monkeypatch.setattr(store, method, write)
        return times

    return refusing


@pytest.mark.parametrize("method", ["load", "save_step", "begin_call", "end_call"])
def test_a_write_that_is_refused_each_time_ends_its_turn(store, start, refuse, method):
    """An outage passes; what others, or a limit, do to one statement may not."""
    times = refuse(method)
    store.queue(1)
    start(one_call, lease=0.3)
    ending = store.wait_ended(1)
    assert (ending.state, ending.error_code, len(times)) == ("failed", "internal_error", TRIES)
    assert sorted(store.events[1]) == list(range(1, len(store.events[1]) + 1))


def test_an_end_that_is_refused_each_time_is_a_failed_turn(store, start, refuse):
    """What follows a message, such as an automation, is in the way, and may have effects each time."""
    times = refuse("finish", lambda _claim, ending, _events: ending.html)
    store.queue(1)
    start(one_call, lease=0.3)
    ending = store.wait_ended(1)
    assert (ending.state, ending.error_code, len(times)) == ("failed", "internal_error", TRIES)


def test_a_turn_that_cannot_be_ended_is_let_go(store, start, refuse):
    times = refuse("finish")
    store.queue(1)
    runner = start(one_call, lease=0.3)
    until(lambda: times and not runner.count(), 30)
    assert len(times) == 3 * TRIES


def test_an_outage_may_last_longer_than_any_tries(store, start, monkeypatch):
    monkeypatch.setattr(const, "DB_RETRY", 0.001)
    times = []

    def load(claim):
        times.append(claim)
        if len(times) < 5 * TRIES:
            raise ConnectionError("away")
        return inner(claim)

    inner, store.load = store.load, load
    store.queue(1)
    start(one_call, lease=0.3)
    assert store.wait_ended(1).state == "done"


@pytest.mark.parametrize("error", [NotNow, ConnectionError])
def test_who_stops_does_not_wait_for_a_turn_to_be_loaded(store, start, error):
    tried = threading.Event()

    def load(_claim):
        tried.set()
        raise error

    store.load = load
    store.queue(1)
    runner = start(one_call, lease=3600)
    assert tried.wait(30)
    runner.request_stop(store.name, 1)
    assert store.wait_ended(1).state == "stopped"


def test_a_turn_that_takes_too_long_is_ended(store, start):
    async def hang(*_):
        await asyncio.Event().wait()

    store.limits = Limits(turn_timeout=0.1)
    store.queue(1)
    start(hang)
    ending = store.wait_ended(1)
    assert (ending.state, ending.error_code) == ("failed", "turn_timeout")
