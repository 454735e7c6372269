"""Cards of changes with amounts, order lines and text messages, as Odoo's applications make them."""

from odoo import Command
from odoo.tests import new_test_user, tagged

from ..records_data import RehearsalCase
from .test_records_apps import FLAGS, RIGHTS

FIRST, OTHERS = 12, 6  # fields that the card shows at once, see static/src/records/card_lines.js


@tagged("post_install", "-at_install")
class TestCardsOfApps(RehearsalCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.internal = new_test_user(
            cls.env, "zebra_person", name="Zebra Person", groups=",".join(RIGHTS)
        )
        names = {"sale.order", "sale.order.line", "res.partner"}
        known = set(cls.assistant.record_access_ids.mapped("model"))
        cls.assistant.record_access_ids = [
            Command.create({"model": name}) for name in sorted(names - known)
        ]
        lines = cls.assistant.record_access_ids.filtered(lambda one: one.model in names)
        lines.write(dict.fromkeys(FLAGS, True))
        cls.lines = {line.model: line for line in lines}
        cls.customer = cls.env["res.partner"].create({"name": "Zebra Customer"})
        cls.saddle = cls.env["product.product"].create(
            {"name": "Zebra Saddle", "list_price": 100.25, "taxes_id": [Command.clear()]}
        )
        cls.env.flush_all()

    def _quotation(self, **values):
        return {
            "model": "sale.order",
            "values": {"partner_id": "Zebra Customer", **values},
        }

    def _at_once(self, one, limit):
        """Names of the fields that stand on the card before all of them are asked for."""
        return [field["name"] for field in one["fields"][: min(one["first"], limit)]]

    def test_a_quotation_shows_its_total_and_the_quantity_and_subtotal_of_each_line(self):
        line = {
            "product_id": "Zebra Saddle",
            "name": "For riding",
            "product_uom_qty": 3,
            "price_unit": 20.5,
            "discount": 10,
        }
        shown = self._rehearse("create_record", **self._quotation(order_line=[line] * 4))
        order, *lines = shown["created"]
        self.assertEqual(order["model"], "sale.order")
        self.assertIn("amount_total", self._at_once(order, FIRST))
        self.assertEqual({one["model"] for one in lines}, {"sale.order.line"})
        self.assertEqual(len(lines), 4)
        for one in lines:
            self.assertLessEqual(
                {"product_uom_qty", "price_unit", "price_subtotal"},
                set(self._at_once(one, OTHERS)),
            )
        line["discount"] = 0
        shown = self._rehearse("create_record", **self._quotation(order_line=[line] * 4))
        names = [field["name"] for field in shown["created"][1]["fields"]]
        self.assertLess(names.index("price_subtotal"), names.index("discount"))

    def test_amounts_are_told_in_their_currency(self):
        dinar = self.env.ref("base.KWD")
        dinar.active = True
        pricelist = self.env["product.pricelist"].create(
            {"name": "Zebra Dinars", "currency_id": dinar.id}
        )
        self.internal.group_ids += self.env.ref("product.group_product_pricelist")
        self.env.flush_all()
        line = {"product_id": "Zebra Saddle", "product_uom_qty": 2, "price_unit": 1.235}
        shown = self._rehearse(
            "create_record", **self._quotation(pricelist_id="Zebra Dinars", order_line=[line])
        )
        order, line = shown["created"]
        total = {"amount": 2.47, "currency": "KWD", "name": "2.470 KWD"}
        self.assertEqual(self._field(order, "amount_total")["new"], total)
        self.assertEqual(self._field(line, "price_subtotal")["new"], total)
        self.assertEqual(self._field(line, "price_unit")["new"], 1.235)
        self.assertEqual(self._allow().outcome, "ok")
        order = self.env["sale.order"].search([("partner_id", "=", self.customer.id)])
        shown = self._rehearse(
            "update_records",
            model="sale.order.line",
            ids=order.order_line.ids,
            values={"price_unit": 1.5},
        )
        told = next(one for one in shown["changes"] if one["model"] == "sale.order")
        told = self._field(told, "amount_total")
        self.assertEqual((told["old"], told["new"]["name"]), (total, "3.000 KWD"))
        self.assertEqual(self.env["sale.order"].browse(order.id).pricelist_id, pricelist)

    def test_a_number_that_is_texted_is_told(self):
        self.lines["res.partner"].action_ids = self.env["ir.actions.server"].create(
            {
                "name": "Text",
                "model_id": self.env["ir.model"]._get_id("res.partner"),
                "state": "code",
                "code": "env['sms.sms'].sudo().create({'number': '+32470000000', 'body': 'Hi'})",
            }
        )
        self.env.flush_all()
        shown = self._rehearse("run_action", ids=[self.customer.id], action="Text")
        (told,) = (one for one in shown["others"] if one["model"] == "sms.sms")
        self.assertEqual(told["names"], ["+32470000000"])
