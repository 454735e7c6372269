"""A call that is taken up again is the one that was asked for and approved, whatever has other names by now."""

import asyncio
from dataclasses import asdict, replace

from odoo import Command
from odoo.tests import tagged

from ..services.llm.transcript import DIFFERS
from ..services.semaphore import FairSemaphore
from ..services.specs import ServerSpec, ToolCall, TurnProgress
from ..services.testing.scripted_llm import Reply, ScriptedLlm
from ..services.turn.ai_client import run_turn
from ..services.turn.journal import TurnJournal
from ..services.turn.ports import Ending
from ..services.turn.tools import TurnTools
from .common import SCHEMA, TAIPEI, TurnByHandCase


class RecordingPool:
    """Every server that is called answers; `calls` holds (server id, tool, arguments)."""

    policy = None

    def __init__(self):
        self.calls = []
        self.calls_of_one = FairSemaphore(1, 1)

    def is_connected(self, _server, _conversation_id):
        return True

    async def call(self, server, _conversation_id, tool, arguments, **_options):
        self.calls.append((server.id, tool, dict(arguments)))
        return {"content": [{"type": "text", "text": "paid"}]}


@tagged("post_install", "-at_install")
class TestCallIdentity(TurnByHandCase):
    def setUp(self):
        super().setUp()
        Server = self.env["woow_paas_platform.mcp_server"].with_context(woow_no_sync=True)
        self.pay = self._tool(
            Server.create({"name": "later", "url": "https://sys.example.com/mcp"}), "pay", "never"
        )
        self.own = Server.create(
            {
                "name": "sys",
                "url": "https://own.example.com/mcp",
                "scope": "user",
                "owner_user_id": self.member.id,
            }
        )
        # It is called as the system's server will be, once that one is called so.
        self.bait = self._tool(self.own, "pay")
        self.pool = RecordingPool()

    def _tool(self, server, name, policy="default"):
        return self.env["woow_paas_platform.mcp_tool"].create(
            {
                "name": name,
                "server_id": server.id,
                "input_schema": SCHEMA,
                "approval_policy": policy,
                "definition_hash": name,
            }
        )

    def _link(self):
        self.pay.server_id.name = "sys"
        self.assistant.mcp_server_ids = [Command.link(self.pay.server_id.id)]

    def _run(self, *script):
        """What a runner does with the turn, with a model that follows the script."""
        return asyncio.run(self._run_async(script))

    async def _run_async(self, script):
        async def at_once(method, *args, **_options):
            return method(*args)

        async with ScriptedLlm(*script) as llm:
            self.provider.api_base_url = llm.base_url
            self.env.flush_all()
            (claim,) = self.store.claim("one", 1, 15.0)
            loaded = self.store.load(claim)
            journal = TurnJournal(claim, self.store, at_once, lambda *_journal: None)
            tools = TurnTools(loaded.request, self.pool)
            result = await run_turn(
                loaded.request, loaded.progress, journal, tools, asyncio.Event()
            )
            await journal.finish(
                lambda seq: Ending(state=result.state, html=f"<p>{result.text}</p>", next_seq=seq)
            )
        self.env.invalidate_all()
        return loaded.request

    def _waits_for_the_bait(self):
        self._run(Reply(calls=[("sys__pay", TAIPEI)]))
        call = self.turn.call_ids
        self.assertEqual((self.turn.state, call.tool_id), ("waiting", self.bait))
        self._sign_in(self.member)
        self.assertEqual(self._decide("approve_once", call.call_id)[1]["state"], "queued")
        return call

    def test_an_alias_that_changes_hands_calls_nobody_else(self):
        call = self._waits_for_the_bait()
        self._link()
        request = self._run(Reply("Done."))
        aliases = {tool.alias: tool.id for tool in request.tools}
        self.assertEqual(aliases["sys__pay"], self.pay.id, "the alias has changed hands")
        self.assertEqual(self.pool.calls, [(self.own.id, "pay", TAIPEI)])
        self.assertEqual((call.outcome, call.tool_id), ("ok", self.bait))

    def test_a_tool_that_went_is_replaced_by_none_of_its_name(self):
        call = self._waits_for_the_bait()
        self.bait.available = False
        self._link()
        self._run(Reply("Done."))
        self.assertEqual((self.turn.state, call.outcome), ("done", "denied"))
        self.assertEqual(self.pool.calls, [])

    def test_the_row_decides_not_the_tool_that_is_named(self):
        call = self._waits_for_the_bait()
        (self.claim,) = self.store.claim("one", 1, 15.0)
        for tool in self.pay | self.forecast:
            server = ServerSpec(id=tool.server_id.id, name="sys")
            asked = ToolCall(
                id=call.call_id, alias="x", round=1, tool=tool._tool_spec(), server=server
            )
            verdict = self.store.begin_call(self.claim, asked)
            self.assertEqual((verdict.kind, verdict.reason), ("deny", DIFFERS))
        self.assertFalse(call.started_at)

    def test_a_tool_that_is_deleted_is_denied_and_costs_nothing_else(self):
        """Before the call is written down, and between that and its start."""
        self.bait.approval_policy = "never"
        self._begin((self.bait, TAIPEI), (self.alerts, TAIPEI))
        self.own.unlink()
        again = self._resume_in_place("call_1_1")
        self.assertEqual((again.kind, again.reason), ("deny", DIFFERS))
        specs = [self.specs["call_1_1"], self.specs["call_1_2"]]
        later = [replace(spec, id=f"later_{spec.id}") for spec in specs]
        self.env.flush_all()
        self.store.save_step(self.claim, asdict(TurnProgress(step=2)), later, [])
        kinds = [self.store.begin_call(self.claim, spec).kind for spec in later]
        self.assertEqual(kinds, ["deny", "ask"])

    def _resume_in_place(self, call_id):
        self.env.flush_all()
        return self.store.begin_call(self.claim, self.specs[call_id])
