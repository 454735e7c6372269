from odoo import fields, models


class IrActionsServer(models.Model):
    _inherit = "ir.actions.server"

    woow_ai_chat = fields.Boolean(
        readonly=True, help="Created for models whose records are linked to a cloud service."
    )
