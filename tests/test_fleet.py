"""All databases of one PostgreSQL: how often each is looked into, who is served, what the log says of the others."""

import logging
import os
import threading
import time
from contextlib import closing, contextmanager
from types import SimpleNamespace
from unittest.mock import patch

import psycopg2
from odoo import sql_db
from odoo.addons.base.models.ir_cron import BASE_VERSION
from odoo.modules.registry import Registry
from odoo.tests import TransactionCase, tagged
from odoo.tools import mute_logger
from psycopg2.errors import UndefinedTable

from ..runtime.fleet import fleet, probes, process_host
from ..tools import db
from .test_listening import Mute

LOGGER = "odoo.addons.woow_paas_platform.runtime.fleet.fleet"
RESTS = (False, "secret", BASE_VERSION, False)
WORKS = (True, "secret", BASE_VERSION, False)


class Clock:
    def __init__(self):
        self.now = 1000.0

    def monotonic(self):
        return self.now


class ScriptedLooks:
    """What is in each database, and how often it was looked into; a look that waits lets the time pass."""

    def __init__(self, clock):
        self.clock = clock
        self.inside = {}
        self.asked = []
        self.counts = {}

    def begin(self, name, _statement, _values=()):
        self.asked.append(name)
        self.counts[name] = self.counts.get(name, 0) + 1

    def collect(self, timeout, _wake):
        if not self.asked:
            self.clock.now += timeout
            return []
        asked, self.asked = self.asked, []
        return [(name, self.seen(name)) for name in asked]

    def seen(self, name):
        if name == fleet.CONTROL:
            return self.inside.get(name) or [(one,) for one in self.inside]
        found = self.inside[name]
        return found if isinstance(found, Exception) else [found]


class Process:
    def __init__(self):
        self.served = set()
        self.let = []
        self.serve = self.served.add
        self.is_served = self.served.__contains__
        self.let_go = self.let.append

    def tick(self):
        pass


@tagged("post_install", "-at_install")
class TestFleet(TransactionCase):
    def setUp(self):
        super().setUp()
        self.clock = Clock()
        self.patch(fleet, "time", self.clock)
        self.patch(fleet, "config", {"dbfilter": "", "db_template": "template0"})
        self.looks = ScriptedLooks(self.clock)
        self.patch(fleet, "DatabaseProbes", lambda: self.looks)
        self.process, self.channel = Process(), Mute()
        self.fleet = fleet.Fleet(self.process, self.channel)

    def _let_pass(self, seconds):
        until, turns = self.clock.now + seconds, 0
        while self.clock.now < until:
            self.fleet._turn()
            turns += 1
            self.assertLess(turns, 10 * seconds + 100, "it turns for nothing")

    def _looked(self, name, seconds):
        before = self.looks.counts.get(name, 0)
        self._let_pass(seconds)
        return self.looks.counts.get(name, 0) - before

    def test_a_database_that_rests_is_looked_into_once_in_ten_seconds(self):
        self.looks.inside = {f"db{number}": RESTS for number in range(200)}
        self._let_pass(5)
        counts = [self._looked("db7", 100), self.looks.counts["db199"]]
        self.assertLessEqual(max(counts), 12)
        self.assertEqual(len(self.channel.joined), 200)
        self.assertFalse(self.process.served)
        self.channel.is_heard = lambda: False
        self._let_pass(10)
        self.assertGreater(self._looked("db7", 20), 15)

    def test_what_is_heard_is_looked_at_at_once_and_let_go_afterwards(self):
        self.looks.inside = {"a": RESTS, "b": RESTS}
        self._let_pass(5)
        self.looks.inside["a"] = WORKS
        (hear,) = [hear for hear in self.channel.joined.values() if hear.args[0].name == "a"]
        hear({"events": {0}}, False)
        self.assertFalse(self._looked("a", 1))
        hear({"queued": {1}}, False)
        self.fleet._turn()
        self.assertEqual(self.process.served, {"a"})
        self.assertEqual(self._looked("a", 60), 0, "its own listener looks")
        self.looks.inside["a"] = RESTS
        self.process.served.clear()
        self._let_pass(2)
        self.assertEqual(self.process.let, ["a"])
        self.assertEqual(len(self.channel.joined), 2)

    def test_what_is_heard_during_a_look_is_not_lost(self):
        self.looks.inside = {"a": RESTS}
        self._let_pass(5)
        (hear,) = self.channel.joined.values()
        inner = self.looks.seen

        def seen(name):
            found = inner(name)
            if name == "a" and found == [RESTS]:
                self.looks.inside["a"] = WORKS
                hear({"queued": {1}}, False)
            return found

        self.looks.seen = seen
        self._let_pass(11)
        self.assertEqual(self.process.served, {"a"})

    def test_what_cannot_be_served_is_said_once(self):
        away = psycopg2.OperationalError("no answer\n within 5 s")
        self.looks.inside = {
            "plain": UndefinedTable(),
            "older": (True, "secret", "18.0.1.3", False),
            "half": (True, "secret", BASE_VERSION, True),
            "away": away,
            "well": RESTS,
        }
        with self.assertLogs(LOGGER, logging.INFO) as logs:
            self._let_pass(600)
        said = sorted(line.partition("Turns of ")[2] for line in logs.output)
        self.assertEqual(
            said,
            [
                "away are not run here: no answer within 5 s.",
                "half are not run here: its modules are being installed, updated or removed.",
                "older are not run here: it is of Odoo 18.0.1.3.",
                "plain are not run here: it does not have the addon.",
            ],
        )
        self.assertFalse(self.process.served)
        self.assertLessEqual(self._looked("away", 600), 11)
        self.looks.inside["away"] = WORKS
        with self.assertLogs(LOGGER, logging.INFO) as logs:
            self._let_pass(61)
        self.assertEqual(len(logs.output), 1)
        self.assertEqual(self.process.served, {"away"})
        del self.looks.inside["away"]
        with self.assertLogs(LOGGER, logging.INFO) as logs:
            self._let_pass(61)
        self.assertIn("away is gone", logs.output[0])
        self.assertEqual(self.process.let, ["away"])

    def test_an_outage_of_postgresql_is_one_line_for_all(self):
        self.looks.inside = {f"db{number}": RESTS for number in range(20)}
        self._let_pass(25)
        away = psycopg2.OperationalError("the database system is shutting down")
        self.looks.inside |= dict.fromkeys([*self.looks.inside, fleet.CONTROL], away)
        with self.assertLogs(LOGGER, logging.INFO) as logs:
            self._let_pass(300)
        self.assertEqual(len(logs.output), 1, logs.output)
        self.looks.inside = {f"db{number}": WORKS for number in range(20)}
        self._let_pass(75)
        self.assertEqual(len(self.process.served), 20)

    def test_only_what_somebody_may_see_is_served(self):
        for pattern, allowed in (("", True), ("^%d$", True), ("^acme_", True), ("^other_", False)):
            with self.subTest(pattern):
                fleet.config["dbfilter"] = pattern
                self.looks.inside = {"acme_1": WORKS}
                self.process.served.clear()
                self.fleet = fleet.Fleet(self.process, Mute())
                self._let_pass(5)
                self.assertEqual("acme_1" in self.process.served, allowed)

    @mute_logger(LOGGER)
    def test_a_named_database_that_was_away_is_served_again_once_it_can_be(self):
        names = [self.env.cr.dbname, "postgres", "woow_none"]
        named = fleet.NamedDatabases(self.process, names)
        for served in (set(), {self.env.cr.dbname}):
            named.look()
            self.assertEqual(self.process.let, names)
            self.assertEqual(self.process.served, served)


@tagged("post_install", "-at_install")
class TestProcessHost(TransactionCase):
    """While another registry is being loaded, which holds the lock of all."""

    def setUp(self):
        super().setUp()
        self.deleted, self.left = [], []
        self.registry = SimpleNamespace(_lock=threading.RLock(), delete=self.deleted.append)
        self.patch(process_host, "Registry", self.registry)
        engine = SimpleNamespace(leave=self.left.append)
        self.patch(process_host.process, "submit", lambda work: work(engine))
        self.patch(process_host.listeners, "serve", lambda _name, _rest: None)
        self.host = process_host.ProcessHost()

    @contextmanager
    def _loading(self):
        with self.registry._lock:
            yield
            self.assertFalse(self.deleted)
        for thread in threading.enumerate():
            if thread.name == "woow-ai-unload":
                thread.join()

    def test_who_lets_go_does_not_wait(self):
        with self._loading():
            self.host.let_go("woow_none_a")
        self.assertEqual(self.deleted, ["woow_none_a"])

    def test_neither_sessions_nor_connections_of_it_are_kept(self):
        name = fleet.CONTROL  # not the one of this test's own cursor
        pools = {name: sql_db.ConnectionPool(1)}
        self.enterContext(patch.dict(db._pools.by_name, pools))
        _name, odoos = sql_db.connection_info_for(name)
        connections = [pools[name].borrow(db.line_to(name)), sql_db._Pool.borrow(odoos)]
        for pool, connection in zip((pools[name], sql_db._Pool), connections, strict=True):
            pool.give_back(connection)
        self.assertFalse([one for one in connections if one.closed], "they are kept for the next")
        with self._loading():
            self.host.let_go(name)
        self.assertEqual(self.left, [name])
        self.assertFalse([one for one in connections if not one.closed])

    def test_what_has_turns_again_is_kept(self):
        with self._loading():
            self.host.let_go("woow_none_a")
            self.host.let_go("woow_none_b")
            self.host.serve("woow_none_a")
        self.assertEqual(self.deleted, ["woow_none_b"])

    def test_what_is_left_of_them_is_collected_together(self):
        collections = []
        self.patch(process_host, "gc", SimpleNamespace(collect=lambda: collections.append(1)))
        self.host.tick()
        self.assertFalse(collections, "nothing was let go")
        with self._loading():
            self.host.let_go("woow_none_a")
            self.host.let_go("woow_none_b")
        self.host.tick()
        self.assertEqual(len(collections), 1)
        self.deleted.clear()
        with self._loading():
            self.host.let_go("woow_none_a")
        self.host.tick()
        self.assertEqual(len(collections), 1, "not again so soon")


@tagged("post_install", "-at_install")
class TestLooks(TransactionCase):
    def _all(self, looking, count):
        seen = {}
        until = time.monotonic() + 20
        while len(seen) < count:
            self.assertLess(time.monotonic(), until)
            seen.update(looking.collect(1.0, self.wake))
        return seen

    def setUp(self):
        super().setUp()
        self.wake, self.waker = os.pipe()
        self.addCleanup(os.close, self.wake)
        self.addCleanup(os.close, self.waker)

    def test_who_hangs_keeps_nobody(self):
        self.patch(probes, "PROBE_TIMEOUT", 3.0)
        looking, name = probes.DatabaseProbes(), self.env.cr.dbname
        looking.begin(name, "SELECT pg_sleep(30)")
        looking.begin("woow_there_is_no_such", "SELECT 1")
        looking.begin("postgres", "SELECT 7")
        seen = self._all(looking, 2)
        self.assertNotIn(name, seen)
        self.assertEqual(seen["postgres"], [(7,)])
        self.assertIn("does not exist", str(seen["woow_there_is_no_such"]))
        self.assertIn("no answer within 3 s", str(self._all(looking, 1)[name]))

    def test_a_database_that_was_looked_into_has_no_connection(self):
        looking = probes.DatabaseProbes()
        looking.begin(fleet.CONTROL, "SELECT pg_backend_pid()")
        ((process,),) = self._all(looking, 1)[fleet.CONTROL]
        is_there = [process]
        until = time.monotonic() + 10
        while is_there:
            self.assertLess(time.monotonic(), until)
            there = "SELECT 1 FROM pg_stat_activity WHERE pid = %s"
            looking.begin(fleet.CONTROL, there, (process,))
            is_there = self._all(looking, 1)[fleet.CONTROL]

    def test_a_registry_that_is_loaded_needs_no_lock(self):
        """Whoever loads another one holds the lock of all, as does Odoo itself while it runs these tests."""
        done = threading.Event()

        def work():
            if db._loaded(self.env.cr.dbname):
                done.set()

        with Registry._lock:  # of this very thread, if anybody's: no other one can have it
            threading.Thread(target=work, daemon=True).start()
            self.assertTrue(done.wait(5), "it waits for the other one")

    @mute_logger("odoo.addons.woow_paas_platform.tools.db")
    def test_who_loads_a_registry_is_watched(self):
        watched, cut = [], []
        self.patch(db, "_cut", cut.append)

        class Loads:
            registries = {}

            def __init__(self, name):
                db.end_long_loads(60.0)
                watched.append(list(cut))
                process_host.LOAD_LIMIT = -1.0
                host.tick()
                watched.append(list(cut))

        host = process_host.ProcessHost()
        self.patch(process_host, "LOAD_LIMIT", process_host.LOAD_LIMIT)
        self.patch(db, "Registry", Loads)
        db._loaded("woow_none")
        host.tick()
        self.assertEqual(watched, [[], ["woow_none"]])
        self.assertEqual(cut, ["woow_none"], "no longer than it takes")

    @mute_logger("odoo.addons.woow_paas_platform.tools.db", "odoo.sql_db")
    def test_a_registry_that_does_not_load_is_cut_off(self):
        name, errors = fleet.CONTROL, []  # not the one of this test's own cursor

        def load():
            with db._loading(name), closing(sql_db.db_connect(name).cursor()) as cr:
                try:
                    cr.execute("SELECT pg_sleep(60)")
                except psycopg2.Error as error:
                    errors.append(error)

        loading = threading.Thread(target=load)
        loading.start()
        while loading.is_alive():
            db.end_long_loads(0.2)
            loading.join(0.1)
        self.assertTrue(errors)
