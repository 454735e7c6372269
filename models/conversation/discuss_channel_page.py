"""A conversation as the API has it: its data, and its messages page by page."""

import itertools

from odoo import models
from odoo.tools import html2plaintext

from ...services import const
from ...tools import sentences
from ...tools.moments import utc

PAGE_BYTES = 4 * 1024 * 1024  # of results that one page of messages shows, about


def _shown_body(message):
    """The HTML of a message for a chat, which shows the calls as cards."""
    return str(message.body).partition('<div class="o_ai_call_summary">')[0]


class DiscussChannel(models.Model):
    _inherit = "discuss.channel"

    def _conversation_data(self):
        self.ensure_one()
        # sudo: ai.assistant, cloud_service - names only, of what the caller chats with
        channel = self.sudo()
        turn = self._running_turn()
        service = channel.woow_cloud_service_id
        record = self._about(self.env.user)
        return {
            "id": channel.id,
            "name": channel.name,
            "assistant": {
                "id": channel.woow_assistant_id.id,
                "name": channel.woow_assistant_id.name or "",
                "image_url": channel.woow_assistant_id._image_url()
                if channel.woow_assistant_id
                else None,
            },
            "cloud_service": {"id": service.id, "name": service.name} if service else None,
            "record": {"model": record._name, "id": record.id, "name": record.display_name}
            if record
            else None,
            "last_message_at": utc(channel.last_interest_dt),
            "turn": {"id": turn.id, "state": turn.state} if turn else None,
        }

    def _conversation_page(self, limit, before=None):
        """The latest messages, oldest first, each answer behind its question and with its turn's calls."""
        domain = [
            ("model", "=", "discuss.channel"),
            ("res_id", "=", self.id),
            ("message_type", "=", "comment"),
        ]
        if before:
            domain.append(("id", "<", before))
        branched = self._branched_turns()
        if hidden := branched.filtered("hidden")._message_ids():
            domain.append(("id", "not in", hidden))
        # sudo: mail.message - of the caller's own conversation, see `_own_conversation`
        messages = self.env["mail.message"].sudo().search(domain, order="id desc", limit=limit + 1)
        limit = self._fitting(messages[:limit])
        page = messages[:limit].sorted("id")
        page.attachment_ids.mapped("name")
        turns = self.env["woow_paas_platform.ai_turn"].search(
            [
                ("channel_id", "=", self.id),
                "|",
                ("message_id", "in", page.ids),
                ("answer_message_id", "in", page.ids),
            ]
        )
        turns = turns.sorted("id")  # a retry comes after what it retries
        # what entered an answer is told in its timeline
        page -= turns.filtered(lambda turn: turn.entered_id and turn.ended_at).message_id
        # Read at once what is shown call by call.
        calls = turns.call_ids
        calls.mapped("tool_name")
        # sudo: call_question - of the person's own calls, see the rule; the names of who answered
        calls.sudo().question_ids.mapped("answered_by_id.name")
        # sudo: ir.attachment - names and types, see `ir_attachment._ai_file_data`
        calls.sudo().attachment_ids.mapped("name")
        by_answer = {turn.answer_message_id.id: turn for turn in turns if turn.answer_message_id}
        by_question = {turn.message_id.id: turn for turn in turns}
        # what was asked while an answer was being written stands in front of it in the channel
        asked_by = {answer: turn.message_id.id for answer, turn in by_answer.items()}
        page = page.sorted(lambda message: (asked_by.get(message.id) or message.id, message.id))
        bodies = {message.id: _shown_body(message) for message in page}
        timelines = turns._timelines(
            {turn.id: bodies.get(turn.answer_message_id.id, "") for turn in turns}
        )
        asked_first = {turn.message_id.id: turn.id for turn in reversed(turns)}
        versions = branched._version_groups()
        data = []
        for message in page:
            turn = by_answer.get(message.id)
            question = by_question.get(message.id)
            ended = self._turn_data(turn, timelines)
            data.append(
                {
                    **self._message_data(message, bodies[message.id], ended),
                    "turn_id": asked_first.get(message.id),
                    "versions": versions.get(asked_first.get(message.id), []),
                    "records": question._attached_records() if question else [],
                }
            )
            if question and not question.answer_message_id and question.ended_at:
                data.append(self._unanswered_data(question, timelines))
        open_turns = self._open_turns()
        return {
            **self._conversation_data(),
            "messages": data,
            "has_more": len(messages) > limit,
            "closed": self._closed_sentence(),
            "unseen": self.env["woow_paas_platform.ai_turn"]._has_unseen(self),
            "turn": open_turns[0]._running_data() if open_turns else None,
            "queued": [turn._queued_data() for turn in open_turns[1:]],
        }

    def _fitting(self, messages):
        """:return: how many of the messages a page takes, the latest first, by the results that it shows with them"""
        self.env["woow_paas_platform.tool_call"].flush_model(["kept_bytes", "turn_id"])
        self.env.cr.execute(
            """
            SELECT COALESCE(t.answer_message_id, t.message_id), SUM(LEAST(COALESCE(c.kept_bytes, 0), %s))
              FROM woow_paas_platform_ai_turn t
              JOIN woow_paas_platform_tool_call c ON c.turn_id = t.id
             WHERE t.channel_id = %s AND (t.answer_message_id = ANY(%s) OR t.message_id = ANY(%s))
             GROUP BY 1
            """,
            [const.UI_RESULT_CAP, self.id, messages.ids, messages.ids],
        )
        sizes = dict(self.env.cr.fetchall())
        totals = itertools.accumulate(sizes.get(message.id, 0) for message in messages)
        return max(1, sum(total <= PAGE_BYTES for total in totals))

    def _closed_sentence(self):
        """Why the caller can ask nothing more here, empty while that is possible."""
        # sudo: discuss.channel - the caller's own conversation; rights are asked as the caller
        channel = self.sudo()
        service = channel.woow_cloud_service_id
        refusal = channel.woow_assistant_id._refusal_to(self.env.user, service)
        return sentences.translated(self.env, refusal)

    def _turn_data(self, turn, timelines):
        return {**turn._ended_data(), "timeline": timelines[turn.id]} if turn else None

    def _message_data(self, message, body, turn):
        is_answer = message.author_id == self.sudo().woow_assistant_id.partner_id
        return {
            "id": message.id,
            "role": "assistant" if is_answer else "user",
            "html": body,
            "text": html2plaintext(body).strip(),
            "author": {"id": message.author_id.id, "name": message.author_id.name or ""},
            "date": utc(message.date),
            "attachments": message.attachment_ids.sorted("id")._ai_file_data(),
            "turn": turn,
        }

    def _unanswered_data(self, turn, timelines):
        """Stands where the answer of a failed or stopped turn would be."""
        assistant = self.sudo().woow_assistant_id
        return {
            "id": None,
            "role": "assistant",
            "html": "",
            "text": "",
            "author": {"id": assistant.partner_id.id, "name": assistant.name or ""},
            "date": utc(turn.ended_at),
            "attachments": [],
            "turn": self._turn_data(turn, timelines),
        }
