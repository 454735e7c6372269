"""Chat completions of the OpenAI API: each is a turn of a conversation of its own."""

import time

from odoo import http
from odoo.http import request

from ...models.turn.question import Question
from ...runtime.turns import listeners
from ...runtime.web import client_line
from ...runtime.web.api_error import ApiError
from ...runtime.web.completion import Asked, Completion
from ...services import text
from ...services.openai_api import answer as answers
from ...services.openai_api import question
from ...services.openai_api.answer import Answer, Head
from ..chat import starting_a_turn, visible_service
from .assistants import ROUTE, assistant_of, in_its_shape, model_name


class OpenAiCompletionsController(http.Controller):
    @http.route("/v1/chat/completions", methods=["POST"], **ROUTE)
    def chat_completions(self):
        """Answer as the assistant that the client calls a model."""
        asked = question.read(text.storable(request.dispatcher.jsonrequest or {}))
        assistant = assistant_of(asked.model)
        service = visible_service(asked.service)
        if listeners.is_full(request.db, request.env.uid):
            raise ApiError.busy(request.env._("Too many streams are open. Try again in a moment."))
        channel = request.env["discuss.channel"]._create_ai_conversation(
            assistant, service, is_of_program=True
        )
        with starting_a_turn():
            turn = channel._ask(Question(asked.prompt, client_messages=list(asked.earlier)))
        head = Head(f"chatcmpl-{turn.id}", int(time.time()), model_name(assistant))
        # sudo: ai.assistant - a switch, not shown
        answer = Answer(is_held=assistant.sudo().is_grounded and asked.is_stream)
        return Completion(
            Asked(
                dbname=request.db,
                uid=request.env.uid,
                lang=request.env.lang,
                turn_id=turn.id,
                to_decide=_where_to_decide(channel),
                is_stream=asked.is_stream,
            ),
            answers.Completion(head, answer, has_usage=asked.has_usage),
            client_line.connection(),
            in_its_shape,
        )


def _where_to_decide(channel):
    base = request.env["ir.http"]._woow_addresses().base
    sentence = request.env._("The assistant is waiting for your decision.")
    return f"{sentence} {base}/my/ai/{channel.id}"
