from odoo import models

TROUBLE = ("error", "auth_required")
TO_REVIEW = ("new", "changed")


class CloudService(models.Model):
    _inherit = "woow_paas_platform.cloud_service"

    def _attention(self):
        """How much those who manage a service have to look at: ``{service: number}``, without the zeros.

        Servers in trouble, and tools of the others that wait for a review.
        """
        managed = self.filtered("is_manager")
        servers = self.env["woow_paas_platform.mcp_server"].search(
            [("cloud_service_id", "in", managed.ids)]
        )
        in_trouble = servers.filtered(lambda server: server.state in TROUBLE)
        tools = self.env["woow_paas_platform.mcp_tool"].search(
            [("server_id", "in", servers.ids), ("review_state", "in", TO_REVIEW)]
        )
        counts = {}
        for service in (*in_trouble.cloud_service_id, *tools.server_id.cloud_service_id):
            counts.setdefault(service, 0)
        for service in counts:
            counts[service] = len(
                in_trouble.filtered(lambda server, it=service: server.cloud_service_id == it)
            ) + len(tools.filtered(lambda tool, it=service: tool.server_id.cloud_service_id == it))
        return counts

    def _own_servers(self):
        """``[(server, number of its tools that wait for a review)]`` that the service's page shows its managers."""
        self.ensure_one()
        servers = self.env["woow_paas_platform.mcp_server"]
        if self.is_manager:
            servers = servers.search([("cloud_service_id", "=", self.id)])
        counts = dict(
            self.env["woow_paas_platform.mcp_tool"]._read_group(
                [("server_id", "in", servers.ids), ("review_state", "in", TO_REVIEW)],
                ["server_id"],
                ["__count"],
            )
        )
        return [(server, counts.get(server, 0)) for server in servers]
