from odoo import api, fields, models
from odoo.exceptions import AccessError
from odoo.models import MAGIC_COLUMNS

CHOICES = ("searchable", "sortable", "groupable")


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


class CompanyMixin(models.AbstractModel):
    """A record of one company, or shared by all. Record rules decide who sees it, at every entrance: what a chat
    may use is read as its person. Records refer only to what their company may use, so nothing leads around them.
    """

    _name = "woow_paas_platform.company.mixin"
    _description = "Company Mixin"
    _check_company_auto = True
    _check_company_domain = models.check_company_domain_parent_of

    company_id = fields.Many2one(
        "res.company",
        index="btree_not_null",
        help="Only users of this company and its branches can use it. Leave empty to share it with all companies.",
    )


class FilterMixin(models.AbstractModel):
    """Custom filters, groups and measures offer what means something to people, and none of the machinery.

    Searching and sorting over RPC stay as they are: what is offered is a matter of `fields_get`, which the web
    client asks.
    """

    _name = "woow_paas_platform.filter.mixin"
    _description = "Filter Mixin"

    @api.model
    def _fields_to_filter(self):
        """Names of the fields that are offered. A hook."""
        return set()

    @api.model
    def fields_get(self, allfields=None, attributes=None):
        found = super().fields_get(allfields, attributes)
        offered = self._fields_to_filter()
        for name, description in found.items():
            if name not in offered:
                description |= {key: False for key in CHOICES if key in description}
                if "aggregator" in description:
                    description["aggregator"] = None
        return found
