"""Health checks of servers: connect, ask for a sign of life, close."""

import asyncio
import math
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

from ... import const, jsonrpc
from ...errors import ConnectFailed, EngineError, ServerRefused, ServerTimeout
from ...net.egress import EgressPolicy
from ...oauth.flow import OAuth
from ...specs import ServerSpec
from ..session import connect
from .discovery import SYNC_MARGIN

CONNECT_TRIES = 3  # the first and two more (004, 7.2)
CONNECT_PAUSE = 1.0  # s between two of them (004, 7.2)
PARALLEL_CHECKS = 16  # servers that are asked at a time

T = TypeVar("T")
OAuthOf = Callable[[ServerSpec], OAuth | None]


def _without(_spec: ServerSpec) -> None:
    """No server wants tokens."""


async def patiently(work: Callable[[], Awaitable[T]], deadline: float = math.inf) -> T:
    """Do `work`; where no connection came about, and so nothing was sent, once more after a pause, and a last time.

    :param deadline: of the loop's clock; no pause ends after it
    """
    for _ in range(CONNECT_TRIES - 1):
        try:
            return await work()
        except ConnectFailed:
            if asyncio.get_running_loop().time() + CONNECT_PAUSE >= deadline:
                raise
            await asyncio.sleep(CONNECT_PAUSE)
    return await work()


async def check_all(
    specs: Iterable[ServerSpec],
    policy: EgressPolicy,
    keep: Callable[[int, EngineError | None], Awaitable[None]],
    oauth: OAuthOf = _without,
) -> None:
    """Ask many servers at once; a slow one holds up nobody for longer than its ``sync_timeout``.

    :param keep: gets a server's id and what is wrong with it, None where nothing is, as soon as that is known
    :param oauth: the tokens for a server, see `Pool.oauth`
    """
    slots = asyncio.Semaphore(PARALLEL_CHECKS)

    async def one(spec: ServerSpec) -> None:
        problem = None
        async with slots:
            try:
                await check(spec, policy, oauth(spec))
            except EngineError as error:
                problem = error
        await keep(spec.id, problem)

    await asyncio.gather(*map(one, specs))


async def check(spec: ServerSpec, policy: EgressPolicy, oauth: OAuth | None = None) -> None:
    """:raises EngineError: what is wrong, within ``spec.sync_timeout`` seconds"""
    try:
        async with asyncio.timeout(max(0.1, spec.sync_timeout - SYNC_MARGIN)):
            await patiently(lambda: _once(spec, policy, oauth))
    except TimeoutError as error:
        raise ServerTimeout from error


async def _once(spec: ServerSpec, policy: EgressPolicy, oauth: OAuth | None) -> None:
    session = await connect.open_session(spec, policy, first=spec.last_variant, oauth=oauth)
    try:
        if session.era == "legacy":
            try:
                await session.request("ping", timeout=const.CONNECT_TIMEOUT)
            except ServerRefused as error:
                if error.rpc_code != jsonrpc.METHOD_NOT_FOUND:
                    raise
            else:
                return
        await session.request("tools/list", timeout=const.CONNECT_TIMEOUT)
    finally:
        session.close()
