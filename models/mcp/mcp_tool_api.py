import json

from odoo import models


class McpTool(models.Model):
    """Tools as the API and the portal show them."""

    _inherit = "woow_paas_platform.mcp_tool"

    def action_try(self):
        """Show the form of `POST /api/mcp/tools/<id>/try`."""
        self.ensure_one()
        self.check_access("write")
        return {
            "type": "ir.actions.client",
            "tag": "woow_tool_trial",
            "params": {"tool_id": self.id},
        }

    def _api_data(self):
        self.ensure_one()
        tells_lock = self.is_locked and self.has_access("write")
        return {
            "id": self.id,
            "name": self.name,
            "title": self.title or "",
            "description": self.description or "",
            "input_schema": json.loads(self.input_schema or "{}"),
            "annotations": json.loads(self.annotations or "{}"),
            "active": self.active,
            "available": self.available,
            "approval_policy": self.approval_policy,
            "token_estimate": self.token_estimate,
            "review_state": self.review_state,
            "review_hash": self.review_hash or "",
            "warnings": self.warnings or "",
            "definition_diff": self.definition_diff or "",
            "lock": self._lock_data() if tells_lock else None,
        }
