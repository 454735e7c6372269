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


def _open(required, optional=None):
    """An object that has these properties, and may have more."""
    properties = {**required, **(optional or {})}
    return {"type": "object", "properties": properties, "required": list(required)}


def _list(item):
    return {"type": "array", "items": item}


def _one_of(*values):
    return {"type": "string", "enum": list(values)}


def _or_null(schema):
    return {"anyOf": [schema, {"type": "null"}]}


def ref(name):
    return {"$ref": f"#/components/schemas/{name}"}


USED = {"requests": INT, "input_tokens": INT, "output_tokens": INT, "amount": NUMBER}
TRANSPORT = _one_of("auto", "streamable_http", "sse")
ENV_TYPE = _one_of("preinstalled", "dynamic_injected", "custom_image")
TRUST = _one_of("none", "annotations", "full")
AUTHORIZATION = {
    **_one_of("key", "oauth_server", "oauth_user", "oauth_client"),
    "description": "A key or none; one sign-in for everyone; each user signs in; client credentials",
}
SCOPE = _one_of("system", "user")
REVIEW = _one_of("accept", "refuse")
POLICY = _one_of("default", "auto", "ask", "never")
MY_POLICY = {
    **_one_of("default", "ask", "never"),
    "description": "What the caller has set for the caller's own calls: always ask, never run",
}

LOCK = {
    **_or_null(_object({"by": TEXT, "at": MOMENT, "reason": TEXT})),
    "description": "An administrator's lock, for who manages the server; null without one",
}
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
    "review_hash": {**TEXT, "description": "Hash of the definition that is waiting for a decision"},
    "warnings": TEXT,
    "definition_diff": {**TEXT, "description": "HTML, while a change is waiting for a review"},
    "lock": LOCK,
    "my_policy": MY_POLICY,
}
PUBLIC = {
    "id": INT,
    "name": TEXT,
    "title": TEXT,
    "display_name": {**TEXT, "description": "`title` under the name that document 004 gives it"},
    "description": TEXT,
    "scope": SCOPE,
    "active": BOOL,
    "enabled": {**BOOL, "description": "`active` under the name that document 004 gives it"},
    "state": TEXT,
    "tool_count": INT,
    "active_tool_count": INT,
    "token_estimate": INT,
    "can_edit": BOOL,
    "enabled_for_me": {**BOOL, "description": "The caller's own switch for all conversations"},
    "my_policy": MY_POLICY,
}
MANAGED = {
    "url": TEXT,
    "template": {
        **TEXT,
        "description": "Template of a server started by a command, otherwise empty",
    },
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
        "description": "Page that redirects a browser to the sign-in, if the caller can sign in",
    },
    "sign_in_id": {
        **_or_null(INT),
        "description": "The caller's sign-in, or the shared one",
    },
    "connect_timeout": NUMBER,
    "call_timeout": NUMBER,
    "auto_start": {**BOOL, "description": "Its tools are read whenever Odoo or a runner starts"},
    "api_key_env": {**TEXT, "description": "Variable of Odoo's environment with the key"},
    "env_type": {
        "anyOf": [ENV_TYPE, {"type": "null"}],
        "description": "How a command is started, null for a server with an address",
    },
    "env_config": {**OBJECT, "description": "What belongs to it; told to administrators only"},
    "created_at": MOMENT,
    "updated_at": MOMENT,
    "cloud_service": _or_null(_object({"id": INT, "name": TEXT})),
    "is_personal": BOOL,
    "user_id": {**_or_null(INT), "description": "Whose a personal server is"},
    "state_message": TEXT,
    "review_count": {**INT, "description": "Tools that wait for a review"},
    "refused_count": {**INT, "description": "Tools whose definition was refused"},
    "warned_count": {**INT, "description": "Tools in use in whose definition something was found"},
    "protocol_version": TEXT,
    "last_sync": MOMENT,
    "last_attempt": MOMENT,
    "lock": LOCK,
}
STEP = {
    "name": TEXT,
    "state": _one_of("ok", "failed", "skipped"),
    "message": TEXT,
    "advice": TEXT,
    "duration_ms": INT,
}
DIAGNOSIS = {
    "ok": BOOL,
    "steps": _list(_object(STEP)),
    "error": _or_null(_object({"code": TEXT, "message": TEXT})),
}
WRITABLE = {
    "name": TEXT,
    "title": TEXT,
    "display_name": TEXT,
    "url": TEXT,
    "api_key": TEXT,
    "headers": {"type": "object", "additionalProperties": TEXT},
    "description": TEXT,
    "active": BOOL,
    "enabled": BOOL,
    "transport": TRANSPORT,
    "trust_level": TRUST,
    "authorization": AUTHORIZATION,
    "oauth_client_id": TEXT,
    "oauth_client_secret": TEXT,
    "oauth_issuer": TEXT,
    "oauth_scope": TEXT,
    "connect_timeout": NUMBER,
    "call_timeout": NUMBER,
    "auto_start": BOOL,
    "api_key_env": TEXT,
}
# One of those that the operator has released for the template; administrators only.
ENVIRONMENT = {"env_type": ENV_TYPE, "env_config": OBJECT}
VALUES = {"type": "object", "additionalProperties": TEXT}
OWNER = {"cloud_service_id": INT, "scope": SCOPE}
OUTCOME = {
    "outcome": TEXT,
    "content": _list(OBJECT),
    "structuredContent": OBJECT,
    "error": TEXT,
    "code": TEXT,
}
FILE = {"id": INT, "name": TEXT, "mimetype": TEXT, "url": TEXT}
NOTE = _object({"name": TEXT, "message": TEXT})
PAGE = {"has_more": BOOL, "next": _or_null(INT)}
TEMPLATE = {
    **dict.fromkeys(("id", "name", "description", "category", "icon", "website"), TEXT),
    "is_system_only": {**BOOL, "description": "Started by a command, for everybody only"},
    "is_command": {**BOOL, "description": "Started by a command that the operator enables"},
    "available": {**BOOL, "description": "A server of the scope can be made of it"},
    "operator_lines": {
        **TEXT,
        "description": "TOML that the operator has to add to mcp_servers.toml, empty if available",
    },
    "fields": _list(
        _object(
            {
                **dict.fromkeys(("name", "label", "placeholder", "help"), TEXT),
                "required": BOOL,
                "secret": BOOL,
            }
        )
    ),
    # The same once more, as document 004 has it.
    "required_fields": _list(TEXT),
    "optional_fields": _list(TEXT),
    **dict.fromkeys(("field_labels", "field_placeholders", "field_help_texts"), VALUES),
    "default_config": _object(
        {
            "url": TEXT,
            "transport": _one_of(*TRANSPORT["enum"], "stdio"),
            "authorization": AUTHORIZATION,
            "env_type": _or_null(ENV_TYPE),
        }
    ),
    "environments": {
        **_list(_object(ENVIRONMENT)),
        "description": "Those that an administrator may choose among, the first by default",
    },
}
CONNECTION = {
    "server": _object({"id": INT, **dict.fromkeys(("name", "title", "description"), TEXT)}),
    "has_key": BOOL,
    "key_since": MOMENT,
}
RECORD = {"model": TEXT, "id": INT, "name": TEXT}
NAMED = _object({"id": INT, "name": TEXT})
IMAGE_URL = {**_or_null(TEXT), "description": "Of its image, null without one"}
FACE = _object({"id": INT, "name": TEXT, "image_url": IMAGE_URL})
TO_RETRY = {**_list(FACE), "description": "Those who may answer the last question once more"}
STARTERS = {**_list(TEXT), "description": "Questions that a chat may begin with"}
RECORD_MODELS = {
    **_list(_object({"model": TEXT, "name": TEXT})),
    "description": "Models of Odoo that the assistant works with and the caller may read",
}
TURN_STATE = _one_of("queued", "running", "waiting", "done", "failed", "stopped")
CONVERSATION = {
    "id": INT,
    "name": TEXT,
    "assistant": FACE,
    "cloud_service": _or_null(NAMED),
    "record": _or_null(_object(RECORD)),
    "last_message_at": MOMENT,
    "turn": _or_null(_open({"id": INT, "state": TURN_STATE})),
    "pinned": BOOL,
    "archived": BOOL,
    "folder_id": _or_null(INT),
    "temporary": {**BOOL, "description": "In no list, and deleted when it is over"},
}
FOLDER = {
    "instructions": {**TEXT, "description": "Said to assistants in its conversations"},
    "attachment_ids": {
        **_list(INT),
        "description": "All its files: those that it has and those that wait for a message",
    },
    "res_model": TEXT,
    "res_id": {**INT, "description": "Record of conversations that are begun in it, 0 for none"},
}
CAN_POST = {**BOOL, "description": "Whether the caller may post on the record, in the backend"}
CHANGES = _list(
    _object(
        {
            "kind": _one_of("changed", "created", "deleted"),
            "model": TEXT,
            "label": TEXT,
            "name": TEXT,
            "sensitive": BOOL,
            "fields": _list(OBJECT),
        }
    )
)
DECISION = {
    "id": TEXT,
    "kind": {
        **_one_of("call", "round", "question", "sign_in", "client_call"),
        "description": "`client_call`: of an MCP client, decided at `/api/mcp/calls/{call_id}/decision`",
    },
    "turn_id": _or_null(INT),
    "title": {**TEXT, "description": "Of the tool"},
    "server": TEXT,
    "client": {**TEXT, "description": "MCP client by its own name; empty with a key"},
    "round": {**_or_null(INT), "description": "Round to confirm"},
    "assistant": _or_null(NAMED),
    "conversation": _or_null(_object({"id": INT, "name": TEXT, "url": _or_null(TEXT)})),
    "record": _or_null(_object({**RECORD, "url": _or_null(TEXT)})),
    "summary": {
        **TEXT,
        "description": "Beginning of the arguments or of a server's words; empty if they are long",
    },
    "changes": {
        **CHANGES,
        "description": "First records of the call's `rehearsal`, with their first fields and the beginnings of values",
    },
    "before": {**CHANGES, "description": "Those that were allowed, if the user is asked again"},
    "has_more": {**BOOL, "description": "Whether the call has more effects than `changes`"},
    "destructive": BOOL,
    "asked_at": MOMENT,
    "expires_at": MOMENT,
}
RATING_REASON = _one_of("inaccurate", "incomplete", "wrong_tool", "slow", "harmful", "other")
RATING = {
    "value": _one_of("good", "bad"),
    "reason": {**_or_null(RATING_REASON), "description": "Of a bad rating, null without one"},
    "text": {**TEXT, "maxLength": 1_000},
    "share": {
        **BOOL,
        "description": "Whether administrators may read question and answer, and those who manage the cloud service of "
        "the assistant the reason and the text",
    },
    "reported": {**BOOL, "description": "Whether the answer was reported"},
    "seen_at": {**MOMENT, "description": "When an administrator has read it"},
    "reply": {**TEXT, "description": "Of an administrator"},
}
OF_OWNER = {  # what who manages a cloud service writes of its assistants
    "name": TEXT,
    "description": TEXT,
    "greeting": TEXT,
    "instructions": TEXT,
    "starters": STARTERS,
    "active": BOOL,
    "server_ids": {**_list(INT), "description": "MCP servers, among those that are offered"},
}
RATINGS = {"good": INT, "bad": INT}
SERVICE_ASSISTANT = {
    "id": INT,
    **OF_OWNER,
    "provider_id": {**_or_null(INT), "description": "Null if it is no longer offered"},
    "lock": LOCK,
    "ratings": _object(RATINGS),
}
NOTICE = {**TEXT, "description": "Says that MCP is switched off, empty otherwise"}
CHOICE = {
    **{name: PUBLIC[name] for name in ("id", "name", "title", "description", "scope", "state")},
    "state_message": {**TEXT, "description": "Why it does not work, empty while it does"},
    "tool_count": INT,
    "token_estimate": INT,
    "review_count": MANAGED["review_count"],
    "enabled": BOOL,
    "enabled_for_me": PUBLIC["enabled_for_me"],
}

SCHEMAS = {
    "Error": _object({"error": _object({"code": TEXT, "message": TEXT, "details": OBJECT})}),
    "Tool": _object(TOOL),
    "Server": _object(PUBLIC, {**MANAGED, "tools": _list(ref("Tool")), "forgotten": _list(TEXT)}),
    "Servers": _object(
        {
            "system_servers": _list(ref("Server")),
            "user_servers": _list(ref("Server")),
            "notice": NOTICE,
            **PAGE,
        }
    ),
    "NewServer": _object(
        {},
        {
            **WRITABLE,
            **ENVIRONMENT,
            **OWNER,
            "template": TEXT,
            "values": VALUES,
        },
    ),
    "Templates": _object({"templates": _list(_object(TEMPLATE))}),
    "TemplateFile": _object({"mcpTemplates": _list(OBJECT)}),
    "ImportedTemplates": _object({"templates": _list(_object(TEMPLATE)), "notes": _list(NOTE)}),
    "ServerChange": _object(
        {}, {**WRITABLE, **ENVIRONMENT, "remove_api_key": BOOL, "values": VALUES}
    ),
    "Batch": _object(
        {"server_ids": _list(INT), "action": _one_of("enable", "disable", "sync", "delete")}
    ),
    "BatchResults": _object(
        {
            "results": _list(
                _object(
                    {
                        "id": INT,
                        "ok": BOOL,
                        "error": _or_null(_object({"code": TEXT, "message": TEXT})),
                    }
                )
            )
        }
    ),
    "Versions": _object(
        {
            "versions": _list(
                _object(
                    {
                        "id": INT,
                        "number": INT,
                        "created_at": MOMENT,
                        "created_by": TEXT,
                        "configuration": OBJECT,
                        "changes": _list(_open({"field": TEXT, "label": TEXT})),
                    }
                )
            )
        }
    ),
    "Switch": _object(
        {"active": BOOL},
        {
            "conversation_id": INT,
            "for_me": {**BOOL, "description": "In all conversations of the caller, nobody else's"},
        },
    ),
    "MyPolicy": _object({"policy": MY_POLICY}),
    "Lock": _object({}, {"reason": {**TEXT, "maxLength": 500}}),
    "ServerOrConfig": {"anyOf": [ref("Server"), ref("Config")]},
    "Tools": _object({"tools": _list(ref("Tool")), **PAGE}),
    "ToolChange": _object(
        {}, {"active": BOOL, "approval_policy": POLICY, "review": REVIEW, "review_hash": TEXT}
    ),
    "Test": _object({**DIAGNOSIS, "server": ref("Server")}),
    "ProviderTest": _object(DIAGNOSIS),
    "ModelNames": _object({"models": _list(TEXT)}),
    "Trial": _object({"arguments": OBJECT}),
    "Tried": _object(
        {
            "outcome": TEXT,
            "is_error": BOOL,
            "result": {},
            "truncated": BOOL,
            "duration_ms": INT,
            "pictures": _list(_object({"name": TEXT, "mimetype": TEXT, "data": TEXT})),
        }
    ),
    "Call": _object({"toolName": TEXT}, {"arguments": OBJECT}),
    "Calls": _object({"calls": _list(_object({"name": TEXT}, {"arguments": OBJECT}))}),
    "Outcome": _object({"success": BOOL}, OUTCOME),
    "Outcomes": _object({"results": _list(_object({"name": TEXT, "success": BOOL}, OUTCOME))}),
    "Document": _object({"mcpServers": {"type": "object", "additionalProperties": OBJECT}}),
    "Import": _object(
        {"mcpServers": OBJECT},
        {
            **OWNER,
            "confirmed": {
                **BOOL,
                "description": "Whether somebody agrees to what `confirmation_required` has named",
            },
        },
    ),
    "Imported": _object({"servers": _list(ref("Server")), "notes": _list(NOTE)}),
    "Config": _object(
        {
            "enabled_servers": _list(TEXT),
            "servers": _list(_object(CHOICE)),
            "notice": NOTICE,
            "can_reload": BOOL,
            "records": RECORD_MODELS,
        }
    ),
    "Connections": _object({"connections": _list(ref("Connection"))}),
    "Connection": _object(CONNECTION),
    "Key": _object({"api_key": TEXT}),
    "ClientKeys": _object(
        {
            "clients": _list(
                _object(
                    {
                        "id": INT,
                        "name": {**TEXT, "description": "The client has chosen it itself"},
                        "gateway": {**TEXT, "description": "Name, empty for the address `url`"},
                        "place": {**TEXT, "description": "Host, or scheme of an app"},
                        "can_call": {**BOOL, "description": "False: it only lists the tools"},
                        "can_ask": {**BOOL, "description": "It may ask assistants"},
                        "can_change": {**BOOL, "description": "It may ask to change records"},
                        "connected_at": MOMENT,
                        "last_used_at": MOMENT,
                        "expires_at": MOMENT,
                    }
                )
            ),
            "keys": _list(
                _object({"id": INT, "name": TEXT, "created_at": MOMENT, "expires_at": MOMENT})
            ),
            "days": {**_list(INT), "description": "How long a new key may be valid"},
            "url": {**TEXT, "description": "Address of this Odoo for MCP clients"},
            "gateways": {
                **_list(_object({"name": TEXT, "url": TEXT})),
                "description": "Further addresses, which show a part of it",
            },
        }
    ),
    "NewClientKey": _object({"name": TEXT, "days": INT, "password": TEXT}),
    "MadeClientKey": _object({"key": {**TEXT, "description": "Never shown again"}}),
    "Command": _object(
        {"command": _one_of("/mcp", "/mcp tools", "/mcp reload")},
        {"server_ids": _or_null(_list(INT))},
    ),
    "CommandAnswer": _object(
        {"title": TEXT, "rows": _list(_object({"name": TEXT, "about": TEXT}))}
    ),
    "ConfigChange": _object({"enabled_servers": _or_null(_list(TEXT))}),
    # ------------------------------------------------------------ the chat
    "Assistants": _object(
        {
            "assistants": _list(
                _object(
                    {
                        "id": INT,
                        "name": TEXT,
                        "description": TEXT,
                        "tools": INT,
                        "image_url": IMAGE_URL,
                        "greeting": TEXT,
                        "starters": STARTERS,
                        "records": RECORD_MODELS,
                    }
                )
            ),
            "can_create": {**BOOL, "description": "Whether the caller may add assistants"},
        }
    ),
    "CloudServices": _object(
        {
            "cloud_services": _list(
                _object(
                    {
                        "id": INT,
                        "name": TEXT,
                        "state": TEXT,
                        "starters": STARTERS,
                        "workspace": NAMED,
                    }
                )
            )
        }
    ),
    "Conversation": _object(
        CONVERSATION,
        {
            "excerpt": {**TEXT, "description": "Of a message with the words of `q`"},
            "unseen": {**BOOL, "description": "Has an answer that the caller has not seen"},
            "can_post": CAN_POST,
            "assistants": TO_RETRY,
        },
    ),
    "Conversations": _object(
        {"conversations": _list(ref("Conversation")), "has_more": BOOL, "incomplete": BOOL}
    ),
    "ConversationPage": _object(
        {
            **CONVERSATION,
            "messages": _list(ref("Message")),
            "has_more": BOOL,
            "closed": {
                **TEXT,
                "description": "Why nothing can be asked here any more, empty while it can",
            },
            "assistants": TO_RETRY,
            "can_post": CAN_POST,
            "unseen": {**BOOL, "description": "Whether an answer came that no browser has shown"},
            "queued": _list(
                _object(
                    {"id": INT, "message_id": _or_null(INT), "stream_url": TEXT, "steers": BOOL}
                )
            ),
            "context": _or_null(ref("Context")),
        }
    ),
    "Context": {
        **_object(dict.fromkeys(("used", "limit", "definitions", "summary", "messages"), INT)),
        "description": "About how many tokens the last request to the model had, and how many it takes",
    },
    "Message": _object(
        {
            "id": _or_null(INT),
            "role": _one_of("user", "assistant"),
            "html": TEXT,
            "text": TEXT,
            "author": FACE,
            "date": MOMENT,
            "attachments": _list(ref("File")),
            "turn": _or_null(ref("EndedTurn")),
        },
        {
            "turn_id": _or_null(INT),
            "versions": _list(INT),
            "records": {
                **_list(_object({**RECORD, "url": _or_null(TEXT)})),
                "description": "Odoo records that are attached to a question",
            },
        },
    ),
    "Records": _object(
        {"records": _list(_object({**RECORD, "label": TEXT, "image": _or_null(TEXT)}))}
    ),
    "DefaultPrompts": _object({"prompts": _list(NAMED)}),
    "FilledPrompt": _object({"content": TEXT}),
    "SavedPrompt": _object(
        {
            "id": INT,
            "name": {**TEXT, "description": "Typed after a slash"},
            "content": TEXT,
            "fields": {**_list(TEXT), "description": "Names in braces in `content`"},
            "workspace": _or_null(NAMED),
            "can_edit": BOOL,
        }
    ),
    "SavedPrompts": _object(
        {
            "prompts": _list(ref("SavedPrompt")),
            "workspaces": {**_list(NAMED), "description": "Whose prompts the caller writes"},
        }
    ),
    "File": _open(FILE),
    "UnsentFile": _object(
        {
            **FILE,
            "size": {**INT, "description": "Bytes"},
            "pages": {**INT, "description": "Pages, slides or sheets of a document, otherwise 0"},
            "pages_read": {**INT, "description": "How many of them a model is shown whole"},
            "characters": {**INT, "description": "Of the text that was read"},
            "token_estimate": INT,
        }
    ),
    "EndedTurn": _open(
        {
            "id": INT,
            "state": TURN_STATE,
            "tool_calls": _list(_open({"id": TEXT, "tool": TEXT, "args": OBJECT})),
            "usage": _or_null(OBJECT),
            "error": _or_null(_object({"code": TEXT, "message": TEXT})),
        },
        {"rating": {**_or_null(ref("Rating")), "description": "The caller's; null without one"}},
    ),
    "Rating": _object(RATING),
    "NewRating": _object(
        {"value": RATING["value"]},
        {
            "reason": RATING_REASON,
            "text": RATING["text"],
            "share": RATING["share"],
            "report": {**BOOL, "description": "Tells who is responsible; needs a reason"},
        },
    ),
    "Accepted": _object({"turn_id": INT, "stream_url": TEXT, "message_id": INT}),
    "Explanation": _object(
        {
            "id": TEXT,
            "outcome": _or_null(TEXT),
            "approval": _or_null(TEXT),
            "reason": TEXT,
            "steps": _list(
                _object(
                    {
                        "check": TEXT,
                        "answer": TEXT,
                        "title": TEXT,
                        "text": TEXT,
                        "setting": {
                            **_or_null(
                                _object(
                                    {
                                        "path": TEXT,
                                        "changed_by": _or_null(TEXT),
                                        "changed_at": MOMENT,
                                    }
                                )
                            ),
                            "description": "Page on which the caller may change the answer, and its last change",
                        },
                    }
                ),
            ),
            "summary": {**TEXT, "description": "Instead of steps, where none were recorded"},
        }
    ),
    "FurtherChanges": _object(
        {
            "records": _list(
                _open(
                    {
                        "kind": _one_of("changed", "created", "deleted"),
                        "model": TEXT,
                        "label": TEXT,
                        "id": _or_null(INT),
                        "name": TEXT,
                    }
                )
            ),
            "total": INT,
        }
    ),
    "Stopped": _object({"state": TURN_STATE}),
    "Decided": _object({"state": TURN_STATE, "waiting_for": _list(_open({"type": TEXT}))}),
    "Preferences": _object(
        {
            "show_tool_calls": BOOL,
            "notify": BOOL,
            "remembers": BOOL,
            "digest": BOOL,
            "language": TEXT,
            "languages": _list(_object({"code": TEXT, "name": TEXT})),
        }
    ),
    "PreferencesChange": _object(
        {},
        {
            "show_tool_calls": BOOL,
            "notify": BOOL,
            "remembers": BOOL,
            "digest": BOOL,
            "language": TEXT,
        },
    ),
    "Permissions": _object(
        {
            "grants": _list(
                _object(
                    {
                        "id": INT,
                        "tool": TEXT,
                        "scope": _one_of("conversation", "always"),
                        "conversation": _or_null(NAMED),
                        "granted_at": MOMENT,
                    }
                )
            )
        }
    ),
    "Reply": _object(
        {"reply": TEXT, "message": TEXT, "tool_calls": _list(OBJECT), "usage": OBJECT}
    ),
    "SignIns": _object(
        {
            "sign_ins": _list(
                _object({"id": INT, "server": TEXT, "issuer": TEXT, "scope": TEXT, "since": MOMENT})
            )
        }
    ),
    "Health": _open(
        {
            "status": TEXT,
            "mcp_enabled": BOOL,
            "missing_packages": _list(TEXT),
            "faulty_settings": {
                **_list(TEXT),
                "description": "Keys of the operator's settings whose values cannot be used; their defaults count",
            },
            "unknown_settings": {**INT, "description": "Keys there that do not exist"},
            "version": TEXT,
            "runner": OBJECT,
            "wakeup": {
                **_one_of("heard", "starting", "deaf"),
                "description": "Whether this process hears the others; deaf ones look every second",
            },
            "wakeup_reason": {
                **_or_null(_one_of("unreachable", "pooler", "notify_function", "unknown")),
                "description": "Why this process is deaf",
            },
            "traces": {
                **_one_of("off", "on", "package_missing", "unreachable"),
                "description": "Whether this process sends traces to the operator's collector",
            },
            "isolation": {
                **OBJECT,
                "description": "Whether the kernel keeps the reader of documents to itself (`documents`), whether"
                " programs of owners run in a sandbox (`sandbox`, `sandbox_possible`), and how many do not"
                " (`programs_without_sandbox`)",
            },
            "failing_embeddings": {
                **INT,
                "description": "Providers whose embedding model did not answer when it was asked last",
            },
            "track_counts": {
                **BOOL,
                "description": "Whether PostgreSQL counts the rows that transactions write; else each change of Odoo's"
                " records by an assistant asks",
            },
        }
    ),
    "Listed": _open({"problems": _list(OBJECT)}),
    "Filled": _open(
        {
            "messages": {
                **_list(OBJECT),
                "description": "Each with its role, text and `attachments`, files for the caller's next message",
            },
            "left_out": {**INT, "description": "Number of files that cannot be attached"},
        }
    ),
    "Completed": _open({"values": _list(TEXT), "has_more": BOOL}),
    "Contents": _open({"contents": _list(OBJECT)}),
    "Attached": _open({"attachments": _list(ref("File")), "left_out": INT}),
    "NewConversation": _object(
        {"assistant_id": INT},
        {
            "cloud_service_id": INT,
            "name": TEXT,
            "res_model": TEXT,
            "res_id": INT,
            "folder_id": INT,
            "enabled_servers": _list(TEXT),
            "temporary": {
                **BOOL,
                "description": "In no list, and deleted a day after the last question unless it is kept",
            },
        },
    ),
    "ConversationCounts": _object(
        {"records": _list(_object({"model": TEXT, "id": INT, "count": INT}))}
    ),
    "ConversationBatch": _object(
        {
            "conversation_ids": _list(INT),
            "action": _one_of(
                "pin", "unpin", "archive", "restore", "move", "keep", "end", "delete"
            ),
        },
        {"folder_id": {**INT, "description": "Where `move` puts them; out of any folder without"}},
    ),
    "Folder": _object(
        {
            "id": INT,
            "name": TEXT,
            "instructions": TEXT,
            "files": _list(ref("UnsentFile")),
            "record": _or_null(_object(RECORD)),
            "unseen": {**BOOL, "description": "Has an answer that the caller has not seen"},
        }
    ),
    "Folders": _object({"folders": _list(ref("Folder"))}),
    "NewFolder": _object({"name": TEXT}, FOLDER),
    "FolderChange": _object({}, {"name": TEXT, **FOLDER}),
    "NewName": _object({"name": TEXT}),
    "Retry": _object({}, {"assistant_id": {**INT, "description": "Who answers this time"}}),
    "Question": _object(
        {"content": TEXT},
        {
            "client_token": {**TEXT, "maxLength": 200},  # an index holds it
            "edit_of": INT,
            "when": {
                **_one_of("queue", "steer"),
                "description": "What becomes of it while another message is being answered",
            },
            "compact": {
                **BOOL,
                "description": "Sums up what was said so far instead of answering; `content`, which may be empty,"
                " says what to keep in mind",
            },
            "attachment_ids": {**_list(INT), "description": "Ids of files that were attached"},
            "records": {
                **_list(_object({"model": TEXT, "id": INT})),
                "description": "Odoo records that are attached, at most 8; with `edit_of` those of the former"
                " wording if left out",
            },
            "prompt_server": {
                **TEXT,
                "maxLength": 200,
                "description": "Name of the MCP server whose prompt `content` is: not the person's own words",
            },
            "company_ids": {
                **_list(INT),
                "description": "Active companies; those of the browser if left out",
            },
        },
    ),
    "Decision": _object(
        {"id": TEXT, "decision": TEXT},
        {
            "arguments": {
                **OBJECT,
                "description": "All arguments of a call; with `unchanged` only the others; as asked if left out",
            },
            "unchanged": {
                **_list(TEXT),
                "description": "Names of arguments that stay as asked",
            },
            "content": OBJECT,
            "reason": TEXT,
            "shown": {
                **OBJECT,
                "description": "What was seen: `review_hash` by id of each call, empty for a call without one",
            },
        },
    ),
    "WaitingCalls": _object(
        {
            "calls": _list(
                _object(
                    {
                        "id": TEXT,
                        "client": {**TEXT, "description": "By its own name; empty with a key"},
                        "tool": TEXT,
                        "server": TEXT,
                        "args": OBJECT,
                        "reason": {**TEXT, "description": "Why the user is asked"},
                        "destructive": BOOL,
                        "choices": _list(TEXT),
                        "asked_at": MOMENT,
                        "expires_at": MOMENT,
                    }
                )
            )
        }
    ),
    "Usage": _object(
        {
            "budgets": _list(
                _object(
                    {
                        "id": INT,
                        "name": TEXT,
                        "scope": _one_of(
                            "company", "workspace", "service", "user", "each_user", "assistant"
                        ),
                        "unit": _one_of("day", "week", "month"),
                        "is_hard": BOOL,
                        "percent": {**INT, "description": "Used, at most 100"},
                        "limit": _or_null(NUMBER),
                        "left": _or_null(NUMBER),
                        "currency": {**_or_null(TEXT), "description": "Null: it counts tokens"},
                        "starts_again_at": MOMENT,
                    }
                )
            ),
            "month": _object(
                {
                    "since": MOMENT,
                    "currency": TEXT,
                    "assistants": _list(
                        _object({"id": _or_null(INT), "name": TEXT, "currency": TEXT, **USED})
                    ),
                }
            ),
        }
    ),
    "WorkspaceUsage": _object(
        {
            "workspace": _object({"id": INT, "name": TEXT}),
            "from": TEXT,
            "to": TEXT,
            "lines": _list(
                _object(
                    {
                        "service": _or_null(_object({"id": INT, "name": TEXT})),
                        "assistant": _or_null(_object({"id": INT, "name": TEXT})),
                        "currency": TEXT,
                        **USED,
                    }
                )
            ),
        }
    ),
    "Decisions": _object({"decisions": _list(_object(DECISION)), "total": INT}),
    "DecisionDetails": _object(
        {
            **DECISION,
            "question": {
                **OBJECT,
                "description": "Event of the turn, or the call of an MCP client as it waits",
            },
        }
    ),
    "ClientDecision": _object({"decision": TEXT}, {"reason": TEXT}),
    "UploadForm": _object({"file": {**TEXT, "format": "binary"}}),
    "Upload": _object({"name": TEXT, "data": {**TEXT, "description": "base64"}}),
    "ModelQuestion": _object(
        {"aiMessage": TEXT},
        {
            "userContext": TEXT,
            "includeMCPTools": BOOL,
            "toolResults": _list(OBJECT),
            "assistant_id": INT,
            "cloud_service_id": INT,
        },
    ),
    "PromptFill": _object({"server_id": INT, "name": TEXT}, {"arguments": VALUES}),
    "DefaultPromptFill": _object({"res_id": INT}),
    "NewPrompt": _object({"name": TEXT, "content": TEXT}, {"workspace_id": INT}),
    "PromptChange": _object({"name": TEXT, "content": TEXT}),
    "SavedPromptFill": _object({}, {"fields": VALUES}),
    "ResourceRead": _object({"server_id": INT, "uri": TEXT}),
    "ResourceAttach": _object({"server_id": INT, "uri": TEXT}, {"name": TEXT, "arguments": VALUES}),
    "Completion": _object(
        {"server_id": INT, "argument": TEXT, "value": TEXT},
        {"prompt": TEXT, "uri": TEXT, "arguments": VALUES},
    ),
    "ProviderAddress": _object({"api_base_url": TEXT}, {"api_key": TEXT, "provider_id": INT}),
    "Identity": _object({"unique_identity": OBJECT}),
    # ------------------------------------------------------------ assistants of cloud services
    "ServiceAssistant": _object(SERVICE_ASSISTANT),
    "ServiceAssistants": _object(
        {
            "assistants": _list(ref("ServiceAssistant")),
            "providers": _list(NAMED),
            "servers": _list(_object({"id": INT, "name": TEXT, "scope": SCOPE, "active": BOOL})),
        }
    ),
    "NewServiceAssistant": _object({}, {**OF_OWNER, "provider_id": INT}),
    "ServiceAssistantChange": _object(
        {},
        {
            **OF_OWNER,
            "provider_id": INT,
            "note": {**TEXT, "maxLength": 200, "description": "Why, for the list of versions"},
        },
    ),
    "AssistantVersions": _object(
        {
            "versions": _list(
                _object(
                    {
                        "id": INT,
                        "number": INT,
                        "created_at": MOMENT,
                        "created_by": TEXT,
                        "note": TEXT,
                        "is_current": BOOL,
                        "changes": _list(
                            _object(
                                {
                                    "field": TEXT,
                                    "lines": _list(
                                        _object({"sign": _one_of("+", "-", " ", "…"), "text": TEXT})
                                    ),
                                }
                            )
                        ),
                    }
                )
            ),
            "has_more": BOOL,
        }
    ),
    "RestoredAssistant": _object(
        {
            "assistant": ref("ServiceAssistant"),
            "left_out": {**_list(TEXT), "description": "What is no longer offered"},
        }
    ),
    "AssistantRatings": _object(
        {
            **RATINGS,
            "shared": {
                **_list(_object({"value": TEXT, "reason": TEXT, "text": TEXT})),
                "description": "Of people who share their answers",
            },
        }
    ),
}

PYTHON = {
    "string": str,
    "boolean": bool,
    "integer": int,
    "number": (int, float),
    "object": dict,
    "array": list,
}
WORDS = {
    "string": "a string",
    "boolean": "true or false",
    "integer": "an integer",
    "number": "a number",
    "object": "an object",
    "array": "a list",
}


def misfit(value, schema):
    """The required form of a value, None if it has it: the keywords that bodies use.

    >>> misfit("x", INT), misfit([1], _list(TEXT)), misfit("sse", TRANSPORT)
    ('an integer', 'a list, each item of it a string', None)
    """
    if "anyOf" in schema:  # or null
        return (value is not None and misfit(value, schema["anyOf"][0])) or None
    kind = schema["type"]
    if not isinstance(value, PYTHON[kind]) or (isinstance(value, bool) and kind != "boolean"):
        return WORDS[kind]
    if kind == "string":
        if value not in schema.get("enum", (value,)):
            return f"one of {', '.join(schema['enum'])}"
        if len(value) > (most := schema.get("maxLength", len(value))):
            return f"at most {most} characters long"
    if kind == "array":
        parts = (misfit(item, schema["items"]) for item in value if "items" in schema)
        return next((f"a list, each item of it {part}" for part in parts if part), None)
    return _misfit_of_object(value, schema) if kind == "object" else None


def _misfit_of_object(value, schema):
    properties, rest = schema.get("properties", {}), schema.get("additionalProperties", True)
    required = schema.get("required", ())
    for name in {**dict.fromkeys(required), **value}:
        if name in properties:
            is_left_out = value.get(name) is None and name not in required
            part = None if is_left_out else misfit(value.get(name), properties[name])
        elif rest is False:
            return f"an object without “{name}”"
        else:
            part = None if rest is True else misfit(value[name], rest)
        if part:
            return f"an object whose “{name}” is {part}"
    return None
