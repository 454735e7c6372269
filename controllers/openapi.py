from odoo import http
from odoo.http import request
from odoo.modules.module import get_manifest

from .openapi_document import document


class OpenApiController(http.Controller):
    @http.route(
        "/api/mcp/openapi.json", type="woow_ai", auth="none", methods=["GET"], readonly=True
    )
    def openapi(self):
        """The OpenAPI document of the routes; holds nothing of this database."""
        version = get_manifest("woow_paas_platform")["version"]
        return document(version, request.httprequest.url_root.rstrip("/"))
