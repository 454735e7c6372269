"""Lists of tools as clients read them: definitions in a fixed order, page by page."""

import base64
import binascii
from collections.abc import Iterable, Mapping
from typing import Any

from .. import jsonrpc, text
from ..mcp.transport import param_headers
from ..specs import ToolSpec
from ..turn import names
from .envelope import Era
from .messages import RpcError

PAGE = 100  # tools of one page
PAGE_WEIGHT = 1024 * 1024  # bytes of one page, about; it has one tool at least
MAX_CURSOR = 200  # characters
_AFTER = b"after:"  # begins a cursor, which names the last tool that was shown
_HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")


def page(tools: Iterable[ToolSpec], cursor: Any, era: Era) -> dict[str, Any]:
    """One page of a list, in the order of names: what changes between two pages neither repeats nor hides another tool.

    :param tools: in any order
    :param cursor: `nextCursor` of the page before, None for the first
    :raises RpcError: nobody here has given out this cursor
    """
    after = "" if cursor is None else _name_in(cursor)
    rest = sorted((tool for tool in tools if tool.alias > after), key=lambda tool: tool.alias)
    shown, room = [], PAGE_WEIGHT
    for tool in rest[:PAGE]:
        shown.append(definition(tool, era))
        room -= text.weight(shown[-1], PAGE_WEIGHT)
        if room <= 0:
            break
    found: dict[str, Any] = {"tools": shown}
    if len(shown) < len(rest):
        found["nextCursor"] = _cursor(shown[-1]["name"])
    return found


def definition(tool: ToolSpec, era: Era) -> dict[str, Any]:
    """A tool as MCP's ``Tool``. Which arguments its server wants as headers is between us and that server."""
    schema = param_headers.without(tool.input_schema)
    described: dict[str, Any] = {"name": tool.alias, "inputSchema": {**schema, "type": "object"}}
    if tool.title:
        described["title"] = tool.title
    if tool.description:
        described["description"] = tool.description
    promised = tool.output_schema
    if promised and (era == "modern" or promised.get("type") == "object"):
        described["outputSchema"] = dict(promised)
    if annotations := _annotations(tool.annotations):
        described["annotations"] = annotations
    return described


def _annotations(given: Mapping[str, Any]) -> dict[str, Any]:
    """The hints of ``ToolAnnotations`` that have their form."""
    return {name: given[name] for name in _HINTS if isinstance(given.get(name), bool)}


def _cursor(name: str) -> str:
    return base64.urlsafe_b64encode(_AFTER + name.encode()).decode()


def _name_in(cursor: Any) -> str:
    try:
        if not isinstance(cursor, str) or len(cursor) > MAX_CURSOR:
            raise ValueError
        told = base64.b64decode(cursor, altchars=b"-_", validate=True)
        name = told.removeprefix(_AFTER).decode()
        if told == name.encode() or not names.LEGAL.fullmatch(name):
            raise ValueError
    except (binascii.Error, ValueError):
        raise RpcError(jsonrpc.INVALID_PARAMS, "The cursor is not valid.") from None
    return name
