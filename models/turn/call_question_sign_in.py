from odoo import fields, models


class CallQuestion(models.Model):
    _inherit = "woow_paas_platform.call_question"

    kind = fields.Selection(selection_add=[("sign_in", "Sign-in")], ondelete={"sign_in": "cascade"})

    def _choices(self):
        """That somebody has signed in is not said but done."""
        return ["decline"] if self.kind == "sign_in" else super()._choices()
