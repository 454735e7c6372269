from odoo import api, fields, models
from odoo.fields import Domain

from ...services import text
from ...tools import limits
from .workspace import MANAGING


class CloudService(models.Model):
    """A service that a workspace runs. Its own MCP servers serve only its own chats."""

    _name = "woow_paas_platform.cloud_service"
    _description = "Cloud Service"
    _inherit = ["woow_paas_platform.audited.mixin"]
    _order = "name, id"

    name = fields.Char(required=True)
    active = fields.Boolean(default=True)
    description = fields.Text()
    workspace_id = fields.Many2one(
        "woow_paas_platform.workspace", required=True, ondelete="cascade", index=True
    )
    state = fields.Selection(
        [
            ("pending", "Pending"),
            ("deploying", "Deploying"),
            ("running", "Running"),
            ("stopped", "Stopped"),
            ("error", "Error"),
        ],
        required=True,
        default="pending",
        help="Set by hand, or over Odoo's API by the platform that runs the service.",
    )
    starters = fields.Text(
        "Suggested Questions", help="One per line, shown in a new chat about this service."
    )
    reference_id = fields.Char(help="Identifier of the service on the platform that runs it.")
    link_ids = fields.One2many(
        "woow_paas_platform.service_link", "cloud_service_id", string="Linked Records"
    )
    user_mcp_server_ids = fields.One2many(
        "woow_paas_platform.mcp_server",
        "cloud_service_id",
        string="MCP Servers",
        domain=[("scope", "=", "user")],
    )
    assistant_ids = fields.One2many(
        "ai.assistant", "cloud_service_id", "Assistants", context={"active_test": False}
    )
    moved_at = fields.Datetime(
        "In Its Workspace Since",
        readonly=True,
        copy=False,
        help="Set when the service moves: what came before is not shown to those who manage it now.",
    )
    conversation_count = fields.Integer(
        "Conversations",
        compute="_compute_conversation_count",
        groups="woow_paas_platform.group_admin",
    )
    is_manager = fields.Boolean(compute="_compute_is_manager", search="_search_is_manager")

    @api.depends_context("uid")
    def _compute_is_manager(self):
        for service in self:
            # sudo: workspace - answers for the caller only
            service.is_manager = self.env.user in service.sudo().workspace_id._managers()

    def _compute_conversation_count(self):
        # sudo: discuss.channel - a number for administrators, not what was said
        counts = dict(
            self.env["discuss.channel"]
            .sudo()
            ._read_group(
                [("woow_cloud_service_id", "in", self.ids)], ["woow_cloud_service_id"], ["__count"]
            )
        )
        for service in self:
            service.conversation_count = counts.get(service, 0)

    def _search_is_manager(self, operator, value):
        if operator != "in":
            return NotImplemented
        managed = [
            (
                "workspace_id.access_ids",
                "any!",
                [("user_id", "=", self.env.uid), ("role", "in", MANAGING)],
            )
        ]
        return managed if True in value else ["!", *managed]

    def write(self, vals):
        """In another workspace others manage it: leave behind what is secret about its servers, and switch off its
        assistants, whose instructions nobody there has read."""
        if "workspace_id" not in vals:
            return super().write(vals)
        moved = self.filtered(lambda one: one.workspace_id.id != vals["workspace_id"])
        # sudo: mcp_server - switched-off ones too; emptied only
        servers = self.sudo().with_context(active_test=False).user_mcp_server_ids
        before = servers._facts_of_secrets()
        result = super().write(vals)
        servers._forget_moved(before)
        # sudo: ai.assistant, cloud_service - follows a move that the caller was allowed to make
        moved.sudo().moved_at = fields.Datetime.now()
        moved.sudo().assistant_ids.active = False
        return result

    def unlink(self):
        # sudo: ai.assistant, mcp_server - they go with their service, by the ORM because of what they leave elsewhere
        service = self.sudo().with_context(active_test=False)
        service.assistant_ids.unlink()
        service.user_mcp_server_ids.unlink()
        return super().unlink()

    def action_chat(self):
        """Open the chat with a new conversation about this service."""
        self.ensure_one()
        self.check_access("read")
        # sudo: ir.actions.client - the chat, which every internal user may open
        action = (
            self.env["ir.actions.actions"].sudo()._for_xml_id("woow_paas_platform.ai_chat_action")
        )
        return {**action, "params": {"cloud_service_id": self.id}}

    def action_view_conversations(self):
        """Turns by conversation: what people said stays in their chats."""
        self.ensure_one()
        action = self.env["ir.actions.actions"]._for_xml_id("woow_paas_platform.ai_turn_action")
        return {
            **action,
            "domain": [("cloud_service_id", "=", self.id)],
            "context": {"search_default_group_channel": 1},
        }

    def _starters(self):
        """Questions that a chat about this service may begin with."""
        self.ensure_one()
        return text.starters(self.starters) or [
            self.env._("What is the state of %(service)s?", service=self.name)
        ]

    def _prompt_facts(self):
        """Name, state and description for the system prompt: never a secret or a raw value."""
        self.ensure_one()
        states = dict(self._fields["state"]._description_selection(self.env))
        facts = [
            f"Name: {text.quoted(self.name, 200)}",
            f"State: {states[self.state]}",
        ]
        if self.description:
            facts.append(f"Description: {text.quoted(self.description, 2_000)}")
        return "\n".join(facts)

    # ------------------------------------------------------------ its MCP servers and assistants

    def _own_servers(self):
        """The servers that the service's page shows its managers."""
        self.ensure_one()
        servers = self.env["woow_paas_platform.mcp_server"]
        return servers.search([("cloud_service_id", "=", self.id)]) if self.is_manager else servers

    def _since_move(self):
        """Domain of what came to it in the workspace where it is now."""
        self.ensure_one()
        # sudo: cloud_service - a date
        moved_at = self.sudo().moved_at
        return Domain("create_date", ">=", moved_at) if moved_at else Domain.TRUE

    def _allows_assistants(self):
        """True if it may have assistants of its own now: it is in use, and an administrator has switched them on."""
        self.ensure_one()
        # sudo: cloud_service - whether it is archived
        return self.sudo().active and limits.is_on(self.env, "owner_assistants")

    def _assistants_are_managed_by(self, user):
        """True if the person is an administrator, or manages what the service has, and it may have assistants."""
        self.ensure_one()
        if user.has_group("woow_paas_platform.group_admin"):
            return True
        # sudo: cloud_service - whose it is, read to decide
        is_manager = user in self.sudo().workspace_id._managers() and not user._is_public()
        return is_manager and self._allows_assistants()
