"""Standard actions: what each does with records that the person may change, as Odoo's own button does it."""

from odoo import fields
from odoo.fields import Command

from ...services.records.actions import ACTIONS
from ...services.records.errors import RecordError, invalid, unknown
from . import convert, vals


def run(reach, records, name, given):
    """:raises RecordError: the person may not change one of them, or Odoo does not do it so"""
    takes = ACTIONS[records._name][name]
    if not isinstance(given, dict):
        raise invalid("“values” must be an object.")
    for one in given:
        if one not in takes:
            raise unknown(f"value of {name}", one, takes)
    if refused := records - records._filtered_access("write"):
        raise RecordError(
            f"The user has no right to change record {', '.join(map(str, refused.ids))} of {records._name}.",
            outcome="denied",
        )
    _STEPS[records._name, name](reach, records, given)


def _confirm(_reach, orders, _given):
    orders.action_confirm()


def _cancel(_reach, orders, _given):
    orders.action_cancel()


def _invoice(_reach, orders, _given):
    if not orders._create_invoices():
        raise RecordError("There is nothing to invoice.")


def _send(reach, orders, _given):
    for order in orders:
        if not order.partner_id.email:
            raise RecordError(f"{reach.named_as(order.partner_id)} has no email address.")
        order._send_order_notification_mail(order._find_mail_template())
    orders.filtered(lambda order: order.state == "draft").action_quotation_sent()


def _post(_reach, moves, _given):
    moves.action_post()


def _pay(reach, moves, given):
    """As the dialog does; what is not said is what it proposes."""
    Register = reach.env["account.payment.register"].with_context(
        active_model=moves._name, active_ids=moves.ids, dont_redirect_to_payments=True
    )
    values = {}
    if given.get("amount") is not None:
        values["amount"] = convert.scalar(Register, Register._fields["amount"], given["amount"])
    if given.get("date"):
        day = convert.scalar(Register, Register._fields["payment_date"], given["date"])
        values["payment_date"] = day or fields.Date.context_today(Register)
    if given.get("journal"):
        journal = reach.one(reach.env["account.journal"], given["journal"], "journal")
        values["journal_id"] = journal.id
    Register.create(values).action_create_payments()


def _win(_reach, leads, _given):
    leads.action_set_won()


def _lose(reach, leads, given):
    reasons = reach.env["crm.lost.reason"]
    if not given.get("reason"):
        raise unknown("reason", "", reasons.search([], limit=20).mapped("name"))
    lost = {
        "lead_ids": [Command.set(leads.ids)],
        "lost_reason_id": reach.one(reasons, given["reason"], "reason").id,
        "lost_feedback": vals.rich(vals.text(given.get("note") or "")),
    }
    reach.env["crm.lead.lost"].create(lost).action_lost_reason_apply()


def _validate(reach, pickings, _given):
    if waiting := pickings.filtered(lambda picking: picking.state == "confirmed"):
        waiting.action_assign()
    pickings.button_validate()
    for picking in pickings:
        if picking.state != "done":  # a dialog would ask
            raise RecordError(
                f"{reach.named_as(picking)} is not done: not all of it is there, or Odoo asks something first. "
                "A person decides in Odoo."
            )


def _confirm_purchase(_reach, orders, _given):
    orders.button_confirm()


def _cancel_purchase(_reach, orders, _given):
    orders.button_cancel()


_STEPS = {
    ("sale.order", "Confirm"): _confirm,
    ("sale.order", "Cancel"): _cancel,
    ("sale.order", "Create Invoice"): _invoice,
    ("sale.order", "Send by Email"): _send,
    ("account.move", "Post"): _post,
    ("account.move", "Register Payment"): _pay,
    ("crm.lead", "Mark as Won"): _win,
    ("crm.lead", "Mark as Lost"): _lose,
    ("stock.picking", "Validate"): _validate,
    ("purchase.order", "Confirm"): _confirm_purchase,
    ("purchase.order", "Cancel"): _cancel_purchase,
}
