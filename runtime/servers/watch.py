"""Server watch: puts into Odoo what this process learns of servers, for people and for other processes."""

import asyncio
import logging
import math
import time

from ...services.turn.ports import StoreGone
from ...tools import db
from ...tools.notify import process_id

_logger = logging.getLogger(__name__)

SERVER = "woow_paas_platform.mcp_server"
PROCESS = "woow_paas_platform.mcp_server_process"
RESYNC_DELAY = 2.0  # s, a server that changes its tools one by one is read once
MAX_RESYNC_DELAY = (
    600.0  # s, one that does not stop saying so; who was silent for as long is read at once again
)


class ServerWatch:
    """Callbacks of the pool, on the loop: every method returns at once, the writing follows in order.

    :param write: ``await write(function, *args)`` runs a blocking function in the executor
    :param sync: ``await sync(dbname, server_ids)`` reads their tools again
    """

    def __init__(self, write, sync):
        self._write = write
        self._sync = sync
        self._order: dict[str, asyncio.Lock] = {}  # by database: one that is away holds up no other
        self._tasks: dict[asyncio.Task, str] = {}  # with their databases
        self._resyncing: set[tuple[str, int]] = set()
        self._read_at: dict[
            tuple[str, int], tuple[float, float]
        ] = {}  # when, and after which delay

    def opened(self, spec, info) -> None:
        """A session was opened; what it speaks is tried first from now on, in every process."""
        if (info.era, info.transport) != spec.last_variant:
            variant = info.transport, info.protocol_version
            self._later(
                spec, lambda env: env[SERVER].browse(spec.id).exists()._record_variant(*variant)
            )

    def state(self, spec, state, reason) -> None:
        """The server is left alone, tried again, or well again."""
        self._later(spec, lambda env: env[PROCESS]._put_state(spec.id, process_id(), state, reason))

    def stderr(self, spec, stderr) -> None:
        """The last output of a stdio server's process."""
        self._later(spec, lambda env: env[PROCESS]._put(spec.id, process_id(), stderr=stderr))

    def embeddings(self, spec, error) -> None:
        """A provider's embedding model fails, or answers again."""
        told = (str(error), error.detail) if error else ()
        self._later(
            spec,
            lambda env: (
                env["ai.config"]
                .browse(spec.id)
                .exists()
                ._record_embeddings(spec.embedding_model, *told)
            ),
        )

    def list_changed(self, spec, what) -> None:
        """Tools are read again; prompts and resources are read whenever somebody asks for them."""
        key = spec.database, spec.id
        if what == "tools" and key not in self._resyncing:
            self._resyncing.add(key)
            self._spawn(self._resync(key), spec.database)

    def _resync_delay(self, key) -> float:
        now = time.monotonic()
        read_at, delay = self._read_at.get(key, (-math.inf, 0.0))
        is_silent = now - read_at > MAX_RESYNC_DELAY
        delay = RESYNC_DELAY if is_silent else min(2 * delay, MAX_RESYNC_DELAY)
        self._read_at[key] = now + delay, delay
        return delay

    async def _resync(self, key) -> None:
        await asyncio.sleep(self._resync_delay(key))
        self._resyncing.discard(key)
        await self._sync(key[0], [key[1]])

    def _later(self, spec, work) -> None:
        async def write():
            async with self._order.setdefault(spec.database, asyncio.Lock()):
                await self._write(db.transaction, spec.database, work)

        self._spawn(write(), spec.database)

    def leave(self, database) -> None:
        """The database rests, or exists no more: nothing of it is known, and nothing is written that would load it."""
        for task, of in self._tasks.items():
            if of == database:
                task.cancel()
        self._order.pop(database, None)
        self._resyncing = {key for key in self._resyncing if key[0] != database}
        self._read_at = {key: known for key, known in self._read_at.items() if key[0] != database}

    def _spawn(self, coroutine, database) -> None:
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks[task] = database
        task.add_done_callback(self._done)

    def _done(self, task) -> None:
        del self._tasks[task]
        if not task.cancelled() and (error := task.exception()):
            if isinstance(error, StoreGone):  # with the servers
                return
            _logger.warning("The state of a server was not saved: %s", error)
