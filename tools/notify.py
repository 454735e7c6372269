"""Notifications: what other processes are told once a transaction is committed, see `runtime/wakeup/channel.py`.

A note is a kind with the ids that it is about: ``queued`` (a turn may wait), ``events`` (a turn has new ones; which
of them, no other tenant is told), ``stop`` and ``answered`` (a turn), ``server_off`` and ``server_well`` (a server),
``conversation_over`` (a channel).
"""

import functools
import hashlib
import os
import socket

from . import host

CHANNEL = "woow_ai_wakeup"
KEY = "woow_paas_platform.notes"
SECRET = "SELECT value FROM ir_config_parameter WHERE key = 'database.secret'"  # noqa: S105 a query

Notes = dict[str, set[int]]


def process_id() -> str:
    """This process, among those of all hosts."""
    return f"{socket.gethostname()}:{os.getpid()}"


def token(dbname: str, secret: str | None) -> str:
    """What a database is called on the channel, which other tenants may hear."""
    return hashlib.sha256(f"{dbname} {secret}".encode()).hexdigest()[:16]


def _send(cr, kind, number):
    notes = cr.postcommit.data.get(KEY)
    if notes is None:
        notes = cr.postcommit.data[KEY] = {}
        cr.execute(SECRET)
        secret = (cr.fetchone() or [None])[0]
        name = token(cr.dbname, secret)
        cr.postcommit.add(functools.partial(host.current().publish, name, notes))
    notes.setdefault(kind, set()).add(number)


def queued(cr, turn_id: int) -> None:
    _send(cr, "queued", turn_id)


def stop(cr, turn_id: int) -> None:
    _send(cr, "stop", turn_id)


def server_off(cr, server_id: int) -> None:
    _send(cr, "server_off", server_id)


def server_well(cr, server_id: int) -> None:
    """Somebody has seen the server well: no process goes on leaving it alone."""
    _send(cr, "server_well", server_id)


def answered(cr, turn_id: int) -> None:
    """A person has answered what a server waits for in its session."""
    _send(cr, "answered", turn_id)


def conversation_over(cr, channel_id: int) -> None:
    """A conversation was deleted: what servers keep for it ends."""
    _send(cr, "conversation_over", channel_id)


def events(cr) -> None:
    """A turn has new events."""
    _send(cr, "events", 0)
