"""Calls of tools that a person's program makes without a conversation (document 001)."""

from odoo import api, models
from odoo.fields import Domain

from ..services import approval


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

    def _refusal_for_caller(self, arguments):
        """Nobody is asked here: what would ask in a chat runs only if the caller has allowed it for good.

        :return: a sentence, ``""`` when the call may be made
        """
        self.ensure_one()
        decision = approval.decide(
            arguments,
            policy=self.approval_policy,
            # sudo: approval_rule - read to decide, not shown
            rules=self.env["woow_paas_platform.approval_rule"]
            .sudo()
            ._rules_of(self, self.env["ai.assistant"]),
            annotations=self._annotations(),
            trust=self.server_id.trust_level,
        )
        if decision.policy == "never":
            return self.env._("An administrator does not allow this call.")
        Grant = self.env["woow_paas_platform.tool_grant"]
        if decision.policy == "ask" and not (
            decision.grantable and Grant._is_always_granted(self.env.user, self)
        ):
            return self.env._(
                "Somebody has to allow this call. Allow the tool “always” in a chat, or make the call there."
            )
        return ""
