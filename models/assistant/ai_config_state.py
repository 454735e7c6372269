from odoo import api, fields, models

from ...services import text
from ...services.errors import LlmAuthFailed
from ...services.net import egress
from ...services.specs import LlmSpec
from ...tools import sentences

TESTED = {
    "api_base_url",
    "model",
    "api_key",
    "tool_protocol",
    "supports_vision",
    "embedding_model",
    "active",
}
"""What a test was about: with another value nothing is known any more."""


class AiConfig(models.Model):
    """The state of a provider, its cause, and since when."""

    _inherit = "ai.config"

    state = fields.Selection(
        [
            ("draft", "Not tested"),
            ("connected", "Connected"),
            ("error", "Error"),
            ("auth_required", "Key refused"),
        ],
        required=True,
        default="draft",
        readonly=True,
        copy=False,
    )
    state_message = fields.Char(readonly=True, copy=False)
    state_sentence = fields.Char("Reason", compute="_compute_state_sentence")
    state_detail = fields.Char("Technical Details", readonly=True, copy=False)
    state_since = fields.Datetime("Since", readonly=True, copy=False, default=fields.Datetime.now)
    model_names = fields.Json(
        readonly=True,
        copy=False,
        help="Names of models that the provider listed when it was tested.",
    )

    @api.depends("state_message")
    @api.depends_context("lang")
    def _compute_state_sentence(self):
        for config in self:
            message = config.state_message
            config.state_sentence = message and sentences.for_managers(self.env, message)

    def write(self, vals):
        changed = TESTED & vals.keys()
        before = {
            config: [config[name] for name in sorted(changed - {"api_key"})] for config in self
        }
        result = super().write(vals)
        for config, values in before.items():
            now = [config[name] for name in sorted(changed - {"api_key"})]
            if now != values or vals.get("api_key"):
                config._set_state("draft")
        return result

    def action_test(self):
        """Show the test of `POST /api/ai/providers/<id>/test`, step by step."""
        self.ensure_one()
        self.check_access("write")
        return {
            "type": "ir.actions.client",
            "tag": "woow_connection_test",
            "params": {"path": f"/api/ai/providers/{self.id}/test"},
        }

    def _set_state(self, state, message=False, detail=False):  # pylint: disable=missing-return
        """Writes only what is news: turns that run at once tell the same."""
        for config in self:
            vals = {"state": state, "state_message": message, "state_detail": detail}
            if config.state != state:
                vals["state_since"] = fields.Datetime.now()
            if any(config[name] != value for name, value in vals.items()):
                super(AiConfig, config).write(vals)  # pylint: disable=super-method-mismatch

    def _record_test(self, diagnosis):
        """:param diagnosis: of `services.llm.diagnose`"""
        self.ensure_one()
        if names := diagnosis.found.models:
            self.model_names = text.storable(names)
        self._remember_protocol(diagnosis.found.protocol)
        if diagnosis.ok:
            self._set_state("connected")
        else:
            self._record_failure(diagnosis.error)

    def _record_failure(self, error):
        """:param error: what a test ran into"""
        self._record_fault(error.code, str(error), error.detail)

    def _record_fault(self, code, message, detail):
        """What a test or a turn ran into, where it says something about the provider itself."""
        state = "auth_required" if code == LlmAuthFailed.code else "error"
        self._set_state(state, text.storable(message), text.storable(detail))

    def _listing_spec(self, base_url, api_key=""):
        """How the names of its models are asked for; of a provider that is not saved yet, an empty record is.

        The stored key goes only to where it was entered for.

        :raises EngineError: it cannot be asked
        """
        self._check_copy()
        base_url = egress.check_url(base_url).rstrip("/")
        if not api_key and self and egress.origin(base_url) == egress.origin(self.api_base_url):
            api_key = self._read_secret("api_key")
        return LlmSpec(id=self.id or 0, base_url=base_url, model="", api_key=api_key or "")
