from odoo import models
from odoo.addons.mail.tools.discuss import Store

CARD_FIELDS = (
    "call_id",
    "tool_name",
    "title",
    "server_name",
    "outcome",
    "duration_ms",
    "round",
    "turn_id",
)


class AiTurn(models.Model):
    _inherit = "woow_paas_platform.ai_turn"

    def _cards(self):
        """``{turn id: data}``: names and outcomes of the calls, no arguments and no results."""
        calls = {turn.id: turn._calls_with_taken_over() for turn in self}
        # not the results, which may be long
        self.env["woow_paas_platform.tool_call"].union(*calls.values()).fetch(CARD_FIELDS)
        return {
            turn.id: {
                "id": turn.id,
                "state": turn.state,
                "assistant": turn.assistant_id.name or "",
                "user_id": turn.user_id.id,
                "stream_url": turn._stream_url(),
                "tool_calls": [call._card() for call in calls[turn.id]],
            }
            for turn in self
        }

    def _start(self, *args, **kwargs):
        turn = super()._start(*args, **kwargs)
        if turn.is_from_discuss:
            # sudo: ai_turn - the turn was made for the caller just now
            own = turn.sudo()
            own.attachment_ids = own.attachment_ids._ai_readable_by(self.env.user)
        else:
            turn._show_in_discuss(turn.message_id)
        return turn

    def _retry(self):
        turn = super()._retry()
        turn._show_in_discuss(turn.message_id)
        return turn

    def _end(self, *args, **kwargs):
        last = super()._end(*args, **kwargs)
        if self.answer_message_id:
            self._show_in_discuss(self.answer_message_id)
        return last

    def _show_in_discuss(self, message):
        """Discuss has heard of the message before it belonged to the turn."""
        # sudo: ai_turn - see `_turn_cards`
        turn = self.sudo()
        data = {"woow_ai_turn": turn._cards()[turn.id]}
        Store(bus_channel=turn.channel_id).add(message, data).bus_send()
