"""Attachments of conversations: files that people attach or tools send, and Odoo records."""

import base64
import binascii

from odoo import http
from odoo.http import request

from ..models.conversation.conversation_folder import FOLDER
from ..runtime.records import mentions
from ..runtime.web.after_commit import AfterCommit
from ..runtime.web.api_error import ApiError
from ..services.llm import files
from ..tools import db
from ..tools.refusals import NotThere
from .chat import (
    READ,
    ROUTE,
    active_companies,
    assistant_or_404,
    conversation_or_404,
    folder_or_404,
)
from .dispatcher import body, query_text

MAX_UPLOAD = files.MAX_BYTES * 4 // 3 + 4096  # bytes of a JSON body that carries a file as base64
MAX_FORM = files.MAX_BYTES + 64 * 1024  # bytes of a form that carries one


class AttachmentController(http.Controller):
    @http.route(
        "/api/ai/conversations/<int:conversation_id>/attachments",
        methods=["POST"],
        max_body=MAX_UPLOAD,
        **ROUTE,
    )
    def attach(self, conversation_id):
        """Keep a file for a message that is about to be sent."""
        channel = conversation_or_404(conversation_id)
        values = body("Upload")
        try:
            content = base64.b64decode(values["data"], validate=True)
        except (binascii.Error, ValueError) as error:
            raise ApiError.invalid("data", "The field “data” must be base64.") from error
        channel._check_room(content)

        def keep(env, reading):
            own = env["discuss.channel"].browse(conversation_id)._own_conversation()
            if not own:
                raise NotThere(env._("This conversation does not exist."))
            (file,) = own._attach_content(values["name"], content, reading=reading)._ai_file_data()
            return file

        return self._kept(values["name"], content, keep)

    @http.route(
        "/api/ai/attachments", methods=["POST"], max_body=MAX_FORM, takes_form=True, **ROUTE
    )
    def upload(self):
        """Keep a file that the caller is about to send, in whichever conversation; it is read at once."""
        file = request.httprequest.files.get("file")
        if file is None:
            raise ApiError.invalid("file", "The form must have a file called “file”.")
        name, content = file.filename or "", file.read(files.MAX_BYTES + 1)
        request.env["discuss.channel"]._check_room(content)

        def keep(env, reading):
            return env["discuss.channel"]._attach_unsent(name, content, reading)._ai_unsent_data()

        return self._kept(name, content, keep)

    def _kept(self, name, content, keep):
        """A response of 201, after the file was read without a transaction, and kept in one of its own.

        :param content: bytes of a checked length
        :param keep: ``keep(env, reading)`` keeps the file with the caller's rights, and returns its data
        """
        env = request.env
        dbname, uid, lang = env.cr.dbname, env.uid, env.lang

        def work():
            reading = files.read(name, content, (dbname, uid))

            def kept(env):
                return keep(env(user=uid, su=False, context={"lang": lang}), reading)

            return db.transaction(dbname, kept), 201

        return AfterCommit(env, work)

    @http.route("/api/ai/attachments/<int:attachment_id>", **READ)
    def attachment(self, attachment_id):
        """A file of the caller's own conversation or folder; only pictures are shown, the rest is downloaded."""
        # sudo: ir.attachment - portal users have no access to the model; its conversation or folder decides
        attachment = request.env["ir.attachment"].sudo().browse(attachment_id).exists()
        if attachment.res_model == FOLDER and attachment.res_id:
            folder_or_404(attachment.res_id)
        elif attachment not in self._unsent():
            if attachment.res_model != "discuss.channel" or not attachment.res_id:
                raise self._not_found()
            conversation_or_404(attachment.res_id)
        stream = request.env["ir.binary"]._get_stream_from(attachment)
        return stream.get_response(as_attachment=attachment.mimetype not in files.PICTURES)

    @http.route("/api/ai/attachments/<int:attachment_id>", methods=["DELETE"], **ROUTE)
    def discard(self, attachment_id):
        """Take back a file that was not sent."""
        file = self._unsent().filtered(lambda file: file.id == attachment_id)
        if not file:
            raise self._not_found()
        file.unlink()
        return request.make_response("", status=204)

    def _unsent(self):
        return request.env["ir.attachment"]._ai_unsent(request.env.user)

    def _not_found(self):
        return ApiError.not_found(request.env._("This file does not exist."))

    @http.route("/api/ai/assistants/<int:assistant_id>/records", **READ)
    def records(self, assistant_id):
        """Odoo records that a question to this assistant can attach, by a part of their names."""
        assistant = assistant_or_404(assistant_id)
        words, companies = query_text("q"), active_companies()
        found = mentions.search(request.env.user, assistant, words, companies)
        return {"records": found}
