from markupsafe import Markup
from odoo import api, fields, models

from ..models.automation.webhook import KEPT_DAYS
from ..tools import limits

CLEANING = "woow_paas_platform.ir_cron_retention"
SEALING = "woow_paas_platform.ir_cron_audit"
VACUUM = "base.autovacuum_job"


class Retention(models.TransientModel):
    """Preview of retention: each kind of data with its days, and how much of it would go today."""

    _name = "woow_paas_platform.retention"
    _description = "Data Retention"

    preview = fields.Html(compute="_compute_preview", sanitize=False)

    @api.model
    def _kinds(self):
        """:return: ``[(name, days it is kept or 0, rows that go today or None, XML id of the cron)]``"""
        _, get = self.env._, lambda name: limits.get(self.env, name)
        results = get("result_retention_days")
        turns, runs = self._rows("ai_turn"), self._rows("ai_run")
        deliveries = self._rows("webhook_delivery")
        return [
            (
                _("Conversations of people that are not used, with files and ratings"),
                get("conversation_retention_days"),
                turns._count_due("unused"),
                CLEANING,
            ),
            (
                _("Conversations of programs and runs, with files"),
                results,
                turns._count_due("unlisted"),
                CLEANING,
            ),
            (
                _("Events of turns"),
                get("event_retention_days"),
                turns._count_due("events"),
                CLEANING,
            ),
            (
                _("Results of tool calls"),
                results,
                turns._count_due("results"),
                CLEANING,
            ),
            (
                _("Tool calls, which become sums"),
                get("call_retention_days"),
                self._rows("tool_call_sum")._count_due(),
                CLEANING,
            ),
            (
                _("Costs, which become sums"),
                get("cost_retention_days"),
                self._rows("cost")._count_due(),
                VACUUM,
            ),
            (_("Runs, with mails"), results, runs.search_count(runs._due_domain()), VACUUM),
            (
                _("Messages of webhooks"),
                KEPT_DAYS,
                deliveries.search_count(deliveries._due_domain()),
                VACUUM,
            ),
            (
                _("Runs of tests, with results"),
                results,
                len(self._rows("assistant_test_run")._due()),
                VACUUM,
            ),
            (_("Recordings of tests, which go with the test"), 0, 0, None),
            (
                _("Entries of the audit log, by whole days"),
                get("audit_retention_days"),
                self._rows("audit_checkpoint")._count_due(),
                SEALING,
            ),
        ]

    @api.model
    def _rows(self, model):
        # sudo: each model - numbers only, for administrators of Odoo
        return self.env[f"woow_paas_platform.{model}"].sudo()

    def _compute_preview(self):
        _ = self.env._
        row = Markup(
            "<tr><td>%s</td><td class='text-end'>%s</td><td class='text-end'>%s</td><td>%s</td></tr>"
        )
        head = Markup(
            "<tr><th>%s</th><th class='text-end'>%s</th><th class='text-end'>%s</th><th>%s</th></tr>"
        ) % (_("Data"), _("Kept (days)"), _("Goes today"), _("Deleted by"))
        kinds = Markup("").join(
            row
            % (
                name,
                days or _("for good"),
                count,
                # sudo: ir.cron - the name of a cron
                self.env.ref(cron).sudo().name if cron and self.env.ref(cron, False) else "",
            )
            for name, days, count, cron in self._kinds()
        )
        table = Markup(
            "<div class='table-responsive'><table class='table table-sm'>"
            "<thead>%s</thead><tbody>%s</tbody></table></div>"
        )
        self.preview = table % (head, kinds)
