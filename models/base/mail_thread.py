import json

from odoo import models


class MailThread(models.AbstractModel):
    _inherit = "mail.thread"

    def _web_push_send_notification(
        self, devices, private_key, public_key, payload_by_lang=None, payload=None
    ):
        """Odoo would ask the push service of each browser here and now, for five seconds each and again when
        the transaction is repeated; what an assistant posts, anywhere, is sent by Odoo's cron, after the commit."""
        if not self.env.context.get("woow_ai_push_later"):
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
