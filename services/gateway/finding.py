"""Tools that clients find instead of being listed them, where all definitions would fill their context.

A client that is listed `find_tools` calls what it has found by `call_tool`: the call is the same as by the tool's name.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from .. import text
from ..specs import ServerSpec, ToolSpec
from ..toolset import definition, lookup
from . import listing, results
from .envelope import Era
from .host import ToolResult

ROOM = 24_000  # characters of definitions in one answer; at least one tool is shown whole
ABOUT = 120  # characters of a description of those that find no room
FIND = replace(
    lookup.FIND,
    description=(
        "Finds tools among those that are not listed here, with their definitions. Say in a few words what each one"
        " should do, one query for each step of the task. Call what is found with call_tool."
    ),
    annotations={"readOnlyHint": True, "openWorldHint": False},
)
DESCRIBE = replace(
    lookup.DESCRIBE,
    description="Shows the definitions of tools that find_tools has named.",
    annotations={"readOnlyHint": True, "openWorldHint": False},
)
CALL = ToolSpec(
    id=0,
    server_id=0,
    name="call_tool",
    alias="call_tool",
    definition="call_tool",
    title="Call a tool",
    description="Calls a tool that find_tools or describe_tools has shown.",
    input_schema={
        "type": "object",
        "properties": {
            "name": {"type": "string", "maxLength": 64},
            "arguments": {"type": "object", "description": "By the tool's inputSchema."},
        },
        "required": ["name", "arguments"],
    },
)
NAMES = frozenset(tool.alias for tool in (FIND, DESCRIBE, CALL))


def listed(
    offered: Sequence[ToolSpec], servers: Mapping[int, ServerSpec], room: int
) -> Sequence[ToolSpec]:
    """The tools that a client is listed: all, or the host's own and those that find the others.

    :param offered: all that the caller may call
    :param servers: of these tools, by id
    :param room: tokens of all definitions up to which they are listed; 0 for any number
    """
    if not room or _tokens(offered, room) <= room:
        return offered
    hidden = [tool for tool in offered if tool.server_id]
    catalogue = lookup.Lookup(hidden, servers).catalog(
        definition.MAX_DESCRIPTION - len(FIND.description) - 2
    )
    find = replace(FIND, description=f"{FIND.description}\n\n{catalogue}")
    return [tool for tool in offered if not tool.server_id] + [find, DESCRIBE, CALL]


def answer(
    name: str,
    arguments: Mapping[str, Any],
    offered: Sequence[ToolSpec],
    servers: Mapping[int, ServerSpec],
    era: Era,
) -> ToolResult:
    """Answer `FIND` or `DESCRIBE`.

    :param arguments: of the client, not checked
    """
    key, limit = (
        ("queries", lookup.MAX_QUERIES) if name == FIND.alias else ("names", lookup.MAX_FOUND)
    )
    given = arguments.get(key)
    if not isinstance(given, list) or not given or not all(isinstance(one, str) for one in given):
        return results.failed(f"`{key}` must be a list of strings.", "invalid_arguments")
    asked = [one[:300] for one in given[:limit]]
    if name == FIND.alias:
        found = lookup.Lookup(offered, servers).find(asked)
        return _told(found, era) if found else results.said(lookup.NOTHING)
    by_name = {tool.alias: tool for tool in offered}
    unknown = [one for one in asked if one not in by_name]
    if unknown:
        return results.failed(f"There is no tool {unknown[0][:64]!r}.", "not_found")
    return _told([by_name[one] for one in asked], era)


def _told(tools: Iterable[ToolSpec], era: Era) -> ToolResult:
    told: dict[str, list[dict[str, Any]]] = {"tools": []}
    room = ROOM
    for tool in tools:
        defined = listing.definition(tool, era)
        room -= text.weight(defined, ROOM + 1)
        if room > 0 or not told["tools"]:
            told["tools"].append(defined)
        else:
            about = text.one_line(definition.described(tool), ABOUT)
            told.setdefault("more", []).append({"name": tool.alias, "description": about})
    return results.said(json.dumps(told, ensure_ascii=False))


def _tokens(tools: Iterable[ToolSpec], room: int) -> int:
    """About how many tokens the definitions cost; counting ends beyond `room`."""
    total = 0
    for tool in tools:
        total += text.tokens(json.dumps(listing.definition(tool, "modern"), ensure_ascii=False))
        if total > room:
            break
    return total
