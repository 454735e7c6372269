"""Asking an assistant for a program: the turn, and the response that waits for it."""

from odoo.http import request

from ...models.turn.ai_turn import Question
from ...runtime.turns import listeners
from ...runtime.web import client_line
from ...runtime.web.api_error import ApiError
from ...runtime.web.completion import Asked, Completion
from ...services.errors import UnsupportedFile
from ...services.llm import files
from ...services.openai_api.question import picture_name
from ..chat import starting_a_turn, visible_service
from ..dispatcher import MAX_BODY
from .assistants import ROUTE, in_its_shape

# A body may carry a picture as base64.
ASK = {"methods": ["POST"], "max_body": files.MAX_BYTES * 4 // 3 + MAX_BODY, **ROUTE}


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


def ask(channel, asked, **values):
    """Queue the turn that answers a request.

    :param asked: `ChatRequest` or `ResponseRequest`
    :param values: more of the `Question`
    :raises ApiError, Refusal, FileError: a picture cannot be used
    """
    question = Question(
        asked.prompt,
        client_messages=list(asked.earlier),
        attachments=_pictures(channel, asked.pictures),
        **values,
    )
    with starting_a_turn():
        return channel._ask(question)


def _pictures(channel, pictures):
    """Attachments of a question, None without pictures; the same checks hold as for files in a chat."""
    if not pictures:
        return None
    # sudo: ai.assistant - whether its model sees, nothing else is read
    if not channel.sudo().woow_assistant_id.config_id.supports_vision:
        raise ApiError(400, "unsupported_content", "The model of this assistant takes no pictures.")
    channel._check_count(len(pictures))
    kept = request.env["ir.attachment"]
    for number, content in enumerate(pictures, 1):
        if content and files.mimetype_of("", content) not in files.PICTURES:
            raise UnsupportedFile
        kept += channel._attach_content(picture_name(number), content)
    return kept


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
