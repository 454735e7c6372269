"""Attachments of conversations: files that people attach or tools send."""

from odoo import http
from odoo.http import request

from ..runtime.web.api_error import ApiError
from ..services.llm import files
from .chat import ROUTE, conversation_or_404
from .dispatcher import body

MAX_UPLOAD = files.MAX_BYTES * 4 // 3 + 4096  # bytes of a JSON body that carries a file as base64


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
        (file,) = channel._attach(values["name"], values["data"])._ai_file_data()
        return request.make_json_response(file, status=201)

    @http.route("/api/ai/attachments/<int:attachment_id>", methods=["GET"], readonly=True, **ROUTE)
    def attachment(self, attachment_id):
        """A file of the caller's own conversation; only pictures are shown, the rest is downloaded."""
        # sudo: ir.attachment - portal users have no access to the model; its conversation decides
        attachment = request.env["ir.attachment"].sudo().browse(attachment_id).exists()
        if attachment.res_model != "discuss.channel" or not attachment.res_id:
            raise ApiError.not_found(request.env._("This file does not exist."))
        conversation_or_404(attachment.res_id)
        stream = request.env["ir.binary"]._get_stream_from(attachment)
        return stream.get_response(as_attachment=attachment.mimetype not in files.PICTURES)
