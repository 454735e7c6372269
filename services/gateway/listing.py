"""Lists as clients read them: in a fixed order, page by page."""

import base64
import binascii
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from .. import jsonrpc, text
from ..mcp.transport import param_headers
from ..specs import ToolSpec
from .envelope import Era
from .messages import RpcError

Entry = TypeVar("Entry")

PAGE = 100  # entries of one page
PAGE_WEIGHT = 1024 * 1024  # bytes of one page, about; it has one entry at least
MAX_CURSOR = 12_000  # characters
_AFTER = b"after:"  # begins a cursor, which names the last entry that was shown
_HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")


def tools(offered: Iterable[ToolSpec], cursor: Any, era: Era) -> dict[str, Any]:
    """One page of tools.

    :param cursor: see `page`
    """
    shown, more = page(
        offered, cursor, name=lambda tool: tool.alias, shape=lambda tool: definition(tool, era)
    )
    return {"tools": shown, **more}


def page(
    entries: Iterable[Entry],
    cursor: Any,
    name: Callable[[Entry], str],
    shape: Callable[[Entry], Mapping[str, Any]],
) -> tuple[list[Mapping[str, Any]], dict[str, str]]:
    """One page of a list, in the order of names: a change between two pages neither repeats nor hides another entry.

    :param entries: in any order
    :param cursor: `nextCursor` of the page before, None for the first
    :param name: of an entry, unique
    :param shape: makes of an entry what is shown
    :return: the page, and ``{"nextCursor"}`` if there is another one
    :raises RpcError: nobody here has given out this cursor
    """
    after = "" if cursor is None else _name_in(cursor)
    rest = sorted((entry for entry in entries if name(entry) > after), key=name)
    shown, room = [], PAGE_WEIGHT
    for entry in rest[:PAGE]:
        shown.append(shape(entry))
        room -= text.weight(shown[-1], PAGE_WEIGHT)
        if room <= 0:
            break
    is_last = len(shown) == len(rest)
    return shown, {} if is_last else {"nextCursor": _cursor(name(rest[len(shown) - 1]))}


def definition(tool: ToolSpec, era: Era) -> dict[str, Any]:
    """A tool as MCP's ``Tool``; a modern client sends some arguments as headers, too."""
    schema = tool.input_schema if era == "modern" else param_headers.without(tool.input_schema)
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
        if told == name.encode() or not name or not name.isprintable():
            raise ValueError
    except (binascii.Error, ValueError):
        raise RpcError(jsonrpc.INVALID_PARAMS, "The cursor is not valid.") from None
    return name
