"""Quotas of a person: the number of conversations, and of files in them."""

from odoo import api, models

from ...services.llm.files import MAX_BYTES, fitting_files
from ...tools import limits
from ...tools.limits import MEGABYTE
from ...tools.refusals import Refusal

MAX_UNSENT_BYTES = 8 * MAX_BYTES  # of one person; what was attached first goes first


class DiscussChannel(models.Model):
    _inherit = "discuss.channel"

    @api.model
    def _create_ai_conversation(self, *args, **kwargs):
        self._check_conversation_count()
        return super()._create_ai_conversation(*args, **kwargs)

    @api.model
    def _check_conversation_count(self):
        """:raises Refusal: the caller has as many as one person may"""
        limit = limits.get(self.env, "max_conversations_per_person")
        # sudo: discuss.channel - the caller's own, counted
        own = self.sudo().search_count([("woow_user_id", "=", self.env.uid)], limit=limit)
        if own >= limit:
            raise Refusal(
                self.env._(
                    "You have reached the limit of %(limit)s conversations. Delete some first.",
                    limit=limit,
                ),
                "too_many_conversations",
            )

    def _file_of(self, name, content, source, reading):
        self._check_room(content)
        self._drop_unsent(len(content))
        return super()._file_of(name, content, source, reading)

    def _check_room(self, content):
        """
        :raises Refusal: the file is too large, empty, or the caller keeps as many as one person may
        """
        self._check_size(len(content))
        count, size = self._room_for_files(self.env.user)
        if count < 1 or size < len(content):
            raise Refusal(
                self.env._(
                    "Your conversations have reached the limit for files. Delete conversations that you no longer need."
                ),
                "storage_full",
            )

    def _keep_files(self, files):
        """As far as the conversation's person has room for them; a thread of a channel is nobody's."""
        if self.woow_user_id:
            # sudo: discuss.channel - whose conversation it is
            files = fitting_files(files, *self._room_for_files(self.sudo().woow_user_id))
        return super()._keep_files(files)

    @api.model
    def _room_for_files(self, person):
        """(number, bytes) of files that still fit into this person's conversations, sent or not."""
        self.env["ir.attachment"].flush_model(
            ["res_model", "res_id", "file_size", "woow_unsent_by_id"]
        )
        self.env.cr.execute(
            """
            SELECT COUNT(*), COALESCE(SUM(file_size), 0)
              FROM (SELECT file.file_size
                      FROM ir_attachment file
                      JOIN discuss_channel channel ON channel.id = file.res_id
                     WHERE file.res_model = 'discuss.channel' AND channel.woow_user_id = %(person)s
                     UNION ALL
                    SELECT file_size
                      FROM ir_attachment
                     WHERE woow_unsent_by_id = %(person)s) AS kept
            """,
            {"person": person.id},
        )
        count, size = self.env.cr.fetchone()
        return (
            limits.get(self.env, "max_files_per_person") - count,
            limits.get(self.env, "max_file_megabytes_per_person") * MEGABYTE - size,
        )

    def _drop_unsent(self, size):
        """Make room for so many bytes among what the caller has attached anywhere and not sent."""
        # sudo: discuss.channel, ir.attachment - the caller's own conversations and files
        own = self.sudo().search([("woow_user_id", "=", self.env.uid)])
        attached = (
            self.env["ir.attachment"]
            .sudo()
            .search(
                [
                    ("res_model", "=", self._name),
                    ("res_id", "in", own.ids),
                    ("create_uid", "=", self.env.uid),
                ],
                order="id desc",
            )
        )
        attached |= self.env["ir.attachment"]._ai_unsent(self.env.user)
        for file in (attached - own.woow_turn_ids.attachment_ids).sorted("id", reverse=True):
            size += file.file_size
            if size > MAX_UNSENT_BYTES:
                file.unlink()
