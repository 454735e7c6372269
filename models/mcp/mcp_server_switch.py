from odoo import api, models

from ...tools import mcp_switch


class McpServer(models.Model):
    _inherit = "woow_paas_platform.mcp_server"

    @api.model
    def _switch_mcp(self, is_on):
        """What Settings say of all MCP servers; the caller has checked the person."""
        if is_on == mcp_switch.is_on_in_settings(self.env):
            return
        # sudo: ir.config_parameter, mcp_server - the database's own switch, and who has a session to close
        self.env["ir.config_parameter"].sudo().set_param(
            mcp_switch.PARAMETER, not is_on and mcp_switch.OFF
        )
        servers = self.sudo().search([("active", "=", True)])
        if is_on:
            servers.filtered(lambda server: server.state == "draft")._sync_after_commit()
        else:
            servers._end_sessions()
        servers.tool_ids.invalidate_recordset(["is_usable"])
