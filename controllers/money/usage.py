"""Usage: what a person has used and has left, and what a workspace has used in some days."""

import csv
import io
from datetime import date

from odoo import http
from odoo.addons.portal.controllers.portal import CustomerPortal
from odoo.exceptions import UserError
from odoo.http import request

from ...services import text
from ...tools.refusals import NotThere
from ..chat import READ
from ..dispatcher import query_day, query_int
from ..portal import FORM, PAGE
from ..portal_services import GONE, readable_service, render_service

BUDGET = "woow_paas_platform.budget"
COLUMNS = (
    "service",
    "assistant",
    "requests",
    "input_tokens",
    "output_tokens",
    "amount",
    "currency",
)


class UsageController(http.Controller):
    @http.route("/api/ai/usage", **READ)
    def usage(self):
        """Budgets of the caller, and what the caller has used this month."""
        return request.env[BUDGET]._usage()

    @http.route("/api/ai/workspaces/<int:workspace_id>/usage", **READ)
    def workspace_usage(self, workspace_id):
        """Lines by service and assistant, for an invoice; the same days give the same lines."""
        found = request.env[BUDGET]._usage_of_workspace(
            workspace_id, query_day("from"), query_day("to"), query_int("cloud_service_id")
        )
        if request.httprequest.args.get("format") != "csv":
            return found
        sheet = io.StringIO()
        rows = csv.DictWriter(sheet, COLUMNS, extrasaction="ignore")
        rows.writeheader()
        for line in found["lines"]:
            names = {key: (line[key] or {}).get("name", "") for key in ("service", "assistant")}
            rows.writerow(line | {key: text.csv_cell(name) for key, name in names.items()})
        name = f"usage-{workspace_id}-{found['from']}-{found['to']}.csv"
        return request.make_response(
            sheet.getvalue().encode("utf-8-sig"),
            headers=[
                ("Content-Type", "text/csv; charset=utf-8"),
                ("Content-Disposition", http.content_disposition(name)),
            ],
        )


class UsagePortal(CustomerPortal):
    @http.route("/my/ai/usage", **PAGE)
    def portal_my_ai_usage(self, **_kw):
        values = {"page_name": "ai_settings", "usage": request.env[BUDGET]._usage_in_words()}
        return request.render("woow_paas_platform.portal_my_ai_usage", values)

    @http.route("/my/services/<int:service_id>/usage", **PAGE)
    def portal_my_service_usage(self, service_id, month="", of="", gone=None, **_kw):
        return self._service_usage(service_id, month, of, is_gone=bool(gone))

    def _service_usage(self, service_id, month="", of="", **values):
        service = readable_service(service_id)
        try:
            first = date.fromisoformat(f"{month}-01")
        except ValueError:
            first = date.today()
        try:
            usage = request.env[BUDGET]._usage_of_service(
                service_id, first, is_whole=of == "workspace"
            )
        except NotThere:
            return request.redirect(f"/my/services/{service.id}?gone=1" if service else GONE)
        # sudo: res.company - the currency in which the caller's budgets are
        currency = request.env.user.company_id.sudo().currency_id.name
        return render_service(
            "portal_my_service_usage", service, usage=usage, currency=currency, **values
        )

    @http.route("/my/services/<int:service_id>/budgets", **FORM)
    def make_budget(self, service_id, **form):
        return self._change_budgets(
            service_id, lambda budgets: budgets._make_of_service(service_id, form), typed=form
        )

    @http.route("/my/services/<int:service_id>/budgets/<int:budget_id>", **FORM)
    def change_budget(self, service_id, budget_id, **form):
        return self._change_budgets(
            service_id, lambda budgets: budgets._change_of_service(service_id, budget_id, form)
        )

    @http.route("/my/services/<int:service_id>/budgets/<int:budget_id>/archive", **FORM)
    def archive_budget(self, service_id, budget_id, **_form):
        return self._change_budgets(
            service_id, lambda budgets: budgets._archive_of_service(service_id, budget_id)
        )

    def _change_budgets(self, service_id, change, **values):
        """The page once more; where the change is refused with the reason and what was typed, as 422."""
        path = f"/my/services/{service_id}/usage"
        try:
            change(request.env[BUDGET])
        except NotThere:
            return request.redirect(f"{path}?gone=1")
        except UserError as error:
            page = self._service_usage(service_id, problem=str(error), **values)
            page.status_code = 422
            return page
        return request.redirect(f"{path}#budgets")
