"""Hooks of the ORM that report each change to the recorder of `tools/rehearsal.py`."""

from odoo import api, models

from ...tools import rehearsal


class Base(models.AbstractModel):
    _inherit = "base"

    def write(self, vals):
        if recorder := rehearsal.current():
            links = [name for name in vals if self._is_link(name)]
            if links:
                recorder.before_links(self, links)
        return super().write(vals)

    def _is_link(self, name):
        field = self._fields.get(name)
        return field is not None and field.type == "many2many" and field.store

    def _write_multi(self, vals_list):
        if recorder := rehearsal.current():
            recorder.before_update(self, {name for vals in vals_list for name in vals})
        return super()._write_multi(vals_list)

    @api.model
    def _create(self, data_list):
        records = super()._create(data_list)
        if recorder := rehearsal.current():
            recorder.after_create(records)
        return records

    def unlink(self):
        if recorder := rehearsal.current():
            recorder.before_delete(self)
        return super().unlink()
