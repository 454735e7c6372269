from odoo.tools import SQL
from odoo.tools.sql import column_exists

TURNS = "woow_paas_platform_ai_turn"
COST = {
    "tokens": SQL(
        "COALESCE((usage ->> 'input_tokens')::numeric, 0)"
        " + COALESCE((usage ->> 'output_tokens')::numeric, 0)"
    ),
    "duration_ms": SQL("COALESCE((usage ->> 'duration_ms')::numeric, 0)"),
}


def migrate(cr, version):
    """What turns have cost gets columns; filled here at once, not turn by turn by the ORM."""
    for name, value in COST.items():
        if not column_exists(cr, TURNS, name):
            column = SQL.identifier(name)
            table = SQL.identifier(TURNS)
            cr.execute(SQL("ALTER TABLE %s ADD COLUMN %s int4", table, column))
            cr.execute(SQL("UPDATE %s SET %s = (%s)::int4", table, column, value))
