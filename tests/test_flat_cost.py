from contextlib import contextmanager
from unittest.mock import patch

from odoo import fields, sql_db
from odoo.tests import tagged

from ..models.turn.ai_turn import Question
from ..runtime.turns import listener
from ..runtime.turns.store import OdooStore
from ..services.context import budget
from .common import AiHttpCase

OLD = 10_000  # turns that ended long ago
TABLES = (
    "woow_paas_platform_ai_turn",
    "woow_paas_platform_ai_turn_event",
    "woow_paas_platform_tool_call",
    "woow_paas_platform_tool_call_sum",
    "mail_message",
)


@tagged("post_install", "-at_install")
class TestFlatCost(AiHttpCase):
    """What a turn costs does not grow with what was said before."""

    @classmethod
    def _make_data(cls):
        super()._make_data()
        cls.turn = cls._ask(cls.member, service=cls.service).sudo()
        cls.env.flush_all()
        cls.env.cr.execute(
            """
            INSERT INTO mail_message (model, res_id, message_type, body, author_id, date)
            SELECT 'discuss.channel', %(channel)s, 'comment', '<p>Old</p>', %(author)s, now()
              FROM generate_series(1, %(old)s);
            INSERT INTO woow_paas_platform_ai_turn
                   (channel_id, assistant_id, user_id, prompt, state, lease_epoch, create_date, ended_at,
                    message_id)
            SELECT %(channel)s, %(assistant)s, %(user)s, 'Old', 'done', 1, now(), now(),
                   (SELECT MAX(id) FROM mail_message) - g
              FROM generate_series(1, %(old)s) g;
            INSERT INTO woow_paas_platform_ai_turn_event (turn_id, seq, payload)
            SELECT id, seq, '{"type": "text", "content": "Old"}'
              FROM woow_paas_platform_ai_turn, generate_series(1, 3) seq WHERE prompt = 'Old';
            INSERT INTO woow_paas_platform_tool_call
                   (turn_id, user_id, call_id, tool_name, outcome, create_date)
            SELECT id, user_id, 'old' || id, 'old', 'ok', now()
              FROM woow_paas_platform_ai_turn WHERE prompt = 'Old';
            INSERT INTO woow_paas_platform_tool_call_sum
                   (key, day, tool_name, outcome, calls, total_duration, bytes, tokens)
            SELECT 'old' || g, now(), 'old', 'ok', 1, 0, 0, 0 FROM generate_series(1, %(old)s) g;
            """,
            {
                "channel": cls.turn.channel_id.id,
                "author": cls.member.partner_id.id,
                "assistant": cls.turn.assistant_id.id,
                "user": cls.member.id,
                "old": OLD,
            },
        )
        for table in TABLES:
            cls.env.cr.execute(f"ANALYZE {table}")

    def setUp(self):
        super().setUp()
        # The new turn comes after all old ones.
        self.turn.write({"state": "done", "ended_at": fields.Datetime.now()})
        self.channel = self.turn.channel_id.with_user(self.member)
        self.newest = self.channel._ask(Question("And now?")).sudo()
        self.env.flush_all()
        self.env.invalidate_all()
        self.store = OdooStore(self.env.cr.dbname)

    @contextmanager
    def _queries(self, tables=TABLES):
        """The statements on these tables that were run."""
        seen = []
        execute = sql_db.Cursor.execute

        def record(cursor, query, params=None, *args, **kwargs):
            execute(cursor, query, params, *args, **kwargs)
            text = cursor._obj.query.decode()
            if any(table in text for table in tables) and not text.startswith("INSERT"):
                seen.append(text)

        with patch.object(sql_db.Cursor, "execute", record):
            yield seen

    def _assert_indexed(self, statements):
        self.assertTrue(statements)
        for statement in statements:
            self.env.cr.execute(b"EXPLAIN " + statement.encode())
            plan = "\n".join(line for (line,) in self.env.cr.fetchall())
            for table in TABLES:
                self.assertNotIn(f"Seq Scan on {table} ", plan, statement)

    def test_claiming_and_sweeping_read_only_what_is_open(self):
        with self._queries() as statements:
            (claim,) = self.store.claim("one", 8, 15.0)
            self.store.heartbeat("one", [claim])
            self.store.sweep()
        self.assertEqual(claim.turn_id, self.newest.id)
        self._assert_indexed(statements)

    def test_a_turn_reads_little_of_its_conversation(self):
        with self._queries() as statements:
            (claim,) = self.store.claim("one", 8, 15.0)
            loaded = self.store.load(claim)
            self.store.append({claim: [(claim.next_seq, {"type": "text", "content": "Hi"})]})
        self.assertLessEqual(len(loaded.request.history), 2 * budget.MOST_TURNS + 1)
        self.assertLess(len(statements), 15)
        self._assert_indexed(statements)

    def test_a_plain_question_asks_nothing_about_files_and_records(self):
        self.newest._end("done", "<p>Yes.</p>")
        self.env.flush_all()
        self._sign_in(self.member)
        path = f"/api/ai/conversations/{self.channel.id}/messages"
        with self._queries(("ir_attachment", "woow_paas_platform_record_access")) as statements:
            status, _turn = self._call("POST", path, {"content": "What else?"})
        self.assertEqual((status, statements), (202, []))

    def test_a_question_and_its_answer_read_no_old_messages(self):
        self.newest._end("done", "<p>Yes.</p>")
        self.env.flush_all()
        with self._queries() as statements:
            turn = self.channel._ask(Question("What else?")).sudo()
            turn._end("done", "<p>Nothing.</p>")
            self.env.flush_all()
        self._assert_indexed(statements)

    def test_a_page_of_a_long_conversation(self):
        with self._queries() as statements:
            page = self.channel._conversation_page(30)
            self.env["discuss.channel"].with_user(self.member)._ai_conversations()
        self.assertLessEqual(len(page["messages"]), 60)
        self.assertLess(len(statements), 16)
        self._assert_indexed(statements)

    def test_a_list_of_many_conversations_in_many_folders(self):
        """A page costs as many statements with 10,000 conversations as with 100."""
        Channel = self.env["discuss.channel"].with_user(self.member)
        folder = self.env["woow_paas_platform.conversation_folder"]
        found = {}
        for total in (100, 1_000, 10_000):
            self._fill(total)
            folder = folder or folder.search([("user_id", "=", self.member.id)], limit=1)
            self.env.invalidate_all()
            with self._queries(("discuss_channel",)) as statements:
                for part in ({}, {"folder": folder}, {"folder": folder[:0]}, {"is_archived": True}):
                    channels = Channel._ai_conversations(31, **part)
                    self.assertLessEqual(len(channels), 31)
                    for channel in channels:
                        channel._kept()
            found[total] = len(statements)
        self.assertLessEqual(found[10_000], found[100], found)
        self.assertLess(found[100], 20, found)

    def test_a_list_in_which_nothing_is_pinned_or_archived(self):
        """The memberships of all conversations are not read for those few."""
        self._fill(10_000)
        members = self.env["discuss.channel.member"].search(
            [("channel_id.woow_user_id", "=", self.member.id)]
        )
        members.write({"woow_is_pinned": False, "woow_is_archived": False})
        self.env.flush_all()
        self.env.cr.execute("ANALYZE discuss_channel; ANALYZE discuss_channel_member")
        Channel = self.env["discuss.channel"].with_user(self.member)
        with self._queries(("discuss_channel_member",)) as statements:
            Channel._ai_conversations(31)
        for statement in statements:
            self.env.cr.execute(b"EXPLAIN " + statement.encode())
            plan = "\n".join(line for (line,) in self.env.cr.fetchall())
            self.assertNotIn("Seq Scan on discuss_channel_member ", plan, statement)

    def _fill(self, total):
        """Let the member have so many conversations in 50 folders, of each five one pinned, one archived."""
        self.env.cr.execute(
            """
            INSERT INTO woow_paas_platform_conversation_folder (name, user_id)
            SELECT 'Folder ' || g, %(user)s FROM generate_series(1, 50) g ON CONFLICT DO NOTHING;
            INSERT INTO discuss_channel (name, channel_type, woow_user_id, woow_assistant_id, last_interest_dt, active)
            SELECT 'Talk ' || g, 'woow_ai_chat', %(user)s, %(assistant)s, now() - g * interval '1 minute', true
              FROM generate_series(
                   (SELECT count(*) FROM discuss_channel WHERE woow_user_id = %(user)s) + 1, %(total)s) g;
            INSERT INTO discuss_channel_member
                   (channel_id, partner_id, woow_is_pinned, woow_is_archived, woow_folder_id, new_message_separator)
            SELECT c.id, %(partner)s, c.id %% 5 = 1, c.id %% 5 = 2, CASE WHEN c.id %% 7 < 4 THEN f.id END, 0
              FROM discuss_channel c
              JOIN (SELECT id, row_number() OVER () AS place FROM woow_paas_platform_conversation_folder
                     WHERE user_id = %(user)s) f ON f.place = c.id %% 50 + 1
             WHERE c.woow_user_id = %(user)s
               AND NOT EXISTS (SELECT 1 FROM discuss_channel_member m WHERE m.channel_id = c.id);
            """,
            {
                "user": self.member.id,
                "partner": self.member.partner_id.id,
                "assistant": self.assistant.id,
                "total": total,
            },
        )
        self.env.cr.execute("ANALYZE discuss_channel; ANALYZE discuss_channel_member")

    def test_a_stream_reads_its_own_events(self):
        with self._queries() as statements:
            for turn in (self.newest, self.turn):
                listener.read_events(self.env.cr.dbname, turn.id, 0)
        self._assert_indexed(statements)

    def test_retention_goes_in_batches(self):
        sizes = []

        def commit(_crons, processed=0, *, remaining=None, **_more):
            sizes.append((processed, remaining))
            return 100.0

        self.env.cr.execute(
            "UPDATE woow_paas_platform_ai_turn SET ended_at = ended_at - interval '1 year'"
            " WHERE prompt = 'Old' AND id % 8 = 0"
        )
        with patch.object(self.env.registry["ir.cron"], "_commit_progress", commit):
            self.env["woow_paas_platform.ai_turn"]._cron_retention()
        self.assertEqual(sum(done for done, _left in sizes), OLD // 8)
        self.assertEqual({done for done, _left in sizes[:-2]}, {500})
        self.assertEqual([bool(left) for _done, left in sizes], [True] * (len(sizes) - 1) + [False])
        self.env.cr.execute(
            "SELECT COUNT(*) FROM woow_paas_platform_ai_turn_event e"
            " JOIN woow_paas_platform_ai_turn t ON t.id = e.turn_id WHERE t.events_pruned"
        )
        self.assertEqual(self.env.cr.fetchone(), (0,))

    def test_retention_stops_when_the_time_is_over(self):
        self.env.cr.execute(
            "UPDATE woow_paas_platform_ai_turn SET ended_at = ended_at - interval '1 year'"
            " WHERE id IN (SELECT id FROM woow_paas_platform_ai_turn WHERE prompt = 'Old' LIMIT 700)"
        )
        left = []

        def commit(_crons, _processed=0, *, remaining=None, **_more):
            left.append(remaining)
            return 0.0

        for expected in (500, 700):  # also when what it did was the last of one kind
            with patch.object(self.env.registry["ir.cron"], "_commit_progress", commit):
                self.env["woow_paas_platform.ai_turn"]._cron_retention()
            self.env.cr.execute(
                "SELECT COUNT(*) FROM woow_paas_platform_ai_turn WHERE events_pruned"
            )
            self.assertEqual(self.env.cr.fetchone(), (expected,))
        self.assertTrue(all(left), "other kinds have not had their turn")

    def test_statistics_read_what_they_count(self):
        Report = self.env["woow_paas_platform.tool_call_report"]
        for domain in (
            [("date", "=", "2020-02-02")],
            [("server_id", "=", self.server.id)],
            [("tool_id", "=", self.forecast.id)],
        ):
            with self._queries() as statements:
                Report._read_group(domain, ["server_name"], ["__count", "duration_p95:avg"])
            self._assert_indexed(statements)

    def test_the_cron_of_the_sums_reads_what_is_due(self):
        with self._queries() as statements:
            self.env["woow_paas_platform.tool_call_sum"]._fold_old(5)
        self._assert_indexed(statements)
        self.env.cr.execute(
            "SELECT indexdef FROM pg_indexes WHERE tablename = 'woow_paas_platform_tool_call_sum'"
        )
        indexes = " ".join(line for (line,) in self.env.cr.fetchall())
        for column in ("key", "day", "server_id", "tool_id", "assistant_id", "user_id"):
            self.assertIn(f"btree ({column})", indexes)
