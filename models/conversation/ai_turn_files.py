from odoo import fields, models

from ...services.llm import files
from ...tools import limits


class AiTurn(models.Model):
    _inherit = "woow_paas_platform.ai_turn"

    attachment_ids = fields.Many2many(
        "ir.attachment", string="Question Attachments", readonly=True, copy=False
    )

    def _question_message(self, pictures=0):
        """:param pictures: how many the model may still be shown
        :return: the person's message, see `services.llm.files.question`
        """
        # sudo: ir.attachment - the person has sent them with this question
        attached = self.sudo().attachment_ids.sorted("id")[: files.MAX_FILES]
        return files.question(
            self.prompt or "",
            (file._ai_file() for file in attached if file.file_size <= files.MAX_BYTES),
            pictures,
            limits.get(self.env, "file_characters_per_message"),
        )

    def _has_untrusted_attachments(self):
        """A file from an untrusted server is."""
        # sudo: ir.attachment, mcp_server - where the files of questions come from, and how that is trusted
        sent = self.sudo().attachment_ids.filtered("woow_source_uri")
        servers = self.env["woow_paas_platform.mcp_server"].sudo().with_context(active_test=False)
        for name in set(sent.mapped("woow_source_server")):
            levels = servers.search([("name", "=", name)]).mapped("trust_level")
            if not levels or "none" in levels:  # of several with this name any may have sent it
                return True
        return super()._has_untrusted_attachments()

    def _pictures_of_calls(self):
        """``{call id: pictures}`` that tools of this turn have returned, for models with vision."""
        # sudo: ir.attachment - files of the turn's own calls
        calls = self._calls_with_taken_over().sudo()
        shown = {
            call.call_id: [
                files.picture(file._ai_file())
                for file in call.attachment_ids
                if file.mimetype in files.PICTURES
            ]
            for call in calls.sorted("id", reverse=True)[: files.MAX_PICTURES]
        }
        return {call_id: pictures for call_id, pictures in shown.items() if pictures}
