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
            WITH old AS (
                UPDATE woow_paas_platform_ai_turn SET events_pruned = TRUE
                 WHERE id IN (
                        SELECT id FROM woow_paas_platform_ai_turn
                         WHERE ended_at < now() AT TIME ZONE 'UTC' - %s * interval '1 day'
                           AND events_pruned IS NOT TRUE
                         ORDER BY ended_at LIMIT %s
                           FOR UPDATE SKIP LOCKED)
             RETURNING id),
            gone AS (
                DELETE FROM woow_paas_platform_ai_turn_event e USING old WHERE e.turn_id = old.id)
            SELECT COUNT(*) FROM old
            """,
            [limits.get(self.env, "event_retention_days"), limit],
        )
        return self.env.cr.fetchone()[0]

    @api.model
    def _prune_results(self, limit):
        """:return: the number of calls whose results were removed"""
        self.env.cr.execute(
            """
            UPDATE woow_paas_platform_tool_call
               SET result = NULL, llm_text = NULL, whole_text = NULL, rehearsal = NULL,
                   result_pruned = TRUE
             WHERE id IN (
                    SELECT id FROM woow_paas_platform_tool_call
                     WHERE create_date < now() AT TIME ZONE 'UTC' - %s * interval '1 day'
                       AND outcome IS NOT NULL AND result_pruned IS NOT TRUE
                     ORDER BY create_date LIMIT %s
                       FOR UPDATE SKIP LOCKED)
            """,
            [limits.get(self.env, "result_retention_days"), limit],
        )
        return self.env.cr.rowcount
