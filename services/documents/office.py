"""Office files: which of them an archive is, and that it can be unpacked at all."""

import io
import zipfile

from .const import MAX_ENTRIES, MAX_UNZIPPED
from .problems import Encrypted, TooComplex, Unreadable, Unsupported

CONTENT_TYPES = "[Content_Types].xml"
FOLDERS = {"word": "docx", "ppt": "pptx", "xl": "xlsx"}


def kind_of(data: bytes) -> str:
    """:return: "docx", "pptx" or "xlsx"
    :raises Problem: it is another archive, damaged, encrypted or unpacks to too much
    """
    try:
        entries = zipfile.ZipFile(io.BytesIO(data)).infolist()
    except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
        raise Unreadable from error
    if any(entry.flag_bits & 1 for entry in entries):
        raise Encrypted
    if len(entries) > MAX_ENTRIES or sum(entry.file_size for entry in entries) > MAX_UNZIPPED:
        raise TooComplex
    names = {entry.filename for entry in entries}
    folders = {name.partition("/")[0] for name in names}
    for folder, kind in FOLDERS.items():
        if CONTENT_TYPES in names and folder in folders:
            return kind
    raise Unsupported
