"""Tests of assistants, on the runner's loop: several side by side, each claimed with a lease of its own.

A replay leaves nothing behind but its result, so one whose process has died begins again elsewhere.
"""

import asyncio
import contextlib
import logging

from ...services import concurrency
from ...services.errors import EngineError
from ...services.records.errors import RecordError
from ...services.replay import replay
from ...services.specs import CallResult
from ...services.turn.ports import StoreGone
from ...tools import db, settings
from ..records import executor

_logger = logging.getLogger(__name__)

RESULT = "woow_paas_platform.assistant_test_result"
TABLE = RESULT.replace(".", "_")
LANE = "tests"  # threads of their own: reading what a replay needs takes long
BEATS = 3  # of one lease


class _Names:
    """Databases whose tests this process runs."""

    def __init__(self):
        self.busy: set[str] = set()
        self.asked: set[str] = set()  # again, meanwhile


_names = concurrency.renewed(_Names())


class ReplayStore:
    """Results of tests in PostgreSQL, as jobs; each method is one short transaction of its own."""

    def __init__(self, dbname: str):
        self.name = dbname
        self.lease = settings.get().lease_seconds

    def claim(self):
        """See `AssistantTestResult._claim`."""
        # Which other processes run counts, so one claims at a time.
        return db.transaction(self.name, lambda env: env[RESULT]._claim(self.lease), alone=TABLE)

    def load(self, result_id: int):
        """Read what the replay needs in a transaction that is rolled back, see `AssistantTest._replay_spec`.

        :return: the `ReplaySpec`, the user's id and the access to records, by model
        """

        def work(env):
            result = env[RESULT].browse(result_id)
            spec, access = result._replay_spec()
            return spec, result.test_id.user_id.id, access

        return db.undone(self.name, work)

    def extend(self, result_id: int, epoch: int) -> bool:
        return db.transaction(
            self.name, lambda env: env[RESULT].browse(result_id)._extend(epoch, self.lease)
        )

    def read_records(self, user_id: int, access, call) -> CallResult:
        """Carry out a call that only reads; PostgreSQL refuses whatever would write.

        :raises RecordError: it was not carried out
        """

        def work(env):
            user = env["res.users"].browse(user_id)
            companies = user._woow_ai_companies(None)
            return executor.read_for(env, user, companies, access, call.tool.name, call.arguments)

        return db.read_only(self.name, work)

    def finish(self, result_id: int, epoch: int, found) -> None:
        """See `AssistantTestResult._finish`. One at a time: the last result of a run ends it."""
        db.transaction(
            self.name, lambda env: env[RESULT].browse(result_id)._finish(epoch, found), alone=TABLE
        )


async def run_all(engine, loop, store):
    """Run what waits, as much at once as may be, until nothing is left for this process."""
    if store.name in _names.busy:
        _names.asked.add(store.name)
        return
    _names.busy.add(store.name)
    running: set[asyncio.Task] = set()
    try:
        while True:
            _names.asked.discard(store.name)
            claimed = await loop.db(store.name, store.claim)
            if isinstance(claimed, float):
                await asyncio.sleep(claimed)
            elif claimed is not None:
                running.add(loop.spawn(_run(engine, loop, store, *claimed)))
            elif running:
                _done, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            elif store.name not in _names.asked:
                return
    finally:
        _names.busy.discard(store.name)


async def _run(engine, loop, store, result_id, epoch):
    """Run one replay while this process holds it; a lost or stopped one ends at once."""
    stop = asyncio.Event()
    beating = loop.spawn(_beat(loop, store, result_id, epoch, stop))
    try:
        try:
            found = await _replay(engine, loop, store, result_id, stop)
        except StoreGone:
            return
        except EngineError as error:
            found = {"failures": [str(error)]}
        except Exception:
            _logger.exception("Test result %s of %s failed unexpectedly.", result_id, store.name)
            found = {"failures": [str(EngineError())]}
        if found is not None:
            await loop.db(store.name, store.finish, result_id, epoch, found)
    finally:
        beating.cancel()


async def _replay(engine, loop, store, result_id, stop):
    """:return: see `AssistantTestResult._finish`; None if it was stopped"""
    spec, user_id, access = await loop.once(store.name, store.load, result_id, lane=LANE)

    async def live(call):
        try:
            return await loop.once(
                store.name, store.read_records, user_id, access, call, lane=LANE, person=user_id
            )
        except ConnectionError as error:
            raise RecordError(str(error)) from error

    limit = spec.request.limits.turn_timeout * (1 + len(spec.questions)) + replay.JUDGE_TIMEOUT
    try:
        async with asyncio.timeout(limit):
            outcome = await replay.run(spec, engine.run, live, engine.reply, engine.ledger, stop)
    except TimeoutError as error:
        raise EngineError(replay.TOO_LONG) from error
    if outcome.is_stopped:
        return None
    seen = outcome.seen
    return {
        "failures": list(outcome.failures),
        "answer": seen.answer,
        "verdict": outcome.verdict,
        "calls": seen.calls,
        "tokens": seen.tokens,
        "seconds": seen.seconds,
    }


async def _beat(loop, store, result_id, epoch, stop):
    """Extend the lease, and set `stop` when it is lost or the run was stopped."""
    while not stop.is_set():
        await asyncio.sleep(store.lease / BEATS)
        with contextlib.suppress(
            ConnectionError
        ):  # who holds it, the database says when it is back
            try:
                is_held = await loop.db(store.name, store.extend, result_id, epoch)
            except StoreGone:
                is_held = False
            if not is_held:
                stop.set()
