from odoo import api, models


class ToolCall(models.Model):
    _name = "woow_paas_platform.tool_call"
    _inherit = ["woow_paas_platform.tool_call", "woow_paas_platform.filter.mixin"]

    @api.model
    def _fields_to_filter(self):
        return super()._fields_to_filter() | {
            "action_id",
            "approval",
            "assistant_id",
            "bytes",
            "create_date",
            "decided_at",
            "decided_by_id",
            "decision",
            "duration_ms",
            "is_changed",
            "operation_id",
            "outcome",
            "records",
            "round",
            "server_id",
            "server_name",
            "started_at",
            "title",
            "tokens",
            "tool_id",
            "tool_name",
            "turn_id",
            "user_id",
        }
