"""Text from strangers: what does not show is removed, what is too long is cut in the middle."""

import math
import re
from collections.abc import Mapping
from typing import Any

MAX_DEPTH = 100  # of what is stored; Python's encoder and PostgreSQL's parser take more

_ANSI = re.compile(
    r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?"  # OSC, hyperlinks and titles
    r"|\x1b[PX^_][^\x1b]*(?:\x1b\\)?"  # DCS, SOS, PM, APC
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI, colours and cursor
    r"|\x1b[ -/]*[0-~]"
)
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"  # controls without tab, line feed, carriage return
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f"
    "\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb"
    "\U000e0000-\U000e0fff\ud800-\udfff]"  # tags, selectors, lone surrogates
)
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
_JOINERS = re.compile(  # these belong in emoji and in Indic or Persian words only
    "(?<![^\x00-\x7f\u200c\u200d])[\u200c\u200d]+|[\u200c\u200d]+(?![^\x00-\x7f\u200c\u200d])|(?<=[\u200c\u200d])[\u200c\u200d]"
)


def clean(text: str) -> str:
    """Without ANSI sequences, invisible and bidirectional control characters; line ends are ``\\n``."""
    if text.isascii() and text.isprintable():
        return text
    text = _ANSI.sub("", text)
    text = _INVISIBLE.sub("", text)
    text = _JOINERS.sub("", text)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def storable(value: Any, depth: int = MAX_DEPTH) -> Any:
    """JSON that PostgreSQL takes: it refuses NUL, lone surrogates, NaN and infinities.

    >>> storable({"a\\0": ["b\\ud800", float("inf"), 1]})
    {'a': ['b', None, 1]}
    """
    if isinstance(value, str):
        return value if value.isascii() and "\0" not in value else _UNSTORABLE.sub("", value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping | list | tuple):
        if depth <= 0:
            return "…"
        if isinstance(value, Mapping):
            return {storable(str(k)): storable(item, depth - 1) for k, item in value.items()}
        return [storable(item, depth - 1) for item in value]
    return value


def cap(text: str, limit: int, handle: str = "") -> str:
    """At most `limit` characters: head, a note about what is missing, tail.

    :param handle: what `reading` finds the whole text by; the note then says how to read on

    >>> cap("abc", 100)
    'abc'
    """
    if len(text) <= limit:
        return text
    more = f"; to read on: read_result with id {handle!r} and start {limit}" if handle else ""
    note = "\n\n[… {} of {} characters are left out here{} …]\n\n"
    left_out = len(text) - limit
    room = max(0, limit - len(note.format(left_out, len(text), more)) - 8)
    head = room * 2 // 3
    note = note.format(left_out, len(text), more.replace(f"start {limit}", f"start {head}"))
    return text[:head] + note + (text[-(room - head) :] if room > head else "")


def tokens(text: str) -> int:
    """About how many tokens a model reads it as.

    >>> tokens(""), tokens("abcde")
    (0, 2)
    """
    return -(-len(text) // 4)


def one_line(text: str, limit: int) -> str:
    """For a sentence: blanks collapsed, cut at `limit` characters."""
    text = " ".join(clean(text[: limit * 4]).split())
    return text if len(text) <= limit else text[: limit - 1] + "…"


def size(count: int) -> str:
    """A number of bytes for a person.

    >>> size(512), size(20_480)
    ('512 bytes', '20 kB')
    """
    return f"{count} bytes" if count < 10_000 else f"{count // 1024} kB"
