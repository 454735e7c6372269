from odoo import fields, models
from odoo.tools import SQL

MOST = 64  # tools of one request, and more


class CostOfTool(models.Model):
    """Costs by tool: a line a tool that the answer to a request called, each with its share of the request.

    Shares of a request are alike but for what rounding leaves to the first, so the lines of all tools add up to the
    ledger."""

    _name = "woow_paas_platform.cost_of_tool"
    _description = "Cost by Tool"
    _auto = False
    _order = "date desc, id desc"
    _rec_name = "tool_name"

    date = fields.Datetime(readonly=True)
    tool_name = fields.Char("Tool", readonly=True)
    assistant_id = fields.Many2one("ai.assistant", readonly=True)
    user_id = fields.Many2one("res.users", readonly=True)
    cloud_service_id = fields.Many2one("woow_paas_platform.cloud_service", readonly=True)
    company_id = fields.Many2one("res.company", readonly=True)
    provider_name = fields.Char(readonly=True)
    model = fields.Char(readonly=True)
    tokens = fields.Float(digits=(16, 0), readonly=True)
    company_amount = fields.Float("Cost", digits=(16, 9), readonly=True)

    @property
    def _table_query(self):
        return SQL(
            """
            SELECT c.id::bigint * %s + tool.number AS id, c.date, COALESCE(tool.name, %s) AS tool_name,
                   c.assistant_id, c.user_id, c.cloud_service_id, c.company_id, c.provider_name, c.model,
                   %s AS tokens, %s AS company_amount
              FROM woow_paas_platform_cost c
             CROSS JOIN LATERAL (
                   SELECT name, number, COUNT(*) OVER () AS count
                     FROM unnest(COALESCE(string_to_array(c.tool_names, ', '), ARRAY[NULL]))
                          WITH ORDINALITY AS named (name, number)) tool
            """,
            MOST,
            self.env._("No tool"),
            _share(SQL("(COALESCE(c.input_tokens, 0) + COALESCE(c.output_tokens, 0))::numeric"), 0),
            _share(SQL("c.company_amount"), 9),
        )


def _share(value, places):
    """Part of a value that a tool has.

    :param places: digits after the point
    """
    others = SQL("round(%s / tool.count, %s)", value, places)
    first = SQL("%s - %s * (tool.count - 1)", value, others)
    return SQL("CASE WHEN tool.number = 1 THEN %s ELSE %s END", first, others)
