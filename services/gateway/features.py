"""Prompts and resources of a host's MCP servers, as any client may be given them.

Prompts have names like those of tools (`services.turn.names`), resources the addresses of `uris`. What the servers of a
host have comes in as `services.mcp.features.prompts_resources` reads it; what one of them answers is untrusted.
Sources: MCP 2025-11-25, server/prompts, server/resources and server/utilities/completion; the same pages of 2026-07-28.
"""

from collections.abc import Mapping
from typing import Any

from .. import text
from . import results, uris

MAX_PARTS = 50  # messages of a prompt, or parts of a resource
MAX_CONTENT = 4 * 1024 * 1024  # bytes of one prompt or resource, about
ROLES = ("user", "assistant")


def prompt(entry: Mapping[str, Any], alias: str) -> dict[str, Any]:
    """MCP's ``Prompt``.

    :param entry: ``Prompt`` of `prompts_resources` as a dict
    """
    arguments = [{**_named(one), "required": one["required"]} for one in entry["arguments"]]
    return {**_named({**entry, "name": alias}), "arguments": arguments}


def resource(entry: Mapping[str, Any], server: str, key: str = "uri") -> dict[str, Any]:
    """MCP's ``Resource``.

    :param entry: ``Resource`` of `prompts_resources` as a dict
    :param key: "uriTemplate" makes it a ``ResourceTemplate``
    """
    described = {key: uris.address(server, entry["uri"]), **_named(entry)}
    if entry["mimetype"]:
        described["mimeType"] = entry["mimetype"]
    if entry["size"] is not None and key == "uri":
        described["size"] = entry["size"]
    return described


def filled(answer: Mapping[str, Any], server: str) -> dict[str, Any]:
    """MCP's ``GetPromptResult``: only members that it names pass, and only in their form.

    :param answer: of a server, untrusted
    :param server: that of `uris.address`
    """
    room, messages = MAX_CONTENT, []
    for message in _items(answer, "messages"):
        if message.get("role") in ROLES:
            content = results.block(message.get("content"), server)
            room -= text.weight(content, MAX_CONTENT)
            shown = content if room >= 0 else results.left_out("content")
            messages.append({"role": message["role"], "content": shown})
    described = answer.get("description")
    more = {"description": text.clean(described)} if isinstance(described, str) else {}
    return {**more, "messages": messages}


def contents(answer: Mapping[str, Any], server: str) -> dict[str, Any]:
    """MCP's ``ReadResourceResult``.

    :param answer: see `filled`
    """
    room, parts = MAX_CONTENT, []
    for part in _items(answer, "contents"):
        if kept := results.resource(part, server):
            room -= text.weight(kept, MAX_CONTENT)
            left_out = {"uri": kept["uri"], "text": results.left_out("content")["text"]}
            parts.append(kept if room >= 0 else left_out)
    return {"contents": parts}


def completion(found: Mapping[str, Any]) -> dict[str, Any]:
    """MCP's ``CompleteResult``.

    :param found: ``Completion`` of `prompts_resources` as a dict
    """
    values = {"values": list(found["values"]), "hasMore": found["has_more"]}
    if found["total"] is not None:
        values["total"] = found["total"]
    return {"completion": values}


def _named(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {key: entry[key] for key in ("name", "title", "description") if entry[key]}


def _items(answer: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    given = answer.get(key)
    given = given[:MAX_PARTS] if isinstance(given, list) else []
    return [item for item in given if isinstance(item, Mapping)]
