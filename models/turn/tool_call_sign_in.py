"""Calls that require a sign-in: the turn waits for it and goes on by itself."""

from urllib.parse import urlsplit

from odoo import models

from ...services.errors import ElicitationRequired, SignInRequired
from ...services.mcp.session.elicitation import ElicitRequest
from ..mcp.mcp_server_secrets import START

IN_A_CONVERSATION = (
    "The MCP server requires the user to sign in, which is not possible here. "
    "Tell the user to ask for it in a conversation with the assistant."
)
REMOVED = "The MCP server was removed."
BY_A_MANAGER = (
    "The MCP server requires a sign-in that only its managers can complete. "
    "Tell the user to ask them."
)


class ToolCall(models.Model):
    _inherit = "woow_paas_platform.tool_call"

    def _suspend(self, wanted):
        if not isinstance(wanted, SignInRequired) or not self.started_at:
            return super()._suspend(wanted)
        if not self.turn_id._is_private():
            return IN_A_CONVERSATION
        if not self.server_id:
            return REMOVED
        if not self.server_id._can_sign_in(self.turn_id.user_id):
            return BY_A_MANAGER
        link = ElicitRequest(message="", url=f"{START}/{self.server_id.id}")
        if refused := super()._suspend(ElicitationRequired(questions={"sign_in": link}, more=None)):
            return refused
        asked = self.question_ids.filtered(lambda question: question.ask_round == self.ask_round)
        asked.write({"kind": "sign_in", "host": urlsplit(wanted.url).netloc})
        return ""
