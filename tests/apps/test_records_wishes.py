"""Everyday wishes in Odoo's applications, each shown before it is done: quotations, invoices, leads, deliveries."""

from odoo import Command
from odoo.tests import new_test_user, tagged

from ...services.records.errors import RecordError
from ..records_data import ALL, RehearsalCase

MODELS = (
    *("res.partner", "product.product", "sale.order", "sale.order.line", "account.move"),
    *("account.move.line", "crm.lead", "stock.picking", "stock.move", "purchase.order"),
)
RIGHTS = (
    "base.group_user",
    "base.group_partner_manager",
    "sales_team.group_sale_manager",
    "account.group_account_invoice",
    "stock.group_stock_user",
    "purchase.group_purchase_user",
)


@tagged("post_install", "-at_install")
class TestRecordsWishes(RehearsalCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        rights = [name for name in RIGHTS if cls.env.ref(name, raise_if_not_found=False)]
        cls.internal = new_test_user(
            cls.env, "wishes_person", name="Wishes Person", groups=",".join(rights)
        )
        known = set(cls.assistant.record_access_ids.mapped("model"))
        cls.assistant.record_access_ids = [
            Command.create({"model": name})
            for name in MODELS
            if name in cls.env and name not in known
        ]
        cls.assistant.record_access_ids.write(dict.fromkeys((*ALL, "can_act"), True))
        cls.customer = cls.env["res.partner"].create(
            {"name": "Wishful Customer", "email": "wishful@example.com"}
        )
        cls.chair, cls.table = cls.env["product.product"].create(
            [
                {"name": "Wishful Chair", "list_price": 50, "type": "consu"},
                {"name": "Wishful Table", "list_price": 90, "type": "consu"},
            ]
        )
        cls.env.flush_all()

    def _done(self, name, **arguments):
        """Rehearse, allow, and see that it was done as it was shown."""
        self.shown = self._rehearse(name, **arguments)
        self.assertNotIn("impossible", self.shown, arguments)
        result = self._allow()
        self.assertEqual(result.outcome, "ok", result.text)
        self.env.invalidate_all()
        return result

    def _not_done(self, name, **arguments):
        call, _verdict = self._begin(self.internal, name, arguments)
        return self._error(self.store.rehearse_call, self.claims[self.internal], call.id)

    def _created(self, model, **values):
        result = self._done("create_record", model=model, values=values)
        return self.env[model].browse(result.display["records"]["rows"][0]["id"])

    def _act(self, action, record, **values):
        more = {"values": values} if values else {}
        return self._done("run_action", model=record._name, ids=record.ids, action=action, **more)

    # ------------------------------------------------------------ sales

    def _quotation(self):
        return self._created(
            "sale.order",
            partner_id="Wishful Customer",
            order_line=[{"product_id": self.chair.id, "product_uom_qty": 2}],
        )

    def test_a_quotation_is_changed_by_its_lines_and_confirmed(self):
        order = self._quotation()
        line = order.order_line
        result = self._done(
            "update_records",
            model="sale.order",
            filters=[{"field": "name", "operator": "=", "value": order.name}],
            values={
                "order_line": [
                    {"id": line.id, "product_uom_qty": 7},
                    {"product_id": self.table.id, "product_uom_qty": 1},
                ]
            },
        )
        self.assertEqual(order.order_line.mapped("product_uom_qty"), [7, 1])
        self.assertIn(f"sale.order.line {line.id}: product_uom_qty “2", result.text)
        self._done(
            "update_records",
            model="sale.order",
            ids=order.ids,
            values={"order_line": {"remove": [line.id]}},
        )
        self.assertEqual(order.order_line.product_id, self.table)
        self._act("Confirm", order)
        self.assertEqual(order.state, "sale")
        self.assertIn("sale.order", [one["model"] for one in self.shown["changes"]])
        said = self._not_done("run_action", model="sale.order", ids=order.ids, action="Confirm")
        self.assertIn("not in a state", said)

    def test_an_order_is_invoiced_posted_and_paid(self):
        self._load_accounts()
        self.chair.invoice_policy = "order"
        order = self._quotation()
        self._act("Confirm", order)
        self._act("Create Invoice", order)
        invoice = order.invoice_ids
        self.assertEqual((len(invoice), invoice.state), (1, "draft"))
        self._act("Post", invoice)
        self.assertEqual(invoice.state, "posted")
        self._act("Register Payment", invoice, amount=40)
        self.assertAlmostEqual(invoice.amount_residual, invoice.amount_total - 40)
        self._act("Register Payment", invoice)
        self.assertAlmostEqual(invoice.amount_residual, 0)
        said = self._not_done(
            "run_action",
            model="account.move",
            ids=invoice.ids,
            action="Register Payment",
            values={"sum": 4},
        )
        self.assertIn("amount", said)

    def test_a_quotation_is_sent_by_mail(self):
        order = self._quotation()
        self._act("Send by Email", order)
        self.assertEqual(order.state, "sent")
        self.assertIn("Wishful Customer", str(self.shown["messages"]))
        self.assertIn(self.customer, order.message_ids.partner_ids)

    # ------------------------------------------------------------ invoices

    def _load_accounts(self):
        company = self.env.company
        if not self.env["account.journal"].search([("type", "=", "sale")], limit=1):
            self.env["account.chart.template"].try_loading(
                "generic_coa", company=company, install_demo=False
            )
        self.env.flush_all()

    def test_an_invoice_is_made_with_its_kind(self):
        self._load_accounts()
        invoice = self._created(
            "account.move",
            move_type="Customer Invoice",
            partner_id="Wishful Customer",
            invoice_line_ids=[{"name": "Work", "quantity": 2, "price_unit": 100, "tax_ids": []}],
        )
        self.assertEqual((invoice.move_type, invoice.amount_total), ("out_invoice", 200))
        said = self._not_done(
            "update_records",
            model="account.move",
            ids=invoice.ids,
            values={"move_type": "out_refund"},
        )
        self.assertIn("cannot be written", said)
        for values in ({"state": "posted"}, {"move_type": "Nothing"}, {"payment_state": "paid"}):
            self._not_done("create_record", model="account.move", values=values)
        said, _data = self._read(
            self.internal, "describe_model", model="account.move", query="move_type"
        )
        self.assertIn("move_type*", said)

    # ------------------------------------------------------------ leads

    def test_leads_are_won_and_lost_with_a_reason(self):
        self.env["crm.lost.reason"].create({"name": "Wishful Thinking"})
        won, lost = (
            self._created("crm.lead", name=name, type="opportunity", expected_revenue=10)
            for name in ("Wishful One", "Wishful Two")
        )
        self._act("Mark as Won", won)
        self.assertTrue(won.stage_id.is_won)
        said = self._not_done("run_action", model="crm.lead", ids=lost.ids, action="Mark as Lost")
        self.assertIn("Wishful Thinking", said)
        self._act("Mark as Lost", lost, reason="Wishful Thinking", note="Too **dear**")
        self.assertFalse(lost.active)
        self.assertEqual(lost.lost_reason_id.name, "Wishful Thinking")
        said, _data = self._read(self.internal, "find_models")
        self.assertIn("Mark as Lost (takes reason, note)", said)

    def test_a_day_that_passes_before_the_yes_is_no_other_change(self):
        lead = self._created("crm.lead", name="Wishful", type="opportunity", expected_revenue=10)
        self._rehearse("run_action", model="crm.lead", ids=lead.ids, action="Mark as Won")
        self.env.cr.execute(
            "UPDATE crm_lead SET create_date = create_date - interval '36 hours' WHERE id = %s",
            [lead.id],
        )
        self.assertEqual(self._allow().outcome, "ok")
        self.assertEqual(lead.day_close, 1)

    # ------------------------------------------------------------ deliveries

    def test_a_delivery_is_validated(self):
        if "sale_stock" not in self.env.registry._init_modules:
            return
        order = self._quotation()
        self._act("Confirm", order)
        picking = order.picking_ids
        self._act("Validate", picking)
        self.assertEqual(picking.state, "done")

    def test_a_purchase_is_confirmed(self):
        if "purchase.order" not in self.env:
            return
        order = self.env["purchase.order"].create(
            {
                "partner_id": self.customer.id,
                "order_line": [Command.create({"product_id": self.chair.id, "product_qty": 3})],
            }
        )
        self._act("Confirm", order)
        self.assertEqual(order.state, "purchase")

    # ------------------------------------------------------------ contacts

    def test_a_contact_of_a_company_is_made_and_its_terms_are_changed(self):
        terms, other = self.env["account.payment.term"].create(
            [{"name": "Wishful Terms"}, {"name": "Other Terms"}]
        )
        company = self._created("res.partner", name="Wishful Company", is_company=True)
        company.property_payment_term_id = terms
        self.env.flush_all()
        contact = self._created("res.partner", name="Wishful Contact", parent_id=company.id)
        self.assertEqual(contact.property_payment_term_id, terms)
        self._done(
            "update_records",
            model="res.partner",
            ids=company.ids,
            values={"property_payment_term_id": other.id},
        )
        change = next(one for one in self.shown["changes"] if one["id"] == company.id)
        field = self._field(change, "property_payment_term_id")
        self.assertEqual((field["old"], field["new"]), ("Wishful Terms", "Other Terms"))
        self.assertEqual(contact.property_payment_term_id, other)

    # ------------------------------------------------------------ who may

    def test_only_what_was_switched_on_and_by_whom_may_write(self):
        order = self._quotation()
        line = self.assistant.record_access_ids.filtered(lambda one: one.model == "sale.order")
        stranger = new_test_user(self.env, "wishes_stranger", groups="base.group_portal")
        order.message_subscribe(stranger.partner_id.ids)
        self.env.flush_all()
        wanted = {"model": "sale.order", "ids": order.ids, "action": "Confirm"}
        call, _verdict = self._begin(stranger, "run_action", wanted)
        self._error(self.store.rehearse_call, self.claims[stranger], call.id)
        line.can_act = False
        self.env.flush_all()
        try:
            call, verdict = self._begin(self.internal, "run_action", wanted)
            if verdict.kind != "deny":
                self.store.rehearse_call(self.claims[self.internal], call.id)
                self.fail("It was not refused.")
        except RecordError:
            pass
        self.assertEqual(order.state, "draft")
