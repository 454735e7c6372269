from odoo import api, fields, models

from ...services.catalog import llm_presets
from ...services.context import budget


class AiConfig(models.Model):
    """How much a provider's model reads at once."""

    _inherit = "ai.config"

    context_length = fields.Integer(
        help="Tokens that the model takes in one request, its answer included. 0 uses what the provider lists when it "
        "is tested, or what is usual for it. When a conversation nears it, its earlier messages are summed up.",
    )
    found_context_length = fields.Integer(
        "Detected Context Length",
        compute="_compute_found_context_length",
        store=True,
        copy=False,
        help="What the provider listed for this model when it was tested.",
    )

    _context_length_range = models.Constraint(
        "CHECK (context_length = 0 OR context_length >= 2048)",
        "The context length must be at least 2,048 tokens, or 0.",
    )

    @api.depends("api_base_url", "model")
    def _compute_found_context_length(self):
        """What was found out about one model says nothing about another."""
        self.found_context_length = 0

    def _record_test(self, diagnosis):
        result = super()._record_test(diagnosis)
        self.found_context_length = diagnosis.found.context_length
        return result

    def _context_tokens(self):
        """Tokens of a request that are used."""
        self.ensure_one()
        known = (
            self.context_length
            or self.found_context_length
            or llm_presets.context_length(self.api_base_url or "")
        )
        return budget.length(known)
