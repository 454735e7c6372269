"""Branches of a conversation: an edited question begins one, and what followed the former version is kept."""

from odoo import models


class DiscussChannel(models.Model):
    _inherit = "discuss.channel"

    def _leave_branch(self, message_id):
        """Hide all shown turns from this message on."""
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

    def _ask_edited(self, asked, content, client_token=None, attachments=None):
        """Ask an edited question; what followed the former version stays on its own branch, calls included.

        :param asked: the turn of the shown version
        :param attachments: files of the new version; without any it keeps those of the former one
        """
        self.ensure_one()
        self._refuse_while_busy()
        self._leave_branch(asked.message_id.id)
        # sudo: ir.attachment - files of the caller's own question
        attachments = attachments or asked.sudo().attachment_ids
        turn = self._ask(content, client_token, attachments=attachments)
        # sudo: ai_turn - people have no write access; the turn was made for the caller just now
        turn.sudo().version_of_id = (asked.version_of_id or asked).id
        return turn

    def _branched_turns(self):
        """Hidden turns, and those of edited questions; mostly none."""
        return self.env["woow_paas_platform.ai_turn"].search(
            [
                ("channel_id", "=", self.id),
                "|",
                ("hidden", ">", 0),
                ("version_of_id", "!=", False),
            ],
            order="id",
        )
