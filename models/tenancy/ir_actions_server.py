from odoo import fields, models


class IrActionsServer(models.Model):
    _inherit = "ir.actions.server"

    woow_ai_chat = fields.Boolean(
        readonly=True, help="Made for records that are linked to a cloud service."
    )
