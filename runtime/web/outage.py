"""Outage: a request of the API that comes while PostgreSQL is away is told to come again.

Odoo opens a transaction for every request before any code of an addon runs. Of an error there it makes a page, or
serves the request without a database: it answers 404 and ends the person's session.
"""

import functools

import psycopg2
from odoo.http import request
from werkzeug.exceptions import ServiceUnavailable

from ...tools import db
from .api_error import ApiError

PATHS = ("/api/ai/", "/api/ai-", "/api/mcp/", "/api/sessions")
NO_DATABASE = "Odoo cannot reach its database right now. Try again in a moment."


class Outage(db.DatabaseGone, ServiceUnavailable):
    """For code the database is gone, for HTTP it is 503 `busy` with Retry-After."""

    def __init__(self):
        busy = ApiError.busy(NO_DATABASE)
        ServiceUnavailable.__init__(self, response=busy.as_response())


def install(registry) -> None:
    """Answer requests that this database, and no other, cannot serve; idempotent.

    :param registry: one that was just loaded, which lives as long as what it is given here
    """
    if "check_signaling" not in vars(registry):
        registry.check_signaling = _answered(registry.check_signaling)
        registry.cursor = _answered(registry.cursor)


def _answered(method):
    @functools.wraps(method)
    def answered(*args, **options):
        try:
            return method(*args, **options)
        except psycopg2.Error as error:
            if (
                not request
                or not request.httprequest.path.startswith(PATHS)
                or not db.passes(error)
            ):
                raise
            raise Outage from error

    return answered
