"""A held turn and its log in PostgreSQL: what the runner writes while a turn runs.

Every method is one short transaction, called from the runner's executor threads. It locks the turn's row
and compares the lease's epoch first, so that a runner which was paused past its lease can do nothing more.
Each is safe to repeat after a lost connection.
"""

import json
import logging
from dataclasses import replace

from odoo import fields
from odoo.tools import SQL

from ..services import reading, text
from ..services.errors import EngineError, LeaseLost, TurnGone
from ..services.ports import Claim, Loaded
from ..services.specs import TurnProgress, Verdict
from . import db, notify
from .turn_queue import TURN, TurnQueue

_logger = logging.getLogger(__name__)

CALL = "woow_paas_platform.tool_call"


class OdooStore(TurnQueue):
    def _held(self, env, claim):
        """The locked turn.

        :raises LeaseLost: another runner took it, or it ended
        """
        env.cr.execute(
            "SELECT state, lease_epoch FROM woow_paas_platform_ai_turn WHERE id = %s"
            " FOR NO KEY UPDATE",
            [claim.turn_id],
            log_exceptions=False,
        )
        row = env.cr.fetchone()
        if not row:
            raise TurnGone
        if row != ("running", claim.epoch):
            raise LeaseLost
        return env[TURN].browse(claim.turn_id)

    def load(self, claim: Claim) -> Loaded:
        """Freeze everything that the engine needs, as the turn's user sees it.

        :raises EngineError: the turn cannot run; it must end as failed
        """

        def work(env):
            turn = self._held(env, claim)
            user = turn.user_id
            turn = turn.with_context(
                lang=user.lang,
                tz=user.tz,
                allowed_company_ids=user.company_ids.ids,
            )
            if reason := turn._check_still_allowed():
                raise EngineError(reason)
            progress = TurnProgress(**(turn.transcript or {}))
            return Loaded(
                # sudo: the user may use the assistant (checked above), not read its servers' secrets
                request=turn.with_user(user).sudo()._turn_request(),
                progress=progress,
                stop_requested=turn.stop_requested,
            )

        return db.transaction(self.name, work)

    def append(self, batch: dict[Claim, list[tuple[int, dict]]]) -> set[Claim]:
        """Write events of many turns at once.

        :return: the claims whose lease is lost; nothing was written for them
        """

        def work(env):
            by_id = {claim.turn_id: claim for claim in batch}
            env.cr.execute(
                "SELECT id, lease_epoch FROM woow_paas_platform_ai_turn"
                " WHERE id = ANY(%s) AND state = 'running' ORDER BY id FOR SHARE",
                [sorted(by_id)],
                log_exceptions=False,
            )
            held = {by_id[i] for i, epoch in env.cr.fetchall() if by_id[i].epoch == epoch}
            self._insert(env, {claim: batch[claim] for claim in held})
            return set(batch) - held

        return db.transaction(self.name, work)

    def _insert(self, env, batch):
        rows = [
            (claim.turn_id, seq, json.dumps(text.storable(payload), ensure_ascii=False))
            for claim, events in batch.items()
            for seq, payload in events
        ]
        if not rows:
            return
        env.cr.execute_values(
            "INSERT INTO woow_paas_platform_ai_turn_event (turn_id, seq, payload) VALUES %s"
            " ON CONFLICT (turn_id, seq) DO NOTHING",
            rows,
        )
        heads = [(claim.turn_id, events[-1][0]) for claim, events in batch.items() if events]
        notify.events(env.cr, heads)

    def save_step(self, claim, progress, calls, events) -> None:
        """Keep the progress, a row of each call that is not known yet, and `events`.

        A tool, server or action that was deleted meanwhile is left out of the row; the call is denied when
        it begins.
        """

        def work(env):
            turn = self._held(env, claim)
            turn.write({"transcript": text.storable(progress), "round": progress["round"]})
            turn.assistant_id.config_id._remember_protocol(progress["found_protocol"])
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
                        "server_name": call.server.name if call.server else False,
                        "arguments": text.storable(call.arguments or {}),
                    }
                    for call in calls
                    if call.id not in known
                ]
            )
            env.flush_all()
            self._insert(env, {claim: events})

        db.transaction(self.name, work)

    def begin_call(self, claim, call) -> Verdict:
        """Whether the call starts now: every switch is read again in the transaction that records the start.

        A call that is over gives its result (done), one of ours its answer (answered). One that another
        claim has started is lost, unless it is harmless and may still run. Else the row decides, see
        `_may_start`: a call of another tool than the row's, or of one that is gone or has changed, is denied.
        Only "run" writes the start; asked again under the same claim, it is "run" again.
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
            if call.tool == reading.TOOL:
                row.started_at = fields.Datetime.now()
                return Verdict(kind="answered", result=row._read_on())
            in_flight = row.started_at and row.started_epoch != claim.epoch
            if in_flight and not row.tool_id._may_repeat():
                return Verdict(kind="lost")
            verdict = row._may_start(_origin(call))
            if in_flight and verdict.kind == "deny":
                return Verdict(kind="lost")
            if verdict.kind != "run":
                return verdict
            row.write({"started_at": fields.Datetime.now(), "started_epoch": claim.epoch})
            return replace(verdict, arguments=row._changed_arguments())

        return db.transaction(self.name, work)

    def suspend_call(self, claim, call_id: str, wanted, events) -> str:
        """The call ended with questions to the person.

        :return: empty, or why nobody can be asked
        """

        def work(env):
            self._held(env, claim)
            self._insert(env, {claim: events})
            return env[CALL].search([("call_id", "=", call_id)])._suspend(wanted)

        return db.transaction(self.name, work)

    def ask(self, claim, call_id: str, asked, seconds: float) -> dict | None:
        """A server waits in its session: ask the person for so long.

        :return: the event that asks; None where nobody can be asked
        """

        def work(env):
            self._held(env, claim)
            question = env[CALL].search([("call_id", "=", call_id)])._hold(asked, seconds)
            return question._event() if question else None

        return db.transaction(self.name, work)

    def take_answer(self, claim, question_id: str, is_late: bool):
        """:param is_late: nobody may answer any more
        :return: the answer and the event that tells of it, or (None, None) while there is none
        """

        def work(env):
            turn = self._held(env, claim)
            question = turn._question(question_id)
            if is_late and not question.action:
                question.action = "expired"
            if not question.action:
                return None, None
            return question._as_answer(), question._decided_event()

        return db.transaction(self.name, work)

    def end_call(self, claim, call_id: str, result, events) -> None:
        def work(env):
            turn = self._held(env, claim)
            row = env[CALL].search([("call_id", "=", call_id)])
            if not row.outcome:
                row.write(
                    {
                        "outcome": result.outcome,
                        "result": text.storable(result.display),
                        "llm_text": text.storable(result.text),
                        "tokens": text.tokens(result.text),
                        "whole_text": text.storable(result.whole) or False,
                        "duration_ms": result.duration_ms,
                        "bytes": result.bytes,
                        "truncated": result.truncated,
                    }
                )
                row.question_ids._close()
                row.attachment_ids = turn.channel_id._keep_files(result.attachments)
                env.flush_all()
            for _seq, event in events:
                if event["type"] == "tool_result" and event.get("id") == call_id:
                    event["attachments"] = row.attachment_ids._ai_file_data()
                    if (arguments := row._changed_arguments()) is not None:
                        event["args"] = arguments
            self._insert(env, {claim: events})

        db.transaction(self.name, work)

    def finish(self, claim, ending, events) -> None:
        """Post the answer, close the turn, write `events` and the last ones after them.

        :param ending: `services.runner.Ending`
        """

        def work(env):
            turn = self._held(env, claim)
            user = turn.user_id
            turn = turn.with_context(lang=user.lang, tz=user.tz)
            if ending.progress:
                progress = text.storable(ending.progress)
                turn.write({"transcript": progress, "round": progress["round"]})
            if ending.state == "waiting":
                last = turn._begin_wait(ending.confirm)
            else:
                error = None
                if ending.error_code:
                    sentence = turn._error_sentence(
                        ending.error_code, text.storable(ending.error_message)
                    )
                    error = (ending.error_code, sentence)
                turn._end(ending.state, ending.html, usage=ending.usage, error=error)
                last = [
                    {"type": "usage", **(ending.usage or {})},
                    {"type": "state", "state": ending.state},
                    turn._final_event(),
                ]
            env.flush_all()
            self._insert(env, {claim: [*events, *enumerate(last, ending.next_seq)]})
            if ending.state == "waiting" and turn.stop_requested:
                turn._end("stopped")
            notify.queued(env.cr, 0)  # the conversation's next turn may be waiting

        db.transaction(self.name, work)


def _origin(call):
    """Where a call's tool comes from, as columns of its row: a server, or an operation of a toolbox;
    the action's part; and the pin of its definition. Ours, and tools that do not exist, come from nowhere."""
    tool = call.tool if call.tool != reading.TOOL else None
    is_operation = tool is not None and tool.operation is not None
    is_tool = tool is not None and not is_operation
    return {
        "tool_id": is_tool and tool.id,
        "operation_id": is_operation and tool.id,
        "server_id": is_tool and call.server is not None and call.server.id,
        "action_id": tool is not None and (tool.action_id or False),
        "definition": tool.definition if tool else "",
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
