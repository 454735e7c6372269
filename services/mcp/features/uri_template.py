"""URI templates (RFC 6570), as resources have them: ``file:///{path}``.

A value is one text, so the modifier ``*`` of lists and maps changes nothing.
"""

import re
from collections.abc import Iterator, Mapping
from urllib.parse import quote

from ...errors import ConfigError
from ...sentence import _lt

MAX_TEMPLATE = 2_000  # characters
MAX_ADDRESS = 8_000  # characters of what a template becomes

_EXPRESSION = re.compile(r"\{([+#./;?&]?)([A-Za-z0-9_.,*:%]{1,2000})\}")
_MODIFIER = re.compile(r"\*|:(\d{1,4})$")
_ENCODED_TWICE = re.compile("%25(?=[0-9A-Fa-f]{2})")
TOO_LONG = _lt("The address of the resource is too long.")
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

    :raises ConfigError: the template or the address is too long

    >>> expand("file:///{+path}{?q,lang}", {"path": "a b/ü", "q": "x&y"})
    'file:///a%20b/%C3%BC?q=x%26y'
    """
    if len(template) > MAX_TEMPLATE:
        raise ConfigError(TOO_LONG)
    written, room = [], MAX_ADDRESS
    for part in _parts(template, values):
        room -= len(part)
        if room < 0:
            raise ConfigError(TOO_LONG)
        written.append(part)
    return "".join(written)


def _parts(template: str, values: Mapping[str, str]) -> Iterator[str]:
    position = 0
    for found in _EXPRESSION.finditer(template):
        yield template[position : found.start()]
        yield from _filled(found[1], found[2], values)
        position = found.end()
    yield template[position:]


def _filled(operator: str, listed: str, values: Mapping[str, str]) -> Iterator[str]:
    mark, between, is_named = _FORMS[operator]
    keeps_reserved = operator in ("+", "#")
    for name in listed.split(","):
        bare = _MODIFIER.sub("", name)
        if bare not in values:
            continue
        length = _MODIFIER.search(name)
        value = values[bare][: MAX_ADDRESS + 1]
        value = value[: int(length[1])] if length and length[1] else value
        written = quote(value, safe=_RESERVED if keeps_reserved else "")
        if keeps_reserved:  # what is encoded already stays so
            written = _ENCODED_TWICE.sub("%", written)
        equals = "" if operator == ";" and not written else "="
        yield mark + (f"{bare}{equals}{written}" if is_named else written)
        mark = between
