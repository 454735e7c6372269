"""Formulas of TeX as MathML, which browsers draw by themselves and screen readers read.

The Markdown renderer marks formulas and leaves their source in the HTML, so whoever stores it keeps the source. Here
the source is replaced for those who read the HTML in a browser.
"""

import functools
import html
import re
from xml.etree.ElementTree import Element

CLASS = "o_ai_math"
MARKS = (
    ("\\(", "\\)", "inline"),
    ("\\[", "\\]", "block"),
    ("$$", "$$", "block"),
    ("$", "$", "inline"),
)
MAX_NODES = 1_000  # elements of one formula
MAX_FORMULAS = 200  # of one text; others stay source
_MARKED = re.compile(rf'<span class="{CLASS}">([^<]*)</span>')
# A macro may stand for any number of others.
_MACRO = re.compile(r"\\(?:(?:re|provide)?newcommand|[egx]?def|let)(?![a-zA-Z])")
_TAGS = frozenset(
    (
        *("math", "mrow", "mi", "mn", "mo", "ms", "mtext", "mspace", "mfrac", "msqrt", "mroot"),
        *(
            "msub",
            "msup",
            "msubsup",
            "munder",
            "mover",
            "munderover",
            "mmultiscripts",
            "mprescripts",
        ),
        *("mtable", "mtr", "mtd", "mstyle", "mpadded", "mphantom", "menclose", "none"),
    )
)
_ATTRIBUTES = frozenset(
    (
        *(
            "display",
            "displaystyle",
            "scriptlevel",
            "mathvariant",
            "mathcolor",
            "stretchy",
            "fence",
        ),
        *("form", "separator", "minsize", "maxsize", "lspace", "rspace", "movablelimits", "accent"),
        *(
            "accentunder",
            "linethickness",
            "columnalign",
            "rowspacing",
            "columnspacing",
            "columnlines",
        ),
        *("rowlines", "notation", "width", "symmetric", "largeop"),
    )
)
# Between single marks may be two prices, too.
_LIKE_TEX = re.compile(r"[\\^_={}<>+]|^[A-Za-z]'*$")
# No length is negative: a formula stays in its place.
_VALUE = re.compile(r"(?!-)(?:[\w.#%+ ]|\w-\w){1,40}", re.ASCII)


def drawn(source: str) -> str:
    """HTML with the marked formulas as MathML; what cannot be read stays source.

    :param source: HTML of the Markdown renderer, or one that a sanitiser has passed

    >>> drawn('<p><span class="o_ai_math">$x^2$</span></p>')
    '<p><span class="o_ai_math"><math display="inline"><mrow><msup><mi>x</mi><mn>2</mn></msup></mrow></math></span></p>'
    """
    if CLASS not in source:
        return source
    return _MARKED.sub(_replaced, source, count=MAX_FORMULAS)


def _replaced(match: re.Match[str]) -> str:
    drawing = mathml(html.unescape(match[1]))
    return f'<span class="{CLASS}">{drawing}</span>' if drawing else match[0]


@functools.lru_cache(maxsize=128)
def mathml(marked: str) -> str:
    """MathML of one formula, empty where it cannot be drawn.

    :param marked: source with its marks, untrusted
    """
    for begin, end, display in MARKS:
        if len(marked) > len(begin + end) and marked.startswith(begin) and marked.endswith(end):
            source = marked[len(begin) : -len(end)]
            is_formula = begin != "$" or _LIKE_TEX.search(source)
            return _converted(source, display) if is_formula else ""
    return ""


def _converted(source: str, display: str) -> str:
    if _MACRO.search(source):
        return ""
    try:
        from latex2mathml.converter import Converter  # noqa: PLC0415
    except ModuleNotFoundError:
        return ""
    try:
        root = Converter(display=display).convert_to_element(source)
        parts: list[str] = []
        _write(root, parts, [MAX_NODES])
    except Exception:  # whatever the source is, the answer stays readable
        return ""
    return "".join(parts)


def _write(element: Element, parts: list[str], left: list[int]) -> None:
    """Write an element of a list of elements and attributes that do nothing but show.

    :raises ValueError: the formula has too many elements
    """
    left[0] -= 1
    if left[0] < 0:
        raise ValueError
    tag = element.tag if element.tag in _TAGS else "mrow"
    given = "".join(
        f' {name}="{value}"'
        for name, value in element.attrib.items()
        if name in _ATTRIBUTES and _VALUE.fullmatch(value)
    )
    # The library escapes characters beyond ASCII itself.
    parts.append(f"<{tag}{given}>{html.escape(html.unescape(element.text or ''))}")
    for child in element:
        _write(child, parts, left)
    parts.append(f"</{tag}>")
