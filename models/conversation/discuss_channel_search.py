"""Search for conversations by name and messages."""

from odoo import api, models
from odoo.tools import SQL, html_escape

from ..turn.ai_turn import CONVERSATION


class DiscussChannel(models.Model):
    _inherit = "discuss.channel"

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
                             WHERE message.model = 'discuss.channel' AND message.res_id = channel.id
                               AND message.message_type = 'comment'
                               AND strpos(lower(regexp_replace(message.body, '<[^<>]*>', ' ', 'g')),
                                          lower(%(escaped)s)) > 0))
                 ORDER BY channel.last_interest_dt DESC, channel.id DESC LIMIT %(limit)s
                """,
                type=CONVERSATION,
                user=self.env.uid,
                before=before or None,
                moment=self._last_activity(before) if before else None,
                service=cloud_service.id if cloud_service else None,
                words=words,
                escaped=str(html_escape(words)),
                limit=limit,
            )
        )
        return self.browse(channel_id for (channel_id,) in found)
