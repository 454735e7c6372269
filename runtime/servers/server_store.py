"""Server store: what is learnt of MCP servers, in PostgreSQL; each method is one short transaction of its own."""

import logging

from ...models.mcp.mcp_server_source import FAULTY, GONE, NOT_RELEASED
from ...services.errors import EngineError
from ...services.sentence import _lt
from ...services.turn.ports import StoreGone
from ...tools import db

_logger = logging.getLogger(__name__)

SERVERS = "woow_paas_platform_mcp_server"


class ServerStore:
    def __init__(self, dbname: str):
        self.name = dbname

    def specs(self, server_ids: list[int]) -> dict[int, object]:
        """Specs of the servers that exist and that Odoo may ask without a person.

        Where a secret is unreadable, the server gets the sentence of the failure instead.
        """

        def work(env):
            servers = env["woow_paas_platform.mcp_server"].browse(server_ids).exists()
            specs, problems = servers._asked_by_odoo()._server_specs()
            for server_id, error in problems.items():
                # What is not in the operator's file is told, and taken back, by the look at the file: a failure
                # that is written here would outlast a file that has it again a moment later.
                if str(error) not in (FAULTY, GONE, NOT_RELEASED):
                    servers.browse(server_id)._record_failure(error)
            return specs

        return db.transaction(self.name, work)

    def keep(self, server_id: int, outcome, uid: int | None = None) -> None:
        """Store the result of reading a server: a `Discovery`, or an `EngineError`.

        :param uid: who is notified
        """
        keep = self.failed if isinstance(outcome, EngineError) else self.synced
        keep(server_id, outcome, uid)

    def synced(self, server_id: int, discovery, uid: int | None = None) -> None:
        """:param uid: who is notified"""

        def work(env):
            server = env["woow_paas_platform.mcp_server"].browse(server_id).exists()
            if server:
                server._tell_synced(uid, *server._apply_discovery(discovery))

        try:
            db.transaction(self.name, work)
        except (db.DatabaseGone, StoreGone):
            raise
        except Exception:
            # The others are read all the same, and this one waits its turn.
            _logger.warning("The tools of MCP server %s cannot be kept.", server_id, exc_info=True)
            error = EngineError(_lt("What the MCP server offers cannot be stored."))
            self.failed(server_id, error, uid)

    def failed(self, server_id: int, error: EngineError, uid: int | None = None) -> None:
        """:param uid: who is notified"""

        def work(env):
            server = env["woow_paas_platform.mcp_server"].browse(server_id).exists()
            if server:
                server._record_failure(error)
                server._tell_failed(uid, error)

        db.transaction(self.name, work)

    def apply_file(self, is_first: bool) -> None:
        """Bring the rows of the servers that the operator's file holds up to date.

        :param is_first: the process has just started
        """
        db.transaction(
            self.name,
            lambda env: env["woow_paas_platform.mcp_server"]._apply_file(is_first),
            alone=SERVERS,  # whoever comes second sees the rows that the first one has made
        )

    def due_for_check(self) -> list[int]:
        """The servers whose health is to be checked now; nobody else is told of them."""
        return db.transaction(
            self.name, lambda env: env["woow_paas_platform.mcp_server"]._take_due_for_check().ids
        )

    def checked(self, server_id: int, error: EngineError | None) -> None:
        """Keep what a health check found."""

        def work(env):
            server = env["woow_paas_platform.mcp_server"].browse(server_id).exists()
            if server:
                server._record_check(error)

        db.transaction(self.name, work)

    def imported(self, box_id: int, source: bytes, url: str, uid: int) -> None:
        """Keep what the document of a toolbox says."""

        def work(env):
            env["woow_paas_platform.toolbox"].browse(box_id).exists()._keep_document(
                source, url, uid
            )

        db.transaction(self.name, work)

    def not_imported(self, box_id: int, error: EngineError, uid: int) -> None:
        def work(env):
            env["woow_paas_platform.toolbox"].browse(box_id).exists()._tell(uid, error)

        db.transaction(self.name, work)
