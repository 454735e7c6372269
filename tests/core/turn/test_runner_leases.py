"""What a runner keeps and gives up: outages, a blocked loop, a slow database, people who decide often."""

import asyncio
import threading
import time

from runners import answer, beats, endless, until

from services import events
from services.specs import CallResult, Limits, ToolCall, TurnResult
from services.turn.ports import TurnsLocked
from services.turn.queue.turn_run import MAX_TRIES

CALL = ToolCall(id="call_1", alias="x", round=1, arguments={})


def test_a_blocked_loop_keeps_its_leases(store, start):
    begun, go_on = threading.Event(), threading.Event()

    async def blocking(*_args):
        begun.set()
        go_on.wait(10)  # no await: the loop stands still
        return TurnResult(state="done")

    store.queue(1)
    start(blocking, lease=0.2)
    assert begun.wait(5)
    beats(store, 5)
    go_on.set()
    assert store.wait_ended(1).state == "done"


def test_what_is_lost_is_kept_no_more(store, start):
    """The journal writes nothing more, so the turn must go to another runner."""
    refused = threading.Event()

    def append(batch):
        refused.set()
        return {claim for claim in batch if claim.turn_id == 1}

    async def talking(_request, _progress, journal, _stop):
        while True:
            journal.emit(events.text("x", 0))
            await asyncio.sleep(0.01)

    store.append = append
    store.queue(1)
    runner = start(talking, lease=1)
    assert refused.wait(5)
    until(lambda: not runner.count())
    store.queue(2)
    runner.wake(store.name)
    store.wait(lambda s: {claim.turn_id for claim in s.kept} == {2})


def test_an_outage_longer_than_the_lease_ends_nothing(store, start):
    """Nobody else could claim either; who holds the turn is for the database to say when it is back."""
    saved = []

    async def patient(_request, progress, journal, _stop):
        await journal.save_step(progress, (CALL,))
        await journal.begin_call(CALL)
        store.away = True
        threading.Timer(0.3, lambda: setattr(store, "away", False)).start()
        await journal.end_call(CALL, CallResult(outcome="ok", text="1"))
        saved.append(store.calls["call_1"]["result"].outcome)
        return TurnResult(state="done")

    store.queue(1)
    start(patient, lease=0.1)
    assert store.wait_ended(1).state == "done"
    assert saved == ["ok"]


def test_a_claim_whose_answer_was_lost_waits_for_no_lease(store, start):
    taken, claim = set(), store.claim

    def lost(*args):
        found = claim(*args)
        if new := {one.turn_id for one in found} - taken:
            taken.update(new)
            raise ConnectionError("the answer of COMMIT was lost")
        return found

    async def steady(_request, _progress, _journal, stop):
        await stop.wait()
        return TurnResult(state="stopped")

    store.claim = lost
    runner = start(steady, lease=3600)
    for turn in (1, 2):
        store.queue(turn)
        runner.wake(store.name)
        store.wait(lambda s, turn=turn: s.turns[turn]["epoch"] == 2, 10)
    assert store.turns[1]["epoch"] == 2, "what runs is not given back"


def test_who_was_taken_over_in_an_outage_hears_it(store, start):
    async def robbed(_request, progress, journal, _stop):
        store.away = True
        store.steal(1)
        threading.Timer(0.2, lambda: setattr(store, "away", False)).start()
        await journal.save_step(progress)
        raise AssertionError("written without a lease")

    store.queue(1)
    runner = start(robbed, lease=0.1)
    store.wait(lambda s: s.turns[1]["owner"] == "thief")
    until(lambda: not runner.count())
    assert 1 not in store.endings


def test_a_slow_database_does_not_keep_a_call_from_starting(store, start):
    asked, ran = [], []
    inner = store.begin_call

    def begin_call(*args):
        asked.append(1)
        time.sleep(0.5)  # more than a third of the lease
        return inner(*args)

    async def one_call(_request, progress, journal, _stop):
        await journal.save_step(progress, (CALL,))
        await journal.begin_call(CALL)
        ran.append(1)
        return TurnResult(state="done")

    store.begin_call = begin_call
    store.queue(1)
    start(one_call, lease=1.2)
    store.wait_ended(1)
    assert (ran, asked) == ([1], [1])


def test_a_database_that_needs_a_lease_for_each_answer_is_not_asked_for_ever(store, start):
    asked = []
    inner = store.begin_call

    def begin_call(*args):
        asked.append(1)
        time.sleep(0.06)
        return inner(*args)

    async def one_call(_request, progress, journal, _stop):
        await journal.save_step(progress, (CALL,))
        await journal.begin_call(CALL)
        raise AssertionError("called without a lease")

    store.begin_call = begin_call
    store.limits = Limits(turn_timeout=5)
    store.queue(1)
    runner = start(one_call, lease=0.05)
    until(lambda: len(asked) == 3 and not runner.count())
    assert len(asked) == 3


def test_a_turn_that_waits_for_people_often_is_not_called_deadly(store, start):
    rounds = MAX_TRIES + 2

    async def ask(_request, progress, journal, _stop):
        progress.round += 1
        return TurnResult(state="waiting" if progress.round < rounds else "done")

    def finish(claim, ending, events):
        inner(claim, ending, events)
        with store.changed:
            store.turns[1]["progress"] = ending.progress
            if ending.state == "waiting":  # the person decides at once
                del store.endings[1]
                store.turns[1]["state"] = "queued"

    inner, store.finish = store.finish, finish
    store.queue(1)
    start(ask)
    ending = store.wait_ended(1)
    assert (ending.state, store.turns[1]["epoch"]) == ("done", rounds)


def test_a_turn_that_is_handed_over_often_is_not_called_deadly(store, start):
    """A step may take longer than many deployments in a row."""
    store.queue(1)
    for epoch in range(1, MAX_TRIES + 2):
        runner = start(endless)
        store.wait(lambda s, epoch=epoch: s.turns[1]["epoch"] == epoch)
        runner.stop(0.1)
    start(answer)
    assert store.wait_ended(1).state == "done"


def test_what_a_refused_write_carried_is_not_lost(store, start):
    def end_call(*_args):
        raise ValueError("refused")

    async def one_call(_request, progress, journal, _stop):
        await journal.save_step(progress, (CALL,))
        await journal.begin_call(CALL)
        journal.emit(events.text("important", 0))
        await journal.end_call(CALL, CallResult(outcome="ok", text="1"))

    store.end_call = end_call
    store.queue(1)
    start(one_call)
    store.wait_ended(1)
    assert sorted(store.events[1]) == list(range(1, len(store.events[1]) + 1))
    assert "text" in store.types(1)


def test_a_write_that_was_cancelled_ends_all_the_same(store, start):
    """Its numbers are given out, and PostgreSQL may have them already."""

    async def impatient(_request, progress, journal, _stop):
        store.away = True
        saving = asyncio.ensure_future(journal.save_step(progress, (CALL,)))
        while not journal.lock.locked():
            await asyncio.sleep(0)
        saving.cancel()
        journal.emit(events.text("later", 0))
        await asyncio.sleep(0)
        store.away = False
        return TurnResult(state="done")

    store.queue(1)
    start(impatient)
    store.wait_ended(1)
    assert sorted(store.types(1)) == ["done", "state", "state", "text", "tool_call"]
    assert sorted(store.events[1]) == [1, 2, 3, 4, 5]


def test_a_turn_that_somebody_locks_does_not_silence_the_others(store, start):
    inner, refused = store.append, []

    def append(batch):
        locked = {claim for claim in batch if claim.turn_id == 1 and len(refused) < 5}
        refused.extend(locked)
        lost = inner({claim: events for claim, events in batch.items() if claim not in locked})
        if locked:
            raise TurnsLocked(locked, lost)
        return lost

    async def speak(request, progress, journal, stop):
        journal.emit(events.text(f"turn {request.turn_id}", 0))
        while request.turn_id == 1 and len(refused) < 5:
            await asyncio.sleep(0.01)
        return TurnResult(state="done")

    store.append = append
    store.queue(1)
    store.queue(2)
    start(speak)
    for turn_id in (2, 1):
        store.wait_ended(turn_id)
        assert store.types(turn_id) == ["state", "state", "text", "done"]
        assert sorted(store.events[turn_id]) == [1, 2, 3, 4]
