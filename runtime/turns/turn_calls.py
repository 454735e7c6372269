"""Calls of a held turn in PostgreSQL: asked for, begun, suspended, ended; each once."""

from dataclasses import replace

from odoo import fields
from odoo.tools import SQL

from ...services import text
from ...services.errors import TurnGone
from ...services.events import result_of
from ...services.specs import Verdict
from ...services.toolset import lookup
from ...services.turn import read_result, remember
from ...tools import db
from .turn_log import TurnLog

CALL = "woow_paas_platform.tool_call"
COST = "woow_paas_platform.cost"


class TurnCalls(TurnLog):
    """Part of the `Store`."""

    def save_step(self, claim, progress, calls, events) -> None:
        """Keep the progress, a row of each call that is not known yet, and `events`.

        A tool, server or action that was deleted meanwhile is left out of the row; the call is denied when
        it begins.
        """

        def work(env):
            turn = self._held(env, claim)
            turn._keep_progress(progress)
            env[COST]._settle_for(turn, progress.get("spent", ()))
            turn._close_entered()
            turn._tell_providers()
            found = env[CALL].search([("call_id", "in", [call.id for call in calls])])
            known = set(found.mapped("call_id"))
            origins = _existing(env, {call.id: _origin(call) for call in calls})
            env[CALL].create(
                [
                    {
                        "turn_id": turn.id,
                        "user_id": turn.user_id.id,
                        "call_id": call.id,
                        "round": call.round,
                        **origins[call.id],
                        "fixed": (call.tool.fixed_names if call.tool else None) or False,
                        "tool_name": call.tool.name if call.tool else call.alias,
                        "title": call.tool.title if call.tool else False,
                        "server_name": call.server_name or False,
                        "arguments": text.storable(call.arguments or {}),
                    }
                    for call in calls
                    if call.id not in known
                ]
            )
            env.flush_all()
            self._insert(env, {claim: events})

        db.transaction(self.name, work)

    def reserve(self, claim, request, spent=()) -> None:
        def settle(env):
            env[COST]._settle_for(self._held(env, claim), spent)

        def work(env):
            env[COST]._reserve_for(self._held(env, claim), request)

        if spent:  # a transaction of its own, which stays where the budget refuses the request
            db.transaction(self.name, settle)
        db.transaction(self.name, work)

    def begin_call(self, claim, call) -> Verdict:
        """Start the call, or say why not: every switch is read again in the transaction that records the start.

        A call that is over gives its result (done), one of ours its answer (answered). One that another
        claim has started is lost, unless it is harmless and may still run. Else the row decides, see
        `_may_start`: a call of another tool than the row's, or of one that is gone or has changed, is denied.
        Only "run" writes the start; asked again under the same claim, it is "run" again. Behind another one that waits
        it is "held" instead.
        The lease is renewed whatever becomes of it.

        :param call: `services.specs.ToolCall` that is to be made
        :raises TurnGone: the turn has no such call
        """

        def work(env):
            turn = self._held(env, claim)
            self._renew(env, claim)
            row = env[CALL].search([("call_id", "=", call.id), ("turn_id", "=", turn.id)])
            if not row:
                raise TurnGone
            if row.outcome:
                return Verdict(kind="done", result=row._as_result())
            if call.tool == read_result.TOOL:
                row.started_at = fields.Datetime.now()
                return Verdict(kind="answered", result=row._read_on())
            if call.tool in lookup.TOOLS:
                row.started_at = fields.Datetime.now()
                return Verdict(kind="run")
            if call.tool == remember.TOOL:
                return row._begin_remember(_origin(call))
            in_flight = row.started_at and row.started_epoch != claim.epoch
            if in_flight and not row.tool_id._may_repeat():
                return Verdict(kind="lost")
            verdict = row._may_start(_origin(call))
            if in_flight and verdict.kind == "deny":
                return Verdict(kind="lost")
            if verdict.kind == "run" and call.is_behind:
                return Verdict(kind="held")
            if verdict.kind != "run":
                return verdict
            if not row._is_one_transaction():  # those begin and end in it, see `RecordCalls`
                row.write({"started_at": fields.Datetime.now(), "started_epoch": claim.epoch})
            return replace(verdict, arguments=row._changed_arguments())

        return db.transaction(self.name, work)

    def suspend_call(self, claim, call_id: str, wanted, events) -> str:
        """The call ended with questions to the person: from now on it is not in flight, and its questions are open.

        Nobody is told of them before the turn waits. Repeated, it changes nothing.

        :return: empty, or why nobody can be asked; then nothing was changed
        """

        def work(env):
            self._held(env, claim)
            self._insert(env, {claim: events})
            return env[CALL].search([("call_id", "=", call_id)])._suspend(wanted)

        return db.transaction(self.name, work)

    def ask(self, claim, call_id: str, request, seconds: float) -> dict | None:
        """A server waits in its session: ask the person for so long. The same question, while it is open,
        is the same one again.

        :return: the event that asks; None where nobody can be asked
        """

        def work(env):
            self._held(env, claim)
            question = env[CALL].search([("call_id", "=", call_id)])._hold(request, seconds)
            return question._event() if question else None

        return db.transaction(self.name, work)

    def take_answer(self, claim, question_id: str, is_late: bool):
        """Look for the answer to a question that a server waits for in its session.

        :param is_late: nobody may answer any more: an open question is "expired" from now on
        :return: the answer and the event that tells of it, or (None, None) while there is none
        """

        def work(env):
            turn = self._held(env, claim)
            question = turn._question_of(question_id)
            if is_late and not question.action:
                question.action = "expired"
            if not question.action:
                return None, None
            return question._as_answer(), question._decided_event()

        return db.transaction(self.name, work)

    def end_call(self, claim, call_id: str, result, events) -> None:
        """Give the call its one result, with its files, close its questions, and write `events`.

        A call that has a result keeps it.
        """

        def work(env):
            self._held(env, claim)
            row = env[CALL].search([("call_id", "=", call_id)])
            if not row.outcome:
                row.write(row._vals_of_result(result))
                row.question_ids._close()
                row.attachment_ids = row._keep_files(result.attachments)
                env.flush_all()
            self._insert_result(env, claim, row, events)

        db.transaction(self.name, work)

    def _insert_result(self, env, claim, row, events):
        """Write `events`; the one with the call's result tells what its row has kept."""
        is_result = result_of(row.call_id).items()
        replaced = [
            (seq, row._result_event() if is_result <= event.items() else event)
            for seq, event in events
        ]
        self._insert(env, {claim: replaced})


def _origin(call):
    """Origin of a call's tool, as columns of its row: a server, or an operation of a toolbox;
    the action's part; and the pin of its definition. Ours, and tools that do not exist, come from nowhere."""
    tool = call.tool if call.tool and (call.tool.records or not call.tool.is_builtin) else None
    is_operation = tool is not None and tool.operation is not None
    records = tool.records if tool is not None else ""
    is_tool = not is_operation and not records
    return {
        "tool_id": tool is not None and is_tool and tool.id,
        "operation_id": tool is not None and is_operation and tool.id,
        "server_id": tool is not None and is_tool and call.server is not None and call.server.id,
        "action_id": tool is not None and (tool.action_id or False),
        "definition": tool.definition if tool else "",
        "records": records or False,
    }


def _existing(env, origins):
    """`origins` without what is gone. The rest is locked: it cannot go before the calls are on disk."""
    for name in ("tool_id", "operation_id", "server_id", "action_id"):
        wanted = {origin[name] for origin in origins.values()} - {False}
        source = env[env[CALL]._fields[name].comodel_name].browse(wanted)
        found = {False}
        if wanted:
            rows = env.execute_query(
                SQL(
                    "SELECT id FROM %s WHERE id = ANY(%s) ORDER BY id FOR KEY SHARE",
                    SQL.identifier(source._table),
                    source.ids,
                )
            )
            found |= {source_id for (source_id,) in rows}
        for origin in origins.values():
            origin[name] = origin[name] in found and origin[name]
    return origins
