"""Result content: what a tool's result means for the LLM, for the person, and as files.

Takes the plain dict of a ``CallToolResult`` (MCP 2025-11-25, server/tools). Everything in it is
untrusted: wrong shapes are skipped, nothing remote is loaded.
"""

import base64
import binascii
import json
import mimetypes
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ... import large
from ... import text as texts
from ...documents import pictures

MAX_ATTACHMENTS = 20  # files of one result
MAX_BLOCKS = 5_000  # parts of one result
KEPT_CAP = 1_000_000  # characters of a result that are kept to be read on
MAX_READ = 2 * KEPT_CAP  # characters of a result that are looked at
_DECODED = 256 * 1024  # characters of base64 at a time, in fours
_HEAD = pictures.HEAD // 3 * 4  # characters of base64
_UNREADABLE = "shown to the user, not readable as text"
_NO_PICTURE = "no picture, although the server calls it one; kept for the user as a file"
_TOO_LARGE = "shown to the user, but not to the model: it has too many pixels"
_MIMETYPE = re.compile(r"[a-z]+/[a-z0-9.+-]{1,80}")
_NAME_UNSAFE = re.compile(r"[^\w.() -]+")


@dataclass(slots=True)
class Content:
    """`display` is a string, or the structured content, or ``{"text", "structured"}`` where both differ.

    `whole` is all of a text that was cut. `attachments` are ``{"name": str, "mimetype": str, "data": base64 str}``.
    """

    text: str = ""
    display: Any = ""
    whole: str = ""
    attachments: list[dict[str, str]] = field(default_factory=list)

    @property
    def truncated(self) -> bool:
        return bool(self.whole)


def read(
    result: Mapping[str, Any],
    *,
    llm_cap: int,
    ui_cap: int,
    handle: str = "",
    are_files_told: bool = True,
) -> Content:
    """Turn a tool result into what the LLM reads and what the person sees.

    :param llm_cap: characters of `text`
    :param ui_cap: characters of `display`
    :param handle: by which the LLM can read on, see `reading`
    :param are_files_told: `text` has a line for each file, which the LLM is not given
    """
    content = Content()
    blocks = result.get("content")
    full = texts.clean("\n".join(_lines(blocks, content.attachments, are_files_told)))
    structured = result.get("structuredContent")
    shown = full
    if structured is not None and texts.weight(structured, 4 * ui_cap) < 4 * ui_cap:
        written = _clean_deep(structured)
        raw = large.dump(written)
        if len(raw) + len(full) <= ui_cap:
            same = not full or _parsed(full) == structured
            shown = written if same else {"text": full, "structured": written}
        full = full or raw
    elif structured is not None and not full:
        full = texts.clean(large.dump(structured, KEPT_CAP))
    if isinstance(shown, str):
        shown = full
    content.text = texts.cap(full, llm_cap, handle)
    content.display = texts.cap(shown, ui_cap) if isinstance(shown, str) else shown
    if len(full) > llm_cap:
        content.whole = texts.cap(full, KEPT_CAP)
    return content


def _lines(blocks: Any, attachments: list[dict[str, str]], are_files_told: bool) -> Iterator[str]:
    """Text of the blocks; behind `MAX_BLOCKS`, and behind the cap of a text, nothing is read."""
    room = MAX_READ
    blocks = blocks if isinstance(blocks, list) else []
    for block in blocks[:MAX_BLOCKS]:
        count = len(attachments)
        line = _block(block, attachments) if isinstance(block, Mapping) else None
        if line is not None and (are_files_told or len(attachments) == count):
            yield line[:room]
            room -= len(line) + 1
            if room <= 0:
                yield "[what follows was left out]"
                return
    if len(blocks) > MAX_BLOCKS:
        yield f"[{len(blocks) - MAX_BLOCKS} more parts were left out]"


def _block(block: Mapping, attachments: list[dict[str, str]]) -> str | None:
    kind = block.get("type")
    if kind == "text":
        return block["text"] if isinstance(block.get("text"), str) else None
    if kind in ("image", "audio"):
        return _file(kind, block.get("data"), block.get("mimeType"), "", attachments)
    if kind == "resource":
        return _resource(block.get("resource"), attachments)
    if kind == "resource_link":
        name = texts.one_line(str(block.get("title") or block.get("name") or ""), 200)
        about = texts.one_line(str(block.get("description") or ""), 500)
        return f"[link] {name} <{texts.one_line(str(block.get('uri', '')), 1000)}> {about}".rstrip()
    shown = texts.one_line(kind, 40) if isinstance(kind, str) else type(kind).__name__
    return f"[content of an unknown kind: {shown}]"


def _resource(resource: Any, attachments: list[dict[str, str]]) -> str | None:
    if not isinstance(resource, Mapping):
        return None
    uri = texts.one_line(str(resource.get("uri", "")), 1000)
    if isinstance(resource.get("text"), str):
        return f"[resource {uri}]\n{resource['text']}" if uri else resource["text"]
    return _file(
        "file", resource.get("blob"), resource.get("mimeType"), uri.rsplit("/", 1)[-1], attachments
    )


def _file(kind: str, data: Any, mimetype: Any, name: str, attachments: list[dict[str, str]]) -> str:
    mimetype = mimetype[:200].lower().partition(";")[0].strip() if _is_text(mimetype) else ""
    if not _MIMETYPE.fullmatch(mimetype):
        mimetype = "application/octet-stream"
    size = _decoded_size(data)
    if size is None or (kind == "image" and not size):
        return f"[{kind}: the server sent it in a form that cannot be read]"
    if len(attachments) >= MAX_ATTACHMENTS:
        return f"[{kind}: left out, there are more than {MAX_ATTACHMENTS} files]"
    said = _UNREADABLE
    if found := pictures.mimetype_of(base64.b64decode(data[:_HEAD])):
        mimetype = found
        if not pictures.seen_as(base64.b64decode(data)):
            said = _TOO_LARGE
    elif mimetype in pictures.MIMETYPES:
        mimetype, said = "application/octet-stream", _NO_PICTURE
    extension = mimetypes.guess_extension(mimetype) or ".bin"
    name = _NAME_UNSAFE.sub("_", texts.clean(name))[-100:].strip(". ")
    name = name or f"{kind}-{len(attachments) + 1}{extension}"
    attachments.append({"name": name, "mimetype": mimetype, "data": data})
    return f"[{kind} {name}, {mimetype}, {texts.size(size)}: {said}]"


def _decoded_size(data: Any) -> int | None:
    """Bytes that base64 stands for, None where it is none. It is decoded piece by piece, and only to see that."""
    if not _is_text(data) or data.find("=", 0, -2) >= 0:
        return None
    size = 0
    try:
        for start in range(0, len(data), _DECODED):
            size += len(base64.b64decode(data[start : start + _DECODED], validate=True))
    except (binascii.Error, ValueError):
        return None
    return size


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _clean_deep(value: Any, depth: int = 40) -> Any:
    if isinstance(value, str):
        return texts.clean(value)
    if depth <= 0:
        return "…"
    if isinstance(value, Mapping):
        return {texts.clean(str(key)): _clean_deep(item, depth - 1) for key, item in value.items()}
    if isinstance(value, list):
        return [_clean_deep(item, depth - 1) for item in value]
    return value
