from decimal import Decimal

from odoo import api, fields, models
from odoo.tools import SQL

from ...services.money import budgets

ADMIN = "woow_paas_platform.group_admin"
KEPT_DAYS = 400  # after the end of a period: more than a year to look back on
GC_BATCH = 1_000  # rows that one sweep deletes


class BudgetPeriod(models.Model):
    """Counter of a budget in one of its periods; of a budget for each user, one a user.

    The row is changed by single statements, so that what two requests count at once is counted twice."""

    _name = "woow_paas_platform.budget_period"
    _description = "Period of a Budget"
    _order = "starts_at desc, id desc"
    _rec_name = "starts_at"
    _log_access = False

    budget_id = fields.Many2one(
        "woow_paas_platform.budget", required=True, readonly=True, ondelete="cascade", index=True
    )
    user_id = fields.Many2one(
        "res.users", readonly=True, ondelete="cascade", index="btree_not_null"
    )
    starts_at = fields.Datetime("From", required=True, readonly=True)
    ends_at = fields.Datetime("Until", required=True, readonly=True)
    spent = fields.Float(digits=(20, 9), readonly=True)
    reserved = fields.Float(
        digits=(20, 9), readonly=True, help="Expected of requests that have not ended."
    )
    told = fields.Integer(
        readonly=True, aggregator=None, help="Percentage of which the budget's owner was last told."
    )
    percent = fields.Integer("Used (%)", compute="_compute_percent")

    _period_unique = models.UniqueIndex(
        "(budget_id, COALESCE(user_id, 0), starts_at)", "This period is counted already."
    )

    _ended = models.Index("(ends_at)")

    @api.depends("spent", "budget_id.limit")
    def _compute_percent(self):
        for period in self:
            limit = period.budget_id.limit
            period.percent = min(100, int(period.spent * 100 / limit)) if limit else 0

    @api.autovacuum
    def _gc_ended(self):
        old = fields.Datetime.subtract(fields.Datetime.now(), days=KEPT_DAYS)
        gone = self.search([("ends_at", "<", old)], limit=GC_BATCH)
        gone.unlink()
        return len(gone), len(gone) == GC_BATCH

    @api.model
    def _hold(self, rule, user_id, moment, share, *, is_hard):
        """Reserve a share of the period in which a moment lies.

        :param rule: `services.money.budgets.Rule`
        :param user_id: of whom it counts, None for all
        :param is_hard: refuse where nothing is left
        :return: id of the row; None if it is refused
        """
        start, stop = budgets.period_of(moment, rule.unit, rule.tz)
        found = self.env.execute_query(
            SQL(
                """
                INSERT INTO woow_paas_platform_budget_period AS period
                            (budget_id, user_id, starts_at, ends_at, spent, reserved, told)
                     VALUES (%(budget)s, %(user)s, %(start)s, %(stop)s, 0, %(share)s, 0)
                ON CONFLICT (budget_id, COALESCE(user_id, 0), starts_at) DO UPDATE
                        SET reserved = period.reserved + %(share)s
                      WHERE NOT %(hard)s OR period.spent + period.reserved < %(limit)s
                  RETURNING id
                """,
                budget=rule.id,
                user=user_id,
                start=start,
                stop=stop,
                share=share,
                hard=is_hard,
                limit=rule.limit,
            )
        )
        self.invalidate_model(flush=False)
        return found[0][0] if found else None

    @api.model
    def _count(self, period_id, held, share):
        """Put what a request has cost in place of what was reserved for it."""
        found = self.env.execute_query(
            SQL(
                """
                UPDATE woow_paas_platform_budget_period
                   SET reserved = reserved - %(held)s, spent = spent + %(share)s
                 WHERE id = %(id)s
             RETURNING spent::text, told
                """,
                id=period_id,
                held=held,
                share=share,
            )
        )
        self.invalidate_model(flush=False)
        for spent, told in found:  # none where the budget was deleted meanwhile
            period = self.browse(period_id)
            level = budgets.level(Decimal(spent), Decimal(str(period.budget_id.limit)))
            if level > told:
                period._tell(level)

    def _tell(self, level):
        """Tell the budget's owner, once for each level of a period: the row is locked."""
        self.env.execute_query(
            SQL(
                "UPDATE woow_paas_platform_budget_period SET told = %s WHERE id = %s RETURNING id",
                level,
                self.id,
            )
        )
        self.invalidate_recordset(["told"])
        self.budget_id._tell_owner(level, self)
