"""Host port: what models ask of the process, without knowing how it runs turns or reaches servers.

`runtime` installs the one host of the process when the addon is loaded, see `runtime/odoo_host.py`.
"""

from collections.abc import Iterable
from typing import Any, Protocol


class Host(Protocol):
    """Services of the process for models; nothing here waits for a server."""

    def registry_loaded(self, dbname: str) -> None:
        """Begin to listen where this kind of process does so without a request."""

    def listen(self, dbname: str) -> None:
        """Listen to a database; cheap where this process does so already."""

    def publish(self, token: str, notes: dict[str, set[int]]) -> None:
        """Tell this process and others what was committed, see `tools/notify.py`; raises nothing, waits for nobody.

        :param token: of the database
        :param notes: ``{kind: ids}``
        """

    def sweep(self, dbname: str) -> None:
        """Give back what dead runners held, and see that somebody takes what waits; commits by itself."""

    def sync_later(self, dbname: str, server_ids: list[int], uid: int | None = None) -> None:
        """Read the tools of servers in the background, after the commit that wants it.

        :param uid: who is notified of what came of it
        """

    def apply_file_later(self, dbname: str) -> None:
        """Bring the servers of the operator's file up to date in the background, after the commit that wants it."""

    def check_later(self, dbname: str, server_ids: list[int]) -> None:
        """Ask many servers at once, in the background, whether they are well.

        :param server_ids: ids of the servers' records
        """

    def import_later(self, dbname: str, box_id: int, url: str, uid: int) -> None:
        """Read the OpenAPI document of a toolbox in the background, as this person."""

    def deliver_later(self, dbname: str, webhook_ids: list[int]) -> None:
        """Deliver what webhooks have to be told, in the background.

        :param webhook_ids: ids of the webhooks' records
        """

    def record_models(self, turn: Any) -> str:
        """Model summary of the records that this turn's person may read, see `runtime/records/model_summary.py`.

        :param turn: record of the turn
        """
        ...

    def record_name(self, turn: Any, record: Any) -> str:
        """Name of a record of this turn's person for the model, without what the assistant hides.

        :param turn: record of the turn
        :param record: any record, in that person's environment
        """
        ...

    def revoke_later(self, token_sets: Iterable[Any]) -> None:
        """Give tokens back in the background, after the commit that forgot them.

        :param token_sets: `services.oauth.flow.TokenSet` of each sign-in that ended
        """


_installed: list[Host] = []


def install(host: Host) -> None:
    """Let models ask `host` from now on, in place of the one before."""
    _installed[:] = [host]


def current() -> Host:
    return _installed[0]
