from odoo import api, fields, models
from odoo.tools import SQL

from ...tools import limits

CALLS = "woow_paas_platform.tool_call"


def rounded(duration):
    """Durations are counted to two significant digits, so what is said of many is within 5 % of the truth.

    :param duration: SQL of milliseconds
    """
    return SQL(
        "ROUND(%(ms)s::numeric, LEAST(0, 1 - FLOOR(LOG(GREATEST(%(ms)s, 1)))::int))::int",
        ms=duration,
    )


class ToolCallSum(models.Model):
    """Daily number of calls of one kind (UTC), for the statistics. A line counts the calls of
    one tool, assistant, person, outcome and rounded duration; the calls themselves may be gone."""

    _name = "woow_paas_platform.tool_call_sum"
    _description = "Daily Tool Calls"
    _order = "day desc, id desc"
    _rec_name = "tool_name"
    _log_access = False

    key = fields.Char(
        required=True,
        readonly=True,
        help="Hash of the counted tool, server and user, kept when one of them is deleted.",
    )
    day = fields.Date(required=True, readonly=True, index=True)
    server_id = fields.Many2one(
        "woow_paas_platform.mcp_server", readonly=True, ondelete="set null", index="btree_not_null"
    )
    server_name = fields.Char(readonly=True)
    tool_id = fields.Many2one(
        "woow_paas_platform.mcp_tool", readonly=True, ondelete="set null", index="btree_not_null"
    )
    tool_name = fields.Char(required=True, readonly=True)
    assistant_id = fields.Many2one(
        "ai.assistant", readonly=True, ondelete="set null", index="btree_not_null"
    )
    user_id = fields.Many2one(
        "res.users", readonly=True, ondelete="set null", index="btree_not_null"
    )
    outcome = fields.Selection(
        selection=lambda self: self.env[CALLS]._fields["outcome"].selection, readonly=True
    )
    duration = fields.Integer(
        "Duration (ms)", readonly=True, help="Duration of each call, rounded."
    )
    calls = fields.Integer(required=True, readonly=True)
    total_duration = fields.Float(
        "Total Duration (ms)", readonly=True, help="Exact total of all calls."
    )
    bytes = fields.Float(readonly=True)
    tokens = fields.Float(readonly=True)

    _key_unique = models.UniqueIndex(
        "(key)", "There can be only one total per day and kind of call."
    )

    @api.model
    def _fold_old(self, limit):
        """Count calls that are older than the setting, and remove those that belong to no conversation.

        :return: the number of calls
        """
        old = self._old()
        return self._fold(old, SQL("ORDER BY create_date::date LIMIT %s", limit)) if old else 0

    @api.model
    def _old(self):
        """Condition of old calls, None if they are never summed up."""
        days = limits.get(self.env, "call_retention_days")
        return days and SQL("create_date::date < (now() AT TIME ZONE 'UTC')::date - %s", days)

    @api.model
    def _count_due(self):
        """Number of calls that would be summed up now."""
        query = (
            "SELECT COUNT(*) FROM woow_paas_platform_tool_call"
            " WHERE %s AND outcome IS NOT NULL AND is_summed IS NOT TRUE"
        )
        old = self._old()
        return self.env.execute_query(SQL(query, old))[0][0] if old else 0

    @api.model
    def _fold(self, condition, page=SQL()):  # noqa: B008 SQL is immutable
        """Move calls that ended into the sums, in one statement: counted, and marked or gone, or none of it.

        A call of a conversation stays: its history, and who decided what about it, are read from it.
        """
        self.env.flush_all()
        ((count,),) = self.env.execute_query(
            SQL(
                """
                WITH ended AS MATERIALIZED (
                    SELECT id, turn_id, create_date, server_id, server_name, tool_id, tool_name,
                           user_id, outcome, duration_ms, bytes, tokens
                      FROM woow_paas_platform_tool_call
                     WHERE %(condition)s AND outcome IS NOT NULL AND is_summed IS NOT TRUE
                       %(page)s
                       FOR UPDATE SKIP LOCKED),
                kept AS (
                    UPDATE woow_paas_platform_tool_call c SET is_summed = TRUE
                      FROM ended WHERE c.id = ended.id AND ended.turn_id IS NOT NULL),
                gone AS (
                    DELETE FROM woow_paas_platform_tool_call c
                     USING ended WHERE c.id = ended.id AND ended.turn_id IS NULL),
                summed AS (
                    SELECT e.create_date::date AS day, e.server_id, e.server_name, e.tool_id,
                           e.tool_name, t.assistant_id, e.user_id, e.outcome,
                           %(duration)s AS duration, COUNT(*) AS calls,
                           COALESCE(SUM(e.duration_ms), 0) AS total_duration,
                           COALESCE(SUM(e.bytes), 0) AS bytes, COALESCE(SUM(e.tokens), 0) AS tokens
                      FROM ended e LEFT JOIN woow_paas_platform_ai_turn t ON t.id = e.turn_id
                     GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9),
                stored AS (
                    INSERT INTO woow_paas_platform_tool_call_sum AS s (
                           key, day, server_id, server_name, tool_id, tool_name, assistant_id, user_id,
                           outcome, duration, calls, total_duration, bytes, tokens)
                    SELECT md5(ROW(day, server_id, server_name, tool_id, tool_name, assistant_id,
                                   user_id, outcome, duration)::text) AS key,
                           summed.*
                      FROM summed ORDER BY key
                        ON CONFLICT (key) DO UPDATE
                       SET calls = s.calls + EXCLUDED.calls,
                           total_duration = s.total_duration + EXCLUDED.total_duration,
                           bytes = s.bytes + EXCLUDED.bytes,
                           tokens = s.tokens + EXCLUDED.tokens)
                SELECT COUNT(*) FROM ended
                """,
                condition=condition,
                page=page,
                duration=rounded(SQL("e.duration_ms")),
            )
        )
        if count:
            self.env[CALLS].invalidate_model()
            self.invalidate_model()
        return count
