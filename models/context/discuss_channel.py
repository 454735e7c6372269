from odoo import models

from .ai_turn import COMPACT


class DiscussChannel(models.Model):
    """A conversation that can be summed up, and tells how full it is."""

    _inherit = "discuss.channel"

    def _compact(self, note, client_token=None, message=None, asked=None):
        """Queue a turn that sums up what was said so far; it is asked for, and seen, like a question.

        :param note: what the person wants kept in mind
        :param message: the message, when it was posted already (Discuss)
        :param asked: the turn in whose place it is asked for, as another wording; what followed that one is left
        """
        line = f"{COMPACT} {note}".strip()
        channel = self.with_context(woow_ai_no_name=True)
        turn = (
            channel._ask_edited(asked, line, client_token)
            if asked
            else channel._ask(line, client_token, message)
        )
        turn._become_compact()
        return turn

    def _name_after_first_message(self, content):
        """A command asks nothing that a conversation could be called after: a question does, which comes later."""
        if self.env.context.get("woow_ai_no_name"):
            return None
        return super()._name_after_first_message(content)

    def _conversation_page(self, limit, before=None):
        context = self.env["woow_paas_platform.ai_turn"]._context_of(self)
        return {**super()._conversation_page(limit, before), "context": context}
