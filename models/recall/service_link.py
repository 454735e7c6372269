from odoo import models


class ServiceLink(models.Model):
    _inherit = "woow_paas_platform.service_link"

    def _has_actions(self, record):
        actions = self.env["woow_paas_platform.action_type"]._for_record(record)
        return bool(actions) or super()._has_actions(record)
