from odoo import api, models

from ...tools import copies


class IrConfigParameter(models.Model):
    _inherit = "ir.config_parameter"

    @api.private
    def init(self, force=False):
        """Odoo gives a copy of a database an identity of its own."""
        result = super().init(force)
        if force:
            copies.end_what_is_under_way(self.env.cr)
            self.env.invalidate_all()
        return result
