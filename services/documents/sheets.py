"""Excel files: the rows of each sheet; in the reader's process only."""

import io
from collections.abc import Iterator

import openpyxl

from .const import MAX_CHARACTERS, MAX_PAGES


def read(data: bytes) -> tuple[int, Iterator[str]]:
    book = openpyxl.load_workbook(
        io.BytesIO(data), read_only=True, data_only=True, keep_links=False
    )
    sheets = book.worksheets
    return len(sheets), (_text_of(sheet) for sheet in sheets[:MAX_PAGES])


def _text_of(sheet) -> str:
    """Its name and its rows, the cells of each between tabs."""
    sheet.reset_dimensions()  # what the file says of its size may be wrong
    lines, length = [], 0
    for row in sheet.iter_rows(values_only=True):
        line = "\t".join("" if value is None else str(value) for value in row).rstrip()
        if line:
            lines.append(line)
            length += len(line) + 1
        if length > MAX_CHARACTERS:
            break
    return "\n".join([f"{sheet.title}:", *lines]) if lines else ""
