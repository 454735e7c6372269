from odoo import fields, models
from odoo.exceptions import UserError


class DiscussChannel(models.Model):
    """A conversation's own choice among the servers that it could use (document 004, §6)."""

    _inherit = "discuss.channel"

    woow_mcp_config = fields.Json(
        "MCP Servers in Use",
        readonly=True,
        help='{"server_ids": […]}; empty means all offered servers.',
    )

    def _narrowed(self, servers):
        """Those of these servers that the conversation's person left on."""
        # sudo: discuss.channel - a choice among servers, nothing is shown
        config = self.sudo().woow_mcp_config
        return servers.filtered(lambda s: s.id in config["server_ids"]) if config else servers

    def _mcp_config(self):
        """What the conversation's panel shows: each server, whether it is on, and what it costs."""
        offered = self._offered_mcp_servers()
        # sudo: ai.assistant - the caller has found their own conversation with it
        return self.sudo().woow_assistant_id._mcp_config(offered, self._narrowed(offered))

    def _select_servers(self, names):
        """Let the conversation use only the servers of these names; None or all of them: whatever is offered.

        :raises UserError: a name that is not offered here
        """
        offered = self._offered_mcp_servers()
        unknown = {*(names or ())} - {*offered.mapped("name")}
        if unknown:
            raise UserError(
                self.env._(
                    "This conversation has no MCP server called “%(name)s”.", name=min(unknown)
                )
            )
        named = offered if names is None else offered.filtered(lambda s: s.name in names)
        self._keep_servers(named, offered)

    def _switch_server(self, server, is_on):
        """Switch one server on or off for this conversation only; True where it is offered at all."""
        offered = self._offered_mcp_servers()
        kept = self._narrowed(offered)
        server = offered.filtered(lambda s: s.id == server.id)
        self._keep_servers(kept | server if is_on else kept - server, offered)
        return bool(server)

    def _keep_servers(self, servers, offered):
        config = {"server_ids": servers.ids} if servers != offered else False
        # sudo: discuss.channel - portal users may not write channels, but choose in their own conversation
        self.sudo().woow_mcp_config = config
