"""Personal keys for system servers; keys and connected clients of the person's own for `/mcp`."""

from dataclasses import replace

from odoo import http
from odoo.http import request

from ..models.base.ir_http import GRANT
from ..models.base.res_users import KEY_DAYS
from ..runtime.web.api_error import ApiError
from .chat import READ, ROUTE
from .dispatcher import body, check_is_signed_in
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

    @http.route("/api/mcp/keys", **READ)
    def keys(self):
        """The caller's connected MCP clients and keys for them, with the addresses at which they reach Odoo."""
        addresses = request.env["ir.http"]._woow_addresses()
        return {
            "clients": request.env[GRANT]._own()._data(),
            "keys": request.env.user._woow_mcp_keys(),
            "days": [*KEY_DAYS],
            "url": addresses.resource,
            "gateways": [
                {"name": one.name, "url": replace(addresses, gateway=one.code).resource}
                for one in request.env["woow_paas_platform.gateway"]._of_caller()
            ],
        }

    @http.route("/api/mcp/keys", methods=["POST"], **ROUTE)
    def make_key(self):
        """A new key, which is shown this once. One key is not enough to make another."""
        values = body("NewClientKey")
        check_is_signed_in(request.env._("Only a signed-in person can make a key."))
        key = request.env.user._make_woow_mcp_key(**values)
        return request.make_json_response({"key": key}, status=201)

    @http.route("/api/mcp/keys/<int:key_id>", methods=["DELETE"], **ROUTE)
    def revoke_key(self, key_id):
        request.env.user._revoke_woow_mcp_key(key_id)
        return request.make_response("", status=204)

    @http.route("/api/mcp/clients/<int:grant_id>", methods=["DELETE"], **ROUTE)
    def disconnect_client(self, grant_id):
        request.env[GRANT]._disconnect(grant_id)
        return request.make_response("", status=204)
