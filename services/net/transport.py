"""Egress transport: outgoing connections, resolved, checked by the egress policy, pinned to the checked address.

The name stays in SNI, certificate check and Host header; only the address of the socket is fixed.
Nothing is read from the environment: no proxies, no netrc.
"""

import functools
import ssl
import time
from collections.abc import Hashable, Iterable
from typing import cast

import anyio
import httpcore
import httpx

from ..errors import BlockedAddress
from . import resolver
from .egress import EgressPolicy

KEEPALIVE = 4.5  # s; below 5 s, after which uvicorn and Node close: a reused connection is alive
MAX_CONNECTIONS = 20  # of one session
MIN_ATTEMPT = 0.25  # s, the least that one of several addresses gets to answer


@functools.cache
def ssl_context() -> ssl.SSLContext:
    """The process's one context: loading the CA bundle takes 16 ms and 1 MB each time."""
    import certifi  # noqa: PLC0415

    context = ssl.create_default_context()
    context.load_verify_locations(certifi.where())
    return context


def sockets() -> httpcore.AsyncNetworkBackend:
    """Backend that connects wherever it is told; httpcore types it as the one that stands in for a missing anyio."""
    return cast(httpcore.AsyncNetworkBackend, httpcore.AnyIOBackend())


class PinnedBackend(httpcore.AsyncNetworkBackend):
    """Connects to an address only after the policy saw it.

    :param owner: on whose account names are looked up, see `resolver`
    """

    def __init__(self, policy: EgressPolicy, owner: Hashable = None):
        self._policy = policy
        self._owner = owner
        self._inner = sockets()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable | None = None,
    ) -> httpcore.AsyncNetworkStream:
        deadline = None if timeout is None else time.monotonic() + timeout
        found = await resolve(host, timeout, self._owner)
        addresses = self._policy.check_addresses(host, port, found)
        failure: Exception = httpcore.ConnectError(f"{host} has no address")
        for left, address in zip(range(len(addresses), 0, -1), addresses, strict=True):
            share = None
            if deadline is not None:
                share = max(MIN_ATTEMPT, (deadline - time.monotonic()) / left)
            try:
                return await self._inner.connect_tcp(
                    address, port, share, local_address, socket_options
                )
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
        raise failure

    async def connect_unix_socket(self, path, timeout=None, socket_options=None):
        raise BlockedAddress(detail=f"unix socket {path}")

    async def sleep(self, seconds: float) -> None:
        await self._inner.sleep(seconds)


async def resolve(host: str, timeout: float | None, owner: Hashable = None) -> resolver.Found:
    """:param owner: see `PinnedBackend`, else the host stands for itself"""
    try:
        with anyio.fail_after(timeout):
            return await resolver.of_loop().addresses(host, owner or host)
    except TimeoutError as error:
        raise httpcore.ConnectTimeout(f"{host} was not resolved in time") from error
    except (OSError, UnicodeError) as error:
        raise httpcore.ConnectError(f"{host} cannot be resolved") from error


class EgressTransport(httpx.AsyncHTTPTransport):
    """httpx's own transport over a pool whose connections are pinned.

    :param owner: see `PinnedBackend`
    """

    def __init__(
        self,
        policy: EgressPolicy,
        *,
        owner: Hashable = None,
        max_connections: int = MAX_CONNECTIONS,
    ):
        super().__init__(verify=ssl_context(), trust_env=False)
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=ssl_context(),
            network_backend=PinnedBackend(policy, owner),
            max_connections=max_connections,
            max_keepalive_connections=max_connections,
            keepalive_expiry=KEEPALIVE,
            http1=True,
        )
