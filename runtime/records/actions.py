"""Standard actions: what each does with records that the person may change, as Odoo's own button does it."""

import base64

from odoo import fields
from odoo.fields import Command
from odoo.tools.safe_eval import safe_eval
from odoo.tools.safe_eval import time as safe_time

from ...services import text
from ...services.llm import files
from ...services.records.actions import ACTIONS, READS
from ...services.records.errors import RecordError, invalid, unknown
from ...services.sentence import _lt
from . import convert, vals

MAX_PRINTED = 20  # records of one PDF
MAX_NAME = 100  # characters of a file's name


def run(scope, records, name, given):
    """
    :return: files that it has made, for the person: ``[{"name", "mimetype", "data"}]``, or None
    :raises RecordError: the person may not change one of them, or Odoo does not do it so
    """
    takes = ACTIONS[records._name][name]
    if not isinstance(given, dict):
        raise invalid("“values” must be an object.")
    for one in given:
        if one not in takes:
            raise unknown(f"value of {name}", one, takes)
    if name not in READS and (refused := records - records._filtered_access("write")):
        raise RecordError(
            _lt(
                "The user has no right to change record %(ids)s of %(model)s.",
                ids=", ".join(map(str, refused.ids)),
                model=records._name,
            ),
            outcome="denied",
        )
    return _STEPS[records._name, name](scope, records, given)


def _confirm(_scope, orders, _given):
    orders.action_confirm()


def _cancel(_scope, orders, _given):
    orders.action_cancel()


def _invoice(_scope, orders, _given):
    if not orders._create_invoices():
        raise RecordError(_lt("There is nothing to invoice."))


def _send(scope, orders, _given):
    """Now, also where Odoo would leave it to a cron: the question tells what is sent to whom."""
    _check_addresses(scope, orders)
    for order in orders:
        template = order._find_mail_template()
        if not template:
            raise RecordError(
                _lt("There is no email template for %(name)s.", name=scope.named_as(order))
            )
        order._send_order_notification_mail(template, allow_deferred_sending=False)
    orders.filtered(lambda order: order.state == "draft").action_quotation_sent()


def _send_invoice(scope, moves, _given):
    """Send by email only: what else a customer has chosen, such as an electronic invoice, asks other services."""
    _check_addresses(scope, moves)
    scope.env["account.move.send"]._generate_and_send_invoices(
        moves, sending_methods=["email"], extra_edis={}
    )


def _check_addresses(scope, records):
    for partner in records.partner_id:
        if not partner.email:
            raise RecordError(_lt("%(name)s has no email address.", name=scope.named_as(partner)))
    if nobody := records.filtered(lambda record: not record.partner_id):
        raise RecordError(_lt("%(name)s has no customer.", name=scope.named_as(nobody[:1])))


def _print(scope, records, given):
    """A report of Odoo's *Print* menu as a PDF, the first one where none is named."""
    if scope.hides:
        raise RecordError(
            _lt("A report may show fields that this assistant hides, so it prints none.")
        )
    if len(records) > MAX_PRINTED:
        raise invalid(f"At most {MAX_PRINTED} records can be printed at once.")
    Report = scope.env["ir.actions.report"]
    bound = Report.get_bindings(records._name).get("report", ())
    # sudo: ir.actions.report - those of the person's own menu, see `get_bindings`
    reports = Report.sudo().search(
        [("id", "in", [one["id"] for one in bound]), ("report_type", "=", "qweb-pdf")], order="id"
    )
    reports = reports.browse(reports.get_valid_action_reports(records._name, records.ids))
    if given.get("report") or not reports:
        reports = vals.one_of(reports, given.get("report"), "report")
    report = reports[:1]
    content, _kind = Report._render_qweb_pdf(report.id, records.ids)
    if len(content) > files.MAX_BYTES:
        raise RecordError(_lt("The PDF is larger than %(size)s.", size=text.size(files.MAX_BYTES)))
    name = report.name
    if report.print_report_name and len(records) == 1:
        about = {"object": records, "time": safe_time}
        name = safe_eval(report.print_report_name, about) or name
    name = f"{text.one_line(str(name), MAX_NAME)}.pdf"
    data = base64.b64encode(content).decode()
    return [{"name": name, "mimetype": "application/pdf", "data": data}]


def _post(_scope, moves, _given):
    moves.action_post()


def _pay(scope, moves, given):
    """Pay as the dialog does; what is not said is what it proposes."""
    Register = scope.env["account.payment.register"].with_context(
        active_model=moves._name, active_ids=moves.ids, dont_redirect_to_payments=True
    )
    values = {}
    if given.get("amount") is not None:
        values["amount"] = convert.scalar(Register, Register._fields["amount"], given["amount"])
    if given.get("date"):
        day = convert.scalar(Register, Register._fields["payment_date"], given["date"])
        values["payment_date"] = day or fields.Date.context_today(Register)
    if given.get("journal"):
        journal = scope.one(scope.env["account.journal"], given["journal"], "journal")
        values["journal_id"] = journal.id
    Register.create(values).action_create_payments()


def _win(_scope, leads, _given):
    leads.action_set_won()


def _lose(scope, leads, given):
    reasons = scope.env["crm.lost.reason"]
    if not given.get("reason"):
        raise unknown("reason", "", reasons.search([], limit=20).mapped("name"))
    lost = {
        "lead_ids": [Command.set(leads.ids)],
        "lost_reason_id": scope.one(reasons, given["reason"], "reason").id,
        "lost_feedback": vals.rich(vals.text(given.get("note") or "")),
    }
    scope.env["crm.lead.lost"].create(lost).action_lost_reason_apply()


def _validate(scope, pickings, _given):
    if waiting := pickings.filtered(lambda picking: picking.state == "confirmed"):
        waiting.action_assign()
    pickings.button_validate()
    for picking in pickings:
        if picking.state != "done":  # a dialog would ask
            raise RecordError(
                _lt(
                    "%(name)s is not done: something is missing, or Odoo has a question first. "
                    "A person must decide in Odoo.",
                    name=scope.named_as(picking),
                )
            )


def _confirm_purchase(_scope, orders, _given):
    orders.button_confirm()


def _cancel_purchase(_scope, orders, _given):
    orders.button_cancel()


_STEPS = {
    ("sale.order", "Confirm"): _confirm,
    ("sale.order", "Cancel"): _cancel,
    ("sale.order", "Create Invoice"): _invoice,
    ("sale.order", "Send by Email"): _send,
    ("sale.order", "Print"): _print,
    ("account.move", "Post"): _post,
    ("account.move", "Register Payment"): _pay,
    ("account.move", "Send by Email"): _send_invoice,
    ("account.move", "Print"): _print,
    ("crm.lead", "Mark as Won"): _win,
    ("crm.lead", "Mark as Lost"): _lose,
    ("stock.picking", "Validate"): _validate,
    ("stock.picking", "Print"): _print,
    ("purchase.order", "Confirm"): _confirm_purchase,
    ("purchase.order", "Cancel"): _cancel_purchase,
    ("purchase.order", "Print"): _print,
}
