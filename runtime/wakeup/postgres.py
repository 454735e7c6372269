"""Wake-up channel over PostgreSQL: one connection of each process, to the database that all processes can reach."""

from odoo.addons.bus.models.bus import ODOO_NOTIFY_FUNCTION
from psycopg2 import sql

from ...services.turn.ports import StoreGone
from ...tools.notify import CHANNEL
from ...tools.pg_connection import PgConnection
from .channel import UNKNOWN, Reason

CONTROL = "postgres"  # the database that Odoo's own bus and crons listen in
STATEMENT_TIMEOUT = 5.0  # s for one statement
POOLER = Reason(
    "pooler",
    f"A pooler stands in front of PostgreSQL and does not keep sessions: give the database {CONTROL} session mode.",
)
FUNCTION = Reason("notify_function", "ODOO_NOTIFY_FUNCTION names a function that tells nobody.")


class PostgresTransport:
    """One connection; where a pooler stands in between a second one speaks: it may give both commands of one the same
    session, which hears itself although nobody else does.
    """

    def __init__(self):
        self._line = self._publisher = _line()
        try:
            self._line.query(sql.SQL("LISTEN {}").format(sql.Identifier(CHANNEL)))
            ((process,),) = self._line.query("SELECT pg_backend_pid()")
            if process != self._line.process:
                self._publisher = _line()
        except BaseException:
            self.close()
            raise
        self._notify = sql.SQL("SELECT {}(%s, payload) FROM unnest(%s::text[]) AS payload").format(
            sql.Identifier(ODOO_NOTIFY_FUNCTION)
        )

    def exchange(self, payloads: list[str], timeout: float, wake: int) -> list[str]:
        if payloads:
            self._publisher.query(self._notify, (CHANNEL, payloads))
            if self._publisher is not self._line:
                self._publisher.notes(0.0)  # a pooler may have mixed them up; they prove nothing
        return self._line.notes(timeout, wake)

    def explain(self) -> Reason:
        if self._publisher is not self._line:
            return POOLER
        return UNKNOWN if ODOO_NOTIFY_FUNCTION == "pg_notify" else FUNCTION

    def close(self) -> None:
        self._line.close()
        self._publisher.close()


def _line() -> PgConnection:
    try:
        return PgConnection(CONTROL, STATEMENT_TIMEOUT)
    except StoreGone as error:
        raise ConnectionError(f"The database {CONTROL} refuses connections.") from error
