from odoo import fields, models
from odoo.tools import SQL

from ...tools.refusals import BadInput


class ResUsers(models.Model):
    _inherit = "res.users"

    woow_ai_show_calls = fields.Boolean(
        "Show Tool Calls of Earlier Answers",
        default=True,
        help="Show the tool calls of completed answers in chats with assistants.",
    )

    @property
    def SELF_READABLE_FIELDS(self):
        return [*super().SELF_READABLE_FIELDS, "woow_ai_show_calls"]

    @property
    def SELF_WRITEABLE_FIELDS(self):
        return [*super().SELF_WRITEABLE_FIELDS, "woow_ai_show_calls"]

    def unlink(self):
        """A person's calls and sign-ins go with the person; the number of calls stays, without a name."""
        self.env["woow_paas_platform.tool_call_sum"]._fold(SQL("user_id = ANY(%s)", self.ids))
        # sudo: mcp_sign_in - who may delete a person signs that person out everywhere
        SignIn = self.env["woow_paas_platform.mcp_sign_in"].sudo()
        SignIn.search([("user_id", "in", self.ids)]).unlink()
        return super().unlink()

    def _woow_ai_preferences(self):
        self.ensure_one()
        return {
            "show_tool_calls": self.woow_ai_show_calls,
            "language": self.lang or "en_US",
            "languages": [
                {"code": code, "name": name.rpartition(" / ")[2]}  # as it calls itself
                for code, name in self.env["res.lang"].get_installed()
            ],
        }

    def _set_woow_ai_preferences(self, show_tool_calls=None, language=None):
        """Each person's own; what is None stays."""
        self.ensure_one()
        # sudo: res.users - portal users cannot write their own row; a switch and the language of their own chat
        user = self.sudo()
        if show_tool_calls is not None:
            user.woow_ai_show_calls = show_tool_calls
        if language is not None:
            if language not in dict(self.env["res.lang"].get_installed()):
                raise BadInput(self.env._("This language is not installed."))
            user.lang = language
