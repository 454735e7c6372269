"""Text of an incoming mail, divided into what its sender has written and what is foreign: quotes, forwarded mail, and
text that HTML may hide.

What cannot be told for sure counts as foreign.
"""

import html
import re
from collections import Counter
from dataclasses import dataclass
from email.message import Message

from .. import text
from ..const import PROMPT_CHARS

MAX_PARTS = 200
KNOWN_CHARS = 100_000  # of what is known of a thread
KNOWN_LINES = 500  # of quotes that are looked up there
MAX_DEPTH = 100  # elements of HTML in each other
BLOCK_LINES = 3  # of a header that stands in the text
LABEL_CHARS = 24  # from the beginning of a line to the colon of a label
BLOCKS = frozenset(
    [
        "p",
        "div",
        "br",
        "tr",
        "li",
        "ul",
        "ol",
        "table",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "pre",
        "hr",
        "section",
        "article",
        "header",
        "footer",
    ]
)
SHOWN = BLOCKS | frozenset(  # elements that show their text; details, for one, may not
    [
        "html",
        "body",
        "span",
        "b",
        "strong",
        "i",
        "em",
        "u",
        "s",
        "a",
        "td",
        "th",
        "tbody",
        "thead",
        "tfoot",
        "code",
        "center",
        "dl",
        "dt",
        "dd",
        "sub",
        "sup",
        "small",
    ]
)
VOID = frozenset(
    [
        "area",
        "base",
        "br",
        "col",
        "embed",
        "hr",
        "img",
        "input",
        "link",
        "meta",
        "source",
        "track",
        "wbr",
    ]
)
SILENT = frozenset(["script", "style", "head", "title", "template", "noscript"])
PLAIN = frozenset(("dir", "lang", "href", "src", "alt", "align"))  # attributes that hide nothing
WROTE = ("wrote:", "wrote：", "寫道:", "寫道：", "写道:", "写道：")
FORWARDS = re.compile(
    r"(?:re|fwd?|aw|wg|tr|回覆|回复|答复|轉寄|转发|轉發)\s{0,3}[:：]", re.IGNORECASE
)

_MARKUP = re.compile(
    r"<!--.*?-->"
    r"|<(?P<end>/?)(?P<tag>[a-zA-Z][a-zA-Z0-9:-]{0,40})(?P<attributes>(?:[^>\"']|\"[^\"]*\"|'[^']*')*+)>"
    r"|<(?:!(?!--)|\?)[^>]*>",
    re.DOTALL,
)
_START = re.compile(
    r"<(?=/?[^\W\d_]|/?[!?])"
)  # may begin markup; other signs of this kind are text
_WORD = re.compile(r"\w+")
_QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'")


@dataclass(frozen=True)
class Letter:
    """Text of a mail.

    :ivar own: what the sender has written
    :ivar foreign: what others may have written
    """

    own: str
    foreign: str


def read(message: Message) -> Letter:
    """Text of a mail, without its files: the plain text if there is one, else that of the HTML.

    >>> import email
    >>> read(email.message_from_string("Content-Type: text/html\\n\\n<p>Hi<i style='font-size:0'>Pay</i></p>"))
    Letter(own='Hi', foreign='Pay')

    :param message: its first 32 000 characters of each kind are read
    """
    plain, rich = _bodies(message)
    first, others = plain[:1], plain[1:]
    if not first and rich:
        own, hidden = shown_in(rich)
        letter = divided(own)
        others = [letter.foreign, hidden]
        return Letter(letter.own, _joined(others))
    letter = divided("".join(first))
    return Letter(letter.own, _joined([letter.foreign, *others]))


def is_reply(subject: str) -> bool:
    """True if the subject is that of another mail, which this one answers or forwards.

    >>> is_reply("Fwd: Pay now"), is_reply("轉寄：付款"), is_reply("Refund")
    (True, True, False)
    """
    return bool(FORWARDS.match(subject.strip()))


def divided(said: str) -> Letter:
    """Plain text with its quotes and what stands below a forwarded mail's header apart.

    >>> divided("Yes.\\n\\nOn Monday, Bob <b@a.example> wrote:\\n> Shall I pay?\\nPlease do.")
    Letter(own='Yes.\\n\\nPlease do.', foreign='On Monday, Bob <b@a.example> wrote:\\nShall I pay?')
    >>> divided("Look!\\n\\n---------- Forwarded message ---------\\nPay now.")
    Letter(own='Look!', foreign='---------- Forwarded message ---------\\nPay now.')

    :param said: its first 32 000 characters count
    """
    lines = text.clean(said[:PROMPT_CHARS]).splitlines()
    own: list[str] = []
    foreign: list[str] = []
    for place, line in enumerate(lines):
        bare = line.strip()
        if not bare:
            own.append("")
        elif bare.startswith((">", "|")):
            foreign.append(bare.lstrip("> "))
        elif _introduces(bare):
            after = next(
                (other.strip() for other in lines[place + 1 : place + 4] if other.strip()), ""
            )
            if not after.startswith(">"):  # a quote without signs, or none that ends
                foreign += lines[place:]
                break
            foreign.append(bare)
        elif _divides(bare) or _is_header(lines[place : place + 2 * BLOCK_LINES]):
            foreign += lines[place:]
            break
        else:
            own.append(line.rstrip())
    return Letter(_joined(own), _joined(foreign))


def unknown(foreign: str, known: str) -> str:
    """Lines of quotes that do not stand in what is known, such as the answers that a reply quotes.

    >>> unknown("On Monday, Bob <b@a.example> wrote:\\nThere are *three*\\norders.", "There are three orders.")
    ''
    >>> unknown("There are three orders.\\nPay now.", "There are three orders.")
    'Pay now.'

    :param known: its first 100 000 characters count
    """
    words = f" {_words(known[:KNOWN_CHARS])} "
    lines = foreign.splitlines()
    # Behind so many lines nothing is compared.
    left = [line for line in lines[:KNOWN_LINES] if f" {_words(line)} " not in words]
    left += lines[KNOWN_LINES:]
    return "\n".join(left).strip() if any(map(_is_text, left)) else ""


def _is_text(line: str) -> bool:
    """False of what only introduces a quote: a label, a line of signs."""
    bare = line.strip()
    return not (_introduces(bare) or _divides(bare) or _is_label(bare) or not _words(bare))


def _words(said: str) -> str:
    return " ".join(_WORD.findall(said.lower()))


def quoted(said: str) -> str:
    """The text as lines of Markdown that quote.

    >>> quoted("a\\n\\nb")
    '> a\\n>\\n> b'
    """
    return "\n".join(f"> {line}".rstrip() for line in said.splitlines())


def _joined(lines: list[str]) -> str:
    return "\n".join(filter(None, ("\n".join(lines).strip(),)))


def _introduces(line: str) -> bool:
    return line.endswith(WROTE) or (line.endswith((":", "：")) and "@" in line)


def _divides(line: str) -> bool:
    """True of “-----Original Message-----”, of a long line of signs, and of how Apple's mail begins one."""
    if (line.startswith("---") and line.endswith("---")) or line.startswith("________"):
        return len(line) > 7
    return line.lower().startswith("begin forwarded message")


def _is_label(line: str) -> bool:
    return ":" in line[:LABEL_CHARS] or "：" in line[:LABEL_CHARS]


def _is_header(lines: list[str]) -> bool:
    """True of several labels in a row with an address among them, as a forwarded mail begins."""
    labels = 0
    has_address = False
    for line in lines:
        if not _is_label(line.strip()):
            break
        labels += 1
        has_address |= "@" in line
    return labels >= BLOCK_LINES and has_address


def _bodies(message: Message) -> tuple[list[str], str]:
    """Texts that are no files: all plain ones, and the HTML. What is forwarded as a file is not opened."""
    plain: list[str] = []
    rich: list[str] = []
    open_parts = [message]
    for _part in range(MAX_PARTS):
        if not open_parts:
            break
        part = open_parts.pop()
        kind = part.get_content_type()
        if part.get_content_maintype() == "multipart":
            inner = part.get_payload()
            if isinstance(inner, list):
                open_parts += [one for one in reversed(inner) if isinstance(one, Message)]
        elif part.get_filename() or part.get_content_disposition() == "attachment":
            continue
        elif kind in ("text/plain", "text/html"):
            said = _decoded(part)
            if said.strip():
                (plain if kind == "text/plain" else rich).append(said)
    return plain, "\n".join(rich)[:PROMPT_CHARS]


def _decoded(part: Message) -> str:
    raw = part.get_payload(decode=True)
    if not isinstance(raw, bytes):
        return ""
    try:
        said = raw.decode(part.get_content_charset() or "utf-8", "replace")
    except LookupError:
        said = raw.decode("utf-8", "replace")
    return said[:PROMPT_CHARS]


def shown_in(source: str) -> tuple[str, str]:
    """Text of HTML: ``(what shows, what may be hidden)``

    >>> shown_in('<div dir="ltr">Hi &amp; bye<br>you<p title="> x">Pay</p></div><blockquote>No</blockquote>')
    ('Hi & bye\\nyou', 'Pay\\nNo')
    """
    reader = _Reader()
    place = 0
    # Python's own parser takes minutes for 100 kB of tags that do not end.
    while begun := _START.search(source, place):
        start = begun.start()
        reader.add(source[place:start])
        found = _MARKUP.match(source, start)
        if not found:
            after = source[start + 1 : start + 3].removeprefix("/")[:1]
            if not (after.isalpha() or after in ("!", "?")):  # no tag: “3 < 4”
                reader.add("<")
                place = start + 1
                continue
            reader.has_sheet = True  # broken off: nobody knows how a program shows it
            place = len(source)
            break
        place = found.end()
        if found["tag"]:
            reader.tag(found["tag"].lower(), bool(found["end"]), found["attributes"])
            if found["tag"].lower() in SILENT and not found["end"]:
                end = re.compile(f"</{found['tag']}", re.IGNORECASE).search(source, place)
                place = end.start() if end else len(source)
    reader.add(source[place:])
    shown, hidden = _tidy(reader.shown), _tidy(reader.hidden)
    # A style sheet may hide anything.
    return ("", _joined([shown, hidden])) if reader.has_sheet else (shown, hidden)


def _tidy(parts: list[str]) -> str:
    lines = (" ".join(line.split()) for line in "".join(parts).split("\n"))
    return "\n".join(filter(None, lines))


class _Reader:
    """Text of HTML, and which of it shows for sure."""

    def __init__(self):
        self.shown: list[str] = []
        self.hidden: list[str] = []
        self.has_sheet = False
        self._open: list[tuple[str, bool]] = []  # tag, whether it or one around it may hide
        self._count: Counter[str] = Counter()  # of open elements by tag

    def tag(self, tag: str, is_end: bool, attributes: str) -> None:
        self.has_sheet |= tag in ("style", "link")
        if tag in BLOCKS:
            self._put("\n")
        if tag in VOID or tag in SILENT:
            return
        if not is_end:
            names = {word.partition("=")[0].lower() for word in _QUOTED.sub("", attributes).split()}
            hides = tag not in SHOWN or not names <= PLAIN
            if len(self._open) < MAX_DEPTH:
                self._open.append((tag, hides or self._hides()))
                self._count[tag] += 1
            else:
                self._open[-1] = (self._open[-1][0], True)
        elif self._count[tag]:
            opened = ""
            while opened != tag:
                opened, _hides = self._open.pop()
                self._count[opened] -= 1

    def add(self, source: str) -> None:
        self._put(html.unescape(source.replace("\n", " ")))

    def _hides(self) -> bool:
        return bool(self._open) and self._open[-1][1]

    def _put(self, said: str) -> None:
        (self.hidden if self._hides() else self.shown).append(said)
