"""Several queues of one runner: their share of its places, who is woken, and a database that hangs."""

import asyncio
import contextlib
import threading

from runners import answer, beats, endless, named, until

from services import events
from services.specs import ToolCall, TurnResult
from services.turn.queue import runner as runner_module
from services.turn.queue.runner import Runner


def test_a_database_that_hangs_costs_the_others_nothing(store, start):
    hang = threading.Event()

    def blocked(*_args):
        hang.wait()
        return set()

    async def talk(request, progress, journal, _stop):
        if request.turn_id == 7:
            await endless()
        journal.emit(events.text("x", 0))
        await journal.save_step(progress)
        return TurnResult(state="done")

    store.append = store.load = store.heartbeat = blocked  # more than there are threads
    for turn_id in range(6):
        store.queue(turn_id)
    runner = start(talk, lease=0.3)
    store.wait(lambda s: all(turn["state"] == "running" for turn in s.turns.values()))
    other = named("other", 7, 8)
    runner.attach(other)
    try:
        beats(other)
        other.wait_ended(8, 30)
    finally:
        hang.set()


def test_a_claim_that_hangs_leaves_room_to_others(store, start):
    hang, both, asked = threading.Event(), threading.Event(), threading.Event()

    def claim(*_args):
        if both.is_set():
            asked.set()
            hang.wait()
        return []

    other = named("other")
    store.claim = claim
    runner = start(answer, capacity=2)
    runner.attach(other)
    until(lambda: len(runner.queues) == 2)
    both.set()
    try:
        until(lambda: runner.wake(store.name) or asked.is_set())
        other.queue(7)
        runner.wake(other.name)
        other.wait_ended(7, 30)
    finally:
        hang.set()


def test_who_is_let_go_while_it_waits_for_a_place_is_waited_for_by_nobody(store, start):
    go_on = threading.Event()

    async def hold(*_args):
        await asyncio.get_running_loop().run_in_executor(None, go_on.wait)
        return TurnResult(state="done")

    store.queue(1)
    runner = start(hold, capacity=1)
    store.wait(lambda s: s.turns[1]["state"] == "running")
    try:
        runner.attach(named("other", 7))
        until(lambda: "other" in runner._places.waiting())
        runner.detach("other")
        third = named("third", 8)
        runner.attach(third)
    finally:
        go_on.set()
    third.wait_ended(8, 10)


def test_capacity_counts_over_databases():
    """A claim takes a moment, in which another database must not fill the same places."""
    stores = [named(name, *range(6)) for name in ("a", "b", "c")]
    together = threading.Barrier(3)
    begun, over = [], threading.Event()

    def slowly(claim):
        def claim_together(*args):
            with contextlib.suppress(threading.BrokenBarrierError):
                together.wait(0.1)
            return claim(*args)

        return claim_together

    async def hold(*_args):
        begun.append(runner.count())
        await asyncio.get_running_loop().run_in_executor(None, over.wait)
        return TurnResult(state="done")

    runner = Runner(hold, str, capacity=4)
    for store in stores:
        store.claim = slowly(store.claim)
        runner._attach(store)
    runner.start()
    try:
        until(lambda: len(begun) == 4)
        over.set()
        for store in stores:
            for turn_id in range(6):
                store.wait_ended(turn_id)
        assert max(begun) == 4
    finally:
        over.set()
        runner.stop(0.5)


def test_only_the_queue_looks_in_which_there_may_be_work(store, start):
    looks = []

    def counted(of):
        claim = of.claim
        of.claim = lambda *args: looks.append(of.name) or claim(*args)
        return of

    def is_idle(name):
        return name in looks and runner.queues[name].wakeup._waiters

    counted(store)
    runner = start(answer)
    runner.attach(counted(named("other")))
    until(lambda: is_idle(store.name) and is_idle("other"))
    store.queue(1)
    runner.wake(store.name)
    store.wait_ended(1)
    until(lambda: looks.count(store.name) == 3)  # at first, when it is woken, after the turn
    runner.attach(store)  # it is served already: when it looks is up to `wake` and its delay
    runner.attach(counted(named("third")))
    until(lambda: "third" in looks)
    assert (looks.count(store.name), looks.count("other")) == (3, 1)


async def many_calls(request, progress, journal, _stop):
    """Twenty calls of one answer, begun at once; the first turn of all makes none."""
    if request.turn_id:
        wanted = [ToolCall(id=f"{request.turn_id}_{n}", alias="t", round=1) for n in range(20)]
        await journal.save_step(progress, tuple(wanted))
        await asyncio.gather(*(journal.begin_call(one) for one in wanted))
    return TurnResult(state="done", text="Hi")


def test_the_database_work_of_one_person_keeps_nobody_waiting(store, start):
    hang, held = threading.Event(), threading.Semaphore(0)

    def slow():
        held.release()
        hang.wait()

    store.on_begin_call = slow
    for turn_id in range(1, 11):
        store.queue(turn_id, person=1)
    start(many_calls)
    try:
        assert held.acquire(timeout=30)
        store.queue(0, person=2)
        store.wait_ended(0)
        assert not held.acquire(blocking=False), "one person has one of the threads at most"
    finally:
        hang.set()
    for turn_id in range(1, 11):
        store.wait_ended(turn_id)


def test_work_for_all_that_hangs_silences_nobody(store, start):
    """A sweep, or a claim, that waits for a lock keeps no text from being written, and the other way round."""
    hang, hangs = threading.Event(), threading.Event()

    def sweep():
        hangs.set()
        hang.wait()

    async def talk(_request, _progress, journal, stop):
        await asyncio.get_running_loop().run_in_executor(None, hangs.wait)
        journal.emit(events.text("x", 0))
        await stop.wait()
        return TurnResult(state="stopped")

    store.sweep = sweep
    store.queue(1)
    runner = start(talk, lease=0.3)
    try:
        store.wait(lambda s: "text" in s.types(1))
        store.queue(2)
        runner.wake(store.name)
        store.wait(lambda s: "text" in s.types(2))
    finally:
        hang.set()


def test_one_turn_writes_in_one_thread_at_a_time(store, start, monkeypatch):
    """Each write locks the turn's row: another thread would only wait for it, whatever a person's share is."""
    monkeypatch.setattr(runner_module, "SHORT_OF_ONE", runner_module.DB_THREADS)
    inside, most = [], []

    def count():
        inside.append(1)
        most.append(len(inside))
        threading.Event().wait(0.002)
        inside.pop()

    store.on_begin_call = count
    store.queue(1)
    start(many_calls)
    store.wait_ended(1)
    assert len(most) == 20
    assert max(most) == 1


def test_a_database_without_a_queue_keeps_no_thread(store, start):
    runner = start(answer)
    thread = runner.submit(runner.db("other", threading.current_thread)).result(5)
    until(lambda: not thread.is_alive())
    store.queue(1)
    runner.wake(store.name)
    store.wait_ended(1)
    assert any(store.name in thread.name for thread in threading.enumerate())
