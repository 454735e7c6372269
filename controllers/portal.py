import re

from odoo import http
from odoo.addons.portal.controllers.portal import CustomerPortal
from odoo.http import request


class AiPortal(CustomerPortal):
    @http.route(
        ["/my/ai", "/my/ai/<int:conversation_id>"],
        type="http",
        auth="user",
        methods=["GET"],
        readonly=True,
    )
    def portal_my_ai(self, conversation_id=None, assistant_id=None, cloud_service_id=None, **_kw):
        if conversation_id:
            channel = request.env["discuss.channel"].browse(conversation_id)
            if not channel._own_conversation():
                return request.redirect("/my/ai")
        props = {"conversationId": conversation_id or False}
        if assistant_id and re.fullmatch("[0-9]{1,9}", assistant_id):
            props["newChat"] = {"assistant_id": int(assistant_id)}
            if cloud_service_id and re.fullmatch("[0-9]{1,9}", cloud_service_id):
                props["newChat"]["cloud_service_id"] = int(cloud_service_id)
        values = {"page_name": "ai", "conversation_id": conversation_id, "props": props}
        return request.render("woow_paas_platform.portal_my_ai", values)
