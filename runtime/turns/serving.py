"""Start-up listening, which no request has to begin: turns that a restart or a dead process left behind go on."""

import contextlib
import functools
import http.client
import logging
import os
import threading
import time

import psycopg2
from odoo.http import request
from odoo.modules import module as odoo_module
from odoo.modules.registry import Registry
from odoo.service import server
from odoo.tools import config

from ...tools import db, settings
from .. import engine, process
from ..metrics import exporter
from ..web import outage, pool_timeout
from . import listeners

_logger = logging.getLogger(__name__)

WAKE_TIMEOUT = 5.0  # s
GEVENT_TRIES = 60  # one a second: it starts beside the workers
EVERYWHERE = ("", "0.0.0.0", "::")  # noqa: S104 what is compared, not bound


def registry_loaded(dbname: str) -> None:
    """A registry with this addon is ready, in whatever kind of process."""
    exporter.begin()
    if process.is_evented():
        pool_timeout.install(Registry(dbname))
    elif isinstance(server.server, server.PreforkServer):
        _follow_workers()
        _outlive_outages()
        if _is_master() and settings.get().in_process_runner:
            engine.preload()
        if request:  # in a worker: the first one for this database, which the master has not loaded
            _warm_streams_later(dbname)
    elif _is_threaded_server():
        listeners.ensure_listening(dbname)
    else:
        return
    outage.install(Registry(dbname))


def _is_threaded_server() -> bool:
    """True if this process answers requests, and goes on doing so."""
    return (
        isinstance(server.server, server.ThreadedServer)
        and server.server.httpd is not None
        and not config["test_enable"]
        and not config["stop_after_init"]
    )


def _is_master() -> bool:
    """True if this process will fork workers."""
    return os.getpid() == server.server.pid and not config["stop_after_init"]


def _follow_workers() -> None:
    """Let each HTTP worker listen from its start to the databases that Odoo's master has loaded, and see that
    the gevent process has them, too.
    """
    started = server.WorkerHTTP.start
    if hasattr(started, "__wrapped__"):
        return

    @functools.wraps(started)
    def start(worker):
        started(worker)
        for dbname, registry in list(Registry.registries.items()):
            if db.MARK in registry:
                listeners.ensure_listening(dbname)
                _warm_streams_later(dbname)

    server.WorkerHTTP.start = start  # pyright: ignore[reportAttributeAccessIssue] a patch


def _outlive_outages() -> None:
    """Odoo's master asks its databases before it forks, and ends with all its workers where one does not answer.

    It looks again a few seconds later; workers for crons, which end with their connection, are what it forks then.
    """
    spawn = server.PreforkServer.process_spawn
    if hasattr(spawn, "__wrapped__"):
        return

    @functools.wraps(spawn)
    def process_spawn(master):
        try:
            spawn(master)
        except psycopg2.Error as error:
            if os.getpid() != master.pid or not db.passes(error):
                raise
            _logger.info("No worker is started while a database is away: %s", error)

    server.PreforkServer.process_spawn = process_spawn  # pyright: ignore[reportAttributeAccessIssue] a patch


def turns_wait(dbname: str) -> None:
    """Let a process of this host listen to this database; called by the cron, in whatever process it runs."""
    if odoo_module.current_test or not settings.get().in_process_runner:
        return
    if _is_threaded_server():
        listeners.ensure_listening(dbname)
    elif isinstance(server.server, server.PreforkServer) and config["http_enable"]:
        threading.Thread(
            target=_wake_worker, args=(dbname,), name="woow-ai-wake-worker", daemon=True
        ).start()


def _wake_worker(dbname: str) -> None:
    """A request makes the worker that answers it listen."""
    try:
        is_answered = _asks(dbname, config["http_port"])
    except (OSError, http.client.HTTPException) as error:
        _logger.info("No worker could be told that turns of %s wait: %s", dbname, error)
        return
    if not is_answered:
        _logger.info("No worker answers for %s: its turns wait for a request.", dbname)


def _warm_streams_later(dbname: str) -> None:
    threading.Thread(target=_warm_streams, args=(dbname,), name="woow-ai-warm", daemon=True).start()


def _warm_streams(dbname: str) -> None:
    """A request makes the gevent process load the database, or the first stream would wait for it: for seconds."""
    for _ in range(GEVENT_TRIES):
        with contextlib.suppress(OSError, http.client.HTTPException):
            _asks(dbname, config["gevent_port"])
            return
        time.sleep(1)


def _asks(dbname: str, port: int) -> bool:
    """True if Odoo answers at this port for the database; `dbfilter` decides by the host."""
    interface = config["http_interface"] or ""
    address = "127.0.0.1" if interface in EVERYWHERE else interface
    for host in (address, dbname, f"{dbname}.localhost"):
        connection = http.client.HTTPConnection(address, port, WAKE_TIMEOUT)
        headers = {"Host": host, "X-Odoo-Database": dbname}
        connection.request("GET", "/api/ai/health", headers=headers)
        status = connection.getresponse().status
        connection.close()
        if status == http.HTTPStatus.OK:
            return True
    return False
