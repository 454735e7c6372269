"""Results of calls, as any client may be given them: MCP's ``CallToolResult`` of both eras."""

from collections.abc import Callable, Mapping
from typing import Any

from .. import text
from .host import ToolResult

MAX_BLOCKS = 5_000  # parts of one result
AUDIO_SINCE, LINKS_SINCE = "2025-03-26", "2025-06-18"  # revisions that brought these kinds


def of_tool(answer: Mapping[str, Any]) -> ToolResult:
    """The result of a tool. It is untrusted: only members that MCP names pass, and only in their form.

    :param answer: a server's ``CallToolResult``
    """
    blocks = answer.get("content")
    blocks = blocks if isinstance(blocks, list) else []
    content = [_block(block) for block in blocks[:MAX_BLOCKS]]
    if len(blocks) > MAX_BLOCKS:
        content.append(_left_out(f"{len(blocks) - MAX_BLOCKS} more parts"))
    result: dict[str, Any] = {"content": content, "isError": answer.get("isError") is True}
    if answer.get("structuredContent") is not None:
        result["structuredContent"] = answer["structuredContent"]
    return result


def failed(sentence: str, code: str) -> ToolResult:
    """The result of a call that no tool has answered.

    :param code: snake_case, stable; programs find it as `code` in `_meta`
    """
    return {"content": [_text(sentence)], "isError": True, "_meta": {"code": code}}


def for_version(result: ToolResult, version: str) -> ToolResult:
    """The result without what an older client could not read.

    :param version: that the client speaks, the oldest where that is not known
    """
    content = [
        _left_out(block["type"]) if version < _SINCE.get(block["type"], "") else block
        for block in result["content"]
    ]
    shown = {**result, "content": content}
    if not isinstance(shown.get("structuredContent"), Mapping):
        shown.pop("structuredContent", None)  # any JSON only from 2026-07-28 on
    return shown


def _block(block: Any) -> dict[str, Any]:
    """One part, of nothing but the members that its kind requires."""
    kind = block.get("type") if isinstance(block, Mapping) else None
    shape = _SHAPES.get(kind) if isinstance(kind, str) else None
    kept = shape(block) if shape else None
    name = text.one_line(kind, 40) if isinstance(kind, str) else "something"
    return kept or _left_out(name)


def _text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def _left_out(what: str) -> dict[str, Any]:
    return _text(f"[left out: {what}]")


def _of_text(block: Mapping[str, Any]) -> dict[str, Any] | None:
    said = block.get("text")
    return _text(text.clean(said)) if isinstance(said, str) else None


def _of_file(block: Mapping[str, Any]) -> dict[str, Any] | None:
    return _members(block, ("type", "data", "mimeType"))


def _of_link(block: Mapping[str, Any]) -> dict[str, Any] | None:
    return _members(block, ("type", "uri", "name"), ("title", "description", "mimeType"))


def _of_resource(block: Mapping[str, Any]) -> dict[str, Any] | None:
    resource = block.get("resource")
    if not isinstance(resource, Mapping):
        return None
    kept = _members(resource, ("uri", "text"), ("mimeType",))
    kept = kept or _members(resource, ("uri", "blob"), ("mimeType",))
    return {"type": "resource", "resource": kept} if kept else None


def _members(
    given: Mapping[str, Any], required: tuple[str, ...], optional: tuple[str, ...] = ()
) -> dict[str, Any] | None:
    kept = {name: given[name] for name in required + optional if isinstance(given.get(name), str)}
    return kept if kept.keys() >= {*required} else None


_SHAPES: dict[str, Callable[[Mapping[str, Any]], dict[str, Any] | None]] = {
    "text": _of_text,
    "image": _of_file,
    "audio": _of_file,
    "resource_link": _of_link,
    "resource": _of_resource,
}
_SINCE = {"audio": AUDIO_SINCE, "resource_link": LINKS_SINCE}
