"""Costs of requests outside of turns in PostgreSQL: one short transaction a method, nothing held while one is sent."""

import asyncio
import logging

from ...services.errors import EngineError
from ...services.sentence import _lt
from ...services.turn.ports import StoreGone
from ...tools import db
from .turn_calls import COST

_logger = logging.getLogger(__name__)

AWAY = _lt("The database cannot be reached right now. Try again in a moment.")


class OdooLedger:
    """
    :param write: ``await write(function, *args)`` runs a blocking function in the executor
    """

    def __init__(self, write):
        self._write = write
        self._settling: set[asyncio.Future] = set()

    async def reserve(self, database, payer, request):
        """See `services.money.counting.Ledger`."""

        def work(env):
            env[COST]._reserve_of(payer, request)

        try:
            await self._write(db.transaction, database, work)
        except (ConnectionError, StoreGone) as error:
            raise EngineError(AWAY, detail=str(error)) from error

    async def settle(self, database, spent):
        """See `services.money.counting.Ledger`."""
        settling = asyncio.ensure_future(self._settle(database, spent))
        self._settling.add(settling)
        settling.add_done_callback(self._settling.discard)
        await asyncio.shield(settling)

    async def _settle(self, database, spent):
        try:
            await self._write(db.transaction, database, lambda env: env[COST]._settle_of(spent))
        except (ConnectionError, StoreGone) as error:  # a cron keeps it as it was estimated
            _logger.warning("The cost of a request was not settled: %s", error)
