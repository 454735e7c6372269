"""Archive of an export: a ZIP that is written piece by piece, so that its size fills no memory."""

import json
import re
import tempfile
import zipfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

MAX_BYTES = 2 * 1024**3  # of all entries, before compression
MAX_NAME = 60  # characters of a name within a path
CHUNK = 256 * 1024  # bytes
MEMORY = 1024 * 1024  # bytes of an entry that are kept in memory
_UNSAFE = re.compile(r"[^\w.() -]+")


def file_name(name: str) -> str:
    """Name for a path, without separators and control characters.

    >>> file_name("../a/b:c\\n.txt")
    'a_b_c_.txt'
    """
    return _UNSAFE.sub("_", name).strip(" ._-")[:MAX_NAME] or "_"


def transcript(name: str, turns: Iterable[dict[str, Any]]) -> Iterable[str]:
    """Conversation as Markdown.

    :param turns: ``{"asked_at", "question", "answer", "assistant", "files"}``
    :return: pieces of the document

    >>> turn = {"asked_at": "2026-01-02", "question": "Hi", "answer": "Hello", "assistant": "Helper", "files": ["a"]}
    >>> "".join(transcript("Chat", [turn]))
    '# Chat\\n\\n## 2026-01-02\\n\\nHi\\n\\n- a\\n\\n**Helper**\\n\\nHello\\n\\n'
    """
    yield f"# {name}\n\n"
    for turn in turns:
        yield f"## {turn['asked_at']}\n\n{turn['question']}\n\n"
        if turn["files"]:
            yield "".join(f"- {name}\n" for name in turn["files"]) + "\n"
        if turn["answer"]:
            yield f"**{turn['assistant']}**\n\n{turn['answer']}\n\n"


class Archive:
    """A ZIP file that is being written; entries beyond `MAX_BYTES` are left out and named at its end.

    >>> import io
    >>> target = io.BytesIO()
    >>> with Archive(target) as archive:
    ...     archive.add_json("a.json", [{"a": 1}, {"a": 2}])
    >>> json.loads(zipfile.ZipFile(target).read("a.json"))
    [{'a': 1}, {'a': 2}]
    """

    def __init__(self, target: BinaryIO, limit: int = MAX_BYTES):
        self._zip = zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, allowZip64=True)
        self._left = limit
        self.left_out: list[str] = []

    def __enter__(self) -> "Archive":
        return self

    def __exit__(self, kind, *_rest) -> None:
        if kind is None and self.left_out:
            self._zip.writestr("left_out.json", json.dumps(self.left_out, ensure_ascii=False))
        self._zip.close()

    def add_json(self, name: str, rows: Iterable[Any]) -> None:
        """Add rows as a JSON list."""

        def pieces():
            between = "[\n"
            for row in rows:
                yield between + json.dumps(row, ensure_ascii=False, default=str)
                between = ",\n"
            yield "\n]\n" if between != "[\n" else "[]\n"

        self.add_text(name, pieces())

    def add_text(self, name: str, pieces: Iterable[str]) -> None:
        """Add a text of many pieces."""
        with tempfile.SpooledTemporaryFile(MEMORY) as text:
            size = 0
            for piece in pieces:
                size += text.write(piece.encode("utf-8", "replace"))
                if size > self._left:
                    self.left_out.append(name)
                    return
            text.seek(0)
            self._copy(name, text, size, zipfile.ZIP_DEFLATED)

    def add_file(self, name: str, path: Path | None, content: bytes = b"") -> None:
        """Add a file from the disk, or its content where it has no path; a lost one is left out."""
        if path is None:
            with tempfile.SpooledTemporaryFile(MEMORY) as file:
                file.write(content)
                file.seek(0)
                self._copy(name, file, len(content), zipfile.ZIP_STORED)
            return
        with suppress(OSError), path.open("rb") as file:
            self._copy(name, file, path.stat().st_size, zipfile.ZIP_STORED)
            return
        self.left_out.append(name)

    def _copy(self, name, source, size, method) -> None:
        if size > self._left:
            self.left_out.append(name)
            return
        self._left -= size
        entry = zipfile.ZipInfo(name)
        entry.compress_type = method
        with self._zip.open(entry, "w", force_zip64=size > 2**31 - 1) as target:
            while chunk := source.read(CHUNK):
                target.write(chunk)
