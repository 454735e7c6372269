"""Delivery of what webhooks are told, on the runner's loop: each webhook by itself, so a slow address delays no other.

A message is claimed for longer than a try takes. Where the process dies in between, it is sent again with the same id.
"""

import asyncio
import logging
import time

from ...services.errors import EngineError
from ...services.net.webhooks import Answer
from ...services.turn.ports import StoreGone
from ...tools import db

_logger = logging.getLogger(__name__)

DELIVERY = "woow_paas_platform.webhook_delivery"


class Outbox:
    """Messages for webhooks in PostgreSQL; each method is one short transaction of its own."""

    def __init__(self, dbname: str):
        self.name = dbname

    def claim(self, webhook_id: int):
        return db.transaction(self.name, lambda env: env[DELIVERY]._claim(webhook_id))

    def record(self, delivery_id: int, answer: Answer, problem: str, duration_ms: int) -> None:
        db.transaction(
            self.name,
            lambda env: env[DELIVERY].browse(delivery_id)._record(answer, problem, duration_ms),
        )


async def deliver(engine, loop, outbox, webhook_ids):
    outcomes = await asyncio.gather(
        *(_deliver_all(engine, loop, outbox, webhook_id) for webhook_id in webhook_ids),
        return_exceptions=True,
    )
    for webhook_id, outcome in zip(webhook_ids, outcomes, strict=True):
        if isinstance(outcome, Exception) and not isinstance(outcome, StoreGone):
            _logger.error("Webhook %s was not delivered.", webhook_id, exc_info=outcome)


async def _deliver_all(engine, loop, outbox, webhook_id):
    """Deliver what is due, and what is soon, one after the other."""
    while claimed := await loop.db(outbox.name, outbox.claim, webhook_id):
        if isinstance(claimed, float):
            await asyncio.sleep(claimed)
            continue
        delivery_id, delivery = claimed
        begun = time.monotonic()
        answer, problem = await _try(engine, delivery)
        duration = int((time.monotonic() - begun) * 1000)
        await loop.db(outbox.name, outbox.record, delivery_id, answer, problem, duration)


async def _try(engine, delivery):
    """:return: ``(Answer, sentence)``; without an answer its status is 0"""
    try:
        return await engine.deliver(delivery), ""
    except EngineError as error:
        _logger.info("Webhook message %s: %s %s", delivery.message_id, error, error.detail)
        return Answer(0, None), str(error)
