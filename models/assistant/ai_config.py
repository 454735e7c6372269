import contextlib

from odoo import api, fields, models
from odoo.exceptions import ValidationError

from ...services import const, packages
from ...services.catalog import llm_presets
from ...services.catalog.llm_presets import PRESETS
from ...services.errors import LlmSwitchedOff, PackageMissing, SecretUnreadable
from ...services.net import egress
from ...services.specs import LlmSpec
from ...tools import sentences


class AiConfig(models.Model):
    """An OpenAI-compatible provider."""

    _name = "ai.config"
    _description = "AI Provider"
    _inherit = ["woow_paas_platform.api_key.mixin", "woow_paas_platform.company.mixin"]
    _order = "sequence, id"

    name = fields.Char(required=True)
    preset = fields.Selection(
        lambda _self: [(code, name) for code, (name, _url) in PRESETS.items()],
        compute="_compute_preset",
        readonly=False,
        help="Fills in the address of a well-known provider.",
    )
    active = fields.Boolean(
        default=True,
        help="Switching it off takes effect immediately: nothing more is sent to the provider, and "
        "running turns are stopped.",
    )
    sequence = fields.Integer(default=10)
    api_base_url = fields.Char(
        "API Base URL",
        required=True,
        default="https://api.openai.com/v1",
        help="Address of an OpenAI-compatible API, up to and including its version.",
    )
    model = fields.Char(required=True, help="Name of the model as used by the provider.")
    temperature = fields.Float(default=0.0, help="Use 0 for the most reproducible answers.")
    max_tokens = fields.Integer(
        "Max. Tokens", help="Maximum length of an answer, in tokens. 0 means no limit."
    )
    tool_protocol = fields.Selection(
        [
            ("auto", "Detect automatically"),
            ("native", "Function calling"),
            ("prompt", "In the prompt"),
        ],
        required=True,
        default="auto",
        help="How the model is told about tools and how it calls them. “Function calling” works best if "
        "the model supports it. “In the prompt” works with every model: tools are described in the "
        "prompt and called by JSON in the answer. “Detect automatically” tests the model once, "
        "before its first answer with tools, and keeps the result.",
    )
    missing_packages = fields.Char(compute="_compute_missing_packages")
    found_protocol = fields.Selection(
        [("native", "Function calling"), ("prompt", "In the prompt")],
        "Detected Protocol",
        compute="_compute_found_protocol",
        store=True,
        copy=False,
        help="How the model was found to call tools. The test is repeated when the model or its address changes.",
    )
    supports_vision = fields.Boolean()
    stream_usage = fields.Boolean(
        "Request Token Usage",
        default=True,
        help="Requests the token usage of streamed answers. Switch it off for endpoints that reject this option.",
    )
    first_token_timeout = fields.Float(
        "First-Token Timeout (s)",
        required=True,
        default=const.LLM_FIRST_TOKEN_TIMEOUT,
        help="Maximum time to wait for the first token of an answer. Models on slow machines need more.",
    )
    idle_timeout = fields.Float(
        "Idle Timeout (s)",
        required=True,
        default=const.LLM_IDLE_TIMEOUT,
        help="Maximum time without a new token during an answer.",
    )
    embedding_model = fields.Char(
        help="Name of one of the provider's embedding models. With it, an assistant with many tools finds them also "
        "by what they mean, for instance those with English descriptions by a question in Chinese.",
    )
    fallback_id = fields.Many2one(
        "ai.config",
        "Fallback Provider",
        check_company=True,
        ondelete="set null",
        index=True,
        domain="[('id', '!=', id)]",
        help="Answers where this provider is down before the first token of an answer. Its own fallback is not asked.",
    )
    assistant_ids = fields.One2many("ai.assistant", "config_id", string="Assistants")

    _timeouts_positive = models.Constraint(
        "CHECK (first_token_timeout > 0 AND idle_timeout > 0)", "Timeouts must be positive."
    )

    @api.depends("api_base_url", "model", "tool_protocol")
    def _compute_found_protocol(self):
        """What was found out about one model says nothing about another."""
        self.found_protocol = False

    def _remember_protocol(self, found):
        """Keep what a turn has found out about the model; a choice of an administrator stays."""
        for config in self:
            if config.tool_protocol == "auto" and found and config.found_protocol != found:
                config.found_protocol = found

    @api.constrains("api_base_url")
    def _check_api_base_url(self):
        for config in self:
            if not config.api_base_url.startswith(("http://", "https://")):
                raise ValidationError(
                    self.env._("The API base URL must begin with http:// or https://.")
                )

    @api.constrains("fallback_id")
    def _check_fallback(self):
        for config in self:
            if config.fallback_id == config:
                raise ValidationError(self.env._("A provider cannot be its own fallback."))

    @api.constrains("company_id")
    def _check_company_of_assistants(self):
        everything = self.with_context(active_test=False)
        everything.assistant_ids._check_company(["config_id"])
        everything.search([("fallback_id", "in", self.ids)])._check_company(["fallback_id"])

    @api.depends("api_base_url")
    def _compute_preset(self):
        for config in self:
            config.preset = llm_presets.of_url(config.api_base_url or "") or False

    @api.onchange("preset")
    def _onchange_preset(self):
        if self.preset and self.preset != llm_presets.of_url(self.api_base_url or ""):
            known = [name for name, _url in PRESETS.values()]
            name, self.api_base_url = PRESETS[self.preset]
            if not self.name or self.name in known:
                self.name = name

    @api.onchange("api_base_url")
    def _onchange_api_base_url(self):
        return self._warn_of_move()

    def _secret_facts(self):
        """The key belongs to who was at the address when it was entered."""
        return super()._secret_facts() | {"api_key": egress.origin(self.api_base_url)}

    def _compute_missing_packages(self):
        """A sentence when this host lacks what talks to a provider."""
        names = packages.missing(packages.MODELS)
        sentence = names and sentences.translated(self.env, str(PackageMissing(", ".join(names))))
        self.missing_packages = sentence or False

    def _llm_spec(self, with_fallback=False):
        """How the provider is asked; there is no other way to it.

        :param with_fallback: who is asked instead where this one is down, unless it cannot be asked either
        :raises LlmSwitchedOff: nobody asks it now
        :raises SecretUnreadable: see `SecretMixin._read_secret`
        """
        self.ensure_one()
        fallback = None
        if with_fallback and self.fallback_id:
            with contextlib.suppress(LlmSwitchedOff, SecretUnreadable):
                fallback = self.fallback_id._llm_spec()
        if not self.active:
            raise LlmSwitchedOff
        return LlmSpec(
            id=self.id,
            realm=self.env.cr.dbname,
            base_url=self.api_base_url.rstrip("/"),
            model=self.model,
            api_key=self._read_secret("api_key"),
            temperature=self.temperature,
            max_tokens=self.max_tokens or None,
            tool_protocol=self.tool_protocol,
            found_protocol=self.found_protocol or "",
            supports_vision=self.supports_vision,
            stream_usage=self.stream_usage,
            embedding_model=(self.embedding_model or "").strip(),
            first_token_timeout=self.first_token_timeout,
            idle_timeout=self.idle_timeout,
            fallback=fallback,
        )
