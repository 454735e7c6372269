import logging

from odoo import models

from ...services.llm.files import MAX_BYTES, fitting_files
from ...tools import limits
from ...tools.limits import MEGABYTE

_logger = logging.getLogger(__name__)

MAX_TURN_FILES = 60  # that the tools of one turn send
MAX_TURN_BYTES = 8 * MAX_BYTES  # of them together
SLACK = 20  # a full share gives up one part in so many at once


class ToolCall(models.Model):
    _inherit = "woow_paas_platform.tool_call"

    def _vals_of_result(self, result):
        """Of a result that its person has no room for, what the model reads is kept."""
        vals = super()._vals_of_result(result)
        size = vals["kept_bytes"]
        if size and not self._make_room(size):
            vals |= {"result": vals["llm_text"], "whole_text": False, "truncated": True}
            vals["kept_bytes"] = 2 * len(vals["llm_text"])
        return vals

    def _make_room(self, size):
        """Forget the person's oldest results of turns that are over, and these turns' events, where all together would
        take more than a person's files may.

        :return: whether there is room for so many bytes
        """
        share = limits.get(self.env, "max_file_megabytes_per_person") * MEGABYTE
        query = """
            SELECT COALESCE(SUM(kept_bytes), 0) FROM woow_paas_platform_tool_call
             WHERE user_id = %s AND kept_bytes > 0
            """
        self.env.cr.execute(query, [self.user_id.id])
        missing = self.env.cr.fetchone()[0] + size - share
        if missing <= 0:
            return True
        self.env.cr.execute(
            """
            SELECT id, kept_bytes FROM (
                SELECT call.id, call.kept_bytes,
                       SUM(call.kept_bytes) OVER (ORDER BY call.id) - call.kept_bytes AS before
                  FROM woow_paas_platform_tool_call call
             LEFT JOIN woow_paas_platform_ai_turn turn ON turn.id = call.turn_id
                 WHERE call.user_id = %s AND call.kept_bytes > 0
                   AND (call.turn_id IS NULL OR turn.ended_at IS NOT NULL)) AS old
             WHERE before < %s
            """,
            [self.user_id.id, max(missing, share // SLACK)],
        )
        found = dict(self.env.cr.fetchall())
        old = self.browse(found)
        old.turn_id._forget_events()
        old._forget_results()
        return sum(found.values()) >= missing

    def _keep_files(self, files):
        """Keep what the tool sent, as far as its turn and its person have room for it.

        :return: `ir.attachment` records
        """
        before = self.turn_id.call_ids.attachment_ids
        kept = fitting_files(
            files,
            MAX_TURN_FILES - len(before),
            MAX_TURN_BYTES - sum(before.mapped("file_size")),
        )
        attachments = self.turn_id.channel_id._keep_files(kept)
        if len(attachments) < len(files):
            _logger.info(
                "Call %s: no room for %s files.", self.call_id, len(files) - len(attachments)
            )
        return attachments
