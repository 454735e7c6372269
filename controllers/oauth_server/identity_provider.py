"""The identity provider whose assertions (ID-JAG) the operator lets clients of `/mcp` exchange for tokens."""

import json
import logging
from pathlib import Path

from ...services.oauth_server.id_jag import MAX_KEYS, Provider
from ...tools import settings

_logger = logging.getLogger(__name__)


def known() -> Provider | None:
    """The provider with its keys as they stand in their file now; None where it is not set up, or cannot be read."""
    options = settings.get()
    if not options.id_jag_issuer or not options.id_jag_keys:
        return None
    try:
        with Path(options.id_jag_keys).open("rb") as file:
            text = file.read(MAX_KEYS + 1)
        keys = json.loads(text) if len(text) <= MAX_KEYS else None
    except (OSError, ValueError) as error:
        _logger.error("The file of id_jag_keys cannot be read: %s", error)
        return None
    if not isinstance(keys, dict) or not isinstance(keys.get("keys"), list):
        _logger.error("The file of id_jag_keys is no JSON Web Key Set.")
        return None
    return Provider(options.id_jag_issuer, keys, options.id_jag_claim)
