"""Direct tool calls, of a route that waits for the result: written down first, made after the commit.

`retrying` may run an endpoint up to five times, so nothing happens in it but reading and one row. The call
is made when WSGI asks the response for its body: the transaction is committed and the request's cursor is
closed by then. The request keeps its thread, waits for the runner's loop, and finishes in a new cursor.
"""

import asyncio
import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from odoo import fields

from ...models.turn import tool_call
from ...services import text
from ...services.approval import hints, taint
from ...services.errors import EngineError
from ...services.records.errors import RecordError
from ...services.sentence import _lt
from ...services.specs import CallResult, Executed, ToolCall
from ...tools import db
from .. import process
from ..records import executor
from .after_commit import AfterCommit
from .slots import at_most

_logger = logging.getLogger(__name__)

CALL = "woow_paas_platform.tool_call"
# Columns that are read at a call's end.
AT_END = ["call_id", "outcome", "records", "started_at", "turn_id", "user_id"]
NO_RESULT = _lt("This call was not made.")
NO_TIME = _lt("There was no time left for this call beside the others. Make it again on its own.")


@dataclass(frozen=True, slots=True)
class Direct:
    """One call that is to be made.

    :ivar timeout: seconds, as far as a request may wait so long
    :ivar values: more columns of the audit row
    :ivar is_recorded: its audit row is there, since its user was asked about it
    :ivar resume: see `services.mcp.session.call_options.CallOptions`
    :ivar company_ids: in which it reads records, empty for all of the user's
    """

    call: ToolCall
    timeout: float
    values: Mapping[str, Any] = field(default_factory=dict)
    is_recorded: bool = False
    resume: Mapping[str, Any] | None = None
    company_ids: tuple[int, ...] = ()


def respond(env, direct, answer):
    """Make one call for the current user; the caller has checked that this user may.

    :param answer: ``answer(executed)`` gives (data, status), see `services.specs.Executed`
    """
    return respond_all(env, [direct], lambda executed: answer(executed[0]))


def respond_all(env, directs, answer, fail=None):
    """Make calls side by side, see `respond`.

    :param answer: gets what became of each, in their order
    :param fail: see `AfterCommit`
    """
    dbname, uid = env.cr.dbname, env.uid
    for direct in directs:
        if not direct.is_recorded:
            record(env, direct.call, direct.values)

    def turn_away(sentence):
        denied = CallResult(outcome="denied", text=sentence, display=sentence)
        close(dbname, {direct.call.id: denied for direct in directs})

    return AfterCommit(env, lambda: answer(make(dbname, uid, directs)), turn_away, fail=fail)


def record(env, call, values=None, result=None):
    """Write the audit row of a direct call; with a `result` it is over already.

    :return: the row
    """
    # sudo: tool_call - people have no write access; the row is bound to the caller
    row = (
        env[CALL]
        .sudo()
        .create(
            {
                "user_id": env.uid,
                "call_id": call.id,
                "tool_name": call.tool.name if call.tool else call.alias,
                "title": call.tool.title if call.tool else False,
                "server_name": call.server_name or False,
                "arguments": text.storable(call.arguments or {}),
                "started_at": False if result else fields.Datetime.now(),
                **(values or {}),
            }
        )
    )
    if result:
        row._end_direct(result)
    return row


def make(dbname, uid, directs):
    """Make the calls and close their rows: those of servers on the loop, those on records here, one after the other.

    :return: `services.specs.Executed` of each, whatever happened
    """
    if not directs:
        return []
    of_records = [direct for direct in directs if direct.call.tool.records]
    made = _call_servers(uid, [direct for direct in directs if direct not in of_records])
    made |= _read_all(dbname, uid, of_records)
    sources = {
        direct.call.id: _source(direct.call, made[direct.call.id].result)
        for direct in directs
        if direct.call.server
    }
    close(dbname, {call_id: one.result for call_id, one in made.items()}, sources)
    return [made[direct.call.id] for direct in directs]


def _source(call, result):
    """Source of a server's result, as the server was trusted when it was asked."""
    return taint.source_of(hints.read(call.tool.annotations), call.server.trust_level, result.text)


def _call_servers(uid, directs):
    """:return: what became of each, by the call's id"""
    if not directs:
        return {}

    async def call_all(engine):
        return await asyncio.gather(
            *(
                engine.call(direct.call, f"direct-{uid}", at_most(direct.timeout))
                for direct in directs
            )
        )

    try:
        executed = process.wait_for(call_all, max(direct.timeout for direct in directs))
    except EngineError as error:
        result = CallResult(outcome="unknown", text=str(error), display=str(error))
        executed = [Executed(result=result, error=error)] * len(directs)
    return {direct.call.id: one for direct, one in zip(directs, executed, strict=True)}


def _read_all(dbname, uid, directs):
    """Make calls within the time of one of them, the first in any case, see `_call_servers`."""
    begun, made = time.monotonic(), {}
    for direct in directs:
        if made and time.monotonic() - begun > direct.timeout:
            late = CallResult(outcome="timeout", text=NO_TIME, display=NO_TIME)
            made[direct.call.id] = Executed(result=late)
        else:
            made[direct.call.id] = _read(dbname, uid, direct)
    return made


def _read(dbname, uid, direct):
    """Carry out a call that reads Odoo's records; PostgreSQL refuses whatever would write."""
    call = direct.call

    def work(env):
        user = env["res.users"].browse(uid)
        companies = user._woow_ai_companies(direct.company_ids)
        gateways = env["woow_paas_platform.gateway"].with_user(user)
        gateways = gateways.with_context(allowed_company_ids=companies.ids)
        # sudo: gateway - that of the call, which was found for this user
        gateway = gateways.browse(direct.values.get("gateway_id") or ()).sudo()
        access = gateway._record_access()
        return executor.read_for(env, user, companies, access, call.tool.name, call.arguments)

    try:
        result = db.read_only(dbname, work)
    except (RecordError, ConnectionError) as error:
        outcome = error.outcome if isinstance(error, RecordError) else "error"
        result = CallResult(outcome=outcome, text=str(error), display=str(error))
        return Executed(result=result, error=error)
    return Executed(result=result, raw={"content": [{"type": "text", "text": result.text}]})


def result_in(dbname, turn_id):
    """Result of the only call of a turn.

    :return: `CallResult`
    """

    def work(env):
        call = env[CALL].search([("turn_id", "=", turn_id)], order="id", limit=1)
        return call._as_result() if call.outcome else CallResult(outcome="unknown", text=NO_RESULT)

    return db.read_only(dbname, work)


def close(dbname, results, sources=None):
    """Keep what became of calls.

    :param results: ``{call id: CallResult}``
    :param sources: ``{call id: source}`` of results of servers, where they are known already
    """
    sources = sources or {}

    def keep_small(cr):
        return {one for one in sources if tool_call.end_small(cr, one, results[one], sources[one])}

    def keep():
        left = list(results.keys() - (db.raw(dbname, keep_small) if sources else set()))

        def keep_left(env):
            for row in env[CALL].search_fetch([("call_id", "in", left)], AT_END):
                row._end_direct(results[row.call_id], sources.get(row.call_id))

        if left:
            db.transaction(dbname, keep_left)

    try:
        keep()
    except db.DatabaseGone as error:
        # Who asked gets the results all the same; those of which nothing can be kept the cron calls unknown.
        _logger.info("The results of %s are kept later: %s", ", ".join(results), error)
        process.in_background(lambda _engine, runner: runner.db(dbname, keep))
