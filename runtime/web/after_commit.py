"""Deferred responses, for routes that wait for a server: they answer after their request's transaction is over."""

import json
import logging

from odoo.http import Response
from odoo.tools import json_default

from ...services import text
from ...services.errors import EngineError
from ...tools import sentences
from ..turns import listeners
from . import client_line
from .api_error import WAIT_RETRY_AFTER, ApiError, error_body

_logger = logging.getLogger(__name__)

TURNED_AWAY = "Too many of your requests are already waiting for an answer. Try again when one of them has finished."


class Waiting(Response):
    """A response that is made when the request's transaction is over, unless too many requests of the
    same person wait by then.

    :param env: whose request it is
    :param work: runs once, without a cursor, a request's environment or a retry
    """

    def __init__(self, env, work, **options):
        super().__init__(**options)
        self._dbname, self._uid, self._lang = env.cr.dbname, env.uid, env.lang
        self._work = work

    def __call__(self, environ, start_response):
        with listeners.slots(self._dbname).hold(self._uid) as has_slot:
            if has_slot:
                self._answer()
            else:
                self.status_code = 429
                self.headers["Retry-After"] = str(WAIT_RETRY_AFTER)
                self._turn_away(sentences.in_language(self._lang, TURNED_AWAY))
        client_line.limit(environ)
        return super().__call__(environ, start_response)

    def _answer(self):
        """Do the work, and become what it led to."""
        raise NotImplementedError

    def _turn_away(self, sentence):
        """There is no free slot: become a refusal."""
        raise NotImplementedError


class AfterCommit(Waiting):
    """The same as JSON.

    :param work: returns (data, status)
    :param turn_away: runs with a sentence instead of `work` where there is no slot for it
    """

    def __init__(self, env, work, turn_away=None):
        super().__init__(env, work, headers={"Content-Type": "application/json; charset=utf-8"})
        self._when_turned_away = turn_away

    def _answer(self):
        try:
            data, self.status_code = self._work()
        except EngineError as error:
            if error.detail:
                _logger.info("%s: %s (%s)", type(error).__name__, error, error.detail)
            sentence = sentences.in_language(self._lang, str(error))
            refused = ApiError.of_engine(error, sentence)
            data, self.status_code = error_body(refused), refused.code
            self.headers.extend(refused.headers)
        self._set(data)

    def _turn_away(self, sentence):
        if self._when_turned_away:
            self._when_turned_away(sentence)
        self._set(error_body(ApiError.too_many_waits(sentence)))

    def _set(self, data):
        self.data = json.dumps(text.storable(data), ensure_ascii=False, default=json_default)


class LeadsTo(Waiting):
    """The same as a redirect, for pages.

    :param work: returns the address
    """

    def _answer(self):
        self.status_code, self.headers["Location"] = 303, self._work()

    def _turn_away(self, sentence):
        self.content_type = "text/plain; charset=utf-8"
        self.data = sentence
