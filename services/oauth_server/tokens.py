"""Opaque tokens, of which the host keeps digests only, and the proof of PKCE.

A code and each refresh token name the family of their grant: one that is shown after its time was stolen, or what came
after it was, and the whole grant ends (OAuth 2.1, 4.1.3 and 4.3.1).
"""

import base64
import hashlib
import hmac
import re
import secrets
from typing import Literal

Kind = Literal["code", "access", "refresh"]
PREFIXES: dict[Kind, str] = {"code": "woow_ac", "access": "woow_at", "refresh": "woow_rt"}
SECRET = 32  # random bytes of a token
FAMILY = 16  # random bytes of a family
CHALLENGE = re.compile(r"[\w-]{43}", re.ASCII)  # SHA-256 in base64url (RFC 7636, 4.2)
_VERIFIER = re.compile(r"[\w.~-]{43,128}", re.ASCII)  # RFC 7636, 4.1
_FAMILY_OF = re.compile(r"woow_(?:ac|rt)\.([\w-]+)\.[\w-]+", re.ASCII)


def new_family() -> str:
    """Name of the codes and refresh tokens of one grant."""
    return secrets.token_urlsafe(FAMILY)


def new(kind: Kind, family: str) -> str:
    """Make a token that nobody can guess.

    :param kind: "code", "access" or "refresh"
    :param family: that a code or refresh token names
    """
    parts = [PREFIXES[kind], secrets.token_urlsafe(SECRET)]
    if kind != "access":
        parts.insert(1, family)
    return ".".join(parts)


def is_access(token: str) -> bool:
    """True for the form of an access token, which no API key of Odoo has."""
    return token.startswith(f"{PREFIXES['access']}.")


def family_of(token: str) -> str:
    """Family of a code or refresh token, empty where it is neither.

    >>> family_of("woow_rt.a.b"), family_of("woow_at.b")
    ('a', '')
    """
    found = _FAMILY_OF.fullmatch(token)
    return found[1] if found else ""


def digest(token: str) -> str:
    """SHA-256 in hexadecimal: a token is random enough to need no salt."""
    return hashlib.sha256(token.encode()).hexdigest()


def is_same(token: str, kept: str | None) -> bool:
    """True if `kept` is the digest of `token`; an empty one is that of none."""
    return bool(kept) and hmac.compare_digest(digest(token), kept or "")


def challenge_of(verifier: str) -> str:
    """S256 of RFC 7636, 4.2."""
    hashed = hashlib.sha256(verifier.encode()).digest()
    return base64.urlsafe_b64encode(hashed).rstrip(b"=").decode()


def proves(verifier: str, challenge: str) -> bool:
    """True if the client that shows `verifier` is the one that sent `challenge`."""
    if not _VERIFIER.fullmatch(verifier):
        return False
    return hmac.compare_digest(challenge_of(verifier), challenge)
