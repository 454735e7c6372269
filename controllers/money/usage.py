"""Usage: what a person has used and has left, and what a workspace has used in some days."""

import csv
import io
from datetime import date

from odoo import http
from odoo.addons.portal.controllers.portal import CustomerPortal
from odoo.http import request

from ...runtime.web.api_error import ApiError
from ..chat import READ
from ..portal import PAGE

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


def _day(name):
    """A day of the query string, required."""
    try:
        return date.fromisoformat(request.httprequest.args.get(name, ""))
    except ValueError as error:
        raise ApiError(
            400, "invalid_parameter", f"\u201c{name}\u201d must be a day, such as 2026-11-30."
        ) from error


class UsageController(http.Controller):
    @http.route("/api/ai/usage", **READ)
    def usage(self):
        """Budgets of the caller, and what the caller has used this month."""
        return request.env[BUDGET]._usage()

    @http.route("/api/ai/workspaces/<int:workspace_id>/usage", **READ)
    def workspace_usage(self, workspace_id):
        """Lines by service and assistant, for an invoice; the same days give the same lines."""
        found = request.env[BUDGET]._usage_of_workspace(workspace_id, _day("from"), _day("to"))
        if request.httprequest.args.get("format") != "csv":
            return found
        sheet = io.StringIO()
        rows = csv.DictWriter(sheet, COLUMNS, extrasaction="ignore")
        rows.writeheader()
        for line in found["lines"]:
            names = {key: (line[key] or {}).get("name", "") for key in ("service", "assistant")}
            # A name that begins like a formula would be one in a spreadsheet.
            safe = {
                key: f"'{name}" if name[:1] in "=+-@\t\r" and name else name
                for key, name in names.items()
            }
            rows.writerow(line | safe)
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
