"""Pictures: their type and the pixels that they claim to have, read from their bytes; nothing is decoded."""

import sys

from .const import MAX_PIXELS

MIMETYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")  # that models can see
HEAD = 12  # bytes that tell one
_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
)
_JPEG_SIZES = frozenset(range(0xC0, 0xD0)) - {
    0xC4,
    0xC8,
    0xCC,
}  # SOF0 … SOF15, ISO/IEC 10918-1, B.1.1.3
_MAX_MARKERS = 10_000  # before the size of a JPEG; those of cameras have a few dozen
_JPEG_ALONE = frozenset({0x01, *range(0xD0, 0xD8)})  # markers without a length


def mimetype_of(data: bytes) -> str:
    """MIME type of a picture that models can see; empty for anything else.

    :param data: its first `HEAD` bytes are enough
    """
    for magic, mimetype in _MAGIC:
        if data.startswith(magic):
            return mimetype
    return "image/webp" if data[:4] == b"RIFF" and data[8:12] == b"WEBP" else ""


def seen_as(data: bytes) -> str:
    """MIME type with which a model is shown a picture; empty for what is none, and for one of too many pixels.

    :param data: all of it
    """
    mimetype = mimetype_of(data)
    return mimetype if mimetype and pixels(data) <= MAX_PIXELS else ""


def pixels(data: bytes) -> int:
    """Width times height; 0 where the picture does not say, and more than any has where it takes too long to find.

    >>> pixels(b"GIF89a" + bytes([16, 0, 2, 0])), pixels(b"GIF89a"), pixels(b"")
    (32, 0, 0)
    """
    if data.startswith(b"\x89PNG"):
        return _product(data[16:20], data[20:24], "big")
    if data.startswith(b"GIF8"):
        return _product(data[6:8], data[8:10], "little")
    if data.startswith(b"\xff\xd8"):
        return _of_jpeg(data)
    return _of_webp(data) if data[8:12] == b"WEBP" else 0


def _product(width: bytes, height: bytes, order) -> int:
    return int.from_bytes(width, order) * int.from_bytes(height, order)


def _of_jpeg(data: bytes) -> int:
    at = 2
    for _ in range(_MAX_MARKERS):
        if at + 9 > len(data) or data[at] != 0xFF:
            return 0
        marker = data[at + 1]
        if marker in _JPEG_SIZES:
            return _product(data[at + 7 : at + 9], data[at + 5 : at + 7], "big")
        if marker == 0xFF:  # a byte that fills up
            at += 1
        elif marker in _JPEG_ALONE:
            at += 2
        else:
            at += 2 + max(2, int.from_bytes(data[at + 2 : at + 4], "big"))
    return sys.maxsize


def _of_webp(data: bytes) -> int:
    """https://developers.google.com/speed/webp/docs/riff_container"""
    kind = data[12:16]
    if kind == b"VP8X":
        sides = data[24:27], data[27:30]
        return (int.from_bytes(sides[0], "little") + 1) * (int.from_bytes(sides[1], "little") + 1)
    if kind == b"VP8L":
        bits = int.from_bytes(data[21:25], "little")
        return ((bits & 0x3FFF) + 1) * ((bits >> 14 & 0x3FFF) + 1)
    width, height = data[26:28], data[28:30]
    return (int.from_bytes(width, "little") & 0x3FFF) * (int.from_bytes(height, "little") & 0x3FFF)
