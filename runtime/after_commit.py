"""Routes that wait for a server: they answer after their request's transaction is over."""

import json

from odoo.http import Response
from odoo.tools import json_default

from ..services import text


class AfterCommit(Response):
    """A JSON response that is made when the request's transaction is over.

    :param work: returns (data, status); runs once, without a cursor, a request's environment or a retry
    """

    def __init__(self, work):
        super().__init__(headers={"Content-Type": "application/json; charset=utf-8"})
        self._work = work

    def __call__(self, environ, start_response):
        data, status = self._work()
        self.status_code = status
        self.data = json.dumps(text.storable(data), ensure_ascii=False, default=json_default)
        return super().__call__(environ, start_response)
