from odoo import api, fields, models


class AiTurn(models.Model):
    """What administrators see of turns: token usage as columns that can be summed, filters, the conversation."""

    _name = "woow_paas_platform.ai_turn"
    _inherit = ["woow_paas_platform.ai_turn", "woow_paas_platform.filter.mixin"]

    tokens = fields.Integer(
        compute="_compute_cost",
        store=True,
        precompute=True,
        aggregator="sum",
        help="Tokens that the language model has read and written.",
    )
    duration_ms = fields.Integer(
        "Duration (ms)", compute="_compute_cost", store=True, precompute=True, aggregator="avg"
    )

    call_count = fields.Integer("Number of Calls", compute="_compute_counts")
    conversation_turn_count = fields.Integer("Questions in Conversation", compute="_compute_counts")

    error_sentence = fields.Char("Error", compute="_compute_error_sentence")

    _created = models.Index("(create_date)")

    @api.depends("usage")
    def _compute_cost(self):
        for turn in self:
            usage = turn.usage or {}
            turn.tokens = (usage.get("input_tokens") or 0) + (usage.get("output_tokens") or 0)
            turn.duration_ms = usage.get("duration_ms") or 0

    @api.depends("error_code", "error_message")
    @api.depends_context("lang")
    def _compute_error_sentence(self):
        """In the language of whoever reads it; what is stored is in that of the person who asked."""
        for turn in self:
            said = turn.error_message or ""
            turn.error_sentence = turn.error_code and turn._error_sentence(turn.error_code, said)

    def _compute_counts(self):
        calls = dict(
            self.env["woow_paas_platform.tool_call"]._read_group(
                [("turn_id", "in", self.ids)], ["turn_id"], ["__count"]
            )
        )
        turns = dict(
            self._read_group(
                [("channel_id", "in", self.channel_id.ids)], ["channel_id"], ["__count"]
            )
        )
        for turn in self:
            turn.call_count = calls.get(turn, 0)
            turn.conversation_turn_count = turns.get(turn.channel_id, 0)

    def action_view_conversation(self):
        """The turns of its conversation: what people said stays in their chats."""
        self.ensure_one()
        action = self.env["ir.actions.actions"]._for_xml_id("woow_paas_platform.ai_turn_action")
        return {**action, "domain": [("channel_id", "=", self.channel_id.id)], "context": {}}

    def action_open_chat(self):
        """The conversation itself, for the person who has it."""
        self.ensure_one()
        action = self.env["ir.actions.actions"]._for_xml_id("woow_paas_platform.ai_chat_action")
        return {**action, "params": {"conversation_id": self.channel_id.id}}

    @api.model
    def _fields_to_filter(self):
        return super()._fields_to_filter() | {
            "assistant_id",
            "call_ids",
            "channel_id",
            "cloud_service_id",
            "config_id",
            "create_date",
            "duration_ms",
            "ended_at",
            "error_message",
            "is_from_discuss",
            "prompt",
            "started_at",
            "state",
            "tokens",
            "user_id",
        }

    @api.model
    def _prunes(self):
        return [*super()._prunes(), self.env["woow_paas_platform.tool_call_sum"]._fold_old]
