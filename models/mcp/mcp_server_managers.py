from odoo import models


class McpServer(models.Model):
    """Who manages a server: changes it, decides about its tools, and is told of it.

    The record rules (`security/mcp_rules.xml`) say the same to Odoo, which enforces it; `tests/test_managers.py` holds
    them to it.
    """

    _inherit = "woow_paas_platform.mcp_server"

    def _is_managed_by(self, user):
        """Whether it is the person's, or the person is an administrator of its company."""
        self.ensure_one()
        if not user.has_group("woow_paas_platform.group_admin"):
            return user in self._managers()
        # sudo: res.users, mcp_server - the companies of both, read to decide
        companies = self.env.companies if user == self.env.user else user.sudo().company_ids
        return bool(self.sudo().filtered_domain(self._check_company_domain(companies.ids)))

    def _managers(self):
        """Those beside administrators, nobody of a system server."""
        # sudo: mcp_server - whose they are, read to decide
        servers = self.sudo()
        people = servers.owner_user_id | servers.cloud_service_id.workspace_id._managers()
        return people.filtered(lambda user: not user._is_public())

    def _tell_managers(self):
        """Pages and forms that show the server read it again."""
        # sudo: res.groups, res.partner - only to address them on the bus
        admins = self.env.ref("woow_paas_platform.group_admin").sudo()
        for server in self:
            for audience in (admins, *server._managers().partner_id.sudo()):
                audience._bus_send("woow_ai/mcp_server", {"id": server.id})
