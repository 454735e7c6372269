"""Turn store: a held turn and its log in PostgreSQL, as the runner writes them while the turn runs.

Every method is one short transaction, called from the runner's executor threads. It locks the turn's row
and compares the lease's epoch first, so that a runner which was paused past its lease can do nothing more.
Each is safe to repeat after a lost connection.
"""

import json
import logging
import time
from dataclasses import replace

from odoo import fields
from odoo.tools import SQL

from ...services import text
from ...services.errors import EngineError, LeaseLost, TurnGone
from ...services.specs import TurnProgress, Verdict
from ...services.toolset import lookup
from ...services.turn import read_result
from ...services.turn.ports import Claim, Loaded, TurnsLocked
from ...tools import db, notify, sentences
from ..records.record_calls import RecordCalls
from .turn_queue import TURN, TurnQueue

_logger = logging.getLogger(__name__)

CALL = "woow_paas_platform.tool_call"
PATIENCE = 0.3  # s that a Stop waits for who holds the row; its answer is promised within 0.5 s


class OdooStore(RecordCalls, TurnQueue):
    def _held(self, env, claim):
        """The locked turn.

        :raises LeaseLost: another runner took it, or it ended
        """
        env.cr.execute(
            "SELECT state, lease_epoch FROM woow_paas_platform_ai_turn WHERE id = %s"
            " FOR NO KEY UPDATE",
            [claim.turn_id],
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
                lang=turn._language(),
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
        """Write events of many turns at once; a turn that somebody has locked does not keep the others waiting.

        :return: the claims whose lease is lost, or whose numbers somebody else has used; nothing was written for them
        :raises TurnsLocked: nor for these, after the others were committed
        """

        def work(env):
            by_id = {claim.turn_id: claim for claim in batch}
            held = self._held_of(env, by_id, "FOR SHARE SKIP LOCKED")
            self._insert(env, {claim: batch[claim] for claim in held})
            rest = {claim.turn_id: claim for claim in batch if claim not in held}
            locked = self._held_of(env, rest, "") if rest else set()
            return set(batch) - held - locked, locked

        try:
            lost, locked = db.transaction(self.name, work)
        except LeaseLost as error:
            if len(batch) > 1:  # each finds out for itself whether it is the one
                lost, locked = self._append_each(batch)
            else:
                _logger.error("Turn %s: %s", next(iter(batch)).turn_id, error.detail)
                return set(batch)
        if locked:
            raise TurnsLocked(locked, lost)
        return lost

    def _append_each(self, batch):
        lost, locked = set(), set()
        for claim, events in batch.items():
            try:
                lost |= self.append({claim: events})
            except TurnsLocked as one:
                locked |= one.locked
        return lost, locked

    def _held_of(self, env, by_id, lock):
        """:return: of these claims those that are valid, by the turns' rows under this lock"""
        env.cr.execute(
            SQL(
                "SELECT id, lease_epoch FROM woow_paas_platform_ai_turn"
                " WHERE id = ANY(%s) AND state = 'running' ORDER BY id %s",
                sorted(by_id),
                SQL(lock),
            )
        )
        return {by_id[i] for i, epoch in env.cr.fetchall() if by_id[i].epoch == epoch}

    def _insert(self, env, batch):
        """Write numbered events; what stands there already is left alone.

        :raises LeaseLost: another event has the number of one of these
        """
        rows = [
            (claim.turn_id, seq, self._payload(env, claim, payload))
            for claim, events in batch.items()
            for seq, payload in events
        ]
        if not rows:
            return
        written = env.cr.execute_values(
            "INSERT INTO woow_paas_platform_ai_turn_event (turn_id, seq, payload) VALUES %s"
            " ON CONFLICT (turn_id, seq) DO NOTHING RETURNING turn_id, seq",
            rows,
            fetch=True,
        )
        if len(written) < len(rows):
            self._check_repeated(env, [row for row in rows if row[:2] not in set(written)])
        notify.events(env.cr)

    def _payload(self, env, claim, event):
        """The event as its person reads it."""
        if event["type"] == "notice":
            lang = env[TURN].browse(claim.turn_id).user_id.lang
            event = {**event, "message": sentences.in_language(lang, event["message"])}
        return json.dumps(text.storable(event), ensure_ascii=False)

    def _check_repeated(self, env, rows):
        """A write may be repeated, but a number that somebody else has used means that somebody else writes."""
        taken = env.cr.execute_values(
            "SELECT e.turn_id, e.seq FROM woow_paas_platform_ai_turn_event e"
            " JOIN (VALUES %s) AS mine (turn_id, seq, payload)"
            " ON mine.turn_id = e.turn_id AND mine.seq = e.seq"
            " WHERE e.payload IS DISTINCT FROM mine.payload::jsonb",
            rows,
            fetch=True,
        )
        if taken:
            raise LeaseLost(detail=f"another event has the number of (turn, event) {taken}")

    def save_step(self, claim, progress, calls, events) -> None:
        """Keep the progress, a row of each call that is not known yet, and `events`.

        A tool, server or action that was deleted meanwhile is left out of the row; the call is denied when
        it begins.
        """

        def work(env):
            turn = self._held(env, claim)
            turn.write({"transcript": text.storable(progress), "round": progress["round"]})
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

    def take_steering(self, claim, known) -> list[dict]:
        """Messages that the person has sent meanwhile and that enter the turn; theirs are the same, asked again,
        until a saved transcript has them.

        :param known: ids of turns whose messages the transcript has
        :return: ``[{"turn", "message_id", "content"}]``
        """

        def work(env):
            return self._held(env, claim)._take_steering(known)

        return db.transaction(self.name, work)

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
            if call.tool == read_result.TOOL:
                row.started_at = fields.Datetime.now()
                return Verdict(kind="answered", result=row._read_on())
            if call.tool in lookup.TOOLS:
                row.started_at = fields.Datetime.now()
                return Verdict(kind="run")
            in_flight = row.started_at and row.started_epoch != claim.epoch
            if in_flight and not row.tool_id._may_repeat():
                return Verdict(kind="lost")
            verdict = row._may_start(_origin(call))
            if in_flight and verdict.kind == "deny":
                return Verdict(kind="lost")
            if verdict.kind != "run":
                return verdict
            if not row.records:  # those begin and end in one transaction, see `RecordCalls`
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
            question = turn._question(question_id)
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
        is_result = {"type": "tool_result", "id": row.call_id}.items()
        replaced = [
            (seq, row._result_event() if is_result <= event.items() else event)
            for seq, event in events
        ]
        self._insert(env, {claim: replaced})

    def finish(self, claim, ending, events) -> None:
        """Let go of the turn: write `events` and, numbered from ``ending.next_seq``, the last ones after them.

        In a final state the answer is posted, and what is still open is closed: a call that had started gets
        the outcome "unknown", any other "cancelled", each with its `tool_result`; open questions are
        dismissed. A turn that is to wait ends as stopped when its Stop was asked for, and is queued at once
        when nothing is left to decide. Whatever happens is one transaction.

        :param ending: `services.turn.ports.Ending`
        """

        def work(env):
            turn = self._held(env, claim)
            user = turn.user_id
            turn = turn.with_context(lang=turn._language(), tz=user.tz)
            if ending.progress:
                progress = text.storable(ending.progress)
                turn.write({"transcript": progress, "round": progress["round"]})
            if ending.state == "waiting" and not turn.stop_requested:
                last = turn._begin_wait(ending.confirm)
            else:
                state = "stopped" if ending.state == "waiting" else ending.state
                error = None
                if ending.error_code:
                    sentence = turn._error_sentence(
                        ending.error_code, text.storable(ending.error_message)
                    )
                    error = (ending.error_code, sentence)
                last = turn._end(state, ending.html, usage=ending.usage, error=error)
                turn._record_cause(ending.error_code, ending.error_message, ending.error_detail)
            env.flush_all()
            self._insert(env, {claim: [*events, *enumerate(last, ending.next_seq)]})
            notify.queued(env.cr, 0)  # the conversation's next turn may be waiting

        db.transaction(self.name, work)

    def request_stop(self, turn_id: int) -> str:
        """Stop a turn, whoever holds its row; answers within half a second.

        Queued or waiting, it ends here and now. Running, `stop_requested` is written for its runner: `heartbeat`
        tells it, `load` too, `finish` waits no more. While somebody else keeps the row locked, the wish is
        written beside it, and `sweep` carries it out.

        :return: the turn's state after the request, "running" while it is up to who holds the row
        """
        deadline = time.monotonic() + PATIENCE
        return db.transaction(
            self.name, lambda env: env[TURN].browse(turn_id)._request_stop(deadline)
        )


def _origin(call):
    """Where a call's tool comes from, as columns of its row: a server, or an operation of a toolbox;
    the action's part; and the pin of its definition. Ours, and tools that do not exist, come from nowhere."""
    tool = call.tool if call.tool and (call.tool.records or not call.tool.is_hosts) else None
    is_operation = tool is not None and tool.operation is not None
    records = tool.records if tool is not None else ""
    is_tool = tool is not None and not is_operation and not records
    return {
        "tool_id": is_tool and tool.id,
        "operation_id": is_operation and tool.id,
        "server_id": is_tool and call.server is not None and call.server.id,
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
