from odoo import http
from odoo.addons.portal.controllers.portal import CustomerPortal
from odoo.http import request

from ..portal import FORM, PAGE

DATA = "woow_paas_platform.personal_data"


class PersonalDataPortal(CustomerPortal):
    """Export of a person's own data; administrators download those of others that they have asked for."""

    @http.route("/my/ai/data", **PAGE)
    def portal_my_ai_data(self, gone=None, **_kw):
        values = {
            "page_name": "ai_settings",
            "export": request.env[DATA]._last("export", request.env.user),
            "is_gone": bool(gone),
        }
        return request.render("woow_paas_platform.portal_my_ai_data", values)

    @http.route("/my/ai/data", **FORM)
    def prepare_my_ai_data(self, **_form):
        request.env[DATA]._request("export", request.env.user)
        return request.redirect("/my/ai/data", code=303)

    @http.route("/my/ai/data/file", **PAGE)
    def my_ai_data_file(self, user_id=None, **_kw):
        """The file of the latest export that the current user has asked for."""
        number = (
            int(user_id)
            if user_id and user_id.isdecimal() and len(user_id) < 10
            else request.env.uid
        )
        export = request.env[DATA]._last("export", request.env["res.users"].browse(number))
        file = export and export._file()
        if not file:
            return request.redirect("/my/ai/data?gone=1")
        response = file._to_http_stream().get_response(as_attachment=True)
        response.headers["Cache-Control"] = "no-store"
        return response
