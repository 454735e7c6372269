from odoo import fields, models
from odoo.tools import SQL

DURATION_SHARES = {"duration_median": 0.5, "duration_p95": 0.95}


class ToolCallReport(models.Model):
    """Tool calls to count, one line a call. What is grouped is computed by PostgreSQL at each level, so medians,
    percentiles and rates are exact there and nothing is summed that cannot be."""

    _name = "woow_paas_platform.tool_call_report"
    _description = "Tool Call Statistics"
    _auto = False
    _order = "date desc, id desc"
    _rec_name = "tool_name"

    date = fields.Datetime(readonly=True)
    server_id = fields.Many2one("woow_paas_platform.mcp_server", readonly=True)
    tool_id = fields.Many2one("woow_paas_platform.mcp_tool", readonly=True)
    tool_name = fields.Char(readonly=True)
    assistant_id = fields.Many2one("ai.assistant", readonly=True)
    user_id = fields.Many2one("res.users", readonly=True)
    outcome = fields.Selection(
        selection=lambda self: (
            self.env["woow_paas_platform.tool_call"]._fields["outcome"].selection
        ),
        readonly=True,
    )
    error_rate = fields.Float("Error Rate (%)", readonly=True, aggregator="avg")
    duration_median = fields.Integer("Median Duration (ms)", readonly=True, aggregator="avg")
    duration_p95 = fields.Integer("95 % Are Faster Than (ms)", readonly=True, aggregator="avg")
    bytes = fields.Integer(readonly=True, aggregator="sum")
    tokens = fields.Integer(
        readonly=True, aggregator="sum", help="About what the results cost the model."
    )

    @property
    def _table_query(self):
        # A denied or cancelled call is somebody's decision, no error.
        return SQL(
            """
            SELECT c.id, c.create_date AS date, c.server_id, c.tool_id, c.tool_name, t.assistant_id,
                   c.user_id, c.outcome,
                   CASE WHEN c.outcome IN ('ok', 'denied', 'cancelled') THEN 0.0 ELSE 100.0 END
                        AS error_rate,
                   c.duration_ms AS duration_median, c.duration_ms AS duration_p95, c.bytes, c.tokens
              FROM woow_paas_platform_tool_call c
              LEFT JOIN woow_paas_platform_ai_turn t ON t.id = c.turn_id
             WHERE c.outcome IS NOT NULL
            """
        )

    def _read_group_select(self, aggregate_spec, query):
        """The median and the 95th percentile of a group, where Odoo would take an average."""
        name, _, _function = aggregate_spec.partition(":")
        if share := DURATION_SHARES.get(name):
            column = self._field_to_sql(self._table, name, query)
            return SQL("percentile_cont(%s) WITHIN GROUP (ORDER BY %s)", share, column)
        return super()._read_group_select(aggregate_spec, query)
