"""Questions that the person asks in other words: the conversation branches there, and nothing is lost."""

from odoo import fields, models
from odoo.exceptions import UserError


class AiTurn(models.Model):
    _inherit = "woow_paas_platform.ai_turn"

    version_of_id = fields.Many2one(
        "woow_paas_platform.ai_turn",
        "Version of",
        readonly=True,
        ondelete="set null",
        help="The turn of the question's first wording.",
    )
    hidden = fields.Integer(
        readonly=True,
        help="0: on the branch that is shown. Turns that were left together have the same number.",
    )

    _branched = models.Index("(channel_id) WHERE hidden > 0 OR version_of_id IS NOT NULL")

    def _message_ids(self):
        return [*self.message_id.ids, *self.answer_message_id.ids]

    def _version_groups(self):
        """``{turn id: [turn ids]}``: for each wording all wordings of its question, oldest first."""
        groups = {}
        for turn in self.filtered("version_of_id"):
            first = turn.version_of_id.id
            groups.setdefault(first, [first]).append(turn.id)
        return {turn_id: group for group in groups.values() for turn_id in group}

    def _versions(self):
        """The turns of all wordings of this question, oldest first."""
        self.ensure_one()
        first = self.version_of_id or self
        return (first + self.search([("version_of_id", "=", first.id)])).sorted("id")

    def _show_version(self):
        """Bring this wording and all that followed it back in the place of the one that is shown."""
        self.ensure_one()
        if not self.hidden:
            return
        # sudo: ai_turn - people have no write access; the caller may read, so owns, the turns
        left, versions = self.hidden, self._versions().sudo()
        self.channel_id._leave_branch(min(versions.message_id.ids))
        self.sudo().search(
            [("channel_id", "=", self.channel_id.id), ("hidden", "=", left)]
        ).hidden = 0


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
