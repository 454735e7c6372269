"""Client ID Metadata Documents: a client whose id is the https address of its own description.

Source: draft-ietf-oauth-client-id-metadata-document; MCP 2025-11-25, basic/authorization.
"""

from typing import Any
from urllib.parse import urlsplit

from . import const, registration
from .errors import OAuthError
from .registration import Registration

MAX_BYTES = 10 * 1024  # of a document
TIMEOUT = 5.0  # s
SHARED_SECRETS = ("client_secret_basic", "client_secret_post", "client_secret_jwt")


def is_address(client_id: str) -> bool:
    """True if a client's id may be the address of its document.

    >>> is_address("https://app.example.com/client.json"), is_address("https://app.example.com")
    (True, False)
    >>> is_address("http://app.example.com/client.json"), is_address("https://a.example/../b")
    (False, False)
    """
    if not client_id.startswith("https://") or len(client_id) > const.MAX_URI:
        return False
    if not client_id.isascii() or not client_id.isprintable() or " " in client_id:
        return False
    try:
        parts = urlsplit(client_id)
        parts.port  # noqa: B018 raises where it is none
    except ValueError:
        return False
    has_place = bool(parts.hostname) and len(parts.path) > 1 and "#" not in client_id
    return has_place and "@" not in parts.netloc and not {".", ".."} & set(parts.path.split("/"))


def read(client_id: str, document: Any) -> Registration:
    """Check the document that was found at a client's id.

    :param document: JSON of it, None where it is none
    :raises OAuthError: it does not describe this client, or one that cannot be
    """
    found = registration.read(document)
    if document.get("client_id") != client_id:
        raise OAuthError("invalid_client_metadata", "The document names another client_id.")
    method = document.get("token_endpoint_auth_method", "none")
    if method in SHARED_SECRETS or "client_secret" in document:
        raise OAuthError("invalid_client_metadata", "Whoever reads the document knows its secret.")
    if method != "none":
        raise OAuthError("invalid_client_metadata", "token_endpoint_auth_method must be none.")
    return found
