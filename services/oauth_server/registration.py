"""Registration of clients by themselves (RFC 7591): public ones, with a name and redirect URIs."""

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .. import text
from . import const, redirects
from .errors import OAuthError

GRANT_TYPES = ["authorization_code", "refresh_token"]
RESPONSE_TYPES = ["code"]
NETWORK = 64  # bits of an IPv6 address that one customer of a provider has at least


@dataclass(frozen=True, slots=True)
class Registration:
    """A client's words about itself; nobody has checked them.

    :ivar redirect_uris: each acceptable to `redirects`
    """

    name: str
    redirect_uris: tuple[str, ...]


def read(document: Any) -> Registration:
    """Check the metadata of a client.

    :param document: JSON of the request, None where it is none
    :raises OAuthError: it cannot be registered
    """
    if not isinstance(document, dict):
        raise OAuthError("invalid_client_metadata", "Send a JSON object.")
    uris = document.get("redirect_uris")
    if not isinstance(uris, list) or not 0 < len(uris) <= const.MAX_URIS:
        limit = f"redirect_uris must be a list of 1 to {const.MAX_URIS}."
        raise OAuthError("invalid_redirect_uri", limit)
    if not all(map(redirects.is_acceptable, uris)):
        kinds = "Redirect URIs are https, http on localhost, or of an app's own scheme."
        raise OAuthError("invalid_redirect_uri", kinds)
    _check_includes(document, "grant_types", GRANT_TYPES[0])
    _check_includes(document, "response_types", RESPONSE_TYPES[0])
    return Registration(_name(document.get("client_name"), uris[0]), tuple(dict.fromkeys(uris)))


def answer(client_id: str, issued_at: int, registered: Registration) -> dict[str, Any]:
    """The metadata that the client has now, which may be other than it asked for (RFC 7591, 3.2.1).

    :param issued_at: s since 1970
    """
    return {
        "client_id": client_id,
        "client_id_issued_at": issued_at,
        "client_name": registered.name,
        "redirect_uris": list(registered.redirect_uris),
        "grant_types": GRANT_TYPES,
        "response_types": RESPONSE_TYPES,
        "token_endpoint_auth_method": "none",
        "scope": " ".join(const.SCOPES),
    }


def network(address: str) -> str:
    """Network that registrations are counted for: an IPv4 address, or the first half of an IPv6 address.

    >>> network("203.0.113.7"), network("2001:db8:1:2:3::4")
    ('203.0.113.7', '2001:db8:1:2::/64')
    """
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return ""
    if ip.version == 4:
        return str(ip)
    return str(ipaddress.ip_network((int(ip), NETWORK), strict=False))


def _check_includes(document: dict[str, Any], field: str, value: str) -> None:
    given = document.get(field)
    if given is not None and (not isinstance(given, Sequence) or value not in given):
        raise OAuthError("invalid_client_metadata", f"{field} must include {value}.")


def _name(given: Any, uri: str) -> str:
    shown = text.one_line(given, const.MAX_NAME) if isinstance(given, str) else ""
    return shown.strip() or redirects.place(uri)[1]
