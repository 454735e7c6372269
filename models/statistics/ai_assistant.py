from odoo import fields, models


class AiAssistant(models.Model):
    _inherit = "ai.assistant"

    turn_count = fields.Integer(
        "Questions", compute="_compute_turn_count", groups="woow_paas_platform.group_admin"
    )
    call_count = fields.Integer(
        "Tool Calls", compute="_compute_turn_count", groups="woow_paas_platform.group_admin"
    )

    def _compute_turn_count(self):
        turns = dict(
            self.env["woow_paas_platform.ai_turn"]._read_group(
                [("assistant_id", "in", self.ids)], ["assistant_id"], ["__count"]
            )
        )
        calls = dict(
            self.env["woow_paas_platform.tool_call"]._read_group(
                [("turn_id.assistant_id", "in", self.ids)], ["turn_id.assistant_id"], ["__count"]
            )
        )
        for assistant in self:
            assistant.turn_count = turns.get(assistant, 0)
            assistant.call_count = calls.get(assistant, 0)

    def action_view_turns(self):
        self.ensure_one()
        action = self.env["ir.actions.actions"]._for_xml_id("woow_paas_platform.ai_turn_action")
        return {**action, "domain": [("assistant_id", "=", self.id)], "context": {}}

    def action_view_calls(self):
        self.ensure_one()
        action = self.env["ir.actions.actions"]._for_xml_id("woow_paas_platform.tool_call_action")
        return {**action, "domain": [("assistant_id", "=", self.id)], "context": {}}
