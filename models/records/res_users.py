from odoo import models


class ResUsers(models.Model):
    _inherit = "res.users"

    def _woow_ai_companies(self, asked):
        """Those that were active, as far as the person still belongs to them; else all of the person's.

        :param asked: ids that a browser or a program named, not checked
        """
        self.ensure_one()
        mine = self.company_ids
        active = [i for i in asked or () if i in mine.ids]
        return mine.browse(active) if active else self.company_id | mine
