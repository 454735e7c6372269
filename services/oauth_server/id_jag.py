"""Assertions of an identity provider that a client shows for tokens, instead of its user's sign-in (ID-JAG).

Source: draft-ietf-oauth-identity-assertion-authz-grant, and RFC 7523, 3, whose rules it narrows.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeGuard

from . import const
from .errors import OAuthError

GRANT_TYPE = "urn:ietf:params:oauth:grant-type:jwt-bearer"
PROFILE = "urn:ietf:params:oauth:grant-profile:id-jag"
TYPE = "oauth-id-jag+jwt"  # of the JOSE header
ALGORITHMS = ("RS256", "PS256", "ES256", "ES384", "EdDSA")  # of public keys only
LIFE = 3600  # s from `iat` to `exp`, at most
SKEW = 60  # s that clocks may differ
MAX_ID = 200  # characters of `jti`
MAX_KEYS = 64 * 1024  # bytes of the provider's keys
_REQUIRED = ("iss", "sub", "aud", "client_id", "jti", "exp", "iat")


@dataclass(frozen=True, slots=True)
class Provider:
    """The identity provider that the operator trusts.

    :ivar name: its issuer
    :ivar keys: its JSON Web Key Set
    :ivar claim: that names the user, such as "email" or "sub"
    """

    name: str
    keys: Mapping[str, Any]
    claim: str


@dataclass(frozen=True, slots=True)
class Assertion:
    """An assertion that counts.

    :ivar user: value of the provider's claim
    :ivar id: by which it counts once
    :ivar expires_at: s since 1970
    :ivar scope: separated by blanks
    :ivar resource: address that the tokens are to be for, empty for the user's personal one
    """

    user: str
    id: str
    expires_at: int
    scope: str
    resource: str


def read(token: str, provider: Provider, audience: str, client_id: str, scope: str) -> Assertion:
    """Check an assertion.

    :param token: of a client, not checked
    :param audience: issuer of this authorization server
    :param client_id: of the client that has shown its secret
    :param scope: that the client asks for, empty for all that the assertion has
    :raises OAuthError: it does not count here, for this client, or any more
    """
    claims = _claims(token, provider, audience)
    if claims["client_id"] != client_id:
        raise _refused("The assertion is for another client.")
    user, number, resource = claims.get(provider.claim), claims["jti"], claims.get("resource", "")
    if not _is_text(user) or claims.get("email_verified") is False:
        raise _refused(f"The assertion names no user by the claim {provider.claim}.")
    if not _is_text(number) or len(number) > MAX_ID:
        raise _refused("The assertion's jti cannot be used.")
    if isinstance(resource, list) and len(resource) == 1:
        (resource,) = resource
    if not isinstance(resource, str):
        raise OAuthError("invalid_target", "The assertion names more than one resource.")
    return Assertion(
        user=user.strip(),
        id=number,
        expires_at=int(claims["exp"]) + SKEW,
        scope=_narrowed(claims.get("scope"), scope),
        resource=resource,
    )


def _claims(token: str, provider: Provider, audience: str) -> dict[str, Any]:
    import jwt  # noqa: PLC0415 half a second

    try:
        header = jwt.get_unverified_header(token)
        if str(header.get("typ", "")).lower() != TYPE or header.get("alg") not in ALGORITHMS:
            raise _refused(f"The assertion is no {TYPE}, or not signed with a public key.")
        keys = jwt.PyJWKSet.from_dict(dict(provider.keys)).keys
        public = [key for key in keys if key.key_type != "oct"]
        known = [key for key in public if key.key_id == header.get("kid")]
        if len(known) != 1:
            raise _refused("The assertion is signed with a key that is not known here.")
        claims = jwt.decode(
            token,
            known[0],
            algorithms=[header["alg"]],
            audience=audience,
            issuer=provider.name,
            leeway=SKEW,
            options={"require": list(_REQUIRED)},
        )
        life, since = (
            claims["exp"] - claims["iat"],
            claims["iat"],
        )  # PyJWT takes digits in quotes as well
    except (jwt.PyJWTError, ValueError, TypeError, AttributeError) as error:
        raise _refused(f"The assertion does not count here: {error}"[:300]) from error
    if claims["aud"] not in (audience, [audience]):
        raise _refused("The assertion is for others, too.")
    if not life <= LIFE or since < time.time() - LIFE - SKEW:
        raise _refused(f"The assertion counts for longer than {LIFE} seconds.")
    return claims


def _is_text(value: Any) -> TypeGuard[str]:
    return isinstance(value, str) and bool(value.strip()) and value.isprintable()


def _narrowed(allowed: Any, asked: str) -> str:
    allowed = allowed.split() if isinstance(allowed, str) else ()
    wanted = asked.split() or allowed
    if not {*wanted} <= {*allowed}:
        raise OAuthError("invalid_scope", "The assertion does not have all of these scopes.")
    given = [scope for scope in const.SCOPES if scope in wanted]
    if not given:
        raise OAuthError("invalid_scope", f"Known scopes are: {' '.join(const.SCOPES)}.")
    return " ".join(given)


def _refused(sentence: str) -> OAuthError:
    return OAuthError("invalid_grant", sentence)
