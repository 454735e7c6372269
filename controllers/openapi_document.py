"""The OpenAPI 3.1 document of `/api/mcp`; the tests hold every answer against it."""

from .schemas import INT, SCHEMAS, ref

SERVER_ID = "/api/mcp/servers/{server_id}"
CONNECTED = "/api/mcp/connections/{server_id}"
SESSION = "/api/sessions/{conversation_id}/mcp-config"
NEW_CHAT = "/api/ai/assistants/{assistant_id}/mcp-config"
PAGED = ("cloud_service_id", "limit", "after")

# (method, path): (summary, body, status, answer, query parameters)
OPERATIONS = {
    ("get", "/api/mcp/servers"): ("Servers that the caller may see", "", 200, "Servers", PAGED),
    ("post", "/api/mcp/servers"): ("Add a server", "NewServer", 201, "Server", ()),
    ("get", SERVER_ID): ("One server with its tools", "", 200, "Server", ()),
    ("put", SERVER_ID): ("Change a server", "ServerChange", 200, "Server", ()),
    ("delete", SERVER_ID): ("Delete a server", "", 204, "", ()),
    ("post", f"{SERVER_ID}/test"): ("Test a server step by step", "", 200, "Test", ()),
    ("post", f"{SERVER_ID}/sync"): ("Read the tools of a server", "", 200, "Server", ()),
    ("patch", f"{SERVER_ID}/toggle"): (
        "Switch a server, for all or for one conversation of the caller",
        "Switch",
        200,
        "ServerOrConfig",
        (),
    ),
    ("get", f"{SERVER_ID}/tools"): ("Tools of a server", "", 200, "Tools", ("limit", "after")),
    ("patch", "/api/mcp/tools/{tool_id}"): ("Switch a tool", "ToolChange", 200, "Tool", ()),
    ("post", "/api/mcp/execute-tool"): ("Call a tool", "Call", 200, "Outcome", ()),
    ("post", "/api/mcp/execute-tools"): ("Call tools side by side", "Calls", 200, "Outcomes", ()),
    ("get", "/api/mcp/templates"): ("Forms for well-known servers", "", 200, "Templates", ()),
    ("get", "/api/mcp/connections"): (
        "Servers that want a key of the caller",
        "",
        200,
        "Connections",
        (),
    ),
    ("put", CONNECTED): ("Add or replace the caller's key", "Key", 200, "Connection", ()),
    ("delete", CONNECTED): ("Forget the caller's key", "", 204, "", ()),
    ("get", "/api/mcp/export"): (
        "Servers as mcpServers JSON, placeholders for secrets",
        "",
        200,
        "Document",
        ("cloud_service_id",),
    ),
    ("post", "/api/mcp/import"): ("Add servers of mcpServers JSON", "Import", 201, "Imported", ()),
    ("get", SESSION): ("Servers that a conversation uses", "", 200, "Config", ()),
    ("get", NEW_CHAT): (
        "Servers that a new chat may use",
        "",
        200,
        "Config",
        ("cloud_service_id",),
    ),
    ("put", SESSION): ("Choose them by name", "ConfigChange", 200, "Config", ()),
}


def _content(name):
    return {"content": {"application/json": {"schema": ref(name)}}}


def _parameters(path, query):
    names = [part[1:-1] for part in path.split("/") if part.startswith("{")]
    return [{"name": name, "in": "path", "required": True, "schema": INT} for name in names] + [
        {"name": name, "in": "query", "schema": INT} for name in query
    ]


def _operation(path, summary, body, status, answer, query):
    operation = {
        "summary": summary,
        "responses": {
            str(status): {"description": summary, **(_content(answer) if answer else {})},
            "default": {"description": "What went wrong, as a sentence", **_content("Error")},
        },
    }
    if parameters := _parameters(path, query):
        operation["parameters"] = parameters
    if body:
        operation["requestBody"] = {"required": True, **_content(body)}
    return operation


def document(version, server_url):
    """
    :param version: of the addon
    :param server_url: where this Odoo answers
    """
    paths = {}
    for (method, path), facts in OPERATIONS.items():
        paths.setdefault(path, {})[method] = _operation(path, *facts)
    return {
        "openapi": "3.1.0",
        "info": {"title": "MCP servers", "version": version},
        "servers": [{"url": server_url}],
        "security": [{"apiKey": []}, {"session": []}],
        "paths": paths,
        "components": {
            "schemas": SCHEMAS,
            "securitySchemes": {
                "apiKey": {"type": "http", "scheme": "bearer", "description": "An Odoo API key"},
                "session": {"type": "apiKey", "in": "cookie", "name": "session_id"},
            },
        },
    }


# Whose id follows, where it is not that of the part before it.
OWNERS = {"sessions": "conversation_id", "connections": "server_id"}


def match(path):
    """The path of the document that an address belongs to."""
    parts = path.partition("?")[0].split("/")
    return "/".join(
        ("{" + OWNERS.get(before, f"{before.rstrip('s')}_id") + "}" if part.isdecimal() else part)
        for before, part in zip(["", *parts], parts, strict=False)
    )
