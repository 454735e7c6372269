from odoo import fields, models


class AiTurn(models.Model):
    _inherit = "woow_paas_platform.ai_turn"

    version_of_id = fields.Many2one(
        "woow_paas_platform.ai_turn",
        readonly=True,
        ondelete="set null",
        help="Turn of the first version of the question.",
    )
    hidden = fields.Integer(
        readonly=True,
        help="0 if the turn is on the current branch. Turns that were hidden together share the same number.",
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
