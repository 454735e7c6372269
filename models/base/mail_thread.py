import json

from odoo import models

from ...tools import db


class MailThread(models.AbstractModel):
    """Odoo would ask the push service of each browser here and now, for five seconds each and again when the
    transaction is repeated, and the mail server right after the commit, in the same thread. What an assistant posts,
    anywhere, and what our own transactions tell people is sent by Odoo's crons."""

    _inherit = "mail.thread"

    def _sends_later(self):
        return db.SEND_LATER.items() <= self.env.context.items()

    def _web_push_send_notification(
        self, devices, private_key, public_key, payload_by_lang=None, payload=None
    ):
        if not self._sends_later():
            return super()._web_push_send_notification(
                devices, private_key, public_key, payload_by_lang, payload
            )
        payloads = payload_by_lang or {}
        # sudo: mail.push - the rows that Odoo itself makes for many devices
        self.env["mail.push"].sudo().create(
            [
                {
                    "mail_push_device_id": device.id,
                    "payload": json.dumps(payloads.get(device.partner_id.lang, payload)),
                }
                for device in devices
            ]
        )
        return self.env.ref("mail.ir_cron_web_push_notification")._trigger()

    def _notify_thread_by_email(self, message, recipients_data, **kwargs):
        if not self._sends_later():
            return super()._notify_thread_by_email(message, recipients_data, **kwargs)
        later = self.with_context(mail_notify_force_send=False)
        done = super(MailThread, later)._notify_thread_by_email(message, recipients_data, **kwargs)
        if any(recipient["notif"] == "email" for recipient in recipients_data):
            self.env.ref("mail.ir_cron_mail_scheduler_action")._trigger()
        return done
