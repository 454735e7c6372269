"""Tells the person's open pages that an answer is there, or that one waits for a word."""

from odoo import fields, models

from ...tools.moments import utc

ENDED = "woow_ai/turn_ended"


class AiTurn(models.Model):
    _inherit = "woow_paas_platform.ai_turn"

    def _end(self, state, *args, **kwargs):
        last = super()._end(state, *args, **kwargs)
        if state != "stopped":
            self._tell_person()
        return last

    def _begin_wait(self, confirm):
        events = super()._begin_wait(confirm)
        if self.state == "waiting":
            self._tell_person()
        return events

    def _tell_person(self):
        """Only names of the person's own conversation are sent; what was said is not."""
        if not self._is_private():
            return
        self.user_id._bus_send(
            ENDED,
            {
                "conversation_id": self.channel_id.id,
                "name": self.channel_id.name,
                "assistant": self.assistant_id.name or "",
                "state": self.state,
                "at": utc(fields.Datetime.now()),
            },
        )
