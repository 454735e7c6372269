import json

from odoo import api, fields, models
from odoo.exceptions import ValidationError

from ...services.openapi.recall import DEPTH
from ...tools.moments import utc

MAX_RELATED = 200  # records of a to-many field that become a list of values


class ActionParameter(models.Model):
    """One argument of an action's tool: fixed by the record or a constant, or left to the model."""

    _name = "woow_paas_platform.action_parameter"
    _description = "Action Type Parameter"
    _order = "sequence, id"

    action_id = fields.Many2one(
        "woow_paas_platform.action_type", required=True, ondelete="cascade", index=True
    )
    model = fields.Char(related="action_id.model", string="Technical Model Name")
    sequence = fields.Integer(default=10)
    location = fields.Selection(
        [("path", "Path"), ("query", "Query"), ("header", "Header"), ("body", "Body")],
        help="Where a toolbox operation expects the parameter; empty for MCP tools.",
    )
    name = fields.Char("Parameter", required=True)
    source = fields.Selection(
        [
            ("dynamic", "Chosen by the model"),
            ("field", "From the record"),
            ("constant", "Constant"),
        ],
        required=True,
        default="dynamic",
    )
    field_path = fields.Char(
        "Field", help="A field of the record, or a path such as partner_id.email."
    )
    constant = fields.Char(help="Text, or a JSON value such as 5, true or [1, 2].")
    description = fields.Char(help="Shown to the model instead of the tool's own description.")

    _source_complete = models.Constraint(
        "CHECK ((source <> 'field' OR field_path IS NOT NULL)"
        " AND (source <> 'constant' OR constant IS NOT NULL))",
        "A fixed parameter requires a field or a constant.",
    )
    _name_unique = models.UniqueIndex(
        "(action_id, COALESCE(location, ''), name)", "Each parameter can be listed only once."
    )

    @api.constrains("source", "field_path", "action_id")
    def _check_field_path(self):
        for parameter in self.filtered(lambda p: p.source == "field"):
            model = self.env[parameter.action_id.model]
            parts = parameter.field_path.split(".")
            for depth, part in enumerate(parts):
                field = model._fields.get(part) if model is not None else None
                if field is None or depth > DEPTH:
                    raise ValidationError(
                        self.env._(
                            "“%(path)s” is not a valid field path of %(model)s.",
                            path=parameter.field_path,
                            model=parameter.action_id.model_id.name,
                        )
                    )
                model = self.env[field.comodel_name] if field.relational else None

    @property
    def _slot(self):
        return (self.location or "", self.name)

    def _fixed_value(self, record):
        """The value for a record, as JSON has it; None where the record has nothing there.

        :param record: read with the rights of its environment
        :raises AccessError: these rights do not cover the path
        """
        self.ensure_one()
        if self.source == "constant":
            return self._constant_value()
        found = record
        *path, last = self.field_path.split(".")
        for part in path:
            found = found[part]
        field = found._fields[last]
        if len(found) > 1:
            values = [_plain(field, item[last]) for item in found[:MAX_RELATED]]
            return [value for value in values if value is not None]
        return _plain(field, found[last]) if found else None

    def _constant_value(self):
        text = (self.constant or "").strip()
        try:
            return json.loads(text)
        except ValueError:
            return text


def _plain(field, value):
    """A field's value as JSON has it: the id of a record, ISO 8601 for dates, None for nothing."""
    if field.relational:
        return value[:MAX_RELATED].ids if field.type.endswith("2many") else value.id or None
    if field.type == "boolean":
        return value
    if value is False or value is None or value == "":
        return None
    if field.type == "date":
        return fields.Date.to_string(value)
    if field.type == "datetime":
        return utc(value)
    if field.type == "binary":
        return value.decode() if isinstance(value, bytes) else None
    return value if isinstance(value, bool | int | float | str | list | dict) else str(value)
