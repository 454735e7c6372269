from odoo import http
from odoo.addons.portal.controllers.portal import CustomerPortal, pager
from odoo.exceptions import UserError
from odoo.fields import Domain
from odoo.http import request

from .portal import FORM, PAGE

SERVICE = "woow_paas_platform.cloud_service"
WORKSPACE = "woow_paas_platform.workspace"
GONE = "/my/services?gone=1"
SERVER = "woow_paas_platform.mcp_server"
REMOVED = "woow_member_removed"  # in the session, until a page has said so
ROLES = ("owner", "admin", "user", "guest")


def readable_service(service_id):
    """The cloud service, or an empty set where the person may not see it."""
    return request.env[SERVICE].browse(service_id).exists()._filtered_access("read")


def has_assistants_tab(service):
    """True for those who manage the service, while it may have assistants; administrators have the backend."""
    return service.is_manager and service._allows_assistants()


def render_service(template, service, **values):
    values.update(
        page_name="services",
        service=service,
        attention=request.env[SERVER]._attention(service),
        has_assistants_tab=has_assistants_tab(service),
    )
    return request.render(f"woow_paas_platform.{template}", values)


class ServicePortal(CustomerPortal):
    """The cloud services of a person; what can be done there goes through the API."""

    @http.route(["/my/services", "/my/services/page/<int:page>"], **PAGE)
    def portal_my_services(self, page=1, search="", gone=None, **_kw):
        Service = request.env[SERVICE]
        domain = Domain("name", "ilike", search) | Domain("workspace_id.name", "ilike", search)
        pages = pager(
            url="/my/services",
            url_args={"search": search} if search else {},
            total=Service.search_count(domain),
            page=page,
            step=self._items_per_page,
        )
        services = Service.search(domain, limit=self._items_per_page, offset=pages["offset"])
        values = {
            "page_name": "services",
            "services": services,
            "attention": request.env[SERVER]._attention(services),
            "pager": pages,
            "search": search,
            "default_url": "/my/services",
            "is_gone": bool(gone),
            "has_workspace": bool(request.env[WORKSPACE].search_count([], limit=1)),
        }
        return request.render("woow_paas_platform.portal_my_services", values)

    @http.route("/my/services/<int:service_id>", **PAGE)
    def portal_my_service(self, service_id, gone=None, **_kw):
        service = readable_service(service_id)
        return self._overview(service, is_gone=bool(gone)) if service else request.redirect(GONE)

    def _overview(self, service, **values):
        workspace = service.workspace_id
        return render_service(
            "portal_my_service",
            service,
            # sudo: res.users - members of a workspace know each other's names
            members=workspace.access_ids.sudo().sorted(lambda a: ROLES.index(a.role)),
            is_owned=workspace._is_owned(),
            is_removed=request.session.pop(REMOVED, False),
            servers=service._own_servers(),
            **values,
        )

    @http.route("/my/services/<int:service_id>/members", **FORM)
    def add_member(self, service_id, email="", **_form):
        return self._change_members(
            service_id, lambda workspace: workspace._add_member(email), email=email
        )

    @http.route("/my/services/<int:service_id>/members", **PAGE)
    def members(self, service_id, **_kw):
        """The address of a refused form, opened again."""
        return request.redirect(f"/my/services/{service_id}#members")

    @http.route("/my/services/<int:service_id>/members/<int:access_id>/remove", **FORM)
    def remove_member(self, service_id, access_id, **_form):
        return self._change_members(
            service_id, lambda workspace: workspace._remove_member(access_id), told=REMOVED
        )

    def _change_members(self, service_id, change, told="", **typed):
        """The page once more; where the change is refused with the reason and what was typed, as 422."""
        service = readable_service(service_id)
        if not (service and service.workspace_id._is_owned()):
            return request.redirect(f"/my/services/{service.id}?gone=1" if service else GONE)
        try:
            change(service.workspace_id)
        except UserError as error:
            page = self._overview(service, problem=str(error), **typed)
            page.status_code = 422
            return page
        if told:  # once, on the page that follows
            request.session[told] = True
        return request.redirect(f"/my/services/{service.id}#members")

    @http.route(
        [
            "/my/services/<int:service_id>/chat",
            "/my/services/<int:service_id>/chat/<int:conversation_id>",
        ],
        **PAGE,
    )
    def portal_my_service_chat(self, service_id, conversation_id=None, gone=None, **_kw):
        service = readable_service(service_id)
        if not service:
            return request.redirect(GONE)
        channel = request.env["discuss.channel"].browse(conversation_id)._own_conversation()
        if conversation_id and channel.woow_cloud_service_id != service:
            return request.redirect(f"/my/services/{service.id}/chat?gone=1")
        props = {
            "conversationId": channel.id,
            "cloudService": {"id": service.id, "name": service.name},
        }
        return render_service("portal_my_service_chat", service, props=props, is_gone=bool(gone))

    @http.route("/my/services/<int:service_id>/mcp", **PAGE)
    def portal_my_service_mcp(self, service_id, **_kw):
        service = readable_service(service_id)
        if not service.is_manager:
            return request.redirect(f"/my/services/{service.id}?gone=1" if service else GONE)
        props = {"cloudServiceId": service.id}
        return render_service("portal_my_service_mcp", service, props=props)

    @http.route("/my/services/<int:service_id>/assistants", **PAGE)
    def portal_my_service_assistants(self, service_id, **_kw):
        service = readable_service(service_id)
        if not has_assistants_tab(service):
            return request.redirect(f"/my/services/{service.id}?gone=1" if service else GONE)
        props = {"cloudServiceId": service.id}
        return render_service("portal_my_service_assistants", service, props=props)

    @http.route("/my/ai-servers", **PAGE)
    def portal_my_ai_servers(self, **_kw):
        values = {"page_name": "ai_settings", "props": {}}
        return request.render("woow_paas_platform.portal_my_ai_servers", values)

    @http.route("/my/ai/prompts", **PAGE)
    def portal_my_ai_prompts(self, **_kw):
        values = {"page_name": "ai_settings"}
        return request.render("woow_paas_platform.portal_my_ai_prompts", values)

    @http.route("/my/ai/connections", **PAGE)
    def portal_my_ai_connections(self, **_kw):
        values = {"page_name": "ai_settings"}
        return request.render("woow_paas_platform.portal_my_ai_connections", values)
