"""Questions that the person asks in other words: the conversation branches there, and nothing is lost."""

from odoo import models
from odoo.exceptions import UserError


class DiscussChannel(models.Model):
    _inherit = "discuss.channel"

    def _leave_branch(self, message_id):
        """Hide what is shown from this message on."""
        # sudo: ai_turn - of the caller's own conversation, see `_own_conversation`
        Turn = self.env["woow_paas_platform.ai_turn"].sudo()
        of_channel = [("channel_id", "=", self.id)]
        last = Turn.search([*of_channel, ("hidden", ">", 0)], order="hidden desc", limit=1).hidden
        Turn.search([*of_channel, ("hidden", "=", 0), ("message_id", ">=", message_id)]).hidden = (
            last + 1
        )

    def _question_turn(self, message_id):
        """The shown turn that this message of the person started."""
        return self.env["woow_paas_platform.ai_turn"].search(
            [
                ("channel_id", "=", self.id),
                ("message_id", "=", message_id),
                ("hidden", "=", 0),
                ("user_id", "=", self.env.uid),
            ],
            order="id",
            limit=1,
        )

    def _ask_anew(self, asked, content, client_token=None, attachments=None):
        """Ask a question in other words; what followed the old ones stays on its own branch, calls included.

        :param asked: the turn of the question as it stands now
        :param attachments: files of the new wording; without any it keeps those of the old one
        """
        self.ensure_one()
        if self._running_turn():
            raise UserError(self.env._("The assistant is still busy with the last message."))
        self._leave_branch(asked.message_id.id)
        # sudo: ir.attachment - files of the caller's own question
        attachments = attachments or asked.sudo().attachment_ids
        turn = self._ask(content, client_token, attachments=attachments)
        # sudo: ai_turn - people have no write access; the turn was made for the caller just now
        turn.sudo().version_of_id = (asked.version_of_id or asked).id
        return turn

    def _branched_turns(self):
        """The turns that are hidden, and those that ask in other words; mostly none."""
        return self.env["woow_paas_platform.ai_turn"].search(
            [
                ("channel_id", "=", self.id),
                "|",
                ("hidden", ">", 0),
                ("version_of_id", "!=", False),
            ],
            order="id",
        )
