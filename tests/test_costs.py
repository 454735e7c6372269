from datetime import date, datetime
from decimal import Decimal

from odoo.exceptions import AccessError, ValidationError
from odoo.tests import tagged
from odoo.tools import mute_logger
from psycopg2 import IntegrityError

from ..services.money import prices
from .common import AiCase

USAGE = {"input_tokens": 1_000_000, "cached_tokens": 400_000, "output_tokens": 100_000}
NOON = datetime(2026, 11, 28, 12)


class CostCase(AiCase):
    """A provider at OpenAI's address, with a model that no shipped price is for."""

    @classmethod
    def _make_data(cls):
        super()._make_data()
        cls.provider = cls.assistant.config_id
        cls.provider.write({"api_base_url": "https://api.openai.com/v1", "model": "acme-1"})
        cls.Price = cls.env["woow_paas_platform.price"]
        cls.Cost = cls.env["woow_paas_platform.cost"]
        cls.dollar = cls.env.ref("base.USD")
        cls.env.company.currency_id = cls.dollar

    @classmethod
    def _price(cls, name="acme-1", asked=2.0, **values):
        values = {"valid_from": "2026-01-01", "currency_id": cls.dollar.id} | values
        return cls.Price.create(
            {"model": name, "input_price": asked, "cached_price": 0.5, "output_price": 10} | values
        )

    def _request(self, key="r1", **values):
        values = {"kind": "answer", "config_id": self.provider.id, "date": NOON} | values
        return self.Cost._reserve({"key": key, "model": "acme-1"} | values)


@tagged("post_install", "-at_install")
class TestPrices(CostCase):
    def _found(self, name="acme-1", day=date(2026, 11, 28)):
        price, _currency = self.Price._of_request(self.provider, name, day)
        return price and float(price.input)

    def test_the_most_specific_price_counts_then_the_newest(self):
        self._price("acme*", 1)
        self.assertEqual(self._found(), 1)
        self._price("acme-1", 2)
        self._price("acme-1", 3, valid_from="2026-11-28")
        self._price("acme-1", 4, valid_from="2026-11-29")
        self.assertEqual(self._found(), 3)
        self.assertEqual(self._found(day=date(2026, 11, 27)), 2)
        self._price("acme*", 5, preset="openai")
        self.assertEqual(self._found(), 5)
        self._price("acme*", 6, config_id=self.provider.id)
        self._price("acme*", 7, preset="mistral")
        self.assertEqual(self._found(), 6)
        self.assertIsNone(self._found("other"))

    def test_an_edited_price_counts_at_once(self):
        price = self._price()
        self.assertEqual(self._found(), 2)
        price.input_price = 9
        self.assertEqual(self._found(), 9)
        price.active = False
        self.assertIsNone(self._found())

    def test_shipped_prices_are_added_once_and_keep_what_was_edited(self):
        shipped = self.Price.search([("model", "=", "gpt-5"), ("preset", "=", "openai")])
        self.assertEqual(shipped.output_price, 10)
        self.assertIn("2026-11-28", shipped.source)
        shipped.output_price = 11
        count = self.Price.with_context(active_test=False).search_count([])
        self.Price._load_shipped()
        self.assertEqual(self.Price.with_context(active_test=False).search_count([]), count)
        self.assertEqual(shipped.output_price, 11)
        self.assertEqual(self._found("gpt-5-2025-08-07"), 1.25)
        self.provider.api_base_url = "http://localhost:11434/v1"
        self.assertIsNone(self._found("gpt-5"), "a model of this name at another address")

    def test_bad_prices_are_refused(self):
        for values in ({"name": "a*b"}, {"name": " a"}):
            with self.assertRaises(ValidationError):
                self._price(**values)
        with self.assertRaises(IntegrityError), mute_logger("odoo.sql_db"), self.env.cr.savepoint():
            self._price(asked=-1)
        self._price()
        with self.assertRaises(IntegrityError), mute_logger("odoo.sql_db"), self.env.cr.savepoint():
            self._price()


@tagged("post_install", "-at_install")
class TestCosts(CostCase):
    def test_a_request_is_reserved_and_settled_exactly(self):
        self._price()
        cost = self._request(input_tokens=1000)
        self.assertEqual((cost.state, cost.is_estimated, cost.request_count), ("reserved", True, 1))
        self.assertEqual(cost.amount, 0.007, "an answer of 500 tokens is expected")
        cost._settle(USAGE, ["search", "read", "search"])
        self.assertEqual((cost.state, cost.is_estimated), ("settled", False))
        self.assertEqual(cost.amount, 2.4)
        self.assertEqual(cost.tool_names, "search, read")
        cost._settle({"input_tokens": 1})
        cost._give_up()
        self.assertEqual(cost.amount, 2.4, "a settled row stays as it is")
        self.assertEqual(self._request(), cost, "the same request is one row")

    def test_a_request_that_nobody_saw_end_stays_estimated(self):
        self._price()
        cost = self._request(input_tokens=1000, output_limit=100)
        cost._give_up()
        self.assertEqual((cost.state, cost.is_estimated, cost.amount), ("settled", True, 0.003))

    def test_without_a_price_nothing_is_invented(self):
        cost = self._request()
        cost._settle(USAGE)
        self.assertTrue(cost.has_no_price)
        self.assertEqual((cost.amount, cost.company_amount, cost.currency_id.id), (0, 0, False))
        self.assertEqual(cost.input_tokens, 1_000_000)

    def test_the_company_pays_at_the_rate_of_the_day(self):
        euro = self.env.ref("base.EUR")
        euro.active = True
        for day, rate in (("2026-11-01", 2.0), ("2026-11-29", 4.0)):
            self.env["res.currency.rate"].create(
                {
                    "name": day,
                    "rate": rate,
                    "currency_id": euro.id,
                    "company_id": self.env.company.id,
                }
            )
        self._price(currency_id=euro.id)
        cost = self._request(company_id=self.env.company.id)
        cost._settle(USAGE)
        self.assertEqual(cost.currency_id, euro)
        self.assertEqual((cost.amount, cost.company_amount), (2.4, 1.2))

    def test_each_change_is_told_once(self):
        self._price()
        told = []
        self.patch(
            type(self.Cost), "_changed", lambda row, before: told.append((before, row.amount))
        )
        cost = self._request(input_tokens=1000)
        self._request(input_tokens=1000)
        cost._settle(USAGE)
        cost._settle(USAGE)
        self.assertEqual(told, [(None, 0.007), (0.007, 2.4)])

    def test_a_turn_says_whose_costs_its_requests_are(self):
        turn = self._ask(self.member, service=self.service)
        cost = self._request(turn_id=turn.id)
        self.assertEqual(cost.user_id, self.member)
        self.assertEqual(cost.assistant_id, turn.assistant_id)
        self.assertEqual(cost.cloud_service_id, self.service)
        self.assertEqual(cost.workspace_id, self.service.workspace_id)
        self.assertEqual(cost.company_id, self.member.company_id)
        self.assertEqual(cost.with_user(self.member).read(["amount"])[0]["amount"], 0)
        with self.assertRaises(AccessError):
            cost.with_user(self.member).read(["provider_name"])

    def test_what_a_tool_costs_adds_up_to_the_ledger(self):
        self._price()
        for number, tools in enumerate(([], ["a__x"], ["a__x", "b__y", "a__z"])):
            usage = {"input_tokens": 1_000 + number, "output_tokens": 0}
            self._request(f"tools-{number}", assistant_id=self.assistant.id)._settle(usage, tools)
        self.env.flush_all()
        domain, sums = [("assistant_id", "=", self.assistant.id)], ["company_amount:sum"]
        ByTool = self.env["woow_paas_platform.cost_of_tool"]
        found = dict(ByTool._read_group(domain, ["tool_name"], ["tokens:sum"]))
        self.assertEqual(found, {"No tool": 1_000, "a__x": 1_001 + 334, "b__y": 334, "a__z": 334})
        ((of_tools,),) = ByTool._read_group(domain, [], sums)
        ((of_requests,),) = self.Cost._read_group(domain, [], sums)
        self.assertEqual(of_tools, of_requests)

    def test_an_amount_has_all_its_places(self):
        price = prices.Price(
            id=1,
            model="m",
            valid_from=NOON.date(),
            input=Decimal("0.02"),
            cached=Decimal("0.02"),
            output=Decimal(0),
        )
        self.assertEqual(prices.amount(price, {"input_tokens": 1}), Decimal("2.0e-8"))
