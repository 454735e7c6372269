"""Engines of a few lines for the runner, and what its tests wait for."""

import asyncio
import time

from memory_store import MemoryStore

from services import events
from services.specs import TurnResult


async def answer(_request, progress, journal, _stop):
    journal.emit(events.text("Hel", 0))
    journal.emit(events.text("lo", 0))
    progress.step = 1
    await journal.save_step(progress)
    return TurnResult(state="done", text="Hello")


async def endless(*_args):
    await asyncio.Event().wait()


def named(name, *turns):
    store = MemoryStore()
    store.name = name
    for turn_id in turns:
        store.queue(turn_id)
    return store


def until(condition, timeout=5):
    end = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.01)


def beats(store, times=2):
    """Wait until the leases of a store were extended so often."""
    for _ in range(times):
        with store.changed:
            store.kept.clear()
        store.wait(lambda s: s.kept)
