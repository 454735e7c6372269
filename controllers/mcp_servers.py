"""MCP servers and tools (document 004, §2.2); access rights and rules of the models decide who may do what."""

import json

from odoo import http
from odoo.http import content_disposition, request

from ..models.mcp.mcp_server import name_of
from ..runtime.web.api_error import ApiError
from ..services.catalog.mcp_json import MAX_NAME
from ..tools import mcp_switch
from .chat import READ, ROUTE, conversation_or_404, service_or_404, visible_or_404
from .dispatcher import body, query_int
from .schemas import SCOPE, WRITABLE

SERVER = "woow_paas_platform.mcp_server"
TOOL = "woow_paas_platform.mcp_tool"
TEMPLATE = "woow_paas_platform.mcp_template"
PAGE = 100
MAX_PAGE = 200
DECISIONS = {"accept": "accepted", "refuse": "refused"}
OAUTH = ("authorization", "oauth_client_id", "oauth_client_secret", "oauth_issuer", "oauth_scope")
OF_AN_ADDRESS = ("url", "api_key", "api_key_env", "headers", "transport", *OAUTH)
ENVIRONMENT = ("env_type", "env_config")


def server_or_404(server_id):
    server = request.env[SERVER].browse(server_id)._visible()
    if not server:
        raise ApiError.not_found(request.env._("This MCP server does not exist."))
    return server


def managed_or_404(server_id):
    """:raises AccessError: the caller sees the server, but may not change it"""
    server = server_or_404(server_id)
    server.check_access("write")
    return server


def used_or_404(server_id):
    """A server that the caller sees, or meets in a chat."""
    server = request.env[SERVER].browse(server_id)._usable_by_caller()
    if not server:
        raise ApiError.not_found(request.env._("This MCP server does not exist."))
    return server


def tool_or_404(tool_id):
    return visible_or_404(TOOL, tool_id, request.env._("This tool does not exist."))


def owner_vals(cloud_service_id, scope=None):
    """Owner columns of a new server: a service, everybody (administrators), else the caller alone."""
    if scope == "system":
        return {"scope": "system", "cloud_service_id": False, "owner_user_id": False}
    if cloud_service_id:
        service = service_or_404(cloud_service_id)
        return {"scope": "user", "cloud_service_id": service.id, "owner_user_id": False}
    return {"scope": "user", "cloud_service_id": False, "owner_user_id": request.env.uid}


OF_004 = {"display_name": "title", "enabled": "active"}  # names of document 004, and ours


def server_values(values):
    """The columns of what was given."""
    vals = {name: value for name, value in values.items() if value is not None and name in WRITABLE}
    for name, ours in OF_004.items():
        if name in vals:
            vals.setdefault(ours, vals.pop(name))
    if "headers" in vals:
        vals["headers_json"] = json.dumps(vals.pop("headers"))
    if "name" in vals:
        vals["name"] = " ".join(vals["name"].split())
        if not 0 < len(vals["name"]) <= MAX_NAME:
            raise ApiError.invalid(
                "name",
                request.env._(
                    "Give the server a name of at most %(limit)s characters.", limit=MAX_NAME
                ),
            )
    return vals


def template_or_404(code):
    template = request.env[TEMPLATE]._listed().filtered(lambda template: template.code == code)
    if not template:
        raise ApiError.not_found(request.env._("This template does not exist."))
    return template


class McpServerController(http.Controller):
    @http.route("/api/mcp/servers", **READ)
    def servers(self):
        """The servers that the caller may see, by scope; paged over both by id."""
        service_id = query_int("cloud_service_id")
        limit, after = query_int("limit", PAGE, 1, MAX_PAGE), query_int("after", 0)
        service = service_or_404(service_id) if service_id else None
        listed = request.env[SERVER]._listed(service).filtered(lambda server: server.id > after)
        page = listed[:limit]
        data = [server._api_data() for server in page]
        return {
            "system_servers": [server for server in data if server["scope"] == "system"],
            "user_servers": [server for server in data if server["scope"] == "user"],
            "has_more": len(listed) > limit,
            "next": page[-1:].id if len(listed) > limit else None,
            "notice": mcp_switch.notice(request.env),
        }

    @http.route("/api/mcp/servers", methods=["POST"], **ROUTE)
    def create_server(self):
        """A URL is enough, or a template with its values; the tools are read at once, in the background."""
        values = body("NewServer")
        owner = owner_vals(values["cloud_service_id"], values["scope"])
        make = self._of_template if values["template"] else self._of_address
        server = make(values, owner)
        self._choose_environment(server, values)
        return request.make_json_response(server._api_data(), status=201)

    @staticmethod
    def _choose_environment(server, values):
        if any(values[name] is not None for name in ENVIRONMENT):
            server._choose_environment(values["env_type"], values["env_config"])

    def _of_address(self, values, owner, wanted=None):
        """:param wanted: a name for a server that was given none"""
        if not values["url"]:
            raise ApiError.invalid("url", request.env._("Enter the address of the server."))
        Server = request.env[SERVER]
        name = Server._free_name(wanted or name_of(values["url"]), owner)
        return Server.create({"name": name, **server_values(values), **owner})

    def _of_template(self, values, owner):
        template = template_or_404(values["template"])
        given = values["values"] or {}
        if template.transport != "stdio":
            values |= template._server_vals(given)
            return self._of_address(values, owner, template.name)
        for field in OF_AN_ADDRESS:
            if values[field] is not None:
                raise ApiError.invalid(
                    field, f"The field “{field}” cannot be used with this template."
                )
        Server = request.env[SERVER]
        name = Server._free_name(template.name, owner)
        vals = {"name": name, **server_values(values), **owner}
        return Server._create_of_template(template, given, vals)

    @http.route("/api/mcp/templates", **READ)
    def templates(self):
        """Each says whether a server of the scope can be made of it, and what the operator has to add if not."""
        is_admin = request.env.user.has_group("woow_paas_platform.group_admin")
        scope = request.httprequest.args.get("scope") or ("system" if is_admin else "user")
        if scope not in SCOPE["enum"]:
            raise ApiError.invalid("scope", "The scope must be “system” or “user”.")
        listed = request.env[TEMPLATE]._listed()
        return {"templates": [template._api_data(scope) for template in listed]}

    @http.route("/api/mcp/templates/export", methods=["GET"], **ROUTE)
    def export_templates(self):
        """Export the templates that the caller may change, or the named ones of them, as a file."""
        Template = request.env[TEMPLATE].with_context(active_test=False)
        Template.check_access("write")
        wanted = request.httprequest.args.get("ids", "")
        domain = [("code", "in", wanted.split(","))] if wanted else []
        return request.make_json_response(
            Template.search(domain)._export_templates(),
            headers=[("Content-Disposition", 'attachment; filename="mcp-templates.json"')],
        )

    @http.route("/api/mcp/templates/import", methods=["POST"], **ROUTE)
    def import_templates(self):
        """Import templates; an invalid entry is reported and costs only itself."""
        templates, notes = request.env[TEMPLATE]._import_templates(body("TemplateFile"))
        if not templates:
            raise ApiError(422, "nothing_imported", notes[0]["message"], details={"notes": notes})
        data = [template._api_data("system") for template in templates]
        return request.make_json_response({"templates": data, "notes": notes}, status=201)

    @http.route("/api/mcp/servers/<int:server_id>", **READ)
    def server(self, server_id):
        return server_or_404(server_id)._api_data(with_tools=True)

    @http.route("/api/mcp/servers/<int:server_id>", methods=["PUT"], **ROUTE)
    def update_server(self, server_id):
        """Only what is given changes; a key that is not given stays, `remove_api_key` removes it.
        `values` fill in the form of a server's template again. `forgotten` names what was stored and is not any more.

        When nothing that is known holds any more, the tools are read again in the background.
        """
        server = managed_or_404(server_id)
        values = body("ServerChange")
        held = server._held_secrets()
        if values["remove_api_key"]:
            server._remove_api_key()
        if values["values"]:
            server._change_template_values(values["values"] or {})
        self._choose_environment(server, values)
        server.write(server_values(values))
        if server.active and server.state == "draft":
            server._sync_after_commit()
        gone = held - server._held_secrets()
        forgotten = sorted("headers" if name == "headers_json" else name for name in gone)
        return server._api_data() | {"forgotten": forgotten}

    @http.route("/api/mcp/servers/<int:server_id>", methods=["DELETE"], **ROUTE)
    def delete_server(self, server_id):
        managed_or_404(server_id).unlink()
        return request.make_response("", status=204)

    @http.route("/api/mcp/servers/<int:server_id>/toggle", methods=["PATCH"], **ROUTE)
    def toggle_server(self, server_id):
        """Switch a server for everybody who uses it, where the caller manages it.

        Anybody: for one conversation, or (`for_me`, and who does not manage it) in all conversations of the caller.
        """
        values = body("Switch")
        is_on, for_me = values["active"], values["for_me"]
        server = request.env[SERVER].browse(server_id)
        if values["conversation_id"]:
            channel = conversation_or_404(values["conversation_id"])
            switch = channel._switch_server_for_me if for_me else channel._switch_server
            if not switch(server, is_on):
                raise ApiError.not_found(request.env._("This MCP server does not exist."))
            return channel._mcp_config()
        server = used_or_404(server_id)
        if for_me or not server.has_access("write"):
            server._switch_for_me(is_on)
        else:
            server.active = is_on
        return server._api_data()

    @http.route("/api/mcp/servers/<int:server_id>/tools", **READ)
    def server_tools(self, server_id):
        limit, after = query_int("limit", PAGE, 1, MAX_PAGE), query_int("after", 0)
        server = server_or_404(server_id)
        tools = (
            request.env[TOOL]
            .with_context(active_test=False)
            .search(
                [("server_id", "=", server.id), ("id", ">", after)], order="id", limit=limit + 1
            )
        )
        return {
            "tools": [tool._api_data() for tool in tools[:limit]],
            "has_more": len(tools) > limit,
            "next": tools[:limit][-1:].id if len(tools) > limit else None,
        }

    @http.route("/api/mcp/tools/<int:tool_id>", methods=["PATCH"], **ROUTE)
    def update_tool(self, tool_id):
        """Switch it, say whether calls ask, or decide on a changed definition."""
        values = body("ToolChange")
        tool = tool_or_404(tool_id)
        tool.check_access("write")
        review, seen = values.pop("review"), values.pop("review_hash")
        if review:
            self._review(tool, review, seen)
        tool.write({name: value for name, value in values.items() if value is not None})
        return tool._api_data()

    def _review(self, tool, review, seen):
        if seen is None:
            raise ApiError.invalid(
                "review_hash", "A review requires the review_hash of the displayed definition."
            )
        if not tool._decide_definition(DECISIONS[review], seen):
            raise ApiError(
                409,
                "definition_changed",
                request.env._(
                    "This definition is no longer the one waiting for a decision. Review the current definition."
                ),
                details={"tool": tool._api_data()},
            )

    # ------------------------------------------------------------ mcpServers JSON

    @http.route("/api/mcp/export", methods=["GET"], **ROUTE)
    def export_servers(self):
        """The servers that the caller manages as ``mcpServers`` JSON, placeholders for their secrets."""
        service_id = query_int("cloud_service_id")
        listed = request.env[SERVER]._listed(service_or_404(service_id) if service_id else None)
        managed = listed._filtered_access("write")
        if service_id:
            managed = managed.filtered(lambda server: server.cloud_service_id.id == service_id)
        given = request.httprequest.args
        if "ids" in given:
            wanted = set(given["ids"].split(","))
            managed = managed.filtered(lambda server: str(server.id) in wanted)
        headers = {}
        if given.get("download"):
            headers["Content-Disposition"] = content_disposition("mcp_servers.json")
        return request.make_json_response(managed._export_servers(), headers=headers)

    @http.route("/api/mcp/import", methods=["POST"], **ROUTE)
    def import_servers(self):
        """Make servers of an ``mcpServers`` document; what cannot be one is told and costs only itself."""
        values = body("Import")
        owner = owner_vals(values["cloud_service_id"], values["scope"])
        servers, notes = request.env[SERVER]._import_servers(
            values["mcpServers"], owner, is_confirmed=bool(values["confirmed"])
        )
        if not servers:
            raise ApiError(422, "nothing_imported", notes[0]["message"], details={"notes": notes})
        data = {"servers": [server._api_data() for server in servers], "notes": notes}
        return request.make_json_response(data, status=201)

    # ------------------------------------------------------------ a conversation's own selection

    @http.route("/api/sessions/<int:conversation_id>/mcp-config", **READ)
    def mcp_config(self, conversation_id):
        return conversation_or_404(conversation_id)._mcp_config()

    @http.route("/api/sessions/<int:conversation_id>/mcp-config", methods=["PUT"], **ROUTE)
    def set_mcp_config(self, conversation_id):
        """`enabled_servers` are names; null uses whatever is offered, also what comes later."""
        channel = conversation_or_404(conversation_id)
        channel._select_servers(body("ConfigChange")["enabled_servers"])
        return channel._mcp_config()
