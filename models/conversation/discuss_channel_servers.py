from odoo import fields, models
from odoo.exceptions import UserError

from ..mcp.server_opt_out import OPT_OUT


class DiscussChannel(models.Model):
    """A conversation's own choice among the servers that it could use (document 004, §6)."""

    _inherit = "discuss.channel"

    woow_mcp_config = fields.Json(
        "MCP Servers in Use",
        readonly=True,
        help='{"server_ids": […]}; empty means what is offered and left on in general.',
    )

    def _narrowed(self, servers, person):
        """Those of these servers that the person left on: here, or else in general.

        A conversation with a choice of its own keeps it whatever the person switches in general.
        """
        # sudo: discuss.channel - a choice among servers, nothing is shown
        if config := self.sudo().woow_mcp_config:
            return servers.filtered(lambda s: s.id in config["server_ids"])
        return servers - self.env[OPT_OUT]._servers_of(person)

    def _mcp_config(self):
        """What the conversation's panel shows: each server, whether it is on, and what it costs."""
        offered = self._offered_mcp_servers()
        # sudo: ai.assistant - the caller has found their own conversation with it
        assistant = self.sudo().woow_assistant_id
        return assistant._mcp_config(offered, self._narrowed(offered, self.env.user))

    def _select_servers(self, names):
        """Let the conversation use only the servers of these names; None: whatever is offered and left on in general.

        :raises UserError: a name that is not offered here
        """
        offered = self._offered_mcp_servers()
        called = offered._unambiguous_names()
        unknown = {*(names or ())} - {called[server] for server in offered}
        if unknown:
            raise UserError(
                self.env._(
                    "This conversation has no MCP server called “%(name)s”.", name=min(unknown)
                )
            )
        named = None if names is None else offered._named(names)
        self._keep_servers(named, offered)

    def _switch_server(self, server, is_on):
        """Switch one server on or off for this conversation only; False where it is not offered at all."""
        offered = self._offered_mcp_servers()
        server = offered.filtered(lambda s: s.id == server.id)
        if server:
            selected = self._narrowed(offered, self.env.user)
            self._keep_servers(selected | server if is_on else selected - server, offered)
        return bool(server)

    def _switch_server_for_me(self, server, is_on):
        """Switch one server in all conversations of the caller, and in this one whatever its own choice was."""
        offered = self._offered_mcp_servers().filtered(lambda s: s.id == server.id)
        if offered:
            offered._switch_for_me(is_on)
            self._switch_server(server, is_on)
        return bool(offered)

    def _keep_servers(self, servers, offered):
        """:param servers: None, or what the person leaves on in general, is no choice of the conversation's own"""
        general = offered - self.env[OPT_OUT]._servers_of(self.env.user)
        is_general = servers is None or servers == general
        # sudo: discuss.channel - portal users may not write channels, but choose in their own conversation
        self.sudo().woow_mcp_config = False if is_general else {"server_ids": servers.ids}
