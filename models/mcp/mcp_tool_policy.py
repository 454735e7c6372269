import json

from odoo import api, fields, models

from ...services.turn import approval


class McpTool(models.Model):
    _inherit = "woow_paas_platform.mcp_tool"

    approval_rule_ids = fields.One2many(
        "woow_paas_platform.approval_rule",
        "tool_id",
        "Approval Rules",
        groups="woow_paas_platform.group_admin",
    )

    my_policy = fields.Char("My Own Rule", compute="_compute_my_policy", exportable=False)

    policy_now = fields.Selection(
        [("auto", "Runs"), ("ask", "Asks first"), ("never", "Never runs")],
        "When Called",
        compute="_compute_policy_now",
        help="What becomes of a call where no rule of an assistant or a user says otherwise.",
    )
    effect = fields.Selection(
        [("read", "Read-only"), ("destroy", "Destructive")],
        compute="_compute_effect",
        help="What the server says of its effect. Empty if it says neither.",
    )

    @api.depends("approval_policy", "annotations", "server_id.trust_level")
    def _compute_policy_now(self):
        for tool in self:
            # sudo: mcp_server - how far it is trusted, which says why a call asks
            tool.policy_now = approval.decide({}, **tool.sudo()._policy_facts()).policy

    @api.depends("annotations")
    def _compute_effect(self):
        for tool in self:
            said = tool._annotations()
            reads = said.get("readOnlyHint") is True
            tool.effect = "destroy" if approval.is_destructive(said) else "read" if reads else False

    @api.depends_context("uid")
    def _compute_my_policy(self):
        own = self.env["woow_paas_platform.person_rule"]._own(tools=self)
        for tool in self:
            tool.my_policy = own.get(tool.id, "default")

    def _api_data(self):
        return super()._api_data() | {"my_policy": self.my_policy}

    def _harmless(self):
        """A server that nobody trusts may call anything read-only."""
        return (
            super()
            ._harmless()
            .filtered(lambda tool: tool.effect == "read" and tool.server_id.trust_level != "none")
        )

    def _set_my_policy(self, policy):
        self.ensure_one()
        # sudo: mcp_server - which one the tool is of; the caller may use the tool
        server = self.sudo().server_id.sudo(False)
        self.env["woow_paas_platform.person_rule"]._set_own(server, self, policy)
        self.invalidate_recordset(["my_policy"])

    def _annotations(self):
        annotations = json.loads(self.annotations or "{}")
        return annotations if isinstance(annotations, dict) else {}

    def _policy_facts(self):
        return {
            "policy": self.approval_policy,
            "annotations": self._annotations(),
            "trust": self.server_id.trust_level,
        }

    def _manage_path(self, user):
        """The page on which this person changes what is asked about the tool, None for who may not."""
        # sudo: mcp_server - who manages it, read to decide
        if not self.sudo().server_id._is_managed_by(user):
            return None
        if user.has_group("woow_paas_platform.group_admin"):
            return f"/odoo/mcp-tools/{self.id}"
        return self.server_id._portal_path()

    def _rules(self, assistant):
        return self.env["woow_paas_platform.approval_rule"]._rules_of(self, assistant)

    def _person_policies(self, user):
        return self.env["woow_paas_platform.person_rule"]._policies(self, user)

    def _is_allowed_for_good(self, user):
        return self.env["woow_paas_platform.tool_grant"]._is_always_granted(user, self)
