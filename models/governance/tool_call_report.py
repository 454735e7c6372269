from odoo import fields, models
from odoo.tools import SQL

from ..turn.tool_call_sum import CALLS, rounded
from .overview import NO_ERRORS

DURATION_SHARES = {"duration_median": 0.5, "duration_p95": 0.95}


class ToolCallReport(models.Model):
    """Tool calls to count: one line a call that ended, one line for many that are only counted any more.

    What is grouped is computed by PostgreSQL at each level with the number of calls as the weight, so counts
    and rates are exact there, and medians and percentiles as exact as durations are counted. A call says the
    same before and after it was folded: days are those of UTC, durations are rounded alike. Calls that never
    ran have no duration."""

    _name = "woow_paas_platform.tool_call_report"
    _description = "Tool Call Statistics"
    _auto = False
    _order = "date desc, id desc"
    _rec_name = "tool_name"

    date = fields.Date("Day", readonly=True)
    server_id = fields.Many2one("woow_paas_platform.mcp_server", readonly=True)
    server_name = fields.Char(readonly=True, help="Kept when the server is deleted.")
    tool_id = fields.Many2one("woow_paas_platform.mcp_tool", readonly=True)
    tool_name = fields.Char(readonly=True)
    assistant_id = fields.Many2one("ai.assistant", readonly=True)
    user_id = fields.Many2one("res.users", readonly=True)
    outcome = fields.Selection(
        selection=lambda self: self.env[CALLS]._fields["outcome"].selection, readonly=True
    )
    calls = fields.Integer("Number of Calls", readonly=True, aggregator=None)
    errors = fields.Integer("Number of Errors", readonly=True, aggregator="sum")
    error_rate = fields.Float("Error Rate (%)", readonly=True, aggregator="avg")
    duration_median = fields.Integer("Median Duration (ms)", readonly=True, aggregator="avg")
    duration_p95 = fields.Integer("95th Percentile (ms)", readonly=True, aggregator="avg")
    total_duration = fields.Integer("Total Duration (ms)", readonly=True, aggregator="sum")
    bytes = fields.Integer(readonly=True, aggregator="sum")
    tokens = fields.Integer(
        readonly=True, aggregator="sum", help="Estimated number of tokens in the results."
    )

    @property
    def _table_query(self):
        return SQL(
            """
            SELECT id, date, server_id, tool_id, tool_name, assistant_id, user_id, outcome, calls,
                   CASE WHEN server_name <> '' THEN server_name
                        WHEN outcome = 'unknown_tool' THEN %s ELSE %s END AS server_name,
                   CASE WHEN outcome IN %s THEN 0 ELSE calls END AS errors,
                   CASE WHEN outcome IN %s THEN 0.0 ELSE 100.0 END
                        AS error_rate,
                   lasted AS duration_median, lasted AS duration_p95, total_duration, bytes, tokens
              FROM (
                SELECT *, CASE WHEN duration > 0 OR outcome = 'ok' THEN duration END AS lasted FROM (
                    SELECT c.id, c.create_date::date AS date, c.server_id, c.server_name, c.tool_id,
                           c.tool_name, t.assistant_id, c.user_id, c.outcome, 1 AS calls,
                           %s AS duration, c.duration_ms::float8 AS total_duration,
                           c.bytes::float8 AS bytes, c.tokens::float8 AS tokens
                      FROM woow_paas_platform_tool_call c
                      LEFT JOIN woow_paas_platform_ai_turn t ON t.id = c.turn_id
                     WHERE c.outcome IS NOT NULL AND c.is_summed IS NOT TRUE
                     UNION ALL
                    SELECT -s.id, s.day, s.server_id, s.server_name, s.tool_id, s.tool_name,
                           s.assistant_id, s.user_id, s.outcome, s.calls, s.duration,
                           s.total_duration, s.bytes, s.tokens
                      FROM woow_paas_platform_tool_call_sum s
                ) counted) told
            """,
            self.env._("Unknown tools"),
            self.env._("Built-in tools"),
            NO_ERRORS,
            NO_ERRORS,
            rounded(SQL("c.duration_ms")),
        )

    def _read_group_select(self, aggregate_spec, query):
        """Count, rate, median and 95th percentile of a group: of its calls, not of its lines."""
        calls = self._field_to_sql(self._table, "calls", query)
        if aggregate_spec == "__count":
            return SQL("COALESCE(SUM(%s), 0)", calls)
        name, _, _function = aggregate_spec.partition(":")
        column = self._field_to_sql(self._table, name, query)
        if name == "error_rate":
            return SQL("SUM(%s * %s) / SUM(%s)", column, calls, calls)
        if share := DURATION_SHARES.get(name):
            return SQL(
                """(
                SELECT MIN(ms) FROM (
                    SELECT ms, SUM(calls) OVER (ORDER BY ms) AS until, SUM(calls) OVER () AS whole
                      FROM unnest(array_agg(%s), array_agg(%s)) AS line (ms, calls)
                     WHERE ms IS NOT NULL) ranked
                 WHERE until >= %s * whole)""",
                column,
                calls,
                share,
            )
        return super()._read_group_select(aggregate_spec, query)
