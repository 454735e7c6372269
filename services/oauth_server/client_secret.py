"""Authentication of clients that have a secret (OAuth 2.1, 2.4): in the header or in the form, never in both."""

import base64
import binascii
import secrets
from dataclasses import dataclass, field
from urllib.parse import unquote_plus

from . import parameters
from .errors import OAuthError
from .parameters import Given

METHODS = ("none", "client_secret_basic", "client_secret_post")
NAMES = ("client_id", "client_secret")
PREFIX = "woow_cs."


@dataclass(frozen=True, slots=True)
class Credentials:
    """A client's name and secret, as it has sent them.

    :ivar secret: empty where it has sent none
    """

    client_id: str
    secret: str = field(default="", repr=False)


def new() -> str:
    """Make a secret that nobody can guess."""
    return PREFIX + secrets.token_urlsafe(32)


def read(given: Given, header: str) -> Credentials:
    """Find the client of a request.

    :param given: fields of the form
    :param header: ``Authorization``, empty without one
    :raises OAuthError: it names itself twice, or cannot be read

    >>> read({"client_id": ["a"], "client_secret": ["b"]}, "").client_id
    'a'
    >>> read({}, "Basic YTpi").secret
    'b'
    """
    sent = parameters.single(given, NAMES)
    scheme, _, value = header.partition(" ")
    if scheme.lower() != "basic":
        return Credentials(sent["client_id"], sent["client_secret"])
    found = _of_header(value.strip())
    if sent["client_secret"] or sent["client_id"] not in ("", found.client_id):
        raise OAuthError("invalid_request", "Send the secret in the header or in the form.")
    return found


def _of_header(value: str) -> Credentials:
    try:
        name, colon, secret = base64.b64decode(value, validate=True).decode().partition(":")
    except (binascii.Error, ValueError):
        colon = ""
    if not colon:
        raise OAuthError("invalid_client", "The Authorization header cannot be read.")
    parts = parameters.single(
        {"client_id": [unquote_plus(name)], "client_secret": [unquote_plus(secret)]}, NAMES
    )
    return Credentials(parts["client_id"], parts["client_secret"])
