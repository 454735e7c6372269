"""Outage: requests of the API are answered 503 `busy` while PostgreSQL cannot be reached.

Odoo opens a transaction for each request before any code of an addon runs. On an error there it answers with a page,
or serves the request without a database: a 404, which ends the session.
"""

import functools

import psycopg2
from odoo.http import request
from werkzeug.exceptions import ServiceUnavailable

from ...tools import db, sentences
from .api_error import NO_DATABASE, ApiError, page_language
from .pool_timeout import PoolTimeout

PATHS = (
    "/api/ai/",
    "/api/ai-reply",
    "/api/mcp/",
    "/api/sessions/",
    "/api/agent-retrieval/",
    "/mcp",
    "/metrics",
    "/woow/oauth/",
)


class Outage(db.DatabaseGone, ServiceUnavailable):
    """`DatabaseGone` for code; 503 `busy` with Retry-After for HTTP."""

    def __init__(self):
        busy = ApiError.busy(sentences.in_language(page_language(), NO_DATABASE))
        ServiceUnavailable.__init__(self, response=busy.as_response())


def install(registry) -> None:
    """Answer requests that cannot reach the database of `registry`; idempotent.

    :param registry: one that was just loaded; the wrapped methods live as long as it does
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
            is_ours = request and request.httprequest.path.startswith(PATHS)
            is_answered = isinstance(error, PoolTimeout)
            if not is_ours or is_answered or not db.passes(error):
                raise
            raise Outage from error

    return answered
