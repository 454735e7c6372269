"""The OpenAPI 3.1 document of `/api/mcp`; the tests hold every answer against it."""

TEXT, BOOL, INT, NUMBER = ({"type": kind} for kind in ("string", "boolean", "integer", "number"))
OBJECT = {"type": "object"}
MOMENT = {"type": ["string", "null"], "format": "date-time"}


def _object(required, optional=None):
    """An object whose properties are all named; nothing else is in it."""
    return {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": list(required),
        "additionalProperties": False,
    }


def _list(item):
    return {"type": "array", "items": item}


def _one_of(*values):
    return {"type": "string", "enum": list(values)}


def _or_null(schema):
    return {"anyOf": [schema, {"type": "null"}]}


def _ref(name):
    return {"$ref": f"#/components/schemas/{name}"}


TRANSPORT = _one_of("auto", "streamable_http", "sse")
TRUST = _one_of("none", "annotations", "full")
AUTHORIZATION = {
    **_one_of("key", "oauth_server", "oauth_user", "oauth_client"),
    "description": "A key or nothing; one sign-in for all; one of each person; client credentials",
}
SCOPE = _one_of("system", "user")
REVIEW = _one_of("accept", "refuse")
POLICY = _one_of("default", "auto", "ask", "never")

TOOL = {
    "id": INT,
    "name": TEXT,
    "title": TEXT,
    "description": TEXT,
    "input_schema": OBJECT,
    "annotations": OBJECT,
    "active": BOOL,
    "available": BOOL,
    "approval_policy": POLICY,
    "token_estimate": INT,
    "review_state": _one_of("approved", "new", "changed", "refused"),
    "review_hash": {**TEXT, "description": "Of the definition that waits for a decision"},
    "warnings": TEXT,
    "definition_diff": {**TEXT, "description": "HTML, while somebody has to look at a change"},
}
PUBLIC = {
    "id": INT,
    "name": TEXT,
    "title": TEXT,
    "description": TEXT,
    "scope": SCOPE,
    "active": BOOL,
    "state": TEXT,
    "tool_count": INT,
    "active_tool_count": INT,
    "token_estimate": INT,
    "can_edit": BOOL,
}
MANAGED = {
    "url": TEXT,
    "template": {**TEXT, "description": "Of a server with a command; else empty"},
    "transport": _one_of(*TRANSPORT["enum"], "stdio"),
    "has_api_key": BOOL,
    "header_names": _list(TEXT),
    "trust_level": TRUST,
    "authorization": AUTHORIZATION,
    "oauth_client_id": TEXT,
    "has_oauth_client_secret": BOOL,
    "oauth_issuer": TEXT,
    "oauth_scope": TEXT,
    "sign_in_url": {
        "type": ["string", "null"],
        "description": "Page that leads a browser to the sign-in, where the caller can sign in",
    },
    "sign_in_id": {
        **_or_null(INT),
        "description": "The caller's sign-in, or the one that all share",
    },
    "connect_timeout": NUMBER,
    "call_timeout": NUMBER,
    "cloud_service": _or_null(_object({"id": INT, "name": TEXT})),
    "is_personal": BOOL,
    "state_message": TEXT,
    "protocol_version": TEXT,
    "last_sync": MOMENT,
    "last_attempt": MOMENT,
}
STEP = {
    "name": TEXT,
    "state": _one_of("ok", "failed", "skipped"),
    "message": TEXT,
    "advice": TEXT,
    "duration_ms": INT,
}
WRITABLE = {
    "name": TEXT,
    "title": TEXT,
    "url": TEXT,
    "api_key": TEXT,
    "headers": {"type": "object", "additionalProperties": TEXT},
    "description": TEXT,
    "active": BOOL,
    "transport": TRANSPORT,
    "trust_level": TRUST,
    "authorization": AUTHORIZATION,
    "oauth_client_id": TEXT,
    "oauth_client_secret": TEXT,
    "oauth_issuer": TEXT,
    "oauth_scope": TEXT,
    "connect_timeout": NUMBER,
    "call_timeout": NUMBER,
}
VALUES = {"type": "object", "additionalProperties": TEXT}
PLACE = {"cloud_service_id": INT, "scope": SCOPE}
OUTCOME = {
    "outcome": TEXT,
    "content": _list(OBJECT),
    "structuredContent": OBJECT,
    "error": TEXT,
    "code": TEXT,
}
NOTE = _object({"name": TEXT, "message": TEXT})
PAGE = {"has_more": BOOL, "next": _or_null(INT)}
TEMPLATE = {
    **dict.fromkeys(("id", "name", "description", "category", "icon", "website"), TEXT),
    "is_system_only": {**BOOL, "description": "It has a command: for administrators"},
    "fields": _list(
        _object(
            {
                **dict.fromkeys(("name", "label", "placeholder", "help"), TEXT),
                "required": BOOL,
                "secret": BOOL,
            }
        )
    ),
}
CONNECTION = {
    "server": _object({"id": INT, **dict.fromkeys(("name", "title", "description"), TEXT)}),
    "has_key": BOOL,
    "key_since": MOMENT,
}
CHOICE = {
    **{name: PUBLIC[name] for name in ("id", "name", "title", "description", "scope", "state")},
    "tool_count": INT,
    "token_estimate": INT,
    "enabled": BOOL,
}

SCHEMAS = {
    "Error": _object({"error": _object({"code": TEXT, "message": TEXT, "details": OBJECT})}),
    "Tool": _object(TOOL),
    "Server": _object(PUBLIC, {**MANAGED, "tools": _list(_ref("Tool")), "forgotten": _list(TEXT)}),
    "Servers": _object(
        {"system_servers": _list(_ref("Server")), "user_servers": _list(_ref("Server")), **PAGE}
    ),
    "NewServer": _object(
        {},
        {
            **WRITABLE,
            **PLACE,
            "template": TEXT,
            "values": VALUES,
        },
    ),
    "Templates": _object({"templates": _list(_object(TEMPLATE))}),
    "ServerChange": _object({}, {**WRITABLE, "remove_api_key": BOOL, "values": VALUES}),
    "Switch": _object({"active": BOOL}, {"conversation_id": INT}),
    "ServerOrConfig": {"anyOf": [_ref("Server"), _ref("Config")]},
    "Tools": _object({"tools": _list(_ref("Tool")), **PAGE}),
    "ToolChange": _object(
        {}, {"active": BOOL, "approval_policy": POLICY, "review": REVIEW, "review_hash": TEXT}
    ),
    "Test": _object(
        {
            "ok": BOOL,
            "steps": _list(_object(STEP)),
            "error": _or_null(_object({"code": TEXT, "message": TEXT})),
            "server": _ref("Server"),
        }
    ),
    "Call": _object({"toolName": TEXT}, {"arguments": OBJECT}),
    "Calls": _object({"calls": _list(_object({"name": TEXT}, {"arguments": OBJECT}))}),
    "Outcome": _object({"success": BOOL}, OUTCOME),
    "Outcomes": _object({"results": _list(_object({"name": TEXT, "success": BOOL}, OUTCOME))}),
    "Document": _object({"mcpServers": {"type": "object", "additionalProperties": OBJECT}}),
    "Import": _object({"mcpServers": OBJECT}, PLACE),
    "Imported": _object({"servers": _list(_ref("Server")), "notes": _list(NOTE)}),
    "Config": _object({"enabled_servers": _list(TEXT), "servers": _list(_object(CHOICE))}),
    "Connections": _object({"connections": _list(_ref("Connection"))}),
    "Connection": _object(CONNECTION),
    "Key": _object({"api_key": TEXT}),
    "ConfigChange": _object({"enabled_servers": _or_null(_list(TEXT))}),
}

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
    return {"content": {"application/json": {"schema": _ref(name)}}}


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
