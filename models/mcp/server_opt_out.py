from odoo import api, fields, models

OPT_OUT = "woow_paas_platform.server_opt_out"


class ServerOptOut(models.Model):
    """An opt-out: a shared server that a person's conversations do not use, unless one has a choice of its own."""

    _name = "woow_paas_platform.server_opt_out"
    _description = "MCP Server Not Used by a User"

    user_id = fields.Many2one("res.users", required=True, readonly=True, ondelete="cascade")
    server_id = fields.Many2one(
        "woow_paas_platform.mcp_server",
        required=True,
        readonly=True,
        ondelete="cascade",
        index=True,
    )

    _once = models.UniqueIndex("(user_id, server_id)", "This server is already switched off.")

    @api.model
    def _servers_of(self, person):
        # sudo: server_opt_out - the person's own switches, read to decide what a chat may use
        return self.sudo().search([("user_id", "=", person.id)]).server_id

    @api.model
    def _switch(self, person, server, is_on):
        # sudo: server_opt_out - people have no access to write; the caller's own switch
        own = self.sudo()
        known = own.search([("user_id", "=", person.id), ("server_id", "=", server.id)])
        if is_on:
            known.unlink()
        elif not known:
            own.create({"user_id": person.id, "server_id": server.id})
