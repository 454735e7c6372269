"""PDF: the text of its pages, by PDFium; in the reader's process only."""

from collections.abc import Iterator

import pypdfium2
import pypdfium2.raw

from .const import MAX_PAGES
from .problems import Encrypted, Unreadable


def read(data: bytes) -> tuple[int, Iterator[str]]:
    try:
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        if pypdfium2.raw.FPDF_GetLastError() == pypdfium2.raw.FPDF_ERR_PASSWORD:
            raise Encrypted from error
        raise Unreadable from error
    count = len(document)
    if not count:
        raise Unreadable
    return count, (_text_of(document, number) for number in range(min(count, MAX_PAGES)))


def _text_of(document: pypdfium2.PdfDocument, number: int) -> str:
    """Text of one page; a page that is damaged has none."""
    try:
        page = document[number]
        text = page.get_textpage()
        found = text.get_text_bounded()
    except pypdfium2.PdfiumError:
        return ""
    text.close()
    page.close()
    return found
