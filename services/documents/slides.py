"""PowerPoint files: text and notes of each slide; in the reader's process only."""

import io
from collections.abc import Iterator
from itertools import islice

import pptx

from .const import MAX_PAGES

A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"


def read(data: bytes) -> tuple[int, Iterator[str]]:
    slides = pptx.Presentation(io.BytesIO(data)).slides
    return len(slides), (_slide(slide) for slide in islice(slides, MAX_PAGES))


def _slide(slide) -> str:
    lines = list(_lines(slide.element))
    if slide.has_notes_slide and (frame := slide.notes_slide.notes_text_frame) is not None:
        lines += filter(None, frame.text.splitlines())
    return "\n".join(lines)


def _lines(parent) -> Iterator[str]:
    """A line for each paragraph and each row of a table, in their order."""
    for element in parent:
        if element.tag == f"{A}p":
            if line := "".join(_parts(element)).strip("\n"):
                yield line
        elif element.tag == f"{A}tr":
            cells = (list(_lines(cell)) for cell in element.iterchildren(f"{A}tc"))
            yield " | ".join(" ".join(" ".join(lines).split()) for lines in cells)
        elif element.tag != FALLBACK:
            yield from _lines(element)


def _parts(parent) -> Iterator[str]:
    for node in parent:
        if node.tag == f"{A}t":
            yield node.text or ""
        elif node.tag == f"{A}br":
            yield "\n"
        elif node.tag != FALLBACK:
            yield from _parts(node)
