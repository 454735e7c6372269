"""Steering: a message that is sent while a turn runs may enter it, instead of waiting for its end."""

from odoo import fields, models

from ...services import events

MAX_ENTERING = 10  # messages that enter a turn at one safe point


class AiTurn(models.Model):
    """Such a message is a turn that waits in the queue like any other. The turn before it may take it at its next
    safe point: then it is part of that one's transcript and has nothing more to do. Else it is answered next.
    """

    _inherit = "woow_paas_platform.ai_turn"

    steers = fields.Boolean(
        readonly=True, help="The message may enter the answer that is being written."
    )
    entered_id = fields.Many2one(
        "woow_paas_platform.ai_turn",
        readonly=True,
        ondelete="cascade",
        help="Turn that the message was added to.",
    )

    _entered = models.Index("(entered_id) WHERE entered_id IS NOT NULL")

    def _take_steering(self, known):
        """The messages that enter this turn now; asked again, the same ones as long as they are not known.

        :param known: ids of turns whose messages stand in the transcript
        :return: ``[{"turn", "message_id", "content"}]``
        """
        self.ensure_one()
        waiting = self._steering().filtered(
            lambda turn: turn.id not in known and not turn._is_stop_requested()
        )[:MAX_ENTERING]
        waiting.filtered(lambda turn: not turn.entered_id).entered_id = self.id
        return [
            {"turn": turn.id, "message_id": turn.message_id.id or None, "content": turn.prompt}
            for turn in waiting
        ]

    def _steering(self):
        """What wants to enter this turn, or has been taken and not yet been closed; nothing that was begun already."""
        return self.search(
            [
                ("channel_id", "=", self.channel_id.id),
                ("user_id", "=", self.user_id.id),
                ("id", ">", self.id),
                ("steers", "=", True),
                ("state", "=", "queued"),
                ("started_at", "=", False),
                ("entered_id", "in", [False, self.id]),
            ],
            order="id",
        )

    def _close_entered(self):
        """Whose message stands in the transcript now has nothing more to do."""
        messages = (self.transcript or {}).get("messages", ())
        known = {message["turn"] for message in messages if message.get("turn")}
        if not known:
            return
        for turn in self._steering().filtered(lambda turn: turn.entered_id and turn.id in known):
            turn.write({"state": "done", "ended_at": fields.Datetime.now()})
            turn._append_events([events.state("done"), events.done("done", None)])

    def _end(self, *args, **kwargs):
        last = super()._end(*args, **kwargs)
        self._close_entered()
        # what was taken, and did not get into the transcript any more, is answered next
        left = self._steering()
        left.entered_id = False
        for turn in left.filtered("stop_requested"):
            turn._request_stop()
        return last

    def _is_entering(self):
        return self.state == "queued" and bool(self.entered_id)
