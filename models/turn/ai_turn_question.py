from odoo import models

from ...tools.refusals import InvalidAnswer, NotThere, Refusal, TooLate

DECISIONS = ("accept", "decline", "cancel")


class AiTurn(models.Model):
    _inherit = "woow_paas_platform.ai_turn"

    def _open_questions(self):
        """Those that the turn waits for."""
        calls = self.call_ids.filtered(lambda call: not call.outcome)
        return calls.question_ids.filtered(lambda asked: not asked.action and not asked.is_held)

    def _question(self, public_id):
        """The question of an id on the wire, or an empty recordset."""
        return self.call_ids.question_ids.filtered(lambda asked: asked._public_id() == public_id)

    def _record_decision(self, asked, decision, *, content=None, **values):
        if decision not in DECISIONS:
            return super()._record_decision(asked, decision, **values)
        question = self._question(asked)
        if not question:
            raise NotThere(self.env._("This question does not exist."))
        if not question._is_open():
            raise TooLate(self.env._("This has already been decided or has expired."))
        if decision not in question._choices():
            raise Refusal(
                self.env._("This question must be answered on the page that it links to.")
            )
        if decision == "accept" and (problems := question._problems(content or {})):
            sentence = self.env._(
                "These answers are not valid: %(fields)s.", fields=", ".join(problems)
            )
            raise InvalidAnswer(sentence, fields=problems)
        return question._answer(decision, (content or {}) if decision == "accept" else None)

    def _is_undecided(self):
        return super()._is_undecided() or bool(self._open_questions())

    def _waiting_for(self):
        asked = [question._event() for question in self._open_questions()]
        return super()._waiting_for() + (asked if self.state == "waiting" else [])

    def _expire_decisions(self):
        self._open_questions()._answer("expired")
        return super()._expire_decisions()

    def _close_open_calls(self):
        self.call_ids.filtered(lambda call: not call.outcome).question_ids._close()
        return super()._close_open_calls()
