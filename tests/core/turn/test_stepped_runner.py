"""The runner on a loop that somebody else turns, as a simulation does: no thread, no clock of its own."""

import asyncio
import concurrent.futures
import threading

from runners import answer

from services.turn.runner import Runner


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
    runner = Runner(answer, str, loop=loop, executor=lambda _name: AtOnce(), clock=lambda: 7.0)
    store.queue(1)
    runner.attach(store)
    loop.run_until_complete(until(lambda: 1 in store.endings))
    assert store.endings[1].usage["duration_ms"] == 0
    assert set(threading.enumerate()) <= before
    loop.run_until_complete(runner.drain(0.1))
    loop.close()


def test_one_beat_of_the_heart_is_enough(store):
    async def endless(*_args):
        await asyncio.Event().wait()

    loop = asyncio.new_event_loop()
    runner = Runner(endless, str, loop=loop, executor=lambda _name: AtOnce())
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
