"""Responses of the OpenAI API: each is a turn, of a conversation that the next request may go on with."""

from odoo import http
from odoo.http import request

from ...runtime import process
from ...runtime.web.api_error import ApiError
from ...services import text
from ...services.openai_api import response, response_question
from ...services.openai_api.response import ResponseHead
from . import asking
from .assistants import ROUTE, assistant_of, model_name

STATES = {"queued": "queued", "running": "in_progress"}


class OpenAiResponsesController(http.Controller):
    @http.route("/v1/responses", **asking.ASK)
    def create_response(self):
        """Answer as the assistant that the client calls a model."""
        asked = response_question.read(text.storable(request.dispatcher.jsonrequest or {}))
        assistant = assistant_of(asked.model)
        asking.check_room()
        turn, step, after = self._decided(asked) if asked.decided else self._asked(asked, assistant)
        head = _head(turn, step, asked.echo)
        if asked.is_background and not asked.is_stream:
            return head.body("queued")
        reply = response.Response(
            head,
            is_held=asking.is_held(assistant) or not asked.is_stream,
            asked=turn._asked_about() if after else None,
        )
        return asking.waiting(
            turn,
            reply,
            is_stream=asked.is_stream,
            after=after,
            is_background=asked.is_background,
        )

    def _asked(self, asked, assistant):
        channel = self._going_on(asked, assistant)
        return asking.ask(channel, asked, is_response=asked.is_kept), 0, 0

    def _going_on(self, asked, assistant):
        """The conversation that the question belongs to: a new one, or that of the response before."""
        if not asked.previous:
            return asking.new_conversation(assistant, asked.service)
        before, _step = _found(asked.previous, "previous_response_id")
        channel = before.channel_id._own_conversation()
        if before.hidden or not channel or before.assistant_id != assistant:
            raise ApiError(
                409,
                "conversation_changed",
                "The conversation has gone another way since, or is with another assistant.",
                details={"field": "previous_response_id"},
            )
        self._check_decided(channel._running_turn())
        channel._refuse_while_busy()
        # sudo: ai_turn - people have no write access; of the caller's own conversation
        before.sudo()._show_to_here()
        return channel

    def _check_decided(self, turn):
        """A key decides nothing: what asks is decided in Odoo, by a person who has signed in."""
        if turn.state == "waiting":
            raise ApiError(409, "approval_required", asking.where_to_decide(turn))

    def _decided(self, asked):
        """The turn of these calls, and the place in it from which it has gone on when they were decided."""
        calls = request.env["woow_paas_platform.tool_call"].search(
            [("call_id", "in", asked.decided), ("user_id", "=", request.env.uid)]
        )
        turn = calls.turn_id.filtered("is_response")
        if (
            len(calls) != len(set(asked.decided))
            or len(turn) != 1
            or not all(calls.mapped("approval"))
        ):
            raise _not_found("input")
        if asked.previous and _found(asked.previous, "previous_response_id")[0] != turn:
            raise _not_found("previous_response_id")
        place = turn._waited_for(calls)
        if "pending" in calls.mapped("approval") or (place and place[2]):
            self._check_decided(turn)
        if not place:
            raise ApiError(
                410,
                "response_expired",
                "The decision was too long ago. Read the whole answer with GET /v1/responses/"
                + response.response_id(turn.id),
            )
        return turn, *place[:2]

    # ------------------------------------------------------------ a response that was made

    @http.route("/v1/responses/<string:response_id>", methods=["GET"], **ROUTE)
    def response(self, response_id):
        """Read a response, with what has come since it waited for a decision."""
        if request.httprequest.args.get("stream") == "true":
            raise ApiError(400, "unsupported_parameter", "A response cannot be streamed again.")
        return _whole(*_found(response_id))

    @http.route("/v1/responses/<string:response_id>", methods=["DELETE"], **ROUTE)
    def delete_response(self, response_id):
        """Forget a response, and with the last one its conversation."""
        turn, _step = _found(response_id)
        turn.channel_id._forget_response(turn)
        return {"id": response_id, "object": "response", "deleted": True}

    @http.route("/v1/responses/<string:response_id>/cancel", methods=["POST"], **ROUTE)
    def cancel_response(self, response_id):
        """Stop the turn."""
        turn, step = _found(response_id)
        process.store(request.db).request_stop(turn.id)
        turn.invalidate_recordset()
        return _whole(turn, step, is_stopped=True)


def _found(response_id, param=None):
    """Turn of a response of the caller, and its step where the response begins."""
    turn_id, step = response.read_id(response_id) or (0, 0)
    turn = request.env["woow_paas_platform.ai_turn"]._of_response(turn_id)
    if not turn:
        raise _not_found(param)
    return turn, step


def _not_found(param=None):
    return ApiError(
        404,
        "previous_response_not_found" if param == "previous_response_id" else "not_found",
        "This response does not exist.",
        details={"field": param} if param else None,
    )


def _head(turn, step, echo):
    # sudo: ai.assistant - the name of the one that has answered the caller
    model = model_name(turn.sudo().assistant_id)
    created = int(turn.create_date.timestamp())
    return ResponseHead(response.response_id(turn.id, step), created, model, echo)


def _whole(turn, step, is_stopped=False):
    # sudo: ai_turn - of the caller's own turn, also names and schemas of the tools that it asks about
    turn = turn.sudo()
    before = turn._response_before()
    echo = {
        "instructions": turn._client_instructions() or None,
        "previous_response_id": response.response_id(before.id) if before else None,
    }
    reply = response.Response(_head(turn, step, echo), is_held=True, asked=turn._asked_about())
    for event in turn._events_from(step):
        for _part in reply.hear(event):
            pass
    if reply.ending == "asks":
        for _part in reply.ask(asking.where_to_decide(turn)):
            pass
    status = STATES.get(turn.state, "")
    return reply.whole("cancelled" if is_stopped and status else status)
