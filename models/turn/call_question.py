import json

from odoo import api, fields, models

from ...services import events
from ...services.mcp.session import elicitation
from ...services.schemas import elicitation_form
from ...tools import notify, vault
from ...tools.moments import utc
from .ai_turn import OrderedJson


class CallQuestion(models.Model):
    """A question of a server during a call (MCP elicitation): a form, a page to visit, or a sign-in.

    The runner writes it, and it is answered once. Most end the call, which goes on when all of its questions are
    answered. A server of an older revision keeps its session waiting (`is_held`), for as long as `expires_at` says.
    """

    _name = "woow_paas_platform.call_question"
    _description = "MCP Server Question"
    _inherit = ["woow_paas_platform.audit.mixin"]
    _order = "id"
    _rec_name = "message"

    call_id = fields.Many2one(
        "woow_paas_platform.tool_call", required=True, readonly=True, ondelete="cascade", index=True
    )
    kind = fields.Selection(
        [("form", "Form"), ("url", "Page to visit"), ("sign_in", "Sign-in")],
        required=True,
        readonly=True,
    )
    key = fields.Char(readonly=True, help="Key that the server uses for the question.")
    ask_round = fields.Integer("Question Round", readonly=True)
    message = fields.Text(readonly=True)
    schema = OrderedJson(readonly=True)
    url = fields.Char("URL", readonly=True)
    host = fields.Char(readonly=True, help="Host of the page.")
    is_held = fields.Boolean(
        "Session Held",
        readonly=True,
        help="The server keeps its session open until the question is answered.",
    )
    expires_at = fields.Datetime(readonly=True)
    action = fields.Selection(
        [
            ("accept", "Answered"),
            ("decline", "Declined"),
            ("cancel", "Dismissed"),
            ("expired", "Not answered in time"),
        ],
        readonly=True,
        help="Empty while the question is open.",
    )
    content_encrypted = fields.Char(groups=fields.NO_ACCESS, copy=False)
    answered_by_id = fields.Many2one("res.users", "Answered by", readonly=True, ondelete="set null")
    answered_at = fields.Datetime(readonly=True)

    @api.model
    def _go_on_after(self, sign_in):
        """Let the calls go on that waited for this sign-in of the current user."""
        sign_in._signed_in()
        waiting = [
            ("kind", "=", "sign_in"),
            ("action", "=", False),
            ("call_id.server_id", "=", sign_in.server_id.id),
        ]
        if sign_in.user_id:
            waiting.append(("call_id.turn_id.user_id", "=", sign_in.user_id.id))
        for turn in self.search(waiting).call_id.turn_id:
            turn._change_decisions(
                lambda turn=turn: turn._open_questions().filtered_domain(waiting)._answer("accept")
            )

    def _public_id(self):
        return f"question-{self.id}"

    def _is_open(self):
        """True while an answer still counts."""
        turn = self.call_id.turn_id
        is_asked = turn.state == ("running" if self.is_held else "waiting")
        return not self.action and is_asked and not self.call_id.outcome

    def _choices(self):
        """The decisions that the person may take; a sign-in is not said but done."""
        return ["decline"] if self.kind == "sign_in" else ["accept", "decline", "cancel"]

    def _problems(self, content):
        """Problems of an answer: ``{field: code}``, see `services.schemas.elicitation_form.problems`."""
        return elicitation_form.problems(content, self.schema or {}) if self.kind == "form" else {}

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
            if action != "expired":
                question._record_act("question_answered", decision=action, turn=turn)
            if turn.state == "waiting":
                turn._append_events([question._decided_event()])
            else:
                notify.answered(self.env.cr, turn.id)

    def _as_answer(self):
        """:return: `services.mcp.session.elicitation.ElicitResult`"""
        action = self.action if self.action in ("accept", "decline") else "cancel"
        content = json.loads(vault.decrypt(self.content_encrypted) or "{}")
        return elicitation.ElicitResult(action=action, content=content)

    def _as_request(self):
        return elicitation.ElicitRequest(
            message=self.message or "", schema=self.schema or {}, url=self.url or ""
        )

    def _close(self):
        """The call is over: nobody is asked any more, and what was answered is forgotten."""
        self.filtered(lambda question: not question.action).action = "cancel"
        self.content_encrypted = False

    # ------------------------------------------------------------ events

    def _expiry(self):
        moment = self.expires_at or self.call_id.turn_id.waiting_until
        return utc(moment)

    def _event(self):
        self.ensure_one()
        call = self.call_id
        return events.input_required(
            self._public_id(),
            call_id=call.call_id,
            kind=self.kind,
            tool=call.tool_name,
            title=call.title or call.tool_name,
            server=call.server_name or "",
            message=self.message or "",
            schema=self.schema or {},
            url=self.url or "",
            host=self.host or "",
            choices=self._choices(),
            expires_at=self._expiry(),
        )

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
        return events.decided(self._public_id(), self.action, by=self.answered_by_id.name or "")
