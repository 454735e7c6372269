from odoo import api, fields, models


class RequestSlot(models.Model):
    """One request that holds a thread while a server answers, see `runtime/web/slots.py`, which writes it in plain SQL.

    It has no foreign key, so that nobody who waits locks a user.
    """

    _name = "woow_paas_platform.request_slot"
    _description = "Waiting Request"
    _log_access = False

    uid = fields.Integer(required=True, readonly=True)
    number = fields.Integer(required=True, readonly=True)
    holder = fields.Char(required=True, readonly=True)
    until = fields.Datetime(required=True, readonly=True)

    _slot_unique = models.UniqueIndex("(uid, number)")

    @api.autovacuum
    def _gc_ended(self):
        self.search([("until", "<", fields.Datetime.now())], limit=10_000).unlink()
