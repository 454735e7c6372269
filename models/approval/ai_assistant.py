from odoo import fields, models


class AiAssistant(models.Model):
    _inherit = "ai.assistant"

    approval_mode = fields.Selection(
        [("policy", "Based on their annotations"), ("auto", "Always run")],
        "Tools without a Policy",
        required=True,
        default="policy",
        help="Applies to tools without a policy. “Based on their annotations” runs read-only tools of "
        "trusted servers and asks the user before all others.",
    )
    approval_rule_ids = fields.One2many(
        "woow_paas_platform.approval_rule",
        "assistant_id",
        "Approval Rules",
        groups="woow_paas_platform.group_admin",
    )
