"""Server jobs: what asks servers on the runner's loop; no request, no cron and no cursor is held meanwhile.

What comes of each server is written in a transaction of its own, so a dead one costs the others nothing. Who
asked with a button is notified.
"""

import asyncio
import logging

from ...services import const
from ...services.errors import EngineError
from ...services.turn.ports import StoreGone

_logger = logging.getLogger(__name__)

PARALLEL_READS = 8  # servers that one job reads at a time


async def sync(engine, loop, store, server_ids, uid=None):
    slots = asyncio.Semaphore(PARALLEL_READS)

    async def one(server_id):
        async with slots:
            specs = await loop.db(store.name, store.specs, [server_id])
            for spec in specs.values():
                await sync_one(engine, loop, store, spec, uid)

    await _each(one, server_ids)


async def sync_one(engine, loop, store, spec, uid=None):
    outcome = await discovered(engine, spec)
    await loop.db(store.name, store.keep, spec.id, outcome, uid)


async def discovered(engine, spec):
    """Read the tools of a server among others, which whatever happens costs nothing.

    :return: a `Discovery`, or the `EngineError` that came instead
    """
    try:
        return await engine.discover(spec)
    except EngineError as error:
        return error
    except Exception:
        _logger.exception("MCP server %s was not read.", spec.id)
        return EngineError()


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
    """Do the work for each server; an error of one, such as of its write, is logged and costs the others nothing."""
    outcomes = await asyncio.gather(*map(one, server_ids), return_exceptions=True)
    for server_id, outcome in zip(server_ids, outcomes, strict=True):
        if isinstance(outcome, Exception) and not isinstance(outcome, StoreGone):
            _logger.error("MCP server %s was not read.", server_id, exc_info=outcome)
