"""The OpenAPI 3.1 document of the API; the tests hold every answer of it against the document."""

from .schemas import INT, SCHEMAS, TEXT, ref

SERVER_ID = "/api/mcp/servers/{server_id}"
TOOL_ID = "/api/mcp/tools/{tool_id}"
CONNECTED = "/api/mcp/connections/{server_id}"
SESSION = "/api/sessions/{conversation_id}/mcp-config"
OF_SERVICE = "/api/ai/cloud-services/{service_id}/assistants"
OWN_ASSISTANT = "/api/ai/assistants/{assistant_id}"
NEW_CHAT = "/api/ai/assistants/{assistant_id}/mcp-config"
AI = "/api/ai"
TALK = f"{AI}/conversations/{{conversation_id}}"
TURN = f"{AI}/turns/{{turn_id}}"
CHATS = ((TALK, ()), (f"{AI}/assistants/{{assistant_id}}", ("cloud_service_id",)))
PAGED = ("cloud_service_id", "limit", "after")

# (method, path): (summary, body, status, answer, query parameters)
OPERATIONS = {
    ("get", "/api/mcp/servers"): ("Servers visible to the caller", "", 200, "Servers", PAGED),
    ("post", "/api/mcp/servers"): ("Add a server", "NewServer", 201, "Server", ()),
    ("get", SERVER_ID): ("One server with its tools", "", 200, "Server", ()),
    ("put", SERVER_ID): ("Change a server", "ServerChange", 200, "Server", ()),
    ("delete", SERVER_ID): ("Delete a server", "", 204, "", ()),
    ("post", f"{SERVER_ID}/test"): ("Test a server step by step", "", 200, "Test", ()),
    ("post", f"{SERVER_ID}/sync"): ("Read the tools of a server", "", 200, "Server", ()),
    ("patch", f"{SERVER_ID}/toggle"): (
        "Switch a server on or off: for everyone, or for one or all of the caller's conversations",
        "Switch",
        200,
        "ServerOrConfig",
        (),
    ),
    ("post", "/api/mcp/batch"): ("One act on several servers", "Batch", 200, "BatchResults", ()),
    ("get", f"{SERVER_ID}/versions"): ("Configurations that it had", "", 200, "Versions", ()),
    ("post", f"{SERVER_ID}/versions/{{version_id}}/restore"): (
        "Give it this configuration again",
        "",
        200,
        "Server",
        (),
    ),
    ("put", f"{SERVER_ID}/lock"): ("Lock a server (administrators)", "Lock", 200, "Server", ()),
    ("delete", f"{SERVER_ID}/lock"): ("Unlock a server; it stays off", "", 200, "Server", ()),
    ("put", f"{TOOL_ID}/lock"): ("Lock a tool (administrators)", "Lock", 200, "Tool", ()),
    ("delete", f"{TOOL_ID}/lock"): ("Unlock a tool; it stays off", "", 200, "Tool", ()),
    ("put", f"{SERVER_ID}/my-policy"): (
        "Restrict the caller's own calls of a server's tools",
        "MyPolicy",
        200,
        "Server",
        (),
    ),
    ("put", f"{TOOL_ID}/my-policy"): (
        "Restrict the caller's own calls of a tool",
        "MyPolicy",
        200,
        "Tool",
        (),
    ),
    ("get", f"{SERVER_ID}/tools"): ("Tools of a server", "", 200, "Tools", ("limit", "after")),
    ("patch", TOOL_ID): ("Switch a tool", "ToolChange", 200, "Tool", ()),
    ("post", f"{TOOL_ID}/try"): ("Try a tool (who manages it)", "Trial", 200, "Tried", ()),
    ("post", "/api/mcp/execute-tool"): ("Call a tool", "Call", 200, "Outcome", ()),
    ("post", "/api/mcp/execute-tools"): ("Call tools in parallel", "Calls", 200, "Outcomes", ()),
    ("get", "/api/mcp/templates"): (
        "Forms for well-known servers",
        "",
        200,
        "Templates",
        ("scope",),
    ),
    ("get", "/api/mcp/templates/export"): (
        "Templates as a file",
        "",
        200,
        "TemplateFile",
        ("ids",),
    ),
    ("post", "/api/mcp/templates/import"): (
        "Add the templates of a file",
        "TemplateFile",
        201,
        "ImportedTemplates",
        (),
    ),
    ("get", "/api/mcp/connections"): (
        "Servers that require the caller's own key",
        "",
        200,
        "Connections",
        (),
    ),
    ("put", CONNECTED): ("Add or replace the caller's key", "Key", 200, "Connection", ()),
    ("delete", CONNECTED): ("Delete the caller's key", "", 204, "", ()),
    ("get", "/api/mcp/keys"): (
        "The caller's connected MCP clients and keys for them",
        "",
        200,
        "ClientKeys",
        (),
    ),
    ("post", "/api/mcp/keys"): (
        "Make a key for MCP clients (a signed-in person)",
        "NewClientKey",
        201,
        "MadeClientKey",
        (),
    ),
    ("delete", "/api/mcp/keys/{key_id}"): ("Revoke a key for MCP clients", "", 204, "", ()),
    ("delete", "/api/mcp/clients/{grant_id}"): ("Disconnect an MCP client", "", 204, "", ()),
    ("get", "/api/mcp/calls/waiting"): (
        "Calls of the caller's MCP clients that wait for a decision",
        "",
        200,
        "WaitingCalls",
        (),
    ),
    ("post", "/api/mcp/calls/{call_id}/decision"): (
        "Allow or deny such a call (a signed-in person)",
        "ClientDecision",
        204,
        "",
        (),
    ),
    ("get", "/api/mcp/export"): (
        "Servers as mcpServers JSON, with placeholders for secrets",
        "",
        200,
        "Document",
        ("cloud_service_id", "ids", "download"),
    ),
    ("post", "/api/mcp/import"): (
        "Add servers from mcpServers JSON",
        "Import",
        201,
        "Imported",
        (),
    ),
    ("get", SESSION): ("Servers used by a conversation", "", 200, "Config", ()),
    ("get", NEW_CHAT): (
        "Servers available to a new chat",
        "",
        200,
        "Config",
        ("cloud_service_id",),
    ),
    ("get", f"{AI}/assistants/{{assistant_id}}/records"): (
        "Odoo records that a question to an assistant can attach; `q` is a part of their names",
        "",
        200,
        "Records",
        ("q",),
    ),
    ("get", f"{AI}/assistants/{{assistant_id}}/default-prompts"): (
        "Prompts for a new chat about a record of `model`",
        "",
        200,
        "DefaultPrompts",
        ("model",),
    ),
    ("post", f"{AI}/default-prompts/{{prompt_id}}/fill"): (
        "One of them with the values of a record",
        "DefaultPromptFill",
        200,
        "FilledPrompt",
        (),
    ),
    ("get", f"{AI}/saved-prompts"): (
        "The caller's prompts, and those of the caller's workspaces",
        "",
        200,
        "SavedPrompts",
        (),
    ),
    ("post", f"{AI}/saved-prompts"): ("Add one", "NewPrompt", 201, "SavedPrompt", ()),
    ("patch", f"{AI}/saved-prompts/{{prompt_id}}"): (
        "Change it",
        "PromptChange",
        200,
        "SavedPrompt",
        (),
    ),
    ("delete", f"{AI}/saved-prompts/{{prompt_id}}"): ("Delete it", "", 204, "", ()),
    ("post", f"{AI}/saved-prompts/{{prompt_id}}/fill"): (
        "Its text with words in place of its fields, to be read and sent",
        "SavedPromptFill",
        200,
        "FilledPrompt",
        (),
    ),
    ("put", SESSION): ("Choose the servers by name", "ConfigChange", 200, "Config", ()),
    ("get", f"{AI}/assistants"): (
        "Assistants of the caller, with those of a cloud service for chats about it",
        "",
        200,
        "Assistants",
        ("cloud_service_id",),
    ),
    ("get", OF_SERVICE): (
        "Assistants of a cloud service, and what can be chosen for them (who manages it)",
        "",
        200,
        "ServiceAssistants",
        (),
    ),
    ("post", OF_SERVICE): ("Add one", "NewServiceAssistant", 201, "ServiceAssistant", ()),
    ("put", OWN_ASSISTANT): ("Change one", "ServiceAssistantChange", 200, "ServiceAssistant", ()),
    ("delete", OWN_ASSISTANT): ("Delete one", "", 204, "", ()),
    ("get", f"{OWN_ASSISTANT}/versions"): (
        "Its versions, the latest first",
        "",
        200,
        "AssistantVersions",
        ("limit", "before"),
    ),
    ("post", f"{OWN_ASSISTANT}/versions/{{version_id}}/restore"): (
        "Write again what a version held",
        "",
        200,
        "RestoredAssistant",
        (),
    ),
    ("get", f"{OWN_ASSISTANT}/ratings"): (
        "Ratings of its answers, without who rated and what was said",
        "",
        200,
        "AssistantRatings",
        (),
    ),
    ("get", f"{AI}/cloud-services"): ("Cloud services of the caller", "", 200, "CloudServices", ()),
    ("get", f"{AI}/conversations"): (
        "Conversations of the caller, pinned ones and the latest first; `q` finds words",
        "",
        200,
        "Conversations",
        (
            "cloud_service_id",
            "limit",
            "before",
            "q",
            "archived",
            "folder_id",
            "assistant_id",
            "since",
            "has_files",
            "res_model",
            "res_id",
        ),
    ),
    ("get", f"{AI}/conversations/records"): (
        "Records that the caller's conversations are about, and how many are",
        "",
        200,
        "ConversationCounts",
        (),
    ),
    ("post", f"{AI}/conversations/batch"): (
        "Pin, archive, move or delete several conversations",
        "ConversationBatch",
        200,
        "BatchResults",
        (),
    ),
    ("post", f"{AI}/conversations"): (
        "Begin a conversation",
        "NewConversation",
        201,
        "Conversation",
        (),
    ),
    ("get", f"{AI}/folders"): ("The caller's folders", "", 200, "Folders", ()),
    ("post", f"{AI}/folders"): ("Add one", "NewFolder", 201, "Folder", ()),
    ("patch", f"{AI}/folders/{{folder_id}}"): (
        "Change its name, or what holds for its conversations",
        "FolderChange",
        200,
        "Folder",
        (),
    ),
    ("delete", f"{AI}/folders/{{folder_id}}"): (
        "Delete it; its conversations stay",
        "",
        204,
        "",
        (),
    ),
    ("get", TALK): ("Its latest messages", "", 200, "ConversationPage", ("limit", "before")),
    ("get", f"{TALK}/export"): (
        "The whole conversation as a file; `format` is `markdown`, `pdf` or `json`",
        "",
        200,
        "",
        ("format",),
    ),
    ("patch", TALK): ("Rename it", "NewName", 200, "Conversation", ()),
    ("delete", TALK): ("Delete it", "", 204, "", ()),
    ("post", f"{TALK}/seen"): ("Say that its answers are in view", "", 204, "", ()),
    ("post", f"{TALK}/messages"): ("Ask; the answer is a turn", "Question", 202, "Accepted", ()),
    ("post", f"{TALK}/attachments"): ("Keep a file for a message", "Upload", 201, "File", ()),
    ("post", f"{AI}/attachments"): (
        "Read and keep a file before its message is sent",
        "UploadForm",
        201,
        "UnsentFile",
        (),
    ),
    ("get", f"{AI}/attachments/{{attachment_id}}"): ("A file's content", "", 200, "", ()),
    ("delete", f"{AI}/attachments/{{attachment_id}}"): ("Discard one not sent", "", 204, "", ()),
    ("get", TURN): ("What became of a turn, with its calls", "", 200, "EndedTurn", ()),
    ("get", f"{TURN}/stream"): ("Its events, as text/event-stream", "", 200, "", ("after",)),
    ("post", f"{TURN}/stop"): ("Stop it", "", 200, "Stopped", ()),
    ("post", f"{TURN}/retry"): ("Answer the question once more", "Retry", 202, "Accepted", ()),
    ("post", f"{TURN}/continue"): (
        "Continue from the answer in a new conversation",
        "",
        201,
        "Conversation",
        (),
    ),
    ("post", f"{TURN}/show"): ("Show another version of a question", "", 200, "Conversation", ()),
    ("get", f"{AI}/usage"): ("The caller's budgets and use of this month", "", 200, "Usage", ()),
    ("get", f"{AI}/workspaces/{{workspace_id}}/usage"): (
        "What a workspace has used, by service and assistant",
        "",
        200,
        "WorkspaceUsage",
        ("from", "to", "format"),
    ),
    ("get", f"{AI}/decisions"): (
        "Decisions that wait for the caller, the newest first",
        "",
        200,
        "Decisions",
        ("limit",),
    ),
    ("get", f"{AI}/decisions/{{decision_id}}"): (
        "One of them with its question",
        "",
        200,
        "DecisionDetails",
        (),
    ),
    ("get", f"{TURN}/rehearsal"): (
        "More records that a call which waits would change",
        "",
        200,
        "FurtherChanges",
        ("call", "after", "limit"),
    ),
    ("get", f"{AI}/calls/{{call_id}}/explanation"): (
        "Why a call was made, asked about or refused",
        "",
        200,
        "Explanation",
        (),
    ),
    ("post", f"{TURN}/decision"): ("Decide what an event asked", "Decision", 200, "Decided", ()),
    ("put", f"{TURN}/rating"): ("Rate an own answer", "NewRating", 200, "Rating", ()),
    ("delete", f"{TURN}/rating"): ("Take the rating back", "", 204, "", ()),
    ("get", f"{AI}/preferences"): ("The caller's preferences", "", 200, "Preferences", ()),
    ("patch", f"{AI}/preferences"): ("Change them", "PreferencesChange", 200, "Preferences", ()),
    ("get", f"{AI}/grants"): ("What the caller allows for good", "", 200, "Permissions", ()),
    ("delete", f"{AI}/grants/{{grant_id}}"): ("Take it back", "", 204, "", ()),
    ("get", f"{AI}/sign-ins"): ("Servers that the caller has signed in to", "", 200, "SignIns", ()),
    ("delete", f"{AI}/sign-ins/{{sign_in_id}}"): ("Sign out", "", 204, "", ()),
    ("post", f"{AI}/providers/{{provider_id}}/test"): (
        "Test a provider step by step (administrators)",
        "",
        200,
        "ProviderTest",
        (),
    ),
    ("post", f"{AI}/providers/models"): (
        "Names of the models of a provider (administrators)",
        "ProviderAddress",
        200,
        "ModelNames",
        (),
    ),
    ("get", f"{AI}/health"): ("How this Odoo's AI is", "", 200, "Health", ()),
    ("post", "/api/ai-reply"): ("One answer of the model", "ModelQuestion", 200, "Reply", ()),
    **{
        ("get", f"{chat}/prompts"): ("Prompts of the servers", "", 200, "Listed", query)
        for chat, query in CHATS
    },
    **{
        ("post", f"{chat}/prompts/get"): ("Fill in a prompt", "PromptFill", 200, "Filled", query)
        for chat, query in CHATS
    },
    **{
        ("post", f"{chat}/command"): (
            "State, tools or a reload of the chat's servers, as lines to show",
            "Command",
            200,
            "CommandAnswer",
            query,
        )
        for chat, query in CHATS
    },
    **{
        ("post", f"{chat}/complete"): (
            "Complete an argument",
            "Completion",
            200,
            "Completed",
            query,
        )
        for chat, query in CHATS
    },
    **{
        ("get", f"{chat}/resources"): ("Resources of the servers", "", 200, "Listed", query)
        for chat, query in CHATS
    },
    ("post", f"{TALK}/resources/read"): ("Read one", "ResourceRead", 200, "Contents", ()),
    ("post", f"{TALK}/resources/attach"): (
        "Keep one for a message",
        "ResourceAttach",
        200,
        "Attached",
        (),
    ),
}
FORMS = {"UploadForm"}  # bodies that are sent as multipart/form-data
WORDS = {
    "q",
    "scope",
    "ids",
    "from",
    "to",
    "since",
    "format",
    "call",
    "call_id",
    "decision_id",
}  # parameters that are no numbers


def _content(name):
    kind = "multipart/form-data" if name in FORMS else "application/json"
    return {"content": {kind: {"schema": ref(name)}}}


def _parameters(path, query):
    names = [part[1:-1] for part in path.split("/") if part.startswith("{")]
    places = [(name, {"in": "path", "required": True}) for name in names]
    places += [(name, {"in": "query"}) for name in query]
    return [
        {"name": name, **place, "schema": TEXT if name in WORDS else INT} for name, place in places
    ]


def _operation(path, summary, body, status, answer, query):
    operation = {
        "summary": summary,
        "responses": {
            str(status): {"description": summary, **(_content(answer) if answer else {})},
            "default": {"description": "Error message", **_content("Error")},
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
        "info": {"title": "AI assistants and MCP servers", "version": version},
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
OWNERS = {
    "sessions": "conversation_id",
    "cloud-services": "service_id",
    "connections": "server_id",
    "sign-ins": "sign_in_id",
}


def match(path):
    """The path of the document that an address belongs to."""
    parts = path.partition("?")[0].split("/")
    return "/".join(
        ("{" + OWNERS.get(before, f"{before.rstrip('s')}_id") + "}" if part.isdecimal() else part)
        for before, part in zip(["", *parts], parts, strict=False)
    )
