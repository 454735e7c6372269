"""The runner with an engine of a few lines and a queue in memory."""

import asyncio
import os
import threading
import time

from memory_store import MemoryStore
from runners import answer

from services import const, events
from services.specs import CallResult, ToolCall, TurnResult
from services.turn.queue.runner import Runner


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
        journal.emit(events.text("thinking", 0))
        await asyncio.get_running_loop().run_in_executor(None, go_on.wait)
        return TurnResult(state="done")

    store.queue(1)
    start(slow)
    store.wait(lambda s: "text" in s.types(1))
    assert 1 not in store.endings
    go_on.set()
    store.wait_ended(1)


def test_the_first_words_do_not_wait_for_what_follows_them(store, start, monkeypatch):
    monkeypatch.setattr(const, "TEXT_FLUSH_INTERVAL", 3600.0)
    go_on = threading.Event()

    async def talks(_request, _progress, journal, _stop):
        await asyncio.get_running_loop().run_in_executor(None, began.wait)
        for word in ("At once", ", later", " and later"):
            journal.emit(events.text(word, 0))
            await asyncio.get_running_loop().run_in_executor(None, written.wait)
        await asyncio.get_running_loop().run_in_executor(None, go_on.wait)
        return TurnResult(state="done")

    began, written = threading.Event(), threading.Event()
    store.queue(1)
    start(talks)
    store.wait(lambda s: len(s.types(1)) == 2)
    began.set()
    store.wait(lambda s: "text" in s.types(1))
    written.set()
    assert store.events[1][3]["content"] == "At once"
    go_on.set()
    store.wait_ended(1)
    assert store.events[1][4]["content"] == ", later and later"


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
        journal.emit(events.text("…", 0))
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
        journal.emit(events.text("before", 0))
        await asyncio.get_running_loop().run_in_executor(None, stolen.wait)
        journal.emit(events.text("after", 0))
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
    assert begun.wait(60)
    store.steal(1)
    assert cancelled.wait(60)
    assert 1 not in store.endings


def test_a_process_that_stood_still_before_a_call_asks_again(store, start):
    """The lease may be over: whoever took the turn has said that the call is unknown."""
    executed = []
    call = ToolCall(id="call_1", alias="x", round=1, arguments={})

    async def freeze():
        time.sleep(0.16)  # longer than the lease, as after SIGSTOP

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
    assert result == {"type": "tool_result", "id": "call_1"}, "the store writes what it has kept"
    assert store.calls["call_1"]["result"].text == "1"


def test_files_are_read_before_the_turn_begins(store, start):
    reading, go_on, seen = threading.Event(), threading.Event(), []

    def read():
        reading.set()
        go_on.wait()

    async def look(*_args):
        seen.append(store.unread)
        return TurnResult(state="done")

    store.unread, store.on_read_files = ["contract.pdf"], read
    store.queue(1)
    runner = start(look)
    assert reading.wait(60)
    store.unread, unread = [], store.unread
    store.queue(2)
    runner.wake(store.name)
    store.wait_ended(2)  # nobody waits for somebody else's files
    assert 1 not in store.endings
    store.unread = unread
    go_on.set()
    store.wait_ended(1)
    assert seen == [[], []]


def test_who_stops_does_not_wait_for_files(store, start):
    reading, go_on = threading.Event(), threading.Event()

    def read():
        reading.set()
        go_on.wait()

    async def stopped(_request, _progress, _journal, stop):
        return TurnResult(state="stopped" if stop.is_set() else "done")

    store.unread, store.on_read_files = ["contract.pdf"], read
    store.queue(1)
    runner = start(stopped)
    assert reading.wait(60)
    runner.request_stop(store.name, 1)
    try:
        assert store.wait_ended(1).state == "stopped"
    finally:
        go_on.set()


def test_of_a_queue_that_rests_no_thread_is_kept(store, start):
    """Whatever its tasks do just then."""

    async def end(name, steps):
        while not runner.queues[name].wakeup._waiters:  # until there is nothing to claim
            await asyncio.sleep(0)
        runner.ring()
        for _step in range(steps):
            await asyncio.sleep(0)
        runner.end(name)

    before = set(threading.enumerate())
    runner = start(answer, lease=3600)
    for steps in range(6):
        other = MemoryStore()
        other.name = f"resting after {steps}"
        other.queue(1)
        runner.attach(other)
        other.wait_ended(1)
        runner.submit(end(other.name, steps)).result(10)
    runner.detach("memory")
    until = time.monotonic() + 10
    while left := set(threading.enumerate()) - before - {runner._thread}:
        assert time.monotonic() < until, left
        time.sleep(0.01)


def test_a_child_process_makes_its_own(store, start):
    """A loop thread does not survive a fork: the child must be able to start one."""
    start(answer)
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        child = MemoryStore()
        child.queue(1)
        runner = Runner(answer, str)
        runner.start()
        runner.attach(child)
        child.wait_ended(1)
        os.write(write, b"done")
        os._exit(0)
    os.waitpid(pid, 0)
    assert os.read(read, 4) == b"done"
