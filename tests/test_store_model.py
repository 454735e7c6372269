"""The model of the store, on which the simulation stands, and the store in PostgreSQL are one."""

from dataclasses import asdict, replace

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule, run_state_machine_as_test
from odoo.tests import tagged

from ..services.specs import CallResult, TurnProgress
from ..services.turn.ports import Ending
from .common import AiHttpCase
from .doubles import sampling
from .store_machine import PairMachine
from .store_pair import LEASE, WANTED

EXAMPLES, STEPS = sampling.draws(8, 60), 40

any_ = st.integers(0, 11)  # of what there is, counted round


class StoreMachine(PairMachine):
    """Two runners, a person, an administrator and the crons, in any order."""

    @initialize(policies=st.lists(st.sampled_from(["auto", "ask"]), min_size=3, max_size=3))
    def begin(self, policies):
        """Two turns that run, each with a call of every tool, and two runs."""
        for number, policy in enumerate(policies):
            self.set_policy(number, policy)
        for channel in (0, 1):
            self.post(channel)
        self.claim("one", 2)
        for which in (2, 3):
            self.save_step(which, 3, 0, 0)
        for record in (0, 1):
            self.pair.schedule(0, record, "event 0", 0)
        self.pair.start_runs()

    # ------------------------------------------------------------ the two runners

    @rule(runner=st.sampled_from(["one", "two"]), limit=st.integers(1, 2))
    def claim(self, runner, limit):
        claims = self._both("claim", runner, limit, LEASE)
        self.claims += claims
        self.numbers |= {claim: claim.next_seq for claim in claims}

    @rule(
        which=any_,
        number=st.integers(0, 3),
        tokens=st.sampled_from([0, 30, 300]),
        spent=st.integers(0, 3),
    )
    def reserve(self, which, number, tokens, spent=0):
        if claim := self._claim(which):
            ended = self._spent(claim, spent)
            self._both("reserve", claim, self.pair.request(claim, number, tokens), ended)

    @staticmethod
    def _spent(claim, count):
        usage = {"input_tokens": 20, "output_tokens": 40}
        return [
            {"key": f"{claim.epoch}-{number}", "usage": usage, "tools": []}
            for number in range(count)
        ]

    @rule(
        which=any_,
        count=st.integers(0, 2),
        tool=any_,
        events=st.integers(0, 1),
        spent=st.integers(0, 3),
    )
    def save_step(self, which, count, tool, events, spent=0):
        if not (claim := self._claim(which)):
            return
        tools = [*self.pair.tools.exists(), None]
        calls = [
            self.pair.call(sum(map(len, self.calls.values())) + n, tools[(tool + n) % len(tools)])
            for n in range(count)
        ]
        said = [{"type": "tool_call", "id": call.id} for call, _ in calls]
        progress = asdict(
            TurnProgress(
                step=which,
                started=True,
                messages=self._entered(claim),
                spent=self._spent(claim, spent),
            )
        )
        written = self._write(
            claim,
            "save_step",
            lambda side, numbered: (progress, tuple(call[side] for call in calls), numbered),
            [{"type": "text", "content": "x"}] * events + said,
        )
        if written:
            self.calls.setdefault(claim.turn_id, []).extend(calls)

    @rule(which=any_)
    def take_steering(self, which):
        if claim := self._claim(which):
            self._both("take_steering", claim, self._known(claim))

    @rule(which=any_)
    def append(self, which):
        if claim := self._claim(which):
            seq = self.numbers[claim]
            batch = {claim: [(seq, {"type": "text", "content": "x"})]}
            if not self._both("append", batch):
                self.numbers[claim] += 1

    @rule(which=any_, call=any_)
    def begin_call(self, which, call):
        self._on_call(which, call, "begin_call", lambda side, call: call[side])

    @rule(which=any_, call=any_, outcome=st.sampled_from(["ok", "error", "timeout"]))
    def end_call(self, which, call, outcome):
        if found := self._call(which, call):
            claim, (of_real, _) = found
            result = CallResult(outcome=outcome, text="said")
            event = {"type": "tool_result", "id": of_real.id, "outcome": outcome}
            self._write(
                claim, "end_call", lambda _, numbered: (of_real.id, result, numbered), [event]
            )

    @rule(which=any_, call=any_, wanted=st.sampled_from(sorted(WANTED)))
    def suspend_call(self, which, call, wanted):
        if found := self._call(which, call):
            claim, (of_real, _) = found
            arguments = (of_real.id, WANTED[wanted])
            self._write(claim, "suspend_call", lambda _, numbered: (*arguments, numbered), [])

    @rule(which=any_, call=any_)
    def ask(self, which, call):
        asked = WANTED["form"].questions["q"]
        self._on_call(which, call, "ask", lambda _, call: call[0].id, asked, 60.0)

    @rule(which=any_, question=any_, is_late=st.booleans())
    def take_answer(self, which, question, is_late):
        claim = self._claim(which)
        held = [q for q in self._questions(claim.turn_id) if q[1].is_held] if claim else []
        if held:
            names = held[question % len(held)]
            self._both(
                "take_answer", claim, lambda side: names[side] if not side else names[1].id, is_late
            )

    @rule(
        which=any_,
        state=st.sampled_from(["done", "failed", "stopped", "waiting", "waiting", "waiting"]),
        confirm=st.sampled_from([0, 0, 2]),
    )
    def finish(self, which, state, confirm):
        if not (claim := self._claim(which)):
            return
        ending = Ending(
            state=state,
            progress=asdict(TurnProgress(step=9, started=True, messages=self._entered(claim))),
            error_code="turn_timeout" if state == "failed" else "",
            usage={"rounds": 1},
            confirm=confirm if state == "waiting" else 0,
        )
        self._write(
            claim,
            "finish",
            lambda _, numbered: (replace(ending, next_seq=self.numbers[claim] + 1), numbered),
            [{"type": "text", "content": "x"}],
        )

    @rule()
    def repeat(self):
        """The answer of COMMIT was lost: the runner does it again."""
        if self.last:
            self._both(*self.last)

    @rule()
    def heartbeat(self):
        if self.claims:
            self._both("heartbeat", "one", sorted(self.claims))

    @rule(runner=st.sampled_from(["one", "two"]), keeps=st.booleans())
    def release(self, runner, keeps):
        self._both("release", runner, sorted(self.claims) if keeps else [])

    @rule()
    def sweep_after_a_lease(self):
        self.pair.lapse()
        self.pair.doubt()
        self.pair.lapse()
        self._both("sweep")

    # ------------------------------------------------------------ the person

    @rule(channel=st.integers(0, 1), steers=st.booleans())
    def post(self, channel, steers=False):
        if len(self.pair.model.turns) < 5:
            self.pair.post(self.pair.channels[channel], steers=steers)

    @rule(turn=any_)
    def stop(self, turn):
        if turn_id := self._turn(turn):
            self._both("request_stop", turn_id)

    @rule(
        turn=any_,
        call=any_,
        decision=st.sampled_from(["approve_once", "deny"]),
        change=st.booleans(),
    )
    def decide_call(self, turn, call, decision, change):
        turn_id = self._turn(turn)
        if calls := self.calls.get(turn_id):
            call_id = calls[call % len(calls)][0].id
            more = {"arguments": {"city": "Tainan"}} if change and decision != "deny" else {}
            self.pair.over_http(
                turn_id,
                lambda: self.pair.model.decide_call(
                    turn_id, call_id, decision, more.get("arguments")
                ),
                id=call_id,
                decision=decision,
                **more,
            )

    @rule(turn=any_, decision=st.sampled_from(["continue", "stop"]))
    def decide_round(self, turn, decision):
        if turn_id := self._turn(turn):
            self.pair.over_http(
                turn_id,
                lambda: self.pair.model.decide_round(turn_id, decision),
                id="round-2",
                decision=decision,
            )

    @rule(turn=any_, question=any_, action=st.sampled_from(["accept", "decline", "cancel"]))
    def answer(self, turn, question, action):
        turn_id = self._turn(turn)
        if asked := self._questions(turn_id):
            name, mine = asked[question % len(asked)]
            self.pair.over_http(
                turn_id,
                lambda: self.pair.model.answer(turn_id, mine.id, action),
                id=name,
                decision=action,
                content={},
            )

    @rule(server=any_)
    def sign_in(self, server):
        if servers := self.pair.tools.exists().server_id:
            self.pair.sign_in(servers[server % len(servers)])

    @rule(channel=st.integers(0, 1), sure=any_)
    def delete_conversation(self, channel, sure):
        """One of them stays."""
        gone, kept = self.pair.channels[channel], self.pair.channels[1 - channel]
        if sure == 0 and gone != kept:
            number = gone.id
            self.pair.channels = [kept, kept]
            self.pair.both(
                lambda: gone.unlink() and None,
                lambda: self.pair.model.delete_conversation(number),
            )

    # ------------------------------------------------------------ triggers and runs

    @rule(action=st.integers(0, 1), record=st.integers(0, 1), event=st.integers(0, 3), turn=any_)
    def trigger(self, action, record, event, turn):
        """Something happens to a record, by hand or by a call of a turn."""
        if len(self.pair.runs) < 6:
            writer = self._turn(turn) if turn % 2 else 0
            self.pair.schedule(action, record, f"event {event}", writer or 0)

    @rule()
    def start_runs(self):
        if len(self.pair.model.turns) < 7:
            self.pair.start_runs()

    @rule(run=any_)
    def stop_run(self, run):
        if runs := sorted(self.pair.runs):
            self.pair.stop_run(runs[run % len(runs)])

    @rule(run=any_, sure=st.integers(0, 2))
    def delete_run(self, run, sure):
        turns = self.pair.model.turns
        runs = [run.id for run in self.pair.model.runs.values() if run.turn in turns]
        if sure == 0 and runs:
            self.pair.delete_run(runs[run % len(runs)])

    # ------------------------------------------------------------ administrators and crons

    @rule()
    def close_lost(self):
        self.pair.close_lost()

    @rule(turn=any_)
    def expire(self, turn):
        if turn_id := self._turn(turn):
            self.pair.expire(turn_id)

    @rule(tool=any_, is_active=st.booleans())
    def switch_tool(self, tool, is_active):
        self._tool(tool, lambda t: t.write({"active": is_active}), "switch_tool", is_active)

    @rule(tool=any_, is_active=st.booleans())
    def switch_server(self, tool, is_active):
        if found := self._existing(tool):
            server = found.server_id
            self.pair.both(
                lambda: server.write({"active": is_active}) and None,
                lambda: self.pair.model.switch_server(server.id, is_active),
            )

    @rule(tool=any_)
    def change_definition(self, tool):
        def change(found):
            found.definition_hash = f"{found.definition_hash or ''}x"

        self._tool(tool, change, "change_definition")

    @rule(tool=any_, policy=st.sampled_from(["auto", "ask", "ask", "never"]))
    def set_policy(self, tool, policy):
        self._tool(tool, lambda t: t.write({"approval_policy": policy}), "set_policy", policy)

    @rule(tool=any_, sure=any_)
    def delete_tool(self, tool, sure):
        if sure == 0:
            self._tool(tool, lambda t: t.unlink(), "delete_tool")

    @rule(tool=any_, sure=any_)
    def delete_server(self, tool, sure):
        found = self._existing(tool)
        if sure == 0 and found:
            server = found.server_id
            number = server.id
            self.pair.both(
                lambda: server.unlink() and None, lambda: self.pair.model.delete_server(number)
            )


@tagged("post_install", "-at_install")
class TestStoreModel(AiHttpCase):
    def test_both_say_and_keep_the_same(self):
        self._sign_in(self.member)
        machine = type("Machine", (StoreMachine,), {"case": self})
        run_state_machine_as_test(
            seed(sampling.seed())(machine),
            settings=settings(
                max_examples=EXAMPLES,
                stateful_step_count=STEPS,
                deadline=None,
                database=None,
                phases=(Phase.generate,),  # shrinking takes minutes
                suppress_health_check=list(HealthCheck),
            ),
        )
