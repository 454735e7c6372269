"""Stop: it takes effect whoever holds the turn's row, and the request for it never waits long."""

import time

from odoo import api, models
from odoo.tools import SQL
from psycopg2.errors import LockNotAvailable

from ...tools import notify


class AiTurn(models.Model):
    _inherit = "woow_paas_platform.ai_turn"

    def _request_stop(self, deadline=None):
        """Stop the turn; one that no runner holds ends here and now.

        A runner that holds it is told, and reads it with its next heartbeat and when it takes the turn up or
        lets go of it (`_is_stop_requested`). Where somebody keeps the row locked, the wish is written beside it:
        every sweep applies what waits there, so a wait, a claim or a release of that moment is not the end of it.

        :param deadline: `time.monotonic` seconds until which it waits for the row; None: not at all
        :return: the state after the request; "running" while who holds the row decides
        """
        self.ensure_one()
        left = 0.0 if deadline is None else deadline - time.monotonic()
        if not self._lock_for_stop(left):
            self._leave_stop()
            notify.stop(self.env.cr, self.id)
            return "running"
        if self.state in ("queued", "waiting") and not self._is_entering():
            turn = self.with_context(lang=self._language())
            turn._append_events(turn._end("stopped"))
        elif self.state in ("queued", "running"):
            self.stop_requested = True
            notify.stop(self.env.cr, self.id)
        return self.state

    def _is_entering(self):
        """Whether another turn that runs is taking the message in."""
        return False

    def _is_stop_requested(self):
        """Whether a Stop waits for the runner, in the row or beside it; `TurnQueue.heartbeat` reads both too."""
        self.ensure_one()
        return self.stop_requested or bool(
            self.env.execute_query(
                SQL("SELECT 1 FROM woow_paas_platform_ai_turn_stop WHERE turn_id = %s", self.id)
            )
        )

    def _lock_for_stop(self, seconds):
        """:return: whether the row is ours within so many seconds"""
        cr = self.env.cr
        cr.execute("SELECT current_setting('lock_timeout')")
        (before,) = cr.fetchone()
        try:
            with cr.savepoint(flush=False):
                self._set_lock_timeout(f"{max(1, int(seconds * 1000))}ms")
                cr.execute(
                    "SELECT id FROM woow_paas_platform_ai_turn WHERE id = %s FOR NO KEY UPDATE",
                    [self.id],
                    log_exceptions=False,  # two writers met: `db.transaction` repeats it
                )
        except LockNotAvailable:
            return False
        self._set_lock_timeout(before)
        self.invalidate_recordset()
        return True

    def _set_lock_timeout(self, value):
        """For the rest of the transaction."""
        self.env.cr.execute("SELECT set_config('lock_timeout', %s, true)", [value])

    def _leave_stop(self):
        self.env.cr.execute(
            "INSERT INTO woow_paas_platform_ai_turn_stop (turn_id) VALUES (%s) ON CONFLICT DO NOTHING",
            [self.id],
        )

    @api.model
    def _apply_stops(self):
        """Carry out each Stop that met a locked row, or a turn that was given back before its runner heard."""
        rows = self.env.execute_query(
            SQL(
                """
                SELECT id FROM woow_paas_platform_ai_turn
                 WHERE state IN ('queued', 'waiting') AND stop_requested
                 UNION SELECT turn_id FROM woow_paas_platform_ai_turn_stop
                """
            )
        )
        asked = self.browse(turn_id for (turn_id,) in rows)
        there = asked.exists()
        done = (asked - there) | there.try_lock_for_update(allow_referencing=True)
        done.invalidate_recordset()
        for turn in done & there:
            turn._request_stop()
        if done:
            self.env.cr.execute(
                "DELETE FROM woow_paas_platform_ai_turn_stop WHERE turn_id = ANY(%s)", [done.ids]
            )
