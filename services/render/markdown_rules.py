"""Markdown extensions beyond CommonMark: task lists, bare links, and mathematics that is marked.

Rules of markdown-it-py: https://markdown-it-py.readthedocs.io/en/latest/architecture.html#rules
"""

import re

_TASK = re.compile(r"\[([ xX])\]\s+")
_BARE_LINK = re.compile(r"https?://[^\s<>\"'`*|]{1,2000}")
_AFTER_LINK = ".,;:!?…。，、！？"  # ends a sentence, not a link
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
