"""Direct tool calls: made by a person's program, without a conversation (document 001)."""

from odoo import api, models


class McpTool(models.Model):
    _inherit = "woow_paas_platform.mcp_tool"

    @api.model
    def _offered_to_caller(self):
        """All tools that the current user could be offered in some chat now, whatever it is about."""
        env = self.env
        assistants = env["ai.assistant"].search([("active", "=", True)])
        servers = env["woow_paas_platform.mcp_server"]._of_person_anywhere(env.user)
        tools = servers.tool_ids.filtered("is_usable")
        # sudo: ai.assistant - the caller may chat with them; which tools they have is read, not shown
        for assistant in assistants.sudo():
            tools |= assistant._system_tools()
        return tools

    def _is_offered_to(self, user):
        """Whether this person may use the tool at all, whatever its switches say.

        Tools come with an assistant that the person may chat with, with a server of the person or of a
        cloud service that the person is a member of, or with the right to manage them.
        """
        self.ensure_one()
        if self.with_user(user).sudo(False).has_access("write"):
            return True
        # sudo: mcp_tool, ai.assistant - reads servers and switches to decide, shows nothing of them
        tool = self.sudo()
        server = tool.server_id
        if server.scope == "user":
            return server in server.with_context(active_test=False)._of_person_anywhere(user)
        Assistant = self.env["ai.assistant"].with_user(user).sudo(False)
        return bool(self._offered_by(Assistant.search([("active", "=", True)])))

    def _offered_by(self, assistants):
        # sudo: mcp_tool, ai.assistant - reads servers and switches to decide, shows nothing of them
        tool = self.sudo()
        if tool.server_id.scope == "user":
            return assistants
        return assistants.filtered(
            lambda one: (
                tool.server_id in one.sudo().mcp_server_ids
                and tool not in one.sudo().mcp_tool_disabled_ids
            )
        )
