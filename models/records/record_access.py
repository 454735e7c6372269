"""Record access of an assistant: what it may do with one model, always within the user's own rights."""

from odoo import api, fields, models
from odoo.exceptions import ValidationError

from ...services.records import reach
from ...services.records.access import Access
from ...services.records.errors import unknown

FLAGS = {
    "can_create": "create",
    "can_update": "update",
    "can_archive": "archive",
    "can_delete": "delete",
    "can_message": "message",
    "can_schedule": "activity",
}
PRESETS = {  # the first model tells whether the application is installed
    "contacts": ("res.partner", "res.partner.category"),
    "crm": ("crm.lead", "crm.stage", "crm.team", "crm.tag", "res.partner"),
    "sales": (
        "sale.order",
        "sale.order.line",
        "product.product",
        "product.template",
        "res.partner",
    ),
    "invoices": ("account.move", "account.move.line", "res.partner"),
    "purchase": ("purchase.order", "purchase.order.line", "product.product", "res.partner"),
    "projects": ("project.project", "project.task", "project.task.type", "project.tags"),
    "stock": ("stock.picking", "stock.move", "stock.quant", "product.product"),
    "calendar": ("calendar.event",),
    "employees": ("hr.employee", "hr.department", "hr.job"),
    "timeoff": ("hr.leave", "hr.leave.type"),
}


class RecordAccess(models.Model):
    _name = "woow_paas_platform.record_access"
    _description = "Record Access"
    _order = "assistant_id, sequence, id"
    _rec_name = "model"

    assistant_id = fields.Many2one("ai.assistant", required=True, ondelete="cascade", index=True)
    sequence = fields.Integer(default=10)
    model = fields.Selection("_selection_model", required=True)
    can_create = fields.Boolean("Create")
    can_update = fields.Boolean("Update")
    can_archive = fields.Boolean("Archive")
    can_delete = fields.Boolean("Delete")
    can_message = fields.Boolean("Post Messages")
    can_schedule = fields.Boolean("Schedule Activities")
    policy = fields.Selection(
        [("ask", "Ask first"), ("auto", "Run")],
        "Changes",
        required=True,
        default="ask",
        help="“Run” changes records without asking the user, except for what cannot be taken back after the "
        "assistant has read other people's content.",
    )
    hidden_fields = fields.Char(
        help="Technical names of fields that the assistant never sees, separated by commas."
    )
    action_ids = fields.Many2many(
        "ir.actions.server",
        "woow_record_access_action_rel",
        "access_id",
        "action_id",
        "Released Actions",
        domain="[('model_name', '=', model)]",
        groups="base.group_system",
        help="Server actions that the assistant may run on these records.",
    )

    _model_unique = models.Constraint(
        "UNIQUE (assistant_id, model)", "The assistant already has this model."
    )

    @api.model
    def _selection_model(self):
        """Every model that can be chosen at all, with its label."""
        # sudo: ir.model - what administrators choose from, in one query
        names = {one.model: one.name for one in self.env["ir.model"].sudo().search([])}
        options = [
            (name, f"{names.get(name) or model._description} ({name})")
            for name, model in self.env.items()
            if not (model._abstract or model._transient or reach.is_denied(name))
        ]
        return sorted(options, key=lambda option: option[1].lower())

    @api.constrains("model")
    def _check_model(self):
        options = dict(self._selection_model())
        for access in self.filtered(lambda line: line.model not in options):
            raise ValidationError(
                self.env._("Assistants can never use the model “%(model)s”.", model=access.model)
            )

    @api.constrains("model", "hidden_fields")
    def _check_hidden_fields(self):
        for access in self.filtered(lambda line: line.model in self.env):
            for name in access._hidden() - self.env[access.model]._fields.keys():
                raise ValidationError(str(unknown("field", name, self.env[access.model]._fields)))

    @api.constrains("model", "action_ids")
    def _check_actions(self):
        # sudo: ir.actions.server - code that an administrator releases here, read to be checked
        for access in self.sudo():
            for action in access.action_ids:
                if action.model_name != access.model:
                    raise ValidationError(
                        self.env._(
                            "The action “%(action)s” belongs to another model.", action=action.name
                        )
                    )
                if _commits(action):
                    raise ValidationError(
                        self.env._(
                            "The action “%(action)s” commits or opens a cursor by itself, so it cannot be released.",
                            action=action.name,
                        )
                    )

    def _hidden(self):
        return {name.strip() for name in (self.hidden_fields or "").split(",") if name.strip()}

    def _access(self):
        """:return: `services.records.access.Access`"""
        self.ensure_one()
        operations = {"read", *(name for flag, name in FLAGS.items() if self[flag])}
        actions = {action.name: action.id for action in self.action_ids if not _commits(action)}
        if actions:
            operations.add("action")
        return Access(
            model=self.model,
            operations=frozenset(operations),
            hidden=frozenset(self._hidden()),
            asks=self.policy != "auto",
            actions=actions,
        )


def _commits(action):
    """Whether the code of an action, or of one that it runs, ends the transaction or leaves it."""
    code = (action.code or "").lower() if action.state == "code" else ""
    words = ("commit", "rollback", "cursor(")
    return any(word in code for word in words) or any(map(_commits, action.child_ids))
