"""Calls of tools that a person's program makes without a conversation (document 001)."""

from odoo import api, models


class McpTool(models.Model):
    _inherit = "woow_paas_platform.mcp_tool"

    @api.model
    def _offered_to_caller(self, assistants=None):
        """All tools that the current user could be offered in some chat now, whatever it is about.

        :param assistants: of which assistants, when not of all that the caller may chat with
        """
        env = self.env
        if assistants is None:
            assistants = env["ai.assistant"].search([("active", "=", True)])
        servers = env["woow_paas_platform.mcp_server"]._of_person_anywhere(env.user)
        tools = servers.tool_ids.filtered("is_usable")
        # sudo: ai.assistant - the caller may chat with them; which tools they have is read, not shown
        for assistant in assistants.sudo():
            tools |= assistant._system_tools()
        return tools
