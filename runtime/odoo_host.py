"""Host port, implemented: what models ask of the process, see `tools/host.py`."""

import logging

from ..tools import db, host
from . import process
from .records import model_summary
from .servers import background
from .turns import listeners, serving, turn_queue

_logger = logging.getLogger(__name__)


class OdooHost:
    def registry_loaded(self, dbname):
        serving.registry_loaded(dbname)

    def listen(self, dbname):
        listeners.ensure_listening(dbname)

    def publish(self, token, notes):
        try:
            listeners.channel().publish(token, notes)
        except Exception:  # the transaction is committed, so whoever is concerned looks by itself
            _logger.exception("The wake-up channel could not be used.")

    def sweep(self, dbname):
        process.store(dbname).sweep()
        if db.raw(dbname, turn_queue.has_left):
            serving.turns_wait(dbname)

    def sync_later(self, dbname, server_ids, uid=None):
        background.sync_later(dbname, server_ids, uid)

    def apply_file_later(self, dbname):
        background.apply_file_later(dbname)

    def check_later(self, dbname, server_ids):
        background.check_later(dbname, server_ids)

    def import_later(self, dbname, box_id, url, uid):
        background.import_later(dbname, box_id, url, uid)

    def deliver_later(self, dbname, webhook_ids):
        background.deliver_later(dbname, webhook_ids)

    def record_models(self, turn):
        return model_summary.models(turn)

    def record_name(self, turn, record):
        return model_summary.name(turn, record)

    def revoke_later(self, token_sets):
        process.revoke_later(token_sets)


host.install(OdooHost())
