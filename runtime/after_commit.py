"""Routes that wait for a server: they answer after their request's transaction is over."""

import json

from odoo.http import Response
from odoo.tools import json_default

from ..services import text
from . import process, sentences
from .api_error import ApiError, error_body

TURNED_AWAY = (
    "Too many of your requests wait for an answer already. Try again when one of them has ended."
)
RETRY_AFTER = 5  # s, told to who is turned away


class AfterCommit(Response):
    """A JSON response that is made when the request's transaction is over, unless too many requests of the
    same person wait by then.

    :param env: whose request it is
    :param work: returns (data, status); runs once, without a cursor, a request's environment or a retry
    :param turn_away: runs with a sentence instead of `work` where there is no place for it
    """

    def __init__(self, env, work, turn_away=None):
        super().__init__(headers={"Content-Type": "application/json; charset=utf-8"})
        self._dbname, self._uid, self._lang = env.cr.dbname, env.uid, env.lang
        self._work = work
        self._turn_away = turn_away

    def __call__(self, environ, start_response):
        with process.places(self._dbname).of(self._uid) as has_place:
            data, status = self._work() if has_place else self._refusal()
        self.status_code = status
        self.data = json.dumps(text.storable(data), ensure_ascii=False, default=json_default)
        return super().__call__(environ, start_response)

    def _refusal(self):
        sentence = sentences.in_language(self._lang, TURNED_AWAY)
        if self._turn_away:
            self._turn_away(sentence)
        self.headers["Retry-After"] = str(RETRY_AFTER)
        error = ApiError(429, "too_many_waits", sentence, details={"retry_after": RETRY_AFTER})
        return error_body(error), error.code
