"""Lists of a person's conversations: all of them, or those with some words in the name or in a message."""

import time

from odoo import api, fields, models
from odoo.fields import Domain
from odoo.tools import SQL, html2plaintext, html_escape, split_every
from psycopg2.errors import QueryCanceled

from ..turn.ai_turn import CONVERSATION

BEFORE, AROUND = 40, 160  # characters in front of what was found, and in all
SEARCH_TIME = 2.0  # s that one search may take
PORTION = 25  # conversations that are looked through at once


def _says(words):
    """The condition on a row ``message`` of ``mail_message``; tags are not searched.

    A tag stands for a blank, so each word is in the body as it is: few bodies have to lose their tags.
    """
    escaped = str(html_escape(words))
    return SQL(
        "message.model = 'discuss.channel' AND message.message_type = 'comment'"
        " AND CASE WHEN strpos(lower(message.body), lower(%s)) > 0"
        " THEN strpos(lower(regexp_replace(message.body, '<[^<>]*>', ' ', 'g')), lower(%s)) > 0"
        " ELSE FALSE END",
        max(escaped.split(), key=len, default=""),
        escaped,
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
    def _last_assistant(self, assistants):
        """The one of these assistants with which the caller had the last conversation."""
        own = [
            ("channel_type", "=", CONVERSATION),
            ("woow_user_id", "=", self.env.uid),
            ("woow_assistant_id", "in", assistants.ids),
        ]
        # sudo: discuss.channel - the user's own conversations, of which only the assistant is read
        last = self.sudo().search(own, order="last_interest_dt desc, id desc", limit=1)
        return last.woow_assistant_id.sudo(False)

    @api.model
    def _last_activity(self, conversation_id):
        """When something happened last in a conversation of the caller; now for any other."""
        return self.browse(conversation_id)._own_conversation().last_interest_dt or (
            fields.Datetime.now()
        )

    @api.model
    def _ai_conversations_with(self, words, limit=30, before=None, cloud_service=None):
        """The caller's own conversations with these words in the name or in a message, the one in
        which something happened last first, and what surrounds the words in each.

        The words are text, not a pattern; tags of the messages are not searched.

        :param cloud_service: only conversations about it
        :return: the conversations, ``{id: excerpt}``, and whether all could be looked through in `SEARCH_TIME`
        """
        self.env["mail.message"].flush_model(["body", "model", "res_id", "message_type"])
        until = time.monotonic() + SEARCH_TIME
        own = self._ai_conversations(None, before, cloud_service)
        found, excerpts = self.browse(), {}
        for ids in split_every(PORTION, own.ids):
            portion = self.browse(ids).with_prefetch(own.ids)
            rows = self._in_time(
                SQL(
                    """
                    SELECT DISTINCT ON (message.res_id) message.res_id, message.body
                      FROM mail_message message
                     WHERE message.res_id = ANY(%(channels)s) AND %(says)s
                     ORDER BY message.res_id, message.id DESC
                    """,
                    channels=list(ids),
                    says=_says(words),
                ),
                until,
            )
            if rows is None:
                return found, excerpts, False
            excerpts |= {channel_id: _excerpt(body, words) for channel_id, body in rows}
            found |= self.browse(
                channel.id
                for channel in portion
                if channel.id in excerpts or words.lower() in (channel.name or "").lower()
            )
            if limit and len(found) >= limit:
                break
        return found[:limit], excerpts, True

    def _in_time(self, query, until):
        """Rows of a query, None where they are not there at this moment of `time.monotonic`."""
        cr, left = self.env.cr, until - time.monotonic()
        if left <= 0:
            return None
        try:
            with cr.savepoint(flush=False):
                cr.execute("SET LOCAL statement_timeout = %s", [max(1, int(left * 1000))])
                cr.execute(query, log_exceptions=False)
                rows = cr.fetchall()
                cr.execute("SET LOCAL statement_timeout TO DEFAULT")
        except QueryCanceled:
            return None
        return rows


def _excerpt(body, words):
    said = " ".join(html2plaintext(body, include_references=False).split())
    at = said.lower().find(words.lower())
    start = max(0, at - BEFORE)
    part = said[start : start + AROUND]
    return f"{'… ' * bool(start)}{part}{' …' * (start + AROUND < len(said))}"
