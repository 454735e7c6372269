"""Lists of a person's conversations: all of them, or those with some words in the name or in a message."""

from odoo import api, fields, models
from odoo.fields import Domain
from odoo.tools import SQL, html2plaintext, html_escape

from ..turn.ai_turn import CONVERSATION

BEFORE, AROUND = 40, 160  # characters in front of what was found, and in all


def _says(words):
    """The condition on a row ``message`` of ``mail_message``; tags are not searched."""
    return SQL(
        "message.model = 'discuss.channel' AND message.message_type = 'comment'"
        " AND strpos(lower(regexp_replace(message.body, '<[^<>]*>', ' ', 'g')), lower(%s)) > 0",
        str(html_escape(words)),
    )


class DiscussChannel(models.Model):
    _inherit = "discuss.channel"

    @api.model
    def _ai_conversations(self, limit=30, before=None, cloud_service=None):
        """The caller's own conversations, the one in which something happened last first.

        :param before: id of the conversation that ends the page before
        :param cloud_service: only those about it
        """
        domain = Domain("channel_type", "=", CONVERSATION) & Domain(
            "woow_user_id", "=", self.env.uid
        )
        if before:
            moment = self._last_activity(before)
            domain &= Domain("last_interest_dt", "<", moment) | (
                Domain("last_interest_dt", "=", moment) & Domain("id", "<", before)
            )
        if cloud_service:
            domain &= Domain("woow_cloud_service_id", "=", cloud_service.id)
        return self.search(domain, order="last_interest_dt desc, id desc", limit=limit)

    @api.model
    def _last_activity(self, conversation_id):
        """When something happened last in a conversation of the caller; now for any other."""
        return self.browse(conversation_id)._own_conversation().last_interest_dt or (
            fields.Datetime.now()
        )

    @api.model
    def _ai_conversations_with(self, words, limit=30, before=None, cloud_service=None):
        """The caller's own conversations with these words in the name or in a message, the one in
        which something happened last first.

        The words are text, not a pattern; tags of the messages are not searched.

        :param cloud_service: only conversations about it
        """
        self.env["mail.message"].flush_model(["body", "model", "res_id", "message_type"])
        self.flush_model(
            ["name", "channel_type", "last_interest_dt", "woow_user_id", "woow_cloud_service_id"]
        )
        found = self.env.execute_query(
            SQL(
                """
                SELECT channel.id
                  FROM discuss_channel channel
                 WHERE channel.channel_type = %(type)s AND channel.woow_user_id = %(user)s
                   AND (%(before)s IS NULL
                        OR (channel.last_interest_dt, channel.id) < (%(moment)s, %(before)s))
                   AND (%(service)s IS NULL OR channel.woow_cloud_service_id = %(service)s)
                   AND (strpos(lower(channel.name), lower(%(words)s)) > 0
                        OR EXISTS (
                            SELECT 1 FROM mail_message message
                             WHERE message.res_id = channel.id AND %(says)s))
                 ORDER BY channel.last_interest_dt DESC, channel.id DESC LIMIT %(limit)s
                """,
                type=CONVERSATION,
                user=self.env.uid,
                before=before or None,
                moment=self._last_activity(before) if before else None,
                service=cloud_service.id if cloud_service else None,
                words=words,
                says=_says(words),
                limit=limit,
            )
        )
        return self.browse(channel_id for (channel_id,) in found)

    def _excerpts(self, words):
        """``{id: text}``: what surrounds these words in the latest message that has them."""
        rows = self.env.execute_query(
            SQL(
                """
                SELECT DISTINCT ON (message.res_id) message.res_id, message.body
                  FROM mail_message message
                 WHERE message.res_id = ANY(%(channels)s) AND %(says)s
                 ORDER BY message.res_id, message.id DESC
                """,
                channels=self.ids,
                says=_says(words),
            )
        )
        return {channel_id: _excerpt(body, words) for channel_id, body in rows}


def _excerpt(body, words):
    said = " ".join(html2plaintext(body, include_references=False).split())
    at = said.lower().find(words.lower())
    start = max(0, at - BEFORE)
    part = said[start : start + AROUND]
    return f"{'… ' * bool(start)}{part}{' …' * (start + AROUND < len(said))}"
