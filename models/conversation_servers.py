from odoo import fields, models
from odoo.exceptions import UserError


class DiscussChannel(models.Model):
    """A conversation's own choice among the servers that it could use (document 004, §6)."""

    _inherit = "discuss.channel"

    woow_mcp_config = fields.Json(
        "MCP Servers in Use",
        readonly=True,
        help='{"server_ids": […]}; nothing means all that are offered.',
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


class AiAssistant(models.Model):
    _inherit = "ai.assistant"

    def _offered_mcp_servers(self, person, service=None):
        """The servers that a chat of this person may use now; none if assistant or service is closed to them.

        Those of the assistant, of the cloud service, and the person's own.

        :return: `mcp_server` records with sudo
        """
        # sudo: ai.assistant, mcp_server - whether the person may use assistant and service is checked with
        # that person's rights
        assistant = self.sudo()
        Server = assistant.env["woow_paas_platform.mcp_server"]
        for record in (assistant, service):
            if record and not record.with_user(person).sudo(False).has_access("read"):
                return Server
        if not assistant.active:
            return Server
        own = assistant.mcp_server_ids.filtered(lambda s: s.active and s.scope == "system")
        return own | Server._of_person(person, service)

    def _mcp_config(self, offered, selected):
        """Each of the offered servers, whether it is on, and what it costs."""
        # sudo: ai.assistant - switches of tools, to count those that are on
        disabled = self.sudo().mcp_tool_disabled_ids
        data = []
        for server in offered.sorted(lambda server: (server.scope, server.name)):
            tools = server.tool_ids.filtered("is_usable") - disabled
            data.append(
                {
                    "id": server.id,
                    "name": server.name,
                    "title": server.title or "",
                    "description": server.description or "",
                    "scope": server.scope,
                    "state": server.state,
                    "tool_count": len(tools),
                    "token_estimate": sum(tools.mapped("token_estimate")),
                    "enabled": server in selected,
                }
            )
        return {"enabled_servers": selected.mapped("name"), "servers": data}
