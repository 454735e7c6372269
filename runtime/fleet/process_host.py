"""The fleet's process: begin to run a database's turns, and unload an idle one."""

import gc
import logging
import threading
import time

from odoo import sql_db
from odoo.modules.registry import Registry

from ...services.errors import EngineError
from ...tools import db, settings
from .. import process
from ..turns import listeners

_logger = logging.getLogger(__name__)

LOAD_LIMIT = 120.0  # s that a registry may take to load
COLLECT_INTERVAL = 30.0  # s; a collection stops every thread for a quarter of one


class ProcessHost:
    def __init__(self):
        self._resting: set[str] = set()  # let go of, as far as they are not unloaded yet
        self._has_garbage = False
        self._collected = float("-inf")

    def serve(self, name: str) -> None:
        self._resting.discard(name)
        try:
            listeners.serve(name, settings.get().idle_seconds)
        except EngineError as error:  # the process ends
            _logger.info("Turns of %s are left to others: %s", name, error)

    def is_served(self, name: str) -> bool:
        return listeners.is_listening(name)

    def let_go(self, name: str) -> None:
        """The fleet does not wait for the lock of all registries, which is held while another one is loaded."""
        process.submit(lambda engine: engine.leave(name))
        self._resting.add(name)
        threading.Thread(
            target=self._unload, args=(name,), name="woow-ai-unload", daemon=True
        ).start()

    def _unload(self, name: str) -> None:
        with Registry._lock:
            if name not in self._resting:  # it has turns again
                return
            self._resting.discard(name)
            Registry.delete(name)
            sql_db.close_db(name)
            db.forget(name)
        self._has_garbage = True
        _logger.debug("Nothing of %s is kept.", name)

    def tick(self) -> None:
        db.end_long_loads(LOAD_LIMIT)
        self._collect()

    def _collect(self) -> None:
        """A registry refers to itself, and Python looks for such garbage the more seldom the more there is."""
        if self._has_garbage and time.monotonic() - self._collected >= COLLECT_INTERVAL:
            self._has_garbage = False
            gc.collect()
            self._collected = time.monotonic()
