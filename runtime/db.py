"""Short transactions of our own, outside any request: fast retries, fresh caches, no waiting inside."""

import contextlib
import random
import time

import psycopg2
from odoo import SUPERUSER_ID, api
from odoo.modules.registry import Registry
from odoo.service.model import PG_CONCURRENCY_EXCEPTIONS_TO_RETRY

MAX_TRIES = 10


class DatabaseGone(ConnectionError):
    """PostgreSQL does not answer, or the transaction's fate is unknown; idempotent work may be repeated."""


def transaction(dbname, work):
    """Run ``work(env)`` as superuser and commit; concurrency failures repeat it within milliseconds.

    `work` must not have an effect outside the transaction. Sudo throughout: the callers are the runner
    and the stop route, which act on rows that people cannot write.

    :raises DatabaseGone: no connection
    """
    for attempt in range(MAX_TRIES):
        try:
            registry = Registry(dbname)
            with registry.cursor() as cr:
                registry = registry.check_signaling(cr)
                env = api.Environment(cr, SUPERUSER_ID, {})
                result = work(env)
                env.flush_all()
            registry.signal_changes()
            return result
        except PG_CONCURRENCY_EXCEPTIONS_TO_RETRY:
            if attempt == MAX_TRIES - 1:
                raise
            time.sleep(random.uniform(0, 0.004 * 2**attempt))  # noqa: S311 no secret
        except (psycopg2.OperationalError, psycopg2.InterfaceError) as error:
            raise DatabaseGone(str(error)) from error


@contextlib.contextmanager
def read_cursor(dbname):
    """A plain cursor for raw reads; closed without a commit. Never a replica, which may lag."""
    try:
        with contextlib.closing(Registry(dbname).cursor()) as cr:
            yield cr
    except (psycopg2.OperationalError, psycopg2.InterfaceError) as error:
        raise DatabaseGone(str(error)) from error
