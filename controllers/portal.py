import re

from odoo import http
from odoo.addons.http_routing.controllers.main import Routing
from odoo.addons.portal.controllers.portal import CustomerPortal, pager
from odoo.exceptions import UserError
from odoo.http import request

from ..tools.refusals import Refusal, TooLate
from .dispatcher import writes_nothing

# Of every page here: with website installed, a page that is not the website's own breaks its layout.
PAGE = {
    "type": "http",
    "auth": "user",
    "website": True,
    "methods": ["GET"],
    "readonly": writes_nothing,
}
FORM = {**PAGE, "methods": ["POST"], "readonly": False}
RUN = "woow_paas_platform.ai_run"


class AiPortal(CustomerPortal):
    @http.route(["/my/ai", "/my/ai/<int:conversation_id>"], **PAGE)
    def portal_my_ai(
        self, conversation_id=None, assistant_id=None, cloud_service_id=None, gone=None, **_kw
    ):
        if conversation_id:
            channel = request.env["discuss.channel"].browse(conversation_id)
            if not channel._own_conversation():
                return request.redirect("/my/ai?gone=1")
        props = {"conversationId": conversation_id or False}
        given = {"assistant_id": assistant_id, "cloud_service_id": cloud_service_id}
        chosen = {
            name: int(text)
            for name, text in given.items()
            if re.fullmatch("[0-9]{1,9}", text or "")
        }
        if chosen:
            props["newChat"] = chosen
        values = {"page_name": "ai", "props": props, "is_gone": bool(gone)}
        return request.render("woow_paas_platform.portal_my_ai", values)

    @http.route("/my/ai/decisions", **PAGE)
    def portal_my_ai_decisions(self, **_kw):
        return request.render(
            "woow_paas_platform.portal_my_ai_decisions", {"page_name": "ai_decisions"}
        )

    @http.route("/my/ai/decisions/<string:token>", **PAGE)
    def portal_my_ai_decision_of_mail(self, token, **_kw):
        """Link of a mail, which opens the question for the user to whom it was sent."""
        try:
            path = request.env["woow_paas_platform.ai_turn"]._path_of_link(token)
        except Refusal as refusal:
            values = {"page_name": "ai_decisions", "problem": str(refusal)}
            page = request.render("woow_paas_platform.portal_my_ai_decision_of_mail", values)
            page.status_code = 410 if isinstance(refusal, TooLate) else 403
            return page
        return request.redirect(path)

    @http.route(["/my/ai/runs", "/my/ai/runs/page/<int:page>"], **PAGE)
    def portal_my_ai_runs(self, page=1, gone=None, **_kw):
        return self._runs(page, is_gone=bool(gone))

    def _runs(self, page=1, **values):
        own = [("user_id", "=", request.env.uid)]
        pages = pager(
            url="/my/ai/runs",
            total=request.env[RUN].search_count(own),
            page=page,
            step=self._items_per_page,
        )
        runs = request.env[RUN].search(own, limit=self._items_per_page, offset=pages["offset"])
        values.update(page_name="ai_runs", runs=runs, pager=pages)
        return request.render("woow_paas_platform.portal_my_ai_runs", values)

    @http.route("/my/ai/runs/<int:run_id>/stop", **FORM)
    def stop_run(self, run_id, **_form):
        return self._change_run(run_id, lambda run: run.action_stop())

    @http.route("/my/ai/runs/<int:run_id>/retry", **FORM)
    def retry_run(self, run_id, **_form):
        return self._change_run(run_id, lambda run: run.action_retry())

    def _change_run(self, run_id, change):
        """The page once more; where the change is refused with the reason, as 422."""
        run = request.env[RUN].search([("id", "=", run_id), ("user_id", "=", request.env.uid)])
        if not run:
            return request.redirect("/my/ai/runs?gone=1")
        try:
            change(run)
        except UserError as error:
            page = self._runs(problem=str(error))
            page.status_code = 422
            return page
        return request.redirect("/my/ai/runs")

    @http.route(
        ["/my/ai/translations", "/my/ai/translations/<string:lang>"], **{**PAGE, "multilang": False}
    )
    def portal_my_ai_translations(self, lang=None, hash=None, **_kw):
        """The words of the frontend and ours, which no other page loads.

        Browsers keep them by this address, so each language has one of its own.
        """
        return Routing().get_website_translations(hash, lang, mods="woow_paas_platform")
