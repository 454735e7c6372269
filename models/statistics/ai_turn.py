from odoo import api, fields, models


class AiTurn(models.Model):
    """Token usage of a turn, as columns that can be summed."""

    _inherit = "woow_paas_platform.ai_turn"

    tokens = fields.Integer(
        compute="_compute_cost",
        store=True,
        aggregator="sum",
        help="Tokens that the language model has read and written.",
    )
    duration_ms = fields.Integer(
        "Duration (ms)", compute="_compute_cost", store=True, aggregator="avg"
    )

    _created = models.Index("(create_date)")

    @api.depends("usage")
    def _compute_cost(self):
        for turn in self:
            usage = turn.usage or {}
            turn.tokens = (usage.get("input_tokens") or 0) + (usage.get("output_tokens") or 0)
            turn.duration_ms = usage.get("duration_ms") or 0

    @api.model
    def _prunes(self):
        return [*super()._prunes(), self.env["woow_paas_platform.tool_call_sum"]._fold_old]
