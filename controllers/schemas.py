"""JSON Schemas of the API: what a request's body may hold, and what an answer holds."""

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


def ref(name):
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
    "Server": _object(PUBLIC, {**MANAGED, "tools": _list(ref("Tool")), "forgotten": _list(TEXT)}),
    "Servers": _object(
        {"system_servers": _list(ref("Server")), "user_servers": _list(ref("Server")), **PAGE}
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
    "ServerOrConfig": {"anyOf": [ref("Server"), ref("Config")]},
    "Tools": _object({"tools": _list(ref("Tool")), **PAGE}),
    "ToolChange": _object(
        {}, {"active": BOOL, "approval_policy": POLICY, "review": REVIEW, "review_hash": TEXT}
    ),
    "Test": _object(
        {
            "ok": BOOL,
            "steps": _list(_object(STEP)),
            "error": _or_null(_object({"code": TEXT, "message": TEXT})),
            "server": ref("Server"),
        }
    ),
    "Call": _object({"toolName": TEXT}, {"arguments": OBJECT}),
    "Calls": _object({"calls": _list(_object({"name": TEXT}, {"arguments": OBJECT}))}),
    "Outcome": _object({"success": BOOL}, OUTCOME),
    "Outcomes": _object({"results": _list(_object({"name": TEXT, "success": BOOL}, OUTCOME))}),
    "Document": _object({"mcpServers": {"type": "object", "additionalProperties": OBJECT}}),
    "Import": _object({"mcpServers": OBJECT}, PLACE),
    "Imported": _object({"servers": _list(ref("Server")), "notes": _list(NOTE)}),
    "Config": _object({"enabled_servers": _list(TEXT), "servers": _list(_object(CHOICE))}),
    "Connections": _object({"connections": _list(ref("Connection"))}),
    "Connection": _object(CONNECTION),
    "Key": _object({"api_key": TEXT}),
    "ConfigChange": _object({"enabled_servers": _or_null(_list(TEXT))}),
}
