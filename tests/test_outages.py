"""PostgreSQL goes away, comes back as another server, or takes no writes: what is open to it, and who is told."""

import os
from contextlib import closing
from unittest.mock import Mock, patch

import psycopg2
from odoo import sql_db
from odoo.service import server
from odoo.tests import tagged
from odoo.tools import mute_logger

from ..runtime.turns import listeners, serving, streams
from ..runtime.turns.listener import Subscription
from ..services.errors import LeaseLost
from ..services.turn.ports import Ending, NotNow
from ..tools import db, notify
from .store_data import StoreCase


@tagged("post_install", "-at_install")
class TestOutages(StoreCase):
    def test_the_end_of_a_turn_whose_commit_was_not_answered_is_told(self):
        claim = self._claim()
        ending = Ending(state="done", html="<p>Hi</p>", next_seq=2)
        self.store.finish(claim, ending, [])
        told = set()
        with (
            patch.object(notify, "_send", lambda _cr, kind, _number: told.add(kind)),
            self.assertRaises(LeaseLost),
        ):
            self.store.finish(claim, ending, [])
        self.assertEqual(told, {"events", "queued"})

    def test_a_stream_ends_while_the_log_cannot_be_read(self):
        """So that its client comes again; an error would be in the log once for each of them."""
        for mode in (streams.Mode.SHORT, streams.Mode.TAIL):
            with (
                self.subTest(mode=mode),
                patch.object(streams, "read_events", side_effect=db.DatabaseGone("away")),
                patch.object(
                    listeners,
                    "subscribe",
                    return_value=(Mock(), Subscription(1, 0, is_behind=True)),
                ),
            ):
                parts = list(streams.tail(self.env.cr.dbname, self.turn.id, 0, mode))
                self.assertEqual([part.partition(b":")[0] for part in parts], [b"retry"])

    def test_what_libpq_says_without_a_code_passes(self):
        """Over a unix socket, where somebody has killed a backend, it has no closer class either."""
        gone = "server closed the connection unexpectedly"
        for kind in (psycopg2.OperationalError, psycopg2.InterfaceError, psycopg2.DatabaseError):
            self.assertTrue(db.passes(kind(gone)), kind)
        for kind in (psycopg2.ProgrammingError, psycopg2.IntegrityError, psycopg2.DataError):
            self.assertFalse(db.passes(kind("no")), kind)

    def test_what_a_server_refuses_that_is_there_is_no_outage(self):
        for code, is_refusal in (
            ("08006", False),
            ("57P01", False),
            ("25P03", False),
            (None, False),
            ("40001", True),
            ("40P01", True),
            ("53100", True),
            ("55P03", True),
            ("57014", True),
        ):
            error = type("Said", (psycopg2.OperationalError,), {"pgcode": code})("no")
            with (
                self.subTest(code),
                self.assertRaises(db.DatabaseGone) as said,
                db.typed_errors(self.env.cr.dbname),
            ):
                raise error
            self.assertIs(isinstance(said.exception, NotNow), is_refusal)

    def test_the_error_is_told_that_came_before_the_connection_was_lost(self):
        dbname, pool = self.env.cr.dbname, sql_db.ConnectionPool(1)
        with self.assertRaises(ValueError), db._Cursor(pool, dbname, db.line_to(dbname)) as cr:
            cr.execute("SELECT 1")
            self.env.cr.execute(
                "SELECT pg_terminate_backend(%s, 10000)", [cr._cnx.info.backend_pid]
            )
            raise ValueError

    def test_a_database_that_nobody_has_updated_is_one_that_is_away(self):
        """Its turns wait, and the log has one line instead of a traceback each time that somebody looks."""
        missing = psycopg2.errors.UndefinedColumn("no such column")
        with (
            self.assertRaises(psycopg2.errors.UndefinedColumn),
            db.typed_errors(self.env.cr.dbname),
        ):
            raise missing
        with (
            patch.object(db, "get_manifest", lambda _name: {"version": "20.0.1.0.0"}),
            self.assertRaisesRegex(ConnectionError, "-u woow_paas_platform"),
            db.typed_errors(self.env.cr.dbname),
        ):
            raise missing

    @mute_logger("odoo.sql_db")
    def test_connections_to_a_replica_are_not_kept(self):
        """Of Odoo's own pool those that nobody uses just now, and the one that has met it."""
        dbname, pool = self.env.cr.dbname, sql_db.ConnectionPool(4)
        line = db.line_to(dbname)
        with (
            patch.object(sql_db, "_Pool", pool),
            closing(sql_db.Cursor(pool, dbname, line)) as used,
        ):
            with closing(sql_db.Cursor(pool, dbname, line)) as refused:
                sql_db.Cursor(pool, dbname, line).close()
                refused.execute("SET TRANSACTION READ ONLY")
                with self.assertRaises(psycopg2.errors.ReadOnlySqlTransaction):
                    refused.execute("DELETE FROM res_users")
                self.assertEqual(len(pool._connections), 3)
                db.leave_replica(refused)
            left = [connection for connection in pool._connections if not connection.closed]
            self.assertEqual(left, [used._cnx])
        pool.close_all()

    def test_our_own_connections_to_a_replica_are_not_kept(self):
        dbname, pool = self.env.cr.dbname, sql_db.ConnectionPool(1)
        self.enterContext(patch.dict(db._pools.by_name, {dbname: pool}))
        idle = pool.borrow(db.line_to(dbname))
        pool.give_back(idle)
        others, replicas = (
            psycopg2.errors.SerializationFailure("concurrent update"),
            psycopg2.errors.ReadOnlySqlTransaction("cannot execute UPDATE"),
        )
        for error, is_closed in ((others, False), (replicas, True)):
            with self.assertRaises(db.DatabaseGone), db.typed_errors(dbname):
                raise error
            self.assertEqual(bool(idle.closed), is_closed)

    def test_what_idles_is_closed_while_another_database_is_used(self):
        dbname, pool = self.env.cr.dbname, sql_db.ConnectionPool(2)
        self.enterContext(patch.dict(db._pools.by_name, {dbname: pool}))
        self.addCleanup(pool.close_all)
        used, idle = (pool.borrow(db.line_to(dbname)) for _connection in range(2))
        pool.give_back(idle)
        for seconds, is_closed in ((60.0, False), (0.0, True)):
            with patch.object(db, "IDLE", seconds):
                db.raw("postgres", lambda cr: cr.execute("SELECT 1"))
            self.assertEqual(bool(idle.closed), is_closed)
        self.assertFalse(used.closed)

    def test_a_request_that_met_a_replica_leaves_it(self):
        self._sign_in(self.member)
        refusal = psycopg2.errors.ReadOnlySqlTransaction("cannot execute UPDATE")
        left = []
        with (
            patch.object(type(self.turn), "_is_streamed_until", side_effect=refusal),
            patch.object(db, "leave_replica", left.append),
            mute_logger("odoo.http", "odoo.addons.woow_paas_platform.runtime.web.api_error"),
        ):
            self.url_open(self.turn._stream_url())
        self.assertEqual(len(left), 1)

    def test_the_master_of_workers_outlives_an_outage(self):
        """Odoo's own would end, and all workers with it."""
        replica = "cannot set transaction read-write mode during recovery"
        fates = [
            psycopg2.OperationalError("server closed the connection"),
            psycopg2.errors.FeatureNotSupported(replica),
            ValueError("else"),
        ]

        def spawn(_master):
            raise fates.pop(0)

        with patch.object(server.PreforkServer, "process_spawn", spawn):
            serving._outlive_outages()
            serving._outlive_outages()
            master = Mock(pid=os.getpid())
            server.PreforkServer.process_spawn(master)
            server.PreforkServer.process_spawn(master)
            with self.assertRaises(ValueError):
                server.PreforkServer.process_spawn(master)
            fates.append(psycopg2.OperationalError("in a worker, which ends"))
            with self.assertRaises(psycopg2.OperationalError):
                server.PreforkServer.process_spawn(Mock(pid=os.getpid() + 1))
