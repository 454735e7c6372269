from markupsafe import Markup
from odoo import fields, models

from ...tools.refusals import BadInput

MCP_SCOPE = "mcp"  # of the API keys of MCP clients (res.users.apikeys)


class ResUsers(models.Model):
    _inherit = "res.users"

    woow_ai_show_calls = fields.Boolean(
        "Show Tool Calls of Earlier Answers",
        default=True,
        help="Show the tool calls of completed answers in chats with assistants.",
    )

    woow_ai_notify = fields.Boolean(
        "Notify about Assistants",
        default=True,
        help="Tell the user who is away that an answer is ready or a decision waits: by the browser, and after a "
        "while by mail.",
    )

    @property
    def SELF_READABLE_FIELDS(self):
        return [*super().SELF_READABLE_FIELDS, "woow_ai_show_calls", "woow_ai_notify"]

    @property
    def SELF_WRITEABLE_FIELDS(self):
        return [*super().SELF_WRITEABLE_FIELDS, "woow_ai_show_calls", "woow_ai_notify"]

    def _woow_ai_companies(self, asked):
        """Companies that were active and are the person's still; else all of the person's.

        :param asked: ids that a browser or a program named, not checked
        """
        self.ensure_one()
        mine = self.company_ids
        active = [i for i in asked or () if i in mine.ids]
        return mine.browse(active) if active else self.company_id | mine

    def _woow_ai_mail(self, subject, sentence, path):
        """Write to a person, with a button that leads to a page.

        :param sentence: escaped, in the person's language like the subject
        """
        self.ensure_one()
        in_language = self.with_context(lang=self.lang)
        url = f"{self.get_base_url()}{path}"
        body = Markup('<p>%s</p><p><a href="%s">%s</a></p>') % (
            sentence,
            url,
            in_language.env._("Open the page"),
        )
        # sudo: mail.thread - a message of the system to this person only
        in_language.env["mail.thread"].sudo().message_notify(
            partner_ids=self.partner_id.ids,
            subject=subject,
            body=body,
            author_id=self.env.ref("base.partner_root").id,
            email_layout_xmlid="mail.mail_notification_light",
        )

    def _woow_ai_preferences(self):
        self.ensure_one()
        return {
            "show_tool_calls": self.woow_ai_show_calls,
            "notify": self.woow_ai_notify,
            "language": self.lang or "en_US",
            "languages": [
                {"code": code, "name": name.rpartition(" / ")[2]}  # as it calls itself
                for code, name in self.env["res.lang"].get_installed()
            ],
        }

    def _set_woow_ai_preferences(self, show_tool_calls=None, notify=None, language=None):
        """Each person's own; what is None stays."""
        self.ensure_one()
        # sudo: res.users - portal users cannot write their own row; a switch and the language of their own chat
        user = self.sudo()
        if show_tool_calls is not None:
            user.woow_ai_show_calls = show_tool_calls
        if notify is not None:
            user.woow_ai_notify = notify
        if language is not None:
            if language not in dict(self.env["res.lang"].get_installed()):
                raise BadInput(self.env._("This language is not installed."))
            user.lang = language
