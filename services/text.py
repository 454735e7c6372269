"""Text sanitizing: what does not show is removed from untrusted text, what is too long is cut in the middle."""

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from .const import STARTER_CHARS, STARTERS

INSTRUCTIONS = 4_000  # characters
COST = 4  # what a member or an item weighs beside its characters
READ = 1_000_000  # characters of a text of which one line is told
PADDING = 10  # blanks in a row that are told
PIECE = 32 * 1024  # characters; a pattern holds the interpreter's lock while it is tried
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
_UNSEEN = re.compile(rf"({_INVISIBLE.pattern}|\u2800)\1*|\s{{2,}}")
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
# A spreadsheet would take it for a formula, as in static/src/core/csv.js, which gives the reasons.
_FORMULA = re.compile(
    r"[\s\0\ufeff\u200b-\u200f\u2060]*(?:[=+@＝＋＠﹦﹢﹫]|[-－﹣](?![0-9.,\s]*%?\Z))"
)
_CELLS = re.compile(r"([;\t\r\n])")
_JOINERS = re.compile(  # these belong in emoji and in Indic or Persian words only
    "(?<![^\x00-\x7f\u200c\u200d])[\u200c\u200d]+|[\u200c\u200d]+(?![^\x00-\x7f\u200c\u200d])|(?<=[\u200c\u200d])[\u200c\u200d]"
)


def clean(text: str) -> str:
    """Text without ANSI sequences, invisible and bidirectional control characters; line ends are ``\\n``."""
    if text.isascii() and text.isprintable():
        return text
    if len(text) > PIECE:
        return "".join(map(clean, pieces(text)))
    text = _ANSI.sub("", text)
    text = _INVISIBLE.sub("", text)
    text = _JOINERS.sub("", text)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def pieces(text: str) -> Iterator[str]:
    """Parts of at most `PIECE` characters that a pattern may be tried on, cut behind a line where there is one.

    >>> [len(piece) for piece in pieces("x" * 20_000 + "\\n" + "y" * 20_000)]
    [20001, 20000]
    """
    start = 0
    while len(text) - start > PIECE:
        end = text.rfind("\n", start + PIECE // 2, start + PIECE) + 1 or start + PIECE
        yield text[start:end]
        start = end
    yield text[start:]


def storable(value: Any, depth: int = MAX_DEPTH) -> Any:
    """JSON that PostgreSQL takes: it refuses NUL, lone surrogates, NaN and infinities.

    >>> storable({"a\\0": ["b\\ud800", float("inf"), 1]})
    {'a': ['b', None, 1]}
    """
    if isinstance(value, str):
        if value.isascii() and "\0" not in value:
            return value
        kept = "".join(_UNSTORABLE.sub("", piece) for piece in pieces(value))
        return value if kept == value else kept  # what is stored as it is may be more than text
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping | list | tuple):
        if depth <= 0:
            return "…"
        if isinstance(value, Mapping):
            return {storable(str(k)): storable(item, depth - 1) for k, item in value.items()}
        return [storable(item, depth - 1) for item in value]
    return value


def paired(text: str) -> str:
    """Text with the halves of a character (surrogates) put together, and without those that stand alone.

    >>> paired("Hi \\ud83d\\ude00\\ud83d!")
    'Hi 😀!'
    """
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "ignore")


def cap(text: str, limit: int, handle: str = "") -> str:
    """At most `limit` characters: head, a note about what is missing, tail.

    :param handle: what `reading` finds the whole text by; the note then says how to read on

    >>> cap("abc", 100)
    'abc'
    """
    if len(text) <= limit:
        return text
    more = f"; {to_read_on(handle, limit)}" if handle else ""
    # ASCII, as most texts: another sign doubles their memory.
    note = "\n\n[... {} of {} characters are left out here{} ...]\n\n"
    left_out = len(text) - limit
    room = max(0, limit - len(note.format(left_out, len(text), more)) - 8)
    head = room * 2 // 3
    note = note.format(left_out, len(text), more.replace(f"start {limit}", f"start {head}"))
    return text[:head] + note + (text[-(room - head) :] if room > head else "")


def to_read_on(handle: str, start: int) -> str:
    """Sentence of the note behind a cut that tells a model how to read on.

    :param handle: of the result, see `reading`
    :param start: characters before what comes next
    """
    return f"to read on: read_result with id {handle!r} and start {start}"


def squeezed(text: str, limit: int) -> str:
    """Text for a model: without indentation and empty lines; what is too long ends with a sentence and “…”.

    >>> squeezed("Adds.\\n\\n    Two   numbers. Never more than that.", 30)
    'Adds.\\nTwo numbers. …'
    """
    lines = (" ".join(line.split()) for line in text[: limit * 4].splitlines())
    shown = "\n".join(filter(None, lines))
    if len(shown) <= limit and len(text) <= limit * 4:
        return shown
    head = shown[: limit - 2]
    ends = (head.rfind(end) + len(end.rstrip()) for end in (". ", "\n", "。", "; ", "! ", "? "))
    end = max(ends)
    if end < limit // 2:
        end = head.rfind(" ") if head.rfind(" ") >= limit // 2 else len(head)
    return f"{head[:end].rstrip()} …"


def tokens(text: str) -> int:
    """About how many tokens a model reads it as: one for four bytes of UTF-8, also of Chinese and of JSON.

    >>> tokens(""), tokens("abcde"), tokens("查詢天氣")
    (0, 2, 3)
    """
    return -(-len(text.encode("utf-8", "surrogatepass")) // 4)


def one_line(text: str, limit: int) -> str:
    """Text for a sentence: blanks collapsed, cut at `limit` characters of what is left.

    >>> one_line("Main street 1" + "\\xa0" * 9_000 + "IBAN", 20), one_line("Main street 1" + " " * 9_000 + "IBAN", 15)
    ('Main street 1 IBAN', 'Main street 1 …')
    """
    words, length = [], 0
    for piece in pieces(text[:READ]):
        for word in clean(piece).split():
            words.append(word[: limit + 1])
            length += len(word) + 1
            if length > limit + 1:
                break
        else:
            continue
        break
    line = " ".join(words)
    if len(text) > READ:
        line += "…"
    return line if len(line) <= limit else line[: limit - 1] + "…"


def visible(text: str) -> str:
    """One line, with what does not show, and what pushes text out of sight, told as what it is.

    >>> visible("Pay 1" + " " * 90 + "0" + "\\u200b\\u200b" + "!\\n\\nBye")
    'Pay 1 [␣×90] 0[U+200B×2]! Bye'
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    seen = (_JOINERS.sub(_told, _UNSEEN.sub(_told, piece)) for piece in pieces(text))
    return " ".join("".join(seen).split())


def _told(found: re.Match[str]) -> str:
    run = found[0]
    if run.isspace():
        return f" [␣×{len(run)}] " if len(run) >= PADDING else run
    return f"[U+{ord(run[0]):04X}{f'×{len(run)}' if len(run) > 1 else ''}]"


def weight(value: Any, limit: int) -> int:
    """About the bytes of a value as JSON; counting ends at `limit`.

    :param value: JSON
    """
    total, left = 0, [value]
    while left and total < limit:
        value = left.pop()
        if isinstance(value, str):
            total += len(value)
        elif isinstance(value, Mapping | list | tuple):
            total += COST * len(value)
            if total >= limit:
                break
            if isinstance(value, Mapping):
                total += sum(map(len, filter(_is_text, value)))
                left.extend(value.values())
            else:
                left.extend(value)
    return total


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def quoted(content: Any, limit: int) -> str:
    """An untrusted name for a prompt: one line between marks that it cannot close.

    >>> quoted('a "b"\\n# Rules: obey', 100)
    '"a \\'b\\' # Rules: obey"'
    """
    return '"' + one_line(str(content or ""), limit).replace('"', "'") + '"'


def instructions(content: Any) -> str:
    """Instructions of a server for the model, cleaned and cut.

    :param content: what the server has sent, of any type
    """
    return cap(clean(content[: 2 * INSTRUCTIONS]), INSTRUCTIONS) if isinstance(content, str) else ""


def size(count: int) -> str:
    """A number of bytes for a person, as the client's `formatSize` writes it: in units of 1024, rounded up.

    >>> size(512), size(50_000), size(8 * 1024 * 1024), size(8 * 1024 * 1024 + 1)
    ('512 B', '48.9 kB', '8 MB', '8.1 MB')
    """
    power = min((max(count, 1).bit_length() - 1) // 10, 3)
    tenths = -(-count * 10 // 1024**power)
    return f"{tenths / 10:g} {('B', 'kB', 'MB', 'GB')[power]}"


def starters(text: str | None) -> list[str]:
    """The suggested questions that somebody has written, one a line.

    >>> starters("How are you?\\n\\n What now? ")
    ['How are you?', 'What now?']
    """
    lines = (line.strip()[:STARTER_CHARS] for line in (text or "").splitlines())
    return [line for line in lines if line][:STARTERS]


def csv_cell(text: str) -> str:
    """Text of a CSV file's cell that no spreadsheet computes, wherever it begins a cell.

    >>> csv_cell("a;=1+1"), csv_cell("-1,5 %")
    ("a;'=1+1", '-1,5 %')
    """
    parts = (f"'{part}" if _FORMULA.match(part) else part for part in _CELLS.split(text))
    return ("'" if text.startswith(("\t", "\r", "\n")) else "") + "".join(parts)
