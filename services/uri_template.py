"""Addresses with variables, as templates of resources have them: ``file:///{path}`` (RFC 6570).

A value is one text, so the modifier ``*`` of lists and maps changes nothing.
"""

import re
from collections.abc import Mapping
from urllib.parse import quote

_EXPRESSION = re.compile(r"\{([+#./;?&]?)([A-Za-z0-9_.,*:%]+)\}")
_MODIFIER = re.compile(r"\*|:(\d+)$")
_RESERVED = ":/?#[]@!$&'()*+,;="
_FORMS = {  # operator: what comes first, what comes between, whether names are written
    "": ("", ",", False),
    "+": ("", ",", False),
    "#": ("#", ",", False),
    ".": (".", ".", False),
    "/": ("/", "/", False),
    ";": (";", ";", True),
    "?": ("?", "&", True),
    "&": ("&", "&", True),
}


def variables(template: str) -> tuple[str, ...]:
    """Names to fill in, each once, in the order in which they stand there.

    >>> variables("demo://{kind}/{id}{?q,kind}")
    ('kind', 'id', 'q')
    """
    names = (name for _, listed in _EXPRESSION.findall(template) for name in listed.split(","))
    return tuple(dict.fromkeys(bare for name in names if (bare := _MODIFIER.sub("", name))))


def expand(template: str, values: Mapping[str, str]) -> str:
    """The address; variables without a value are left out.

    >>> expand("file:///{+path}{?q,lang}", {"path": "a b/ü", "q": "x&y"})
    'file:///a%20b/%C3%BC?q=x%26y'
    """
    return _EXPRESSION.sub(lambda found: _filled(*found.groups(), values), template)


def _filled(operator: str, listed: str, values: Mapping[str, str]) -> str:
    first, between, is_named = _FORMS[operator]
    keeps_reserved = operator in ("+", "#")
    parts = []
    for name in listed.split(","):
        bare = _MODIFIER.sub("", name)
        if bare not in values:
            continue
        length = _MODIFIER.search(name)
        value = values[bare][: int(length[1])] if length and length[1] else values[bare]
        written = quote(value, safe=_RESERVED if keeps_reserved else "")
        if keeps_reserved:  # what is encoded already stays so
            written = re.sub("%25(?=[0-9A-Fa-f]{2})", "%", written)
        equals = "" if operator == ";" and not written else "="
        parts.append(f"{bare}{equals}{written}" if is_named else written)
    return first + between.join(parts) if parts else ""
