from odoo import fields, models


class AiAssistant(models.Model):
    _inherit = "ai.assistant"

    approval_mode = fields.Selection(
        [
            ("policy", "Ask first, except for read-only tools of trusted servers"),
            ("auto", "Always run"),
        ],
        "Unless a Tool Says Otherwise",
        required=True,
        default="policy",
        help="Applies to tools whose approval policy is “Based on its annotations”.",
    )
    approval_rule_ids = fields.One2many(
        "woow_paas_platform.approval_rule",
        "assistant_id",
        "Approval Rules",
        groups="woow_paas_platform.group_admin",
    )
