"""Amounts beside Odoo's applications: exact, each with its currency, and those of several never added up."""

from unittest.mock import patch

from odoo import Command
from odoo.tests import new_test_user, tagged

from ...runtime.records import aggregate
from ..records_data import RecordsCase

RIGHTS = (
    "base.group_user",
    "sales_team.group_sale_manager",
    "purchase.group_purchase_user",
)
MODELS = ("crm.lead", "sale.order", "purchase.order.line")


@tagged("post_install", "-at_install")
class TestSums(RecordsCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.internal = new_test_user(cls.env, "seller", groups=",".join(RIGHTS))
        cls.assistant.record_access_ids = [Command.create({"model": name}) for name in MODELS]
        cls.dollar = cls.env.ref("base.USD")
        cls.euro = cls.env.ref("base.EUR")
        (cls.dollar | cls.euro).active = True
        cls.customer = cls.env["res.partner"].create({"name": "Sums Ltd"})
        cls.product = cls.env["product.product"].create({"name": "Sum", "taxes_id": False})
        company = cls.env.company.currency_id
        cls.own = company
        cls.other = cls.euro if company == cls.dollar else cls.dollar
        cls.here = [{"field": "partner_id", "value": cls.customer.id}]

    def _order(self, amount, currency):
        pricelist = self.env["product.pricelist"].create(
            {"name": currency.name, "currency_id": currency.id}
        )
        line = {"product_id": self.product.id, "product_uom_qty": 1, "price_unit": amount}
        line["tax_ids"] = False
        order = self.env["sale.order"].create(
            {
                "partner_id": self.customer.id,
                "pricelist_id": pricelist.id,
                "order_line": [Command.create(line)],
            }
        )
        self.assertEqual((order.currency_id, order.amount_total), (currency, amount))
        return order

    def _sum(self, measures=("amount_total:sum",), **given):
        return self._read(
            self.internal,
            "aggregate_records",
            **{"model": "sale.order", "filters": self.here, "measures": list(measures), **given},
        )

    def test_amounts_are_exact(self):
        order = self._order(12_345_678_901.25, self.own)
        self._order(1_234_567_890.5, self.own)
        name = self.own.name
        given = {"model": "sale.order", "ids": order.ids, "fields": ["amount_total"]}
        said, data = self._read(self.internal, "read_records", **given)
        self.assertIn(f"amount_total: 12345678901.25 {name}", said)
        self.assertEqual(
            data["rows"][0]["values"]["amount_total"]["name"], f"12345678901.25 {name}"
        )
        given = {"model": "sale.order", "filters": self.here, "fields": ["amount_total"]}
        said, _data = self._read(self.internal, "search_records", **given)
        self.assertIn(f"1234567890.50 {name}", said)
        said, data = self._sum()
        self.assertIn(f"\n13580246791.75 {name}", said)
        self.assertEqual(data["groups"], [{"amount_total:sum": 13580246791.75}])
        self.assertEqual(data["measures"][0]["label"], f"Total ({name})")

    def test_currencies_are_never_added_up(self):
        self._order(32_000, self.own)
        self._order(500, self.own)
        self._order(1_000, self.other)
        own, other = self.own.name, self.other.name
        said, data = self._sum()
        self.assertEqual(
            {(one["currency_id"]["name"], one["amount_total:sum"]) for one in data["groups"]},
            {(own, 32_500), (other, 1_000)},
        )
        self.assertIn(f"| 32500.00 {own}", said)
        self.assertIn(f"| 1000.00 {other}", said)
        self.assertIn("so there are groups by currency_id, too", said)
        self.assertIn(f"\nIn {own}, at today's rates: amount_total:sum_currency ", said)
        self.assertNotIn("33500", said)
        said, data = self._sum(group_by=["partner_id"], order="amount_total:sum desc", limit=1)
        self.assertEqual((len(data["groups"]), data["total"]), (1, 2))
        self.assertIn("[1 of 2 groups.", said)
        together = next(one for one in said.splitlines() if one.startswith("Of all groups"))
        self.assertIn(f"amount_total:sum 32500.00 {own}", together)
        self.assertIn(f"amount_total:sum 1000.00 {other}", together)
        self.assertNotIn("33500", said)
        said, data = self._sum(["amount_total:sum_currency"], group_by=["partner_id"])
        self.assertEqual(len(data["groups"]), 1)
        self.assertIn(f" {own}", said.splitlines()[2])

    def test_what_has_no_currency_is_added_to_none(self):
        self._order(300, self.own)
        nothing = self._order(44, self.own)
        self.env.cr.execute("UPDATE sale_order SET currency_id = NULL WHERE id = %s", [nothing.id])
        self.env.invalidate_all()
        said, data = self._sum()
        self.assertEqual(
            {(tuple(one["currency_id"] or ()), one["amount_total:sum"]) for one in data["groups"]},
            {(("id", "name"), 300), ((), 44)},
        )
        self.assertIn(f"| 300.00 {self.own.name}", said)
        self.assertIn("no currency", said)
        self.assertIn(f"amount_total:sum_currency 300.00 {self.own.name}", said)
        self.assertNotIn("344", said)

    def test_a_currency_that_is_computed_is_that_of_the_companies(self):
        lead = self.env["crm.lead"].create(
            {
                "name": "Sum",
                "partner_id": self.customer.id,
                "expected_revenue": 7,
                "type": "opportunity",
            }
        )
        given = {"model": "crm.lead", "measures": ["expected_revenue:sum"]}
        said, _data = self._sum(**given)
        self.assertIn(f"\n7.00 {self.own.name}", said)
        foreign = self.env["res.company"].create({"name": "F", "currency_id": self.other.id})
        self.internal.company_ids += foreign
        self.turns.clear()
        self.env["crm.lead"].create(
            {
                "name": "F",
                "partner_id": self.customer.id,
                "expected_revenue": 9,
                "company_id": foreign.id,
            }
        )
        lead.company_id = self.env.company
        said, data = self._sum(**given)
        self.assertEqual(
            {(one["company_id"]["name"], one["expected_revenue:sum"]) for one in data["groups"]},
            {("F", 9), (self.env.company.name, 7)},
        )
        self.assertIn(f"9.00 {self.other.name}", said)
        line = self.assistant.record_access_ids.filtered(lambda one: one.model == "crm.lead")
        line.hidden_fields = "company_currency"
        said, _data = self._sum(**given)
        self.assertNotIn(self.other.name, said)
        with patch.object(aggregate, "MAX_GROUPS", 1):
            said = self._refused(self.internal, "aggregate_records", filters=self.here, **given)
            self.assertIn("several currencies", said)
        line.hidden_fields = "company_id"
        said = self._refused(self.internal, "aggregate_records", filters=self.here, **given)
        self.assertIn("several currencies", said)

    def test_a_currency_behind_a_relation_is_that_of_each_record(self):
        orders = [(self.own, 30), (self.own, 2), (self.other, 5)]
        self.env["purchase.order"].create(
            [
                {
                    "partner_id": self.customer.id,
                    "currency_id": currency.id,
                    "order_line": [
                        Command.create(
                            {"product_id": self.product.id, "price_unit": price, "tax_ids": False}
                        )
                    ],
                }
                for currency, price in orders
            ]
        )
        given = {"model": "purchase.order.line", "measures": ["price_subtotal:sum"]}
        with patch.object(aggregate, "MAX_GROUPS", 1):
            said, data = self._sum(**given)
        self.assertEqual(
            {(one["currency_id"]["name"], one["price_subtotal:sum"]) for one in data["groups"]},
            {(self.own.name, 32), (self.other.name, 5)},
        )
        self.assertIn(f"| 32.00 {self.own.name}", said)
        said, _data = self._sum(group_by=["order_id"], **given)
        together = next(one for one in said.splitlines() if one.startswith("Of all groups"))
        self.assertIn(f"price_subtotal:sum 32.00 {self.own.name}", together)
        self.assertIn(f"price_subtotal:sum 5.00 {self.other.name}", together)

    def test_a_missing_value_is_named(self):
        line = self.assistant.record_access_ids.filtered(lambda one: one.model == "crm.lead")
        line.write({"can_create": True, "policy": "auto"})
        call, verdict = self._begin(
            self.internal, "create_record", {"model": "crm.lead", "values": {"priority": "1"}}
        )
        self.assertEqual(verdict.kind, "run")
        said = self._error(self.store.perform_call, self.claims[self.internal], call.id, [])
        self.assertIn("name", said)
        self.assertIn("must have a value", said)
