"""Parameters of a request: each at most once, of a bounded length, and for this resource."""

from collections.abc import Iterable, Mapping, Sequence
from urllib.parse import urlsplit

from . import const
from .errors import OAuthError

Given = Mapping[str, Sequence[str]]
"""Values of a query or a form by name, as they were sent."""


def single(given: Given, names: Iterable[str]) -> dict[str, str]:
    """The named parameters of a request; what is empty is as if it were left out (RFC 6749, 3.1).

    :param given: of the client, not checked
    :param names: that count; others are ignored
    :raises OAuthError: one comes twice or is too long
    """
    found = {}
    for name in names:
        values = [value for value in given.get(name, ()) if value]
        if len(values) > 1:
            raise OAuthError("invalid_request", f"{name} is there more than once.")
        if values and (len(values[0]) > const.MAX_FIELD or "\0" in values[0]):
            raise OAuthError("invalid_request", f"{name} is too long or unreadable.")
        found[name] = values[0] if values else ""
    return found


def scopes(asked: str) -> str:
    """Scopes that a client gets of those that it asks for: the known ones, and those of tools if it names none.

    :param asked: separated by blanks
    :raises OAuthError: it names some, and none of them is known

    >>> scopes("offline_access tools:read"), scopes("")
    ('tools:read', 'tools:read tools:call')
    """
    named = asked.split()
    given = [scope for scope in const.SCOPES if scope in (named or const.TOOLS)]
    if not given:
        raise OAuthError("invalid_scope", f"Known scopes are: {' '.join(const.SCOPES)}.")
    return " ".join(given)


def gateway(asked: str, resource: str) -> str:
    """Code of the gateway that a client wants tokens for (RFC 8707), empty for the resource itself.

    :param asked: of the client, not checked; older clients name none
    :param resource: address of the personal gateway, below which the others are
    :raises OAuthError: it is no address of these

    >>> gateway("https://odoo.example.com/mcp/sales", "https://odoo.example.com/mcp")
    'sales'
    """
    if not asked or is_same_resource(asked, resource):
        return ""
    above, _, code = asked.rstrip("/").rpartition("/")
    if not const.CODE.fullmatch(code) or not is_same_resource(above, resource):
        raise OAuthError("invalid_target", f"The resource here is {resource}.")
    return code


def is_same_resource(one: str, other: str) -> bool:
    """True if both are one address; scheme and host have no case, a last slash says nothing.

    >>> is_same_resource("HTTPS://Odoo.Example.com/mcp/", "https://odoo.example.com/mcp")
    True
    """
    try:
        first, second = urlsplit(one), urlsplit(other)
    except ValueError:
        return False
    return (
        (first.scheme, first.netloc.lower(), first.path.rstrip("/"), first.query)
        == (second.scheme, second.netloc.lower(), second.path.rstrip("/"), second.query)
    ) and not first.fragment
