from odoo import api, fields, models

from ...services import text
from ...services.sentence import _lt
from ...services.turn import remember
from ...tools.refusals import BadInput

FULL = _lt(
    "The memory is full. Tell the user to delete something under AI settings, Memory.",
)


class Memory(models.Model):
    """A fact that a person has confirmed; assistants read it in the person's own conversations."""

    _name = "woow_paas_platform.memory"
    _description = "Remembered Fact"
    _order = "id"
    _rec_name = "text"

    user_id = fields.Many2one(
        "res.users", required=True, readonly=True, ondelete="cascade", index=True
    )
    text = fields.Char(required=True, readonly=True, size=remember.MAX_CHARS)
    turn_id = fields.Many2one(
        "woow_paas_platform.ai_turn",
        "Answer",
        readonly=True,
        ondelete="set null",
        index="btree_not_null",
        help="The answer in which it was proposed.",
    )

    @api.model
    def _of(self, user):
        """Facts of a person; each request carries them."""
        return self.search([("user_id", "=", user.id)], limit=remember.MAX_FACTS)

    @api.model
    def _keep(self, turn, words):
        """Keep a fact that the person of the turn has confirmed; what is known already is not kept twice.

        :return: whether it holds any words
        """
        line = _one_line(words)
        if line and line not in self._of(turn.user_id).mapped("text"):
            self.create({"user_id": turn.user_id.id, "text": line, "turn_id": turn.id})
        return bool(line)

    def _own_fact(self):
        """The record when it is a fact of the caller, else an empty set."""
        # sudo: memory - decides only whether the record is the caller's own
        own = self.sudo().exists().filtered(lambda fact: fact.user_id == self.env.user)
        return own.sudo(False)

    def _change(self, words):
        """
        :raises BadInput: there are no words, or too many
        """
        line = _one_line(words)
        if not line or len(words) > remember.MAX_CHARS:
            raise BadInput(
                self.env._(
                    "Write a fact of at most %(limit)s characters.", limit=remember.MAX_CHARS
                )
            )
        if problem := self._quote_problem(words):
            raise BadInput(problem)
        others = self._of(self.env.user) - self
        if len(line) + sum(map(len, others.mapped("text"))) > remember.MAX_TOTAL:
            raise BadInput(self.env._("The memory is full. Delete something first."))
        # sudo: memory - people have no access to write; the caller's own, see `_own_fact`
        self.sudo().text = line

    @api.model
    def _quote_problem(self, words):
        """Reason against keeping a text as a fact of the caller; empty if the words are the caller's own."""
        if self.env["woow_paas_platform.delivered_prompt"]._is_foreign(words):
            return self.env._("Write it in your own words, without quotes of others.")
        return ""

    def _forget(self):
        # sudo: memory - see `_change`
        self.sudo().unlink()


def _one_line(words):
    return text.storable(text.one_line(words, remember.MAX_CHARS))
