"""Limits of reading a document, each with its unit; the reader's process imports them, too."""

READERS = 2  # documents that one process of Odoo has read at once
QUEUE_TIMEOUT = 8.0  # s that the next one waits for its place
CPU_SECONDS = 10  # of one document
WALL_SECONDS = 30.0  # of one document, from the start of its reader
MEMORY = 768 * 1024 * 1024  # bytes of address space of a reader, its programs among them
MAX_PAGES = 200  # pages, slides or sheets whose text is read
MAX_CHARACTERS = 200_000  # that are kept of one document
MAX_OUTPUT = 16 * MAX_CHARACTERS  # bytes that a reader may say: JSON of them, and its lines
MAX_ENTRIES = 4_000  # files in an Office file
MAX_UNZIPPED = (
    128 * 1024 * 1024
)  # bytes of all of them, as the archive says; more are never unpacked
MAX_PIXELS = 100_000_000  # of a picture, which no model and no browser needs larger
