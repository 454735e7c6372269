from odoo import fields, models


class AiTurnEvent(models.Model):
    """The log of a turn: what every stream replays. Written once, in order, never changed."""

    _name = "woow_paas_platform.ai_turn_event"
    _description = "AI Turn Event"
    _order = "turn_id, seq"
    _log_access = False

    turn_id = fields.Many2one(
        "woow_paas_platform.ai_turn", required=True, readonly=True, ondelete="cascade"
    )
    seq = fields.Integer(required=True, readonly=True)
    payload = fields.Json(required=True, readonly=True)

    _turn_seq_unique = models.UniqueIndex("(turn_id, seq)")
