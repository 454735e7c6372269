"""Sequences in a rehearsal: they say which number would come, and draw none."""

from odoo import models

from ...tools import rehearsal


class IrSequence(models.Model):
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
