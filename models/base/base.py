"""Hooks of the ORM that report each change to the recorder of `tools/rehearsal.py`."""

import io

from odoo import api, models
from odoo.tools.pdf import PdfFileWriter

from ...tools import rehearsal

PAGE = (595, 842)  # points of A4


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


class IrSequence(models.Model):
    """Sequences in a rehearsal: they say which number would come, and draw none."""

    _inherit = "ir.sequence"

    def _next_do(self):
        recorder = rehearsal.current()
        if not recorder:
            return super()._next_do()
        if recorder.is_kept:
            number = super()._next_do()
        else:
            following = recorder.next_number(self, self.number_next_actual, self.number_increment)
            number = self.get_next_char(following)
        recorder.numbers.append(number)
        return number


class IrSequenceDateRange(models.Model):
    _inherit = "ir.sequence.date_range"

    def _next(self):
        recorder = rehearsal.current()
        if not recorder:
            return super()._next()
        if recorder.is_kept:
            number = super()._next()
        else:
            step = self.sequence_id.number_increment
            following = recorder.next_number(self, self.number_next_actual, step)
            number = self.sequence_id.get_next_char(following)
        recorder.numbers.append(number)
        return number


class IrActionsReport(models.Model):
    """Reports in a rehearsal: all but the PDF, which another program makes of HTML that may load anything."""

    _inherit = "ir.actions.report"

    @api.model
    def get_wkhtmltopdf_state(self):
        with rehearsal.paused():  # it asks the program for its version, once for a process
            return super().get_wkhtmltopdf_state()

    def _run_wkhtmltopdf(self, bodies, *args, **kwargs):
        recorder = rehearsal.current()
        if not recorder:
            return super()._run_wkhtmltopdf(bodies, *args, **kwargs)
        if not recorder.prints:
            recorder.outward.append(("program", "wkhtmltopdf", ""))
        if not (recorder.is_shown or (recorder.prints and recorder.is_kept)):
            return _blank(len(list(bodies)))
        with rehearsal.paused():
            return super()._run_wkhtmltopdf(bodies, *args, **kwargs)


def _blank(pages):
    writer, content = PdfFileWriter(), io.BytesIO()
    for _page in range(max(pages, 1)):
        writer.addBlankPage(*PAGE)
    writer.write(content)
    return content.getvalue()
