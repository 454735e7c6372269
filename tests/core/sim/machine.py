"""What worlds stand on instead of the machine: its clock, its names, its garbage."""

import contextlib
import functools
import gc
import logging
import sys
import time
import uuid
import warnings
from types import SimpleNamespace
from unittest import mock

# Libraries that the engine imports on first use would keep the clock of the world in which that was.
import langsmith.run_helpers  # noqa: F401

from services.mcp.pool import pool
from services.turn import calls
from services.turn.steps import calling

from .record_try import WorldInterrupt
from .servers import MemorySession
from .wire import Refused

_engine = logging.getLogger("services")


@contextlib.contextmanager
def lent_to(world):
    """What the product asks the machine for is the world's: the time, names, the way to MCP servers, the log."""
    MemorySession.world = world
    names = SimpleNamespace(uuid4=lambda: uuid.UUID(int=world.rng.getrandbits(128)))
    log = _Log(world)
    _engine.addHandler(log)
    try:
        with (
            mock.patch.object(time, "monotonic", world.clock),
            mock.patch.object(calling, "uuid", names),
            mock.patch.object(calls, "Interrupt", functools.partial(WorldInterrupt, world)),
            mock.patch.object(pool.connect, "open_session", open_session),
        ):
            yield
    finally:
        _engine.removeHandler(log)
        MemorySession.world = None


class _Log(logging.Handler):
    """What the engine calls an error is one: nothing that happens in a world is beyond it."""

    def __init__(self, world):
        super().__init__(logging.ERROR)
        self._world = world

    def emit(self, record):
        error = record.exc_info[1] if record.exc_info else None
        cause = error and error.__cause__  # an `OutcomeUnknown` has one
        if isinstance(error, Refused) or isinstance(cause, Refused):  # the plan's own
            return
        self._world.broken.append((record.getMessage(), repr(error)))


@contextlib.contextmanager
def quiet():
    """Worlds run in here. Nothing of them is collected meanwhile, because when that happens depends on the machine;
    what is left of them goes at the end, without a word of the tasks that it cuts."""
    level, propagate = logging.root.manager.disable, _engine.propagate
    logging.disable(logging.WARNING)
    _engine.propagate = False
    gc.freeze()
    gc.disable()
    try:
        with (
            mock.patch.object(sys, "unraisablehook", lambda _: None),
            warnings.catch_warnings(action="ignore"),
        ):
            yield
            logging.disable(logging.CRITICAL)
            while gc.collect():  # a task that is cut makes what is left for the next time
                pass
    finally:
        gc.enable()
        gc.unfreeze()
        _engine.propagate = propagate
        logging.disable(level)


async def open_session(spec, policy, *, first=None, on_begun=None, **options):
    session = MemorySession(spec, policy, "streamable_http", **options)
    if on_begun:
        on_begun(session)
    await session.opened()
    return session
