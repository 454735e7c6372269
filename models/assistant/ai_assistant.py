from odoo import api, fields, models
from odoo.exceptions import ValidationError
from odoo.fields import Command

from ...services import const
from ...tools import limits


class AiAssistant(models.Model):
    """An assistant: a provider, a system prompt and the tools it may use."""

    _name = "ai.assistant"
    _description = "AI Assistant"
    _inherit = ["woow_paas_platform.company.mixin"]
    _order = "sequence, id"

    name = fields.Char(required=True, translate=True)
    active = fields.Boolean(default=True)
    sequence = fields.Integer(default=10)
    description = fields.Char(
        translate=True, help="One line that tells users what the assistant is for."
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
        domain=[("scope", "=", "system")],
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
    tool_count = fields.Integer("Tools", compute="_compute_tool_count", compute_sudo=True)

    _max_rounds_range = models.Constraint(
        "CHECK (max_rounds BETWEEN 0 AND 50)",
        "The number of rounds must be between 0 and 50.",
    )

    _definition_tokens_range = models.Constraint(
        "CHECK (definition_tokens >= 500)",
        "The definitions of tools need at least 500 tokens.",
    )

    @api.model
    def default_get(self, fields):
        """The first assistant of the set-up has all that there is, so that nothing needs to be chosen."""
        values = super().default_get(fields)
        if self.env.context.get("woow_setup"):
            values.setdefault("name", self.env._("Assistant"))
            servers = self.env["woow_paas_platform.mcp_server"].search([("scope", "=", "system")])
            limit = limits.get(self.env, "max_servers_per_assistant")
            values["mcp_server_ids"] = [Command.set(servers[:limit].ids)]
        return values

    @api.model
    def _default_config(self):
        """The provider, where there is no choice."""
        configs = self.env["ai.config"].search([], limit=2)
        return configs if len(configs) == 1 else False

    @api.depends("group_ids.full_name")
    @api.depends_context("lang")
    def _compute_audience(self):
        """Odoo calls its two kinds of users “Role / User” and “Role / Portal”."""
        _ = self.env._
        kinds = {
            self.env.ref("base.group_user"): _("Internal users"),
            self.env.ref("base.group_portal"): _("Portal users"),
        }
        for assistant in self:
            groups = assistant.group_ids._origin
            names = [kinds.get(group) or group.full_name for group in groups]
            assistant.audience = ", ".join(sorted(names)) or _("Everyone")

    @api.depends("mcp_server_ids.tool_ids.active", "mcp_tool_disabled_ids")
    def _compute_tool_count(self):
        for assistant in self:
            assistant.tool_count = len(assistant._system_tools())

    @api.constrains("mcp_server_ids")
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
            if assistant.mcp_server_ids.filtered(lambda s: s.scope != "system"):
                raise ValidationError(self.env._("Assistants can only use system MCP servers."))

    @api.model_create_multi
    def create(self, vals_list):
        for vals in vals_list:
            if not vals.get("partner_id"):
                contact = {"name": vals.get("name"), "company_id": vals.get("company_id")}
                # sudo: res.partner - the contact is made by us, holds only the assistant's name
                partner = self.env["res.partner"].sudo().create(contact)
                vals["partner_id"] = partner.id
        return super().create(vals_list)

    def write(self, vals):
        result = super().write(vals)
        # sudo: res.partner - the assistant's own contact follows its name and its company
        for assistant in self.sudo():
            if "name" in vals:
                assistant.partner_id.name = assistant.name
            if "company_id" in vals:
                assistant.partner_id.company_id = assistant.company_id
        return result

    def action_chat(self):
        """Open the chat with a new conversation of this assistant."""
        self.ensure_one()
        action = self.env["ir.actions.actions"]._for_xml_id("woow_paas_platform.ai_chat_action")
        return {**action, "params": {"assistant_id": self.id}}

    def _refusal_to(self, person, service=None):
        """:return: a sentence where the person may not chat about the service with the assistant, else ``""``"""
        # sudo: ai.assistant - a switch; who may read what is asked with the person's rights
        is_active = self.sudo().active
        if not is_active or not self.with_user(person).sudo(False).has_access("read"):
            return "This assistant is no longer available to you."
        if service and not service.with_user(person).sudo(False).has_access("read"):
            return "You are no longer a member of this cloud service's workspace."
        return ""

    def _system_servers(self, beside=()):
        """:param beside: ids of servers that the caller reads too, which is one statement then"""
        servers = self.mcp_server_ids
        servers = servers.with_prefetch((*servers.ids, *beside))
        return servers.filtered(lambda s: s.active and s.scope == "system")

    def _servers_for(self, person, service):
        """The servers that a chat has: the assistant's own, those of the cloud service, and the person's.

        Whether the person may use assistant and service is up to the caller.

        :param person: may be empty, where others read along
        """
        self.ensure_one()
        Server = self.env["woow_paas_platform.mcp_server"]
        own = Server._of_person(person, service)
        return self._system_servers(own.ids) | own

    def _usable_tools(self, servers):
        """The tools of these servers that chats with this assistant may call."""
        # sudo: ai.assistant - switches of tools
        return servers.tool_ids.filtered("is_usable") - self.sudo().mcp_tool_disabled_ids

    def _system_tools(self):
        """Tools of the assistant's own servers that are switched on everywhere."""
        self.ensure_one()
        return self._usable_tools(self._system_servers())
