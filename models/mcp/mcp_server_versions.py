from odoo import api, fields, models

from ...services.catalog import mcp_json
from .mcp_server import OWNER

MAX_VERSIONS = 50  # of one server
# What a version holds: how the server is asked and what is thought of it, never a secret, a command or whose it is.
KEPT = ("name", "description", "url", "transport", *mcp_json.CONFIGURATION)


class McpServer(models.Model):
    """Versions of a server: each configuration that it had is kept."""

    _inherit = "woow_paas_platform.mcp_server"

    version_ids = fields.One2many(
        "woow_paas_platform.mcp_server_version", "server_id", "Versions", readonly=True, copy=False
    )

    @api.model_create_multi
    def create(self, vals_list):
        servers = super().create(vals_list)
        servers._keep_version()
        return servers

    def _after_write(self, vals):
        result = super()._after_write(vals)
        if vals.keys() & OWNER:
            # sudo: mcp_server_version - the new owner may not read what the former one had here
            self.sudo().version_ids.unlink()
        if vals.keys() & {*KEPT, *OWNER}:
            self._keep_version()
        return result

    def _configuration(self):
        """What a version of this server would hold now; parameters of the address that look like secrets are hidden."""
        self.ensure_one()
        texts = ("char", "text", "selection")
        values = {
            name: (self[name] or "") if self._fields[name].type in texts else self[name]
            for name in KEPT
        }
        # A placeholder of no name: the same address is the same after the server was called otherwise.
        return {**values, "url": mcp_json.without_secrets("", values["url"])}

    def _keep_version(self):
        """Add a version to each server whose configuration is not that of its latest one."""
        # sudo: mcp_server_version - written by Odoo only; the caller may change the server
        Version = self.env["woow_paas_platform.mcp_server_version"].sudo()
        for server in self.sudo().filtered(lambda server: not server.managed_by_file):
            versions = Version.search([("server_id", "=", server.id)])
            last, configuration = versions[:1], server._configuration()
            before = last.configuration or {}
            if last and before == configuration:
                continue
            changed = [name for name, value in configuration.items() if before.get(name) != value]
            Version.create(
                {
                    "server_id": server.id,
                    "number": last.number + 1,
                    "configuration": configuration,
                    "changed": ", ".join(changed) if last else False,
                }
            )
            versions[MAX_VERSIONS - 1 :].unlink()
