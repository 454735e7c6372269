from odoo import api, models
from odoo.exceptions import AccessError
from odoo.models import MAGIC_COLUMNS


class ReadonlyMixin(models.AbstractModel):
    """``readonly=True`` means it: such columns are written by Odoo itself (sudo), by nobody else over any route.

    Odoo's own `readonly` is a matter of views. What a person creates starts with the model's own defaults
    there, whatever defaults the caller's context or `ir.default` hold.
    """

    _name = "woow_paas_platform.readonly.mixin"
    _description = "Read-Only Fields Mixin"

    @api.model_create_multi
    def create(self, vals_list):
        if not self.env.su:
            for vals in vals_list:
                self._check_readonly(vals)
            columns = self._readonly_columns()
            hidden = [c for c in columns if not self._has_field_access(c, "write")]
            # Odoo refuses to set a hidden column, so no default may be there for it.
            context = dict(self.env.context)
            for column in hidden:
                context.pop(f"default_{column.name}", None)
            # Only a whole context can lack a key that is there.
            self = self.with_context(context)  # noqa: PLW0642 pylint: disable=context-overridden
            vals_list = [
                vals
                | {
                    c.name: c.default(self) if c.default else False
                    for c in columns
                    if c not in hidden
                }
                for vals in vals_list
            ]
        return super().create(vals_list)

    def write(self, vals):
        if not self.env.su:
            self._check_readonly(vals)
        return super().write(vals)

    @api.model
    def _readonly_columns(self):
        return [
            field
            for name, field in self._fields.items()
            if field.readonly and field.store and field.column_type and not field.compute
            if name not in MAGIC_COLUMNS
        ]

    @api.model
    def _check_readonly(self, vals):
        """:raises AccessError: the values hold such a column"""
        for field in self._readonly_columns():
            if field.name in vals:
                raise AccessError(
                    self.env._(
                        "“%(field)s” can only be set by Odoo itself.",
                        field=field._description_string(self.env),
                    )
                )
