import json

from odoo import fields, models


class McpTool(models.Model):
    _inherit = "woow_paas_platform.mcp_tool"

    approval_rule_ids = fields.One2many(
        "woow_paas_platform.approval_rule",
        "tool_id",
        "Approval Rules",
        groups="woow_paas_platform.group_admin",
    )

    def _annotations(self):
        said = json.loads(self.annotations or "{}")
        return said if isinstance(said, dict) else {}

    def _policy_facts(self):
        return {
            "policy": self.approval_policy,
            "annotations": self._annotations(),
            "trust": self.server_id.trust_level,
        }

    def _rules(self, assistant):
        return self.env["woow_paas_platform.approval_rule"]._rules_of(self, assistant)

    def _is_allowed_for_good(self, user):
        return self.env["woow_paas_platform.tool_grant"]._is_always_granted(user, self)
