"""Record calls, as the runner makes them: an effect, its row and its event are one transaction.

A call leaves no trace in the records until it is over, so whoever takes the turn up after a crash finds it done or not
begun. Only where something may leave the transaction its start is on disk before, and a crash leaves it unknown.
"""

import contextlib
import logging
from collections.abc import Callable
from typing import Any

from odoo import fields

from ...services.approval import approval
from ...services.errors import LeaseLost, TurnGone
from ...services.records.errors import ConnectionLost, RecordError, SomethingLeft, TryAgain
from ...services.sentence import _lt
from ...services.specs import CallResult
from ...services.turn.interrupt import Interrupt
from ...services.turn.ports import StoreGone
from ...tools import db, rehearsal
from . import changes, executor

_logger = logging.getLogger(__name__)

CALL = "woow_paas_platform.tool_call"
CHANGED = _lt("The permission for this call changed while it was about to run, so it was not made.")


def _row(env, claim, call_id):
    row = env[CALL].search([("call_id", "=", call_id), ("turn_id", "=", claim.turn_id)])
    if not row:
        raise TurnGone
    return row


class RecordCalls:
    """Part of the `Store`; called from the threads for records, which no other write waits for.

    Each method is one try: what passes is a `TryAgain`, and who asked decides whether there is another one.
    """

    # Of the other part, `TurnCalls`.
    name: str
    _held: Callable[[Any, Any], Any]
    _renew: Callable[[Any, Any], None]
    _insert_result: Callable[[Any, Any, Any, Any], None]

    def read_records(self, claim, call_id: str, interrupt: Interrupt | None = None) -> CallResult:
        """Carry out a call that only reads; PostgreSQL refuses whatever would write.

        :raises RecordError: it was not carried out
        """

        def work(env, begun):
            row = _row(env, claim, call_id)
            with begun(env):
                return executor.perform(env, row)

        return self._tried(db.read_only, work, interrupt)

    def perform_call(
        self, claim, call_id: str, events, interrupt: Interrupt | None = None
    ) -> CallResult:
        """Carry out a call that changes records, and record its result and `events`, all or nothing.

        Every switch is read again in this transaction. Repeated, it finds the result.

        :raises RecordError: it was not carried out, nothing was written
        """

        def work(env, begun):
            self._held(env, claim)
            self._renew(env, claim)
            row = _row(env, claim, call_id)
            if not row.outcome:
                verdict = row._may_start(row._asked_of())
                if verdict.kind != "run":
                    raise RecordError(verdict.reason or CHANGED, outcome="denied")
                row.started_at = fields.Datetime.now()
                with begun(env), db.written_by(claim.turn_id):
                    result = executor.perform(env, row)
                if row.is_changed:
                    result = approval.told_of_change(result, row.arguments)
                row.write(row._vals_of_result(result))
                row.attachment_ids = row._keep_files(result.attachments)
                env.flush_all()
            self._insert_result(env, claim, row, events)
            return row._as_result()

        try:
            return self._tried(db.transaction, work, interrupt)
        except (RecordError, LeaseLost, TurnGone, StoreGone, ConnectionError):
            raise
        except Exception:
            # What a commit leaves to be done after it may fail: the records are changed all the same.
            result = db.transaction(self.name, lambda env: self._settled(env, claim, call_id))
            if result is None:
                raise
            _logger.exception("Something that follows call %s failed.", call_id)
            return result

    def _tried(self, transact, work, interrupt):
        """Have ``work(env, begun)`` done once; what it does within ``begun(env)`` ends with the interrupt.

        :raises SomethingLeft: it failed, and something had left the transaction of a change by then
        :raises TryAgain: what ended it passes
        :raises ConnectionError: that, too; nothing was begun
        """
        has_begun, is_change = False, transact is db.transaction
        interrupt = interrupt or Interrupt()

        @contextlib.contextmanager
        def begun(env):
            nonlocal has_begun
            has_begun = True
            line = env.cr._cnx
            db.end_when_idle(env.cr, interrupt.limit + interrupt.GRACE)
            with (
                interrupt.by(line.cancel, lambda: db.cut(line)),
                rehearsal.watching(interrupt.left, lambda: interrupt.is_set),
            ):
                if interrupt.is_set:
                    raise RecordError(outcome="cancelled")
                yield

        try:
            return transact(self.name, lambda env: work(env, begun), tries=1)
        except RecordError as error:
            if interrupt.left and is_change:
                raise SomethingLeft(str(error)) from error
            raise
        except ConnectionError as error:
            if not has_begun:
                raise
            kind = TryAgain if isinstance(error, db.Refused) else ConnectionLost
            raise kind(has_left=bool(interrupt.left) and is_change, detail=str(error)) from error

    def lose_call(self, claim, call_id: str) -> tuple[CallResult | None, int]:
        """The connection was lost in the middle of a try.

        :return: the result, if the transaction was over all the same; how often this has happened to this call
        """

        def work(env):
            self._held(env, claim)
            self._renew(env, claim)
            row = _row(env, claim, call_id)
            if row.outcome:
                _logger.warning(
                    "Call %s was committed, but nobody heard it: what Odoo does after a commit, such as a webhook,"
                    " may not have been done.",
                    call_id,
                )
                return row._as_result(), row.losses
            row.losses += 1
            return None, row.losses

        return db.transaction(self.name, work)

    def rehearse_call(self, claim, call_id: str, interrupt: Interrupt | None = None) -> None:
        """Find out what a call that asks would change, and keep it for the question.

        :raises RecordError: it could not be carried out, so that nobody is asked
        """

        def work(env, begun):
            row = _row(env, claim, call_id)
            with begun(env), db.written_by(claim.turn_id):
                return executor.rehearse(env, row)

        try:
            found = self._tried(db.undone, work, interrupt)
        except TryAgain:
            raise
        except RecordError:
            self._keep(claim, call_id, lambda _row: {"approval": False})
            raise
        self._keep(claim, call_id, lambda _row: {"rehearsal": found})

    def ask_again(self, claim, call_id: str, found) -> None:
        """Ask again: the changes differ from those allowed; the person sees both and decides once more.

        Repeated, it changes nothing.
        """
        undecided = {"decision": False, "decided_by_id": False, "decided_at": False}
        undecided["started_at"] = False

        def vals(row):
            if row.approval == "pending":
                return {}
            vals = {**undecided, "approval": "pending", "rehearsal": found}
            if row.approval_choices:
                before = changes.kept_before((row.rehearsal or {}).get("shown"))
                return {**vals, "rehearsal": {**found, "again": True, "before": before}}
            # Nobody was asked about it yet, because nothing seemed to be in the way.
            return {**vals, "approval_reason": "open", "approval_choices": list(approval.ONCE)}

        self._keep(claim, call_id, vals)

    def _keep(self, claim, call_id, vals):
        """:param vals: called with the row, gives what is written to it"""

        def work(env):
            self._held(env, claim)
            row = _row(env, claim, call_id)
            if not row.outcome:
                row.write(vals(row))

        db.transaction(self.name, work)

    def _settled(self, env, claim, call_id):
        self._held(env, claim)
        row = _row(env, claim, call_id)
        return row._as_result() if row.outcome else None
