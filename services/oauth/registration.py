"""OAuth client registration: how a client is known to an authorization server; secrets, signed assertions."""

import base64
import secrets
import time
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote

from .. import const
from ..errors import AuthRequired
from ..sentence import _lt
from ..specs import OAuthSpec
from .metadata import Authority, Directory

ASSERTION = 300  # s, life of a signed client assertion
UNUSED = 86_400.0  # s, servers delete clients that never get a token; from 7 days on


async def register(directory: Directory, authority: Authority, redirect_uri: str) -> dict[str, Any]:
    """RFC 7591, for authorization servers that know nothing newer.

    :return: client_id, client_secret (may be empty) and method; kept_until, by which it has to get a token, and
        secret_ends if its secret ends (Unix s)
    :raises AuthRequired: the server does not take this client
    """
    wanted = {
        "client_name": const.CLIENT_NAME,
        "redirect_uris": [redirect_uri],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "application_type": "web" if redirect_uri.startswith("https") else "native",
        "token_endpoint_auth_method": method({"client_secret": "-"}, authority.auth_methods),
    }
    status, answer = await directory.post(authority.registration_endpoint, {}, json=wanted)
    if status not in (200, 201) or not isinstance(answer.get("client_id"), str):
        raise AuthRequired(
            _lt("The MCP server's sign-in service did not accept this client."),
            detail=f"HTTP {status} {str(answer.get('error', ''))[:200]}",
        )
    client: dict[str, Any] = {
        "client_id": answer["client_id"],
        "client_secret": str(answer.get("client_secret") or ""),
        "kept_until": time.time() + UNUSED,
    }
    ends = answer.get("client_secret_expires_at")
    if isinstance(ends, int) and ends > 0:  # 0: never
        client["secret_ends"] = ends
    auth_method = answer.get("token_endpoint_auth_method")
    return client | {
        "method": auth_method
        if auth_method in ("none", "client_secret_basic", "client_secret_post")
        else method(client, authority.auth_methods)
    }


def is_usable(client: Mapping[str, Any]) -> bool:
    """True if the server still knows the client, as far as we can tell.

    :param client: as `register` has returned it

    >>> is_usable({"client_id": "a"}), is_usable({"client_id": "a", "kept_until": 0})
    (True, False)
    """
    ends = (client.get("kept_until"), client.get("secret_ends"))
    return all(end is None or end > time.time() for end in ends)


def method(client: Mapping[str, str], offered: Iterable[str]) -> str:
    """Client authentication method, of those that the server offers.

    :param client: as it is registered: ``{"client_id", "client_secret", "method"}``
    :param offered: methods of the token endpoint
    """
    if not client.get("client_secret"):
        return "none"
    known = ("client_secret_basic", "client_secret_post", "none")
    return next((name for name in known if name in offered), "client_secret_basic")


def credentials(
    spec: OAuthSpec, client: Mapping[str, str], issuer: str
) -> tuple[dict[str, str], dict[str, str]]:
    """Headers and fields by which the token endpoint of `issuer` knows the client.

    :param client: as it is registered: ``{"client_id", "client_secret", "method"}``
    """
    if spec.private_key:
        return {}, {
            "client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
            "client_assertion": _assertion(spec, issuer),
        }
    return secret(client)


def secret(client: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Headers and fields of a client that signs nothing; a public one only says who it is.

    :param client: as it is registered: ``{"client_id", "client_secret", "method"}``
    """
    if client["method"] == "client_secret_basic":
        pair = f"{quote(client['client_id'], safe='')}:{quote(client['client_secret'], safe='')}"
        return {"authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}, {}
    if client["method"] == "client_secret_post":
        return {}, {
            "client_id": client["client_id"],
            "client_secret": client["client_secret"],
        }
    return {}, {"client_id": client["client_id"]}


def _assertion(spec: OAuthSpec, audience: str) -> str:
    """RFC 7523, 3."""
    import jwt  # noqa: PLC0415

    now = int(time.time())
    claims = {
        "iss": spec.client_id,
        "sub": spec.client_id,
        "aud": audience,
        "jti": secrets.token_urlsafe(16),
        "iat": now,
        "exp": now + ASSERTION,
    }
    return jwt.encode(claims, spec.private_key, algorithm=spec.private_key_algorithm)
