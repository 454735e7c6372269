from odoo import fields, models


class CloudService(models.Model):
    _inherit = "woow_paas_platform.cloud_service"

    user_mcp_server_ids = fields.One2many(
        "woow_paas_platform.mcp_server",
        "cloud_service_id",
        string="MCP Servers",
        domain=[("scope", "=", "user")],
    )

    def write(self, vals):
        """In another workspace others manage its servers: what is secret about them stays behind."""
        if "workspace_id" not in vals:
            return super().write(vals)
        # sudo: mcp_server - switched-off ones too; emptied only
        servers = self.sudo().with_context(active_test=False).user_mcp_server_ids
        before = servers._facts_of_secrets()
        result = super().write(vals)
        servers._forget_moved(before)
        return result
