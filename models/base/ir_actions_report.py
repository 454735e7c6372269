"""Reports in a rehearsal: all but the PDF, which another program makes of HTML that may load anything."""

import io

from odoo import api, models
from odoo.tools.pdf import PdfFileWriter

from ...tools import rehearsal

PAGE = (595, 842)  # points of A4


class IrActionsReport(models.Model):
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
