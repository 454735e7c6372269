"""Listener registry: one listener of each database that this process uses, with its streams and slots."""

import threading

from odoo.modules import module as odoo_module
from odoo.service import server

from ...services import concurrency
from ...tools import settings
from .. import process
from ..wakeup.channel import Channel
from ..wakeup.postgres import PostgresTransport
from ..web.slots import Slots
from .listener import Listener
from .notification_handler import ProcessHandler

STREAMS_OF_ONE = 24  # of one person in a threaded server; and a quarter of all streams at most


class _Registry:
    """Listeners of one process id."""

    def __init__(self):
        self.lock = threading.RLock()  # held for moments only
        self.listeners: dict[str, Listener] = {}
        self.slots: dict[str, Slots] = {}
        self.channel = Channel(PostgresTransport)


_registry = concurrency.renewed(_Registry())


def listener(dbname: str, rest: float | None = None) -> Listener:
    with _registry.lock:
        if dbname not in _registry.listeners:
            process.see_the_end()
            _registry.listeners[dbname] = Listener(
                dbname, ProcessHandler(dbname, forget), _registry.channel, rest
            )
        return _registry.listeners[dbname]


def channel() -> Channel:
    """The wake-up channel of this process."""
    return _registry.channel


def subscribe(dbname: str, turn_id: int, after: int, reader: int | None):
    """:return: the `Listener` and the `Subscription`, which keeps it from ending and is behind"""
    with _registry.lock:
        return (found := listener(dbname)), found.subscribe(turn_id, after, reader, is_behind=True)


def forget(ending: Listener, even_used: bool = False) -> bool:
    """:return: whether nobody gets this listener any more"""
    with _registry.lock:
        if ending.count() and not even_used:
            return False
        if _registry.listeners.get(ending.dbname) is ending:
            del _registry.listeners[ending.dbname]
            if slots := _registry.slots.get(ending.dbname):
                slots.disconnect_when_unused()
    return True


def slots(dbname: str) -> Slots:
    """Slots for requests that wait for a server."""
    with _registry.lock:
        return _registry.slots.setdefault(dbname, Slots(dbname))


def ensure_listening(dbname: str) -> None:
    """Called for each request: cheap when the listener runs. Tests run turns themselves."""
    if dbname and dbname not in _registry.listeners and not odoo_module.current_test:
        listener(dbname)


def is_listening(dbname: str) -> bool:
    return dbname in _registry.listeners


def serve(dbname: str, rest: float | None = None) -> None:
    """Run this database's turns here, whatever `in_process_runner` says (`odoo-bin ai_runner`)."""
    process.dedicate()
    process.run_turns(dbname)
    listener(dbname, rest)


def is_full(dbname: str, reader: int) -> bool:
    """True if this process holds as many streams as its operator allows, or as one reader may have.

    A threaded server gives each stream a thread for a minute; some of those stay for other requests.
    """
    of_operator = settings.get()
    limit, most = of_operator.max_streams, of_operator.streams_per_person
    if not process.is_evented():
        most = min(most, STREAMS_OF_ONE)
    httpd = getattr(server.server, "httpd", None)
    if threads := not process.is_evented() and getattr(httpd, "max_http_threads", None):
        limit = min(limit, (threads * 3 + 3) // 4)
    if sum(each.count() for each in list(_registry.listeners.values())) >= limit:
        return True
    return listener(dbname).count(reader) >= min(most, max(1, limit // 4))
