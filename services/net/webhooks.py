"""Webhooks in the form of Standard Webhooks: secrets, signatures, and the request that delivers a message.

https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
"""

import asyncio
import base64
import binascii
import hashlib
import hmac
import secrets
import time
from dataclasses import dataclass, field
from typing import NamedTuple

import httpx

from .. import const
from ..errors import (
    BlockedAddress,
    ConfigError,
    ConnectFailed,
    EngineError,
    HostUnreachable,
    SecretUnreadable,
    ServerTimeout,
)
from ..sentence import _lt
from . import faults, http
from .egress import EgressPolicy, check_url
from .transport import EgressTransport

PREFIX = "whsec_"
SECRET_BYTES = 32
LEAST_BYTES, MOST_BYTES = 24, 64  # of a secret, by the specification
TIMEOUT = 10.0  # s for all of a delivery

INVALID_SECRET = _lt(
    "The secret must be “whsec_” and the Base64 form of %(least)s to %(most)s random bytes.",
    least=LEAST_BYTES,
    most=MOST_BYTES,
)
TOO_SLOW = _lt("The address did not answer within %(seconds)s seconds.", seconds=int(TIMEOUT))


@dataclass(frozen=True, slots=True)
class Delivery:
    """A message for a webhook.

    :ivar message_id: the same in every try
    :ivar body: JSON, the same in every try
    :ivar old_secret: the one before, which signs, too; may be empty
    """

    url: str
    secret: str = field(repr=False)
    message_id: str
    body: str
    old_secret: str = field(default="", repr=False)


class Answer(NamedTuple):
    """Answer of an address.

    :ivar status: of HTTP
    :ivar retry_after: s that the address asks to be left alone, at most an hour; None without a word of that
    """

    status: int
    retry_after: float | None


def new_secret() -> str:
    return PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def key_of(secret: str) -> bytes:
    """The key that a secret stands for.

    :raises ConfigError: the secret does not have the form
    """
    try:
        key = base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError) as error:
        raise ConfigError(INVALID_SECRET) from error
    if not secret.startswith(PREFIX) or not LEAST_BYTES <= len(key) <= MOST_BYTES:
        raise ConfigError(INVALID_SECRET)
    return key


def headers(delivery: Delivery, timestamp: int) -> dict[str, str]:
    """Headers of a delivery, with the signatures of its body.

    :param timestamp: s since 1970, of this try
    :raises ConfigError: the secret does not have the form
    """
    signed = f"{delivery.message_id}.{timestamp}.{delivery.body}".encode()
    keys = [key_of(one) for one in (delivery.secret, delivery.old_secret) if one]
    digests = [hmac.digest(key, signed, hashlib.sha256) for key in keys]
    return {
        "content-type": "application/json",
        "user-agent": f"{const.CLIENT_NAME}/{const.CLIENT_VERSION}",
        "accept-encoding": "identity",
        "webhook-id": delivery.message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(f"v1,{base64.b64encode(one).decode()}" for one in digests),
    }


async def post(delivery: Delivery, policy: EgressPolicy) -> Answer:
    """Deliver a message once. Redirects are not followed, and no more than the beginning of the answer is read.

    :raises EngineError: with a sentence; the message may have been received
    """
    if not delivery.secret:
        raise SecretUnreadable
    url = check_url(delivery.url, policy)
    try:
        async with (
            asyncio.timeout(TIMEOUT),
            EgressTransport(policy, max_connections=1) as transport,
        ):
            request = httpx.Request(
                "POST",
                url,
                headers=headers(delivery, int(time.time())),
                content=delivery.body.encode(),
                extensions={"timeout": httpx.Timeout(TIMEOUT).as_dict()},
            )
            response = await transport.handle_async_request(request)
            await http.error_body(response)  # of any status: so much that its sender can end
            wanted = faults.retry_after(response.headers.get("retry-after"))
            return Answer(response.status_code, wanted)
    except EngineError:
        raise
    except Exception as error:
        raise _problem(error) from error


def _problem(error: Exception) -> EngineError:
    found = faults.of_exception(error)
    if isinstance(found, ServerTimeout):
        return ServerTimeout(TOO_SLOW, detail=found.detail)
    # Its default sentence speaks of an MCP server.
    is_told = type(found) is ConnectFailed and str(found) != ConnectFailed.default_message
    if is_told or isinstance(found, BlockedAddress | HostUnreachable):
        return found
    return type(found)(
        _lt("The connection failed: %(error)s", error=found.detail), detail=found.detail
    )
