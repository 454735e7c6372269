"""What a process learns of servers is written down where people and other processes see it."""

import asyncio
from dataclasses import replace

from odoo.tests import tagged

from ..runtime.servers import watch
from ..services.errors import LlmNoEmbeddings, LlmUnavailable
from ..services.mcp.discovery.discovery import Discovery
from ..services.mcp.session.session import ServerInfo
from ..services.sandbox import seccomp
from ..services.specs import DiscoveredTool
from ..tools import notify
from .common import AiHttpCase

DEAD = "The MCP server cannot be reached. Check its address."


@tagged("post_install", "-at_install")
class TestWatch(AiHttpCase):
    def _tell(self, *words, spec=None):
        """Let the pool say something: names of methods with their arguments."""

        async def write(function, *args):
            return function(*args)

        async def sync(dbname, server_ids):
            self.synced.append((dbname, server_ids))

        async def talk():
            told = watch.ServerWatch(write, sync)
            for method, *args in words:
                getattr(told, method)(self.spec, *args)
            while told._tasks:
                await asyncio.wait(told._tasks)

        self.synced = []
        self.spec = spec or self.server._server_spec()
        self.env.flush_all()
        asyncio.run(talk())
        self.env.invalidate_all()

    def _row(self):
        return self.server.process_ids

    def test_what_a_session_speaks_is_tried_first_from_then_on(self):
        self.assertIsNone(self.server._server_spec().last_variant)
        info = ServerInfo(transport="sse", protocol_version="2024-11-05")
        self._tell(("opened", info))
        self.assertEqual(self.server._server_spec().last_variant, ("legacy", "sse"))
        modern = ServerInfo(
            transport="streamable_http", protocol_version="2026-07-28", era="modern"
        )
        self._tell(("opened", modern))
        self.assertEqual(self.server._server_spec().last_variant, ("modern", "streamable_http"))
        self.server.url = "https://elsewhere.example.com/mcp"
        self.assertIsNone(
            self.server._server_spec().last_variant, "another server may answer there"
        )

    def test_of_a_database_that_rests_nothing_is_read_or_written_any_more(self):
        done = []

        async def write(_function, dbname, _work):
            await asyncio.sleep(0)
            done.append(dbname)

        async def sync(dbname, _server_ids):
            done.append(dbname)

        async def talk():
            told = watch.ServerWatch(write, sync)
            for database in ("rests", "works"):
                spec = replace(self.server._server_spec(), database=database)
                told.list_changed(spec, "tools")
                told.stderr(spec, "Hello.")
            await asyncio.sleep(0)
            told.leave("rests")
            await asyncio.wait(told._tasks)
            return told

        self.patch(watch, "RESYNC_DELAY", 0.01)
        told = asyncio.run(talk())
        self.assertEqual(done, ["works"] * 2)
        self.assertEqual({database for database, _server in told._read_at}, {"works"})

    def test_an_embedding_model_that_fails_is_seen_with_its_reason(self):
        self.provider.embedding_model = "embedder"
        spec = self.provider._llm_spec()
        refused = LlmNoEmbeddings(detail="/embeddings answers: {}")
        self._tell(("embeddings", refused), spec=spec)
        provider = self.provider
        self.assertEqual(provider.embedding_sentence, str(refused))
        self.assertEqual(provider.embedding_detail, refused.detail)
        since = provider.embedding_problem_since
        self.assertTrue(since)
        health = self.url_open("/api/ai/health").json()
        self.assertEqual((health["failing_embeddings"], health["status"]), (1, "ok"))
        self.assertEqual(health["isolation"]["documents"], seccomp.is_known_to_kernel())
        self._tell(("embeddings", LlmUnavailable()), spec=spec)
        self.assertEqual(provider.embedding_sentence, str(LlmUnavailable()))
        self.assertEqual(provider.embedding_problem_since, since, "it still fails")
        self._tell(("embeddings", None), spec=spec)
        self.assertFalse(provider.embedding_problem or provider.embedding_problem_since)
        self.assertEqual(self.url_open("/api/ai/health").json()["failing_embeddings"], 0)

    def test_what_an_embedding_model_did_says_nothing_of_another_one(self):
        self.provider.embedding_model = "embedder"
        spec = self.provider._llm_spec()
        for change in ({"embedding_model": "another"}, {"api_key": "sk-another"}):
            with self.subTest(change):
                self._tell(("embeddings", LlmUnavailable()), spec=self.provider._llm_spec())
                self.assertTrue(self.provider.embedding_problem)
                self.provider.write(change)
                self.assertFalse(self.provider.embedding_problem)
        self._tell(("embeddings", LlmUnavailable()), spec=spec)
        self.assertFalse(self.provider.embedding_problem, "of the one before")

    def test_a_pause_is_seen_with_its_reason_and_its_process(self):
        self._tell(("state", "open", DEAD))
        row = self._row()
        self.assertEqual((row.name, row.state), (notify.process_id(), "open"))
        self.assertEqual(row.reason_sentence, DEAD)
        self.assertTrue(row.since and self.server.is_paused)
        self._tell(("state", "half_open", DEAD), ("state", "closed", ""))
        self.assertEqual((self._row().state, self._row().reason), ("closed", False))
        self.assertFalse(self.server.is_paused)

    def test_two_containers_of_one_name_have_a_row_each(self):
        self.addCleanup(notify._process_id.cache_clear)
        self._tell(("state", "open", DEAD))
        pid, here = notify.os.getpid(), notify.process_id()
        notify._process_id.cache_clear()  # as another container, where it has the same number
        self.assertEqual(notify.os.getpid(), pid)
        self._tell(("state", "half_open", DEAD))
        names = self.server.process_ids.mapped("name")
        self.assertEqual(set(names), {here, notify.process_id()})
        self.assertEqual(len(names), 2)

    def test_a_successful_test_ends_what_every_process_thought(self):
        self._tell(("state", "open", DEAD))
        info = ServerInfo(transport="sse", protocol_version="2024-11-05")
        self.server._record_health(Discovery(tools=[DiscoveredTool(name="a")], info=info))
        self.assertFalse(self.server.is_paused)

    def test_the_last_output_of_a_process_is_kept(self):
        self._tell(("stderr", "first"), ("stderr", "first\nTraceback …"))
        self.assertEqual(self._row().stderr, "first\nTraceback …")
        self.assertEqual(self._row().state, "closed")

    def test_changed_tools_are_read_again_once(self):
        self.patch(watch, "RESYNC_DELAY", 0.01)
        self._tell(
            ("list_changed", "tools"), ("list_changed", "tools"), ("list_changed", "prompts")
        )
        self.assertEqual(self.synced, [(self.env.cr.dbname, [self.server.id])])

    def test_a_server_that_never_stops_saying_so_is_read_ever_more_rarely(self):
        now = [0.0]
        self.patch(watch.time, "monotonic", lambda: now[0])

        async def delays():
            told, found = watch.ServerWatch(None, None), []
            for _ in range(12):
                found.append(told._resync_delay(("db", 1)))
                now[0] += found[-1] + 1
            now[0] += watch.MAX_RESYNC_DELAY + 1
            return [*found, told._resync_delay(("db", 1))]

        found = asyncio.run(delays())
        self.assertEqual(found[:3], [2.0, 4.0, 8.0])
        self.assertEqual(found[-2:], [watch.MAX_RESYNC_DELAY, watch.RESYNC_DELAY])

    def test_a_server_that_is_gone_is_passed_over(self):
        spec = self.server._server_spec()
        self.server.unlink()
        self.env.flush_all()
        Process = self.env["woow_paas_platform.mcp_server_process"]
        Process._put_state(spec.id, "x", "open", DEAD)
        self.assertFalse(Process.search([("server_id", "=", spec.id)]))

    def test_only_administrators_see_processes_on_the_form(self):
        shown = {
            user
            for user in (self.admin, self.internal, self.owner, self.member, self.stranger)
            if "process_ids" in self.server.with_user(user).fields_get(["process_ids"])
        }
        self.assertEqual(shown, {self.admin})
