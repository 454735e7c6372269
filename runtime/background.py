"""What asks servers on the runner's loop while nobody waits: no request, no cron and no cursor is held.

What comes of each server is written in a transaction of its own, so a dead one costs the others nothing. Who
asked with a button is notified.
"""

import asyncio
import logging

from ..services import const
from ..services.errors import EngineError
from ..services.turn.ports import StoreGone
from . import process
from .server_store import ServerStore

_logger = logging.getLogger(__name__)

AT_ONCE = 4  # servers that one job reads at a time


def sync_later(dbname: str, server_ids: list[int], uid: int | None = None) -> None:
    """Read the tools of servers, after the commit that wants it.

    :param uid: who is notified of what came of it
    """
    process.in_background(
        lambda engine, loop: sync(engine, loop, ServerStore(dbname), server_ids, uid)
    )


def sync_as_signed_in(dbname: str, spec) -> None:
    """Read the tools of a server with the credential of `spec`."""
    process.in_background(lambda engine, loop: _sync_one(engine, loop, ServerStore(dbname), spec))


def check_later(dbname: str, server_ids: list[int]) -> None:
    """Ask many servers at once whether they are well."""
    process.in_background(lambda engine, loop: check(engine, loop, ServerStore(dbname), server_ids))


def import_later(dbname: str, box_id: int, url: str, uid: int) -> None:
    """Read the OpenAPI document of a toolbox, as this person."""
    process.in_background(
        lambda engine, loop: fetch(engine, loop, ServerStore(dbname), box_id, url, uid)
    )


async def sync(engine, loop, store, server_ids, uid=None):
    places = asyncio.Semaphore(AT_ONCE)

    async def one(server_id):
        async with places:
            specs = await loop.db(store.name, store.specs, [server_id])
            for spec in specs.values():
                await _sync_one(engine, loop, store, spec, uid)

    await _each(one, server_ids)


async def _sync_one(engine, loop, store, spec, uid=None):
    try:
        discovery = await engine.discover(spec)
    except EngineError as error:
        await loop.db(store.name, store.failed, spec.id, error, uid)
    else:
        await loop.db(store.name, store.synced, spec.id, discovery, uid)


async def check(engine, loop, store, server_ids):
    specs = await loop.db(store.name, store.specs, server_ids)

    async def keep(server_id, error):
        await loop.db(store.name, store.checked, server_id, error)

    await engine.check(specs.values(), keep)


async def fetch(engine, loop, store, box_id, url, uid):
    try:
        source = await engine.fetch(url, const.SYNC_TIMEOUT)
    except EngineError as error:
        _logger.info("The document of toolbox %s: %s %s", box_id, error, error.detail)
        await loop.db(store.name, store.not_imported, box_id, error, uid)
    else:
        await loop.db(store.name, store.imported, box_id, source, url, uid)


async def _each(one, server_ids):
    """What breaks for one server, such as its write, is logged and costs the others nothing."""
    outcomes = await asyncio.gather(*map(one, server_ids), return_exceptions=True)
    for server_id, outcome in zip(server_ids, outcomes, strict=True):
        if isinstance(outcome, Exception) and not isinstance(outcome, StoreGone):
            _logger.error("MCP server %s was not read.", server_id, exc_info=outcome)
