import uuid

from odoo import fields, models


class KnowledgeNetwork(models.Model):
    """A named set of action types, and who may use them."""

    _name = "woow_paas_platform.knowledge_network"
    _description = "Knowledge Network"
    _order = "name, id"

    name = fields.Char(required=True, translate=True)
    kn_id = fields.Char(
        "Network ID",
        required=True,
        copy=False,
        default=lambda self: str(uuid.uuid4()),
        help="Identifies the network in the action recall API.",
    )
    active = fields.Boolean(default=True)
    description = fields.Text(translate=True)
    group_ids = fields.Many2many(
        "res.groups",
        string="Available To",
        help="Leave empty to offer its actions to all signed-in users, including portal users.",
    )
    action_type_ids = fields.One2many("woow_paas_platform.action_type", "network_id")

    _kn_id_unique = models.Constraint("UNIQUE (kn_id)", "Another network already uses this ID.")
