"""WSGI throttle of the gevent process: bursts of streams wait for a cursor instead of exhausting the pool.

Odoo takes a cursor for every request before any code of an addon runs, and its pool raises when it is empty.
So the throttle wraps the WSGI application: a few requests are dispatched at a time, more wait their turn,
and beyond that the answer is 503 with Retry-After. A stream holds a slot only while it is opened.

It is installed when the registry loads; requests that were accepted earlier bypass it, so the pool of
connections waits too.
"""

import json
import logging
import random
import threading
import time

from odoo import sql_db
from odoo.service import server
from odoo.tools import config

_logger = logging.getLogger(__name__)

WAITING = 2000  # requests that may wait
PATIENCE = 20.0  # s that one waits
RETRY_AFTER = 2  # s, told to who is turned away
POOL_RETRY = 0.03, 0.08  # s between two looks into an empty pool


class Throttle:
    """WSGI middleware.

    :param slots: requests dispatched at a time
    """

    def __init__(self, application, slots: int):
        self._application = application
        self._slots = threading.BoundedSemaphore(slots)
        self._waiting = 0

    def __call__(self, environ, start_response):
        if self._waiting >= WAITING:
            return self._busy(start_response)
        self._waiting += 1
        try:
            entered = self._slots.acquire(timeout=PATIENCE)
        finally:
            self._waiting -= 1
        if not entered:
            return self._busy(start_response)
        try:
            return self._application(environ, start_response)
        finally:
            self._slots.release()

    def _busy(self, start_response):
        error = {
            "code": "busy",
            "message": "Too many people are connecting at once. Try again in a moment.",
            "details": {"retry_after": RETRY_AFTER},
        }
        body = json.dumps({"error": error}).encode()
        headers = [
            ("Content-Type", "application/json"),
            ("Content-Length", str(len(body))),
            ("Retry-After", str(RETRY_AFTER)),
        ]
        start_response("503 Service Unavailable", headers)
        return [body]


def install() -> None:
    """Throttle this gevent server; idempotent."""
    for pool in (sql_db._Pool, sql_db._Pool_readonly):
        if pool is not None and "borrow" not in vars(pool):
            pool.borrow = _patient(pool.borrow)
    httpd = getattr(server.server, "httpd", None)
    if httpd is None or isinstance(httpd.application, Throttle):
        return
    connections = config["db_maxconn_gevent"] or config["db_maxconn"]
    slots = max(2, connections // 3)
    httpd.application = Throttle(httpd.application, slots)
    _logger.info("The gevent process opens at most %s requests at a time.", slots)


def _patient(borrow):
    """`ConnectionPool.borrow` that waits for a connection to come back, in greenlets."""

    def wait_and_borrow(connection_info):
        until = time.monotonic() + PATIENCE
        while True:
            try:
                return borrow(connection_info)
            except sql_db.PoolError:
                if time.monotonic() > until:
                    raise
                time.sleep(random.uniform(*POOL_RETRY))  # noqa: S311 no secret

    return wait_and_borrow
