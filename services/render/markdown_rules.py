"""Markdown extensions beyond CommonMark: task lists, bare links, and mathematics that is marked.

Rules of markdown-it-py: https://markdown-it-py.readthedocs.io/en/latest/architecture.html#rules
"""

import re

_TASK = re.compile(r"\[([ xX])\]\s+")
_BARE_LINK = re.compile(r"https?://[^\s<>\"'`*|]{1,2000}")
_AFTER_LINK = ".,;:!?…。，、！？"  # ends a sentence, not a link
_MATH_CHARS = 2_000  # of one formula, as in `_MATH`
_DISPLAYED = {"$$": "$$", "\\[": "\\]"}
_NO_MATH = ("\\[", "```", "~~~")  # begins no line of a formula
# As TeX writes it, and as pandoc reads `$`: no blank inside of it, no digit after it.
_MATH = re.compile(
    r"\\\(.{1,2000}?\\\)|\\\[.{1,2000}?\\\]|\$\$.{1,2000}?\$\$"
    r"|\$(?![\s$])[^$\n]{0,500}(?<![\s\\])\$(?!\d)",
    re.DOTALL,
)


def math(state, silent: bool) -> bool:
    """An inline rule: what stands between the marks of TeX is a formula, neither emphasis nor an escape."""
    if state.src[state.pos] not in "$\\":
        return False
    match = _MATH.match(state.src, state.pos, state.posMax)
    if not match:
        return False
    if not silent:
        state.push("math", "", 0).content = match[0]
    state.pos = match.end()
    return True


def displayed_math(state, start: int, end: int, silent: bool) -> bool:
    """A block rule: a formula that begins a line and closes in a later one, whatever its lines look like.

    It is a paragraph, which `math` reads. As in TeX no blank line is in it, so that no block of a stream cuts it.

    :param start: line that may begin one; `end` is the line behind the last that it may have
    :param silent: only tell whether it does, which ends a paragraph
    """
    begin = state.bMarks[start] + state.tShift[start]
    opening = state.src[begin : begin + 2]
    closing = _DISPLAYED.get(opening)
    if not closing or state.is_code_block(start):
        return False
    if state.src.find(closing, begin + 2, state.eMarks[start]) >= 0:
        return False
    if opening == closing and state.src.count(closing, state.bMarks[state.line], begin) % 2:
        return False  # it closes what the paragraph has opened within a line
    last = _closing_line(state, start, end, begin, closing)
    if last is None or silent:
        return last is not None
    from markdown_it.rules_block import paragraph  # noqa: PLC0415

    if state.blkIndent and state.tokens[-1].type == "paragraph_close":
        state.tokens[-2].content += "\n"  # the paragraphs of a tight list lose their tags
    paragraph(state, last, end, False)
    opened, inline, _closed = state.tokens[-3:]
    inline.content = state.getLines(start, state.line, state.blkIndent, False).strip()
    opened.map = inline.map = [start, state.line]
    return True


def _closing_line(state, start, end, begin, closing):
    """Line with the mark that closes a formula, or None. The next formula ends the search, so that all are linear."""
    indent = min(state.blkIndent, state.sCount[start])
    for line in range(start + 1, end):
        first, behind = state.bMarks[line] + state.tShift[line], state.eMarks[line]
        if state.sCount[line] < indent or not state.src[first:behind].strip():
            return None
        if state.src.startswith(_NO_MATH, first):
            return None
        found = state.src.find(closing, first, min(behind, begin + 2 + _MATH_CHARS + len(closing)))
        if found >= 0:
            return line
        if behind - begin > _MATH_CHARS:
            return None
    return None


def task_lists(state) -> None:
    """A core rule: ``- [x] done`` becomes a ballot box, which every reader of the HTML can show."""
    tokens = state.tokens
    for index, token in enumerate(tokens):
        if token.type != "inline" or not token.children or index < 2:
            continue
        item, first = tokens[index - 2], token.children[0]
        if item.type != "list_item_open" or first.type != "text":
            continue
        if match := _TASK.match(first.content):
            box = "☐" if match[1] == " " else "☑"
            first.content = f"{box} {first.content[match.end() :]}"
            item.attrJoin("class", "o_ai_task")


def bare_links(state) -> None:
    """A core rule: an address in the text is a link, outside of links and code."""
    for token in state.tokens:
        if token.type != "inline" or "://" not in token.content:
            continue
        children, depth = [], 0
        for child in token.children:
            depth += child.nesting if child.type in ("link_open", "link_close") else 0
            is_plain = child.type == "text" and not depth
            children += _linked(state, child) if is_plain else [child]
        token.children = children


def _linked(state, token):
    from markdown_it.token import Token  # noqa: PLC0415

    def text(content):
        return Token("text", "", 0, content=content, level=token.level)

    position = 0
    for match in _BARE_LINK.finditer(token.content):
        url = _without_end_of_sentence(match[0])
        if not state.md.validateLink(url):
            continue
        if match.start() > position:
            yield text(token.content[position : match.start()])
        yield Token("link_open", "a", 1, attrs={"href": state.md.normalizeLink(url)})
        yield text(url)
        yield Token("link_close", "a", -1)
        position = match.start() + len(url)
    if position < len(token.content):
        yield text(token.content[position:])


def _without_end_of_sentence(url: str) -> str:
    url = url.rstrip(_AFTER_LINK)
    surplus = url.count(")") - url.count("(")
    while surplus > 0 and url.endswith(")"):
        url = url[:-1].rstrip(_AFTER_LINK)
        surplus -= 1
    return url
