from dataclasses import asdict, replace
from datetime import timedelta

from odoo import fields
from odoo.tests import tagged
from odoo.tools import mute_logger

from ..runtime.turns.store import OdooStore
from ..services.errors import EngineError, LeaseLost, TurnGone
from ..services.llm.transcript import DIFFERS
from ..services.specs import CallResult, ServerSpec, ToolCall, TurnProgress
from ..services.turn import read_result
from ..services.turn.ports import Claim, Ending
from .common import AiHttpCase

LEASE = 15.0


@tagged("post_install", "-at_install")
class TestStore(AiHttpCase):
    """The queue, the lease and the log, without a runner: each method is called by hand."""

    def setUp(self):
        super().setUp()
        self.store = OdooStore(self.env.cr.dbname)
        self.turn = self._ask(self.member, service=self.service).sudo()
        self.env.flush_all()

    def _claim(self, runner="one"):
        (claim,) = self.store.claim(runner, 1, LEASE)
        self.env.invalidate_all()
        return claim

    def _events(self):
        self.env.invalidate_all()
        rows = self.env["woow_paas_platform.ai_turn_event"].search(
            [("turn_id", "=", self.turn.id)], order="seq"
        )
        return [row.payload for row in rows]

    def _call(self, tool=None, call_id="call_1"):
        tool = tool or self.forecast
        return ToolCall(
            id=call_id,
            alias=tool.alias,
            round=1,
            tool=tool._tool_spec(),
            server=ServerSpec(id=tool.server_id.id, name=tool.server_id.name),
            arguments={"city": "台北"},
        )

    def _step(self, claim, *calls):
        self.store.save_step(claim, asdict(TurnProgress(step=1)), calls, [])

    def test_claim_gives_each_turn_once(self):
        claim = self._claim()
        self.assertEqual((claim.turn_id, claim.epoch, claim.next_seq), (self.turn.id, 1, 2))
        self.assertEqual(self.store.claim("two", 5, LEASE), [])

    def test_one_turn_of_a_conversation_at_a_time(self):
        second = self.turn.channel_id.with_user(self.member)._ask("Next").sudo()
        self.env.flush_all()
        claim = self._claim()
        self.assertEqual(claim.turn_id, self.turn.id)
        self.assertEqual(self.store.claim("two", 5, LEASE), [])
        self.store.finish(claim, Ending(state="done", html="<p>Hi</p>", next_seq=2), [])
        self.assertEqual(self._claim().turn_id, second.id)

    def test_a_turn_that_was_committed_late_does_not_run_beside_a_younger_one(self):
        younger = self.turn.channel_id.with_user(self.member)._ask("Next").sudo()
        self.turn.state = "stopped"  # as if its transaction had not ended yet
        self.env.flush_all()
        claim = self._claim()
        self.assertEqual(claim.turn_id, younger.id)
        self.turn.state = "queued"
        self.env.flush_all()
        self.assertEqual(self.store.claim("two", 5, LEASE), [])
        self.store.finish(claim, Ending(state="done", next_seq=2), [])
        self.assertEqual(self._claim().turn_id, self.turn.id)

    def test_a_stale_epoch_writes_nothing(self):
        old = self._claim("one")
        self._step(old, self._call())
        for _look in range(2):
            self.turn.lease_until = fields.Datetime.now() - timedelta(hours=1)
            self.env.flush_all()
            self.store.sweep()
            self.env.invalidate_all()
        new = self._claim("two")
        self.assertEqual(new.epoch, old.epoch + 1)
        before = self._events()
        self.assertEqual(self.store.append({old: [(9, {"type": "text"})]}), {old})
        for write in (
            lambda: self._step(old),
            lambda: self.store.begin_call(old, self._call()),
            lambda: self.store.end_call(old, "call_1", CallResult(outcome="ok", text=""), []),
            lambda: self.store.finish(old, Ending(state="done", next_seq=9), []),
            lambda: self.store.load(old),
        ):
            with self.assertRaises(LeaseLost):
                write()
        self.assertEqual(self._events(), before)
        self.assertEqual(self.turn.state, "running")

    def test_heartbeat_tells_what_is_lost_and_stopped(self):
        claim = self._claim()
        self.assertEqual(self.store.heartbeat("one", [claim]), (set(), set()))
        self.assertEqual(self.store.request_stop(claim.turn_id), "running")
        self.assertEqual(self.store.heartbeat("one", [claim]), (set(), {claim}))
        old = replace(claim, epoch=claim.epoch - 1)
        self.assertEqual(self.store.heartbeat("one", [old]), ({old}, set()))

    def test_who_was_kept_away_takes_the_lease_again(self):
        claim = self._claim()
        self.turn.lease_until = fields.Datetime.now() - timedelta(hours=1)
        self.env.flush_all()
        self.store.sweep()
        self.assertEqual(self.store.heartbeat("one", [claim]), (set(), set()))
        self.store.sweep()
        self.env.invalidate_all()
        self.assertEqual((self.turn.state, self.turn.lease_owner), ("running", "one"))

    def test_an_older_turn_waits_for_a_younger_one_that_runs(self):
        """It came in late, so the younger one was claimed before."""
        second = self.turn.channel_id.with_user(self.member)._ask("Next").sudo()
        second.write({"state": "running", "lease_owner": "one"})
        self.env.flush_all()
        self.assertEqual(self.store.claim("two", 5, LEASE), [])

    def test_the_start_of_a_call_renews_the_lease(self):
        claim = self._claim()
        self._step(claim, self._call())
        self.turn.lease_until = past = fields.Datetime.now() - timedelta(hours=1)
        self.env.flush_all()
        self.store.begin_call(claim, self._call())
        self.env.invalidate_all()
        self.assertGreater(self.turn.lease_until, past)

    def test_release_requeues(self):
        self._claim()
        self.store.release("one")
        self.assertEqual(self._claim("two").epoch, 2)

    def test_repeating_a_write_changes_nothing(self):
        """After a lost connection nobody knows whether the commit arrived: doing it again is safe."""
        claim = self._claim()
        call, result = self._call(), CallResult(outcome="ok", text="sunny")
        events = [(2, {"type": "tool_call", "id": "call_1"})]
        for time in range(2):
            self.store.save_step(claim, asdict(TurnProgress()), (call,), events)
            self.assertEqual(self.store.append({claim: [(3, {"type": "text"})]}), set())
            if time == 0:
                self.assertEqual(self.store.begin_call(claim, self._call()).kind, "run")
                self.assertEqual(self.store.begin_call(claim, self._call()).kind, "run")
            self.store.end_call(claim, "call_1", result, [(4, {"type": "tool_result"})])
        self.assertEqual(
            [event["type"] for event in self._events()],
            ["state", "tool_call", "text", "tool_result"],
        )
        self.assertEqual(len(self.turn.call_ids), 1)

    def test_a_number_is_written_once(self):
        claim = self._claim()
        self.store.append({claim: [(2, {"type": "text", "content": "mine"})]})
        other = self._ask(self.member).sudo()
        self.env.flush_all()
        (beside,) = self.store.claim("one", 1, LEASE)
        another = [(2, {"type": "text", "content": "another"}), (3, {"type": "text"})]
        with mute_logger("odoo.addons.woow_paas_platform.runtime.turns.turn_log"):
            self.assertEqual(self.store.append({claim: another, beside: another}), {claim})
        with self.assertRaises(LeaseLost):
            self.store.save_step(claim, asdict(TurnProgress()), (), another)
        self.assertEqual([event.get("content") for event in self._events()], [None, "mine"])
        self.assertEqual(other._last_seq(), 3)

    def _keep_long_result(self, turn, call_id):
        """A finished call with 30 000 characters of which the model has read less."""
        return self.env["woow_paas_platform.tool_call"].create(
            {
                "turn_id": turn.id,
                "user_id": turn.user_id.id,
                "call_id": call_id,
                "tool_name": "forecast",
                "outcome": "ok",
                "llm_text": "head … tail",
                "whole_text": "x" * 25_000 + "END",
                "truncated": True,
            }
        )

    def _read_on(self, claim, call_id, start=20_000, own_id="call_r"):
        call = ToolCall(
            id=own_id,
            alias=read_result.NAME,
            round=1,
            tool=read_result.TOOL,
            arguments={"id": call_id, "start": start},
        )
        self._step(claim, call)
        verdict = self.store.begin_call(claim, call)
        self.assertEqual(verdict.kind, "answered")
        self.store.end_call(claim, own_id, verdict.result, [])
        return verdict.result

    def test_a_cut_result_is_read_on_in_a_later_turn(self):
        earlier = self._claim()
        self._keep_long_result(self.turn, "call_long")
        self.store.finish(earlier, Ending(state="done", html="<p>Hi</p>", next_seq=2), [])
        self.turn = self.turn.channel_id.with_user(self.member)._ask("Next").sudo()
        self.env.flush_all()
        result = self._read_on(self._claim(), "call_long")
        self.assertEqual(result.outcome, "ok")
        self.assertTrue(result.text.startswith("xxx") and "END" in result.text)
        row = self.turn.call_ids
        self.assertEqual((row.tool_name, row.outcome), (read_result.NAME, "ok"))

    def test_nobody_reads_on_in_another_conversation(self):
        mine = self._ask(self.member).sudo()
        self._keep_long_result(mine, "call_mine")
        theirs = self._ask(self.owner, service=self.service).sudo()
        self._keep_long_result(theirs, "call_theirs")
        self.env.flush_all()
        claim = self._claim()
        self.assertEqual(claim.turn_id, self.turn.id)
        for number, call_id in enumerate(("call_mine", "call_theirs", "call_none")):
            result = self._read_on(claim, call_id, own_id=f"call_r{number}")
            self.assertEqual(result.outcome, "invalid_args")
            self.assertNotIn("x" * 100, result.text)

    def test_a_result_that_was_removed_is_not_read(self):
        claim = self._claim()
        row = self._keep_long_result(self.turn, "call_long")
        row.write({"whole_text": False, "llm_text": False, "result_pruned": True})
        self.env.flush_all()
        self.assertEqual(self._read_on(claim, "call_long").outcome, "error")

    def test_files_of_a_result_belong_to_the_conversation(self):
        claim = self._claim()
        self._step(claim, self._call())
        self.store.begin_call(claim, self._call())
        picture = {"name": "dot.png", "mimetype": "image/png", "data": "aGVsbG8="}
        result = CallResult(outcome="ok", text="A picture.", attachments=(picture,))
        event = {"type": "tool_result", "id": "call_1", "attachments": []}
        self.store.end_call(claim, "call_1", result, [(2, event)])
        (named,) = self._events()[-1]["attachments"]
        self.assertEqual((named["name"], named["mimetype"]), ("dot.png", "image/png"))
        self.assertNotIn("aGVsbG8=", str(self._events()), "the log stays small")
        for user, status in ((self.member, 200), (self.stranger, 404), (self.guest, 404)):
            self._sign_in(user)
            answer = self.url_open(named["url"])
            self.assertEqual(answer.status_code, status)
        self.authenticate(None, None)
        self.assertEqual(self.url_open(named["url"]).status_code, 401)

    def test_a_call_in_flight_is_never_run_again(self):
        claim = self._claim("one")
        self._step(claim, self._call())
        self.assertEqual(self.store.begin_call(claim, self._call()).kind, "run")
        self.store.release("one")
        claim = self._claim("two")
        self.assertEqual(self.store.begin_call(claim, self._call()).kind, "lost")

    def test_a_harmless_call_in_flight_may_run_again_on_a_trusted_server(self):
        for said, trust, kind in (
            ("true", "none", "lost"),
            ("true", "annotations", "run"),
            ('"false"', "annotations", "lost"),
        ):
            with self.subTest(said=said, trust=trust):
                self.forecast.annotations = f'{{"readOnlyHint": {said}}}'
                self.server.trust_level = trust
                self.turn.call_ids.unlink()
                self.store.release("two")
                claim = self._claim("one")
                self._step(claim, self._call())
                self.store.begin_call(claim, self._call())
                self.store.release("one")
                claim = self._claim("two")
                self.assertEqual(self.store.begin_call(claim, self._call()).kind, kind)

    def test_a_finished_call_gives_its_result_again(self):
        claim = self._claim("one")
        self._step(claim, self._call())
        self.store.begin_call(claim, self._call())
        self.store.end_call(claim, "call_1", CallResult(outcome="ok", text="sunny"), [])
        self.store.release("one")
        verdict = self.store.begin_call(self._claim("two"), self._call())
        self.assertEqual((verdict.kind, verdict.result.text), ("done", "sunny"))

    def test_a_switch_counts_at_once(self):
        for name, switch_off in {
            "tool": lambda: self.run_flow.write({"active": False}),
            "server": lambda: self.user_server.write({"active": False}),
            "assistant's tool": lambda: self.assistant.write(
                {"mcp_tool_disabled_ids": [fields.Command.link(self.run_flow.id)]}
            ),
            "membership": lambda: self.workspace.access_ids.filtered(
                lambda a: a.user_id == self.member
            ).unlink(),
            "group": lambda: self.assistant.write(
                {"group_ids": [fields.Command.link(self.env.ref("base.group_user").id)]}
            ),
            "user": lambda: self.member.write({"active": False}),
        }.items():
            with self.subTest(switch=name):
                point = self.env.cr.savepoint()
                claim = self._claim()
                self._step(claim, call := self._call(self.run_flow))
                switch_off()
                self.env.flush_all()
                verdict = self.store.begin_call(claim, call)
                self.assertEqual(verdict.kind, "deny")
                self.assertNotIn(verdict.reason, ("", DIFFERS))
                point.rollback()
                self.env.invalidate_all()

    def test_finish_posts_the_answer_as_the_assistant(self):
        claim = self._claim()
        ending = Ending(
            state="done", html="<p>It is <b>sunny</b>.</p>", usage={"rounds": 1}, next_seq=3
        )
        self.store.finish(claim, ending, [(2, {"type": "text", "content": "It is sunny."})])
        self.env.invalidate_all()
        answer = self.turn.answer_message_id
        self.assertEqual(answer.author_id, self.assistant.partner_id)
        self.assertIn("<b>sunny</b>", answer.body)
        self.assertEqual(
            [event["type"] for event in self._events()],
            ["state", "text", "usage", "state", "done"],
        )
        self.assertEqual(self._events()[-1]["message_id"], answer.id)

    def test_errors_reach_the_person_in_their_language(self):
        claim = self._claim()
        ending = Ending(
            state="failed", error_code="llm_auth_failed", error_message="raw", next_seq=2
        )
        self.store.finish(claim, ending, [])
        final = self._events()[-1]
        self.assertEqual((final["type"], final["code"]), ("error", "llm_auth_failed"))
        self.assertIn("administrator", final["message"])

    def test_remarks_and_reasons_reach_the_person_in_their_language(self):
        self.env["res.lang"]._activate_lang("zh_TW")
        self.member.lang = "zh_TW"
        self.env.flush_all()
        claim = self._claim()
        cut = {
            "type": "notice",
            "code": "answer_cut",
            "message": "The answer reached its maximum length and was cut off.",
        }
        said = "The tool did not answer within 30 s. It is not known whether the tool has taken effect."
        failed = CallResult(outcome="timeout", text=said, display=said)
        self._step(claim, self._call())
        self.store.append({claim: [(2, cut)]})
        self.store.end_call(claim, "call_1", failed, [(3, {"type": "tool_result", "id": "call_1"})])
        _state, notice, result = self._events()
        self.assertEqual(notice["message"], "回答已達長度上限，因此被截斷。")
        told = "此工具未在 30 秒內回應。無法得知此工具是否已生效。"
        self.assertEqual(result["result"], told)
        self.assertEqual(self.turn.call_ids.llm_text, said, "models go on reading English")

    @mute_logger("odoo.addons.woow_paas_platform.models.mixins.secret_mixin")
    def test_an_unreadable_secret_fails_the_turn_with_a_sentence(self):
        self.provider.api_key_encrypted = "damaged"
        claim = self._claim()
        with self.assertRaises(EngineError) as caught:
            self.store.load(claim)
        self.assertEqual(caught.exception.code, "secret_unreadable")

    def test_a_deleted_turn_is_gone(self):
        claim = self._claim()
        self.turn.unlink()
        self.env.flush_all()
        with self.assertRaises(TurnGone):
            self.store.load(claim)

    def test_many_turns_are_written_in_one_batch(self):
        other = self._ask(self.member).sudo()
        self.env.flush_all()
        claims = sorted([*self.store.claim("one", 5, LEASE)], key=lambda claim: claim.turn_id)
        self.assertEqual([c.turn_id for c in claims], [self.turn.id, other.id])
        gone = Claim(other.id + 1000, 1, 2)
        batch = {claim: [(2, {"type": "text"})] for claim in [*claims, gone]}
        self.assertEqual(self.store.append(batch), {gone})
