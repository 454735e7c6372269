from odoo import http
from odoo.http import request

from ..runtime.web.api_error import ApiError
from . import gateway
from .chat import READ, ROUTE, turn_or_404, visible_or_404
from .dispatcher import body, check_is_signed_in, query_int

DECISION = "woow_paas_platform.decision"
TURN = "woow_paas_platform.ai_turn"
DECISIONS = 50  # that wait
MAX_DECISIONS = 100
PAGE = 50  # records of a rehearsal
MAX_PAGE = 500


class DecisionController(http.Controller):
    @http.route("/api/ai/decisions", **READ)
    def decisions(self):
        """All that waits for the caller, of chats and of MCP clients; what a row has no room for is read by its id."""
        return request.env[DECISION]._list(query_int("limit", DECISIONS, 0, MAX_DECISIONS))

    @http.route("/api/ai/decisions/<string:decision_id>", **READ)
    def decision(self, decision_id):
        found = request.env[DECISION]._details(decision_id)
        if not found:
            raise ApiError.not_found(request.env._("This has already been decided or has expired."))
        return found

    @http.route("/api/ai/turns/<int:turn_id>/decision", methods=["POST"], **ROUTE)
    def decide(self, turn_id):
        """Answer what an `approval_required`, `confirm_required` or `input_required` event asked."""
        values = body("Decision")
        # sudo: ai_turn - people have no write access; `_decide` asks whether it is up to the caller
        turn = request.env[TURN].sudo().browse(turn_id).exists()
        if not turn:
            raise ApiError.not_found(request.env._("This turn does not exist."))
        # who may not decide it learns from `_decide` that it does not exist, whoever has asked
        if turn.channel_id.woow_is_of_program and turn._right_to_decide(request.env.user):
            _check_no_key_decides()
        turn._decide(values.pop("id"), values.pop("decision"), **values)
        return {"state": turn.state, "waiting_for": turn._waiting_for(request.env.user)}

    @http.route("/api/ai/turns/<int:turn_id>/rehearsal", **READ)
    def rehearsal(self, turn_id):
        """More of what a call that asks would change, where its question has no room for all of it."""
        # sudo: ai_turn - whether the caller may decide it; everybody else needs access
        turn = request.env[TURN].sudo().browse(turn_id).exists()
        if not turn or not turn._right_to_decide(request.env.user):
            turn = turn_or_404(turn_id)
        call = turn._call_that_asks(request.httprequest.args.get("call", ""))
        if not call:
            raise ApiError.not_found(request.env._("This call does not exist, or is decided."))
        found = call._further_changes()
        start = query_int("after", 0)
        end = start + query_int("limit", PAGE, 1, MAX_PAGE)
        return {"records": found[start:end], "total": len(found)}

    @http.route("/api/ai/calls/<string:call_id>/explanation", **READ)
    def explanation(self, call_id):
        """The checks that a call met, each with its answer."""
        call = request.env["woow_paas_platform.tool_call"].search([("call_id", "=", call_id)])
        if not call:
            raise ApiError.not_found(request.env._("This call does not exist."))
        return call._explanation()

    # ------------------------------------------------------------ calls of MCP clients

    @http.route("/api/mcp/calls/waiting", **READ)
    def waiting_calls(self):
        """Calls of the caller's MCP clients that wait for a decision."""
        calls = request.env["woow_paas_platform.tool_call"]._waiting_for_client()
        return {"calls": calls._client_data()}

    @http.route("/api/mcp/calls/<string:call_id>/decision", methods=["POST"], **ROUTE)
    def decide_for_client(self, call_id):
        """Decision of a signed-in person on one of these calls; the key of a client is not enough."""
        values = body("ClientDecision")
        _check_no_key_decides()
        calls = request.env["woow_paas_platform.tool_call"]
        call = calls.search([("call_id", "=", call_id), ("user_id", "=", request.env.uid)])
        if not call:
            raise ApiError.not_found(request.env._("This call does not exist."))
        call._decide_for_client(**values)
        # sudo: tool_call - the caller's own, of which people do not read what is kept for the client
        gateway.begin_approved(call.sudo())
        return request.make_response("", status=204)

    # ------------------------------------------------------------ grants

    @http.route("/api/ai/grants", **READ)
    def grants(self):
        mine = [("user_id", "=", request.env.uid)]
        return {"grants": request.env["woow_paas_platform.tool_grant"].search(mine)._grant_data()}

    @http.route("/api/ai/grants/<int:grant_id>", methods=["DELETE"], **ROUTE)
    def revoke_grant(self, grant_id):
        grant = visible_or_404(
            "woow_paas_platform.tool_grant",
            grant_id,
            request.env._("This permission does not exist."),
        )
        grant.unlink()
        return request.make_response("", status=204)


def _check_no_key_decides():
    """Refuse a program: what a client has asked for is decided by its person."""
    check_is_signed_in(request.env._("Only a signed-in person can decide on a call."))
