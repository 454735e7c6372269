"""Attachments of a question: who may send which files, and what the model gets of them."""

import base64

from odoo import api, models

from ...services import text
from ...services.llm import files
from ...tools.refusals import BadInput, NotThere, Refusal, TooLarge

MAX_UNSENT = (
    3 * files.MAX_FILES
)  # files of a conversation that wait for their message; older ones go


class DiscussChannel(models.Model):
    _inherit = "discuss.channel"

    def _attach_content(self, name, content, source=None, reading=None):
        """Keep a file for a message that the caller is about to send in their own conversation.

        :param content: bytes
        :param source: ``{"server", "uri"}`` of what a server offered to read
        :param reading: `services.llm.files.Reading` of it; whoever has a cursor for others' use reads before
        :return: the `ir.attachment`, with the rights of the conversation
        :raises Refusal: it is too large or empty
        :raises FileError: it is of a kind that no model can use
        """
        self.ensure_one()
        file = self._file_of(name, content, source, reading)
        # sudo: ir.attachment - portal users may not write them; these belong to their own conversation
        self._unsent_files().sorted("id", reverse=True)[MAX_UNSENT - 1 :].sudo().unlink()
        return self.sudo()._keep_files([file]).sudo(False)

    @api.model
    def _attach_unsent(self, name, content, reading=None):
        """The same before it is known in which conversation: only the caller reaches it until it is sent."""
        file = self._file_of(name, content, None, reading)
        Attachment = self.env["ir.attachment"]
        # sudo: ir.attachment - the caller's own
        Attachment._ai_unsent(self.env.user).sorted("id", reverse=True)[MAX_UNSENT - 1 :].unlink()
        return self.sudo()._create_files([file], woow_unsent_by_id=self.env.uid).sudo(False)

    def _file_of(self, name, content, source, reading):
        self._check_size(len(content))
        name = text.one_line(name, files.NAME_CHARS) or self.env._("File")
        reading = reading or files.read(name, content, (self.env.cr.dbname, self.env.uid))
        return {
            "name": name,
            "mimetype": reading.mimetype,
            "data": base64.b64encode(content),
            "source": source,
            "values": self.env["ir.attachment"]._ai_reading_values(reading),
        }

    def _check_size(self, size):
        """
        :param size: bytes
        :raises Refusal: the file is empty or too large
        """
        if not size:
            raise BadInput(self.env._("The file is empty."), "empty_file")
        if size > files.MAX_BYTES:
            raise TooLarge(
                self.env._(
                    "The file is too large: at most %(limit)s can be attached.",
                    limit=text.size(files.MAX_BYTES),
                ),
                "file_too_large",
                max_bytes=files.MAX_BYTES,
            )

    def _own_files(self):
        """What the caller has attached here, sent or not."""
        # sudo: ir.attachment - of the caller's own conversation, and made by the caller
        Attachment = self.env["ir.attachment"].sudo()
        return Attachment.search(
            [
                ("res_model", "=", self._name),
                ("res_id", "=", self.id),
                ("create_uid", "=", self.env.uid),
            ],
            order="id",
        )

    def _unsent_files(self):
        # sudo: ai_turn - to leave out what the caller has sent
        return self._own_files() - self.sudo().woow_turn_ids.attachment_ids

    def _files_to_send(self, ids):
        """Files of these ids that the caller has attached; from now on they belong to this conversation.

        :raises Refusal: one is not theirs, or they are too many
        """
        if not ids:
            return self.env["ir.attachment"]
        self._check_count(len(ids))
        unsent = self.env["ir.attachment"]._ai_unsent(self.env.user)
        chosen = (self._own_files() | unsent).filtered(lambda file: file.id in ids)
        if len(chosen) != len(set(ids)):
            raise NotThere(self.env._("This file does not exist."))
        here = {"res_model": self._name, "res_id": self.id, "woow_unsent_by_id": False}
        (chosen & unsent).write(here)
        return chosen.sorted("id")

    def _check_count(self, count):
        """:raises Refusal: these are too many files for one message"""
        if count > files.MAX_FILES:
            raise Refusal(
                self.env._(
                    "At most %(limit)s files can be attached to one message.",
                    limit=files.MAX_FILES,
                ),
                "too_many_files",
                max_files=files.MAX_FILES,
            )
