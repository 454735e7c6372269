from odoo import api, fields, models

OPT_OUT = "woow_paas_platform.server_opt_out"


class McpServer(models.Model):
    """A person's opt-out of a shared server."""

    _inherit = "woow_paas_platform.mcp_server"

    is_on_for_me = fields.Boolean(
        "Used in My Conversations", compute="_compute_is_on_for_me", exportable=False
    )

    @api.depends_context("uid")
    def _compute_is_on_for_me(self):
        off = self.env[OPT_OUT]._servers_of(self.env.user)
        for server in self:
            server.is_on_for_me = server not in off

    def _api_data(self, with_tools=False):
        return super()._api_data(with_tools) | {"enabled_for_me": self.is_on_for_me}

    def _usable_by_caller(self):
        """Those among these that the caller sees, or meets in chats about a cloud service."""
        # sudo: mcp_server - whose it is; the service is read with the caller's rights
        rest = (self - self._visible()).sudo().exists()
        services = rest.cloud_service_id.sudo(False)._filtered_access("read")
        of_services = rest.filtered(lambda s: s.active and s.cloud_service_id.id in services.ids)
        return self._visible() | of_services.sudo(False)

    def _switch_for_me(self, is_on):
        """In all conversations of the current user that have no choice of their own."""
        self.ensure_one()
        self.env[OPT_OUT]._switch(self.env.user, self, is_on)
        self.invalidate_recordset(["is_on_for_me"])
