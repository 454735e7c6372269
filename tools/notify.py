"""Notifications: what other processes are told once a transaction is committed, see `runtime/wakeup/channel.py`.

A note is a kind with the ids that it is about: ``queued`` (a turn may wait), ``events`` (a turn has new ones; which
of them, no other tenant is told), ``stop`` and ``answered`` (a turn), ``server_off`` and ``server_recovered`` (a
server), ``conversation_over`` (a channel), ``tests`` (a run of tests).
"""

import functools
import hashlib
import logging
import os
import socket
import uuid

from . import host

_logger = logging.getLogger(__name__)

CHANNEL = "woow_ai_wakeup"
KEY = "woow_paas_platform.notes"
SECRET = "SELECT value FROM ir_config_parameter WHERE key = 'database.secret'"  # noqa: S105 a query

Notes = dict[str, set[int]]


def process_id() -> str:
    """This process, among those of all hosts: two containers may have the same name and the same numbers."""
    return _process_id(os.getpid())


@functools.cache
def _process_id(pid: int) -> str:
    """:param pid: a forked process has a name of its own"""
    return f"{socket.gethostname()}:{pid}:{uuid.uuid4().hex[:8]}"


def token(dbname: str, secret: str | None) -> str:
    """Name of a database on the channel, which other tenants may hear."""
    return hashlib.sha256(f"{dbname} {secret}".encode()).hexdigest()[:16]


def prepare(cr) -> None:
    """Let what this transaction tells be told before whatever asks from now on to follow its commit, as Odoo's bus."""
    _notes(cr)


def _notes(cr) -> Notes:
    notes = cr.postcommit.data.get(KEY)
    if notes is None:
        notes = cr.postcommit.data[KEY] = {}
        cr.execute(SECRET)
        secret = (cr.fetchone() or [None])[0]
        cr.postcommit.add(functools.partial(_publish, token(cr.dbname, secret), notes))
    return notes


def _publish(name: str, notes: Notes) -> None:
    """Publish; what was committed stays so if that fails, and others follow the commit, too."""
    try:
        if notes:
            host.current().publish(name, notes)
    except Exception:
        _logger.exception("Processes are not told of what is new: they find it a little later.")


def _send(cr, kind, number):
    _notes(cr).setdefault(kind, set()).add(number)


def queued(cr, turn_id: int) -> None:
    """Tell all processes that this turn waits for a runner; 0 stands for any."""
    _send(cr, "queued", turn_id)


def stop(cr, turn_id: int) -> None:
    """Tell all processes that this turn is to stop."""
    _send(cr, "stop", turn_id)


def server_off(cr, server_id: int) -> None:
    """Tell all processes that this server was switched off, so that they close its sessions."""
    _send(cr, "server_off", server_id)


def server_recovered(cr, server_id: int) -> None:
    """Tell all processes that the server was seen well, so that none goes on leaving it alone."""
    _send(cr, "server_recovered", server_id)


def answered(cr, turn_id: int) -> None:
    """A person has answered what a server waits for in its session."""
    _send(cr, "answered", turn_id)


def conversation_over(cr, channel_id: int) -> None:
    """A conversation was deleted: what servers keep for it ends."""
    _send(cr, "conversation_over", channel_id)


def tests(cr, run_id: int) -> None:
    """Tell all processes that tests of this run wait."""
    _send(cr, "tests", run_id)


def events(cr) -> None:
    """A turn has new events."""
    _send(cr, "events", 0)
