"""Shared JSON: a field whose value is not copied each time that it is read."""

from odoo import fields


class SharedJson(fields.Json):
    """As Odoo's own, which copies a value with all that it holds at each reading; for values that are long.

    Nobody may change what it gives.
    """

    def convert_to_record(self, value, record):
        return False if value is None else value
