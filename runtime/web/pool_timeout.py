"""Pool timeout: in the gevent process a request waits for a connection to the database instead of failing at once.

Odoo takes a cursor for every request before any code of an addon runs, and its pool raises when all connections are
in use. A burst of streams, say of all browsers after a restart, would be answered by errors; a connection is needed
only for the moment in which a stream is opened.
"""

import random
import time

from odoo.sql_db import PoolError
from werkzeug.exceptions import ServiceUnavailable

from ...tools import sentences
from .api_error import NO_CONNECTION, ApiError, page_language

TIMEOUT = 20.0  # s
LOOK_AGAIN = 0.03, 0.08  # s between two looks into a pool that is full


class PoolTimeout(PoolError, ServiceUnavailable):
    """Full pool: `PoolError` for code, 503 `busy` with Retry-After for HTTP."""

    def __init__(self):
        busy = ApiError.busy(sentences.in_language(page_language(), NO_CONNECTION))
        ServiceUnavailable.__init__(self, response=busy.as_response())


def install(registry) -> None:
    """Let the cursors of this database, and of no other, wait; idempotent.

    :param registry: one that was just loaded, which lives as long as what it is given here
    """
    if "cursor" not in vars(registry):
        registry.cursor = _waiting(registry.cursor)


def _waiting(cursor):
    def wait_for_cursor(readonly: bool = False):
        until = time.monotonic() + TIMEOUT
        while True:
            try:
                return cursor(readonly=readonly)
            except PoolError as error:
                if time.monotonic() > until:
                    raise PoolTimeout from error
            time.sleep(random.uniform(*LOOK_AGAIN))  # noqa: S311 no secret

    return wait_for_cursor
