"""Redirect URIs: which a client may register, and whether a request names one of them.

Sources: OAuth 2.1, 2.3; RFC 8252, 7 (native apps).
"""

import re
from collections.abc import Iterable, Mapping
from urllib.parse import SplitResult, urlencode, urlsplit

from . import const

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
# Schemes that browsers, mail programs or the system handle themselves, so none of them is an app's own.
NOT_PRIVATE = frozenset(
    {
        *("about", "blob", "data", "file", "filesystem", "javascript", "vbscript", "view-source"),
        *("chrome", "ftp", "ftps", "http", "https", "resource", "sftp", "ssh", "urn", "ws", "wss"),
        *("intent", "mailto", "ms-settings", "search-ms", "sms", "tel"),
    }
)
_CHARACTERS = re.compile(r"[!$-;=?-\[\]_a-z~]+")  # RFC 3986, 2, without the fragment's sign


def is_acceptable(uri: object) -> bool:
    """True for https, http on the same computer, or a scheme of an app's own.

    >>> is_acceptable("https://claude.ai/api/mcp/auth_callback"), is_acceptable("cursor://oauth/callback")
    (True, True)
    >>> is_acceptable("http://claude.ai/callback"), is_acceptable("javascript://x/%0aalert(1)")
    (False, False)
    """
    if not isinstance(uri, str) or len(uri) > const.MAX_URI or not _CHARACTERS.fullmatch(uri):
        return False
    if (parts := _parts(uri)) is None or "@" in parts.netloc:
        return False
    if parts.scheme == "https":
        return bool(parts.hostname)
    if parts.scheme == "http":
        return parts.hostname in LOOPBACK
    is_hierarchical = uri[len(parts.scheme) :].startswith(":/")
    return bool(parts.scheme) and parts.scheme not in NOT_PRIVATE and is_hierarchical


def is_registered(uri: str, registered: Iterable[str]) -> bool:
    """True if the URI is one of a client's own; on the same computer, the port may be another (RFC 8252, 7.3).

    :param uri: of a request, not checked
    :param registered: URIs that `is_acceptable` has accepted

    >>> is_registered("http://127.0.0.1:61023/cb", ["http://127.0.0.1/cb"])
    True
    """
    return any(uri == known or _is_other_port(uri, known) for known in registered)


def place(uri: str) -> tuple[str, str]:
    """Kind and name of the place that gets the answer, for people: ``("site", host)``, ``("computer", host)`` or
    ``("app", scheme)``.

    :param uri: that `is_acceptable` has accepted

    >>> place("https://claude.ai/cb"), place("cursor://oauth/cb")
    (('site', 'claude.ai'), ('app', 'cursor'))
    """
    parts = urlsplit(uri)
    if parts.scheme not in ("http", "https"):
        return "app", parts.scheme
    return ("computer" if _is_loopback(parts) else "site"), parts.hostname or ""


def answer(uri: str, values: Mapping[str, str | None]) -> str:
    """Address that takes an answer to the client.

    :param uri: the redirect URI; its own query stays
    :param values: parameters of the answer; those that are None are left out
    """
    query = urlencode({name: value for name, value in values.items() if value is not None})
    return f"{uri}{'&' if '?' in uri else '?'}{query}"


def _is_other_port(uri: str, known: str) -> bool:
    if not is_acceptable(uri):
        return False
    one, other = urlsplit(uri), urlsplit(known)
    return _is_loopback(one) and _without_port(one) == _without_port(other)


def _is_loopback(parts: SplitResult) -> bool:
    return parts.scheme == "http" and parts.hostname in LOOPBACK


def _without_port(parts: SplitResult) -> tuple[str, str | None, str, str]:
    return parts.scheme, parts.hostname, parts.path or "/", parts.query


def _parts(uri: str) -> SplitResult | None:
    try:
        parts = urlsplit(uri)
        parts.port  # noqa: B018 raises where it is none
    except ValueError:
        return None
    return parts
