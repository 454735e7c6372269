from odoo import http
from odoo.addons.portal.controllers.portal import CustomerPortal
from odoo.http import request

from ..portal import FORM, PAGE

SWITCHES = ("notify", "digest")


class NotificationsPortal(CustomerPortal):
    """Ways in which a person is told of answers and decisions."""

    @http.route("/my/ai/notifications", **PAGE)
    def portal_my_ai_notifications(self, **_kw):
        preferences = request.env.user._woow_ai_preferences()
        values = {"page_name": "ai_settings", "preferences": preferences}
        return request.render("woow_paas_platform.portal_my_ai_notifications", values)

    @http.route("/my/ai/notifications", **FORM)
    def switch_notifications(self, name="", is_on="", **_form):
        if name in SWITCHES:
            request.env.user._set_woow_ai_preferences(**{name: is_on == "1"})
        return request.redirect("/my/ai/notifications", code=303)
