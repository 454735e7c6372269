"""Record calls, as the runner makes them: an effect, its row and its event are one transaction.

A call leaves no trace until it is over, so whoever takes the turn up after a crash finds it done or not begun.
"""

import logging

from odoo import fields

from ...services.errors import LeaseLost, TurnGone
from ...services.records.errors import RecordError
from ...services.specs import CallResult
from ...services.turn import approval
from ...services.turn.ports import StoreGone
from ...tools import db
from . import executor

_logger = logging.getLogger(__name__)

CALL = "woow_paas_platform.tool_call"
CHANGED = "The permission for this call changed while it was about to run, so it was not made."


def _row(env, claim, call_id):
    row = env[CALL].search([("call_id", "=", call_id), ("turn_id", "=", claim.turn_id)])
    if not row:
        raise TurnGone
    return row


class RecordCalls:
    """Part of the `Store`; called from the threads for records, which no other write waits for."""

    def read_records(self, claim, call_id: str) -> CallResult:
        """Carry out a call that only reads; PostgreSQL refuses whatever would write.

        :raises RecordError: it was not carried out
        """
        return db.read_only(self.name, lambda env: executor.perform(env, _row(env, claim, call_id)))

    def perform_call(self, claim, call_id: str, events) -> CallResult:
        """Carry out a call that changes records, and record its result and `events`, all or nothing.

        Every switch is read again in this transaction. Repeated, it finds the result.

        :raises RecordError: it was not carried out, nothing was written
        """

        def work(env):
            self._held(env, claim)
            self._renew(env, claim)
            row = _row(env, claim, call_id)
            if not row.outcome:
                verdict = row._may_start(row._asked_of())
                if verdict.kind != "run":
                    raise RecordError(verdict.reason or CHANGED, outcome="denied")
                row.started_at = fields.Datetime.now()
                result = executor.perform(env, row)
                if row.is_changed:
                    result = approval.told_of_change(result, row.arguments)
                row.write(row._vals_of_result(result))
                env.flush_all()
            self._insert_result(env, claim, row, events)
            return row._as_result()

        try:
            return db.transaction(self.name, work)
        except (RecordError, LeaseLost, TurnGone, StoreGone, ConnectionError):
            raise
        except Exception:
            # What a commit leaves to be done after it may fail: the records are changed all the same.
            result = db.transaction(self.name, lambda env: self._settled(env, claim, call_id))
            if result is None:
                raise
            _logger.exception("Something that follows call %s failed.", call_id)
            return result

    def rehearse_call(self, claim, call_id: str) -> None:
        """Find out what a call that asks would change, and keep it for the question.

        :raises RecordError: it could not be carried out, so that nobody is asked
        """
        try:
            found = db.undone(
                self.name, lambda env: executor.rehearse(env, _row(env, claim, call_id))
            )
        except RecordError:
            self._keep(claim, call_id, {"approval": False})
            raise
        self._keep(claim, call_id, {"rehearsal": found})

    def ask_again(self, claim, call_id: str, found) -> None:
        """What was allowed is not what would be changed: the person is shown that, and decides once more."""
        undecided = {"decision": False, "decided_by_id": False, "decided_at": False}
        self._keep(claim, call_id, {"approval": "pending", "rehearsal": found, **undecided})

    def _keep(self, claim, call_id, vals):
        def work(env):
            self._held(env, claim)
            row = _row(env, claim, call_id)
            if not row.outcome:
                row.write(vals)

        db.transaction(self.name, work)

    def _settled(self, env, claim, call_id):
        self._held(env, claim)
        row = _row(env, claim, call_id)
        return row._as_result() if row.outcome else None
