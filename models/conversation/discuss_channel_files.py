"""Attachments of a question: who may send which files, and what the model gets of them."""

import base64
import binascii

from odoo import models

from ...services import text
from ...services.llm import files
from ...tools.refusals import BadInput, NotThere, Refusal, TooLarge, Unsupported

NAME_CHARS = 120  # characters of a file's name
MAX_UNSENT = (
    3 * files.MAX_FILES
)  # files of a conversation that wait for their message; older ones go


class DiscussChannel(models.Model):
    _inherit = "discuss.channel"

    def _attach(self, name, data):
        """Keep a file for a message that the caller is about to send in their own conversation.

        :param data: base64
        :return: the `ir.attachment`, with the rights of the conversation
        :raises Refusal: it is too large, empty or of a kind that no model can use
        """
        try:
            content = base64.b64decode(data, validate=True)
        except (binascii.Error, ValueError) as error:
            raise BadInput("The field “data” must be base64.", field="data") from error
        return self._attach_content(name, content)

    def _attach_content(self, name, content, source=None):
        """The same with bytes; a `source` is ``{"server", "uri"}`` of what a server offered to read."""
        self.ensure_one()
        self._check_size(content)
        name = text.one_line(name, NAME_CHARS) or self.env._("File")
        mimetype = files.mimetype_of(name, content)
        if not mimetype:
            raise Unsupported(
                self.env._(
                    "“%(name)s” is neither a picture (PNG, JPEG, GIF, WebP) nor a text file.",
                    name=name,
                ),
                "unsupported_file",
            )
        file = {
            "name": name,
            "mimetype": mimetype,
            "data": base64.b64encode(content),
            "source": source,
        }
        # sudo: ir.attachment - portal users may not write them; these belong to their own conversation
        self._unsent_files().sorted("id", reverse=True)[MAX_UNSENT - 1 :].sudo().unlink()
        return self.sudo()._keep_files([file]).sudo(False)

    def _check_size(self, content):
        if not content:
            raise BadInput(self.env._("The file is empty."), "empty_file")
        if len(content) > files.MAX_BYTES:
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
        """Files of these ids that the caller has attached in this conversation.

        :raises Refusal: one is not theirs, or they are too many
        """
        if len(ids) > files.MAX_FILES:
            raise Refusal(
                self.env._(
                    "At most %(limit)s files can be attached to one message.",
                    limit=files.MAX_FILES,
                ),
                "too_many_files",
                max_files=files.MAX_FILES,
            )
        chosen = self._own_files().filtered(lambda file: file.id in ids)
        if len(chosen) != len(set(ids)):
            raise NotThere(self.env._("This file does not exist."))
        return chosen
