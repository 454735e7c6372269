import contextlib

from odoo import api, fields, models
from odoo.exceptions import ValidationError

from ...services import const, packages, text
from ...services.catalog import llm_presets
from ...services.catalog.address import without_secrets
from ...services.catalog.llm_presets import PRESETS
from ...services.context import budget
from ...services.errors import (
    LlmAuthFailed,
    LlmModelNotFound,
    LlmNoApi,
    LlmSwitchedOff,
    LlmTimeout,
    LlmUnavailable,
    PackageMissing,
    SecretUnreadable,
)
from ...services.llm import llm_errors
from ...services.net import egress
from ...services.specs import LlmSpec
from ...tools import sentences
from ...tools.refusals import Refusal
from .assistant_version import PROVIDER

TESTED = {
    "api_base_url",
    "model",
    "api_key",
    "tool_protocol",
    "supports_vision",
    "embedding_model",
    "active",
}
"""Fields that a test was about: with another value nothing is known any more."""
EMBEDDING_FIELDS = {"api_base_url", "api_key", "embedding_model"}
"""Fields that say whom embeddings are asked of: with another value nothing is known any more."""
OF_PROVIDER = {
    kind.code for kind in (LlmAuthFailed, LlmModelNotFound, LlmNoApi, LlmTimeout, LlmUnavailable)
}
"""Faults that are a provider's state, not a question's."""
LEAST_CONTEXT = 2_048  # tokens; less is no model's length
GUESSED_CONTEXT = 8_192  # tokens; less is not assumed of a provider that does not say it


class AiConfig(models.Model):
    """An OpenAI-compatible provider: how it is asked, its state, and how much its model reads at once."""

    _name = "ai.config"
    _description = "AI Provider"
    _inherit = [
        "woow_paas_platform.api_key.mixin",
        "woow_paas_platform.company.mixin",
        "woow_paas_platform.exchange.mixin",
    ]
    _order = "sequence, id"
    _exchanged = ("name", *PROVIDER, "stream_usage", "first_token_timeout", "idle_timeout")

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
    found_protocol = fields.Selection(
        [("native", "Function calling"), ("prompt", "In the prompt")],
        "Detected Protocol",
        compute="_compute_found_protocol",
        store=True,
        copy=False,
        help="How the model was found to call tools. The test is repeated when the model or its address changes.",
    )
    missing_packages = fields.Char(compute="_compute_missing_packages")
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
    embedding_model = fields.Char(
        help="Name of one of the provider's embedding models. With it, an assistant with many tools finds them also "
        "by what they mean, for instance those with English descriptions by a question in Chinese.",
    )
    embedding_problem = sentences.SentenceField(readonly=True, copy=False)
    embedding_sentence = fields.Char("Why Embeddings Fail", compute="_compute_embedding_sentence")
    embedding_detail = fields.Char("Details of the Embedding Problem", readonly=True, copy=False)
    embedding_problem_since = fields.Datetime("Embeddings Fail Since", readonly=True, copy=False)
    fallback_id = fields.Many2one(
        "ai.config",
        "Fallback Provider",
        check_company=True,
        ondelete="set null",
        index=True,
        domain="[('id', '!=', id)]",
        help="Answers if this provider cannot be reached, refuses its key or model, or fails before the first token of "
        "an answer. Its own fallback is not asked.",
    )
    is_for_owners = fields.Boolean(
        "Offered to Service Owners",
        copy=False,
        help="Owners of cloud services may choose it for their assistants. They see its name only.",
    )
    assistant_ids = fields.One2many("ai.assistant", "config_id", string="Assistants")
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
    state_message = sentences.SentenceField(readonly=True, copy=False)
    state_sentence = fields.Char("Reason", compute="_compute_state_sentence")
    state_detail = fields.Char("Technical Details", readonly=True, copy=False)
    state_since = fields.Datetime("Since", readonly=True, copy=False, default=fields.Datetime.now)
    model_names = fields.Json(
        readonly=True,
        copy=False,
        help="Names of models that the provider listed when it was tested.",
    )

    _timeouts_positive = models.Constraint(
        "CHECK (first_token_timeout > 0 AND idle_timeout > 0)", "Timeouts must be positive."
    )
    _context_length_range = models.Constraint(
        "CHECK (context_length = 0 OR context_length >= 2048)",
        "The context length must be at least 2,048 tokens, or 0.",
    )

    @api.depends("api_base_url")
    def _compute_preset(self):
        for config in self:
            config.preset = llm_presets.of_url(config.api_base_url or "") or False

    def _compute_missing_packages(self):
        """A sentence when this host lacks what talks to a provider."""
        names = packages.missing(packages.MODELS)
        sentence = names and sentences.translated(self.env, str(PackageMissing(", ".join(names))))
        self.missing_packages = sentence or False

    @api.depends("api_base_url", "model", "tool_protocol")
    def _compute_found_protocol(self):
        """Forget findings about one model when another is chosen."""
        self.found_protocol = False

    @api.depends("api_base_url", "model")
    def _compute_found_context_length(self):
        """Forget findings about one model when another is chosen."""
        self.found_context_length = 0

    @api.depends("api_base_url", "model", "context_length")
    def _compute_refused_context_length(self):
        self.refused_context_length = 0

    @api.depends("embedding_problem")
    @api.depends_context("lang")
    def _compute_embedding_sentence(self):
        for config in self:
            problem = config.embedding_problem
            config.embedding_sentence = problem and sentences.for_managers(self.env, problem)

    @api.depends("state_message")
    @api.depends_context("lang")
    def _compute_state_sentence(self):
        for config in self:
            message = config.state_message
            config.state_sentence = message and sentences.for_managers(self.env, message)

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
        if EMBEDDING_FIELDS & vals.keys():
            for config in self.filtered("embedding_problem"):
                config._put_embedding_problem("", "")
        if vals.get("active") is False:
            self.env["discuss.channel"]._stop_answers_by(self)
        return result

    def _secret_facts(self):
        """The key belongs to who was at the address when it was entered."""
        return super()._secret_facts() | {"api_key": egress.origin(self.api_base_url)}

    def action_test(self):
        """Show the test of `POST /api/ai/providers/<id>/test`, step by step."""
        self.ensure_one()
        self.check_access("write")
        return {
            "type": "ir.actions.client",
            "tag": "woow_connection_test",
            "params": {"path": f"/api/ai/providers/{self.id}/test"},
        }

    # ------------------------------------------------------------ requests

    def _llm_spec(self, with_fallback=False):
        """The `LlmSpec`, the only way to the provider.

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
            database=self.env.cr.dbname,
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

    def _listing_spec(self, base_url, api_key=""):
        """Spec to list the provider's models; an empty record stands for a provider that is not saved yet.

        The stored key goes only to where it was entered for.

        :raises EngineError: it cannot be asked
        """
        self._check_copy()
        base_url = egress.check_url(base_url).rstrip("/")
        if not api_key and self and egress.origin(base_url) == egress.origin(self.api_base_url):
            api_key = self._read_secret("api_key")
        return LlmSpec(id=self.id or 0, base_url=base_url, model="", api_key=api_key or "")

    def _remember_protocol(self, found):
        """Keep what a turn has found out about the model; a choice of an administrator stays."""
        for config in self:
            if config.tool_protocol == "auto" and found and config.found_protocol != found:
                config.found_protocol = found

    # ------------------------------------------------------------ configuration files

    def _exchange_data(self):
        return {**super()._exchange_data(), "api_base_url": self._shown_address()}

    def _shown_address(self):
        return without_secrets(self.api_base_url or "", lambda _name: "…")

    @api.model
    def _exchange_check(self, entry):
        egress.check_url(entry["api_base_url"])
        return super()._exchange_check(entry)

    def _exchange_fit(self, entry, coming):
        entry, notes = super()._exchange_fit(entry, coming)
        url = entry["api_base_url"]
        if "…" in url and not (self and url == self._shown_address()):
            raise Refusal(
                self.env._("Its address contains a secret, which files do not. Add it here first.")
            )
        is_moved = egress.origin(url) != egress.origin(self.api_base_url)
        if entry["secrets"] and (is_moved or not self.has_api_key):
            notes.append(self.env._("Enter its API key after the import."))
        return entry, notes

    # ------------------------------------------------------------ state, its cause, and since when

    def _record_test(self, diagnosis):
        """:param diagnosis: of `services.llm.diagnose`"""
        self.ensure_one()
        if names := diagnosis.found.models:
            self.model_names = text.storable(names)
        self._remember_protocol(diagnosis.found.protocol)
        if diagnosis.ok:
            self._set_state("connected")
            self._put_embedding_problem("", "")
        else:
            self._record_failure(diagnosis.error)
            if any(
                step.name == "embeddings" and step.state == "failed" for step in diagnosis.steps
            ):
                self._put_embedding_problem(
                    text.storable(str(diagnosis.error)), text.storable(diagnosis.error.detail)
                )
        if diagnosis.found.models:  # else nothing was listed, and what is known stays
            self.found_context_length = diagnosis.found.context_length

    def _record_failure(self, error):
        """:param error: what a test ran into"""
        self._put_fault(error.code, str(error), error.detail)

    @api.model
    def _record_faults(self, faults):
        """Record the faults of endpoints that were asked: `services.llm.failover.fault`."""
        for fault in faults:
            provider = self.browse(fault["id"]).exists()
            provider._record_fault(fault["code"], fault["message"], fault["detail"])

    def _record_fault(self, code, message, detail):
        """Record the fault of an answer if it concerns the provider itself."""
        if code in OF_PROVIDER:
            self._put_fault(code, message, detail)

    def _put_fault(self, code, message, detail):
        state = "auth_required" if code == LlmAuthFailed.code else "error"
        self._set_state(state, text.storable(message), text.storable(detail))

    def _set_state(self, state, message=False, detail=False):  # pylint: disable=missing-return
        """Writes only what is news: turns that run at once tell the same."""
        for config in self:
            vals = {"state": state, "state_message": message, "state_detail": detail}
            if config.state != state:
                vals["state_since"] = fields.Datetime.now()
            if any(config[name] != value for name, value in vals.items()):
                super(AiConfig, config).write(vals)  # pylint: disable=super-method-mismatch

    # ------------------------------------------------------------ embeddings: without them, tools are found by words

    def _record_embeddings(self, model, problem="", detail=""):
        """Record the result of a turn's search for tools by embeddings.

        :param model: that was asked; by now another one may be chosen
        :param problem: the engine's English sentence, none where it answers
        """
        if self.embedding_model and self.embedding_model.strip() == model:
            self._put_embedding_problem(text.storable(problem), text.storable(detail))

    def _put_embedding_problem(self, problem, detail):
        """Writes only what is news: each process tells of it by itself."""
        vals = {"embedding_problem": problem or False, "embedding_detail": detail or False}
        if bool(self.embedding_problem) != bool(problem):
            vals["embedding_problem_since"] = problem and fields.Datetime.now()
        if any(self[name] != value for name, value in vals.items()):
            self.write(vals)

    # ------------------------------------------------------------ context length

    def _context_tokens(self):
        """Tokens of a request that are used."""
        self.ensure_one()
        used = budget.length(self._known_context_length())
        return min(used, self.refused_context_length or used)

    def _known_context_length(self):
        return (
            self.context_length
            or self.found_context_length
            or llm_presets.context_length(self.api_base_url or "")
        )

    def _is_context_known(self):
        return bool(self.refused_context_length or self._known_context_length())

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
        length = max(told, LEAST_CONTEXT) if told else max(used * 3 // 4, GUESSED_CONTEXT)
        if length < used:
            self.refused_context_length = length
        return length < used
