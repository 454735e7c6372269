from odoo import fields, models

from ...services import text
from ...services.errors import (
    LlmAuthFailed,
    LlmModelNotFound,
    LlmNoApi,
    LlmTimeout,
    LlmUnavailable,
)

OF_PROVIDER = {
    kind.code for kind in (LlmAuthFailed, LlmModelNotFound, LlmNoApi, LlmTimeout, LlmUnavailable)
}
"""Faults that are a provider's state, not a question's."""


class AiTurn(models.Model):
    """Which provider answers, and what turns learn of providers."""

    _inherit = "woow_paas_platform.ai_turn"

    config_id = fields.Many2one(
        "ai.config",
        "Provider",
        readonly=True,
        ondelete="set null",
        index="btree_not_null",
        groups="woow_paas_platform.group_admin",
        help="The provider that answered, or was asked last.",
    )
    technical_cause = fields.Text(
        readonly=True,
        groups="woow_paas_platform.group_admin",
        help="Errors of language models, in their own words.",
    )

    def _provider(self):
        """The one that is asked now."""
        self.ensure_one()
        first, asked = self.assistant_id.config_id, (self.transcript or {}).get("llm")
        return first.fallback_id if asked and asked == first.fallback_id.id else first

    def _note_provider(self):
        """Whose tokens these are, for the statistics."""
        provider = self._provider()
        if self.config_id != provider:
            self.config_id = provider

    def _tell_providers(self):
        """What a step has found out: how the model calls tools, and which provider was left because it is down."""
        progress = self.transcript
        self._note_provider()
        self._provider()._remember_protocol(progress["found_protocol"])
        if self.technical_cause:  # told by an earlier step
            return
        for fault in progress.get("llm_faults", ()):
            if fault["code"] in OF_PROVIDER:
                provider = self.env["ai.config"].browse(fault["id"]).exists()
                provider._record_fault(fault["code"], fault["message"], fault["detail"])
        self._note_causes()

    def _record_cause(self, code, message, detail):
        """The turn has ended; what failed is told to administrators, and the provider's state follows."""
        self._note_provider()
        if code in OF_PROVIDER:
            self._provider()._record_fault(code, message, detail)
        elif not code and self.state == "done":
            self._provider()._set_state("connected")
        self._note_causes(f"{code}: {detail}" if code and detail else "")

    def _note_causes(self, last=""):
        progress = self.transcript or {}
        faults = [f"{fault['code']}: {fault['detail']}" for fault in progress.get("llm_faults", ())]
        if cause := text.storable("\n".join(filter(None, [*faults, last]))):
            self.technical_cause = cause
