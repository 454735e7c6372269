"""Everyday wishes in Odoo's applications, each shown before it is done: quotations, invoices, leads, deliveries."""

import io
import subprocess
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

from odoo import Command
from odoo.addons.base.models import ir_actions_report
from odoo.tests import new_test_user, tagged
from odoo.tools.pdf import PdfFileWriter

from ...services.records.errors import RecordError, RehearsalDiffers
from ..records_data import ALL, ALONE, RehearsalCase

MODELS = (
    *("res.partner", "product.product", "sale.order", "sale.order.line", "account.move"),
    *("account.move.line", "crm.lead", "stock.picking", "stock.move", "purchase.order"),
    "calendar.event",
)
RIGHTS = (
    "base.group_user",
    "base.group_partner_manager",
    "sales_team.group_sale_manager",
    "account.group_account_invoice",
    "stock.group_stock_user",
    "purchase.group_purchase_user",
)


SQUARE = (100, 100)  # points of the pages that the tests' program makes, which no rehearsal makes


@contextmanager
def printing(state="ok"):
    """A program in the place of wkhtmltopdf; yields the HTML of each page that it was given."""
    printed = []

    def run(arguments):
        subprocess.run(["true"], check=True)  # a program of its own, as it is
        bodies = [one for one in arguments[:-1] if "report.body." in one]
        printed.extend(Path(one).read_text() for one in bodies)
        writer, content = PdfFileWriter(), io.BytesIO()
        for _body in bodies:
            writer.addBlankPage(*SQUARE)
        writer.write(content)
        Path(arguments[-1]).write_bytes(content.getvalue())
        return subprocess.CompletedProcess(arguments, 0, "", "")

    def about():
        subprocess.run(["true"], check=True)  # as Odoo asks the program for its version
        return ir_actions_report.WkhtmlInfo(state, False, "wkhtmltopdf", "0.12.6", True, "", None)

    with (
        patch.object(ir_actions_report, "_wkhtml", about),
        patch.object(ir_actions_report, "_run_wkhtmltopdf", run),
    ):
        yield printed


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
        call, _verdict = self._begin(self.internal, name, arguments, ALONE + self.number)
        return self._error(self.store.rehearse_call, self.claims[self.internal], call.id)

    def _created(self, model, **values):
        result = self._done("create_record", model=model, values=values)
        return self.env[model].browse(result.display["records"]["rows"][0]["id"])

    def _act(self, action, record, **values):
        more = {"values": values} if values else {}
        return self._done("run_action", model=record._name, ids=record.ids, action=action, **more)

    def _print(self, record, **values):
        """Nobody is asked about what changes nothing."""
        wanted = {"model": record._name, "ids": record.ids, "action": "Print"}
        call, verdict = self._begin(self.internal, "run_action", wanted | {"values": values})
        self.assertEqual(verdict.kind, "run")
        self.row = self.env["woow_paas_platform.tool_call"].search([("call_id", "=", call.id)])
        try:
            return self.store.perform_call(self.claims[self.internal], call.id, [])
        finally:
            self.env.invalidate_all()

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

    def _sent(self, record):
        """Send, and see that the question has told what is sent, and to whom; Odoo's cron sends it."""
        with printing() as printed:
            self._act("Send by Email", record)
        (told,) = self.shown["messages"]
        self.assertIn("Wishful Customer <wishful@example.com>", told["recipients"])
        message = record.message_ids.filtered(lambda one: self.customer in one.partner_ids)
        self.assertEqual(told["files"], message.attachment_ids.mapped("name"))
        (file,) = message.attachment_ids
        self.assertEqual((file.mimetype, len(printed)), ("application/pdf", 1))
        self.assertIn(b"100", file.raw)
        mail = message.notification_ids.mail_mail_id
        self.assertEqual((mail.state, mail.recipient_ids), ("outgoing", self.customer))

    def _asks_again(self, action, record):
        """Whatever was allowed before, a person sees it first."""
        wanted = {"model": record._name, "ids": record.ids, "action": action}
        call, verdict = self._begin(self.internal, "run_action", wanted)
        self.assertEqual(verdict.kind, "run")
        try:
            self.store.perform_call(self.claims[self.internal], call.id, [])
        except RehearsalDiffers as error:
            self.env.invalidate_all()
            return error.rehearsal["shown"]
        return self.fail("Nobody was asked.")

    def test_a_quotation_is_sent_by_mail(self):
        order = self._quotation()
        self._sent(order)
        self.assertEqual(order.state, "sent")

    def test_what_odoo_sends_later_is_sent_as_it_was_shown(self):
        self.env["ir.config_parameter"].sudo().set_param("sale.async_emails", "True")
        self.env.ref("sale.send_pending_emails_cron").active = True
        self._sent(self._quotation())

    def test_sending_asks_although_changes_run(self):
        order = self._quotation()
        self.assistant.record_access_ids.policy = "auto"
        template = self.env.ref("sale.email_template_edi_sale")
        for has_file in (True, False):
            if not has_file:
                template.report_template_ids = False
            self.env.flush_all()
            with printing() as printed:
                shown = self._asks_again("Send by Email", order)
            self.assertIn("Wishful Customer", str(shown["messages"]))
            self.assertEqual(("files" in shown["messages"][0], printed), (has_file, []))
        self.assertEqual(order.state, "draft")
        self.assertNotIn(self.customer, order.message_ids.partner_ids)

    def test_a_quotation_is_printed_and_its_file_attached(self):
        order = self._quotation()
        with printing() as printed:
            result = self._print(order)
        (html,) = printed
        self.assertIn("Wishful Chair", html)
        (file,) = self.row.attachment_ids
        self.assertEqual(file.name, f"Quotation - {order.name}.pdf")
        self.assertEqual((file.mimetype, file.res_model), ("application/pdf", "discuss.channel"))
        self.assertIn(file.name, result.text)
        self.assertNotIn("files", result.display["records"])
        told = self.row._result_event()["attachments"]
        self.assertEqual([one["name"] for one in told], [file.name])
        with printing():
            self._print(order)
        self._done("post_message", model="sale.order", id=order.id, body="", files=[str(file.id)])
        self.assertEqual(self.shown["messages"][0]["files"], [file.name])
        attached = order.message_ids[:1].attachment_ids
        self.assertEqual((attached.name, attached.raw), (file.name, file.raw))

    def test_a_report_is_chosen_by_its_name(self):
        orders = self._quotation() | self._quotation()
        with printing() as printed:
            said = self._error(self._print, orders, report="Poem")
            self.assertIn("There is no report “Poem”", said)
            bound = self.env["ir.actions.report"].search(
                [("binding_model_id.model", "=", "sale.order"), ("report_type", "=", "qweb-pdf")]
            )
            name = bound[:1].name
            self.assertIn(name, said)
            self._print(orders, report=name)
        self.assertEqual(len(printed), 2)
        self.assertEqual(self.row.attachment_ids.name, f"{name}.pdf")

    def test_without_the_program_nothing_is_printed_and_it_says_so(self):
        order = self._quotation()
        wanted = {"model": "sale.order", "ids": order.ids}
        with printing("install") as printed:
            for said in (
                self._error(self._print, order),
                self._not_done("run_action", action="Send by Email", **wanted),
            ):
                self.assertIn("Unable to find Wkhtmltopdf", said)
        self.assertEqual((printed, order.state), ([], "draft"))

    def test_who_hides_fields_prints_none(self):
        order = self._quotation()
        line = self.assistant.record_access_ids.filtered(lambda one: one.model == "sale.order")
        line.hidden_fields = "client_order_ref"
        self.env.flush_all()
        with printing():
            said = self._error(self._print, order)
        self.assertIn("hides", said)

    def test_a_print_that_keeps_what_it_prints_asks(self):
        """Unless changes run."""
        order = self._quotation()
        report = self.env.ref("sale.action_report_saleorder")
        report.attachment = "'Kept.pdf'"
        self.env.flush_all()
        with printing():
            shown = self._asks_again("Print", order)
            self.assertEqual([one["model"] for one in shown["others"]], ["ir.attachment"])
            self.assertEqual(order.message_attachment_count, 0)
            self.assistant.record_access_ids.policy = "auto"
            self._print(order)
        self.assertEqual(order.message_attachment_count, 1)

    def test_a_document_is_called_by_its_number(self):
        """The ORM takes a name for it, which no form does."""
        order = self._created("sale.order", partner_id="Wishful Customer")
        self.assertRegex(order.name, r"^S\d+$")
        for model, more in (("sale.order", {}), ("purchase.order", {"date_order": "2026-12-01"})):
            values = {"name": "Chairs", "partner_id": "Wishful Customer", **more}
            said = self._not_done("create_record", model=model, values=values)
            self.assertIn(f"“name” of {model} is a number that Odoo gives.", said)
        wanted = {"model": "sale.order", "ids": order.ids, "values": {"name": "Chairs"}}
        self.assertIn("is a number that Odoo gives", self._not_done("update_records", **wanted))
        said, _data = self._read(self.internal, "describe_model", model="sale.order", query="name")
        self.assertRegex(said, r"(?m)^name: char")
        line = {"model": "sale.order.line", "query": "name"}
        self.assertIn("name*: text", self._read(self.internal, "describe_model", **line)[0])

    def test_what_is_sent_tells_no_hidden_amount(self):
        """Neither by its text, which a template makes of the order, nor by the report that comes with it."""
        order = self._quotation()
        self._sent(order)
        (file,) = order.message_ids.attachment_ids
        read = {"model": "sale.order", "id": order.id}
        amount = f"{order.amount_total:.2f}"
        said, _data = self._read(self.internal, "read_chatter", **read)
        self.assertIn(amount, said)
        self.assertIn(f"File: {file.name}", said)
        line = self.assistant.record_access_ids.filtered(lambda one: one.model == "sale.order")
        line.hidden_fields = "amount_total"
        self.env.flush_all()
        said, data = self._read(self.internal, "read_chatter", **read)
        self.assertNotIn(amount, f"{said} {data}")
        said = self._refused(self.internal, "read_chatter", file=file.name, **read)
        self.assertIn("report of Odoo", said)

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

    def test_an_invoice_is_sent_by_mail_with_its_pdf(self):
        self._load_accounts()
        invoice = self._created(
            "account.move",
            move_type="Customer Invoice",
            partner_id="Wishful Customer",
            invoice_line_ids=[{"name": "Work", "quantity": 2, "price_unit": 100, "tax_ids": []}],
        )
        wanted = {"model": "account.move", "ids": invoice.ids, "action": "Send by Email"}
        self.assertIn("not posted", self._not_done("run_action", **wanted))
        self._act("Post", invoice)
        self._sent(invoice)
        self.assertTrue(invoice.is_move_sent)
        self.assertIn(invoice.name.replace("/", "_"), invoice.invoice_pdf_report_id.name)
        with printing() as printed:
            self._print(invoice)
        self.assertEqual(len(self.row.attachment_ids), 1, printed)
        self.customer.email = False
        self.env.flush_all()
        self.assertIn("no email address", self._not_done("run_action", **wanted))

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
        order = self._quotation()
        self._act("Confirm", order)
        picking = order.picking_ids
        self._act("Validate", picking)
        self.assertEqual(picking.state, "done")

    def test_a_purchase_is_confirmed(self):
        order = self.env["purchase.order"].create(
            {
                "partner_id": self.customer.id,
                "order_line": [Command.create({"product_id": self.chair.id, "product_qty": 3})],
            }
        )
        with printing() as printed:
            self._print(order)
        self.assertIn("Wishful Chair", "".join(printed))
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

    # ------------------------------------------------------------ meetings

    def test_an_attendee_is_added_and_hears_of_it(self):
        meeting = self._created(
            "calendar.event",
            name="Wishful Meeting",
            start="2030-05-01 10:00",
            stop="2030-05-01 11:00",
        )
        before = meeting.partner_ids
        self._done(
            "update_records",
            model="calendar.event",
            ids=meeting.ids,
            values={"partner_ids": {"add": ["Wishful Customer"]}},
        )
        self.assertEqual(meeting.partner_ids, before | self.customer)
        told = str([one["recipients"] for one in self.shown["messages"]])
        self.assertIn("Wishful Customer <wishful@example.com>", told)

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
