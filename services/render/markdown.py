"""Markdown renderer: an answer as HTML, block by block while it streams.

Raw HTML stays text, remote images become links, links open elsewhere and lead to http, https, mailto
or a record of Odoo only. The caller sanitises once more where it stores the HTML.
"""

import functools
import html
import re
from collections.abc import Iterator

from .. import large
from .. import text as texts
from . import formulas, markdown_rules

INLINE_CHARS = 2_000  # characters that are rendered on the spot, 15 µs each at worst
MAX_BLOCK = 20_000  # characters of one block

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_LIST = re.compile(r" {0,3}(?:[-*+]|\d{1,9}[.)])(?:\s|$)")
_MARK = re.compile(r"[-*+]|\d{1,9}[.)]?")  # of an item, or the beginning of one
_HEADING = re.compile(r" {0,3}#{1,6}(?:\s|$)")
_SAFE_LINK = re.compile(r"(?:https?://|mailto:)", re.IGNORECASE)
_RECORD_LINK = re.compile(
    r"/odoo/[\w./-]+"
)  # a page of the web client; a GET of it changes nothing


def render(source: str, *, breaks: bool = False) -> str:
    """The HTML of a whole text; what is long is read block by block, and a block without end stays text.

    :param breaks: whether the end of a line is one in HTML, too
    """
    try:
        parser = _parser(breaks)
    except ModuleNotFoundError:  # what was said before stays readable
        return _as_text(source)
    if len(source) <= MAX_BLOCK:
        return parser.render(texts.clean(source))
    return "".join(
        render(block, breaks=breaks) if len(block) <= MAX_BLOCK else _as_text(block)
        for block in blocks(source)
    )


def shown(source: str) -> str:
    """HTML as of `render` for a browser: formulas are drawn."""
    return formulas.drawn(render(source))


async def rendered(source: str) -> str:
    """HTML as of `shown`; what is long does not hold up the loop."""
    return shown(source) if len(source) <= INLINE_CHARS else await large.beside(shown, source)


def _as_text(source: str) -> str:
    return f"<pre>{html.escape(texts.clean(source))}</pre>\n"


class BlockStream:
    """Finds the blocks of a growing text; every line is looked at once.

    >>> stream = BlockStream()
    >>> list(stream.feed("# Title\\n\\nOne ")), list(stream.feed("line\\n\\n")), list(stream.feed("More"))
    (['# Title\\n'], [], ['One line\\n'])
    >>> list(stream.close())
    ['More']
    """

    def __init__(self):
        self._line = ""
        self._block: list[str] = []
        self._blanks: list[str] = []
        self._fence = ""
        self._rest = 0  # characters of the text that stand in no block
        self._held = ""

    def pieces(self, delta: str) -> Iterator[tuple[str, str]]:
        """New text, cut where blocks end: each piece with the source of the block that it completes, the last with "".

        A mark that may begin an item of this list, or the next block, is held back until the next delta.

        >>> list(BlockStream().pieces("One\\n\\nTw"))
        [('One\\n\\n', 'One\\n'), ('Tw', '')]
        """
        text, start = self._held + delta, 0
        for source in self.feed(delta):
            end = len(text) - self._rest
            yield text[start:end], source
            start = end
        self._held = self._line if self._is_undecided() else ""
        yield text[start : len(text) - len(self._held)], ""

    def last_pieces(self) -> Iterator[tuple[str, str]]:
        """Rest at the end of the text, as of `pieces`."""
        text, self._held = self._held, ""
        for source in self.close():
            yield text, source
            text = ""

    def feed(self, delta: str) -> Iterator[str]:
        """The source of each block that this delta completed."""
        self._line += delta
        self._rest = len(self._line)
        if "\n" in delta:
            *lines, self._line = self._line.split("\n")
            for line in lines:
                yield from self._add(line + "\n")
        if self._line and self._blanks and not self._fence and self._starts_block(self._line):
            yield from self._flush()

    def close(self) -> Iterator[str]:
        """Rest at the end of the text."""
        if self._line:
            line, self._line = self._line, ""
            yield from self._add(line)
        yield from self._flush()
        self._fence = ""

    def _add(self, line: str) -> Iterator[str]:
        if self._blanks and line.strip() and self._starts_block(line):
            yield from self._flush()
        self._rest -= len(line)
        if self._fence:
            self._block.append(line)
            if self._closes_fence(line):
                self._fence = ""
                if not self._in_list():
                    yield from self._flush()
            return
        if not line.strip():
            if self._block:
                self._blanks.append(line)
            return
        self._block += [*self._blanks, line]
        self._blanks = []
        if match := _FENCE.match(line.lstrip() if self._in_list() else line):
            self._fence = match[1]
        elif _HEADING.match(line) and len(self._block) == 1:
            yield from self._flush()

    def _starts_block(self, line: str) -> bool:
        """True if a line after a blank one begins a new block. A list goes on with items and indents."""
        if not self._in_list():
            return not (line[:1] in " \t" and self._block and self._block[0][:1] in " \t")
        if line[:1] in " \t":
            return False
        return not (_LIST.match(line) or _MARK.fullmatch(line))

    def _is_undecided(self) -> bool:
        """True if a line after a blank one may become an item of the list, and may begin a new block."""
        return bool(self._blanks and self._in_list() and _MARK.fullmatch(self._line))

    def _in_list(self) -> bool:
        return bool(self._block) and bool(_LIST.match(self._block[0]))

    def _closes_fence(self, line: str) -> bool:
        mark = line.strip()
        return len(mark) >= len(self._fence) and set(mark) == {self._fence[0]}

    def _flush(self) -> Iterator[str]:
        if self._block:
            yield "".join(self._block)
        self._block, self._blanks = [], []


def blocks(source: str) -> list[str]:
    """The blocks of a whole text, as a stream of it would give them."""
    stream = BlockStream()
    return [*stream.feed(source), *stream.close()]


@functools.cache
def _parser(breaks):
    from markdown_it import MarkdownIt  # noqa: PLC0415

    parser = MarkdownIt("commonmark", {"html": False, "breaks": breaks}).enable(
        ["table", "strikethrough"]
    )
    parser.validateLink = _is_safe_link
    parser.block.ruler.before(
        "table",
        "displayed_math",
        markdown_rules.displayed_math,
        {"alt": ["paragraph", "reference", "blockquote"]},
    )
    parser.inline.ruler.before("escape", "math", markdown_rules.math)
    parser.core.ruler.push("task_lists", markdown_rules.task_lists)
    parser.core.ruler.push("bare_links", markdown_rules.bare_links)
    parser.add_render_rule("math", _math)
    parser.add_render_rule("link_open", _link)
    parser.add_render_rule("image", _image)
    return parser


def _math(_renderer, tokens, index, _options, _env):
    return f'<span class="{formulas.CLASS}">{html.escape(tokens[index].content)}</span>'


def _is_safe_link(url: str) -> bool:
    url = url.strip()
    is_record = _RECORD_LINK.fullmatch(url) and ".." not in url
    return bool(is_record or _SAFE_LINK.match(url))


def _link(renderer, tokens, index, options, env):
    tokens[index].attrSet("target", "_blank")
    tokens[index].attrSet("rel", "noopener noreferrer nofollow")
    return renderer.renderToken(tokens, index, options, env)


def _image(renderer, tokens, index, options, env):
    from markdown_it.common.utils import escapeHtml  # noqa: PLC0415

    token = tokens[index]
    alt = renderer.renderInlineAsText(token.children or [], options, env) or token.attrGet("src")
    source = escapeHtml(str(token.attrGet("src")))
    return f'<a href="{source}" target="_blank" rel="noopener noreferrer nofollow">{escapeHtml(str(alt))}</a>'
