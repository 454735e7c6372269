"""The listeners of this process, one of each database that it uses, with their streams and places."""

import threading

from odoo.modules import module as odoo_module
from odoo.service import server

from ...services import forks
from ...tools import settings
from .. import process
from ..web.places import Places
from .ears import Ears
from .hub import Hub

STREAMS_PER_READER = 24  # of one person in a threaded server; and a quarter of the places at most


class _Listeners:
    """Those of one process id."""

    def __init__(self):
        self.lock = threading.RLock()  # held for moments only
        self.hubs: dict[str, Hub] = {}
        self.places: dict[str, Places] = {}


_listeners = forks.renewed(_Listeners())


def hub(dbname: str) -> Hub:
    with _listeners.lock:
        if dbname not in _listeners.hubs:
            process.see_the_end()
            _listeners.hubs[dbname] = Hub(dbname, Ears(dbname, forget_hub))
        return _listeners.hubs[dbname]


def subscribe(dbname: str, turn_id: int, after: int, reader: int | None):
    """:return: the hub and the `Subscription`, which keeps the hub from ending"""
    with _listeners.lock:
        return (found := hub(dbname)), found.subscribe(turn_id, after, reader)


def forget_hub(ending: Hub, even_used: bool = False) -> bool:
    """:return: whether nobody gets this hub any more"""
    with _listeners.lock:
        if ending.count() and not even_used:
            return False
        if _listeners.hubs.get(ending.dbname) is ending:
            del _listeners.hubs[ending.dbname]
            if places := _listeners.places.get(ending.dbname):
                places.rest()
    return True


def places(dbname: str) -> Places:
    """Where requests that wait for a server take their place."""
    with _listeners.lock:
        return _listeners.places.setdefault(dbname, Places(dbname))


def ensure_listening(dbname: str) -> None:
    """Called for each request: cheap when the listener runs. Tests run turns themselves."""
    if dbname and dbname not in _listeners.hubs and not odoo_module.current_test:
        hub(dbname)


def serve(dbname: str) -> None:
    """Run this database's turns here, whatever `in_process_runner` says (`odoo-bin ai_runner`)."""
    process.dedicate()
    process.run_turns(dbname)
    hub(dbname)


def is_full(dbname: str, reader: int) -> bool:
    """Whether this process holds as many streams as its operator allows, or as one reader may have.

    A threaded server gives each stream a thread for a minute; some of those stay for other requests.
    """
    places = settings.get().max_streams
    httpd = getattr(server.server, "httpd", None)
    if threads := not process.is_evented() and getattr(httpd, "max_http_threads", None):
        places = min(places, (threads * 3 + 3) // 4)
    if sum(h.count() for h in list(_listeners.hubs.values())) >= places:
        return True
    share = max(1, places // 4)
    return hub(dbname).count(reader) >= (
        share if process.is_evented() else min(STREAMS_PER_READER, share)
    )
