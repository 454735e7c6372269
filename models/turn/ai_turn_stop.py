from odoo import fields, models


class AiTurnStop(models.Model):
    """A stop request that met a locked row and waits for it, see `AiTurn._apply_stops`.

    It has no foreign key, which would wait for the row too.
    """

    _name = "woow_paas_platform.ai_turn_stop"
    _description = "AI Turn Stop Request"
    _log_access = False

    turn_id = fields.Integer(required=True, readonly=True)

    _turn_unique = models.UniqueIndex("(turn_id)")
