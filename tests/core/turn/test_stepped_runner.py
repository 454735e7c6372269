"""The runner on a loop that somebody else turns, as a simulation does: no thread, no clock of its own."""

import asyncio
import concurrent.futures
import threading

from runners import answer

from services.mcp.session.elicitation import ElicitRequest, ElicitResult
from services.specs import ToolCall, TurnResult
from services.turn.queue.runner import Runner

QUESTION = ElicitRequest(message="Who?", schema={})


class AtOnce(concurrent.futures.Executor):
    """Answers in the thread that asks."""

    def submit(self, function, *args):
        future = concurrent.futures.Future()
        future.set_running_or_notify_cancel()
        try:
            future.set_result(function(*args))
        except Exception as error:
            future.set_exception(error)
        return future


async def until(condition):
    while not condition():
        await asyncio.sleep(0.001)


def test_a_turn_runs_without_any_thread(store):
    before = set(threading.enumerate())
    loop = asyncio.new_event_loop()
    runner = Runner(
        answer, str, loop=loop, executor=lambda _name, _lane: AtOnce(), clock=lambda: 7.0
    )
    store.queue(1)
    runner.attach(store)
    loop.run_until_complete(until(lambda: 1 in store.endings))
    assert store.endings[1].usage["duration_ms"] == 0
    assert set(threading.enumerate()) <= before
    loop.run_until_complete(runner.drain(0.1))
    loop.close()


def ended(store, engine, clock):
    """How a turn ends, whoever else has run it before."""
    loop = asyncio.new_event_loop()
    runner = Runner(engine, str, loop=loop, executor=lambda _name, _lane: AtOnce(), clock=clock)
    store.endings.clear()
    runner.attach(store)
    loop.run_until_complete(until(lambda: 1 in store.endings))
    loop.run_until_complete(runner.drain(0.1))
    loop.close()
    return store.endings[1]


def test_what_a_person_takes_is_not_the_turns_duration(store):
    passed = [0.0]

    def ask(*_question):
        passed[0] += 60  # in which the person reads it, and answers
        return {"type": "input_required", "id": "q1"}

    async def asks_and_waits(_request, progress, journal, _stop):
        passed[0] += 2
        answer = await journal.ask(ToolCall(id="call_1", alias="x", round=1), QUESTION)
        assert answer.action == "accept"
        return TurnResult(state="done" if progress.usage else "waiting")

    store.ask = ask
    store.take_answer = lambda *_: (ElicitResult(action="accept"), {"type": "decided", "id": "q1"})
    store.queue(1)
    first = ended(store, asks_and_waits, lambda: passed[0])
    assert (first.state, first.usage["duration_ms"]) == ("waiting", 2_000)

    passed[0] += 3_600  # until the decision
    store.turns[1].update(state="queued", progress=first.progress)
    second = ended(store, asks_and_waits, lambda: passed[0])
    assert (second.state, second.usage["duration_ms"]) == ("done", 4_000)


def test_one_beat_of_the_heart_is_enough(store):
    async def endless(*_args):
        await asyncio.Event().wait()

    loop = asyncio.new_event_loop()
    runner = Runner(endless, str, loop=loop, executor=lambda _name, _lane: AtOnce())
    store.queue(1)
    runner.attach(store)
    loop.run_until_complete(until(runner.count))
    heartbeat = runner.queues["memory"].heartbeat
    heartbeat.beat()
    assert [claim.turn_id for claim in store.kept] == [1]
    store.steal(1)
    heartbeat.beat()
    loop.run_until_complete(until(lambda: not runner.count()))
    store.kept.clear()
    heartbeat.beat()
    assert not store.kept, "what is lost is not kept any more"
    loop.run_until_complete(runner.drain(0.1))
    loop.close()


def test_a_draining_runner_gives_back_to_a_database_that_was_away(store):
    async def endless(*_args):
        await asyncio.Event().wait()

    release, tries = store.release, []

    def away_at_first(*args):
        tries.append(args)
        if len(tries) == 1:
            raise ConnectionError("PostgreSQL is away")
        return release(*args)

    loop = asyncio.new_event_loop()
    runner = Runner(endless, str, loop=loop, executor=lambda _name, _lane: AtOnce())
    store.queue(1)
    runner.attach(store)
    loop.run_until_complete(until(runner.count))
    store.release = away_at_first
    loop.run_until_complete(runner.drain(0.1))
    loop.close()
    assert store.turns[1]["state"] == "queued"
