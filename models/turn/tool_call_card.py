from odoo import models


class ToolCall(models.Model):
    _inherit = "woow_paas_platform.tool_call"

    def _card(self):
        self.ensure_one()
        return {
            "id": self.call_id,
            "tool": self.tool_name,
            "title": self.title or self.tool_name,
            "server": self.server_name or "",
            "outcome": self.outcome or None,
            "duration_ms": self.duration_ms,
            "round": self.round,
        }
