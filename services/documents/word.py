"""Word files: text by page, tables as rows; in the reader's process only."""

import io
from collections.abc import Iterator

import docx

from .const import MAX_CHARACTERS, MAX_PAGES

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
# What is read already, and what no longer stands here while changes are tracked.
SKIPPED = (FALLBACK, f"{W}del", f"{W}moveFrom")
PAGE_BREAK = "\f"


def read(data: bytes) -> tuple[int, Iterator[str]]:
    """Word keeps no pages: those are meant that it broke when the file was saved last."""
    body = docx.Document(io.BytesIO(data)).element.body
    pages = "\n".join(_first(_blocks(body))).split(PAGE_BREAK)
    return len(pages), iter(pages[:MAX_PAGES])


def _first(lines: Iterator[str]) -> Iterator[str]:
    length = 0
    for line in lines:
        yield line
        length += len(line) + 1
        if length > MAX_CHARACTERS:
            break


def _blocks(parent) -> Iterator[str]:
    """A line for each paragraph and each row of a table, in their order."""
    for element in parent:
        if element.tag == f"{W}p":
            yield _paragraph(element)
        elif element.tag == f"{W}tr":
            cells = (list(_blocks(cell)) for cell in element.iterchildren(f"{W}tc"))
            yield " | ".join(" ".join(" ".join(lines).split()) for lines in cells)
        elif element.tag not in SKIPPED:  # tables, content controls, what was inserted
            yield from _blocks(element)


def _paragraph(element) -> str:
    text = "".join(_parts(element))
    # A page that a person began is marked twice: where it was asked for, and where Word broke it.
    return text.replace(PAGE_BREAK * 2, PAGE_BREAK)


def _parts(parent) -> Iterator[str]:
    for node in parent:
        if node.tag == f"{W}t":
            yield node.text or ""
        elif node.tag == f"{W}tab":
            yield "\t"
        elif node.tag == f"{W}lastRenderedPageBreak":
            yield PAGE_BREAK
        elif node.tag in (f"{W}br", f"{W}cr"):
            yield PAGE_BREAK if node.get(f"{W}type") == "page" else "\n"
        elif node.tag == f"{W}txbxContent":
            yield "\n".join(("", *_blocks(node), ""))
        elif node.tag not in (*SKIPPED, f"{W}pPr", f"{W}rPr"):
            yield from _parts(node)
