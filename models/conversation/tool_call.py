import logging

from odoo import models

from ...services.llm.files import MAX_BYTES
from .discuss_channel_quota import _fitting

_logger = logging.getLogger(__name__)

MAX_TURN_FILES = 60  # that the tools of one turn send
MAX_TURN_BYTES = 8 * MAX_BYTES  # of them together


class ToolCall(models.Model):
    _inherit = "woow_paas_platform.tool_call"

    def _keep_files(self, files):
        """Keep what the tool sent, as far as its turn and its person have room for it.

        :return: `ir.attachment` records
        """
        before = self.turn_id.call_ids.attachment_ids
        fitting = _fitting(
            files,
            MAX_TURN_FILES - len(before),
            MAX_TURN_BYTES - sum(before.mapped("file_size")),
        )
        attachments = self.turn_id.channel_id._keep_files(fitting)
        if len(attachments) < len(files):
            _logger.info(
                "Call %s: no room for %s files.", self.call_id, len(files) - len(attachments)
            )
        return attachments
