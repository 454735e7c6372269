from odoo import fields, models


class AiAssistant(models.Model):
    _inherit = "ai.assistant"

    approval_mode = fields.Selection(
        [("policy", "By their annotations"), ("auto", "Always run")],
        "Tools without a Policy",
        required=True,
        default="policy",
        help="What holds for tools that nobody has set a policy for. By their annotations: a tool that only "
        "reads, of a trusted server, runs; the others ask the person first.",
    )
    approval_rule_ids = fields.One2many(
        "woow_paas_platform.approval_rule",
        "assistant_id",
        "Approval Rules",
        groups="woow_paas_platform.group_admin",
    )
