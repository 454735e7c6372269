from datetime import timedelta
from urllib.parse import urlsplit

from odoo import fields, models

from ...services import text
from ...services.errors import ElicitationRequired
from ...services.mcp.session import elicitation
from ...services.specs import Verdict

NOBODY_TO_ASK = (
    "The MCP server has a question for the user, and nobody can be asked here. "
    "Tell the user to ask for it in a conversation with the assistant."
)
ASKS_FOR_EVER = "The MCP server keeps asking questions."
DECLINED = (
    "The user did not complete what the MCP server requested first, so the call was not made."
)
MODEL = "woow_paas_platform.call_question"


def _question_vals(asked):
    """The columns of what a server asks."""
    return {
        "kind": "url" if asked.url else "form",
        "message": text.storable(asked.message),
        "schema": text.storable(dict(asked.schema)),
        "url": asked.url,
    }


class ToolCall(models.Model):
    _inherit = "woow_paas_platform.tool_call"

    question_ids = fields.One2many(MODEL, "call_id", "Questions", readonly=True)
    ask_round = fields.Integer(
        "Question Round", readonly=True, help="Number of times the call ended with questions."
    )
    ask_state = fields.Json(
        groups=fields.NO_ACCESS, help="Data that is sent back to the server with the answers."
    )

    def _suspend(self, wanted):
        """The call ended with questions: ask them, once; a call that is not in flight has done so before.

        :param wanted: `services.errors.ElicitationRequired`
        :return: empty, or why nobody can be asked
        """
        self.ensure_one()
        if not self.started_at:
            return ""
        if not self.turn_id._is_private():
            return NOBODY_TO_ASK
        if self.ask_round >= elicitation.MAX_ROUNDS:
            return ASKS_FOR_EVER
        # Not in flight any more: the server has ended the request and holds nothing.
        self.write({"ask_round": self.ask_round + 1, "started_at": False, "started_epoch": False})
        self._put_questions(wanted)
        return ""

    def _put_questions(self, wanted):
        self.ask_state = text.storable({"more": wanted.more and dict(wanted.more)})
        for key, asked in wanted.questions.items():
            self._put_question(asked, key=key)

    def _put_question(self, asked, **values):
        """:param asked: `services.mcp.session.elicitation.ElicitRequest`"""
        return self.question_ids.create(
            {
                "call_id": self.id,
                "ask_round": self.ask_round,
                "host": urlsplit(asked.url).netloc,
                **_question_vals(asked),
                **values,
            }
        )

    def _hold(self, asked, seconds):
        """A server waits in its session for the answer. What is open already is not asked a second time.

        :return: the question, or an empty recordset when nobody can be asked
        """
        self.ensure_one()
        held = self.question_ids.filtered("is_held")
        vals = _question_vals(asked)
        for question in held.filtered(lambda question: not question.action):
            if all((question[name] or "") == (vals[name] or "") for name in vals):
                return question
        if not self.turn_id._is_private() or len(held) >= elicitation.MAX_ROUNDS:
            return held.browse()
        expires_at = fields.Datetime.now() + timedelta(seconds=seconds)
        return self._put_question(asked, is_held=True, expires_at=expires_at)

    def _question_verdict(self):
        """How a call starts that had ended with questions; None if it had none."""
        self.ensure_one()
        asked = self.question_ids.filtered(
            lambda question: not question.is_held and question.ask_round == self.ask_round
        )
        if not asked:
            return None
        return self._verdict_of(asked)

    def _verdict_of(self, asked):
        if not all(question.action for question in asked):
            return Verdict(kind="ask")  # its runner went before the turn could wait
        more = (self.ask_state or {}).get("more")
        if more is None:
            is_done = all(question.action == "accept" for question in asked)
            return None if is_done else Verdict(kind="deny", reason=DECLINED)
        wanted = ElicitationRequired(
            questions={question.key: question._as_request() for question in asked}, more=more
        )
        answers = {question.key: question._as_answer() for question in asked}
        return Verdict(kind="run", resume=elicitation.retry_params(wanted, answers))

    def _api_format(self):
        data = super()._api_format()
        # sudo: call_question - readable like its call; who answered may be hidden from the reader
        if questions := self.sudo().question_ids:
            data["questions"] = [question._api_format() for question in questions]
        return data
