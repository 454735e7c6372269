"""What listens to the database: beside bad words, faults of others, and a database that is gone."""

import logging
import threading
from contextlib import closing
from types import SimpleNamespace
from unittest.mock import patch

import psycopg2
from odoo.service import server
from odoo.sql_db import PoolError
from odoo.tests import tagged
from odoo.tools import config, mute_logger
from psycopg2 import errors

from ..runtime import process
from ..runtime.turns import listener, listeners, notification_handler, serving
from ..services.errors import EngineError
from ..services.turn.ports import StoreGone
from ..tools import db, settings
from ..tools.pg_connection import PgConnection
from .common import AiCase


class Heard:
    """A handler that notes what it is told; what it is told to fear makes it raise."""

    def __init__(self, fear=""):
        self.fear = fear
        self.words = []
        self.came = threading.Condition()

    def __getattr__(self, kind):
        def hear(value=None):
            with self.came:
                self.words.append((kind, value))
                self.came.notify_all()
            if kind == self.fear:
                raise RuntimeError(kind)
            return True

        return hear

    def wait(self, word):
        with self.came:
            assert self.came.wait_for(lambda: word in self.words, 10), self.words


class Mute:
    """A wake-up channel by which nobody is told anything."""

    def __init__(self, is_heard=True):
        self.is_heard = lambda: is_heard
        self.joined = {}

    def join(self, token, hear):
        self.joined[token] = hear

    def leave(self, hear):
        self.joined = {token: one for token, one in self.joined.items() if one != hear}


@tagged("post_install", "-at_install")
class TestListening(AiCase):
    def setUp(self):
        super().setUp()
        self.dbname = self.env.cr.dbname

    def _deaf(self):
        """A listener whose listening hears nothing, and whose last look was long ago."""
        with patch.object(listener.Listener, "_listen", lambda _self: None):
            deaf = listener.Listener(self.dbname, Heard(), Mute())
        deaf._looked = -listener.LOOK_INTERVAL
        return deaf

    @mute_logger("odoo.addons.woow_paas_platform.runtime.turns.listener")
    def test_nothing_that_is_heard_ends_the_listening(self):
        heard, channel = Heard(fear="server_off"), Mute()
        self.patch(listener, "IDLE_INTERVAL", 0.1)
        listening = listener.Listener(self.dbname, heard, channel)
        try:
            listening.hear({"server_off": {3}, "server_recovered": {1}, "rumour": {1}}, False)
            heard.wait(("server_recovered", 1))
            listening.hear({"stop": {1}}, False)
            heard.wait(("stop", 1))
            listening.hear({"stop": {2}, "queued": {0}}, True)
            self.assertIn(("queued", True), heard.words, "its own turn begins at once")
            heard.wait(("stop", 2))
            self.assertNotIn(("queued", False), heard.words)
            self.assertIn(("server_off", 3), heard.words)
            listening.hear({"queued": {0}}, True)
            listening.hear({"queued": {0}}, False)
            heard.wait(("queued", False))
            self.assertTrue(listening._thread.is_alive())
        finally:
            self.patch(listener, "REST", -1.0)
            listening._thread.join(10)
        self.assertFalse(listening._thread.is_alive(), "who is not needed may end")
        self.assertFalse(channel.joined)

    def test_a_database_that_rests_has_no_connection(self):
        heard = Heard()
        listening = listener.Listener(self.dbname, heard, Mute())
        heard.wait(("idle", None))
        listening.hear({"stop": {1}}, False)
        heard.wait(("stop", 1))
        self.assertIsNone(listening._line)
        listening.subscribe(1, 0)
        listening.hear({"events": {0}, "stop": {2}}, False)
        heard.wait(("stop", 2))
        self.patch(listener, "REST", -1.0)

    def test_who_hears_nothing_looks_more_often(self):
        heard = Heard()
        self.patch(listener, "DEAF_INTERVAL", 0.05)
        listener.Listener(self.dbname, heard, Mute(is_heard=False))
        with heard.came:
            looked = lambda: heard.words.count(("idle", None)) > 3  # noqa: E731
            self.assertTrue(heard.came.wait_for(looked, 10))
        self.patch(listener, "REST", -1.0)

    def test_who_hears_nothing_looks_for_its_streams_as_often(self):
        heard, events = Heard(), []
        rows = {listener.FREE_WORK: [(False, False, False, "secret")], listener.EVENTS: events}
        line = SimpleNamespace(
            query=lambda statement, _values=(): rows[statement], close=lambda: None
        )
        self.patch(listener, "PgConnection", lambda *_: line)
        self.patch(listener, "DEAF_INTERVAL", 0.05)
        deaf = listener.Listener(self.dbname, heard, Mute(is_heard=False))
        with heard.came:
            looked = lambda: heard.words.count(("idle", None)) > 1  # noqa: E731
            self.assertTrue(heard.came.wait_for(looked, 10), "nobody waited yet")
        subscription = deaf.subscribe(7, 0)
        events.append((7, 1, '{"type": "done"}', "done"))
        self.assertEqual([event.seq for event in subscription.take(10)], [1])
        deaf.unsubscribe(subscription)
        self.patch(listener, "REST", -1.0)

    def test_without_the_addon_nothing_listens(self):
        heard = Heard()
        with patch.object(listener, "_logger") as logger:
            gone = listener.Listener("postgres", heard, Mute())
            heard.wait(("gone", gone))
            gone._thread.join(10)
        self.assertFalse(gone._thread.is_alive())
        self.assertEqual(len(logger.mock_calls), 1, "one line says so")

    def test_what_the_listening_missed_is_read_again(self):
        self.enterContext(self.enter_registry_test_mode())
        turn = self._ask(self.member).sudo()
        deaf = self._deaf()
        self.env.flush_all()
        subscription = deaf.subscribe(turn.id, 0)
        deaf.look_again()
        self.assertEqual([event.seq for event in subscription.take(0)], [1])
        self.assertFalse(subscription.is_over)
        turn._request_stop()
        self.env.flush_all()
        deaf.look_again()
        self.assertFalse(subscription.take(0), "one look for all streams, once in a while")
        deaf._looked = -listener.LOOK_INTERVAL
        deaf.look_again()
        self.assertTrue(subscription.take(0)[-1].is_final)

    def test_the_stream_of_a_turn_that_is_deleted_ends(self):
        turn = self._ask(self.member).sudo()
        deaf = self._deaf()
        subscription = deaf.subscribe(turn.id, 1)
        turn.unlink()
        self.env.flush_all()
        deaf.look_again()
        self.assertTrue(subscription.is_over)

    def test_no_statement_of_a_line_waits_for_ever(self):
        with closing(PgConnection(self.dbname, 0.3)) as line, self.assertRaises(db.DatabaseGone):
            line.query("SELECT pg_sleep(10)")

    def test_what_passes_is_tried_again_and_what_does_not_is_told(self):
        for code in (
            "08006",
            "25006",
            "25P03",
            "40001",
            "53100",
            "53300",
            "55P03",
            "57014",
            "57P01",
        ):
            with self.subTest(code=code), self.assertRaises(db.DatabaseGone):
                self._raise(code)
        with self.assertRaises(db.DatabaseGone), db.typed_errors(self.dbname):
            raise PoolError("The Connection Pool Is Full")
        with self.assertRaises(errors.UniqueViolation):
            self._raise("23505")
        with self.assertRaises(StoreGone), db.typed_errors("no_such_database"):
            raise psycopg2.OperationalError("no connection")

    def test_a_thread_that_others_wait_for_does_not_sleep(self):
        """Of a runner's threads: the loop waits, while the thread does what others want."""
        tries = []

        def collide(_cr):
            tries.append(1)
            raise errors.SerializationFailure("concurrent update")

        def work():
            db.never_sleep()
            with self.assertRaises(db.DatabaseGone):
                db.raw(self.dbname, collide)

        with patch.object(db.time, "sleep") as sleep:
            thread = threading.Thread(target=work)
            thread.start()
            thread.join(30)
        self.assertEqual((len(tries), sleep.call_count), (db.QUICK_TRIES, 0))

    def test_what_is_missing_is_gone_only_with_the_addon(self):
        for dbname, error in (("postgres", StoreGone), (self.dbname, errors.UndefinedColumn)):
            with self.subTest(dbname=dbname), self.assertRaises(error), db.typed_errors(dbname):
                raise errors.UndefinedColumn("discuss_channel.woow_user_id")

    def test_a_registry_that_is_reloaded_without_the_addon(self):
        self.patch(db.Registry, "check_signaling", lambda _registry, _cr: {})
        with self.assertRaises(StoreGone):
            db.transaction(self.dbname, lambda env: env[db.MARK].search([]))

    def test_of_a_database_that_rests_no_queue_is_kept(self):
        deaf, rested = self._deaf(), []
        self.patch(listeners._registry, "listeners", {self.dbname: deaf})
        self.patch(process, "running", lambda: SimpleNamespace(detach=rested.append))
        handler = notification_handler.ProcessHandler(self.dbname, listeners.forget)
        with patch.dict(config.options, {"db_name": [self.dbname]}):
            self.assertFalse(handler.rested(deaf), "its operator named it")
        with patch.dict(config.options, {"db_name": []}):
            subscription = deaf.subscribe(1, 0)
            self.assertFalse(handler.rested(deaf), "somebody reads")
            deaf.unsubscribe(subscription)
            self.assertFalse(rested)
            self.assertTrue(handler.rested(deaf))
        self.assertEqual(rested, [self.dbname])
        self.assertFalse(listeners._registry.listeners)

    def test_of_a_database_that_is_gone_nothing_is_remembered(self):
        deaf, done = self._deaf(), []
        runner = SimpleNamespace(detach=done.append)
        engine = SimpleNamespace(leave=lambda dbname: done.append(f"left {dbname}"))
        self.patch(listeners._registry, "listeners", {self.dbname: deaf})
        self.patch(process._process, "applied", {self.dbname: "digest"})
        self.patch(process, "running", lambda: runner)
        self.patch(process, "submit", lambda work: work(engine))
        notification_handler.ProcessHandler(self.dbname, listeners.forget).gone(deaf)
        self.assertEqual(done, [self.dbname, f"left {self.dbname}"])
        self.assertFalse(listeners._registry.listeners or process.applied())

    def test_what_is_queued_while_an_errand_ends_is_not_lost(self):
        handler = notification_handler.ProcessHandler(self.dbname, listeners.forget)
        woken = threading.Semaphore(0)
        runner = SimpleNamespace(wake=lambda *_: woken.release())
        for name, found in (("runs_turns", True), ("ready_runner", None), ("running", runner)):
            self.patch(process, name, lambda found=found: found)
        self.patch(process, "run_turns", lambda _dbname: runner)

        class Requested(threading.Event):
            """In the moment in which a worker has seen that nothing is left to do, there is something."""

            later = threading.Thread(target=handler.queued, args=(True,))

            def is_set(self):
                found = super().is_set()
                if not found and self.later.ident is None:
                    self.later.start()
                    self.later.join(0.5)  # as far as it gets
                return found

        handler._requested = Requested()
        handler.queued(True)
        for _word in range(2):
            self.assertTrue(woken.acquire(timeout=10))

    def test_an_outage_is_no_error_of_who_looks_for_work(self):
        self.patch(process, "runs_turns", lambda: True)
        self.patch(process, "running", lambda: None)
        away = patch.object(notification_handler, "is_work_free", side_effect=db.DatabaseGone("no"))
        handler = notification_handler.ProcessHandler(self.dbname, listeners.forget)
        handler._requested.set()
        for method in ("_look_at_server_file", "_check_health"):
            self.patch(handler, method, lambda: None)
        with away, self.assertLogs(notification_handler.__name__, logging.INFO) as logs:
            handler._help(own=False)
        self.assertEqual([record.levelno for record in logs.records], [logging.INFO])

    def _raise(self, code):
        """Let PostgreSQL itself raise it."""
        with (
            db.typed_errors(self.dbname),
            closing(psycopg2.connect(**db.line_to(self.dbname))) as connection,
            connection.cursor() as cr,
        ):
            cr.execute(f"DO $$ BEGIN RAISE SQLSTATE '{code}'; END $$")

    def test_one_person_does_not_take_all_streams(self):
        deaf = self._deaf()
        self.patch(listeners._registry, "listeners", {self.dbname: deaf})
        for evented, of_all, of_one, share in (
            (True, 20, 64, 5),
            (False, 20, 64, 5),
            (True, 2000, 64, 64),
            (False, 2000, 64, listeners.STREAMS_OF_ONE),
            (False, 2000, 6, 6),
        ):
            with self.subTest(evented=evented, of_all=of_all, of_one=of_one):
                options = SimpleNamespace(max_streams=of_all, streams_per_person=of_one)
                self.patch(settings, "get", lambda options=options: options)
                self.patch(process, "is_evented", lambda evented=evented: evented)
                taken = []
                while not listeners.is_full(self.dbname, self.member.id):
                    taken.append(deaf.subscribe(1, 0, self.member.id))
                self.assertEqual(len(taken), share)
                self.assertFalse(listeners.is_full(self.dbname, self.owner.id))
                for subscription in taken:
                    deaf.unsubscribe(subscription)

    def test_streams_of_a_turn_send_the_same_bytes(self):
        deaf = self._deaf()
        streams = [deaf.subscribe(1, 0, self.member.id) for _stream in range(2)]
        deaf._deliver(lambda _statement, _values: [(1, 1, '{"type": "text"}', "text")])
        (one,), (other,) = (stream.take(0) for stream in streams)
        self.assertEqual(one.frame, b'id: 1\ndata: {"type": "text"}\n\n')
        self.assertIs(one.frame, other.frame)

    def test_a_fault_of_the_operators_file_costs_no_turn(self):
        runner = SimpleNamespace(attached=threading.Event(), wake=lambda _name, _delay: None)

        def run_turns(_dbname):
            runner.attached.set()
            return runner

        self.patch(process, "run_turns", run_turns)
        self.patch(process, "runs_turns", lambda: True)
        self.patch(process, "running", lambda: runner)
        self.patch(process._process, "applied", {})
        self.patch(
            notification_handler.server_files,
            "current",
            lambda: SimpleNamespace(digest="x", health_check_interval=None),
        )
        broken = patch.object(
            notification_handler.ServerStore, "apply_file", side_effect=ValueError("NUL")
        )
        logger = "odoo.addons.woow_paas_platform.runtime.turns.notification_handler"
        with broken as apply, self.assertLogs(logger, "ERROR"):
            for _time in range(2):
                runner.attached.clear()
                listening = notification_handler.ProcessHandler(self.dbname, listeners.forget)
                listening.queued(own=False)
                self.assertTrue(runner.attached.wait(10))
                listening._helper.join(10)
        self.assertEqual(apply.call_count, 1, "not again before the file changes")

    def test_what_is_checked_more_often_than_the_cron_comes(self):
        asked = []
        self.patch(
            notification_handler.background, "check_later", lambda _dbname, due: asked.append(due)
        )
        self.patch(notification_handler.ServerStore, "due_for_check", lambda _store: [7])
        handler = notification_handler.ProcessHandler(self.dbname, listeners.forget)
        for interval, expected in ((None, []), (60.0, []), (10.0, [[7]])):
            asked.clear()
            file = SimpleNamespace(health_check_interval=interval)
            with patch.object(notification_handler.server_files, "current", lambda: file):  # noqa: B023
                handler._check_health()
            self.assertEqual(asked, expected, interval)

    def test_a_process_that_ends_begins_nothing(self):
        self.patch(process, "_process", process._Process())
        process.shutdown()
        self.assertFalse(process.runs_turns())
        with self.assertRaisesRegex(EngineError, "stopped or restarted"):
            process.runner()
        self.patch(process.odoo_module, "current_test", None)
        process.in_background(None)  # of a cron, which would fail

    def test_a_server_listens_before_the_first_request(self):
        began = []
        self.patch(listeners, "ensure_listening", began.append)
        self.patch(server, "server", server.ThreadedServer(None))
        self.patch(serving, "config", {"test_enable": False, "stop_after_init": False})
        serving.registry_loaded(self.dbname)
        self.assertFalse(began, "a server that answers no requests")
        server.server.httpd = object()
        serving.registry_loaded(self.dbname)
        self.assertEqual(began, [self.dbname])
