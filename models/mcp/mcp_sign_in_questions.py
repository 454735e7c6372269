from odoo import models


class McpSignIn(models.Model):
    _inherit = "woow_paas_platform.mcp_sign_in"

    def _signed_in(self):
        """The calls that waited for it go on."""
        result = super()._signed_in()
        waiting = [
            ("kind", "=", "sign_in"),
            ("action", "=", False),
            ("call_id.server_id", "=", self.server_id.id),
        ]
        if self.user_id:
            waiting.append(("call_id.turn_id.user_id", "=", self.user_id.id))
        for turn in self.env["woow_paas_platform.call_question"].search(waiting).call_id.turn_id:
            turn._change_decisions(
                lambda turn=turn: turn._open_questions().filtered_domain(waiting)._answer("accept")
            )
        return result
