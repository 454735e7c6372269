from odoo import fields, models


class McpTool(models.Model):
    _inherit = "woow_paas_platform.mcp_tool"

    total_call_count = fields.Integer(
        "Total Calls",
        compute="_compute_total_call_count",
        groups="woow_paas_platform.group_admin",
    )

    def _compute_total_call_count(self):
        counts = self.env["woow_paas_platform.tool_call_report"]._calls_by("tool_id", self)
        for tool in self:
            tool.total_call_count = counts.get(tool, 0)

    def action_view_statistics(self):
        self.ensure_one()
        action = self.env["ir.actions.actions"]._for_xml_id(
            "woow_paas_platform.tool_call_report_action"
        )
        return {**action, "domain": [("tool_id", "=", self.id)], "context": {}}
