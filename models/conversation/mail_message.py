"""Turn cards in Discuss: one for each call, at the answer or, while there is none, at the question."""

from odoo import models
from odoo.addons.mail.tools.discuss import Store


class MailMessage(models.Model):
    _inherit = "mail.message"

    def _extras_to_store(self, store: Store, format_reply):
        for message, data in self._turn_cards().items():
            store.add(message, {"woow_ai_turn": data})
        return super()._extras_to_store(store, format_reply=format_reply)

    def _turn_cards(self):
        """``{message: data of its turn}``; everybody who reads the message may read the data."""
        messages = self.filtered(lambda message: message.model == "discuss.channel")
        if not messages:
            return {}
        # sudo: ai_turn - only what the summary below the answer tells its readers
        turns = self.env["woow_paas_platform.ai_turn"].sudo()
        found = turns.search(
            ["|", ("answer_message_id", "in", messages.ids), ("message_id", "in", messages.ids)],
            order="id",
        )
        turn_of = {}
        for turn in found:  # the last try at a question counts
            turn_of.pop(turn.message_id, None)
            shown_at = turn.answer_message_id or turn.message_id
            if shown_at in messages.sudo() and shown_at.res_id == turn.channel_id.id:
                turn_of[shown_at] = turn
        cards = turns.browse(turn.id for turn in turn_of.values())._cards()
        return {message.sudo(False): cards[turn.id] for message, turn in turn_of.items()}
