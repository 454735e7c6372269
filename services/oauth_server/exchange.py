"""Token requests: a code or a refresh token for new tokens (OAuth 2.1, 4.1.3 and 4.3)."""

from dataclasses import dataclass, field
from typing import Any

from . import client_secret, const, id_jag, parameters, tokens
from .errors import OAuthError
from .parameters import Given

NAMES = (
    "grant_type",
    "code",
    "redirect_uri",
    "code_verifier",
    "refresh_token",
    "assertion",
    "resource",
    "scope",
)
TOKEN = {  # parameter by grant type
    "authorization_code": "code",
    "refresh_token": "refresh_token",
    id_jag.GRANT_TYPE: "assertion",
}


@dataclass(frozen=True, slots=True)
class TokenRequest:
    """A code, a refresh token or an assertion that a client shows for new tokens.

    :ivar grant_type: a key of `TOKEN`
    :ivar token: the code, the refresh token or the assertion
    :ivar family: of it, empty for an assertion
    :ivar scope: asked for with an assertion, separated by blanks
    :ivar resource: the tokens are to be for, empty if the client does not say
    :ivar secret: of the client, empty where it has sent none
    """

    grant_type: str
    client_id: str
    token: str
    family: str
    redirect_uri: str
    verifier: str
    resource: str
    scope: str = ""
    secret: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class KeptCode:
    """The host's record of a code.

    :ivar digest: empty once it was used
    :ivar is_over: its time is over
    """

    digest: str
    is_over: bool
    redirect_uri: str
    challenge: str


def read(
    given: Given, resource: str, header: str = "", takes_assertions: bool = False
) -> TokenRequest:
    """Check the form of a token request.

    :param given: the fields of the form
    :param header: ``Authorization``, empty without one
    :param resource: address of the personal gateway
    :param takes_assertions: an identity provider is set up
    :raises OAuthError: something is missing or cannot be
    """
    sent = parameters.single(given, NAMES)
    grant_types = [one for one in TOKEN if takes_assertions or one != id_jag.GRANT_TYPE]
    if sent["grant_type"] not in grant_types:
        known = " or ".join(grant_types)
        raise OAuthError("unsupported_grant_type", f"grant_type must be {known}.")
    client = client_secret.read(given, header)
    if not client.client_id:
        raise OAuthError("invalid_client", "client_id is missing.")
    name = TOKEN[sent["grant_type"]]
    if not sent[name]:
        raise OAuthError("invalid_request", f"{name} is missing.")
    gateway = parameters.gateway(sent["resource"], resource)
    wanted = f"{resource}/{gateway}" if gateway else resource
    return TokenRequest(
        grant_type=sent["grant_type"],
        client_id=client.client_id,
        token=sent[name],
        family=tokens.family_of(sent[name]),
        redirect_uri=sent["redirect_uri"],
        verifier=sent["code_verifier"],
        resource=wanted if sent["resource"] else "",
        scope=sent["scope"],
        secret=client.secret,
    )


def check_code(asked: TokenRequest, kept: KeptCode) -> None:
    """Check that the client that shows a code is the one that asked for it.

    :raises OAuthError: it is not, or comes too late
    """
    if kept.is_over or not tokens.is_same(asked.token, kept.digest):
        raise OAuthError("invalid_grant", "The code is not valid, or not any more.")
    if asked.redirect_uri != kept.redirect_uri:
        raise OAuthError("invalid_grant", "redirect_uri is not that of the authorization request.")
    if not tokens.proves(asked.verifier, kept.challenge):
        raise OAuthError("invalid_grant", "code_verifier does not match the code_challenge.")


def answer(access: str, refresh: str, scope: str) -> dict[str, Any]:
    """The new tokens, as JSON (RFC 6749, 5.1).

    :param refresh: empty where the client shows another assertion instead
    :param scope: separated by blanks
    """
    told = {
        "access_token": access,
        "token_type": "Bearer",
        "expires_in": const.ACCESS_LIFE,
        "scope": scope,
    }
    return {**told, "refresh_token": refresh} if refresh else told
