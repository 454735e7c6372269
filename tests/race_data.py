"""Turns of committed rows, and transactions that meet them at the same moment."""

import contextlib
from dataclasses import asdict
from unittest.mock import patch

from odoo import SUPERUSER_ID, Command, api
from odoo.modules.registry import Registry
from odoo.tests import BaseCase, get_db_name, new_test_user

from ..models.turn.ai_turn import Question
from ..runtime import process
from ..runtime.turns.store import OdooStore
from ..services.mcp.session.elicitation import ElicitRequest
from ..services.specs import ServerSpec, ToolCall, TurnProgress
from ..services.turn.ports import Ending

TURN = "woow_paas_platform.ai_turn"
CALL = "woow_paas_platform.tool_call"
SIGN_IN = "woow_paas_platform.mcp_sign_in"
FORM = ElicitRequest(message="Who?", schema={"type": "object", "properties": {}})


class RaceCase(BaseCase):
    """A turn of committed rows, which any transaction sees."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.dbname = get_db_name()
        cls.store = OdooStore(cls.dbname)
        # A stream of an earlier test has made this process listen; it would run what is committed here.
        cls.enterClassContext(patch.object(process, "runs_turns", lambda: False))
        with cls._transaction() as env:
            cls._make(env(context={"woow_no_sync": True}))
        cls.addClassCleanup(cls._unmake)

    @classmethod
    @contextlib.contextmanager
    def _transaction(cls, uid=SUPERUSER_ID):
        with Registry(cls.dbname).cursor() as cr:
            yield api.Environment(cr, uid, {})

    @classmethod
    def _make(cls, env):
        user = new_test_user(env, "ai_racer", groups="base.group_portal")
        server = env["woow_paas_platform.mcp_server"].create(
            {"name": "races", "url": "https://races.example.com/mcp"}
        )
        tools = env["woow_paas_platform.mcp_tool"].create(
            [
                {"name": name, "server_id": server.id, "input_schema": "{}"}
                for name in ("one", "two")
            ]
        )
        provider = env["ai.config"].create(
            {"name": "Races", "api_base_url": "http://127.0.0.1:9/v1", "model": "m", "api_key": "k"}
        )
        assistant = env["ai.assistant"].create(
            {
                "name": "Racer",
                "config_id": provider.id,
                "group_ids": False,
                "mcp_server_ids": [Command.link(server.id)],
            }
        )
        cls.made = [assistant, provider, server, user, user.partner_id, assistant.partner_id]
        cls.uid, cls.assistant_id, cls.server_id = user.id, assistant.id, server.id
        cls.tool_ids = tools.ids

    @classmethod
    def _unmake(cls):
        with cls._transaction() as env:
            channels = env["discuss.channel"].search([("woow_user_id", "=", cls.uid)])
            turns = [("turn_id", "in", channels.woow_turn_ids.ids)]
            env["woow_paas_platform.ai_turn_stop"].search(turns).unlink()
            channels.unlink()
            for record in cls.made:
                record.with_env(env).unlink()

    # ------------------------------------------------------------ a turn by hand

    def setUp(self):
        super().setUp()
        with self._transaction(self.uid) as env:
            Channel = env["discuss.channel"]
            channel = Channel._create_ai_conversation(env["ai.assistant"].browse(self.assistant_id))
            self.turn_id = channel._ask(Question("Go")).id
        self.addCleanup(lambda: self._set("state = 'stopped'"))
        self.number = 0

    def _set(self, what, *values):
        with self._transaction() as env:
            env.cr.execute(
                f"UPDATE woow_paas_platform_ai_turn SET {what} WHERE id = %s",
                [*values, self.turn_id],
            )

    def _claim(self):
        claims = self.store.claim("races", 50, 60.0)
        self.claim = next(claim for claim in claims if claim.turn_id == self.turn_id)
        self.number = self.claim.next_seq
        return self.claim

    def _begin(self, *places):
        """Calls of the tools at these places, begun."""
        with self._transaction() as env:
            tools = env["woow_paas_platform.mcp_tool"].browse(self.tool_ids)
            specs = tools._tool_specs()
        calls = [
            ToolCall(
                id=f"races_{self.turn_id}_{place}",
                alias="a",
                round=1,
                tool=specs[place],
                server=ServerSpec(id=self.server_id, name="races"),
                arguments={},
            )
            for place in places
        ]
        self.store.save_step(self.claim, asdict(TurnProgress(step=1)), calls, [])
        return calls, [self.store.begin_call(self.claim, call).kind for call in calls]

    def _waits(self):
        ending = Ending(state="waiting", next_seq=self.number)
        self.store.finish(self.claim, ending, [])

    def _asks(self):
        """The turn waits for a word about two calls."""
        self._claim()
        calls, kinds = self._begin(0, 1)
        self.assertEqual(kinds, ["ask", "ask"])
        self._waits()
        return [call.id for call in calls]

    def _state(self):
        with self._transaction() as env:
            turn = env[TURN].browse(self.turn_id)
            return turn.state, turn.stop_requested

    def _events(self):
        with self._transaction() as env:
            Event = env["woow_paas_platform.ai_turn_event"]
            rows = Event.search([("turn_id", "=", self.turn_id)], order="seq")
            return [row.payload for row in rows]

    def _kinds(self):
        return [event["type"] for event in self._events()]

    @contextlib.contextmanager
    def _just_before_the_lock(self, act):
        """`act` is committed after the store's next transaction began and before that locks the turn."""
        held = OdooStore._held
        waiting = [act]

        def late(store, env, claim):
            env.cr.execute("SELECT 1")  # what the transaction sees is what there was before `act`
            while waiting:
                waiting.pop()()
            return held(store, env, claim)

        with patch.object(OdooStore, "_held", late):
            yield
        self.assertFalse(waiting)

    @contextlib.contextmanager
    def _locked(self):
        with self._transaction() as env:
            env.cr.execute(
                "SELECT id FROM woow_paas_platform_ai_turn WHERE id = %s FOR UPDATE", [self.turn_id]
            )
            yield
