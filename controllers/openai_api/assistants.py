"""Assistants as models of the OpenAI API, and what its routes have in common."""

from odoo import http
from odoo.http import request

from ...runtime.web.api_error import ApiError
from ...services.oauth_server.const import ASSISTANTS, SCOPES
from ...services.openai_api.answer import error_body
from ...services.openai_api.question import BadRequest
from ..dispatcher import AiDispatcher

ROUTE = {"type": "woow_openai", "auth": "woow_mcp"}
NO_KEY = (
    "Send a key for MCP clients as a bearer token; users make one under AI settings ▸ Keys and"
    " permissions."
)
NOT_ALLOWED = "The user has not allowed this client to ask assistants. Sign in anew with the scope “assistants”."
PREFIX = "assistant-"  # of a model's id
MAX_DIGITS = 9  # of an assistant's id


class OpenAiDispatcher(AiDispatcher):
    """Routes of ``type="woow_openai"``: errors have the shape of the OpenAI API."""

    routing_type = "woow_openai"

    def dispatch(self, endpoint, args):
        if ASSISTANTS not in getattr(self.request, "woow_scopes", SCOPES):  # a key has all
            addresses = self.request.env["ir.http"]._woow_addresses()
            challenge = addresses.challenge("insufficient_scope", ASSISTANTS)
            headers = {"WWW-Authenticate": challenge}
            raise ApiError(403, "insufficient_scope", NOT_ALLOWED, headers=headers)
        try:
            return super().dispatch(endpoint, args)
        except BadRequest as refused:
            raise ApiError(
                400, refused.code, str(refused), details={"field": refused.param}
            ) from refused

    def handle_error(self, exc):
        error = self._logged(exc)
        if error.code == 401:
            error.error_code, error.description = "invalid_api_key", NO_KEY
        headers, body = in_its_shape(error)
        return self.request.make_json_response(body, headers=[*headers.items()], status=error.code)


def in_its_shape(error):
    """Headers and body of an `ApiError`. Clients must not repeat by themselves what may have run already."""
    headers = {**error.headers, "x-should-retry": "true" if error.code == 429 else "false"}
    body = error_body(error.code, error.error_code, error.description, error.details.get("field"))
    return headers, body


def model_name(assistant):
    """Id of the assistant as a model: the number that counts, and its name for people."""
    slug = request.env["ir.http"]._slugify(assistant.name or "", max_length=60)
    return f"{PREFIX}{assistant.id or 0}-{slug}".rstrip("-")


def assistant_of(model):
    """The assistant that a client calls so.

    :raises ApiError: the user has none of this name
    """
    number = model.removeprefix(PREFIX).partition("-")[0] if model.startswith(PREFIX) else ""
    assistants = request.env["ai.assistant"]
    if number.isascii() and number.isdigit() and len(number) <= MAX_DIGITS:
        assistants = assistants._everywhere().filtered(lambda one: one.id == int(number))
    if not assistants:
        raise ApiError(
            404,
            "model_not_found",
            "This assistant does not exist or is not available to you.",
            details={"field": "model"},
        )
    return assistants


def model_data(assistant):
    return {
        "id": model_name(assistant),
        "object": "model",
        "created": int(assistant.create_date.timestamp()),
        "owned_by": "odoo",
        "name": assistant.name or "",
    }


class OpenAiModelsController(http.Controller):
    @http.route("/v1/models", methods=["GET"], **ROUTE)
    def models(self):
        offered = request.env["ai.assistant"]._offered().sorted("id")
        return {"object": "list", "data": [model_data(one) for one in offered]}

    @http.route("/v1/models/<string:model>", methods=["GET"], **ROUTE)
    def model(self, model):
        return model_data(assistant_of(model))
