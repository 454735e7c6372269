"""Fleet: all databases of one PostgreSQL, of which a process serves those that have work (`odoo-bin ai_runner --all`).

One thread looks into the others, with SQL of its own: no registry, no connection and no thread stands for a database
that rests. The wake-up channel says sooner what it would find.
"""

import contextlib
import functools
import logging
import os
import re
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

import psycopg2
from odoo.addons.base.models.ir_cron import BASE_VERSION
from odoo.tools import config

from ...services import metrics
from ...services.turn.ports import StoreGone
from ...tools import db, notify
from ...tools.pg_connection import PgConnection
from ..wakeup.channel import Channel
from ..wakeup.postgres import CONTROL
from .probes import PROBE_TIMEOUT, DatabaseProbes, Seen

_logger = logging.getLogger(__name__)

INTERVAL = 10.0  # s between two looks into a database, and between two lists of them
DEAF_INTERVAL = 1.0  # s, the same while the wake-up channel is not heard
AWAY_INTERVAL = 1.0  # s, the same of the list while it cannot be read
RETRY = 10.0, 20.0, 60.0  # s between looks into one that cannot be served; the last one repeats
PASSING_RETRY = 1.0, 2.0, 5.0, *RETRY  # s, the same of one that does not answer
TICK = 1.0  # s, the longest that nothing is looked at
DATABASES = """
    SELECT datname FROM pg_database
     WHERE datdba = (SELECT usesysid FROM pg_user WHERE usename = current_user)
       AND NOT datistemplate AND datallowconn AND datname <> ALL (%s)
    """
WORK = """
    SELECT EXISTS (SELECT 1 FROM woow_paas_platform_ai_turn
                    WHERE state = 'queued'
                       OR state = 'running' AND lease_until < now() AT TIME ZONE 'UTC')
        OR EXISTS (SELECT 1 FROM woow_paas_platform_assistant_test_result
                    WHERE state = 'queued'
                       OR state = 'running' AND lease_until < now() AT TIME ZONE 'UTC'),
           (SELECT value FROM ir_config_parameter WHERE key = 'database.secret'),
           (SELECT latest_version FROM ir_module_module WHERE name = 'base'),
           EXISTS (SELECT 1 FROM ir_module_module WHERE left(state, 3) = 'to ')
           OR EXISTS (SELECT 1 FROM ir_config_parameter WHERE key = 'base.partially_updated_database')
    """


class Host(Protocol):
    """The process as a fleet sees it. Each method returns at once."""

    def serve(self, name: str) -> None:
        """Run its turns, until nobody has needed that for a while."""

    def is_served(self, name: str) -> bool: ...

    def let_go(self, name: str) -> None:
        """It is no longer served: keep nothing of it."""

    def tick(self) -> None:
        """Called about once a second."""


@dataclass(eq=False, slots=True)
class Tenant:
    """A database."""

    name: str
    due: float = 0.0  # when it is looked into
    is_looked_into: bool = False
    is_called: bool = False  # the wake-up channel said something since the last look began
    is_served: bool = False
    token: str = ""
    hear: Callable | None = None
    failures: int = 0  # looks that found nothing to serve, in a row
    failed: float = 0.0  # when the first of them did
    reason: str = ""  # and said so


class Fleet:
    def __init__(self, host: Host, channel: Channel):
        self._host = host
        self._channel = channel
        self._tenants: dict[str, Tenant] = {}
        self._probes = DatabaseProbes()
        self._listed = self._listed_well = float("-inf")
        self._is_listing = False
        self._is_away = False  # PostgreSQL, or its control database
        self._wake = os.pipe()
        for end in self._wake:
            os.set_blocking(end, False)

    def run(self, stopped: threading.Event) -> None:
        """Look until `stopped` is set, which `wake` lets it notice."""
        while not stopped.is_set():
            try:
                self._turn()
            except Exception:
                _logger.exception("Looking after the databases failed.")
                stopped.wait(TICK)
        self._probes.close()

    def wake(self) -> None:
        with contextlib.suppress(BlockingIOError):  # then it is awake
            os.write(self._wake[1], b"\0")

    def _turn(self) -> None:
        self._host.tick()
        self._measure()
        now = time.monotonic()
        interval = AWAY_INTERVAL if self._is_away else INTERVAL
        if not self._is_listing and now - self._listed >= interval:
            self._is_listing = True
            others = ["postgres", config["db_template"]]
            self._probes.begin(CONTROL, DATABASES, (others,))
        due = now + TICK
        for tenant in self._tenants.values():
            self._see_to(tenant, now)
            if not (tenant.is_looked_into or tenant.is_served or self._is_away):
                due = min(due, now if tenant.is_called else tenant.due)
        for name, seen in self._probes.collect(max(0.0, due - now), self._wake[0]):
            if name == CONTROL:
                self._take_list(seen)
            elif tenant := self._tenants.get(name):
                self._take(tenant, seen)
        with contextlib.suppress(BlockingIOError):
            while os.read(self._wake[0], 4096):
                pass

    def _measure(self) -> None:
        tenants = list(self._tenants.values())
        served, refused = sum(t.is_served for t in tenants), sum(bool(t.reason) for t in tenants)
        metrics.level("databases", served, state="served")
        metrics.level("databases", refused, state="refused")
        metrics.level("databases", len(tenants) - served - refused, state="resting")

    def _see_to(self, tenant: Tenant, now: float) -> None:
        if tenant.is_served:
            if self._host.is_served(tenant.name):
                return
            tenant.is_served, tenant.due = False, 0.0
            self._leave(tenant)  # its own listener has heard for it
            self._host.let_go(tenant.name)
        is_due = tenant.due <= now or tenant.is_called
        if is_due and not tenant.is_looked_into and not self._is_away:
            tenant.is_looked_into, tenant.is_called = True, False
            self._probes.begin(tenant.name, WORK)

    # ------------------------------------------------------------ the list

    def _take_list(self, seen: Seen) -> None:
        self._is_listing, self._listed = False, time.monotonic()
        if isinstance(seen, psycopg2.Error):
            if not self._is_away:
                _logger.warning("The databases cannot be listed: %s", _said(seen))
            self._is_away = True
            return
        if self._is_away:  # what waits was told to nobody
            for tenant in self._tenants.values():
                tenant.due = 0.0
        self._is_away, self._listed_well = False, self._listed
        names = {name for (name,) in seen if is_wanted(name)}
        for name in names - self._tenants.keys():
            self._tenants[name] = Tenant(name)
        for name in self._tenants.keys() - names:
            tenant = self._tenants.pop(name)
            self._leave(tenant)
            if tenant.is_served:
                self._host.let_go(name)
            _logger.info("The database %s is gone.", name)

    # ------------------------------------------------------------ one database

    def _take(self, tenant: Tenant, seen: Seen) -> None:
        tenant.is_looked_into = False
        tenant.due = time.monotonic() + INTERVAL
        if (reason := _refusal(seen)) or isinstance(seen, psycopg2.Error):
            self._refuse(tenant, reason, is_passing=db.passes(seen))
            return
        tenant.failures = 0
        if tenant.reason:
            _logger.info("Turns of %s are run again.", tenant.name)
            tenant.reason = ""
        ((has_work, secret, *_rest),) = seen
        if has_work:
            tenant.is_served = True
            self._host.serve(tenant.name)
        elif (token := notify.token(tenant.name, secret)) != tenant.token:
            self._leave(tenant)
            tenant.token, tenant.hear = token, functools.partial(self._hear, tenant)
            self._channel.join(token, tenant.hear)
            tenant.due = 0.0  # what came before it listened
        elif not self._channel.is_heard():
            tenant.due = time.monotonic() + DEAF_INTERVAL

    def _refuse(self, tenant: Tenant, reason: str, is_passing: bool) -> None:
        """Say it once; what may be the fault of PostgreSQL as a whole once it answers for others."""
        now = time.monotonic()
        pauses = PASSING_RETRY if is_passing else RETRY
        tenant.due = now + pauses[min(tenant.failures, len(pauses) - 1)]
        tenant.failed = tenant.failed if tenant.failures else now
        tenant.failures += 1
        self._leave(tenant)
        if not tenant.reason and not (is_passing and tenant.failed > self._listed_well):
            tenant.reason = reason
            _logger.info("Turns of %s are not run here: %s.", tenant.name, reason)

    def _leave(self, tenant: Tenant) -> None:
        if tenant.hear is not None:
            self._channel.leave(tenant.hear)
        tenant.token, tenant.hear = "", None

    def _hear(self, tenant: Tenant, notes: notify.Notes, _is_own: bool) -> None:
        """Called by the wake-up channel, in its thread."""
        if not notes.keys().isdisjoint(("queued", "tests")) or not self._channel.is_heard():
            tenant.is_called = True
            self.wake()


class NamedDatabases:
    """Databases that the operator names (`odoo-bin ai_runner -d DB`): one that was away is served again."""

    def __init__(self, host: Host, names: Iterable[str]):
        self._host = host
        self._names = names
        self._away: set[str] = set()

    def run(self, stopped: threading.Event) -> None:
        """Look until `stopped` is set."""
        while not stopped.wait(INTERVAL):
            try:
                self.look()
            except Exception:
                _logger.exception("Looking after the databases failed.")

    def look(self) -> None:
        """Let go of what is no longer served, and serve what is there again."""
        for name in self._names:
            if self._host.is_served(name):
                continue
            if name not in self._away:
                self._away.add(name)
                self._host.let_go(name)
            elif _is_fit(name):
                self._away.remove(name)
                self._host.serve(name)
                _logger.info("Turns of %s are run again.", name)


def _is_fit(name: str) -> bool:
    """True if this database can be served; nothing of it is loaded, and no connection stays."""
    try:
        with contextlib.closing(PgConnection(name, PROBE_TIMEOUT)) as line:
            return not _refusal(line.query(WORK))
    except (ConnectionError, StoreGone, psycopg2.Error):
        return False


def _refusal(seen: Seen) -> str:
    """The reason that this database cannot be served, empty if it can."""
    match seen:
        case psycopg2.errors.UndefinedTable() | psycopg2.errors.UndefinedColumn():
            return "it does not have the addon"
        case psycopg2.Error():
            return _said(seen)
    ((_has_work, _secret, version, is_changing),) = seen
    if version != BASE_VERSION:
        return f"it is of Odoo {version}"
    # As Odoo's crons. Whoever loads its registry now would go on with what was broken off.
    return "its modules are being installed, updated or removed" if is_changing else ""


def is_wanted(name: str) -> bool:
    """True if Odoo's `dbfilter` lets some host see this database."""
    pattern = config["dbfilter"].replace("%h", ".*").replace("%d", ".*")
    return bool(re.match(pattern, name))


def _said(error: psycopg2.Error) -> str:
    return " ".join(str(error).split()).rstrip(".")
