"""Calls of MCP clients that nobody waits for: tasks, and calls whose client has lost its line.

They run on the loop of the process that has begun them; their state is their row, which any process reads. What ends
the row elsewhere, such as ``tasks/cancel``, stops the call here soon after.
"""

import asyncio
import contextlib
import logging
import time
import uuid
from collections.abc import Iterator

from ...services.errors import ElicitationRequired, EngineError
from ...services.gateway import stream as wire
from ...services.mcp.session.elicitation import ElicitResult
from ...services.specs import CallResult, Executed
from ...tools import db
from .. import process
from .direct_call import CALL

_logger = logging.getLogger(__name__)

BEAT = 20.0  # s between two signs of life of a call
LOOK = 2.0  # s between two looks whether a call is still wanted, or over
ANSWER_LOOK = 0.5  # s between two looks whether a question was answered
ANSWER_TIME = 60.0  # s in which the user of a legacy client answers: the request keeps its thread
SILENCE = 15.0  # s between two comment lines


def begin(env, direct, task) -> None:
    """Make the call of a task after the commit.

    :param direct: `direct_call.Direct` whose row is there
    :param task: of the row
    """
    dbname, uid = env.cr.dbname, env.uid

    async def call(engine, runner):
        made = asyncio.ensure_future(
            engine.call(
                direct.call,
                f"direct-{uid}",
                direct.timeout,
                suspends=bool(task["shows"]),
                takes_task=True,
                resume=direct.resume,
            )
        )
        await follow(runner, dbname, direct.call.id, made)

    env.cr.postcommit.add(lambda: process.in_background(call))


async def follow(runner, dbname, call_id, made) -> None:
    """Wait for a call, and keep what became of it.

    :param made: future of an `Executed`; cancelled once nobody wants it any more
    """
    beat = float("-inf")
    while not made.done():
        look = _is_wanted
        if time.monotonic() - beat >= BEAT:
            beat, look = time.monotonic(), _keep_alive
        if not await runner.db(dbname, look, dbname, call_id):
            made.cancel()
            return
        await asyncio.wait({made}, timeout=LOOK)
    try:
        executed = made.result()
    except EngineError as error:
        executed = without_answer("unknown", str(error), error)
    await runner.db(dbname, end, dbname, call_id, executed, uuid.uuid4().hex)


def make(dbname, call_id, server, stream):
    """Make a task of a call that is on its way, or keep its result for a client that may resume its stream.

    :param stream: `services.gateway.stream.Stream`
    :return: `services.gateway.tasks.Task`, None where this user has too many, or the database is away
    """

    def work(env):
        row = _row(env, call_id)
        made = row and row._make_task(server, stream.shows, stream.resumes or ())
        return row._as_task() if made else None

    return _or_none(dbname, work)


def _or_none(dbname, work):
    try:
        return db.transaction(dbname, work)
    except db.DatabaseGone as error:
        _logger.info("A call is made without a task or question: %s", error)
        return None


def end_soon(dbname, call_id, executed) -> None:
    """Keep what became of a call, see `end`: now, or once the database is back."""
    run = uuid.uuid4().hex  # of both, as the answer to the first COMMIT may be lost
    try:
        end(dbname, call_id, executed, run)
    except db.DatabaseGone as error:
        _logger.info("The result of %s is kept later: %s", call_id, error)
        process.in_background(
            lambda _engine, runner: runner.db(dbname, end, dbname, call_id, executed, run)
        )


def end(dbname, call_id, executed, run) -> None:
    """Keep what became of a call of a client that may come back for it; questions of its server wait in its row.

    :param run: see `ToolCall._ask_client`
    """

    def work(env):
        row = _row(env, call_id)
        if not row:
            return
        error = executed.error
        shows = row.task["shows"] if row.task else ()
        if isinstance(error, ElicitationRequired) and row._ask_client(error, shows, run):
            return
        if row.task:
            row._end_task(executed)
        else:
            row._end_direct(executed.result)

    db.transaction(dbname, work)


def ask(dbname, call_id, wanted, shows):
    """Let a client that waits for its call pass on the questions of a server.

    :return: `services.gateway.questions.Asked`, None where it cannot
    """

    def work(env):
        row = _row(env, call_id)
        return row._questions_for_client() if row and row._ask_client(wanted, shows) else None

    return _or_none(dbname, work)


async def answer_of(runner, dbname, call_id, key, question, tell):
    """Ask a question that a legacy client shows its user, and wait for the answer; without one it is cancelled.

    :param key: of the question
    :param question: `ElicitRequest`
    :param tell: ``tell()`` sends the question; its row takes an answer before that, as any process may get it at once
    """
    await runner.db(dbname, _change, dbname, call_id, lambda row: row._hold_for_client(key))
    tell()
    until = time.monotonic() + ANSWER_TIME
    while time.monotonic() < until:
        await asyncio.sleep(ANSWER_LOOK)
        found = await runner.db(
            dbname, _change, dbname, call_id, lambda row: row._answer_held(key, question)
        )
        if found:
            with contextlib.suppress(ConnectionError):  # the answer is there all the same
                await runner.db(dbname, _change, dbname, call_id, lambda row: row._forget_held(key))
            return found
    return ElicitResult(action="cancel")


def replay(dbname, uid, lang, call_id, lifetime) -> Iterator[bytes]:
    """Events of a stream that a client resumes: the answer, once there is one.

    :param lifetime: s until the client has to come again
    """

    def look(env):
        row = _row(env(user=uid, context={"lang": lang}), call_id).sudo()
        return row._message_for_client() if row else None

    until, spoken = time.monotonic() + lifetime, float("-inf")
    while not (message := db.read_only(dbname, look)):
        if time.monotonic() >= until:
            yield wire.pause(f"{call_id}.0")
            return
        if time.monotonic() - spoken >= SILENCE:
            spoken = time.monotonic()
            yield wire.KEEPALIVE
        time.sleep(min(LOOK, max(0.0, until - time.monotonic())))
    yield wire.event(message, f"{call_id}.0")


def _change(dbname, call_id, work):
    return db.transaction(dbname, lambda env: work(_row(env, call_id)))


def without_answer(outcome, sentence, error=None):
    """`Executed` of a call that no server has answered."""
    result = CallResult(outcome=outcome, text=sentence, display=sentence)
    return Executed(result=result, error=error)


def _is_wanted(dbname, call_id):
    return db.read_only(dbname, lambda env: bool(_row(env, call_id).filtered(_is_open)))


def _keep_alive(dbname, call_id):
    """Give a sign of life; see `_is_wanted`."""
    return _change(dbname, call_id, lambda row: row._keep_alive())


def _is_open(row):
    return not row.outcome


def _row(env, call_id):
    return env[CALL].search([("call_id", "=", call_id)])
