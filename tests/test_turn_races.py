"""What people and crons do in the very moment in which a runner writes: real transactions, committed rows."""

from dataclasses import asdict, replace
from unittest.mock import patch

from odoo.modules.registry import Registry
from odoo.tests import tagged

from ..services.errors import ElicitationRequired
from ..services.llm.transcript import DIFFERS
from ..services.specs import ServerSpec, ToolCall, TurnProgress
from ..tools import db
from .race_data import CALL, FORM, SIGN_IN, TURN, RaceCase


@tagged("post_install", "-at_install")
class TestTurnRaces(RaceCase):
    # ------------------------------------------------------------ the queue

    def test_nobody_waits_for_a_row_that_somebody_has_locked(self):
        """Whoever claims, keeps a lease or sweeps does so for many turns."""
        with self._locked():
            claims = self.store.claim("races", 50, 60.0)
            self.assertNotIn(self.turn_id, [claim.turn_id for claim in claims])
        claim = replace(self._claim(), lease=1.0)
        with self._locked():
            self.assertEqual(self.store.heartbeat("races", [claim]), (set(), set()))
        self._set("lease_until = now() AT TIME ZONE 'UTC' - interval '1 hour'")
        with self._locked():
            self.store.sweep()
        self.assertEqual(self._state()[0], "running")

    def test_what_nobody_has_locked_is_given_back_at_once(self):
        self._claim()
        with self._locked():
            self.assertEqual(self.store.release("races"), 1)
        self.assertEqual(self._state()[0], "running")
        self.assertEqual(self.store.release("races"), 0)
        self.assertEqual(self._state()[0], "queued")

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
            own.env["woow_paas_platform.call_question"]._go_on_after(own)

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
