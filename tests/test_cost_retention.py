"""Old costs become daily sums, and no total changes."""

from datetime import datetime

from odoo.exceptions import ValidationError
from odoo.tests import tagged
from odoo.tools import SQL

from ..models.governance.cost import FOLDED
from .test_costs import CostCase

COST = "woow_paas_platform.cost"
TURNS = 20_000
DAYS = 60

# A year of requests would look like these: people, assistants, prices and flags change from row to row.
MADE = """
    INSERT INTO woow_paas_platform_cost (
           key, date, kind, is_retry, is_fallback, user_id, assistant_id, company_id, config_id, provider_name, model,
           step, tool_names, request_count, input_tokens, cached_tokens, output_tokens, amount, currency_id,
           company_amount, has_no_price, state, is_estimated)
    SELECT 'made-' || n, now() AT TIME ZONE 'UTC' - (n %% %(days)s + 100) * interval '1 day' + n * interval '7 s',
           CASE n %% 5 WHEN 0 THEN 'summary' WHEN 1 THEN 'test' ELSE 'answer' END, n %% 50 = 0, FALSE,
           CASE WHEN n %% 3 > 0 THEN (%(users)s::int[])[n %% 3] END, %(assistant)s, %(company)s, %(config)s, 'Test',
           CASE n %% 2 WHEN 0 THEN 'acme-1' ELSE 'acme-2' END, n %% 4, 'search', 1, n * 37 %% 9001, n %% 100,
           n * 17 %% 811, (n * 7919 %% 100003) * 0.000000001, %(currency)s, (n * 104729 %% 1000003) * 0.000000001,
           n %% 97 = 0, CASE WHEN n %% 1000 = 7 THEN 'reserved' ELSE 'settled' END, n %% 31 = 0
      FROM generate_series(1, %(count)s) n
"""
LEDGER = """
    SELECT date::date::text, kind, user_id, model, is_retry, has_no_price, is_estimated, state,
           SUM(request_count)::text, SUM(input_tokens)::text, SUM(cached_tokens)::text, SUM(output_tokens)::text,
           SUM(amount)::text, SUM(company_amount)::text
      FROM woow_paas_platform_cost GROUP BY 1, 2, 3, 4, 5, 6, 7, 8 ORDER BY 1, 2, 3, 4, 5, 6, 7, 8
"""


@tagged("post_install", "-at_install")
class TestCostRetention(CostCase):
    def _make(self, count):
        self.env.flush_all()
        self.env.cr.execute(
            SQL(
                MADE,
                days=DAYS,
                users=[self.member.id, self.owner.id],
                assistant=self.assistant.id,
                company=self.env.company.id,
                config=self.provider.id,
                currency=self.dollar.id,
                count=count,
            )
        )

    def _keep(self, days):
        settings = self.env["res.config.settings"].with_user(self.env.ref("base.user_admin"))
        settings.create({"woow_cost_retention_days": days}).execute()

    def _ledger(self):
        self.env.cr.execute(LEDGER)
        return self.env.cr.fetchall()

    def _count(self, *domain):
        return self.Cost.search_count(list(domain))

    def test_the_ledger_stays_the_same_to_nine_places(self):
        self._make(TURNS)
        before, rows = self._ledger(), self._count()
        shown = self.Cost._read_group([], ["user_id", "model"], ["company_amount:sum"])
        self.assertEqual(self.Cost._fold(FOLDED), 0, "off by default")
        self._keep(90)
        due = self.Cost._count_due()
        self.assertEqual(due, TURNS - TURNS // 1000, "what is reserved waits")
        kinds = self.env["woow_paas_platform.retention"].create({})._kinds()
        self.assertIn(("Costs, which become sums", 90, due), [kind[:3] for kind in kinds])
        self.assertEqual(self.Cost._gc_old(), (FOLDED, True))
        self.assertEqual(self._ledger(), before, "in the middle")
        with self.assertRaises(RuntimeError), self.env.cr.savepoint():
            self.Cost._gc_old()
            raise RuntimeError("the process died before its commit")
        while self.Cost._gc_old()[1]:
            pass
        self.assertEqual(self._ledger(), before)
        self.assertEqual(self.Cost._count_due(), 0)
        self.assertLess(self._count(), rows / 10)
        self.assertEqual(
            self.Cost._read_group([], ["user_id", "model"], ["company_amount:sum"]), shown
        )
        (sums,) = self.Cost._read_group([("is_sum", "=", True)], [], ["request_count:sum"])[0]
        self.assertEqual(sums, due)

    def test_a_day_has_one_row_of_a_kind_and_takes_what_comes_late(self):
        self._keep(30)
        for number in range(3):
            cost = self._request(f"r{number}", date=datetime(2026, 1, 2, 23), step=number)
            if number < 2:
                cost._settle({"input_tokens": 2**31 - 1}, [f"tool{number}"])
        self.assertEqual(self.Cost._fold(1), 1)
        self.assertEqual(self.Cost._fold(9), 1)
        cost._settle({"input_tokens": 1})
        self.assertEqual(self.Cost._fold(9), 1)
        self.assertEqual(self.Cost._fold(9), 0)
        total = self.Cost.search([("config_id", "=", self.provider.id)])
        self.assertEqual((total.is_sum, total.request_count), (True, 3))
        self.assertEqual(total.input_tokens, 2**32 - 1, "more than 32 bits")
        self.assertEqual(str(total.date), "2026-01-02 12:00:00")
        self.assertEqual((total.step, total.tool_names, total.state), (0, False, "settled"))

    def test_what_is_young_stays(self):
        self._keep(30)
        self._request(date=False)._settle({"input_tokens": 1})
        self.assertEqual(self.Cost._fold(9), 0)
        self._keep(0)
        self.assertIsNone(self.Cost._old() or None)
        with self.assertRaises(ValidationError):
            self._keep(-1)
