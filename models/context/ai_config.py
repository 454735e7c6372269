from odoo import api, fields, models

from ...services.catalog import llm_presets
from ...services.context import budget
from ...services.llm import llm_errors

LEAST = 2_048  # tokens; less is no model's length
GUESSED = 8_192  # tokens; less is not assumed of a provider that does not say it


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

    refused_context_length = fields.Integer(
        "Refused Above",
        compute="_compute_refused_context_length",
        store=True,
        copy=False,
        help="Tokens: the provider has refused a longer request. Another address, model or context length forgets it.",
    )

    _context_length_range = models.Constraint(
        "CHECK (context_length = 0 OR context_length >= 2048)",
        "The context length must be at least 2,048 tokens, or 0.",
    )

    @api.depends("api_base_url", "model")
    def _compute_found_context_length(self):
        """What was found out about one model says nothing about another."""
        self.found_context_length = 0

    @api.depends("api_base_url", "model", "context_length")
    def _compute_refused_context_length(self):
        self.refused_context_length = 0

    def _note_refusal(self, detail):
        """Sum up sooner from now on.

        :param detail: how the provider has said that a request was too long
        :return: whether that says more than was known
        """
        if not llm_errors.counts_tokens(detail):
            return False
        used = self._context_tokens()
        told = llm_errors.context_length(detail)
        # Not below what is plausible: a message that is too long by itself must not shorten everybody's conversations.
        length = max(told, LEAST) if told else max(used * 3 // 4, GUESSED)
        if length < used:
            self.refused_context_length = length
        return length < used

    def _record_test(self, diagnosis):
        result = super()._record_test(diagnosis)
        if diagnosis.found.models:  # else nothing was listed, and what is known stays
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
        used = budget.length(known)
        return min(used, self.refused_context_length or used)
