from datetime import timedelta

import psycopg2
from odoo import SUPERUSER_ID, api, fields, models
from odoo.exceptions import AccessError, UserError, ValidationError
from odoo.fields import Command, Domain

from ...services import const, text
from ...services.records import catalog, deny_list
from ...services.sentence import _lt
from ...services.versions.exchange import Shape
from ...tools import host, limits, mcp_switch, sentences, server_files
from ...tools.refusals import BadInput, NotThere, Refusal, TooOften, Unavailable
from ..mixins.exchange_mixin import found, shape_of, value_of
from .assistant_version import ACCESS, PUBLISHED, RULE, STATE, TRANSLATED
from .record_access import PRESETS

MAX_ABOUT = 1_000  # characters of a description that a line of a slash command shows
CHARACTERS = {  # at most, of what those who manage a cloud service write
    "name": 100,
    "description": const.STARTER_CHARS,
    "greeting": const.STARTER_CHARS,
    "system_prompt": text.INSTRUCTIONS,
}
MAX_CHANGES = (
    50  # versions of one assistant within a day, before those who manage a service have to wait
)
AN_HOUR = 60 * 60  # s
MAX_GONE = 100  # assistants that are deleted for good at once
MAX_ADDITIONS = 20  # assistants of one service within a day, deleted ones included
OFFERED = Domain("is_for_owners", "=", True) & Domain("active", "=", True)
"""Providers and system servers that an administrator offers to those who manage cloud services."""
ADMIN = "woow_paas_platform.group_admin"
MAX_TOLD = 20  # administrators who are told at once
LINES = {  # fields of lines that travel; released actions are code of one database
    "record_access_ids": ("woow_paas_platform.record_access", set(ACCESS) - {"action_ids"}),
    "approval_rule_ids": ("woow_paas_platform.approval_rule", set(RULE)),
}


class AiAssistant(models.Model):
    """Assistant: a provider, a system prompt, and the tools and records that it may use."""

    _name = "ai.assistant"
    _description = "AI Assistant"
    _inherit = [
        "woow_paas_platform.company.mixin",
        "woow_paas_platform.approval.mixin",
        "woow_paas_platform.exchange.mixin",
        "woow_paas_platform.lock.mixin",
    ]
    _order = "sequence, id"
    _exchanged = tuple(name for name in STATE if name not in LINES)

    name = fields.Char(required=True, translate=True)
    active = fields.Boolean(default=True)
    sequence = fields.Integer(default=10)
    description = fields.Char(
        translate=True, help="One line that tells users what the assistant is for."
    )
    image = fields.Image(max_width=256, max_height=256)
    greeting = fields.Char(
        translate=True, help="Heading of a new chat. Without one it is “How can I help you?”."
    )
    starters = fields.Text(
        "Suggested Questions",
        translate=True,
        help="One per line, shown in a new chat. Without any, some are made from the tools.",
    )
    cloud_service_id = fields.Many2one(
        "woow_paas_platform.cloud_service",
        readonly=True,
        copy=False,
        ondelete="cascade",
        index="btree_not_null",
        help="Those who manage the service manage the assistant, too. It answers only in chats about the service.",
    )
    partner_id = fields.Many2one(
        "res.partner",
        string="Contact",
        required=True,
        readonly=True,
        copy=False,
        ondelete="restrict",
        help="Author of the assistant's messages. It has no login.",
    )
    config_id = fields.Many2one(
        "ai.config",
        string="Provider",
        required=True,
        ondelete="restrict",
        check_company=True,
        groups="woow_paas_platform.group_admin",
        default=lambda self: self._default_config(),
    )
    system_prompt = fields.Text(
        groups="woow_paas_platform.group_admin",
        default="You are a helpful assistant. Use the tools to look things up instead of guessing.",
    )
    group_ids = fields.Many2many(
        "res.groups",
        string="Available To",
        default=lambda self: self.env.ref("base.group_user", raise_if_not_found=False),
        help="New assistants are for internal users. Leave empty to offer it to everyone who can sign in, "
        "including portal users.",
    )
    audience = fields.Char(
        "For",
        compute="_compute_audience",
        compute_sudo=True,
        groups="woow_paas_platform.group_admin",
    )
    mcp_server_ids = fields.Many2many(
        "woow_paas_platform.mcp_server",
        "ai_assistant_mcp_server_rel",
        "assistant_id",
        "server_id",
        string="MCP Servers",
        domain="['|', ('scope', '=', 'system'), '&', ('cloud_service_id', '!=', False),"
        " ('cloud_service_id', '=', cloud_service_id)]",
        check_company=True,
        context={"active_test": False},
        groups="woow_paas_platform.group_admin",
    )
    mcp_tool_disabled_ids = fields.Many2many(
        "woow_paas_platform.mcp_tool",
        "ai_assistant_mcp_tool_disabled_rel",
        "assistant_id",
        "tool_id",
        string="Disabled Tools",
        domain="[('server_id', 'in', mcp_server_ids)]",
        context={"active_test": False},
        groups="woow_paas_platform.group_admin",
    )
    is_open_to_clients = fields.Boolean(
        "MCP Clients May Read",
        groups="woow_paas_platform.group_admin",
        help="MCP clients of its users, such as Claude or VS Code, may read these records, too, with the rights of "
        "the user. What they read goes to the model of the client.",
    )
    is_changed_by_clients = fields.Boolean(
        "MCP Clients May Change",
        groups="woow_paas_platform.group_admin",
        help="MCP clients of its users may ask to change these records as far as the assistant may. Each change is "
        "shown to the user, who allows it in Odoo before anything is done.",
    )
    record_access_ids = fields.One2many(
        "woow_paas_platform.record_access",
        "assistant_id",
        "Odoo Records",
        copy=True,
        groups="woow_paas_platform.group_admin",
        help="Models whose records the assistant may use, within the rights of each user.",
    )
    record_preset = fields.Selection(
        "_selection_record_preset",
        "Add an Application",
        store=False,
        groups="woow_paas_platform.group_admin",
        help="Adds the models of an application, to be read only.",
    )
    approval_rule_ids = fields.One2many(
        "woow_paas_platform.approval_rule",
        "assistant_id",
        "Approval Rules",
        groups="woow_paas_platform.group_admin",
    )
    max_rounds = fields.Integer(
        "Rounds of Tool Calls",
        default=lambda self: limits.get(self.env, "max_rounds"),
        required=True,
        help="How many times the assistant may call tools for one answer. Calls made at the same time are one round.",
    )
    confirm_round = fields.Integer(
        "Ask before Round",
        default=lambda self: limits.get(self.env, "confirm_round"),
        help="Before this round of tool calls the assistant asks the user, once per answer, whether to go on. If not, "
        "it answers with what it has found. 0 means never. In threads of channels nobody is asked.",
    )
    definition_tokens = fields.Integer(
        "Space for Tools (Tokens)",
        default=const.DEFINITION_TOKENS,
        required=True,
        help="About how many tokens the definitions of tools may take of a request. If all of them need more, "
        "the assistant looks tools up when it needs them. Choose less for models with a small context.",
    )
    is_grounded = fields.Boolean(
        "Facts Only from Tools",
        help="Numbers, times, dates, references, names of records and links of an answer that are in no result of "
        "a tool, no message and no instruction are asked for once more, and marked if they come again. Answers to "
        "pictures are not checked.",
    )
    version_id = fields.Many2one(
        "woow_paas_platform.assistant_version",
        compute="_compute_version_id",
        inverse="_inverse_version_id",
        store=True,
        readonly=True,
        copy=False,
        ondelete="set null",
        groups="woow_paas_platform.group_admin",
    )
    responsible_id = fields.Many2one(
        "res.users",
        domain=lambda self: [
            ("all_group_ids", "in", self.env.ref("woow_paas_platform.group_admin").ids)
        ],
        ondelete="set null",
        groups="woow_paas_platform.group_admin",
        help="Administrator who is told of answers that users report. Without one, all administrators are.",
    )
    version_count = fields.Integer("Versions", related="version_id.number")
    version_note = fields.Char(
        "Reason for This Change",
        compute="_compute_version_note",
        inverse="_inverse_version_note",
        groups="woow_paas_platform.group_admin",
        help="Shown in the list of versions. Saving a change makes a new version.",
    )
    removed_at = fields.Datetime(
        "Deleted On",
        readonly=True,
        copy=False,
        groups="woow_paas_platform.group_admin",
        help="Those who manage the service have deleted it. It is kept while questions name it; switched on, it is "
        "theirs again.",
    )
    draft_of_id = fields.Many2one(
        "ai.assistant",
        readonly=True,
        copy=False,
        ondelete="cascade",
        index="btree_not_null",
        help="The assistant that this draft changes once it is published.",
    )
    draft_ids = fields.One2many(
        "ai.assistant", "draft_of_id", "Drafts", readonly=True, context={"active_test": False}
    )
    draft_note = fields.Char(
        "Reason for the Changes",
        copy=False,
        groups="woow_paas_platform.group_admin",
        help="Shown in the list of versions once the draft is published.",
    )
    draft_version_id = fields.Many2one(
        "woow_paas_platform.assistant_version",
        "Draft of Version",
        readonly=True,
        copy=False,
        ondelete="set null",
        groups="woow_paas_platform.group_admin",
    )
    draft_sentence = fields.Char(
        "State",
        compute="_compute_draft_sentence",
        groups="woow_paas_platform.group_admin",
        exportable=False,
    )
    draft_difference = fields.Html(
        "Unpublished Changes",
        compute="_compute_draft_difference",
        sanitize=False,
        groups="woow_paas_platform.group_admin",
        help="Differences of the draft from what is published.",
    )
    is_read_only = fields.Boolean(compute="_compute_is_read_only")
    tool_count = fields.Integer("Tools", compute="_compute_tool_count", compute_sudo=True)
    turn_count = fields.Integer(
        "Questions", compute="_compute_turn_count", groups="woow_paas_platform.group_admin"
    )
    test_count = fields.Integer(
        "Tests", compute="_compute_test_count", groups="woow_paas_platform.group_admin"
    )
    call_count = fields.Integer(
        "Tool Calls", compute="_compute_turn_count", groups="woow_paas_platform.group_admin"
    )

    _max_rounds_range = models.Constraint(
        "CHECK (max_rounds BETWEEN 0 AND 50)",
        "The number of rounds must be between 0 and 50.",
    )
    _draft_is_off = models.Constraint(
        "CHECK (draft_of_id IS NULL OR active IS NOT TRUE)",
        "Nobody can use a draft. Publish it.",
    )
    _removed_is_off = models.Constraint(
        "CHECK (removed_at IS NULL OR active IS NOT TRUE)",
        "A deleted assistant is switched off.",
    )
    _draft_once = models.UniqueIndex(
        "(draft_of_id) WHERE draft_of_id IS NOT NULL", "There is a draft of this assistant already."
    )
    _definition_tokens_range = models.Constraint(
        "CHECK (definition_tokens >= 500)",
        "The definitions of tools need at least 500 tokens.",
    )

    @api.model
    def _first_defaults(self):
        """Context of the form of the first assistant, which has all that there is."""
        servers = self.env["woow_paas_platform.mcp_server"].search([("scope", "=", "system")])
        limit = limits.get(self.env, "max_servers_per_assistant")
        return {
            "default_name": self.env._("Assistant"),
            "default_mcp_server_ids": servers[:limit].ids,
        }

    @api.model
    def _default_config(self):
        """The provider, where there is no choice."""
        configs = self.env["ai.config"].search([], limit=2)
        return configs if len(configs) == 1 else False

    @api.depends("group_ids.full_name", "cloud_service_id.workspace_id.name")
    @api.depends_context("lang")
    def _compute_audience(self):
        """Odoo calls its two kinds of users “Role / User” and “Role / Portal”."""
        _ = self.env._
        kinds = {
            self.env.ref("base.group_user"): _("Internal users"),
            self.env.ref("base.group_portal"): _("Portal users"),
        }
        for assistant in self:
            if workspace := assistant.cloud_service_id.workspace_id:
                assistant.audience = _("Members of “%(workspace)s”", workspace=workspace.name)
                continue
            groups = assistant.group_ids._origin
            names = [kinds.get(group) or group.full_name for group in groups]
            assistant.audience = ", ".join(sorted(names)) or _("Everyone")

    @api.depends(*PUBLISHED)
    def _compute_version_id(self):
        """Keep it until the transaction ends: the ORM knows whose state a change belongs to, whatever was written."""
        saved = self.filtered(lambda assistant: assistant.id and not assistant.draft_of_id)
        self.env["woow_paas_platform.assistant_version"]._publish_later(saved)
        for assistant in self:
            assistant.version_id = assistant._origin.version_id

    def _inverse_version_id(self):
        if not self.env.su:
            raise AccessError(self.env._("Versions are made by Odoo itself, from what is saved."))

    def _compute_version_note(self):
        self.version_note = False

    def _inverse_version_note(self):
        for assistant in self.filtered("version_note"):
            self.env["woow_paas_platform.assistant_version"]._publish_later(
                assistant, assistant.version_note
            )
        self.invalidate_recordset(["version_note"], flush=False)  # said once

    @api.depends("mcp_server_ids.tool_ids.active", "mcp_tool_disabled_ids")
    def _compute_tool_count(self):
        for assistant in self:
            own = assistant.mcp_server_ids.filtered(
                lambda s, a=assistant: s.active and a._is_of_same_service(s)
            )
            assistant.tool_count = len(assistant._system_tools() | assistant._usable_tools(own))

    def _compute_turn_count(self):
        turns = dict(
            self.env["woow_paas_platform.ai_turn"]._read_group(
                [("assistant_id", "in", self.ids)], ["assistant_id"], ["__count"]
            )
        )
        calls = dict(
            self.env["woow_paas_platform.tool_call"]._read_group(
                [("turn_id.assistant_id", "in", self.ids)], ["turn_id.assistant_id"], ["__count"]
            )
        )
        for assistant in self:
            assistant.turn_count = turns.get(assistant, 0)
            assistant.call_count = calls.get(assistant, 0)

    def _compute_test_count(self):
        tests = self.env["woow_paas_platform.assistant_test"]
        counts = dict(
            tests._read_group([("assistant_id", "in", self.ids)], ["assistant_id"], ["__count"])
        )
        for assistant in self:
            assistant.test_count = counts.get(assistant, 0)

    @api.constrains("mcp_server_ids", "cloud_service_id")
    def _check_mcp_servers(self):
        limit = limits.get(self.env, "max_servers_per_assistant")
        for assistant in self:
            if len(assistant.mcp_server_ids) > limit:
                raise ValidationError(
                    self.env._(
                        "An assistant can use at most %(limit)s MCP servers.",
                        limit=limit,
                    )
                )
            if assistant.mcp_server_ids.filtered(
                lambda s, a=assistant: s.scope != "system" and not a._is_of_same_service(s)
            ):
                raise ValidationError(self.env._("Assistants can only use system MCP servers."))

    @api.constrains("cloud_service_id", "group_ids", "record_access_ids", "is_open_to_clients")
    def _check_of_service(self):
        """Its instructions are those of a service's owner: they never meet Odoo's records."""
        for assistant in self.filtered("cloud_service_id"):
            if assistant.group_ids or assistant.record_access_ids or assistant.is_open_to_clients:
                raise ValidationError(
                    self.env._(
                        "An assistant of a cloud service is for the members of its workspace, and has no access to "
                        "Odoo's records."
                    )
                )

    @api.constrains("responsible_id")
    def _check_responsible(self):
        for assistant in self.filtered("responsible_id"):
            if not assistant.responsible_id.has_group("woow_paas_platform.group_admin"):
                raise ValidationError(
                    self.env._("The person responsible for an assistant must be an administrator.")
                )

    def _responsible_users(self):
        """The responsible user while they are an administrator, else all administrators.

        :param self: with sudo
        """
        return self._administrators() & self.responsible_id or self._administrators()[:MAX_TOLD]

    @api.model
    def _administrators(self):
        admins = self.env.ref(ADMIN).all_user_ids
        return admins.filtered(lambda user: user.active and user.id != SUPERUSER_ID)

    @api.model_create_multi
    def create(self, vals_list):
        for vals in vals_list:
            if not vals.get("partner_id"):
                contact = {"name": vals.get("name"), "company_id": vals.get("company_id")}
                # sudo: res.partner - the contact is made by us, holds only the assistant's name
                partner = self.env["res.partner"].sudo().create(contact)
                vals["partner_id"] = partner.id
        assistants = super().create(vals_list)
        assistants.filtered("image")._show_face()
        return assistants

    def write(self, vals):
        self._check_lock(vals)
        if vals.get("active"):
            vals = {**vals, "removed_at": False}
        result = super().write(vals)
        self._lock_for_owners(vals)
        # sudo: res.partner - the assistant's own contact follows its name and its company
        for assistant in self.sudo().filtered(lambda one: not one.draft_of_id):
            if "name" in vals:
                assistant.partner_id.name = assistant.name
            if "company_id" in vals:
                assistant.partner_id.company_id = assistant.company_id
        if "image" in vals:
            self.filtered(lambda one: not one.draft_of_id)._show_face()
        return result

    def unlink(self):
        # sudo: res.partner - contacts that were made for them; a draft has that of what is published
        contacts = self.sudo().filtered(lambda one: not one.draft_of_id).partner_id
        result = super().unlink()
        self._let_contacts_go(contacts)
        return result

    @api.model
    def _let_contacts_go(self, contacts):
        """Delete contacts of deleted assistants; archive those that messages or other records need.

        :param contacts: with sudo
        """
        needs = (("mail.message", "author_id"), ("discuss.channel.member", "partner_id"))
        for contact in contacts:
            env = contact.env
            if any(
                env[model].search_count([(name, "=", contact.id)], limit=1) for model, name in needs
            ):
                contact.active = False
                continue
            try:
                with env.cr.savepoint():
                    contact.unlink()
            except (UserError, psycopg2.Error):  # some record of another module needs it
                contact.active = False

    @api.depends("name", "draft_of_id")
    @api.depends_context("lang")
    def _compute_display_name(self):
        result = super()._compute_display_name()
        for assistant in self.filtered("draft_of_id"):
            assistant.display_name = self.env._("%(name)s (draft)", name=assistant.name)
        return result

    # ------------------------------------------------------------ drafts

    # A draft is an assistant of its own, which nobody can use: its form, its checks and its content are those of any
    # other. What is published changes only by `action_publish`, a restored version or an import, see
    # `AssistantVersion._check_drafts`.

    def _has_drafts(self):
        """True if changes of the assistant are published by hand; a service's owner saves at once."""
        return not self.cloud_service_id and limits.is_on(self.env, "drafts")

    def _compute_is_read_only(self):
        for assistant in self:
            is_published = bool(assistant.id) and not assistant.draft_of_id
            assistant.is_read_only = is_published and assistant._has_drafts()

    @api.depends("draft_of_id", "draft_ids", "version_id", "draft_of_id.version_id")
    @api.depends_context("lang")
    def _compute_draft_sentence(self):
        for assistant in self:
            assistant.draft_sentence = " ".join(assistant._said_of_draft())

    def _said_of_draft(self):
        _, begun, published = self.env._, self.draft_version_id, self.draft_of_id.version_id
        if self.draft_of_id:
            yield _(
                "This is a draft. Until it is published, users get version %(number)s.",
                number=published.number,
            )
            if begun != published:
                yield _(
                    "It began as version %(number)s: publishing it takes back what was published since.",
                    number=begun.number,
                )
        elif self.is_read_only:
            yield _(
                "Users get version %(number)s. To change it, edit its draft.",
                number=self.version_id.number,
            )
            if self.draft_ids:
                yield _("There is a draft.")

    @api.depends("draft_of_id", *PUBLISHED)
    @api.depends_context("lang")
    def _compute_draft_difference(self):
        Version = self.env["woow_paas_platform.assistant_version"]
        for draft in self:
            # sudo: ai.assistant - shown to administrators, who read both
            changed = draft.sudo()._origin
            published = changed.draft_of_id
            draft.draft_difference = bool(published) and Version._difference_of(
                Version._content_of(published), Version._content_of(changed)
            )

    def action_edit_draft(self):
        """Open the draft, which begins as what is published."""
        self.ensure_one()
        self.check_access("write")
        if self.cloud_service_id or self.draft_of_id:
            raise UserError(self.env._("This assistant has no drafts."))
        return (self.draft_ids or self._begin_draft()).get_formview_action()

    def _begin_draft(self):
        # sudo: ai.assistant - a copy of what an administrator reads and writes, with the actions that others released
        published = self.sudo()
        Version = published.env["woow_paas_platform.assistant_version"]
        draft = published.create(
            {
                "name": published.with_context(lang="en_US").name,
                "active": False,
                "draft_of_id": published.id,
                "draft_version_id": published.version_id.id,
                "partner_id": published.partner_id.id,
                "company_id": published.company_id.id,
                "config_id": published.config_id.id,
            }
        )
        Version._write_content(draft, Version._content_of(published), "")
        return draft.with_env(self.env)

    def action_publish(self):
        """Give the published assistant the state of its draft, which is gone then."""
        self.ensure_one()
        self.check_access("write")
        published = self.draft_of_id
        if not published:
            raise UserError(self.env._("This is not a draft."))
        Version = self.env["woow_paas_platform.assistant_version"]
        # sudo: ai.assistant - read as versions read it, and written as the person
        content = Version._content_of(self.sudo())
        published._check_publication(content)
        if left_out := Version._write_content(published, content, self.draft_note or ""):
            raise UserError(
                self.env._(
                    "The draft cannot be published by you as it is. It differs in: %(names)s.",
                    names=", ".join(left_out),
                )
            )
        self.unlink()
        return published.get_formview_action()

    def _check_publication(self, content):
        """Refuse a state that may not be published. A hook.

        :param content: as `AssistantVersion._content_of`
        """

    def action_discard_draft(self):
        self.ensure_one()
        published = self.draft_of_id
        if not published:
            raise UserError(self.env._("This is not a draft."))
        self.unlink()
        return published.get_formview_action()

    def action_chat(self):
        """Open the chat with a new conversation of this assistant."""
        self.ensure_one()
        action = self.env["ir.actions.actions"]._for_xml_id("woow_paas_platform.ai_chat_action")
        params = {"assistant_id": self.id}
        if self.cloud_service_id:
            params["cloud_service_id"] = self.cloud_service_id.id
        return {**action, "params": params}

    def action_preview(self):
        """Open a dialog that shows what a call of one of its tools would meet."""
        self.ensure_one()
        return self.env["woow_paas_platform.call_preview"]._open(assistant_id=self.id)

    def action_suggest_starters(self):
        """Write questions made from the tools into the form, to be changed there."""
        for assistant in self:
            assistant.starters = "\n".join(assistant._proposed_starters())

    def action_view_turns(self):
        self.ensure_one()
        action = self.env["ir.actions.actions"]._for_xml_id("woow_paas_platform.ai_turn_action")
        return {**action, "domain": [("assistant_id", "=", self.id)], "context": {}}

    def action_view_versions(self):
        self.ensure_one()
        action = self.env["ir.actions.actions"]._for_xml_id(
            "woow_paas_platform.assistant_version_action"
        )
        return {**action, "domain": [("assistant_id", "=", self.id)], "context": {}}

    def action_view_tests(self):
        self.ensure_one()
        action = self.env["ir.actions.actions"]._for_xml_id(
            "woow_paas_platform.assistant_test_action"
        )
        context = {"default_assistant_id": self.id}
        return {**action, "domain": [("assistant_id", "=", self.id)], "context": context}

    def action_view_calls(self):
        self.ensure_one()
        action = self.env["ir.actions.actions"]._for_xml_id("woow_paas_platform.tool_call_action")
        return {**action, "domain": [("assistant_id", "=", self.id)], "context": {}}

    # ------------------------------------------------------------ availability

    def _alternatives(self):
        """The assistants that may answer a question to this one instead of it, as far as the user may chat with them.

        In one conversation each reads what the others have found. So one that the owner of a cloud service has written,
        which may hand it to the owner's servers, is no alternative to one of the administrators, nor the other way.
        """
        # sudo: ai.assistant - whose it is
        owner = self.sudo().cloud_service_id
        return self._own_of(owner) if owner else self._everywhere()

    @api.model
    def _own_of(self, service):
        """The assistants of a cloud service's own that the user may chat with."""
        if not service:
            return self.browse()
        own = self.search([("active", "=", True), ("cloud_service_id", "=", service.id)])
        return own.filtered(lambda one: not one._refusal_by_service(service))

    @api.model
    def _offered(self, service=None):
        """The assistants that the user may chat with, the one of the last conversation first.

        :param service: cloud service that the chat is about; its own assistants come before the others
        """
        assistants = self._own_of(service) | self._everywhere()._by_use()
        last = self.env["discuss.channel"]._last_assistant(assistants)
        return (assistants & last) | assistants

    def _by_use(self):
        """Put assistants that have nothing for the user last: one of orders is of no use to whom has none."""
        env = self.sudo(False).env

        def is_idle(assistant):
            models = assistant._readable_models()
            main = [name for name in models if "message_ids" in env[name]._fields] or models
            has_records = any(env[name].search([], limit=1) for name in main)
            return bool(assistant._record_access()) and not has_records and not assistant.tool_count

        idle = self.filtered(is_idle)
        return (self - idle) | idle

    def _left_of_budget(self, person, service, company_id):
        """See whether there is something left to spend for a question.

        :param company_id: id of the company that pays
        :return: `services.specs.Spending`
        :raises BudgetExhausted: nothing is left
        """
        payer = {
            "user_id": person.id,
            "assistant_id": self.id,
            "cloud_service_id": service.id,
            "workspace_id": service.workspace_id.id,
            "company_id": company_id,
        }
        return self.env["woow_paas_platform.budget"]._left_of_budget(payer)

    def _refusal_to(self, person, service=None):
        """:return: a sentence where the person may not chat about the service with the assistant, else ``""``"""
        # sudo: ai.assistant - a switch; who may read what is asked with the person's rights
        is_active = self.sudo().active
        if not is_active or not self.with_user(person).sudo(False).has_access("read"):
            return _lt("This assistant is no longer available to you.")
        if service and not service.with_user(person).sudo(False).has_access("read"):
            return _lt("You are no longer a member of this cloud service's workspace.")
        return self._refusal_by_service(service)

    def _refusal_by_service(self, service, record=None):
        """:return: a sentence where an assistant of a cloud service does not answer about this one, about none, or
        about a record, else ``""``"""
        # sudo: ai.assistant, ai.config - whose it is, and switches
        assistant = self.sudo()
        own = assistant.cloud_service_id
        if not own:
            return ""
        if not service or service.id != own.id:
            return _lt("This assistant only answers in chats about its cloud service.")
        if record:
            return _lt("This assistant does not answer in chats about records. Choose another one.")
        if not own._allows_assistants() or not assistant.config_id.filtered_domain(OFFERED):
            return _lt("This assistant is no longer available to you.")
        return ""

    def _check_answers_about(self, service, record=None):
        """:raises Unavailable: it belongs to another cloud service, an administrator allows it no more, or the chat is
        about a record"""
        if refusal := self._refusal_by_service(service, record):
            raise Unavailable(sentences.translated(self.env, refusal))

    # ------------------------------------------------------------ of cloud services, by those who manage the service

    # They have no right to write assistants: what follows checks the person and the values, then writes with sudo.

    def _is_managed_by(self, user):
        """True if the person is an administrator of its company, or manages the cloud service that it belongs to."""
        self.ensure_one()
        if user.has_group(ADMIN):
            return self.with_user(user).sudo(False).has_access("write")
        # sudo: ai.assistant - whose it is, read to decide
        own = self.sudo()
        service = own.cloud_service_id
        is_there = bool(service) and not own.removed_at
        return is_there and service._assistants_are_managed_by(user)

    def _is_of_same_service(self, server):
        """True of the MCP servers of the cloud service that this assistant belongs to."""
        return bool(self.cloud_service_id) and server.cloud_service_id == self.cloud_service_id

    @api.model
    def _of_service(self, service):
        """The assistants of a cloud service, switched-off ones too.

        :raises AccessError: the caller does not manage them
        """
        if not service._assistants_are_managed_by(self.env.user):
            raise AccessError(self.env._("You are not allowed to manage assistants here."))
        own = [("cloud_service_id", "=", service.id), ("removed_at", "=", False)]
        # sudo: ai.assistant - those that the caller manages
        return self.sudo().with_context(active_test=False).search(own, order="id").sudo(False)

    @api.model
    def _providers_to_choose(self):
        """Providers that an administrator offers to owners, with sudo; owners see names."""
        # sudo: ai.config - offered to the caller
        Provider = self.env["ai.config"].sudo()
        company = Provider._check_company_domain(self.env.companies.ids)
        return Provider.search(OFFERED & Domain(company))

    @api.model
    def _servers_to_choose(self, service):
        """MCP servers of the service, and system servers that an administrator offers to owners, with sudo."""
        # sudo: mcp_server - of the caller's service, or offered to the caller
        Server = self.env["woow_paas_platform.mcp_server"].sudo()
        of_service = Server.with_context(active_test=False).search(
            [("cloud_service_id", "=", service.id)]
        )
        company = Domain(Server._check_company_domain(self.env.companies.ids))
        return of_service | Server.search(OFFERED & Domain("scope", "=", "system") & company)

    @api.model
    def _add_to_service(self, service, values):
        """Add an assistant for the members of the service's workspace.

        :param values: see `_values_of_owner`
        :raises AccessError: the caller does not manage the service's assistants
        :raises Refusal: it has as many as one may have
        :raises TooOften: too many were added today
        :raises BadInput: a value that is not taken
        """
        self._of_service(service)
        limit = limits.get(self.env, "max_assistants_per_service")
        # An update, so that the second of two that add one at the same time is repeated, and counts anew.
        self.env.cr.execute(
            "UPDATE woow_paas_platform_cloud_service SET active = active WHERE id = %s",
            [service.id],
            log_exceptions=False,
        )
        if len(self._of_service(service)) >= limit:
            raise Refusal(
                self.env._("A cloud service can have at most %(limit)s assistants.", limit=limit),
                "too_many_assistants",
            )
        today = [("cloud_service_id", "=", service.id), ("create_date", ">", _a_day_ago())]
        # sudo: ai.assistant - a number
        added = self.sudo().with_context(active_test=False)
        if added.search_count(today, limit=MAX_ADDITIONS) >= MAX_ADDITIONS:
            raise TooOften(
                self.env._(
                    "Too many assistants were added to this service today. Try again tomorrow."
                ),
                "too_many_additions",
                retry_after=AN_HOUR,
            )
        providers = self._providers_to_choose()
        if values["provider_id"] is None and len(providers) == 1:
            values = {**values, "provider_id": providers.id}
        if values["provider_id"] is None:
            raise BadInput(self.env._("Choose a provider."), field="provider_id")
        values = {**values, "name": values["name"] or ""}
        vals = self._values_of_owner(service, values)
        vals |= {"cloud_service_id": service.id, "group_ids": False}
        # sudo: ai.assistant - one of the caller's service, with checked values
        assistant = self.sudo().with_context(lang="en_US").create(vals)
        return assistant.with_env(self.env)

    def _change_by_owner(self, values):
        """Change what was given; what is None stays.

        :param values: see `_values_of_owner`
        :raises AccessError: the caller does not manage it
        :raises BadInput: a value that is not taken
        :raises TooOften: it was changed too often today
        """
        self._check_managed()
        self._check_free()
        self._write_of_owner(
            self._values_of_owner(self.sudo().cloud_service_id, values),
            _one_line(values["note"] or ""),
        )

    def _remove_by_owner(self):
        """Take it away from everybody. What it has said stays with its name and versions; see `_gc_removed`.

        :raises AccessError: the caller does not manage it
        """
        self._check_managed()
        self._check_free()
        # sudo: ai.assistant - the caller manages it
        self.sudo().write({"active": False, "removed_at": fields.Datetime.now()})

    @api.autovacuum
    def _gc_removed(self):
        """Delete those for good that their owners have deleted, a day later, once no question names them."""
        self.flush_model(["removed_at"])
        self.env.cr.execute(
            """
            SELECT id FROM ai_assistant a
             WHERE removed_at < %s
               AND NOT EXISTS (SELECT FROM woow_paas_platform_ai_turn t WHERE t.assistant_id = a.id)
             LIMIT %s
            """,
            [_a_day_ago(), MAX_GONE],
        )
        self.browse(row[0] for row in self.env.cr.fetchall()).unlink()

    def _check_managed(self):
        if not self._is_managed_by(self.env.user):
            # sudo: ai.assistant - whether another who manages it has deleted it
            if self.sudo().removed_at:
                raise NotThere(self.env._("This assistant does not exist."))
            raise AccessError(self.env._("You are not allowed to change this assistant."))
        # sudo: ai.assistant - whose it is
        if not self.sudo().cloud_service_id:
            raise Refusal(
                self.env._("This assistant belongs to no cloud service. Change it in the backend."),
                "not_of_a_service",
            )

    def _check_free(self):
        """:raises Locked: an administrator has switched it off, and the caller is none"""
        # sudo: ai.assistant - a switch, read to decide
        if self.sudo().is_locked and not self._may_lock():
            raise self._locked()

    def _is_run_by(self, user):
        # sudo: ai.assistant - whose it is, read to decide
        service = self.sudo().cloud_service_id
        return not service or user in service.workspace_id._managers()

    @api.model
    def _values_of_owner(self, service, values):
        """Values of columns, of those that owners may write.

        :param values: ``{"name", "description", "greeting", "instructions", "starters", "provider_id", "server_ids",
            "active"}``, None for what was left out
        """
        said = {"system_prompt": values["instructions"]}
        said |= {name: values[name] for name in ("name", "description", "greeting")}
        vals = {
            name: self._text_of_owner(name, value)
            for name, value in said.items()
            if value is not None
        }
        if vals.get("name") == "":
            raise BadInput(self.env._("Give the assistant a name."), field="name")
        if (starters := values["starters"]) is not None:
            lines = [line for said in starters if (line := _one_line(said))]
            if len(lines) > const.STARTERS or max(map(len, lines), default=0) > const.STARTER_CHARS:
                raise BadInput(
                    self.env._(
                        "Suggest at most %(count)s questions of at most %(limit)s characters each.",
                        count=const.STARTERS,
                        limit=const.STARTER_CHARS,
                    ),
                    field="starters",
                )
            vals["starters"] = "\n".join(lines) or False
        if (provider_id := values["provider_id"]) is not None:
            provider = self._chosen("provider_id", self._providers_to_choose(), [provider_id])
            vals |= {"config_id": provider.id, "company_id": provider.company_id.id}
        if (ids := values["server_ids"]) is not None:
            servers = self._chosen("server_ids", self._servers_to_choose(service), ids)
            vals["mcp_server_ids"] = [Command.set(servers.ids)]
        if values["active"] is not None:
            vals["active"] = values["active"]
        return vals

    def _text_of_owner(self, name, value):
        limit = CHARACTERS[name]
        value = text.clean(value).strip() if name == "system_prompt" else _one_line(value)
        if len(value) > limit:
            raise BadInput(
                self.env._("At most %(limit)s characters can be entered here.", limit=limit),
                field="instructions" if name == "system_prompt" else name,
            )
        return value

    def _chosen(self, field, offered, ids):
        chosen = offered.filtered(lambda one: one.id in ids)
        if set(chosen.ids) != set(ids):
            raise BadInput(
                self.env._("This choice is no longer offered. Reload the page and choose again."),
                field=field,
            )
        return chosen

    def _write_of_owner(self, vals, note=""):
        """Write values that were checked. What owners write, they write once: it is the same in all languages.

        :raises TooOften: it was changed too often today
        """
        # sudo: ai.assistant, assistant_version - the caller manages it, see `_check_managed`
        assistant = self.sudo().with_context(lang="en_US")
        latest = [("assistant_id", "=", self.id), ("create_date", ">", _a_day_ago())]
        Version = assistant.env["woow_paas_platform.assistant_version"]
        if Version.search_count(latest, limit=MAX_CHANGES) >= MAX_CHANGES:
            raise TooOften(
                self.env._("This assistant was changed too often today. Try again later."),
                "too_many_changes",
                retry_after=AN_HOUR,
            )
        others = [code for code, _name in self.env["res.lang"].get_installed() if code != "en_US"]
        self._check_lock(vals)  # as the caller, who may be an administrator
        assistant.write({**vals, "version_note": note or False})
        self._lock_for_owners(vals)
        for name in vals.keys() & {*TRANSLATED}:
            if vals[name]:
                assistant.update_field_translations(name, dict.fromkeys(others, False))

    def _data_of_owner(self):
        """The assistant as JSON for who manages it."""
        # sudo: ai.assistant - what owners may write of it
        own = self.sudo().with_context(lang="en_US", active_test=False)
        service, provider = own.cloud_service_id, own.config_id
        servers = self._servers_to_choose(service) & own.mcp_server_ids
        return {
            "id": own.id,
            "name": own.name,
            "description": own.description or "",
            "greeting": own.greeting or "",
            "instructions": own.system_prompt or "",
            "starters": text.starters(own.starters),
            "active": own.active,
            "provider_id": provider.id if provider in self._providers_to_choose() else None,
            "server_ids": servers.ids,
            "lock": own._lock_data(),
        }

    # ------------------------------------------------------------ servers and tools of a chat

    def _system_servers(self, beside=()):
        """:param beside: ids of servers that the caller reads too, which is one statement then"""
        servers = self.mcp_server_ids
        servers = servers.with_prefetch((*servers.ids, *beside))
        servers = servers.filtered(lambda s: s.active and s.scope == "system")
        return servers.filtered_domain(OFFERED) if self.cloud_service_id else servers

    def _servers_for(self, person, service):
        """The servers that a chat has: the assistant's own, those of the cloud service, and the person's.

        Whether the person may use assistant and service is up to the caller.

        :param person: may be empty, where others read along
        """
        self.ensure_one()
        Server = self.env["woow_paas_platform.mcp_server"]
        own = Server._of_person(person, service)
        if self.cloud_service_id:  # whose owner has chosen among the service's
            own = own.filtered(lambda s: not s.cloud_service_id or s in self.mcp_server_ids)
        return self._system_servers(own.ids) | own

    def _offered_mcp_servers(self, person, service=None):
        """The servers that a chat of this person may use now; none if it is closed to them, or MCP is off.

        :return: `mcp_server` records with sudo
        """
        # sudo: ai.assistant, mcp_server - whether the person may use assistant and service is checked with
        # that person's rights
        assistant = self.sudo()
        Server = assistant.env["woow_paas_platform.mcp_server"]
        if assistant._refusal_to(person, service) or not mcp_switch.is_on(self.env):
            return Server
        return assistant._servers_for(person, service)

    def _usable_tools(self, servers):
        """The tools of these servers that chats with this assistant may call."""
        # sudo: ai.assistant - switches of tools
        return servers.tool_ids.filtered("is_usable") - self.sudo().mcp_tool_disabled_ids

    def _system_tools(self):
        """Tools of the assistant's own servers that are switched on everywhere."""
        self.ensure_one()
        return self._usable_tools(self._system_servers())

    @api.model
    def _tools_of_caller(self, among=None, assistants=None):
        """All tools that the current user could be offered in some chat now, whatever it is about.

        :param among: tools with sudo that alone are looked at, None for all
        :param assistants: `_everywhere`, where they are known already
        """
        Server, own = self.env["woow_paas_platform.mcp_server"], None
        if assistants is None:
            assistants = self._everywhere()
        if among is None:
            own = Server._of_person_anywhere(self.env.user)
            # sudo: ai.assistant - the caller may chat with them; which tools they have is read, not shown
            servers = own | assistants.sudo().mcp_server_ids
            servers.mapped("active")  # read at once
            among = servers.tool_ids
        usable = among.filtered("is_usable")
        of_users = usable.filtered(lambda tool: tool.server_id.scope == "user")
        if of_users and own is None:
            own = Server._of_person_anywhere(self.env.user)
        return of_users.filtered(lambda tool: tool.server_id in own) | (usable - of_users).filtered(
            lambda tool: tool._offered_by(assistants)
        )

    @api.model
    def _tools_of_client(self):
        """The tools that an MCP client of the current user is shown: those of `_tools_of_caller` that it could call."""
        tools = self._tools_of_caller()
        return tools - tools._never_run_for_caller()

    @api.model
    def _servers_of_client(self):
        """The servers whose prompts and resources an MCP client of the current user may read.

        They are those of some chat, without servers of whose usable tools every one never runs.
        """
        servers = self.env["woow_paas_platform.mcp_server"]._of_person_anywhere(self.env.user)
        if not mcp_switch.is_on(self.env):
            return servers.browse()
        # sudo: ai.assistant - the caller may chat with them; which servers they have is read, not shown
        for assistant in self._everywhere().sudo():
            servers |= assistant._system_servers()
        usable = self._tools_of_caller()
        open_ones = usable - usable._never_run_for_caller()
        return servers - (usable.server_id - open_ones.server_id)

    @api.model
    def _record_access_of_client(self):
        """Access of the current user's MCP clients to Odoo's records: to read, what assistants may that are open to
        clients."""
        # sudo: ai.assistant - which of those that the user may chat with are open to clients
        assistants = self._everywhere().sudo().filtered("is_open_to_clients")
        return catalog.readable(assistant._record_access() for assistant in assistants)

    def _tools_for_caller(self, person, service):
        """Tools that a program of this person is offered: those of a new chat about this service, or about none."""
        offered = self._offered_mcp_servers(person, service)
        tools = self._usable_tools(offered.filtered("is_on_for_me"))
        return tools - tools._blocked_for(self, person)

    def _mcp_config(self, offered, selected):
        """Each of the offered servers, whether it is on, and what it costs."""
        data, called = [], offered._unambiguous_names()
        for server in offered.sorted(lambda server: (server.scope, server.name)):
            tools = self._usable_tools(server)
            data.append(
                {
                    "id": server.id,
                    "name": called[server],
                    "title": server.title or "",
                    "description": server.description or "",
                    "scope": server.scope,
                    "state": server.state,
                    "state_message": server.state_sentence or "",
                    "tool_count": len(tools),
                    "token_estimate": sum(tools.mapped("token_estimate")),
                    # sudo: mcp_server - how many tools wait, and nothing of them
                    "review_count": server.sudo().review_count,
                    "enabled": server in selected,
                    "enabled_for_me": server.is_on_for_me,
                }
            )
        return {
            "enabled_servers": [called[server] for server in selected],
            "servers": data,
            "can_reload": bool(self._managed_of(offered)),
            "notice": mcp_switch.notice(self.env),
            "records": self._api_records(),
        }

    # ------------------------------------------------------------ Odoo's own records

    @api.model
    def _selection_record_preset(self):
        """The applications that are installed."""
        _ = self.env._
        labels = {
            "contacts": _("Contacts"),
            "crm": _("CRM"),
            "sales": _("Sales"),
            "invoices": _("Invoices"),
            "purchase": _("Purchase"),
            "projects": _("Projects"),
            "stock": _("Inventory"),
            "calendar": _("Calendar"),
            "employees": _("Employees"),
            "timeoff": _("Time Off"),
        }
        return [(name, label) for name, label in labels.items() if PRESETS[name][0] in self.env]

    @api.onchange("record_preset")
    def _onchange_record_preset(self):
        known = set(self.record_access_ids.mapped("model"))
        self.record_access_ids = [
            fields.Command.create({"model": model})
            for model in PRESETS.get(self.record_preset, ())
            if model in self.env and model not in known
        ]
        self.record_preset = False

    def _record_access(self):
        """``{model: Access}`` of the models that are installed and may be chosen at all."""
        # sudo: record_access - the administrator's choice, for the engine; rights are checked with the person's own
        lines = self.sudo().record_access_ids
        return {
            line.model: line._access()
            for line in lines
            if line.model in self.env and not deny_list.is_denied(line.model)
        }

    def _readable_models(self):
        """Names of the models that the user may read with this assistant, those that people talk about first."""
        env = self.sudo(False).env
        models = [name for name in self._record_access() if env[name].has_access("read")]
        return sorted(models, key=lambda name: "message_ids" not in env[name]._fields)

    def _api_records(self):
        names = self._readable_models()
        # sudo: ir.model - labels of models that the user may read
        get = self.env["ir.model"].sudo()._get
        return [{"model": name, "name": get(name).name} for name in names]

    # ------------------------------------------------------------ image, greeting and suggested questions of a new chat

    def _show_face(self):
        """Discuss shows the same one."""
        # sudo: res.partner - the assistant's own contact
        for assistant in self.sudo():
            assistant.partner_id.image_1920 = assistant.image

    def _proposed_starters(self):
        """Questions that a person may begin with, made from what the assistant can do."""
        self.ensure_one()
        return [self.env._("What can you help me with?"), *self._proposed_uses()][: const.STARTERS]

    def _proposed_uses(self):
        """Proposals from what the assistant works with; one click sends each of them."""
        models = [one["name"] for one in self._api_records()[:2]]
        # sudo: ai.assistant - names of tools that the person may have called anyway
        tools = self.sudo()._system_tools()._harmless()
        nth = {  # each server has its say before one has it twice
            tool: number
            for _server, of_server in tools.grouped("server_id").items()
            for number, tool in enumerate(of_server.sorted("name"))
        }
        tools = tools.sorted(lambda tool: (nth[tool], tool.server_id.name))
        names = [tool.title or tool.name.replace("_", " ") for tool in tools]
        _ = self.env._
        return [
            *(_("Show the five newest records of “%(model)s”.", model=name) for name in models),
            *(_("Show me what “%(tool)s” does.", tool=name[:100]) for name in names),
        ]

    def _image_url(self):
        self.ensure_one()
        # sudo: ai.assistant - whether there is one
        assistant = self.sudo().with_context(bin_size=True)
        if not assistant.image:
            return None
        version = int(assistant.write_date.timestamp())
        return f"/web/image/ai.assistant/{self.id}/image?unique={version}"

    def _api_name(self):
        """``{"id", "name", "image_url"}`` for those who chat with it; of none if it is deleted."""
        image = self._image_url() if self else None
        return {"id": self.id, "name": self.name or "", "image_url": image}

    def _api_face(self):
        return {
            "image_url": self._image_url(),
            "greeting": self.greeting or "",
            "starters": text.starters(self.starters) or self._proposed_starters(),
            "records": self._api_records(),
        }

    # ------------------------------------------------------------ slash commands, in the chat and in Discuss alike

    def _command_answer(self, command, servers):
        """:param command: `/mcp` or `/mcp tools`
        :return: ``{"title", "rows": [{"name", "about"}]}``"""
        if command == "/mcp tools":
            title, rows = self.env._("Tools of this conversation"), self._tool_rows(servers)
        else:
            title = self.env._("MCP servers of this conversation")
            rows = self._server_rows(servers)
        return {"title": title, "rows": rows + self._off_rows()}

    def _server_rows(self, servers):
        """The state of each server of a chat, as everybody who uses the chat may know it."""
        states = dict(servers._fields["state"]._description_selection(self.env))
        return [
            {
                "name": data["name"],
                "about": " · ".join(
                    filter(
                        None,
                        [
                            states[data["state"]],
                            self._count_of_tools(data["tool_count"]),
                            data["description"][:MAX_ABOUT],
                        ],
                    )
                ),
            }
            for data in self._mcp_config(servers, servers)["servers"]
        ]

    def _count_of_tools(self, count):
        one = self.env._("1 tool")
        return one if count == 1 else self.env._("%(count)s tools", count=count)

    def _tool_rows(self, servers):
        """The tools that a chat with these servers may call now."""
        called = servers._unambiguous_names()
        tools = self._usable_tools(servers).sorted(lambda t: (called[t.server_id], t.name))
        return [
            {
                "name": f"{called[tool.server_id]}.{tool.name}",
                "about": (tool.description or tool.title or "")[:MAX_ABOUT],
            }
            for tool in tools
        ]

    def _off_rows(self):
        """Says it where all of MCP is switched off, so that nobody looks for servers in vain."""
        notice = mcp_switch.notice(self.env)
        return [{"name": "MCP", "about": notice}] if notice else []

    def _reload_rows(self, servers):
        """:return: by id, a line for each server, which says who may reload it"""
        managed, called = self._managed_of(servers), servers._unambiguous_names()
        not_allowed = self.env._("Only those who manage this server can reload it.")
        return {
            server.id: {"name": called[server], "about": "" if server in managed else not_allowed}
            for server in servers.sorted(lambda server: (server.scope, server.name))
        }

    def _may_reread_file(self):
        return bool(server_files.path()) and self.env.user.has_group(
            "woow_paas_platform.group_admin"
        )

    def _reread_file(self):
        """A line on the operator's file, if the person may have it read; its servers follow with the commit."""
        if not self._may_reread_file():
            return []
        problem = server_files.reload()
        dbname = self.env.cr.dbname
        self.env.cr.postcommit.add(lambda: host.current().apply_file_later(dbname))
        return [self._file_row(problem)]

    def _file_row(self, problem):
        """:param problem: what is wrong with the operator's file that was just read, ``""`` if nothing is"""
        return {"name": server_files.path().name, "about": problem or self.env._("Reloaded.")}

    def _managed_of(self, servers):
        """Servers among these whose tools the caller may reload."""
        return servers.with_env(self.env(su=False))._filtered_access("write")

    # ------------------------------------------------------------ configuration files

    def action_export_configuration(self):
        """Download the file of these assistants and of what they consist of; of all of them, where none is chosen."""
        return self.env["woow_paas_platform.configuration_transfer"]._export(self)

    @api.model
    def _exchange_shapes(self):
        shapes = super()._exchange_shapes()
        for name, (model, names) in LINES.items():
            inside = {one: shape_of(self.env[model], one) for one in names}
            if "model" in inside:  # also one that is not installed here
                inside["model"] = Shape("text", is_required=True)
            shapes[name] = Shape("lines", inside=inside)
        return shapes

    def _exchange_data(self):
        data = super()._exchange_data()
        for name, (_model, names) in LINES.items():
            lines = self[name].sorted(lambda line: (line.sequence, line.id))
            data[name] = [{one: value_of(line, one) for one in names} for line in lines]
        return data

    @api.model
    def _exchange_find(self, key):
        """Assistants of cloud services belong to one database."""
        # sudo: only whose it is; the caller's access is checked before anything is shown or written
        known = super()._exchange_find(key).sudo()
        return known.filtered(lambda one: not one.cloud_service_id).sudo(False)

    def _exchange_fit(self, entry, coming):
        entry, notes = super()._exchange_fit(entry, coming)
        models = dict(self.env["woow_paas_platform.record_access"]._selection_model())
        Tool = self.env["woow_paas_platform.mcp_tool"]
        gone = []
        for name, is_here, called in (
            ("record_access_ids", lambda line: line["model"] in models, lambda line: line["model"]),
            (
                "approval_rule_ids",
                lambda line: Tool._exchange_expects(line["tool_id"]["id"], coming),
                lambda line: line["tool_id"]["name"],
            ),
        ):
            gone += [called(line) for line in entry[name] if not is_here(line)]
            entry[name] = [line for line in entry[name] if is_here(line)]
        return entry, notes + ([self._left_out(gone)] if gone else [])

    def _exchange_write(self, entry, changed):
        Version = self.env["woow_paas_platform.assistant_version"]
        # sudo: ai.assistant - compared with what the person may write, and written as the person
        now = Version._content_of(self.sudo())
        content = {name: self._local(name, entry[name], now) for name in changed}
        Version._write_content(self, content, self.env._("Imported"))

    def _local(self, name, value, now):
        """Value of an entry as versions hold it, by ids of this database.

        :param now: content of the assistant's present state
        """

        def local(model, one):
            record = found(self.env, model, one["id"])
            return {"id": record.id, "name": record.display_name}

        field = self._fields[name]
        if field.type == "many2one":
            one = local(field.comodel_name, value)
            return now[name] if one["id"] == now[name]["id"] else one
        if field.type == "many2many":
            return [local(field.comodel_name, one) for one in value]
        if name == "approval_rule_ids":
            tools = "woow_paas_platform.mcp_tool"
            return [{**line, "tool_id": local(tools, line["tool_id"])} for line in value]
        if name == "record_access_ids":  # released actions stay as they are here
            released = {line["model"]: line["action_ids"] for line in now[name]}
            return [{**line, "action_ids": released.get(line["model"], [])} for line in value]
        return value

    @api.model
    def _exchange_words(self, name, value):
        return self.env["woow_paas_platform.assistant_version"]._in_words(name, value)


def _one_line(value):
    return " ".join(text.clean(value).split())


def _a_day_ago():
    return fields.Datetime.now() - timedelta(days=1)
