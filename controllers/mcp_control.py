"""Control of servers and tools: locks, a person's own rules, batches, earlier versions."""

from odoo import http
from odoo.http import request

from ..runtime.web.api_error import ApiError
from .chat import READ, ROUTE, batch_results
from .dispatcher import body
from .mcp_servers import TOOL, managed_or_404, tool_or_404, used_or_404

BATCH = {
    "enable": lambda server: server.action_enable(),
    "disable": lambda server: server.action_disable(),
    "sync": lambda server: server._sync_after_commit(),
    "delete": lambda server: server.unlink(),
}


class McpControlController(http.Controller):
    @http.route("/api/mcp/servers/<int:server_id>/lock", methods=["PUT"], **ROUTE)
    def lock_server(self, server_id):
        server = managed_or_404(server_id)
        server._lock_away(body("Lock")["reason"])
        return server._api_data()

    @http.route("/api/mcp/servers/<int:server_id>/lock", methods=["DELETE"], **ROUTE)
    def unlock_server(self, server_id):
        server = managed_or_404(server_id)
        server._unlock()
        return server._api_data()

    @http.route("/api/mcp/tools/<int:tool_id>/lock", methods=["PUT"], **ROUTE)
    def lock_tool(self, tool_id):
        tool = tool_or_404(tool_id)
        tool._lock_away(body("Lock")["reason"])
        return tool._api_data()

    @http.route("/api/mcp/tools/<int:tool_id>/lock", methods=["DELETE"], **ROUTE)
    def unlock_tool(self, tool_id):
        tool = tool_or_404(tool_id)
        tool._unlock()
        return tool._api_data()

    @http.route("/api/mcp/servers/<int:server_id>/my-policy", methods=["PUT"], **ROUTE)
    def restrict_server(self, server_id):
        """Always ask, or never run, what this server offers, for the caller alone; `default` lifts it."""
        server = used_or_404(server_id)
        server._set_my_policy(body("MyPolicy")["policy"])
        return server._api_data()

    @http.route("/api/mcp/tools/<int:tool_id>/my-policy", methods=["PUT"], **ROUTE)
    def restrict_tool(self, tool_id):
        """Restrict one tool, as a server is."""
        tool = request.env[TOOL].browse(tool_id).exists()
        if not tool or not tool._is_offered_to(request.env.user):
            raise ApiError.not_found(request.env._("This tool does not exist."))
        tool._set_my_policy(body("MyPolicy")["policy"])
        # sudo: mcp_tool - what a chat shows its person of a tool that this person may use
        return tool.sudo()._api_data() | {"lock": None}

    @http.route("/api/mcp/batch", methods=["POST"], **ROUTE)
    def batch(self):
        """The same act on several servers; one that fails costs the others nothing."""
        values = body("Batch")
        act = BATCH[values["action"]]
        return batch_results(
            "server_ids", values["server_ids"], lambda server_id: act(managed_or_404(server_id))
        )

    @http.route("/api/mcp/servers/<int:server_id>/versions", **READ)
    def versions(self, server_id):
        """The configurations that a server had, the latest first, each with what is different now."""
        server = managed_or_404(server_id)
        return {"versions": [version._api_data() for version in server.version_ids]}

    @http.route(
        "/api/mcp/servers/<int:server_id>/versions/<int:version_id>/restore",
        methods=["POST"],
        **ROUTE,
    )
    def restore_version(self, server_id, version_id):
        server = managed_or_404(server_id)
        version = server.version_ids.filtered(lambda version: version.id == version_id)
        if not version:
            raise ApiError.not_found(request.env._("This version does not exist."))
        version.action_restore()
        return server._api_data()
