"""Crons for turns: requeue those of dead runners, and delete what is past its retention."""

from odoo import api, models

from ...tools import db, host, limits

RETENTION_BATCH = 500  # turns, or calls, that one transaction of the cron prunes


class AiTurn(models.Model):
    _inherit = "woow_paas_platform.ai_turn"

    @api.model
    def _cron_sweep(self):
        """Requeue what nobody holds, end what somebody has stopped, and see that somebody listens."""
        dbname = self.env.cr.dbname
        calls = "woow_paas_platform.tool_call"
        db.transaction(dbname, lambda env: env[calls]._close_lost_direct_calls())
        host.current().sweep(dbname)

    @api.model
    def _cron_retention(self):
        """Events of old turns go, later the results of their calls, at last the calls of programs;
        turns, the calls of conversations and the sums stay."""
        commit = self.env["ir.cron"]._commit_progress
        for prune in self._prunes():
            while done := prune(RETENTION_BATCH):
                if not commit(done, remaining=1):  # at least: nobody has counted what follows
                    return
        commit(remaining=0)

    @api.model
    def _prunes(self):
        """What is forgotten, in this order: each takes so many rows, and gives how many there were. A hook."""
        return [self._prune_events, self._prune_results]

    @api.model
    def _prune_events(self, limit):
        """:return: the number of turns whose events were removed"""
        self.env.cr.execute(
            """
            SELECT id FROM woow_paas_platform_ai_turn
             WHERE ended_at < now() AT TIME ZONE 'UTC' - %s * interval '1 day'
               AND events_pruned IS NOT TRUE
             ORDER BY ended_at LIMIT %s
               FOR UPDATE SKIP LOCKED
            """,
            [limits.get(self.env, "event_retention_days"), limit],
        )
        old = self.browse(turn_id for (turn_id,) in self.env.cr.fetchall())
        old._forget_events()
        return len(old)

    def _forget_events(self):
        """Of turns that are over: their streams tell the end only."""
        self.env.cr.execute(
            """
            WITH old AS (
                UPDATE woow_paas_platform_ai_turn SET events_pruned = TRUE
                 WHERE id = ANY(%s) AND events_pruned IS NOT TRUE
             RETURNING id)
            DELETE FROM woow_paas_platform_ai_turn_event e USING old WHERE e.turn_id = old.id
            """,
            [self.ids],
        )
        self.invalidate_recordset(["events_pruned"])

    @api.model
    def _prune_results(self, limit):
        """:return: the number of calls whose results were removed"""
        self.env.cr.execute(
            """
            SELECT id FROM woow_paas_platform_tool_call
             WHERE create_date < now() AT TIME ZONE 'UTC' - %s * interval '1 day'
               AND outcome IS NOT NULL AND result_pruned IS NOT TRUE
               AND NOT EXISTS (  -- its runner would save the transcript with the result again
                    SELECT 1 FROM woow_paas_platform_ai_turn t
                     WHERE t.id = turn_id AND t.ended_at IS NULL)
             ORDER BY create_date LIMIT %s
               FOR UPDATE SKIP LOCKED
            """,
            [limits.get(self.env, "result_retention_days"), limit],
        )
        calls = self.env["woow_paas_platform.tool_call"]
        old = calls.browse(call_id for (call_id,) in self.env.cr.fetchall())
        old._forget_results()
        return len(old)
