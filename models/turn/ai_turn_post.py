from markupsafe import Markup
from odoo import models

from ...services import text
from ...services.llm import files
from ...tools import sentences

SUMMARY_CLASS = "o_ai_call_summary"


class AiTurn(models.Model):
    _inherit = "woow_paas_platform.ai_turn"

    def _call_summary(self):
        """The turn's calls and how they ended, for readers who have no cards; escaped."""
        calls = self._calls_with_taken_over()
        if not calls:
            return ""
        outcomes = dict(calls._fields["outcome"]._description_selection(self.env))
        lines = Markup().join(
            Markup("<li><code>%s</code> · %s · %s</li>")
            % (
                f"{call.server_name}.{call.tool_name}" if call.server_name else call.tool_name,
                outcomes.get(call.outcome or "unknown"),
                sentences.duration(self.env, call.duration_ms or 0),
            )
            for call in calls
        )
        return Markup('<div class="%s"><span>%s</span><ul>%s</ul></div>') % (
            SUMMARY_CLASS,
            self.env._("Tools used"),
            lines,
        )

    def _tell_of_unread_file(self, name, problem):
        if self.is_from_discuss:
            sentence = self.env._(
                "“%(file)s” cannot be read. %(reason)s",
                file=text.one_line(name or "", files.NAME_CHARS),
                reason=problem,
            )
            self.channel_id._post_ending(self.assistant_id, sentence)
        return super()._tell_of_unread_file(name, problem)

    def _tell_discuss(self, message):
        """After the end: who asked in Discuss hears of it there, who asked in a chat has read it there."""
        channel = self.channel_id
        if not self.is_from_discuss:
            if message:
                channel._mark_read_by(self.user_id, message)
            return
        channel._show_typing(self.assistant_id, False)
        if self.state == "stopped":
            channel._post_ending(self.assistant_id, self.env._("The answer was stopped."))
        elif self.state == "failed":
            fallback = self.env._("The assistant could not answer.")
            channel._post_ending(self.assistant_id, self.error_message or fallback)
        elif self.is_compact:
            channel._post_ending(self.assistant_id, self._summary_sentence())
