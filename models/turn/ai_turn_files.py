from odoo import fields, models

from ...services.errors import UnsupportedFile
from ...services.llm import files
from ...tools import limits, sentences
from ...tools.refusals import Unsupported

LEFT_OUT = "\n\n[{} more files of the user are left out: of one message {} are read.]"


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
        attached = self.sudo().attachment_ids.sorted("id")
        found = (file._ai_file() for file in attached[: files.MAX_FILES])
        message = files.question(
            self.prompt or "",
            # what was read may have been replaced by something larger
            (file for file in found if file["size"] <= files.MAX_BYTES or "problem" in file),
            pictures,
            limits.get(self.env, "file_characters_per_message"),
        )
        left_out = len(attached) - files.MAX_FILES
        if left_out > 0:  # of a mention: nobody refuses its files
            message["content"] += LEFT_OUT.format(left_out, files.MAX_FILES)
        return message

    def _unread_files(self):
        """Files of the question that nobody has read: the chat reads them when they are chosen, Discuss does not."""
        # sudo: ir.attachment - the person has sent them with this question
        attached = self.sudo().attachment_ids.sorted("id")[: files.MAX_FILES]
        return attached.filtered(lambda file: not file.woow_reading)

    def _file_to_read(self, file_id):
        """``(name, content, person)`` of an unread file; None of one that nobody need read any more.

        :raises Refusal: it is empty or too large, or kept elsewhere
        """
        file = self._unread_files().filtered(lambda file: file.id == file_id)
        if not file:
            return None
        if file.type != "binary":  # a link, or a file in a cloud
            raise Unsupported(sentences.translated(self.env, UnsupportedFile.default_message))
        self.channel_id._check_size(file.file_size)
        content = file.raw or b""
        self.channel_id._check_size(len(content))  # nothing, if it is gone from the disk
        return file.name or "", content, (self.env.cr.dbname, self.user_id.id)

    def _keep_reading(self, file_id, reading=None, problem="", *, is_lasting=True):
        """What was read of a file, for this turn and those that follow; the person is told where it cannot be read.

        :param reading: `services.llm.files.Reading`
        :param problem: a sentence that says why there is none
        :param is_lasting: whether the next try would meet the same problem
        """
        file = self._unread_files().filtered(lambda file: file.id == file_id)
        if reading:
            file.write(file._ai_reading_values(reading))
        elif file:
            if is_lasting:
                file.woow_reading = {"problem": problem}
            self._tell_of_unread_file(file.name, problem)

    def _tell_of_unread_file(self, name, problem):
        """A hook."""

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
        """``{call id: pictures}`` that tools of this turn returned, for models with vision: the latest that fit."""
        # sudo: ir.attachment - files of the turn's own calls
        calls = self._calls_with_taken_over().sudo()
        shown, count, room = {}, files.MAX_PICTURES, files.PICTURES_CAP
        for call in calls.sorted("id", reverse=True):
            for file in call.attachment_ids.filtered(lambda f: f.mimetype in files.PICTURES):
                if count and room > 0:
                    picture = files.picture(file._ai_file())
                    count, room = count - 1, room - len(picture["data"])
                    shown.setdefault(call.call_id, []).append(picture)
        return shown
