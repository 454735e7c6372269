"""Small real documents, made by the libraries that people's own come from, and a few that nobody should send."""

import io
import zipfile
import zlib

import docx
import openpyxl
import pptx
from reportlab.lib import pdfencrypt
from reportlab.pdfgen import canvas

DTD = b'<?xml version="1.0"?><!DOCTYPE l [%s]>'


def pdf(*pages: str, password: str = "") -> bytes:
    """A page for each text; one without text has a drawing."""
    file = io.BytesIO()
    locked = pdfencrypt.StandardEncryption(password) if password else None
    page = canvas.Canvas(file, encrypt=locked)
    for text in pages:
        if text:
            page.drawString(50, 700, text)
        else:
            page.rect(10, 10, 100, 100, fill=1)
        page.showPage()
    page.save()
    return file.getvalue()


def pdf_of(content: bytes, filters: bytes = b"/FlateDecode", box: str = "[0 0 200 200]") -> bytes:
    """One page by hand: its content as it stands in the file, and how it is unpacked."""
    font = "<</Font<</F1<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>>>"
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        f"<</Type/Page/Parent 2 0 R/MediaBox {box}/Contents 4 0 R/Resources{font}>>".encode(),
        b"<</Length %d/Filter%s>>stream\n%s\nendstream" % (len(content), filters, content),
    ]
    file, places = b"%PDF-1.4\n", []
    for number, said in enumerate(objects, 1):
        places.append(len(file))
        file += b"%d 0 obj\n%s\nendobj\n" % (number, said)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    return file + (
        b"xref\n0 5\n0000000000 65535 f \n%strailer<</Size 5/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF"
        % (table, len(file))
    )


def text_stream(times: int = 1) -> bytes:
    return zlib.compress(b"BT /F1 12 Tf 10 10 Td (Hello) Tj ET " * times, 9)


def word() -> bytes:
    document = docx.Document()
    document.add_paragraph("合約 first page")
    document.add_page_break()
    document.add_paragraph("second page")
    table = document.add_table(2, 2)
    for number, name in enumerate(("item", "price", "茶", "30")):
        table.cell(*divmod(number, 2)).text = name
    return _saved(document)


def slides() -> bytes:
    show = pptx.Presentation()
    for title in ("季報", "Outlook"):
        slide = show.slides.add_slide(show.slide_layouts[1])
        slide.shapes.title.text = title
        slide.placeholders[1].text = f"About {title}"
        slide.notes_slide.notes_text_frame.text = "Smile."
    return _saved(show)


def sheets() -> bytes:
    book = openpyxl.Workbook()
    book.active.title = "銷售"
    book.active.append(["Tea", 3, None, 4.5])
    book.create_sheet("Empty")
    book.create_sheet("Far")["XFD1000"] = "corner"
    return _saved(book)


def archive(**files: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, data in files.items():
            packed.writestr(name, data)
    return file.getvalue()


def changed(data: bytes, part: str, change) -> bytes:
    """An Office file with one of its parts replaced by ``change(part)``."""
    with zipfile.ZipFile(io.BytesIO(data)) as packed:
        files = {name: packed.read(name) for name in packed.namelist()}
    return archive(**{**files, part: change(files[part])})


def with_entity(data: bytes, part: str, declared: bytes, instead_of: str) -> bytes:
    """The same where a document type declares entities, and the last of them, ``&g;``, stands in the text."""

    def change(xml):
        _declaration, _, rest = xml.rpartition(b"?>")
        return DTD % declared + rest.replace(instead_of.encode(), b"&g;")

    return changed(data, part, change)


def billion_laughs() -> bytes:
    steps = (b'<!ENTITY %c "%s">' % (98 + i, b"&%c;" % (97 + i) * 100) for i in range(6))
    return b'<!ENTITY a "%s">' % (b"lol" * 1000) + b"".join(steps)


def _saved(document) -> bytes:
    file = io.BytesIO()
    document.save(file)
    return file.getvalue()
