"""Vault: secrets at rest, by Fernet with the operator's keys, never with a key from the database."""

import hmac

from ..services.errors import SecretKeyInvalid, SecretUnreadable
from . import settings


def _fernet():
    from cryptography.fernet import Fernet, MultiFernet  # noqa: PLC0415

    keys = settings.secret_keys()
    if not keys:
        raise SecretKeyInvalid
    return MultiFernet([Fernet(key) for key in keys])


def encrypt(secret: str) -> str:
    """:raises SecretKeyInvalid: the operator's key is none"""
    return _fernet().encrypt(secret.encode()).decode()


def opens(token: str | bool) -> bool:
    """True if the secret can be read, or there is none."""
    try:
        decrypt(token)
    except SecretUnreadable:
        return False
    return True


def rotate(token: str) -> str:
    """The same secret under the newest key.

    :raises SecretUnreadable: no key opens it
    """
    from cryptography.fernet import InvalidToken  # noqa: PLC0415

    try:
        return _fernet().rotate(token.encode()).decode()
    except (InvalidToken, SecretKeyInvalid) as error:
        raise SecretUnreadable from error


def decrypt(token: str | bool) -> str:
    """:raises SecretUnreadable: the key was changed or the token is damaged"""
    from cryptography.fernet import InvalidToken  # noqa: PLC0415

    if not token or not isinstance(token, str):
        return ""
    try:
        return _fernet().decrypt(token.encode()).decode()
    except (InvalidToken, SecretKeyInvalid) as error:
        raise SecretUnreadable from error


def sign(purpose: str, text: str) -> str:
    """Signature of a text with the newest key.

    :param purpose: a signature for another one is not valid
    :raises SecretKeyInvalid: the operator's key is none
    """
    keys = settings.secret_keys()
    if not keys:
        raise SecretKeyInvalid
    return _signature(keys[0], purpose, text)


def is_signed(purpose: str, text: str, signature: str) -> bool:
    """True if the text was signed with any of the operator's keys."""
    return any(
        hmac.compare_digest(_signature(key, purpose, text), signature)
        for key in settings.secret_keys()
    )


def _signature(key, purpose, text):
    own = hmac.digest(key if isinstance(key, bytes) else key.encode(), purpose.encode(), "sha256")
    return hmac.digest(own, text.encode(), "sha256").hex()
