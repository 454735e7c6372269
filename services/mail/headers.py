"""Header of an incoming mail: whether its sender is who it says, and whether a program has sent it.

A header is a list of ``(name, raw value)`` pairs in the order of the mail, the topmost first. A value may be folded.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

MAX_CHARS = 20_000  # of one value
BULK = ("bulk", "list", "junk", "auto_reply")
OF_PROGRAMS = ("list-id", "list-unsubscribe", "x-autoreply", "x-autorespond")

Header = Sequence[tuple[str, str]]


class _Malformed(ValueError):
    """No value of RFC 8601."""


@dataclass
class _Result:
    """Result of one method, such as ``dmarc``."""

    method: str
    value: str
    properties: dict[str, str] = field(default_factory=dict)

    def domain(self, name: str) -> str:
        """Domain of a property, which may be an address."""
        return self.properties.get(name, "").lstrip('"').rpartition("@")[2].rstrip(".").lower()


def values(header: Header, name: str) -> list[str]:
    """Values of all fields of a name, the topmost first.

    >>> values([("To", "a"), ("Received", "b"), ("TO", "c")], "to")
    ['a', 'c']
    """
    return [value for key, value in header if key.lower() == name.lower()]


def is_verified(header: Header, server: str, domain: str) -> bool:
    """True if the operator's mail server says that the mail comes from the domain of its sender.

    Only the topmost `Authentication-Results` counts, and only if it has the server's name. DMARC decides; where the
    domain has no policy, SPF or DKIM do if they are of just this domain.

    >>> def tried(*results):
    ...     header = [("Authentication-Results", result) for result in results]
    ...     return is_verified(header, "mx.example.com", "a.example")
    >>> tried("mx.example.com; dmarc=pass (p=none) header.from=a.example")
    True
    >>> tried("mx.evil.example; dmarc=pass header.from=a.example"), tried()
    (False, False)
    >>> tried("mx.example.com; dmarc=fail header.from=a.example", "mx.example.com; dmarc=pass header.from=a.example")
    False
    >>> tried('mx.example.com; spf=fail reason="dmarc=pass; dkim=pass" smtp.mailfrom=x@a.example')
    False
    >>> tried("mx.example.com; dmarc=none header.from=a.example; dkim=pass header.d=a.example")
    True
    >>> tried("mx.example.com; dkim=pass header.d=evil.example; spf=pass smtp.mailfrom=b@evil.example")
    False

    :param server: the authserv-id of the operator's server, ``""`` if it has none
    :param domain: domain of the only address in `From`, in lower case
    """
    given = values(header, "Authentication-Results")
    if not server or not domain or not given or len(given[0]) > MAX_CHARS:
        return False
    try:
        name, results = _read(given[0])
    except _Malformed:
        return False
    if name != server.lower():
        return False
    of_method: dict[str, list[_Result]] = {}
    for result in results:
        of_method.setdefault(result.method, []).append(result)
    dmarc = [one for one in of_method.get("dmarc", ()) if one.value != "none"]
    if dmarc:
        return all(one.value == "pass" and one.domain("header.from") == domain for one in dmarc)
    return any(
        one.value == "pass" and domain in (one.domain(name) for name in names)
        for method, names in (("spf", ["smtp.mailfrom"]), ("dkim", ["header.d"]))
        for one in of_method.get(method, ())
    )


def is_automatic(header: Header) -> bool:
    """True if a program has sent the mail, to which an answer could come back for ever.

    >>> is_automatic([("Auto-Submitted", "auto-replied (vacation)")]), is_automatic([("Auto-Submitted", "no")])
    (True, False)
    >>> is_automatic([("Return-Path", "<>")]), is_automatic([("Precedence", "Bulk")]), is_automatic([])
    (True, True, False)
    """
    for name, raw in header:
        value = "".join(raw[:MAX_CHARS].split()).lower()
        match name.lower():
            case "auto-submitted" if value.partition("(")[0].partition(";")[0] != "no":
                return True
            case "precedence" if value in BULK:
                return True
            case "return-path" if value == "<>":
                return True
            case known if known in OF_PROGRAMS:
                return True
    return False


def _read(value: str) -> tuple[str, list[_Result]]:
    """``(authserv-id, results)``

    >>> _read('a.example 1; spf=pass (a; b=c) smtp.mailfrom="x;y"@b.example; none')[1][0].domain("smtp.mailfrom")
    'b.example'
    """
    first, *rest = _parts(value)
    if not first or first[1:] not in ([], ["1"]):
        raise _Malformed
    results = []
    for words in rest:
        if words in ([], ["none"]):
            continue
        method, equals, said = words[0].partition("=")
        if not equals or not said:
            raise _Malformed
        result = _Result(method.partition("/")[0].lower(), said.lower())
        for word in words[1:]:
            name, equals, said = word.partition("=")
            if not equals or name.lower() in result.properties:
                raise _Malformed
            result.properties[name.lower()] = said
        results.append(result)
    return first[0].lower(), results


def _parts(value: str) -> Iterator[list[str]]:
    """Words between semicolons, without comments; a quoted text is part of its word, behind a quotation mark.

    >>> list(_parts('a; b = c (d(e)\\\\) f) "g ; h"'))
    [['a'], ['b=c', '"g ; h']]
    """
    words: list[str] = []
    word: list[str] = []
    place, depth, end = 0, 0, len(value)

    def close():
        if word:
            # Blanks may stand around the sign between a name and its value.
            joins = words and (word[0] == "=" or words[-1][-1] == "=")
            words.append(words.pop() + "".join(word) if joins else "".join(word))
            word.clear()

    while place < end:
        sign = value[place]
        place += 1
        if depth:
            place += sign == "\\"
            depth += {"(": 1, ")": -1}.get(sign, 0)
        elif sign == "(":
            close()
            depth = 1
        elif sign == '"':
            word.append(sign)
            while place < end and value[place] != '"':
                place += value[place] == "\\"
                word.append(value[place : place + 1])
                place += 1
            if place >= end:
                raise _Malformed
            place += 1
        elif sign == ";":
            close()
            yield words
            words = []
        elif sign in " \t\r\n":
            close()
        else:
            word.append(sign)
    if depth:
        raise _Malformed
    close()
    yield words
