from odoo import api, fields, models
from odoo.fields import Domain

from ...tools.moments import utc


class ServerCredential(models.Model):
    """A personal key for a system server that requires one of each person. Nobody reads a key back;
    its person sees that it is there and takes it away, administrators see which ones there are."""

    _name = "woow_paas_platform.server_credential"
    _description = "Personal MCP Server Key"
    _inherit = ["woow_paas_platform.api_key.mixin"]
    _audited_acts = {"unlink": "secret_removed"}
    _order = "id desc"

    server_id = fields.Many2one(
        "woow_paas_platform.mcp_server", required=True, readonly=True, ondelete="cascade"
    )
    user_id = fields.Many2one(
        "res.users", required=True, readonly=True, ondelete="cascade", index=True
    )

    _unique = models.Constraint(
        "UNIQUE (server_id, user_id)", "A user can have only one key per MCP server."
    )

    def _audit_codes(self):
        return {"server": self.server_id, "of": self.user_id}

    @api.depends("server_id.name", "server_id.title")
    def _compute_display_name(self):
        for credential in self:
            # sudo: mcp_server - everybody sees the names of system servers
            credential.display_name = credential.sudo().server_id.display_name

    @api.model
    def _of(self, server, person):
        """The row of this person, an empty set if there is none."""
        # sudo: server_credential - that it is there is asked for its own person only, the key goes to the engine
        return self.sudo().search([("server_id", "=", server.id), ("user_id", "=", person.id)])

    @api.model
    def _keep(self, server, person, api_key):
        """Add the person's key for the server, or replace it."""
        if known := self._of(server, person):
            known.api_key = api_key
            return known
        vals = {"server_id": server.id, "user_id": person.id, "api_key": api_key}
        return self.sudo().create(vals)  # sudo: server_credential - people write only their own

    @api.model
    def _connections(self):
        """Each server that wants a key of the caller, or has one, as JSON."""
        # sudo: mcp_server, server_credential - the caller's own, and everybody sees the names of system servers
        Server, mine = self.env["woow_paas_platform.mcp_server"].sudo(), self.sudo()
        has_one = mine.search([("user_id", "=", self.env.uid)]).server_id.ids
        wants_one = Domain("wants_own_keys", "=", True) & Domain("active", "=", True)
        wants_one &= Server._system_domain()
        wanting = Server.with_context(active_test=False).search(
            wants_one | Domain("id", "in", has_one)
        )
        return [self._of(server, self.env.user)._connection(server) for server in wanting]

    def _connection(self, server):
        """:return: ``{"id", "name", "title", "description"}`` of the server, and since when there is a key or None"""
        return {
            "server": {
                "id": server.id,
                "name": server.name,
                "title": server.title or "",
                "description": server.description or "",
            },
            "has_key": bool(self),
            "key_since": utc(self.write_date),
        }
