from collections import Counter

from odoo import models

TROUBLE = ("error", "auth_required")


class CloudService(models.Model):
    _inherit = "woow_paas_platform.cloud_service"

    def _attention(self):
        """How much those who manage a service have to look at: ``{service: number}``, without the zeros.

        Servers in trouble, and tools of the others that wait for a review.
        """
        managed = self.filtered("is_manager")
        counts = Counter()
        for server in self.env["woow_paas_platform.mcp_server"].search(
            [("cloud_service_id", "in", managed.ids)]
        ):
            counts[server.cloud_service_id] += (server.state in TROUBLE) + server.review_count
        return dict(+counts)

    def _own_servers(self):
        """The servers that the service's page shows its managers."""
        self.ensure_one()
        servers = self.env["woow_paas_platform.mcp_server"]
        return servers.search([("cloud_service_id", "=", self.id)]) if self.is_manager else servers
