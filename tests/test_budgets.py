import csv
import io
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from datetime import datetime, timedelta
from unittest.mock import patch

from odoo import fields, http
from odoo.exceptions import UserError, ValidationError
from odoo.modules.registry import DummyRLock, Registry
from odoo.tests import tagged
from odoo.tools import mute_logger
from psycopg2 import IntegrityError

from ..runtime.turns.store import OdooStore
from ..services.errors import BudgetExhausted
from ..services.specs import ModelRequest, TurnProgress
from ..tools import db
from ..tools.refusals import NotThere
from .common import AiHttpCase, TurnByHandCase
from .race_data import RaceCase
from .test_costs import CostCase

MILLION = 1_000_000


class BudgetCase(CostCase):
    """A model whose input costs 2 a million; nothing else costs anything."""

    @classmethod
    def _make_data(cls):
        super()._make_data()
        cls._price(output_price=0, cached_price=2)
        cls.Budget = cls.env["woow_paas_platform.budget"]
        cls.number = 0

    @classmethod
    def _budget(cls, limit, scope="company", **values):
        values = {"owner_id": cls.admin.id, "time_zone": "UTC"} | values
        return cls.Budget.create({"name": "All", "scope": scope, "limit": limit} | values)

    def _spend(self, amount=0.0, **values):
        """A request that is expected to cost this, and has not ended."""
        type(self).number += 1
        values = {
            "company_id": self.env.company.id,
            "user_id": self.member.id,
            "assistant_id": self.assistant.id,
            "input_tokens": int(amount * MILLION / 2),
            "date": datetime(2026, 11, 28, 12),
        } | values
        return self._request(f"b{self.number}", **values)

    def _end(self, cost, amount):
        cost._settle({"input_tokens": int(amount * MILLION / 2)})

    def _period(self, budget):
        period = budget.period_ids
        period.invalidate_recordset()
        return period and (period[0].spent, period[0].reserved)


@tagged("post_install", "-at_install")
class TestBudgets(BudgetCase):
    def test_a_request_is_reserved_then_counted(self):
        budget = self._budget(10)
        cost = self._spend(4)
        self.assertEqual(self._period(budget), (0, 4))
        self._end(cost, 3)
        self.assertEqual(self._period(budget), (3, 0))
        cost._settle({"input_tokens": MILLION})
        cost._give_up()
        self.assertEqual(self._period(budget), (3, 0), "once")

    def test_a_request_of_which_nobody_hears_counts_as_estimated(self):
        budget = self._budget(10)
        self._spend(4)._give_up()
        self.assertEqual(self._period(budget), (4, 0))

    def test_one_request_may_overshoot_then_none_is_made(self):
        budget = self._budget(10)
        self._end(self._spend(1), 9.5)
        last = self._spend(1)
        with (
            self.assertRaisesRegex(
                BudgetExhausted, r"“All” of 10.00 USD a month is used up.* 2026-12-01 00:00 \(UTC\)"
            ) as refused,
            self.env.cr.savepoint(),
        ):
            self._spend(0.1)
        self.assertEqual(refused.exception.code, "budget_exhausted")
        self._end(last, 1)
        self.assertEqual(self._period(budget), (10.5, 0))

    def test_a_refused_request_reserves_in_no_budget(self):
        first, second = self._budget(10), self._budget(1, "user", user_id=self.member.id)
        self._end(self._spend(1), 1)
        with self.assertRaises(BudgetExhausted), self.env.cr.savepoint():
            self._spend(1)
        self.assertEqual(self._period(first), (1, 0))
        self.assertEqual(self._period(second), (1, 0))

    def test_each_scope_counts_its_own(self):
        scopes = {
            "workspace": {"workspace_id": self.workspace.id},
            "service": {"cloud_service_id": self.service.id},
            "user": {"user_id": self.member.id},
            "assistant": {"assistant_id": self.assistant.id},
            "company": {},
        }
        made = {scope: self._budget(9, scope, **target) for scope, target in scopes.items()}
        self._spend(1)
        self._spend(2, user_id=self.owner.id, cloud_service_id=self.service.id)
        self._spend(4, assistant_id=False)
        seen = {scope: self._period(budget)[1] for scope, budget in made.items()}
        expected = {"workspace": 2, "service": 2, "user": 5, "assistant": 3, "company": 7}
        self.assertEqual(seen, expected)

    def test_a_budget_for_each_user_stops_one_of_them(self):
        budget = self._budget(3, "each_user")
        self._end(self._spend(1), 3)
        self._end(self._spend(1, user_id=self.owner.id), 1)
        with self.assertRaises(BudgetExhausted), self.env.cr.savepoint():
            self._spend(1)
        self._spend(1, user_id=self.owner.id)
        self.assertEqual(sorted(budget.period_ids.mapped("spent")), [1, 3])

    def test_tokens_are_counted(self):
        budget = self._budget(1000, measure="tokens")
        self._spend(0, input_tokens=400, output_limit=100)._settle({"output_tokens": 1000})
        with self.assertRaisesRegex(BudgetExhausted, "1,000 tokens"), self.env.cr.savepoint():
            self._spend(0)
        self.assertEqual(self._period(budget), (1000, 0))

    def test_the_next_period_begins_with_nothing_spent(self):
        budget = self._budget(5, unit="day", time_zone="Asia/Taipei")
        self._end(self._spend(5), 5)
        with self.assertRaises(BudgetExhausted), self.env.cr.savepoint():
            self._spend(1, date=datetime(2026, 11, 28, 15, 59))
        late = self._spend(1, date=datetime(2026, 11, 28, 16))
        self._end(late, 2)
        self.assertEqual(budget.period_ids.mapped("spent"), [2, 5])

    def test_only_the_current_period_counts_as_spent_and_old_ones_are_deleted(self):
        budget, other = self._budget(5, unit="day"), self._budget(5)
        Period, now = self.env["woow_paas_platform.budget_period"], fields.Datetime.now()
        for days, spent in ((0, 1), (2, 2), (402, 3)):
            start = now - timedelta(days=days, hours=1)
            stop = start + timedelta(days=1)
            values = {"budget_id": budget.id, "starts_at": start, "ends_at": stop}
            Period.create({**values, "spent": spent})
        self.assertEqual((budget | other).mapped("left"), [4, 5])
        self.assertEqual(Period._gc_ended(), (1, False))
        self.assertEqual(budget.period_ids.mapped("spent"), [1, 2])

    def test_a_soft_budget_only_tells(self):
        budget = self._budget(1, is_hard=False)
        self._end(self._spend(1), 5)
        self._spend(1)
        self.assertEqual(budget.period_ids.told, 100)

    def test_its_owner_hears_once_of_each_level(self):
        self._budget(100)
        told = []

        def tell(_user, subject, _sentence, _path):
            told.append(subject)

        with patch.object(type(self.env["res.users"]), "_woow_ai_mail", tell):
            for amount in (74, 1, 1, 20, 5):
                self._end(self._spend(), amount)
        self.assertEqual(
            told,
            [f"Budget “All”: {level} % used" for level in (75, 90, 100)],
        )

    def test_the_mail_says_what_is_used_and_until_when(self):
        self._budget(10)
        self._end(self._spend(0), 8)
        mail = self.env["mail.message"].search(
            [("partner_ids", "=", self.admin.partner_id.id)], limit=1
        )
        self.assertEqual(mail.subject, "Budget “All”: 75 % used")
        self.assertIn("80 % of the budget “All” is used.", mail.body)

    def test_an_archived_or_raised_budget_counts_at_once(self):
        budget = self._budget(1)
        self._end(self._spend(1), 1)
        with self.assertRaises(BudgetExhausted), self.env.cr.savepoint():
            self._spend(1)
        budget.limit = 2
        self._end(self._spend(1), 1)
        with self.assertRaises(BudgetExhausted), self.env.cr.savepoint():
            self._spend(1)
        budget.active = False
        self._spend(1)

    def test_a_deleted_budget_leaves_requests_that_run_alone(self):
        budget = self._budget(1)
        cost = self._spend(1)
        budget.unlink()
        self._end(cost, 1)
        self.assertEqual(cost.state, "settled")

    def test_what_was_read_before_the_commit_is_read_again_after_it(self):
        self._budget(10)
        with patch.object(type(self.Budget), "search", return_value=self.Budget) as read:
            for _commit in range(2):
                self.Budget._rules()
                self.env.cr.postcommit.run()
        self.assertEqual(read.call_count, 2)

    def test_an_archived_budget_tells_nobody_of_requests_that_run(self):
        budget = self._budget(1)
        cost = self._spend(1)
        budget.active = False
        self._end(cost, 1)
        self.assertEqual((cost.state, self._period(budget)), ("settled", (1, 0)))

    def test_another_currency_is_converted(self):
        euro = self.env.ref("base.EUR")
        euro.active = True
        self.env["res.currency.rate"].create(
            {
                "name": "2026-11-01",
                "rate": 0.5,
                "currency_id": euro.id,
                "company_id": self.env.company.id,
            }
        )
        company = self.env["res.company"].create({"name": "Branch", "currency_id": euro.id})
        budget = self._budget(5, "assistant", assistant_id=self.assistant.id, company_id=company.id)
        self._end(self._spend(2), 2)
        self.assertEqual(self._period(budget), (1, 0))

    def test_without_a_budget_nothing_is_asked(self):
        self.Budget._rules()
        cost = self._spend(1)
        with self.assertQueryCount(0):
            self.Budget._hold(cost)
            self.Budget._count(cost)

    def test_bad_budgets_are_refused(self):
        with self.assertRaises(ValidationError):
            self._budget(1, "workspace")
        with self.assertRaises(IntegrityError), mute_logger("odoo.sql_db"), self.env.cr.savepoint():
            self._budget(0)
        budget = self._budget(1)
        for values in ({"unit": "day"}, {"measure": "tokens"}, {"time_zone": "Asia/Taipei"}):
            with self.assertRaises(UserError):
                budget.write(values)
        budget.write({"unit": "month", "limit": 7})
        other = self._budget(1, "user", user_id=self.member.id, workspace_id=self.workspace.id)
        self.assertFalse(other.workspace_id, "what the scope does not have")


@tagged("post_install", "-at_install")
class TestBudgetsAtOnce(RaceCase):
    """Fifty requests over as many connections, for budgets of which ten fit into each."""

    @classmethod
    def _make(cls, env):
        super()._make(env)
        company = env.company.id
        budgets = env["woow_paas_platform.budget"].create(
            [
                {"name": name, "measure": "tokens", "time_zone": "UTC", **target, "limit": limit}
                for name, target, limit in (
                    ("A", {"scope": "user", "user_id": cls.uid}, 10_000),
                    ("B", {"scope": "assistant", "assistant_id": cls.assistant_id}, 20_000),
                )
            ]
        )
        cls.company_id, cls.budget_ids = company, budgets.ids
        cls.made[:0] = budgets

    @classmethod
    def _unmake(cls):
        with cls._transaction() as env:
            env["woow_paas_platform.cost"].search([("user_id", "=", cls.uid)]).unlink()
        super()._unmake()

    def _reserve(self, number):
        def work(env):
            return (
                env["woow_paas_platform.cost"]
                ._reserve(
                    {
                        "key": f"race{number}",
                        "kind": "test",
                        "config_id": False,
                        "model": "m",
                        "output_limit": 0,
                        "user_id": self.uid,
                        "assistant_id": self.assistant_id,
                        "company_id": self.company_id,
                        "input_tokens": 1000,
                    }
                )
                .id
            )

        try:
            return db.transaction(self.dbname, work)
        except BudgetExhausted:
            return None

    def test_fifty_at_once_spend_nothing_twice(self):
        self.patch(Registry, "_lock", DummyRLock())  # Odoo's runner holds it
        with ThreadPoolExecutor(50) as pool:
            made = list(filter(None, pool.map(self._reserve, range(50))))
        self.assertEqual(len(made), 10)
        with ThreadPoolExecutor(10) as pool:
            list(pool.map(self._settle, made))
        with self._transaction() as env:
            periods = env["woow_paas_platform.budget_period"].search(
                [("budget_id", "in", self.budget_ids)]
            )
            self.assertEqual(
                [(row.spent, row.reserved) for row in periods], [(12_000, 0), (12_000, 0)]
            )

    def _settle(self, cost_id):
        db.transaction(
            self.dbname,
            lambda env: (
                env["woow_paas_platform.cost"].browse(cost_id)._settle({"input_tokens": 1200})
            ),
        )


@tagged("post_install", "-at_install")
class TestBudgetsAtEntrances(AiHttpCase):
    """Nobody is asked a question for which nothing is left: HTTP 402, and the sentence."""

    def setUp(self):
        super().setUp()
        self.budget = self.env["woow_paas_platform.budget"].create(
            {
                "name": "Mine",
                "scope": "user",
                "user_id": self.member.id,
                "limit": 100,
                "time_zone": "UTC",
            }
            | {"measure": "tokens"}
        )
        self._sign_in(self.member)

    def _use(self, tokens, **more):
        vals = {
            "key": f"use{tokens}",
            "kind": "answer",
            "model": "m",
            "config_id": self.provider.id,
        }
        cost = self.env["woow_paas_platform.cost"]._reserve(
            {**vals, "user_id": self.member.id, "company_id": self.env.company.id, **more}
        )
        cost._settle({"output_tokens": tokens})
        self.env.flush_all()

    def _assert_used_up(self, answer):
        self.assertEqual(answer[0], 402, answer)
        self.assertEqual(answer[1]["error"]["code"], "budget_exhausted")
        self.assertIn("“Mine” of 100 tokens a month is used up", answer[1]["error"]["message"])

    def test_every_entrance_refuses_with_the_same_sentence(self):
        turn = self._ask(self.member)
        self._use(100)
        channel = turn.channel_id.id
        turn.sudo()._request_stop()
        path = f"/api/ai/conversations/{channel}/messages"
        self._assert_used_up(self._call("POST", path, {"content": "Hi", "client_token": "a"}))
        self._assert_used_up(self._call("POST", f"/api/ai/turns/{turn.id}/retry", {}))
        self._assert_used_up(self._call("POST", "/api/ai-reply", {"aiMessage": "Hi"}))
        headers = {"Authorization": f"Bearer {self._client_key(self.member)}"}
        body = {
            "model": f"assistant-{self.assistant.id}",
            "messages": [{"role": "user", "content": "Hi"}],
        }
        self._assert_used_up(self._call("POST", "/v1/chat/completions", body, headers))
        conversation = self._call("GET", f"/api/ai/conversations/{channel}")
        self.assertEqual(conversation[0], 200, "history stays")

    def test_a_turn_that_waits_in_line_fails_with_it(self):
        turn = self._ask(self.member).sudo()
        self._use(100)
        store = OdooStore(self.env.cr.dbname)
        (claim,) = store.claim("one", 1, 15.0)
        with self.assertRaises(BudgetExhausted) as refused:
            store.load(claim)
        self.assertEqual(refused.exception.code, "budget_exhausted")
        turn.transcript = {"started": True}
        self.env.flush_all()
        self.assertFalse(store.load(claim).request.spending.warning, "what was decided goes on")

    def test_the_end_is_told_before_it_comes(self):
        self.budget.is_saving = True
        self._ask(self.member)
        self._use(90)
        store = OdooStore(self.env.cr.dbname)
        (claim,) = store.claim("one", 1, 15.0)
        spending = store.load(claim).request.spending
        self.assertIn("90 % of the budget “Mine” is used.", spending.warning)
        self.assertTrue(spending.is_saving)

    # ------------------------------------------------------------ usage

    def test_people_see_what_is_left_and_of_shared_budgets_only_the_share(self):
        self.env["woow_paas_platform.budget"].create(
            [
                {"name": "Company", "limit": 1000, "measure": "tokens"},
                {
                    "name": "Acme",
                    "scope": "workspace",
                    "workspace_id": self.workspace.id,
                    "limit": 200,
                    "measure": "tokens",
                },
                {
                    "name": "Not theirs",
                    "scope": "workspace",
                    "workspace_id": self.other_workspace.id,
                    "limit": 1,
                },
            ]
        )
        self._use(50, cloud_service_id=self.service.id, assistant_id=self.assistant.id)
        usage = self._call("GET", "/api/ai/usage")[1]
        seen = {one["name"]: (one["percent"], one["left"]) for one in usage["budgets"]}
        self.assertEqual(seen, {"Mine": (50, 50), "Acme": (25, None), "Company": (5, None)})
        (line,) = usage["month"]["assistants"]
        self.assertEqual((line["name"], line["output_tokens"]), ("Helper", 50))
        page = self.url_open("/my/ai/usage").text
        self.assertIn("50 tokens of 100 tokens left", re.sub("<[^>]+>", "", page))
        self.assertIn("75 % left", re.sub("<[^>]+>", "", page))
        self.assertNotIn("Not theirs", page)
        self._sign_in(self.owner)
        usage = self._call("GET", "/api/ai/usage")[1]
        seen = {one["name"]: (one["percent"], one["left"]) for one in usage["budgets"]}
        self.assertEqual(seen, {"Acme": (25, 150), "Company": (5, None)})
        self.assertFalse(usage["month"]["assistants"])

    def test_amounts_of_two_currencies_are_not_added_up(self):
        euro = self.env.ref("base.EUR")
        euro.active = True
        abroad = self.env["res.company"].create({"name": "Abroad", "currency_id": euro.id})
        for tokens, company in ((50, self.env.company), (40, abroad)):
            self._use(tokens, assistant_id=self.assistant.id, company_id=company.id)
        lines = self._call("GET", "/api/ai/usage")[1]["month"]["assistants"]
        self.assertEqual(
            {(line["currency"], line["output_tokens"]) for line in lines},
            {(self.env.company.currency_id.name, 50), ("EUR", 40)},
        )
        self.assertEqual(self.url_open("/my/ai/usage").status_code, 200)

    def test_what_is_only_reserved_is_not_used(self):
        """As in the lines of the workspace's owner."""
        self._use(50, assistant_id=self.assistant.id)
        self.env["woow_paas_platform.cost"].search([("key", "=", "use50")]).state = "reserved"
        self.env.flush_all()
        self.assertEqual(self._call("GET", "/api/ai/usage")[1]["month"]["assistants"], [])

    def test_without_budgets_the_page_says_so(self):
        self._sign_in(self.stranger)
        page = self.url_open("/my/ai/usage").text
        self.assertIn("No budget limits you.", page)
        self.assertIn("Nothing used yet.", page)

    def test_a_workspace_has_a_draft_of_its_invoice(self):
        self._use(50, cloud_service_id=self.service.id, assistant_id=self.assistant.id)
        self._use(7, cloud_service_id=self.service.id)
        self.service.name = "=n8n"
        self.env.flush_all()
        today = fields.Date.today()
        path = f"/api/ai/workspaces/{self.workspace.id}/usage"
        days = f"?from={today}&to={today}"
        for user in (self.member, self.guest, self.stranger, self.internal):
            self._sign_in(user)
            self._assert_error(self._call("GET", path + days), 404, "not_found")
        self._sign_in(self.owner)
        found = self._call("GET", path + days)[1]
        self.assertEqual(found, self._call("GET", path + days)[1])
        lines = [(one["service"]["name"], one["output_tokens"]) for one in found["lines"]]
        self.assertEqual(sorted(lines), [("=n8n", 7), ("=n8n", 50)])
        sheet = self.url_open(f"{path}{days}&format=csv")
        rows = list(csv.DictReader(io.StringIO(sheet.content.decode("utf-8-sig"))))
        self.assertEqual(sorted(row["output_tokens"] for row in rows), ["50", "7"])
        self.assertEqual({row["service"] for row in rows}, {"'=n8n"})
        self.assertIn("attachment", sheet.headers["Content-Disposition"])
        past = f"?from={today - timedelta(days=9)}&to={today - timedelta(days=1)}"
        self.assertEqual(self._call("GET", path + past)[1]["lines"], [])
        for wrong in ("", "?from=x&to=y", f"?from={today}&to=31.12."):
            self._assert_error(self._call("GET", path + wrong), 400, "invalid_parameter")
        self._assert_error(
            self._call("GET", f"{path}?from={today}&to=2020-01-01"), 400, "invalid_field"
        )


@tagged("post_install", "-at_install")
class TestBudgetsOfServices(AiHttpCase):
    """Those who manage a service see what it has used, and set budgets beside those of administrators."""

    def setUp(self):
        super().setUp()
        self.Budget = self.env["woow_paas_platform.budget"]
        self.path = f"/my/services/{self.service.id}"
        self.admins = self.Budget.create(
            {
                "name": "Of the admins",
                "scope": "service",
                "cloud_service_id": self.service.id,
                "limit": 900,
                "measure": "tokens",
            }
        )

    def _use(self, key, service, user, tokens, **more):
        values = {"kind": "answer", "model": "m", "config_id": self.provider.id, "key": key}
        owner = {"user_id": user.id, "cloud_service_id": service.id} | more
        self.env["woow_paas_platform.cost"]._reserve(values | owner)._settle(
            {"output_tokens": tokens}
        )
        self.env.flush_all()

    def _page(self, query=""):
        page = self.url_open(f"{self.path}/usage{query}")
        return " ".join(re.sub("<[^>]+>", " ", page.text).split())

    def _post(self, path="", **form):
        values = {"csrf_token": http.Request.csrf_token(self), **form}
        return self.url_open(f"{self.path}/budgets{path}", data=values, allow_redirects=False)

    def _make(self, **form):
        values = {"name": "Ours", "limit": "500", "measure": "tokens", "unit": "week"}
        return self._post(**values | form)

    def _made(self):
        return self.Budget.with_context(active_test=False).search([("is_managed", "=", True)])

    def test_managers_see_sums_and_nobodys_name(self):
        second = self.service.copy({"name": "Second"})
        elsewhere = self.service.copy({"workspace_id": self.other_workspace.id})
        old = {"date": fields.Datetime.now() - timedelta(days=70)}
        self._use("1", self.service, self.member, 40, assistant_id=self.assistant.id)
        self._use("2", self.service, self.guest, 2, kind="summary")
        self._use("3", second, self.member, 5000)
        self._use("4", elsewhere, self.stranger, 60_000)
        self._use("5", self.service, self.member, 777, **old)
        self._sign_in(self.owner)
        page = self._page()
        for said in ("Helper Answer 1 40 tokens", "Summary 1 2 tokens", "Users: 2.", "777 tokens"):
            self.assertIn(said, page)
        for hidden in (self.member.name, self.guest.name, "5,000", "60,000"):
            self.assertNotIn(hidden, page)
        page = self._page("?of=workspace")
        self.assertIn("Second Without an assistant Answer 1 5,000 tokens", page)
        self.assertNotIn("60,000", page)
        self.assertIn("777 tokens", self._page(f"?month={old['date']:%Y-%m}"))
        for empty in ("?month=2020-01", "?month=2020-01&of=workspace", "?month=9999-12"):
            self.assertIn("Nothing used in this month.", self._page(empty))
        self.assertIn("Users: 2.", self._page("?month=x"))
        today = fields.Date.today()
        path = f"/api/ai/workspaces/{self.workspace.id}/usage?from={today}&to={today}"
        sheet = self.url_open(f"{path}&format=csv&cloud_service_id={self.service.id}").text
        self.assertIn(",40,", sheet)
        self.assertNotIn("5000", sheet)
        last_day = path.replace(f"to={today}", "to=9999-12-31")
        self.assertEqual(self._call("GET", last_day)[0], 200)
        wrong = self._call("GET", f"{path}&cloud_service_id=x")
        self._assert_error(wrong, 400, "invalid_parameter")

    def test_managers_set_change_and_archive_budgets(self):
        self._sign_in(self.owner)
        self.assertEqual(self._make(is_hard="1").status_code, 303)
        made = self._made()
        self.assertEqual(
            (made.name, made.limit, made.unit, made.measure, made.is_hard, made.scope),
            ("Ours", 500, "week", "tokens", True, "service"),
        )
        self.assertEqual((made.cloud_service_id, made.owner_id), (self.service, self.owner))
        self.assertEqual(made._path(), f"{self.path}/usage")
        page = self._page()
        self.assertIn("500 tokens of 500 tokens left", page)
        self.assertIn("900 tokens of 900 tokens left", page)
        self.assertEqual(page.count("Set by an administrator"), 1)
        self._use("1", self.service, self.member, 400)
        self.assertIn("100 tokens of 500 tokens left", self._page())
        self._post(f"/{made.id}", limit="300")
        self.assertEqual((made.limit, made.is_hard), (300, False))
        self._post(f"/{made.id}/archive")
        self.assertFalse(made.active)
        acts = self.env["woow_paas_platform.audit_entry"].search(
            [("model", "=", made._name), ("res_id", "=", made.id)]
        )
        self.assertEqual(sorted(acts.mapped("act")), ["changed", "changed", "created"])

    def test_both_budgets_apply(self):
        self._sign_in(self.owner)
        self._make(is_hard="1", limit="5000")
        self._use("1", self.service, self.member, 900)
        with self.assertRaisesRegex(BudgetExhausted, "Of the admins"):
            self._use("2", self.service, self.member, 1)

    def test_budgets_of_administrators_stay_theirs(self):
        self._sign_in(self.owner)
        for path, form in (
            (f"/{self.admins.id}", {"limit": "1"}),
            (f"/{self.admins.id}/archive", {}),
        ):
            self.assertIn("gone=1", self._post(path, **form).headers["Location"])
        self.assertEqual((self.admins.limit, self.admins.active), (900, True))

    def test_nobody_else_sets_any(self):
        self._sign_in(self.owner)
        self._make()
        made = self._made()
        for user in (self.member, self.guest, self.stranger, self.internal, self.admin):
            self._sign_in(user)
            self._make(name="Not theirs")
            self._post(f"/{made.id}", limit="1")
            self._post(f"/{made.id}/archive")
            with self.assertRaises(NotThere):
                self.Budget.with_user(user)._usage_of_service(self.service.id, fields.Date.today())
        self.assertEqual(self._made(), made)
        self.assertEqual((made.limit, made.active), (500, True))

    def test_bad_budgets_are_refused_with_a_sentence(self):
        self._sign_in(self.owner)
        for wrong, said in (
            ({"limit": "0"}, "Enter a limit"),
            ({"limit": "nan"}, "Enter a limit"),
            ({"limit": "1e99"}, "Enter a limit"),
            ({"limit": "much"}, "Enter a limit"),
            ({"name": " "}, "Enter a name"),
            ({"unit": "year"}, "Choose what the budget counts"),
            ({"measure": ""}, "Choose what the budget counts"),
        ):
            answer = self._make(**wrong)
            self.assertEqual(answer.status_code, 422, wrong)
            self.assertIn(said, answer.text)
        self._make()
        with patch("odoo.addons.woow_paas_platform.models.governance.budget.MAX_OF_SERVICE", 1):
            self.assertIn("at most 1 budgets", self._make().text)
        self.assertEqual(len(self._made()), 1)
        self._made().active = False
        with patch("odoo.addons.woow_paas_platform.models.governance.budget.MAX_ADDITIONS", 1):
            self.assertIn("Too many budgets were set", self._make().text)
        self.assertEqual(len(self._made()), 1)

    def test_who_no_longer_manages_is_told_no_more(self):
        self._sign_in(self.owner)
        self._make()
        made = self._made()
        self.assertEqual(made._told_owner(), self.owner)
        made.owner_id = self.member
        self.assertEqual(made._told_owner(), self.workspace.owner_id)


@tagged("post_install", "-at_install")
class TestBudgetsOfTurns(TurnByHandCase):
    def test_a_turn_makes_no_further_request_when_nothing_is_left(self):
        values = {"scope": "user", "user_id": self.member.id, "measure": "tokens", "limit": 100}
        budget = self.env["woow_paas_platform.budget"].create({"name": "Mine", **values})
        self.env.flush_all()
        (claim,) = self.store.claim("one", 1, 15.0)
        request = ModelRequest(
            key="1-1", kind="answer", llm_id=self.provider.id, model="m", step=0, input_tokens=9
        )
        self.store.reserve(claim, request)
        with self.assertRaises(BudgetExhausted):
            self.store.reserve(claim, replace(request, key="1-2", step=1))
        refused = {"key": "1-1", "usage": {}, "tools": []}
        self.store.reserve(claim, replace(request, key="1-2", is_retry=True), [refused])
        spent = {"key": "1-2", "usage": {"input_tokens": 200}, "tools": []}
        with self.assertRaises(BudgetExhausted):
            self.store.reserve(claim, replace(request, key="1-3", step=1), [spent])
        self.store.save_step(claim, asdict(TurnProgress(step=1, spent=[spent])), (), [])
        budget.invalidate_recordset()
        self.assertEqual((budget.spent, budget.period_ids.reserved), (200, 0))
