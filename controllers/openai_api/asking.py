"""Asking an assistant for a program: the turn, and the response that waits for it."""

from odoo.http import request

from ...runtime.turns import listeners
from ...runtime.web import client_line
from ...runtime.web.api_error import ApiError
from ...runtime.web.completion import Asked, Completion
from ..chat import starting_a_turn, visible_service
from .assistants import in_its_shape


def check_room():
    """:raises ApiError: too many answers are waited for"""
    if listeners.is_full(request.db, request.env.uid):
        raise ApiError.busy(request.env._("Too many streams are open. Try again in a moment."))


def new_conversation(assistant, service_id):
    """A conversation of the caller that nothing lists."""
    service = visible_service(service_id)
    return request.env["discuss.channel"]._create_ai_conversation(
        assistant, service, is_of_program=True
    )


def ask(channel, question):
    """Queue the turn that answers a `Question`."""
    with starting_a_turn():
        return channel._ask(question)


def waiting(turn, reply, *, is_stream, after=0, is_background=False):
    """Response that waits for the turn.

    :param reply: `runtime.web.completion.Reply`
    :param after: number of the event after which it listens
    """
    asked = Asked(
        dbname=request.db,
        uid=request.env.uid,
        lang=request.env.lang,
        turn_id=turn.id,
        to_decide=where_to_decide(turn),
        is_stream=is_stream,
        after=after,
        is_background=is_background,
    )
    return Completion(asked, reply, client_line.connection(), in_its_shape)


def is_held(assistant):
    """True if text of the assistant may be withdrawn to be checked."""
    # sudo: ai.assistant - a switch, not shown
    return assistant.sudo().is_grounded


def where_to_decide(turn):
    """Sentence for a person who has to decide, with the address where."""
    base = request.env["ir.http"]._woow_addresses().base
    sentence = request.env._("The assistant is waiting for your decision.")
    return f"{sentence} {base}/my/ai/{turn.channel_id.id}"
