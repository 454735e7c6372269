from odoo import fields, models


class OrderedJson(fields.Json):
    """JSON whose objects keep the order of their keys, which `jsonb` sorts by their length: what people read."""

    _column_type = ("json", "json")


class AiTurnEvent(models.Model):
    """An event of a turn's log, which every stream replays: written once, in order, never changed."""

    _name = "woow_paas_platform.ai_turn_event"
    _description = "AI Turn Event"
    _order = "turn_id, seq"
    _log_access = False

    turn_id = fields.Many2one(
        "woow_paas_platform.ai_turn", required=True, readonly=True, ondelete="cascade"
    )
    seq = fields.Integer(required=True, readonly=True)
    payload = OrderedJson(required=True, readonly=True)

    _turn_seq_unique = models.UniqueIndex("(turn_id, seq)")


class AiTurnStop(models.Model):
    """A stop request that met a locked row and waits for it, see `AiTurn._apply_stops`.

    It has no foreign key, which would wait for the row too.
    """

    _name = "woow_paas_platform.ai_turn_stop"
    _description = "AI Turn Stop Request"
    _log_access = False

    turn_id = fields.Integer(required=True, readonly=True)

    _turn_unique = models.UniqueIndex("(turn_id)")
