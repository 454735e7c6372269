"""What Discuss shows of turns: a card for each call, at the answer or, while there is none, at the question."""

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


class MailMessage(models.Model):
    _inherit = "mail.message"

    def _extras_to_store(self, store: Store, format_reply):
        for message, data in self._turn_cards().items():
            store.add(message, {"woow_ai_turn": data})
        return super()._extras_to_store(store, format_reply=format_reply)

    def _turn_cards(self):
        """``{message: data of its turn}``; everybody who reads the message may read the data."""
        said = self.filtered(lambda message: message.model == "discuss.channel")
        if not said:
            return {}
        # sudo: ai_turn - only what the summary below the answer tells its readers, see `_card_data`
        turns = self.env["woow_paas_platform.ai_turn"].sudo()
        found = turns.search(
            ["|", ("answer_message_id", "in", said.ids), ("message_id", "in", said.ids)],
            order="id",
        )
        turn_of = {}
        for turn in found:  # the last try at a question counts
            turn_of.pop(turn.message_id, None)
            shown_at = turn.answer_message_id or turn.message_id
            if shown_at in said.sudo() and shown_at.res_id == turn.channel_id.id:
                turn_of[shown_at] = turn
        cards = turns.browse(turn.id for turn in turn_of.values())._cards()
        return {message.sudo(False): cards[turn.id] for message, turn in turn_of.items()}


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
        if not turn.is_from_discuss:
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


class ToolCall(models.Model):
    _inherit = "woow_paas_platform.tool_call"

    def _card(self):
        self.ensure_one()
        return {
            "id": self.call_id,
            "tool": self.tool_name,
            "title": self.title or self.tool_name,
            "server": self.server_name or "",
            "outcome": self.outcome or None,
            "duration_ms": self.duration_ms,
            "round": self.round,
        }
