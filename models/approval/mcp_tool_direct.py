"""Calls of tools that a person's program makes without a conversation (document 001)."""

from odoo import api, models
from odoo.fields import Domain


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
        services = env["woow_paas_platform.cloud_service"].search([("workspace_id", "!=", False)])
        own = Domain("owner_user_id", "=", env.uid) | Domain("cloud_service_id", "in", services.ids)
        # sudo: mcp_server - the caller's own and those of the caller's services, see above
        Server = env["woow_paas_platform.mcp_server"].sudo()
        tools = Server.search(Domain("scope", "=", "user") & own).tool_ids.filtered("is_usable")
        # sudo: ai.assistant - the caller may chat with them; which tools they have is read, not shown
        for assistant in assistants.sudo():
            tools |= assistant._system_tools()
        return tools
