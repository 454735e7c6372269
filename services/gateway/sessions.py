"""Sessions of legacy clients, which no process keeps: a session's id says, under a seal, what its client can do.

Source: MCP 2025-11-25, basic/transports, "Session Management".
"""

import base64
import binascii
import hashlib
import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass

from .. import jsonrpc
from . import questions
from .messages import Message, RpcError

HEADER = "mcp-session-id"
MAX_ID = 300  # characters
NONCE = 16  # bytes that make each id another one
_MODES = ("form", "url")  # of questions, each a bit


@dataclass(frozen=True, slots=True)
class Session:
    """
    :ivar shows: kinds of questions that the client shows its user, see `questions.modes`
    :ivar key: by which a host keeps what the client says later, empty without a session
    """

    shows: frozenset[questions.Mode] = frozenset()
    key: str = ""


NONE = Session()
"""Of a client that sends no id of one."""


def of_handshake(message: Message) -> Session:
    """Session that a client begins.

    :param message: of ``initialize``, not checked
    """
    declared = message.params.get("capabilities")
    elicitation = declared.get("elicitation") if isinstance(declared, Mapping) else None
    return Session(questions.modes_of(elicitation))


def seal(session: Session, key: bytes) -> str:
    """Id of a new session.

    :param key: secret of the host, and of its caller
    """
    bits = sum(1 << place for place, mode in enumerate(_MODES) if mode in session.shows)
    told = bytes([bits]) + secrets.token_bytes(NONCE)
    return base64.urlsafe_b64encode(told + _mac(told, key)).decode().rstrip("=")


def opened(headers: Mapping[str, str], key: bytes) -> Session:
    """Session of a request.

    :param headers: by their names in lower case
    :raises RpcError: the id is of nobody here, or of somebody else
    """
    told = headers.get(HEADER)
    if told is None:
        return NONE
    try:
        raw = base64.b64decode(
            told[:MAX_ID] + "=" * (-len(told) % 4), altchars=b"-_", validate=True
        )
    except (binascii.Error, ValueError):
        raw = b""
    told_by_us, mac = raw[: NONCE + 1], raw[NONCE + 1 :]
    if not hmac.compare_digest(_mac(told_by_us, key), mac):
        raise RpcError(
            jsonrpc.INVALID_REQUEST, "There is no such session. Begin a new one.", status=404
        )
    shows = frozenset(mode for place, mode in enumerate(_MODES) if raw[0] >> place & 1)
    return Session(shows, hashlib.sha256(raw).hexdigest())


def _mac(told: bytes, key: bytes) -> bytes:
    return hmac.digest(key, b"mcp-session " + told, hashlib.sha256)
