from odoo import http
from odoo.http import request

from ..services import text
from ..services.schemas import arguments as checks
from ..tools.api_error import ApiError
from .chat import ROUTE, visible_or_404
from .dispatcher import body

CALL_DECISIONS = ("approve_once", "approve_conversation", "approve_always", "deny")
ROUND_DECISIONS = ("continue", "stop")
QUESTION_DECISIONS = ("accept", "decline", "cancel")
MAX_REASON = 500  # characters
ALL = "all"


class DecisionController(http.Controller):
    @http.route("/api/ai/turns/<int:turn_id>/decision", methods=["POST"], **ROUTE)
    def decide(self, turn_id):
        """Answer what an `approval_required`, `confirm_required` or `input_required` event asked."""
        values = body(
            id=str,
            decision=str,
            arguments=(dict, None),
            content=(dict, None),
            reason=(str, None),
        )
        content = values.pop("content")
        turn = visible_or_404("woow_paas_platform.ai_turn", turn_id, "This turn does not exist.")
        if turn.user_id != request.env.user:
            raise ApiError.not_found("This turn does not exist.")
        # sudo: ai_turn - people have no write access; the caller is the turn's own user
        turn = turn.sudo()
        turn._lock_for_decision()
        if values["decision"] in ROUND_DECISIONS:
            self._decide_round(turn, values["id"], values["decision"])
        elif values["decision"] in QUESTION_DECISIONS:
            self._answer_question(turn, values["id"], values["decision"], content or {})
        elif values["decision"] in CALL_DECISIONS:
            self._decide_calls(turn, **values)
        else:
            raise ApiError(400, "invalid_field", "There is no such decision.")
        turn._go_on_when_decided()
        return {"state": turn.state, "waiting_for": turn._waiting_for()}

    def _decide_round(self, turn, question, decision):
        if turn.state != "waiting" or not turn.waiting_round:
            raise self._too_late()
        if question != turn._confirm_event()["id"]:
            raise ApiError.not_found("Nothing of this id was asked.")
        turn._decide_round(decision, by=request.env.user.name)

    def _answer_question(self, turn, question_id, action, content):
        question = turn._question(question_id)
        if not question:
            raise ApiError.not_found("Nothing of this id was asked.")
        if not question._is_open():
            raise self._too_late()
        if action not in question._choices():
            raise ApiError(
                422,
                "refused",
                request.env._("This question is answered on the page that it names."),
            )
        if action == "accept" and (problems := question._problems(content)):
            raise ApiError(
                422,
                "invalid_answer",
                request.env._(
                    "The answer does not fit what was asked: %(fields)s.",
                    fields=", ".join(problems),
                ),
                details={"fields": problems},
            )
        question._answer(action, content if action == "accept" else None)

    def _decide_calls(self, turn, id, decision, arguments, reason):
        asked = turn.call_ids.filtered("approval")
        calls = turn._pending_calls() if id == ALL else asked.filtered(lambda c: c.call_id == id)
        if not calls and id != ALL:
            raise ApiError.not_found("Nothing of this id was asked.")
        if turn.state != "waiting" or not calls or calls - turn._pending_calls():
            raise self._too_late()
        if any(decision not in call.approval_choices for call in calls):
            raise ApiError(
                422, "refused", request.env._("Calls like this one are decided one at a time.")
            )
        if arguments is not None:
            self._check_arguments(calls, decision, arguments)
        said = text.storable((reason or "").strip()[:MAX_REASON])
        calls._decide(decision, text.storable(arguments), said)

    def _check_arguments(self, calls, decision, arguments):
        if decision == "deny" or len(calls) > 1:
            raise ApiError(400, "invalid_field", "Arguments belong to one call that is allowed.")
        problem = checks.problem(arguments, calls._input_schema())
        if not calls._keeps_fixed(arguments):
            problem = request.env._("What is filled in from the record cannot be changed.")
        if problem:
            raise ApiError(422, "invalid_arguments", problem)

    def _too_late(self):
        return ApiError(
            409, "already_decided", request.env._("This was decided already, or took too long.")
        )

    # ------------------------------------------------------------ grants

    @http.route("/api/ai/grants", methods=["GET"], readonly=True, **ROUTE)
    def grants(self):
        mine = [("user_id", "=", request.env.uid)]
        return {"grants": request.env["woow_paas_platform.tool_grant"].search(mine)._grant_data()}

    @http.route("/api/ai/grants/<int:grant_id>", methods=["DELETE"], **ROUTE)
    def revoke_grant(self, grant_id):
        grant = visible_or_404(
            "woow_paas_platform.tool_grant", grant_id, "This permission does not exist."
        )
        grant.unlink()
        return request.make_response("", status=204)
