"""The prompts and resources of `FakeMcp`; what a test wants otherwise it says in `FakeMcp.faults`."""

from typing import Any

from .fake_tools import PNG, Call

CAPABILITIES = {"prompts": {}, "resources": {}, "completions": {}}
PROMPTS = [
    {
        "name": "greet",
        "title": "Greeting",
        "description": "Greets somebody",
        "arguments": [{"name": "who", "required": True}, {"name": "tone"}],
    },
    {"name": "picture", "description": "Shows a picture"},
]
RESOURCES = {
    "note://one": {"name": "one", "mimeType": "text/plain", "text": "第一"},
    "note://two": {"name": "two", "mimeType": "text/plain", "text": "x" * 30_000},
    "pic://red.png": {"name": "red", "mimeType": "image/png", "blob": PNG, "size": 32},
}
TEMPLATES = [{"uriTemplate": "note://{name}", "name": "notes", "mimeType": "text/plain"}]
TONES = ["warm", "wary", "cold"]


def answer(method: str, call: Call) -> dict[str, Any] | None:
    """The result or error of a request, None if it is about something else."""
    if method == "prompts/list":
        return {"result": page(call, "prompts", PROMPTS)}
    if method == "prompts/get":
        return _prompt(call)
    if method == "resources/list":
        known = [
            {"uri": uri, **{key: entry[key] for key in entry if key not in ("text", "blob")}}
            for uri, entry in RESOURCES.items()
        ]
        return {"result": page(call, "resources", known)}
    if method == "resources/templates/list":
        return {"result": page(call, "resourceTemplates", TEMPLATES)}
    if method == "resources/read":
        uri = call.params["uri"]
        if uri not in RESOURCES:
            return {"error": {"code": -32002, "message": f"Resource not found: {uri}"}}
        return {"result": {"contents": [{"uri": uri, **RESOURCES[uri]}]}}
    if method == "completion/complete":
        value = call.params["argument"]["value"]
        values = [tone for tone in TONES if tone.startswith(value)]
        return {"result": {"completion": {"values": values, "total": len(values)}}}
    return None


def page(call: Call, key: str, entries: list) -> dict[str, Any]:
    """One page of a ``…/list`` request, of the fake's size."""
    start = int(call.params.get("cursor") or 0)
    end = start + call.fake.page
    more = {"nextCursor": str(end)} if end < len(entries) else {}
    return {key: entries[start:end], **more}


def _prompt(call: Call) -> dict[str, Any]:
    if call.params["name"] == "picture":
        block = {"type": "image", "data": PNG, "mimeType": "image/png"}
    elif "who" not in call.arguments:
        return {"error": {"code": -32602, "message": "Missing argument: who"}}
    else:
        block = {"type": "text", "text": f"Greet {call.arguments['who']}."}
    return {"result": {"messages": [{"role": "user", "content": block}]}}
