"""Process singletons: what this process keeps alive for the AI: the runner's loop, the listeners, the engine's pool.

Everything is made on first use and once per process id, so a fork starts afresh. In the gevent process
there is no loop: it only tails events.
"""

import atexit
import concurrent.futures.thread  # registers its end, which has to come after ours
import functools
import logging
import threading
from typing import Any

import odoo
from odoo.modules import module as odoo_module
from odoo.service.server import CommonServer
from odoo.tools import config

from ..services import concurrency, large
from ..services.errors import EngineError, ServerTimeout
from ..services.sentence import _lt
from ..services.turn.ports import StoreGone
from ..tools import db, settings
from .engine import Engine
from .servers import server_jobs
from .servers.server_store import ServerStore
from .servers.tokens import OdooTokens
from .servers.watch import ServerWatch
from .traces import collector
from .turns.ledger import OdooLedger
from .turns.store import OdooStore
from .web.slots import at_most

_logger = logging.getLogger(__name__)

ENDS = _lt("Odoo is being stopped or restarted. Try again in a moment.")


class _Process:
    """The state of one process id."""

    def __init__(self):
        self.lock = threading.Lock()  # held for moments only
        self.making = threading.Lock()  # held while the runner is made
        self.runner: Any = None
        self.engine: Any = None
        self.dedicated = False
        self.is_ending = False
        self.sees_its_end = False
        # by database, the version of the servers' file
        self.applied: dict[str, tuple[object, ...] | None] = {}


_process = concurrency.renewed(_Process())


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

    :raises EngineError: in the gevent process, and in one that ends
    """
    if is_evented():
        raise EngineError(
            _lt("This address only serves streams. Send the request to Odoo's HTTP port.")
        )
    if _process.runner is not None:
        return _process.runner
    with _process.making:
        if _process.is_ending:
            raise EngineError(ENDS)
        if _process.runner is None:
            from ..services.turn.queue.runner import Runner, executor  # noqa: PLC0415

            large.keep_little()
            options = settings.get()
            watch = ServerWatch(_write_behind, _sync_behind)
            engine = Engine(
                options.egress_allow,
                options.runner_capacity,
                watch,
                OdooTokens(_write_behind),
                OdooLedger(_write_behind),
            )
            made = Runner(
                engine.run,
                engine.render,
                capacity=options.runner_capacity,
                lease=options.lease_seconds,
                on_close=engine.close,
                executor=functools.partial(executor, initializer=db.never_sleep),
            )
            made.start()
            threading.Thread(target=_load, args=(engine,), name="woow-ai-load", daemon=True).start()
            _process.engine, _process.runner = engine, made
            see_the_end()
        return _process.runner


def _load(engine):
    collector.begin()
    engine.load()


def see_the_end():
    """Register the end of the process: listeners may be called to run turns in the very moment in which it ends."""
    with _process.lock:
        if not _process.sees_its_end:
            _process.sees_its_end = True
            CommonServer.on_stop(shutdown)
            _before_executors_end(shutdown)


def _before_executors_end(function):
    """Like atexit, but while executors still take work: a recycled worker gives its turns back.

    Python ends executors in `threading._shutdown`, before it calls atexit's functions.
    """
    register = getattr(threading, "_register_atexit", atexit.register)
    register(function)


def shutdown():
    """Let turns end or give them back, and begin nothing; called on SIGTERM and when a worker is recycled."""
    with _process.making:
        _process.is_ending = True
    if _process.runner is not None:
        from ..services.turn.queue.runner import DRAIN_TIMEOUT  # noqa: PLC0415

        # Odoo's master kills a worker that says nothing for longer.
        longest = config["limit_time_real"] / 2 if is_prefork_worker() else DRAIN_TIMEOUT
        _process.runner.stop(min(longest, DRAIN_TIMEOUT))
        collector.end()


def dedicate() -> None:
    """Run turns in this process whatever `in_process_runner` says (`odoo-bin ai_runner`)."""
    _process.dedicated = True


def runs_turns() -> bool:
    if _process.is_ending:
        return False
    return _process.dedicated or (settings.get().in_process_runner and not is_evented())


def running():
    """The runner, None if nothing was run here yet."""
    return _process.runner


def ready_runner():
    """The runner that can run a turn at once, None while there is none."""
    return _process.runner if _process.runner and _process.engine.is_loaded() else None


def run_turns(dbname: str):
    """Make this process take turns of this database. Waits until it can run them: others may be faster.

    :return: the runner
    """
    made = runner()
    _process.engine.wait_loaded()
    made.attach(OdooStore(dbname))
    return made


def applied() -> dict[str, tuple[object, ...] | None]:
    return _process.applied


def submit(work) -> None:
    """Run ``work(engine)`` on the loop, if this process has one."""
    if _process.runner is not None:
        _process.runner.submit(_logged(work(_process.engine)))


def running_count() -> int:
    return _process.runner.count() if _process.runner is not None else 0


def discover(spec):
    """Connect to a server and read its tools, at most `spec.sync_timeout` seconds.

    :return: `services.mcp.pool.pool.Discovery`
    :raises EngineError: with a sentence
    """
    return wait_for(lambda engine: engine.discover(spec), spec.sync_timeout)


def begin(work) -> concurrent.futures.Future:
    """Run ``work(engine)``, a coroutine, on the loop.

    :raises EngineError: nothing is run here
    """
    return runner().submit(work(_process.engine))


def wait_for(work, timeout: float):
    """Run ``work(engine)``, a coroutine, on the loop and wait for what it returns.

    :param timeout: seconds; the coroutine keeps to it by itself, a second later it is cancelled, and
        earlier where Odoo would end a request that waits so long
    :raises EngineError: of the coroutine, or `ServerTimeout`
    """
    timeout = at_most(timeout)
    future = begin(work)
    try:
        return future.result(timeout + 1)
    except concurrent.futures.TimeoutError as error:
        future.cancel()
        raise ServerTimeout from error
    except concurrent.futures.CancelledError as error:
        raise EngineError(ENDS) from error


def in_background(work) -> None:
    """Run ``work(engine, runner)``, a coroutine, on the loop; nobody waits for it. Tests run theirs themselves."""
    if is_evented() or odoo_module.current_test:
        return
    try:
        loop = runner()
    except EngineError as error:  # a cron, or what follows a commit, in a process that ends
        _logger.info("Work in the background is not begun: %s", error)
        return
    loop.submit(_logged(work(_process.engine, loop)))


async def _logged(coroutine):
    try:
        await coroutine
    except StoreGone as gone:
        _logger.info("Background work stopped: %s is gone.", gone)
    except Exception:
        _logger.exception("Background work failed.")


async def _write_behind(function, dbname, *args):
    return await _process.runner.db(dbname, function, dbname, *args)


async def _sync_behind(dbname, server_ids):
    await server_jobs.sync(_process.engine, _process.runner, ServerStore(dbname), server_ids)


def revoke_later(token_sets) -> None:
    """Give tokens back in the background, after the commit that forgot them.

    :param token_sets: `services.oauth.flow.TokenSet` of each sign-in that ended
    """
    for token_set in token_sets:
        in_background(lambda _engine, _runner, token_set=token_set: _revoke(token_set))


async def _revoke(token_set):
    try:
        await _process.engine.revoke(token_set)
    except EngineError as error:
        _logger.info(
            "The tokens of %s could not be revoked and stay valid until they expire: %s",
            token_set["issuer"],
            error.detail or error,
        )
