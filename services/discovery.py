"""Reads the tools of a server: every page, one broken entry costs only itself."""

import time
from collections.abc import Mapping
from typing import Any

from . import text
from .errors import ProtocolError, ServerTimeout
from .sessions import Session
from .specs import DiscoveredTool

MAX_PAGES = 100
MAX_TOOLS = 1_000  # of one server; the host offers fewer, see const.MAX_TOOLS_PER_SERVER
MAX_NAME = 200  # characters; MCP says 128 (SEP-986)
MAX_DESCRIPTION = 8_000  # characters


async def list_tools(session: Session, timeout: float) -> list[DiscoveredTool]:
    """:param timeout: seconds for all pages
    :raises ServerError: the list cannot be read at all
    """
    deadline = time.monotonic() + timeout
    found: dict[str, DiscoveredTool] = {}
    cursor, seen = None, set()
    for _ in range(MAX_PAGES):
        left = deadline - time.monotonic()
        if left <= 0:
            raise ServerTimeout
        page = await session.request(
            "tools/list", {"cursor": cursor} if cursor else None, timeout=left
        )
        tools = page.get("tools")
        if not isinstance(tools, list):
            raise ProtocolError("The MCP server sent a list of tools that is not a list.")
        for item in tools:
            if (tool := _tool(item)) and len(found) < MAX_TOOLS:
                found.setdefault(tool.name, tool)
        cursor = page.get("nextCursor")
        if not isinstance(cursor, str) or not cursor or cursor in seen or len(found) >= MAX_TOOLS:
            break
        seen.add(cursor)
    return list(found.values())


def _tool(item: Any) -> DiscoveredTool | None:
    if not isinstance(item, Mapping) or not isinstance(item.get("name"), str):
        return None
    name = item["name"]
    if not name or len(name) > MAX_NAME or text.clean(name) != name:
        return None
    annotations = item.get("annotations") if isinstance(item.get("annotations"), Mapping) else {}
    title = item.get("title") or annotations.get("title")
    schema, output = item.get("inputSchema"), item.get("outputSchema")
    return DiscoveredTool(
        name=name,
        title=text.one_line(title, 200) if isinstance(title, str) else "",
        description=text.clean(item["description"])[:MAX_DESCRIPTION]
        if isinstance(item.get("description"), str)
        else "",
        input_schema=dict(schema) if isinstance(schema, Mapping) else {},
        output_schema=dict(output) if isinstance(output, Mapping) else None,
        annotations=dict(annotations),
    )
