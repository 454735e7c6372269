"""Hooks of the ORM that report each change to the recorder of `tools/rehearsal.py`."""

from odoo import api, models

from ...tools import rehearsal


class Base(models.AbstractModel):
    _inherit = "base"

    def _write_multi(self, vals_list):
        if recorder := rehearsal.current():
            recorder.before_update(self)
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
