"""Two transactions write the same row: the second one is repeated, and Odoo's log has no error of it."""

import contextlib
import threading
import time

from odoo.modules.registry import DummyRLock, Registry
from odoo.tests import tagged
from psycopg2.errors import SerializationFailure

from ..runtime import process
from ..runtime.servers.server_store import ServerStore
from ..services.catalog.server_file import FileServer, ServerFile
from ..tools import db, server_files
from .race_data import TURN, RaceCase

SERVER = "woow_paas_platform.mcp_server"
ROUNDS = 5  # of two workers


@tagged("post_install", "-at_install")
class TestCollisions(RaceCase):
    def setUp(self):
        super().setUp()
        self.enterContext(self.assertNoLogs("odoo.sql_db", "ERROR"))

    def _rename(self, name):
        with self._transaction() as env:
            env[SERVER].browse(self.server_id).title = name

    def test_two_workers_claim_at_once(self):
        both, seen = threading.Barrier(2), []

        def work(name):
            for _ in range(ROUNDS):
                both.wait(60)
                seen.extend(claim.turn_id for claim in self.store.claim(name, 50, 60.0))
                self.store.release(name)

        workers = [threading.Thread(target=work, args=(name,)) for name in ("one", "two")]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join(120)
        self.assertFalse(any(worker.is_alive() for worker in workers))
        self.assertIn(self.turn_id, seen)

    def test_what_the_background_writes_through_the_orm_is_repeated(self):
        tries = []

        def work(env):
            server = env[SERVER].browse(self.server_id)
            tries.append(server.title)
            if len(tries) == 1:
                self._rename("Meanwhile")
            server.title = "Behind"
            env.flush_all()

        db.transaction(self.dbname, work)
        self.assertEqual(tries[1:], ["Meanwhile"])

    @contextlib.contextmanager
    def _request(self, record, meanwhile):
        """As of a request, which Odoo repeats: somebody commits after it has read."""
        with self.assertRaises(SerializationFailure), self._transaction() as env:
            found = env[record[0]].browse(record[1])
            found.exists()
            meanwhile()
            yield found

    def test_a_person_saves_a_server_that_is_being_read(self):
        with self._request((SERVER, self.server_id), lambda: self._rename("Read")) as server:
            server.title = "Saved"

    def test_a_person_deletes_a_server_that_is_being_read(self):
        with self._request((SERVER, self.server_id), lambda: self._rename("Read")) as server:
            server.unlink()

    def test_two_people_decide_at_once(self):
        def decided():
            self._set("write_date = now() AT TIME ZONE 'UTC'")

        with self._request((TURN, self.turn_id), decided) as turn:
            turn._lock_for_decision()

    def test_two_processes_find_a_new_file(self):
        """The second one waits for the first, and sees the rows that it has made."""
        entry = FileServer(name="races_of_a_file", url="https://races.example.com/mcp")
        Server = Registry(self.dbname)[SERVER]
        vals_of_entry, calls = Server._vals_of_entry, []

        def made(model, entry):
            calls.append(entry.name)
            until = time.monotonic() + 10
            while not self._is_somebody_waiting() and time.monotonic() < until:
                time.sleep(0.01)
            return vals_of_entry(model, entry)

        def apply():
            try:
                ServerStore(self.dbname).apply_file(False)
            except Exception as error:
                failures.append(error)

        failures = []
        self.patch(Registry, "_lock", DummyRLock())  # Odoo's runner holds it
        self.addCleanup(self._forget_file)
        self.patch(Server, "_vals_of_entry", made)
        self.patch(server_files, "current", lambda: ServerFile(servers={entry.name: entry}))
        self.patch(process, "in_background", lambda work: None)
        workers = [threading.Thread(target=apply) for _ in range(2)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join(30)
        self.assertEqual((failures, calls), ([], [entry.name]))

    def _is_somebody_waiting(self):
        with self._transaction() as env:
            env.cr.execute(
                "SELECT 1 FROM pg_locks l JOIN pg_stat_activity a USING (pid)"
                " WHERE NOT l.granted AND a.datname = %s",
                [self.dbname],
            )
            return bool(env.cr.fetchone())

    def _forget_file(self):
        with self._transaction() as env:
            env[SERVER].search(
                [("name", "=", "races_of_a_file"), ("active", "in", (True, False))]
            ).unlink()
