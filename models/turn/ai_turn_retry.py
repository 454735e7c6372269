"""Retry: the same question once more, which repeats no call that was made."""

from odoo import models

from ...services import events
from ...services.llm import thinking
from ...services.render import markdown
from ...tools import notify


class AiTurn(models.Model):
    _inherit = "woow_paas_platform.ai_turn"

    def _retry(self):
        """Queue a new turn on the same question; it takes over every call of this one and repeats none.

        :raises AccessError: the assistant is no longer available to the person
        """
        self.ensure_one()
        self.assistant_id.check_access("read")
        self._check_open_turns()
        # sudo: ai_turn - people have no write access; the caller may read, so owns, the turn
        old = self.sudo()
        turn = old.create(
            {
                "channel_id": old.channel_id.id,
                "assistant_id": old.assistant_id.id,
                "cloud_service_id": old.cloud_service_id.id,
                "user_id": old.user_id.id,
                "lang": self.env.lang,
                "message_id": old.message_id.id,
                "prompt": old.prompt,
                "attachment_ids": old.attachment_ids.ids,
                "retry_of_id": old.id,
                "transcript": old._transcript_for_retry(),
            }
        )
        replayed = old._events_for_retry(turn.transcript)
        turn._append_events([events.state("queued"), *replayed])
        notify.queued(self.env.cr, turn.id)
        return turn.sudo(False)

    def _events_for_retry(self, transcript):
        """What the new turn begins with: what was said up to the last call, and the calls."""
        rows = {call.call_id: call for call in self._calls_with_taken_over()}
        replayed = []
        step = 0
        for message in transcript["messages"]:
            if message["role"] == "user":
                replayed.append(events.steered(message["turn"], message["content"]))
            if message["role"] != "assistant":
                continue
            if thought := message.get(thinking.KEY):
                replayed.append(events.thinking(thought, step, message.get(thinking.MS, 0)))
            if message["content"].strip():
                html = markdown.render(message["content"])
                replayed.append(events.text_block(step, html, step))
            for call in (rows.pop(asked["id"], None) for asked in message["tool_calls"]):
                replayed += [call._call_event(), call._result_event()] if call else []
            step += 1
        for call in rows.values():
            replayed += [call._call_event(), call._result_event()]
        return replayed

    def _transcript_for_retry(self):
        """The transcript up to the last call; a call without a message gets the one of its row."""
        rows = {call.call_id: call for call in self._calls_with_taken_over()}
        former = (self.transcript or {}).get("messages", [])
        answered = {message["call_id"] for message in former if message["role"] == "tool"}
        messages, rounds = [], 0
        for message in former:
            if message["role"] in ("tool", "user"):
                messages.append(message)
            elif calls := message.get("tool_calls"):
                rounds += 1
                messages.append(message)
                messages += [
                    rows[call["id"]]._tool_message()
                    for call in calls
                    if call["id"] not in answered and call["id"] in rows
                ]
        return {"step": rounds, "round": rounds, "messages": messages}

    def _calls_with_taken_over(self):
        """The turn's calls, after those of the turns that it retries."""
        self.ensure_one()
        earlier = (
            self.retry_of_id._calls_with_taken_over()
            if self.retry_of_id
            else self.call_ids.browse()
        )
        return earlier + self.call_ids
