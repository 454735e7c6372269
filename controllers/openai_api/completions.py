"""Chat completions of the OpenAI API: each is a turn of a conversation of its own."""

import time

from odoo import http
from odoo.http import request

from ...services import text
from ...services.openai_api import question
from ...services.openai_api.answer import Answer, Completion, Head
from . import asking
from .assistants import assistant_of, model_name


class OpenAiCompletionsController(http.Controller):
    @http.route("/v1/chat/completions", **asking.ASK)
    def chat_completions(self):
        """Answer as the assistant that the client calls a model."""
        asked = question.read(text.storable(request.dispatcher.jsonrequest or {}))
        assistant = assistant_of(asked.model)
        asking.check_room()
        channel = asking.new_conversation(assistant, asked.service)
        turn = asking.ask(channel, asked)
        head = Head(f"chatcmpl-{turn.id}", int(time.time()), model_name(assistant))
        answer = Answer(is_held=asking.is_held(assistant) and asked.is_stream)
        reply = Completion(head, answer, has_usage=asked.has_usage)
        return asking.waiting(turn, reply, is_stream=asked.is_stream)
