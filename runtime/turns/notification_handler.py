"""Notification handler: what this process does about what its listener receives.

Called in the listening thread, so what may wait is done in another one.
"""

import logging
import threading
import time
from collections.abc import Callable

from odoo.tools import config

from ...services.turn.ports import StoreGone
from ...tools import db, server_files
from .. import process
from ..servers import background
from ..servers.server_store import ServerStore
from .listener import is_work_free
from .store import OdooStore

_logger = logging.getLogger(__name__)

CRON_INTERVAL = 60.0  # s, the cron's own
OTHER_PROCESS_DELAY = 0.05  # s, the process that queued a turn goes first


class ProcessHandler:
    """Handles the notifications of one database.

    :param forget: takes a listener out of use; ``(listener, even_used=False)``, returns whether it ends
    """

    def __init__(self, dbname: str, forget: Callable[..., bool]):
        self._dbname = dbname
        self._forget = forget
        self._requested = threading.Event()
        self._lock = threading.Lock()  # held for moments only
        self._helper: threading.Thread | None = None
        self._is_helped = False  # the helper still sees what is requested

    def queued(self, own: bool) -> None:
        if not process.runs_turns():
            return
        if own and (runner := process.ready_runner()):
            runner.attach(OdooStore(self._dbname))
            runner.wake(self._dbname)
            return
        self._requested.set()
        self._send_helper(own)

    def idle(self) -> None:
        """Nothing waits; the operator's file is looked at all the same."""
        if process.runs_turns():
            self._send_helper(False)

    def _send_helper(self, own: bool) -> None:
        with self._lock:
            if self._is_helped and self._helper and self._helper.is_alive():
                return
            self._is_helped = True
            self._helper = threading.Thread(
                target=self._help, args=(own,), name="woow-ai-worker", daemon=True
            )
            self._helper.start()

    def _is_requested(self) -> bool:
        """Asked by the helper, which ends if nothing is: whoever comes later sends another one."""
        with self._lock:
            if not self._requested.is_set():
                self._is_helped = False
                return False
            self._requested.clear()
            return True

    def _help(self, own: bool) -> None:
        """Making a runner loads LangChain, and the operator's file may be anywhere."""
        if not own:
            self._look_at_server_file()
            self._check_health()
        while self._is_requested():
            try:
                if not own and not process.running() and not self._is_work_free():
                    continue
                runner = process.run_turns(self._dbname)
                runner.wake(self._dbname, 0.0 if own else OTHER_PROCESS_DELAY)
            except StoreGone:
                return
            except ConnectionError as error:  # whoever listens looks again
                _logger.info("Whether turns of %s wait is not known: %s", self._dbname, error)
            except Exception:
                if process.runs_turns():
                    _logger.exception("No turn of %s can be run here.", self._dbname)

    def _is_work_free(self) -> bool:
        """True if a turn waits that has no runner, or that a dead runner has left; else no loop is made."""
        time.sleep(OTHER_PROCESS_DELAY)
        return is_work_free(self._dbname)

    def _look_at_server_file(self) -> None:
        """Bring the servers of the operator's file up to date; costs a look at its date when nothing changed."""
        version, applied = None, process.applied()
        try:
            version = server_files.version()
            if applied.get(self._dbname) != version:
                ServerStore(self._dbname).apply_file(self._dbname not in applied)
                applied[self._dbname] = version
        except StoreGone:
            applied.pop(self._dbname, None)
        except ConnectionError as error:
            _logger.info("The servers' file is not applied to %s yet: %s", self._dbname, error)
        except Exception:
            _logger.exception("The operator's MCP servers cannot be applied to %s.", self._dbname)
            applied[self._dbname] = version  # not again before the file changes

    def _check_health(self) -> None:
        """Check the servers' health where the operator wants it more often than a cron can."""
        try:
            interval = server_files.current().health_check_interval
            if not interval or interval >= CRON_INTERVAL:
                return
            if due := ServerStore(self._dbname).due_for_check():
                background.check_later(self._dbname, due)
        except (ConnectionError, StoreGone) as error:
            _logger.info("The MCP servers of %s are not checked yet: %s", self._dbname, error)
        except Exception:
            _logger.exception("The MCP servers of %s cannot be checked.", self._dbname)

    def stop(self, turn_id: int) -> None:
        if runner := process.running():
            runner.request_stop(self._dbname, turn_id)

    def server_off(self, server_id: int) -> None:
        """Close what is open to a server that was switched off; its processes end with it."""
        process.submit(lambda engine: engine.drop(self._dbname, server_id))

    def server_recovered(self, server_id: int) -> None:
        process.submit(lambda engine: engine.reset_breaker(self._dbname, server_id))

    def conversation_over(self, channel_id: int) -> None:
        """Close the sessions of a conversation that was deleted; its processes end with them."""
        process.submit(lambda engine: engine.release(self._dbname, channel_id))

    def tests(self, run_id: int) -> None:
        """Run tests that wait, of this run and others. Making a runner takes long, so it is made in a thread."""
        if process.runs_turns():
            threading.Thread(
                target=background.replay_later,
                args=(self._dbname,),
                name="woow-ai-tests",
                daemon=True,
            ).start()

    def answered(self, turn_id: int) -> None:
        if runner := process.running():
            runner.tell_answered(self._dbname, turn_id)

    def rested(self, listener) -> bool:
        if (
            self._dbname in config["db_name"]
        ):  # its operator named it: turns are awaited at any time
            return False
        if not self._forget(listener):
            return False
        if runner := process.running():
            runner.detach(self._dbname)
        db.close_idle()
        return True

    def gone(self, listener) -> None:
        """Nothing of it is remembered: a database of this name, or the addon in it, may come again."""
        self._forget(listener, even_used=True)
        process.applied().pop(self._dbname, None)
        if runner := process.running():
            runner.detach(self._dbname)
        process.submit(lambda engine: engine.leave(self._dbname))
        db.forget(self._dbname)
