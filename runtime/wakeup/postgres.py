"""Wake-up channel over PostgreSQL: one connection of each process, to the database that all processes can reach."""

from odoo.addons.bus.models.bus import ODOO_NOTIFY_FUNCTION
from psycopg2 import sql

from ...services.turn.ports import StoreGone
from ...tools.line import Line
from ...tools.notify import CHANNEL

CONTROL = "postgres"  # the database that Odoo's own bus and crons listen in
PATIENCE = 5.0  # s for one statement


class PostgresTransport:
    def __init__(self):
        try:
            self._line = Line(CONTROL, PATIENCE)
        except StoreGone as error:
            raise ConnectionError(f"The database {CONTROL} refuses connections.") from error
        try:
            self._line.query(sql.SQL("LISTEN {}").format(sql.Identifier(CHANNEL)))
        except BaseException:
            self._line.close()
            raise
        self._notify = sql.SQL("SELECT {}(%s, payload) FROM unnest(%s::text[]) AS payload").format(
            sql.Identifier(ODOO_NOTIFY_FUNCTION)
        )

    def exchange(self, payloads: list[str], timeout: float, wake: int) -> list[str]:
        if payloads:
            self._line.query(self._notify, (CHANNEL, payloads))
        return self._line.notes(timeout, wake)

    def close(self) -> None:
        self._line.close()
