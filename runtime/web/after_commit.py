"""Deferred responses, for routes that wait for a server: they answer after their request's transaction is over."""

import json
from typing import Any

from odoo.http import Response, request
from odoo.tools import json_default

from ...services import text
from ...tools.sentences import Reader
from ..turns import listeners
from . import api_error, client_line
from .api_error import ApiError


class Waiting(Response):
    """A response that is made when the request's transaction is over, unless too many requests of the
    same person wait by then.

    :param env: whose request it is
    :param work: runs once, without a cursor, a request's environment or a retry
    """

    headers: Any  # Odoo passes it on to werkzeug's

    def __init__(self, env, work, **options):
        super().__init__(**options)
        self._dbname, self._uid = env.cr.dbname, env.uid
        self._reader = Reader(env.lang)
        self._work = work

    def __call__(self, environ, start_response):
        with listeners.slots(self._dbname).hold(self._uid) as has_slot:
            if has_slot:
                self._answer()
            else:
                self._turn_away(ApiError.too_many_waits(self._reader.lang))
        client_line.limit(environ)
        return super().__call__(environ, start_response)  # pyright: ignore[reportCallIssue] passed on, too

    def _answer(self):
        """Do the work, and become what it led to."""
        raise NotImplementedError

    def _turn_away(self, error):
        """There is no free slot: become this `ApiError`."""
        raise NotImplementedError


class AfterCommit(Waiting):
    """The same as JSON.

    :param work: returns (data, status), or raises
    :param turn_away: runs with a sentence instead of `work` where there is no slot for it
    :param reader: of errors, where it is more than a user
    :param fail: ``fail(ApiError)`` gives (data, status) of a route that has errors of its own form
    """

    def __init__(self, env, work, turn_away=None, reader=None, fail=None):
        super().__init__(env, work, headers={"Content-Type": "application/json; charset=utf-8"})
        self._path = request.httprequest.path
        self._when_turned_away = turn_away
        self._reader = reader or self._reader
        self._form = fail

    def _answer(self):
        try:
            data, self.status_code = self._work()
        except Exception as error:
            self._fail(api_error.logged(error, self._reader, self._path))
        else:
            self._set(data)

    def _turn_away(self, error):
        if self._when_turned_away:
            self._when_turned_away(error.description)
        self._fail(error)

    def _fail(self, error):
        self.headers.extend(error.headers)
        data, self.status_code = self._form(error) if self._form else (error.body(), error.code)
        self._set(data)

    def _set(self, data):
        self.data = json.dumps(text.storable(data), ensure_ascii=False, default=json_default)


class LeadsTo(Waiting):
    """The same as a redirect, for pages.

    :param work: returns the address
    """

    def _answer(self):
        self.status_code, self.headers["Location"] = 303, self._work()

    def _turn_away(self, error):
        self.status_code = error.code
        self.headers.extend(error.headers)
        self.content_type = "text/plain; charset=utf-8"
        self.data = error.description
