"""HTML as Markdown that can be written back, and what of it Markdown cannot hold.

>>> markdown("<p>Call <b>Ada</b></p><ul><li>on Monday</li><li>at <a href='https://a.example'>a</a></li></ul>")
'Call **Ada**\\n\\n- on Monday\\n- at [a](https://a.example)'
>>> losses("<p>Plain</p>"), losses("<p style='color:red'>x<img src='/a.png'></p>")
([], ['pictures', 'formatting'])
"""

import re
from html.parser import HTMLParser

MAX_DEPTH = 10  # lists in lists, or marks in marks
INDENT = "   "  # of what stands below an item of either kind of list
MARKS = {
    **dict.fromkeys(("b", "strong"), "**"),
    **dict.fromkeys(("i", "em"), "*"),
    **dict.fromkeys(("s", "del", "strike"), "~~"),
    "code": "`",
}
HEADINGS = {f"h{level}": "#" * level for level in range(1, 7)}
LISTS = ("ul", "ol")
BLOCKS = frozenset(
    (
        *("p", "div", "section", "article", "header", "footer", "figure", "address", "center"),
        *("table", "thead", "tbody", "tr", "dl", "dt", "dd", "blockquote", "pre", "hr", "li"),
        *(*HEADINGS, *LISTS),
    )
)
SILENT = ("script", "style", "head", "title", "template")
PICTURES = ("img", "video", "audio", "iframe", "svg", "object", "canvas", "picture")
UNTOLD = ("u", "font", "mark", "sub", "sup", "small", "big", "button", "details")
ADDRESSES = ("http://", "https://", "mailto:", "/odoo/")


# Python's parser reads all the rest again for each tag that nothing closes, and knows no other declarations.
DECLARATIONS = re.compile(r"<![^<>]*>")
UNCLOSED = re.compile(r"<(?![a-zA-Z/?][^<>]*>)")


def markdown(source: str) -> str:
    reader = _Reader()
    reader.feed(_well_formed(source))
    reader.close()
    return reader.result()


def losses(source: str) -> list[str]:
    """Losses of writing this as Markdown, of “pictures” and “formatting”."""
    reader = _Losses()
    reader.feed(_well_formed(source))
    reader.close()
    return [name for name in ("pictures", "formatting") if name in reader.found]


def _well_formed(source: str) -> str:
    """The source without comments and declarations, in which a sign that begins no tag is a character."""
    kept, place = [], 0
    while (begin := source.find("<!--", place)) >= 0:
        kept.append(source[place:begin])
        end = source.find("-->", begin + 4)
        place = end + 3 if end >= 0 else len(source)
    kept.append(source[place:])
    return UNCLOSED.sub("&lt;", DECLARATIONS.sub("", "".join(kept)))


class _Losses(HTMLParser):
    def __init__(self):
        super().__init__()
        self.found: set[str] = set()

    def handle_starttag(self, tag, attrs):
        if tag in PICTURES:
            self.found.add("pictures")
        elif tag in UNTOLD or any(name in ("style", "class") and value for name, value in attrs):
            self.found.add("formatting")


class _Reader(HTMLParser):
    def __init__(self):
        super().__init__()
        self._blocks: list[tuple[str, str]] = []  # kind, text
        self._text: list[str] = []  # of the block that is being read
        self._marks: list[tuple[str, int, str]] = []  # tag, where it began, its address
        self._lists: list[str] = []
        self._marker, self._heading, self._quotes = "", "", 0
        self._row: list[str] | None = None
        self._rows = 0
        self._silent, self._verbatim = "", False

    # ------------------------------------------------------------ tags

    def handle_starttag(self, tag, attrs):
        given = {name: value or "" for name, value in attrs}
        if self._silent:
            return
        if tag in SILENT:
            self._silent = tag
        elif tag in BLOCKS:
            self._open(tag)
        elif tag == "br":
            self._text.append("\n")
        elif tag in PICTURES:
            self._text.append(f"[picture{': ' * bool(given.get('alt'))}{given.get('alt', '')}]")
        elif (tag in MARKS or tag == "a") and not self._verbatim and len(self._marks) < MAX_DEPTH:
            self._marks.append((tag, len(self._text), given.get("href", "")))
        elif tag in ("td", "th"):
            self._text = []

    def handle_endtag(self, tag):
        if self._silent:
            self._silent = "" if tag == self._silent else self._silent
        elif tag in BLOCKS:
            self._close(tag)
        elif tag in ("td", "th") and self._row is not None:
            self._row.append(" ".join("".join(self._text).split()).replace("|", "/"))
            self._text, self._marks = [], []
        elif any(opened == tag for opened, *_more in self._marks):
            self._end_mark(tag)

    def handle_data(self, data):
        if not self._silent:
            self._text.append(data if self._verbatim else _collapsed(data))

    def _open(self, tag):
        self._flush()
        if tag in LISTS and len(self._lists) < MAX_DEPTH:
            self._lists.append(tag)
        elif tag == "li":
            self._marker = "1. " if self._lists[-1:] == ["ol"] else "- "
        elif tag in HEADINGS:
            self._heading = f"{HEADINGS[tag]} "
        elif tag == "blockquote":
            self._quotes = min(self._quotes + 1, MAX_DEPTH)
        elif tag == "pre":
            self._verbatim = True
        elif tag == "hr":
            self._blocks.append(("block", "---"))
        elif tag == "table":
            self._rows = 0
        elif tag == "tr":
            self._row = []

    def _close(self, tag):
        if tag == "pre":
            said, self._text, self._verbatim = "".join(self._text).strip("\n"), [], False
            if said:
                self._blocks.append(("block", f"```\n{said}\n```"))
        elif tag == "tr" and self._row is not None:
            row, self._row, self._text = self._row, None, []
            self._add_row(row)
        else:
            self._flush()
        if tag in LISTS and self._lists:
            self._lists.pop()
        elif tag == "li":
            self._marker = ""
        elif tag in HEADINGS:
            self._heading = ""
        elif tag == "blockquote":
            self._quotes = max(0, self._quotes - 1)

    def _add_row(self, cells):
        if not any(cells):
            return
        self._blocks.append(("row" if self._rows else "head", f"| {' | '.join(cells)} |"))
        if not self._rows:
            self._blocks.append(("row", "|" + " --- |" * len(cells)))
        self._rows += 1

    def _end_mark(self, tag):
        """Blanks stay outside of the marks, and what is empty has none."""
        while self._marks:
            opened, begin, address = self._marks.pop()
            inner = "".join(self._text[begin:])
            del self._text[begin:]
            self._text.append(_marked(opened, inner, address))
            if opened == tag:
                break

    # ------------------------------------------------------------ blocks

    def _flush(self):
        """End the block that was read; in a cell it goes on."""
        if self._row is not None or self._verbatim:
            self._text.append(" " if self._row is not None else "")
            return
        while self._marks:
            self._end_mark(self._marks[-1][0])
        lines = [" ".join(line.split()) for line in "".join(self._text).split("\n")]
        self._text = []
        said = "\n".join(lines).strip("\n")
        if not said:
            return
        indent = INDENT * max(0, len(self._lists) - bool(self._marker))
        first = indent + self._marker
        rest = " " * len(first)
        quote = "> " * self._quotes
        said = self._heading + said
        told = [
            quote + (first if place == 0 else rest) + line
            for place, line in enumerate(said.split("\n"))
        ]
        self._blocks.append(("row" if self._marker else "block", "\n".join(told)))
        self._marker = ""

    def result(self):
        self._flush()
        found, before = [], ""
        for kind, said in self._blocks:
            if before:
                is_next = kind == "row" and before in ("row", "head")
                found.append("\n" if is_next else "\n\n")
            found.append(said)
            before = kind
        return "".join(found)


def _marked(tag, inner, address):
    core = inner.strip()
    if not core:
        return inner
    before, after = inner[: len(inner) - len(inner.lstrip())], inner[len(inner.rstrip()) :]
    if tag != "a":
        return f"{before}{MARKS[tag]}{core}{MARKS[tag]}{after}"
    is_safe = address.lower().startswith(ADDRESSES) and not any(map(str.isspace, address))
    if core == address or not is_safe:
        return inner
    return f"{before}[{core}]({address}){after}"


def _collapsed(said):
    """Blanks between words, and at either end, are one."""
    core = " ".join(said.split())
    if not core:
        return " " if said else ""
    return f"{' ' * said[0].isspace()}{core}{' ' * said[-1].isspace()}"
