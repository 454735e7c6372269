from odoo import api, models

from ...tools import mcp_switch
from ..turn.ai_turn import CONVERSATION


class AiAssistant(models.Model):
    _inherit = "ai.assistant"

    @api.model
    def _offered(self):
        """The assistants that the user may chat with, the one of the last conversation first."""
        assistants = self.search([("active", "=", True)])._by_use()
        own = [
            ("channel_type", "=", CONVERSATION),
            ("woow_user_id", "=", self.env.uid),
            ("woow_assistant_id", "in", assistants.ids),
        ]
        # sudo: discuss.channel - the user's own conversations, of which only the assistant is read
        last = (
            self.env["discuss.channel"]
            .sudo()
            .search(own, order="last_interest_dt desc, id desc", limit=1)
        )
        return (assistants & last.woow_assistant_id.sudo(False)) | assistants

    def _by_use(self):
        """Hook: those that have nothing for the user come last."""
        return self

    def _offered_mcp_servers(self, person, service=None):
        """The servers that a chat of this person may use now; none if it is closed to them, or MCP is off.

        :return: `mcp_server` records with sudo
        """
        # sudo: ai.assistant, mcp_server - whether the person may use assistant and service is checked with
        # that person's rights
        assistant = self.sudo()
        Server = assistant.env["woow_paas_platform.mcp_server"]
        if assistant._refusal_to(person, service) or not mcp_switch.is_on(self.env):
            return Server
        return assistant._servers_for(person, service)

    def _tools_for_caller(self, person, service):
        """The tools that a program of this person is told of: those of a new chat about this service, or about none."""
        offered = self._offered_mcp_servers(person, service)
        return self._usable_tools(offered.filtered("is_on_for_me"))

    def _mcp_config(self, offered, selected):
        """Each of the offered servers, whether it is on, and what it costs."""
        data, called = [], offered._unambiguous_names()
        for server in offered.sorted(lambda server: (server.scope, server.name)):
            tools = self._usable_tools(server)
            data.append(
                {
                    "id": server.id,
                    "name": called[server],
                    "title": server.title or "",
                    "description": server.description or "",
                    "scope": server.scope,
                    "state": server.state,
                    "state_message": server.state_sentence or "",
                    "tool_count": len(tools),
                    "token_estimate": sum(tools.mapped("token_estimate")),
                    # sudo: mcp_server - how many tools wait, and nothing of them
                    "review_count": server.sudo().review_count,
                    "enabled": server in selected,
                    "enabled_for_me": server.is_on_for_me,
                }
            )
        return {
            "enabled_servers": [called[server] for server in selected],
            "servers": data,
            "can_reload": bool(self._managed_of(offered)),
            "notice": mcp_switch.notice(self.env),
        }
