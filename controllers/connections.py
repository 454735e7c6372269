"""Personal keys for system servers."""

from odoo import http
from odoo.http import request

from ..runtime.web.api_error import ApiError
from .chat import READ, ROUTE
from .dispatcher import body
from .mcp_servers import SERVER, server_or_404

CREDENTIAL = "woow_paas_platform.server_credential"
MAX_KEY = 4096  # characters


def wanting_or_404(server_id):
    # sudo: mcp_server - a server that the caller sees; whether it wants keys is on the caller's own page
    server = server_or_404(server_id).sudo()
    if not server.wants_own_keys:
        raise ApiError.not_found(request.env._("This MCP server does not use personal keys."))
    return server


class ConnectionController(http.Controller):
    @http.route("/api/mcp/connections", **READ)
    def connections(self):
        return {"connections": request.env[CREDENTIAL]._connections()}

    @http.route("/api/mcp/connections/<int:server_id>", methods=["PUT"], **ROUTE)
    def connect(self, server_id):
        """Add the caller's key, or replace it."""
        api_key = body("Key")["api_key"].strip()
        if not 0 < len(api_key) <= MAX_KEY or not api_key.isascii() or not api_key.isprintable():
            raise ApiError.invalid(
                "api_key", request.env._("Enter the key exactly as the service gave it to you.")
            )
        server = wanting_or_404(server_id)
        return request.env[CREDENTIAL]._keep(server, request.env.user, api_key)._connection(server)

    @http.route("/api/mcp/connections/<int:server_id>", methods=["DELETE"], **ROUTE)
    def disconnect(self, server_id):
        server = request.env[SERVER].browse(server_id)
        found = request.env[CREDENTIAL]._of(server, request.env.user)
        if not found:
            raise ApiError.not_found(request.env._("You have no key for this MCP server."))
        found.unlink()
        return request.make_response("", status=204)
