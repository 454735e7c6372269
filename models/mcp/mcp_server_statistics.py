from odoo import fields, models


class McpServer(models.Model):
    _inherit = "woow_paas_platform.mcp_server"

    call_count = fields.Integer("Tool Calls", compute="_compute_call_count")
    total_call_count = fields.Integer(
        "Total Calls",
        compute="_compute_total_call_count",
        groups="woow_paas_platform.group_admin",
    )

    def _compute_call_count(self):
        counts = self._counts("woow_paas_platform.tool_call")
        for server in self:
            server.call_count = counts.get(server, 0)

    def _compute_total_call_count(self):
        counts = self.env["woow_paas_platform.tool_call_report"]._calls_by("server_id", self)
        for server in self:
            server.total_call_count = counts.get(server, 0)

    def action_view_statistics(self):
        self.ensure_one()
        action = self.env["ir.actions.actions"]._for_xml_id(
            "woow_paas_platform.tool_call_report_action"
        )
        return {**action, "domain": [("server_id", "=", self.id)], "context": {}}

    def action_view_calls(self):
        self.ensure_one()
        action = self.env["ir.actions.actions"]._for_xml_id("woow_paas_platform.tool_call_action")
        return {**action, "domain": [("server_id", "=", self.id)], "context": {}}
