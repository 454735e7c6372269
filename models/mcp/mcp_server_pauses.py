from odoo import api, fields, models

from ...tools import notify


class McpServer(models.Model):
    _inherit = "woow_paas_platform.mcp_server"

    process_ids = fields.One2many(
        "woow_paas_platform.mcp_server_process",
        "server_id",
        "Processes",
        readonly=True,
        groups="woow_paas_platform.group_admin",
    )
    is_paused = fields.Boolean(
        compute="_compute_is_paused", groups="woow_paas_platform.group_admin"
    )

    @api.depends("process_ids.state")
    def _compute_is_paused(self):
        for server in self:
            server.is_paused = any(p.state != "closed" for p in server.process_ids)

    def _forget_pauses(self):
        """The server has just answered: whatever processes thought of it is out of date, and they hear of it."""
        # sudo: mcp_server_process - system data; the caller could write the server
        rows = self.sudo().process_ids.filtered(lambda p: p.state != "closed")
        rows.write({"state": "closed", "reason": False, "since": fields.Datetime.now()})
        for server in self:
            notify.server_well(self.env.cr, server.id)
