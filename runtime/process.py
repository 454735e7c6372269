"""What this process keeps alive for the AI: the runner's loop, the listeners, the engine's pool.

Everything is made on first use and once per process id, so a fork starts afresh. In the gevent process
there is no loop: it only tails events.
"""

import atexit
import concurrent.futures
import logging
import os
import threading

import odoo
from odoo.modules import module as odoo_module
from odoo.service.server import CommonServer
from odoo.tools import config

from ..services.errors import EngineError, ServerTimeout
from . import settings
from .hub import Hub
from .places import Places, at_most
from .server_store import ServerStore
from .store import OdooStore

_logger = logging.getLogger(__name__)

OTHER_PROCESS_DELAY = 0.05  # s, the process that queued a turn goes first
STREAMS_PER_READER = 24  # of one person in a threaded server


class _Process:
    """The state of one process id."""

    def __init__(self):
        self.pid = os.getpid()
        self.lock = threading.RLock()
        self.hubs: dict[str, Hub] = {}
        self.places: dict[str, Places] = {}
        self.runner = None
        self.engine = None
        self.dedicated = False
        self.applied: dict[str, str] = {}  # by database, the digest of the servers' file


_process = _Process()


def _reset_after_fork():
    global _process  # noqa: PLW0603 one per process id
    _process = _Process()


os.register_at_fork(after_in_child=_reset_after_fork)


def is_evented() -> bool:
    return bool(getattr(odoo, "evented", False))


def is_prefork_worker() -> bool:
    return bool(config["workers"]) and not is_evented()


def store(dbname: str) -> OdooStore:
    return OdooStore(dbname)


def server_store(dbname: str) -> ServerStore:
    return ServerStore(dbname)


def runner():
    """The process's loop, made on first use.

    :raises EngineError: in the gevent process
    """
    if is_evented():
        raise EngineError("This address only streams. Send the request to Odoo's HTTP port.")
    with _process.lock:
        if _process.runner is None:
            from ..services.runner import Runner  # noqa: PLC0415
            from .engine import Engine  # noqa: PLC0415
            from .tokens import OdooTokens  # noqa: PLC0415
            from .watch import ServerWatch  # noqa: PLC0415

            options = settings.get()
            watch = ServerWatch(_write_behind, _sync_behind)
            _process.engine = Engine(
                options.egress_allow, options.runner_capacity, watch, OdooTokens(_write_behind)
            )
            _process.runner = Runner(
                _process.engine.run,
                _process.engine.render,
                capacity=options.runner_capacity,
                lease=options.lease_seconds,
                on_close=_process.engine.close,
            )
            _process.runner.start()
            CommonServer.on_stop(shutdown)
            _before_executors_end(shutdown)
        return _process.runner


def _before_executors_end(function):
    """Like atexit, but while executors still take work: a recycled worker gives its turns back.

    Python ends executors in `threading._shutdown`, before it calls atexit's functions.
    """
    register = getattr(threading, "_register_atexit", atexit.register)
    register(function)


def shutdown():
    """Let turns end or give them back; called on SIGTERM and when a worker is recycled."""
    if _process.runner is not None:
        from ..services.runner import DRAIN_TIMEOUT  # noqa: PLC0415

        # Odoo's master kills a worker that says nothing for longer.
        longest = config["limit_time_real"] / 2 if is_prefork_worker() else DRAIN_TIMEOUT
        _process.runner.stop(min(longest, DRAIN_TIMEOUT))


def hub(dbname: str) -> Hub:
    with _process.lock:
        if dbname not in _process.hubs:
            _process.hubs[dbname] = Hub(
                dbname,
                lambda own: _on_queued(dbname, own),
                lambda turn_id: _on_stop(dbname, turn_id),
                lambda server_id: _on_server_off(dbname, server_id),
                lambda server_id: _on_server_well(dbname, server_id),
                lambda turn_id: _on_answered(dbname, turn_id),
                lambda channel_id: _on_conversation_over(dbname, channel_id),
            )
        return _process.hubs[dbname]


def places(dbname: str) -> Places:
    """Where requests that wait for a server take their place."""
    with _process.lock:
        return _process.places.setdefault(dbname, Places(dbname))


def ensure_listening(dbname: str) -> None:
    """Called for each request: cheap when the listener runs. Tests run turns themselves."""
    if dbname and dbname not in _process.hubs and not odoo_module.current_test:
        hub(dbname)


def registry_loaded() -> None:
    """A registry with this addon is ready: the gevent process gets its door before the first request."""
    if is_evented():
        from . import admission  # noqa: PLC0415

        admission.install()


def serve(dbname: str) -> None:
    """Run this database's turns here, whatever `in_process_runner` says (`odoo-bin ai_runner`)."""
    _process.dedicated = True
    runner().attach(OdooStore(dbname))
    hub(dbname)


def runs_turns() -> bool:
    return _process.dedicated or (settings.get().in_process_runner and not is_evented())


def _look_at_server_file(dbname: str) -> None:
    """Bring the servers of the operator's file up to date; costs a look at its date when nothing changed."""
    from . import server_files  # noqa: PLC0415

    digest = server_files.current().digest
    is_first = dbname not in _process.applied
    if _process.applied.get(dbname) != digest:
        ServerStore(dbname).apply_file(is_first)
        _process.applied[dbname] = digest


def _on_server_off(dbname: str, server_id: int) -> None:
    """Close what is open to a server that was switched off; its processes end with it."""
    if _process.runner is not None:
        _process.runner.submit(_process.engine.drop(dbname, server_id))


def _on_conversation_over(dbname: str, channel_id: int) -> None:
    """Close the sessions of a conversation that was deleted; its processes end with them."""
    if _process.runner is not None:
        _process.runner.submit(_process.engine.release(dbname, channel_id))


def _on_server_well(dbname: str, server_id: int) -> None:
    if _process.runner is not None:
        _process.runner.submit(_process.engine.forgive(dbname, server_id))


def _on_queued(dbname: str, own: bool) -> None:
    if runs_turns() and not own:
        _look_at_server_file(dbname)
    if runs_turns() and (own or _has_work(dbname)):
        runner().attach(OdooStore(dbname))
        runner().wake(0.0 if own else OTHER_PROCESS_DELAY)


def _has_work(dbname: str) -> bool:
    """Whether a turn is queued, or runs and might lose its runner; without one no loop is started."""
    from . import db  # noqa: PLC0415

    if _process.runner is not None:
        return True
    threading.Event().wait(OTHER_PROCESS_DELAY)
    with db.read_cursor(dbname) as cr:
        cr.execute(
            "SELECT 1 FROM woow_paas_platform_ai_turn WHERE state IN ('queued', 'running') LIMIT 1"
        )
        return bool(cr.fetchone())


def _on_stop(dbname: str, turn_id: int) -> None:
    if _process.runner is not None:
        _process.runner.request_stop(dbname, turn_id)


def _on_answered(dbname: str, turn_id: int) -> None:
    if _process.runner is not None:
        _process.runner.tell_answered(dbname, turn_id)


def running_count() -> int:
    return _process.runner.count() if _process.runner is not None else 0


def is_full(dbname: str, reader: int) -> bool:
    """Whether this process holds as many streams as its operator allows, or as one reader may have.

    A threaded server gives each stream a thread for a minute, so there one person has a share only.
    """
    if sum(h.count() for h in _process.hubs.values()) >= settings.get().max_streams:
        return True
    return not is_evented() and hub(dbname).count(reader) >= STREAMS_PER_READER


def stream_mode():
    from .streams import Mode  # noqa: PLC0415 streams needs this module

    if is_evented():
        return Mode.TAIL
    return Mode.SHORT if is_prefork_worker() else Mode.MINUTE


def discover(spec):
    """Connect to a server and read its tools, at most `spec.sync_timeout` seconds.

    :return: `services.pool.Discovery`
    :raises EngineError: with a sentence
    """
    return wait_for(lambda engine: engine.discover(spec), spec.sync_timeout)


def wait_for(work, timeout: float):
    """Run ``work(engine)``, a coroutine, on the loop and wait for what it returns.

    :param timeout: seconds; the coroutine keeps to it by itself, a second later it is cancelled, and
        earlier where Odoo would end a request that waits so long
    :raises EngineError: of the coroutine, or `ServerTimeout`
    """
    loop, timeout = runner(), at_most(timeout)
    future = loop.submit(work(_process.engine))
    try:
        return future.result(timeout + 1)
    except concurrent.futures.TimeoutError as error:
        future.cancel()
        raise ServerTimeout from error


def in_background(work) -> None:
    """Run ``work(engine, runner)``, a coroutine, on the loop; nobody waits for it. Tests run theirs themselves."""
    if is_evented() or odoo_module.current_test:
        return
    loop = runner()
    loop.submit(_logged(work(_process.engine, loop)))


async def _logged(coroutine):
    try:
        await coroutine
    except Exception:
        _logger.exception("Work in the background failed.")


async def _write_behind(function, dbname, *args):
    return await _process.runner.db(dbname, function, dbname, *args)


async def _sync_behind(dbname, server_ids):
    from . import background  # noqa: PLC0415 background needs this module

    await background.sync(_process.engine, _process.runner, ServerStore(dbname), server_ids)


def revoke_later(grants) -> None:
    """Give tokens back in the background, after the commit that forgot them.

    :param grants: `services.oauth.Grant` of each sign-in that ended
    """
    if is_evented() or odoo_module.current_test:
        return
    for grant in grants:
        runner().submit(_revoke(grant))


async def _revoke(grant):
    try:
        await _process.engine.revoke(grant)
    except EngineError as error:
        _logger.info(
            "Tokens of %s may serve until they end: %s", grant["issuer"], error.detail or error
        )
