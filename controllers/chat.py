import psycopg2
from odoo import http
from odoo.exceptions import AccessError, ConcurrencyError
from odoo.http import request

from ..runtime import process
from ..runtime.api_error import ApiError
from .dispatcher import body, query_int

ROUTE = {"type": "woow_ai", "auth": "woow_ai"}
PAGE = 30


def conversation_or_404(conversation_id):
    channel = request.env["discuss.channel"].browse(conversation_id)._own_conversation()
    if not channel:
        raise ApiError.not_found("This conversation does not exist.")
    return channel


def visible_or_404(model, record_id, sentence):
    record = request.env[model].browse(record_id).exists()
    if not record or not record.has_access("read"):
        raise ApiError.not_found(sentence)
    return record


class ChatController(http.Controller):
    @http.route("/api/ai/assistants", methods=["GET"], readonly=True, **ROUTE)
    def assistants(self):
        return {
            "assistants": [
                {
                    "id": assistant.id,
                    "name": assistant.name,
                    "description": assistant.description or "",
                    "tools": assistant.tool_count,
                }
                for assistant in request.env["ai.assistant"].search([])
            ]
        }

    @http.route("/api/ai/cloud-services", methods=["GET"], readonly=True, **ROUTE)
    def cloud_services(self):
        services = request.env["woow_paas_platform.cloud_service"].search([])
        return {
            "cloud_services": [
                {
                    "id": service.id,
                    "name": service.name,
                    "state": service.state,
                    "workspace": {
                        "id": service.workspace_id.id,
                        "name": service.workspace_id.name,
                    },
                }
                for service in services
            ]
        }

    @http.route("/api/ai/conversations", methods=["GET"], readonly=True, **ROUTE)
    def conversations(self):
        limit = query_int("limit", PAGE, 1, 100)
        channels = request.env["discuss.channel"]._ai_conversations(
            limit + 1, before=query_int("before")
        )
        return {
            "conversations": [channel._conversation_data() for channel in channels[:limit]],
            "has_more": len(channels) > limit,
        }

    @http.route("/api/ai/conversations", methods=["POST"], **ROUTE)
    def create_conversation(self):
        values = body(assistant_id=int, cloud_service_id=(int, None), name=(str, None))
        assistant = visible_or_404(
            "ai.assistant", values["assistant_id"], "This assistant does not exist."
        )
        service = None
        if values["cloud_service_id"]:
            service = visible_or_404(
                "woow_paas_platform.cloud_service",
                values["cloud_service_id"],
                "This cloud service does not exist.",
            )
        channel = request.env["discuss.channel"]._create_ai_conversation(
            assistant, service, values["name"]
        )
        return request.make_json_response(channel._conversation_data(), status=201)

    @http.route(
        "/api/ai/conversations/<int:conversation_id>", methods=["GET"], readonly=True, **ROUTE
    )
    def conversation(self, conversation_id):
        return conversation_or_404(conversation_id)._conversation_page(
            limit=query_int("limit", PAGE, 1, 100), before=query_int("before")
        )

    @http.route("/api/ai/conversations/<int:conversation_id>", methods=["PATCH"], **ROUTE)
    def rename_conversation(self, conversation_id):
        channel = conversation_or_404(conversation_id)
        channel._rename_ai_conversation(body(name=str)["name"])
        return channel._conversation_data()

    @http.route("/api/ai/conversations/<int:conversation_id>", methods=["DELETE"], **ROUTE)
    def delete_conversation(self, conversation_id):
        conversation_or_404(conversation_id)._delete_ai_conversation()
        return request.make_response("", status=204)

    @http.route("/api/ai/conversations/<int:conversation_id>/messages", methods=["POST"], **ROUTE)
    def post_message(self, conversation_id):
        channel = conversation_or_404(conversation_id)
        values = body(content=str, client_token=(str, None))
        content = values["content"].strip()
        if not content:
            raise ApiError(400, "empty_message", "Write a message first.")
        turn = channel._turn_of_token(values["client_token"])
        if not turn:
            if busy := channel._running_turn():
                code = "turn_waiting" if busy.state == "waiting" else "turn_running"
                raise ApiError(
                    409,
                    code,
                    request.env._("The assistant is still busy with the last message."),
                    details={"turn_id": busy.id, "stream_url": busy._stream_url()},
                )
            try:
                with request.env.cr.savepoint():
                    turn = channel._ask(content, values["client_token"])
            except AccessError as error:
                raise ApiError(
                    403, "assistant_unavailable", request.env._("This assistant is not available.")
                ) from error
            except psycopg2.errors.UniqueViolation as error:
                raise ConcurrencyError("The same message arrived twice at once.") from error
        return request.make_json_response(
            {
                "turn_id": turn.id,
                "stream_url": turn._stream_url(),
                "message_id": turn.message_id.id,
            },
            status=202,
        )

    @http.route("/api/ai/turns/<int:turn_id>/stop", methods=["POST"], **ROUTE)
    def stop_turn(self, turn_id):
        turn = visible_or_404("woow_paas_platform.ai_turn", turn_id, "This turn does not exist.")
        return {"state": process.store(request.db).request_stop(turn.id)}
