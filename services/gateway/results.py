"""Results of calls, as any client may be given them: MCP's ``CallToolResult`` of both eras."""

from collections.abc import Callable, Mapping
from typing import Any

from .. import text
from . import uris
from .host import ToolResult

MAX_BLOCKS = 5_000  # parts of one result
AUDIO_SINCE, LINKS_SINCE = "2025-03-26", "2025-06-18"  # revisions that brought these kinds


def of_tool(answer: Mapping[str, Any], server: str = "") -> ToolResult:
    """The result of a tool. It is untrusted: only members that MCP names pass, and only in their form.

    :param answer: a server's ``CallToolResult``
    :param server: of `uris.address`, for what the result links to
    """
    blocks = answer.get("content")
    blocks = blocks if isinstance(blocks, list) else []
    content = [block(one, server) for one in blocks[:MAX_BLOCKS]]
    if len(blocks) > MAX_BLOCKS:
        content.append(left_out(f"{len(blocks) - MAX_BLOCKS} more parts"))
    result: dict[str, Any] = {"content": content, "isError": answer.get("isError") is True}
    if answer.get("structuredContent") is not None:
        result["structuredContent"] = answer["structuredContent"]
    return result


def failed(sentence: str, code: str) -> ToolResult:
    """The result of a call that no tool has answered.

    :param code: snake_case, stable; programs find it as `code` in `_meta`
    """
    return {"content": [_text(sentence)], "isError": True, "_meta": {"code": code}}


def said(sentence: str) -> ToolResult:
    """A result of the host's own."""
    return {"content": [_text(sentence)], "isError": False}


def for_version(result: ToolResult, version: str) -> ToolResult:
    """The result without what an older client could not read.

    :param version: that the client speaks, the oldest where that is not known
    """
    content = [block_for_version(one, version) for one in result["content"]]
    shown = {**result, "content": content}
    if not isinstance(shown.get("structuredContent"), Mapping):
        shown.pop("structuredContent", None)  # any JSON only from 2026-07-28 on
    return shown


def block_for_version(content: Mapping[str, Any], version: str) -> Mapping[str, Any]:
    """One part of a result or prompt, see `for_version`."""
    is_known = version >= _SINCE.get(content["type"], "")
    return content if is_known else left_out(content["type"])


def block(content: Any, server: str = "") -> dict[str, Any]:
    """One part, of nothing but the members that its kind requires.

    :param content: untrusted
    :param server: see `of_tool`
    """
    kind = content.get("type") if isinstance(content, Mapping) else None
    shape = _SHAPES.get(kind) if isinstance(kind, str) else None
    kept = shape(content, server) if shape else None
    name = text.one_line(kind, 40) if isinstance(kind, str) else "something"
    return kept or left_out(name)


def resource(given: Any, server: str = "") -> dict[str, Any] | None:
    """Contents of a resource, None where they have not their form; as `block`."""
    if not isinstance(given, Mapping):
        return None
    kept = _members(given, ("uri", "text"), ("mimeType",))
    kept = kept or _members(given, ("uri", "blob"), ("mimeType",))
    return {**kept, "uri": uris.address(server, kept["uri"])} if kept else None


def left_out(what: str) -> dict[str, Any]:
    """Text in place of content that is not passed on."""
    return _text(f"[left out: {what}]")


def _text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def _of_text(given: Mapping[str, Any], _server: str) -> dict[str, Any] | None:
    said = given.get("text")
    return _text(text.clean(said)) if isinstance(said, str) else None


def _of_file(given: Mapping[str, Any], _server: str) -> dict[str, Any] | None:
    return _members(given, ("type", "data", "mimeType"))


def _of_link(given: Mapping[str, Any], server: str) -> dict[str, Any] | None:
    kept = _members(given, ("type", "uri", "name"), ("title", "description", "mimeType"))
    return {**kept, "uri": uris.address(server, kept["uri"])} if kept else None


def _of_resource(given: Mapping[str, Any], server: str) -> dict[str, Any] | None:
    kept = resource(given.get("resource"), server)
    return {"type": "resource", "resource": kept} if kept else None


def _members(
    given: Mapping[str, Any], required: tuple[str, ...], optional: tuple[str, ...] = ()
) -> dict[str, Any] | None:
    kept = {name: given[name] for name in required + optional if isinstance(given.get(name), str)}
    return kept if kept.keys() >= {*required} else None


_SHAPES: dict[str, Callable[[Mapping[str, Any], str], dict[str, Any] | None]] = {
    "text": _of_text,
    "image": _of_file,
    "audio": _of_file,
    "resource_link": _of_link,
    "resource": _of_resource,
}
_SINCE = {"audio": AUDIO_SINCE, "resource_link": LINKS_SINCE}
