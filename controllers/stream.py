import json
import re

from odoo import http
from odoo.http import Response, request

from ..runtime.turns import listeners, streams
from ..runtime.web import client_line
from ..runtime.web.api_error import ApiError
from .chat import ROUTE, turn_or_404
from .dispatcher import query_int

HEADERS = {
    "Content-Type": "text/event-stream; charset=utf-8",
    "Cache-Control": "no-store",
    "X-Accel-Buffering": "no",  # nginx passes each event on at once
}


class StreamController(http.Controller):
    @http.route("/api/ai/turns/<int:turn_id>/stream", methods=["GET"], readonly=False, **ROUTE)
    def stream(self, turn_id):
        """Tail the turn's event log; starts, changes and repeats nothing.

        Not `readonly`: a replica may lag behind the POST, and a 404 ends a browser's stream for good.
        """
        turn = turn_or_404(turn_id)
        after = self._last_event_id() or query_int("after", 0)
        if turn._is_streamed_until(after):
            return Response(status=204)
        if listeners.is_full(request.db, request.env.uid):
            raise ApiError.busy(request.env._("Too many streams are open. Try again in a moment."))
        request.session.can_save = False
        if turn.events_pruned:
            final = streams.frame(1, json.dumps(turn._final_event()))
            return Response([final] if not after else [], headers=HEADERS)
        body = streams.tail(
            request.db, turn.id, after, streams.mode(), request.env.uid, client_line.connection()
        )
        return Response(body, headers=HEADERS, direct_passthrough=True)

    def _last_event_id(self):
        text = request.httprequest.headers.get("Last-Event-ID", "")
        if text and not re.fullmatch("[0-9]{1,9}", text):
            raise ApiError(400, "invalid_last_event_id", "Last-Event-ID must be a number.")
        return int(text or 0)
