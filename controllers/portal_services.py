from odoo import http
from odoo.addons.portal.controllers.portal import CustomerPortal, pager
from odoo.fields import Domain
from odoo.http import request

SERVICE = "woow_paas_platform.cloud_service"
ROLES = ("owner", "admin", "user", "guest")
PORTAL = {"type": "http", "auth": "user", "website": True, "methods": ["GET"], "readonly": True}


class ServicePortal(CustomerPortal):
    """The cloud services of a person; what can be done there goes through the API."""

    @http.route(["/my/services", "/my/services/page/<int:page>"], **PORTAL)
    def portal_my_services(self, page=1, search="", **_kw):
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
            "pager": pages,
            "search": search,
            "default_url": "/my/services",
        }
        return request.render("woow_paas_platform.portal_my_services", values)

    @http.route("/my/services/<int:service_id>", **PORTAL)
    def portal_my_service(self, service_id, **_kw):
        service = request.env[SERVICE].browse(service_id).exists()
        if not service or not service.has_access("read"):
            return request.redirect("/my/services")
        # sudo: res.users - members of a workspace know each other's names
        access = service.workspace_id.access_ids.sudo()
        labels = dict(access._fields["role"]._description_selection(request.env))
        members = [
            (
                labels[role],
                access.filtered(lambda a, role=role: a.role == role).mapped("user_id.name"),
            )
            for role in ROLES
        ]
        values = {
            "page_name": "services",
            "service": service,
            "members": [(label, names) for label, names in members if names],
            "props": {"cloudServiceId": service.id},
        }
        return request.render("woow_paas_platform.portal_my_service", values)

    @http.route("/my/ai-servers", **PORTAL)
    def portal_my_ai_servers(self, **_kw):
        values = {"page_name": "ai_servers", "props": {}}
        return request.render("woow_paas_platform.portal_my_ai_servers", values)

    @http.route("/my/ai/connections", **PORTAL)
    def portal_my_ai_connections(self, **_kw):
        values = {"page_name": "ai_connections"}
        return request.render("woow_paas_platform.portal_my_ai_connections", values)
