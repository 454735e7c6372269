"""Tool calls of a route that waits for the result: written down first, made after the commit.

`retrying` may run an endpoint up to five times, so nothing happens in it but reading and one row. The call
is made when WSGI asks the response for its body: the transaction is committed and the request's cursor is
closed by then. The request keeps its thread, waits for the runner's loop, and finishes in a new cursor.
"""

import json
import logging

from odoo import fields
from odoo.http import Response
from odoo.tools import json_default

from ..services import text
from ..services.errors import EngineError
from ..services.specs import CallResult, Executed
from . import db, process

_logger = logging.getLogger(__name__)

CALL = "woow_paas_platform.tool_call"


class AfterCommit(Response):
    """A JSON response that is made when the request's transaction is over.

    :param work: returns (data, status); runs once, without a cursor, a request's environment or a retry
    """

    def __init__(self, work):
        super().__init__(headers={"Content-Type": "application/json; charset=utf-8"})
        self._work = work

    def __call__(self, environ, start_response):
        data, status = self._work()
        self.status_code = status
        self.data = json.dumps(text.storable(data), ensure_ascii=False, default=json_default)
        return super().__call__(environ, start_response)


def respond(env, call, answer, *, timeout, values=None):
    """Call a tool for the current user; the caller has checked that this user may.

    :param call: a frozen `services.specs.ToolCall`
    :param answer: ``answer(executed)`` gives (data, status), see `services.specs.Executed`
    :param timeout: seconds
    :param values: more columns of the audit row
    """
    dbname, uid = env.cr.dbname, env.uid
    record(env, call, values)

    def work():
        executed = make(dbname, uid, call, timeout)
        return answer(executed)

    return AfterCommit(work)


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
                "server_name": call.server.name if call.server else False,
                "arguments": text.storable(call.arguments or {}),
                "started_at": False if result else fields.Datetime.now(),
                **(values or {}),
            }
        )
    )
    if result:
        row._end_direct(result)
    return row


def make(dbname, uid, call, timeout):
    """Make the call on the loop and close its row.

    :return: `services.specs.Executed`, whatever happened
    """
    try:
        executed = process.wait_for(
            lambda engine: engine.call(call, f"direct-{uid}", timeout), timeout
        )
    except EngineError as error:
        result = CallResult(outcome="unknown", text=str(error), display=str(error))
        executed = Executed(result=result, error=error)
    try:
        db.transaction(
            dbname,
            lambda env: env[CALL].search([("call_id", "=", call.id)])._end_direct(executed.result),
        )
    except db.DatabaseGone:
        # The cron calls it unknown; who asked gets the result all the same.
        _logger.exception("The result of the direct call %s could not be kept.", call.id)
    return executed
