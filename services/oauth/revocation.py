"""OAuth token revocation, when somebody signs out (RFC 7009)."""

import asyncio
from collections.abc import Mapping
from typing import Any

from ..errors import AuthRequired, EngineError, ServerTimeout
from ..net.egress import EgressPolicy
from ..net.transport import EgressTransport
from . import registration
from .metadata import Directory

DEADLINE = 10.0  # s for all of it
STEP = 5.0  # s for each step of one request
# Who holds the refresh token gets new access tokens, so it goes first.
KINDS = ("refresh_token", "access_token")


async def revoke(token_set: Mapping[str, Any], policy: EgressPolicy) -> None:
    """Ask the authorization server to let the tokens of a set serve no more; nothing if it offers no way.

    :param token_set: `services.oauth.flow.TokenSet`
    :raises EngineError: a token may live on until its end
    """
    tokens = [(kind, token_set[kind]) for kind in KINDS if token_set.get(kind)]
    if not tokens:
        return
    try:
        async with (
            asyncio.timeout(DEADLINE),
            EgressTransport(policy, max_connections=1) as transport,
        ):
            await _revoke(Directory(transport, policy, STEP), token_set, tokens)
    except TimeoutError as error:
        raise ServerTimeout from error


async def _revoke(
    directory: Directory, token_set: Mapping[str, Any], tokens: list[tuple[str, str]]
) -> None:
    authority = await directory.authority(token_set["issuer"])
    endpoint = directory.endpoint(authority.revocation_endpoint)
    if not endpoint:
        return
    headers, fields = registration.secret(token_set["client"])
    failed = []
    for kind, token in tokens:
        data = {"token": token, "token_type_hint": kind, **fields}
        try:
            status, found = await directory.post(endpoint, headers, data=data)
        except EngineError as error:
            failed.append(f"{kind}: {error.detail or error}")
        else:
            if status != 200:
                why = str(found.get("error", ""))[:200]
                failed.append(f"{kind}: HTTP {status} {why}".rstrip())
    if failed:
        raise AuthRequired(detail="; ".join(failed))
