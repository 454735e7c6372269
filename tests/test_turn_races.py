"""What people and crons do in the very moment in which a runner writes: real transactions, committed rows."""

import contextlib
from dataclasses import asdict
from unittest.mock import patch

from odoo import SUPERUSER_ID, Command, api
from odoo.modules.registry import Registry
from odoo.tests import BaseCase, get_db_name, new_test_user, tagged

from ..runtime.turns.store import OdooStore
from ..services.errors import ElicitationRequired
from ..services.llm.transcript import DIFFERS
from ..services.mcp.session.elicitation import ElicitRequest
from ..services.specs import ServerSpec, ToolCall, TurnProgress
from ..services.turn.ports import Ending
from ..tools import db

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
            self.turn_id = channel._ask("Go").id
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


@tagged("post_install", "-at_install")
class TestTurnRaces(RaceCase):
    # ------------------------------------------------------------ Stop

    def test_a_stop_counts_though_somebody_has_locked_the_waiting_turn(self):
        self._asks()
        with self._locked():
            self.assertEqual(self.store.request_stop(self.turn_id), "running")
            self.assertEqual(self._state()[0], "waiting")
            self.store.sweep()  # leaves alone what is locked
        self.assertEqual(self._state()[0], "waiting")
        self.store.sweep()
        self.assertEqual(self._state()[0], "stopped")
        self.assertEqual(self._kinds()[-4:], ["tool_result", "tool_result", "state", "done"])
        with self._transaction() as env:
            asked = env["woow_paas_platform.ai_turn_stop"].search([("turn_id", "=", self.turn_id)])
            self.assertFalse(asked)

    def test_a_stop_counts_though_the_runner_lets_the_turn_wait_right_then(self):
        self._claim()
        self._begin(0)
        Turn = Registry(self.dbname)[TURN]
        begin_wait = Turn._begin_wait

        def slow(turn, confirm):
            events = begin_wait(turn, confirm)
            turn.env.flush_all()
            self.assertEqual(self.store.request_stop(self.turn_id), "running")
            return events

        with patch.object(Turn, "_begin_wait", slow):
            self._waits()
        self.store.sweep()
        self.assertEqual(self._state()[0], "stopped")

    def test_a_stop_before_the_runner_lets_the_turn_wait_ends_it(self):
        self._claim()
        self._begin(0)
        with self._just_before_the_lock(lambda: self.store.request_stop(self.turn_id)):
            self._waits()
        self.assertEqual(self._state()[0], "stopped")
        self.assertEqual(self._kinds()[-4:], ["tool_result", "usage", "state", "done"])

    def test_a_stop_counts_though_a_runner_claims_the_turn_right_then(self):
        with self._transaction() as env:
            env.cr.execute(
                "UPDATE woow_paas_platform_ai_turn SET state = 'running', lease_epoch = 1,"
                " lease_until = now() AT TIME ZONE 'UTC' + interval '1 minute' WHERE id = %s",
                [self.turn_id],
            )
            self.assertEqual(self.store.request_stop(self.turn_id), "running")
        self.store.sweep()
        self.assertEqual(self._state(), ("running", True))

    def test_a_stop_beside_a_locked_row_is_heard_before_the_next_sweep(self):
        with self._locked():
            self.store.request_stop(self.turn_id)
        claim = self._claim()
        self.assertTrue(self.store.load(claim).stop_requested)
        self.assertEqual(self.store.heartbeat("races", [claim]), (set(), {claim}))
        self._begin(0)
        self._waits()
        self.assertEqual(self._state()[0], "stopped")

    def test_a_stopped_turn_that_its_runner_gives_back_ends(self):
        self._claim()
        self.store.request_stop(self.turn_id)
        self.store.release("races")
        self.store.sweep()
        self.assertEqual(self._state()[0], "stopped")

    def test_a_stop_of_a_turn_that_is_gone_waits_for_nobody(self):
        with self._transaction() as env:
            stop = env["woow_paas_platform.ai_turn_stop"].create({"turn_id": self.turn_id + 10**6})
        self.store.sweep()
        with self._transaction() as env:
            self.assertFalse(stop.with_env(env).exists())

    # ------------------------------------------------------------ answers

    def _sign_in(self):
        with self._transaction() as env:
            env[SIGN_IN]._of(self.server_id, self.uid, "address", make=True)

        def signed_in(env):
            own = env(user=self.uid, su=True)[SIGN_IN].search([("user_id", "=", self.uid)])
            own._signed_in()

        db.transaction(self.dbname, signed_in)

    def _wants_a_sign_in(self):
        self._allow(0)
        self._claim()
        (call,), kinds = self._begin(0)
        self.assertEqual(kinds, ["run"])
        wanted = ElicitationRequired(questions={"q": FORM}, more=None)
        self.store.suspend_call(self.claim, call.id, wanted, [])
        with self._transaction() as env:
            env[CALL].search([("call_id", "=", call.id)]).question_ids.kind = "sign_in"
        return call

    def _allow(self, *places):
        with self._transaction() as env:
            tools = env["woow_paas_platform.mcp_tool"].browse(self.tool_ids[p] for p in places)
            tools.approval_policy = "auto"

        def forbid():
            with self._transaction() as env:
                tools.with_env(env).approval_policy = "default"

        self.addCleanup(forbid)

    def test_a_sign_in_while_the_turn_runs_leaves_its_log_alone(self):
        call = self._wants_a_sign_in()
        before = self._events()
        self._sign_in()
        self.assertEqual(self._events(), before)
        self._waits()
        self.assertEqual(self._state()[0], "queued", "nothing is left to wait for")
        self.assertEqual(self._events()[-1], {"type": "state", "state": "queued"})
        self._claim()
        self.assertEqual(self.store.begin_call(self.claim, call).kind, "run")

    def test_a_sign_in_right_before_the_turn_waits_is_seen(self):
        self._wants_a_sign_in()
        with self._just_before_the_lock(self._sign_in):
            self._waits()
        self.assertEqual(self._state()[0], "queued")

    def test_a_sign_in_while_the_turn_is_queued_costs_no_number(self):
        self._wants_a_sign_in()
        self.store.release("races")
        before = self._events()
        self._sign_in()
        self.assertEqual(self._events(), before)

    def test_two_decisions_of_one_moment_let_the_turn_go_on(self):
        first, second = self._asks()

        def decide(call_id, meanwhile=()):
            todo = list(meanwhile)

            def work(env):
                env.cr.execute("SELECT 1")
                while todo:
                    todo.pop()()
                turn = env[TURN].browse(self.turn_id)
                turn._lock_for_decision()
                call = turn.call_ids.filtered(lambda call: call.call_id == call_id)
                self.assertEqual(call.approval, "pending")
                call._decide("approve_once")
                turn._go_on_when_decided()

            db.transaction(self.dbname, work)

        decide(first, [lambda: decide(second)])
        self.assertEqual(self._state()[0], "queued")
        self.assertEqual(self._kinds()[-3:], ["decided", "decided", "state"])

    # ------------------------------------------------------------ the cron of decisions

    def test_what_went_on_meanwhile_does_not_expire_and_costs_no_other(self):
        self._asks()
        other = self.turn_id
        self.setUp()
        self._asks()
        late = sorted((other, self.turn_id), reverse=True)
        with self._transaction() as env:
            env[TURN].browse(late).waiting_until = "2020-01-01 00:00:00"
        with self._transaction() as env:
            env[TURN].search([("state", "=", "waiting")])  # the list is old from here on
            self.turn_id = late[0]
            self._set("state = 'queued', waiting_until = NULL")
            with patch.object(env.registry["ir.cron"], "_commit_progress", lambda *_, **__: 1):
                env[TURN]._cron_expire_decisions()
        with self._transaction() as env:
            gone_on, expired = env[TURN].browse(late)
            self.assertEqual(set(gone_on.call_ids.mapped("approval")), {"pending"})
            self.assertEqual(set(expired.call_ids.mapped("approval")), {"expired"})
            self.assertEqual((gone_on.state, expired.state), ("queued", "queued"))

    def test_what_goes_on_between_two_of_them_does_not_expire(self):
        """Each one's transaction is over when the next one's turn comes, so the list is older than that."""
        both = []
        for _turn in range(2):
            self._asks()
            both.append(self.turn_id)
            self._set("waiting_until = '2020-01-01'")
            self.setUp()
        with self._transaction() as env:
            first, second = env[TURN].search([("id", "in", both)]).ids
            self.turn_id = second

            def commit(*_args, **_options):
                env.cr.commit()
                self._set("state = 'queued', waiting_until = NULL")
                return 1

            with patch.object(env.registry["ir.cron"], "_commit_progress", commit):
                env[TURN]._cron_expire_decisions()
        with self._transaction() as env:
            for turn, approval in ((first, "expired"), (second, "pending")):
                calls = env[TURN].browse(turn).call_ids
                self.assertEqual(set(calls.mapped("approval")), {approval})

    # ------------------------------------------------------------ deletions

    def test_a_tool_that_is_deleted_while_a_step_is_written(self):
        with self._transaction() as env:
            one = env["woow_paas_platform.mcp_tool"].browse(self.tool_ids[0])
            extra = one.copy({"name": "short_lived"})

        def delete():
            with self._transaction() as env:
                extra.with_env(env).unlink()

        self._claim()
        with self._transaction() as env:
            (spec,) = extra.with_env(env)._tool_specs()
        server = ServerSpec(id=self.server_id, name="races")
        call = ToolCall(id=f"x{self.turn_id}", alias="a", round=1, tool=spec, server=server)
        with self._just_before_the_lock(delete):
            self.store.save_step(self.claim, asdict(TurnProgress(step=1)), [call], [])
        verdict = self.store.begin_call(self.claim, call)
        self.assertEqual((verdict.kind, verdict.reason), ("deny", DIFFERS))
