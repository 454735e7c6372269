"""The wake-up channel: who hears what, how often, and what becomes of it when it hears nothing."""

import contextlib
import json
import os
import queue
import select
import threading
from contextlib import closing
from types import SimpleNamespace

from odoo import sql_db
from odoo.addons.bus.models import bus
from odoo.tests import TransactionCase, tagged
from odoo.tools import mute_logger

from ..models.turn.ai_turn import Question
from ..runtime.wakeup import channel
from ..runtime.wakeup.channel import Channel
from ..runtime.wakeup.postgres import PostgresTransport
from ..services.turn.ports import Ending
from ..tools import db, host, notify
from ..tools.pg_connection import PgConnection
from .store_data import StoreCase


class Wire:
    """A transport in memory: what is sent, and what comes."""

    def __init__(self, echoes=True):
        self.echoes = echoes
        self.is_broken = False
        self.sent = queue.SimpleQueue()
        self.coming = queue.SimpleQueue()
        self.made = 0

    def __call__(self):
        self.made += 1
        if self.is_broken:
            raise ConnectionError("No wire.")
        return self

    def exchange(self, payloads, timeout, wake):
        if self.is_broken:
            raise ConnectionError("The wire broke.")
        for payload in payloads:
            self.sent.put(payload)
            if self.echoes:
                self.coming.put(payload)
        if self.coming.empty():
            select.select([wake], [], [], timeout)
        return [self.coming.get() for _ in range(self.coming.qsize())]

    def explain(self):
        return channel.Reason("told", "The wire swallows everything.")

    def close(self):
        pass


class Member:
    def __init__(self):
        self.notes = []
        self.came = threading.Condition()

    def __call__(self, notes, is_own):
        with self.came:
            self.notes.append((notes, is_own))
            self.came.notify_all()

    def wait(self, *note):
        with self.came:
            assert self.came.wait_for(lambda: note in self.notes, 10), self.notes


@tagged("post_install", "-at_install")
class TestWakeup(TransactionCase):
    def _channel(self, connect, name="here"):
        """A channel whose thread ends after the test."""
        made = Channel(connect, name)

        def end():
            with made._lock:
                made._members.clear()
            if made._wake:
                made._wake_up()

        self.addCleanup(end)
        return made

    def test_other_processes_hear_what_one_tells(self):
        one, other = Member(), Member()
        here = self._channel(PostgresTransport)
        there = self._channel(PostgresTransport, "there")
        here.join("token", one)
        there.join("token", other)
        there.join("of another database", stranger := Member())
        other.wait(channel.EVERYTHING, False)
        one.wait(channel.EVERYTHING, False)
        here.publish("token", {"events": {0}, "stop": {7}})
        one.wait({"events": {0}, "stop": {7}}, True)
        other.wait({"events": {0}, "stop": {7}}, False)
        self.assertNotIn(({"events": {0}, "stop": {7}}, False), one.notes, "its own echo")
        self.assertFalse([notes for notes, _ in stranger.notes if "stop" in notes])

    def test_two_containers_of_one_name_are_two_processes(self):
        """On a host's network both are called like the host, and each is its process 1."""
        self.patch(notify.os, "getpid", lambda: 1)
        self.addCleanup(notify._process_id.cache_clear)
        one, other = Member(), Member()
        here = self._channel(PostgresTransport, None)
        notify._process_id.cache_clear()
        there = self._channel(PostgresTransport, None)
        here.join("token", one)
        there.join("token", other)
        other.wait(channel.EVERYTHING, False)
        one.wait(channel.EVERYTHING, False)
        here.publish("token", {"stop": {7}})
        other.wait({"stop": {7}}, False)

    def test_the_first_change_is_told_at_once_and_all_others_together(self):
        wire = Wire()
        here = self._channel(wire)
        here.join("token", member := Member())
        member.wait(channel.EVERYTHING, False)
        for number in range(300):
            here.publish(f"token {number % 30}", {"stop": {number}})
        told, messages = {}, 0
        while sum(map(len, told.values())) < 300:
            message = json.loads(wire.sent.get(timeout=10))
            messages += bool(message["to"])
            for token, notes in message["to"].items():
                told.setdefault(token, set()).update(notes["stop"])
        self.assertLess(messages, 30)

    def test_what_follows_a_pause_is_told_at_once_and_no_second_has_more_than_25(self):
        """A turn is queued, taken and begins to answer within moments, and none of it waits for the next message."""
        clock, times = [100.0], []
        self.patch(channel, "time", SimpleNamespace(monotonic=lambda: clock[0]))
        here = Channel(Wire(), "here")
        here._outbox["token"] = {"queued": {1}}
        here._wake = os.pipe()
        for end in here._wake:
            os.set_blocking(end, False)
            self.addCleanup(os.close, end)

        class Paced:
            def exchange(self, payloads, timeout, _wake):
                times.extend(clock[0] for _payload in payloads)
                if clock[0] > 103:
                    raise ConnectionError
                clock[0] += min(timeout, 0.005)
                here._echoed = here._sent
                here._outbox["token"] = {"events": {0}}
                return []

        with contextlib.suppress(ConnectionError):
            here._serve(Paced())
        self.assertLess(times[channel.BURST] - times[0], channel.INTERVAL / 2)
        for begun in times:
            self.assertLessEqual(sum(begun <= at < begun + 1 for at in times), 25)
        self.assertGreater(len(times), 60)

    def test_no_message_is_larger_than_postgresql_takes(self):
        here = self._channel(Wire())
        with here._lock:
            for number in range(2_000):
                here._outbox[f"{number:016}"] = {"events": {0}, "queued": {0}}
            many = here._outbox["many"] = {}
            channel.merge(many, {"stop": set(range(10**6, 10**6 + 50_000))}, channel.MAX_IDS)
            channel.merge(many, {"stop": {1}}, channel.MAX_IDS)
        payloads = here._take()
        self.assertLess(max(map(len, payloads)), 8_000)
        tokens = [token for payload in payloads for token in json.loads(payload)["to"]]
        self.assertEqual(len(tokens), 2_001)

    def test_who_does_not_hear_itself_knows_it(self):
        self.patch(channel, "ECHO", 0.1)
        self.patch(channel, "SILENCE", 0.2)
        wire = Wire(echoes=False)
        here = self._channel(wire)
        with self.assertLogs(channel.__name__, "WARNING") as logs:
            here.join("token", member := Member())
            while json.loads(wire.sent.get(timeout=10))["n"] < 3:
                pass
        self.assertEqual(here.state(), "deaf")
        self.assertEqual(here.reason(), "told")
        self.assertEqual(len(logs.output), 1, "said once")
        self.assertIn("The wire swallows everything.", logs.output[0])
        wire.echoes = True
        member.wait(channel.EVERYTHING, False)
        self.assertEqual((here.state(), here.reason()), ("heard", None))
        with mute_logger(channel.__name__):
            wire.echoes = False
            member.wait({}, False)
        self.assertFalse(here.is_heard())

    def test_a_connection_that_breaks_is_made_anew(self):
        self.patch(channel, "RECONNECT", (0.01,))
        wire = Wire()
        here = self._channel(wire)
        here.join("token", member := Member())
        member.wait(channel.EVERYTHING, False)
        member.notes.clear()
        wire.is_broken = True
        here.publish("token", {"queued": {1}})
        member.wait({"queued": {1}}, True)
        member.wait({}, False)
        self.assertEqual(here._reason.code, channel.UNREACHABLE)
        wire.is_broken = False
        member.wait(channel.EVERYTHING, False)
        self.assertGreater(wire.made, 1)
        while "token" not in (told := json.loads(wire.sent.get(timeout=10))["to"]):
            pass
        self.assertEqual(told, {"token": {"queued": [1]}}, "others are told late, not never")

    @mute_logger(channel.__name__)
    def test_nothing_that_is_heard_ends_it(self):
        wire = Wire()
        here = self._channel(wire)
        here.join("token", member := Member())
        member.wait(channel.EVERYTHING, False)
        for payload in (
            "not json",
            "[" * 7_000,
            "[1]",
            "7",
            '{"by": "x", "n": 1, "to": []}',
            '{"by": "x", "n": "one", "to": {}}',
            '{"by": "x", "n": 1e999, "to": {}}',
            '{"by": "x", "n": 1, "to": {"token": {"stop": ["a"]}}}',
            '{"by": "x", "n": 1, "to": {"token": {"stop": [2]}}}',
        ):
            wire.coming.put(payload)
        here._wake_up()
        member.wait({"stop": {2}}, False)
        self.assertEqual(wire.made, 1, "nor its connection")

    def test_who_writes_what_nobody_reads_does_not_fill_the_log(self):
        wire = Wire()
        here = self._channel(wire)
        here.join("token", member := Member())
        member.wait(channel.EVERYTHING, False)
        with self.assertLogs(channel.__name__, "WARNING") as logs:
            self._hear(wire, here, member, ["not json " * 900] * 1_000, 1)
            self.patch(channel, "UNREAD_REPORT", 0.0)
            self._hear(wire, here, member, ["nor this"], 2)
        first, second = logs.output
        self.assertIn(":1 messages", first)
        self.assertLess(len(first), 300)
        self.assertIn(":1000 messages", second, "the other 999, and this one")

    def _hear(self, wire, here, member, payloads, number):
        """What comes over the wire was heard."""
        for payload in payloads:
            wire.coming.put(payload)
        wire.coming.put(json.dumps({"by": "x", "n": 1, "to": {"token": {"stop": [number]}}}))
        here._wake_up()
        member.wait({"stop": {number}}, False)

    def _cursor(self, pool):
        dbname = self.env.cr.dbname
        return sql_db.Cursor(pool, dbname, db.line_to(dbname))

    def test_what_was_committed_is_told_and_nothing_else(self):
        told = []
        self.patch(type(host.current()), "publish", lambda _self, *args: told.append(args))
        pool = sql_db.ConnectionPool(1)
        self.addCleanup(pool.close_all)
        ear = self.enterContext(closing(PgConnection(self.env.cr.dbname, 5.0)))
        ear.query(f"LISTEN {notify.CHANNEL}")
        with closing(self._cursor(pool)) as cr:
            notify.queued(cr, 5)
            cr.rollback()
            self.assertFalse(told)
            notify.queued(cr, 6)
            notify.events(cr)
            notify.events(cr)
            self.assertFalse(told)
            cr.commit()
            ((token, notes),) = told
            cr.commit()
        ear.query("SELECT pg_notify(%s, 'nothing before')", [notify.CHANNEL])
        self.assertEqual(ear.notes(10.0), ["nothing before"], "a commit that notifies has a lock")
        self.assertEqual(len(told), 1)
        self.assertEqual(notes, {"queued": {6}, "events": {0}})
        self.assertNotIn(self.env.cr.dbname, token)
        self.assertNotEqual(token, notify.token(self.env.cr.dbname, "another secret"))

    @mute_logger("odoo.addons.woow_paas_platform.tools.notify")
    def test_who_tells_first_keeps_nothing_from_the_others(self):
        def publish(_self, *_args):
            told.append("processes")
            raise RuntimeError("No thread can be started.")

        told = []
        self.patch(type(host.current()), "publish", publish)
        pool = sql_db.ConnectionPool(1)
        self.addCleanup(pool.close_all)
        with closing(self._cursor(pool)) as cr:
            notify.prepare(cr)
            cr.postcommit.add(lambda: told.append("pages"))
            cr.commit()
            self.assertEqual(told, ["pages"])
            notify.prepare(cr)
            cr.postcommit.add(lambda: told.append("pages"))
            notify.queued(cr, 7)
            cr.commit()
        self.assertEqual(told, ["pages", "processes", "pages"])


@tagged("post_install", "-at_install")
class TestOtherTenants(StoreCase):
    def test_a_turn_begins_before_pages_are_told_of_its_question(self):
        told = []
        self.patch(type(host.current()), "publish", lambda *_args: told.append("processes"))
        self.patch(bus, "get_notify_payloads", lambda _channels: told.append("pages") or [])
        self._commit()  # what the set-up has to tell
        told.clear()
        self.turn.channel_id.with_user(self.turn.user_id)._ask(Question("And now?"))
        self._commit()
        self.assertEqual(told, ["processes", "pages"])

    def test_which_turn_has_new_events_nobody_is_told(self):
        """Every tenant may hear how often one of another speaks, not which."""
        told = []
        self.patch(notify, "_send", lambda _cr, *note: told.append(note))
        claim = self._claim()
        self._step(claim, self._call())
        self.store.append({claim: [(2, {"type": "text", "content": "Hi"})]})
        self.store.finish(claim, Ending(state="done", html="<p>Hi</p>", next_seq=3), [])
        self._ask(self.member).sudo()._request_stop()
        self.assertEqual({number for kind, number in told if kind == "events"}, {0})

    def _commit(self):
        self.env.flush_all()
        self.env.cr.precommit.run()
        self.env.cr.postcommit.run()
