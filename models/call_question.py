"""What servers ask the person in the middle of a call, and what becomes of the answers."""

import json
from datetime import timedelta
from urllib.parse import urlsplit

from odoo import fields, models

from ..runtime import notify, vault
from ..services import text
from ..services.errors import InputRequired
from ..services.mcp.session import elicitation
from ..services.schemas import input_form
from ..services.specs import Verdict
from .ai_turn_wait import utc

NOBODY_TO_ASK = (
    "The MCP server wants to know something from the user, and nobody can be asked here. "
    "Tell the user to ask for it in a conversation with the assistant."
)
ASKS_FOR_EVER = "The MCP server does not stop asking questions."
DECLINED = "The user did not do what the MCP server wants first, so the call was not made."
MODEL = "woow_paas_platform.call_question"


class CallQuestion(models.Model):
    """One question of a server: a form, or a page to visit. Written by the runner, answered once.

    Most end the call, which goes on when all of its questions are answered. A server of an older revision
    keeps its session waiting (`is_held`), for as long as `expires_at` says.
    """

    _name = "woow_paas_platform.call_question"
    _description = "Question of an MCP Server"
    _order = "id"
    _rec_name = "message"

    call_id = fields.Many2one(
        "woow_paas_platform.tool_call", required=True, readonly=True, ondelete="cascade", index=True
    )
    kind = fields.Selection(
        [("form", "Form"), ("url", "Page to visit")], required=True, readonly=True
    )
    key = fields.Char(readonly=True, help="The server's own name of the question.")
    ask_round = fields.Integer(readonly=True)
    message = fields.Text(readonly=True)
    schema = fields.Json(readonly=True)
    url = fields.Char("URL", readonly=True)
    host = fields.Char(readonly=True, help="Where the page is.")
    is_held = fields.Boolean(readonly=True, help="The server waits in its session.")
    expires_at = fields.Datetime(readonly=True)
    action = fields.Selection(
        [
            ("accept", "Answered"),
            ("decline", "Declined"),
            ("cancel", "Dismissed"),
            ("expired", "Not answered in time"),
        ],
        readonly=True,
        help="Empty: it is open.",
    )
    content_encrypted = fields.Char(groups=fields.NO_ACCESS, copy=False)
    answered_by_id = fields.Many2one("res.users", "Answered by", readonly=True, ondelete="set null")
    answered_at = fields.Datetime(readonly=True)

    def _public_id(self):
        return f"question-{self.id}"

    def _is_open(self):
        """Whether an answer still counts."""
        turn = self.call_id.turn_id
        is_asked = turn.state == ("running" if self.is_held else "waiting")
        return not self.action and is_asked and not self.call_id.outcome

    def _choices(self):
        return ["accept", "decline", "cancel"]

    def _problems(self, content):
        """What is wrong with an answer: ``{field: code}``, see `services.schemas.input_form.problems`."""
        return input_form.problems(content, self.schema or {}) if self.kind == "form" else {}

    def _answer(self, action, content=None):
        """Record the answer; the caller has checked the person and the content.

        Only a turn that waits has told of its questions and has a log that is nobody's. The runner writes
        the `decided` event of a question that it holds open, and when it lets go of the turn it sees what was
        answered meanwhile; a question that was answered before anybody was asked leaves no event.
        """
        turn = self.call_id.turn_id
        for question in self:
            question.write(
                {
                    "action": action,
                    "content_encrypted": vault.encrypt(json.dumps(content)) if content else False,
                    "answered_by_id": False if action == "expired" else self.env.uid,
                    "answered_at": fields.Datetime.now(),
                }
            )
            if turn.state == "waiting":
                turn._append_events([question._decided_event()])
            else:
                notify.answered(self.env.cr, turn.id)

    def _as_answer(self):
        """:return: `services.mcp.session.elicitation.InputAnswer`"""
        said = self.action if self.action in ("accept", "decline") else "cancel"
        content = json.loads(vault.decrypt(self.content_encrypted) or "{}")
        return elicitation.InputAnswer(action=said, content=content)

    def _as_request(self):
        return elicitation.InputRequest(
            message=self.message or "", schema=self.schema or {}, url=self.url or ""
        )

    def _close(self):
        """The call is over: nobody is asked any more, and what was answered is forgotten."""
        self.filtered(lambda question: not question.action).action = "cancel"
        self.content_encrypted = False

    # ------------------------------------------------------------ events

    def _expiry(self):
        moment = self.expires_at or self.call_id.turn_id.waiting_until
        return utc(moment) if moment else None

    def _event(self):
        self.ensure_one()
        call = self.call_id
        return {
            "type": "input_required",
            "id": self._public_id(),
            "call_id": call.call_id,
            "kind": self.kind,
            "tool": call.tool_name,
            "server": call.server_name or "",
            "title": call.title or call.tool_name,
            "message": self.message or "",
            "schema": self.schema or {},
            "url": self.url or "",
            "host": self.host or "",
            "choices": self._choices(),
            "expires_at": self._expiry(),
        }

    def _api_format(self):
        """One entry of a call's ``questions``, see docs/api.md."""
        event = self._event()
        names = ("id", "kind", "message", "host", "server")
        return {
            **{name: event[name] for name in names},
            "decision": self.action or "cancel",
            "by": self.answered_by_id.name or "",
        }

    def _decided_event(self):
        return {
            "type": "decided",
            "id": self._public_id(),
            "decision": self.action,
            "by": self.answered_by_id.name or "",
        }


def _said(asked):
    """The columns of what a server asks."""
    form = dict(asked.schema)
    if form.get("properties"):
        form["propertyOrder"] = list(form["properties"])  # jsonb sorts keys
    return {
        "kind": "url" if asked.url else "form",
        "message": text.storable(asked.message),
        "schema": text.storable(form),
        "url": asked.url,
    }


class ToolCall(models.Model):
    _inherit = "woow_paas_platform.tool_call"

    question_ids = fields.One2many(MODEL, "call_id", "Questions", readonly=True)
    ask_round = fields.Integer(readonly=True, help="How often the call ended with questions.")
    ask_state = fields.Json(
        groups=fields.NO_ACCESS, help="What goes back to the server with the answers."
    )

    def _suspend(self, wanted):
        """The call ended with questions: ask them, once; a call that is not in flight has done so before.

        :param wanted: `services.errors.InputRequired`
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
        """:param asked: `services.mcp.session.elicitation.InputRequest`"""
        return self.question_ids.create(
            {
                "call_id": self.id,
                "ask_round": self.ask_round,
                "host": urlsplit(asked.url).netloc,
                **_said(asked),
                **values,
            }
        )

    def _hold(self, asked, seconds):
        """A server waits in its session for the answer. What is open already is not asked a second time.

        :return: the question, or an empty recordset when nobody can be asked
        """
        self.ensure_one()
        held = self.question_ids.filtered("is_held")
        said = _said(asked)
        for question in held.filtered(lambda question: not question.action):
            if all((question[name] or "") == (said[name] or "") for name in said):
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
        wanted = InputRequired(
            questions={question.key: question._as_request() for question in asked}, more=more
        )
        answers = {question.key: question._as_answer() for question in asked}
        return Verdict(kind="run", resume=elicitation.answered(wanted, answers))

    def _api_format(self):
        data = super()._api_format()
        # sudo: call_question - readable like its call; who answered may be hidden from the reader
        if questions := self.sudo().question_ids:
            data["questions"] = [question._api_format() for question in questions]
        return data


class AiTurn(models.Model):
    _inherit = "woow_paas_platform.ai_turn"

    def _open_questions(self):
        """Those that the turn waits for."""
        calls = self.call_ids.filtered(lambda call: not call.outcome)
        return calls.question_ids.filtered(lambda asked: not asked.action and not asked.is_held)

    def _question(self, public_id):
        """The question of an id on the wire, or an empty recordset."""
        return self.call_ids.question_ids.filtered(lambda asked: asked._public_id() == public_id)

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
