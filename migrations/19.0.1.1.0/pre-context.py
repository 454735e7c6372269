from odoo.tools import SQL
from odoo.tools.sql import column_exists

TURNS = "woow_paas_platform_ai_turn"


def migrate(cr, version):
    """No turn has summed up yet: the ORM need not read the transcripts of all to find that out."""
    for name in ("summary_until", "summary_failures"):
        if not column_exists(cr, TURNS, name):
            column = SQL.identifier(name)
            cr.execute(SQL("ALTER TABLE %s ADD COLUMN %s int4", SQL.identifier(TURNS), column))
