"""Assistants of a cloud service, as those who manage the service make and change them in the portal."""

from odoo import http
from odoo.fields import Domain
from odoo.http import request

from ...runtime.web.api_error import ApiError
from ..chat import READ, ROUTE, assistant_or_404, service_or_404
from ..dispatcher import body, query_int

ASSISTANT = "ai.assistant"
RATING = "woow_paas_platform.answer_rating"
VERSION = "woow_paas_platform.assistant_version"
PAGE = 20
MAX_PAGE = 50


def managed_or_404(assistant_id):
    """:raises AccessError: the caller sees the assistant, but does not manage it"""
    assistant = assistant_or_404(assistant_id)
    assistant._check_managed()
    return assistant


def versions_of(assistant, domain, **options):
    # sudo: assistant_version - of an assistant that the caller manages; what is shown is up to `_data_of_owner`
    Version = request.env[VERSION].sudo()
    return Version.search(Version._of_owner(assistant) & Domain(domain), **options)


class ServiceAssistantController(http.Controller):
    @http.route("/api/ai/cloud-services/<int:service_id>/assistants", **READ)
    def service_assistants(self, service_id):
        """Assistants of the service with their ratings, and what can be chosen for them."""
        service = service_or_404(service_id)
        Assistant = request.env[ASSISTANT]
        assistants = Assistant._of_service(service)
        counts = request.env[RATING]._counts(assistants)
        servers = Assistant._servers_to_choose(service)
        return {
            "assistants": [
                assistant._data_of_owner() | {"ratings": counts[assistant.id]}
                for assistant in assistants
            ],
            "providers": [
                {"id": one.id, "name": one.name} for one in Assistant._providers_to_choose()
            ],
            "servers": [
                {"id": one.id, "name": one.display_name, "scope": one.scope, "active": one.active}
                for one in servers
            ],
        }

    @http.route("/api/ai/cloud-services/<int:service_id>/assistants", methods=["POST"], **ROUTE)
    def add_assistant(self, service_id):
        service = service_or_404(service_id)
        assistant = request.env[ASSISTANT]._add_to_service(service, body("NewServiceAssistant"))
        return request.make_json_response(self._data(assistant), status=201)

    def _data(self, assistant):
        counts = request.env[RATING]._counts(assistant)
        return assistant._data_of_owner() | {"ratings": counts[assistant.id]}

    @http.route("/api/ai/assistants/<int:assistant_id>", methods=["PUT"], **ROUTE)
    def change_assistant(self, assistant_id):
        """Only what is given changes."""
        assistant = managed_or_404(assistant_id)
        assistant._change_by_owner(body("ServiceAssistantChange"))
        return self._data(assistant)

    @http.route("/api/ai/assistants/<int:assistant_id>", methods=["DELETE"], **ROUTE)
    def delete_assistant(self, assistant_id):
        managed_or_404(assistant_id)._remove_by_owner()
        return request.make_response("", status=204)

    @http.route("/api/ai/assistants/<int:assistant_id>/versions", **READ)
    def assistant_versions(self, assistant_id):
        """The latest first, each with what it has changed; `before` is the number of a version."""
        assistant = managed_or_404(assistant_id)
        limit, before = query_int("limit", PAGE, 1, MAX_PAGE), query_int("before")
        earlier = [("number", "<", before)] if before is not None else []
        found = versions_of(assistant, earlier, limit=limit + 1)
        return {
            "versions": found[:limit]._data_of_owner(),
            "has_more": len(found) > limit,
        }

    @http.route(
        "/api/ai/assistants/<int:assistant_id>/versions/<int:version_id>/restore",
        methods=["POST"],
        **ROUTE,
    )
    def restore_assistant_version(self, assistant_id, version_id):
        assistant = managed_or_404(assistant_id)
        version = versions_of(assistant, [("id", "=", version_id)])
        if not version:
            raise ApiError.not_found(request.env._("This version does not exist."))
        return {"left_out": version._restore_by_owner(), "assistant": self._data(assistant)}

    @http.route("/api/ai/assistants/<int:assistant_id>/ratings", **READ)
    def assistant_ratings(self, assistant_id):
        """Numbers of good and bad ratings, and the reasons of those who share them."""
        assistant = managed_or_404(assistant_id)
        Rating = request.env[RATING]
        counts = Rating._counts(assistant)[assistant.id]
        return {**counts, "shared": Rating._shared_reasons(assistant)}
