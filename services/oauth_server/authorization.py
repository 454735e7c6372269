"""Authorization requests: what a client asks a person for, and what it is answered (OAuth 2.1, 4.1)."""

from dataclasses import dataclass

from . import parameters, redirects, tokens
from .errors import OAuthError
from .parameters import Given

NAMES = (
    "client_id",
    "redirect_uri",
    "response_type",
    "response_mode",
    "scope",
    "state",
    "code_challenge",
    "code_challenge_method",
    "resource",
)


@dataclass(frozen=True, slots=True)
class Asked:
    """An authorization request.

    :ivar redirect_uri: one of the client's
    :ivar state: the client's own, given back as it is; empty without one
    :ivar scope: what the client gets, separated by blanks
    :ivar challenge: of PKCE, S256
    :ivar resource: the token is for
    :ivar gateway: its code, empty for the personal one
    """

    redirect_uri: str
    state: str
    scope: str
    challenge: str
    resource: str
    gateway: str


def read(given: Given, redirect_uri: str, resource: str) -> Asked:
    """Check the parameters of a client that is known.

    :param given: of the query or the form
    :param redirect_uri: that was found to be the client's
    :param resource: address of the personal gateway
    :raises OAuthError: something of it cannot be; the client is told
    """
    sent = parameters.single(given, NAMES)
    if sent["response_type"] != "code":
        raise OAuthError("unsupported_response_type", "response_type must be code.")
    if sent["response_mode"] not in ("", "query"):
        raise OAuthError("invalid_request", "response_mode must be query.")
    if sent["code_challenge_method"] != "S256":
        raise OAuthError("invalid_request", "code_challenge_method must be S256.")
    if not tokens.CHALLENGE.fullmatch(sent["code_challenge"]):
        raise OAuthError("invalid_request", "code_challenge must be a SHA-256 in base64url.")
    gateway = parameters.gateway(sent["resource"], resource)
    return Asked(
        redirect_uri=redirect_uri,
        state=sent["state"],
        scope=parameters.scopes(sent["scope"]),
        challenge=sent["code_challenge"],
        resource=f"{resource}/{gateway}" if gateway else resource,
        gateway=gateway,
    )


def allowed(asked: Asked, code: str, issuer: str) -> str:
    """Address that takes the code to the client, with `issuer` (RFC 9207)."""
    values = {"code": code, "state": asked.state or None, "iss": issuer}
    return redirects.answer(asked.redirect_uri, values)


def refused(redirect_uri: str, state: str, error: OAuthError, issuer: str) -> str:
    """Address that tells the client why it gets none.

    :param redirect_uri: that was found to be the client's
    """
    values = {**error.body(), "state": state or None, "iss": issuer}
    return redirects.answer(redirect_uri, values)
