from dataclasses import asdict, replace
from datetime import timedelta

from odoo import fields
from odoo.tests import tagged
from odoo.tools import mute_logger

from ..models.turn.ai_turn import Question
from ..services.errors import EngineError, LeaseLost, TurnGone
from ..services.sentence import _lt
from ..services.specs import CallResult, TurnProgress
from ..services.turn.execution import MAYBE
from ..services.turn.ports import Claim, Ending
from ..tools import settings
from .store_data import LEASE, StoreCase


@tagged("post_install", "-at_install")
class TestStore(StoreCase):
    """The queue, the lease, the log and the end of a turn."""

    def test_claim_gives_each_turn_once(self):
        claim = self._claim()
        self.assertEqual((claim.turn_id, claim.epoch, claim.next_seq), (self.turn.id, 1, 2))
        self.assertEqual(self.store.claim("two", 5, LEASE), [])

    def test_one_turn_of_a_conversation_at_a_time(self):
        second = self.turn.channel_id.with_user(self.member)._ask(Question("Next")).sudo()
        self.env.flush_all()
        claim = self._claim()
        self.assertEqual(claim.turn_id, self.turn.id)
        self.assertEqual(self.store.claim("two", 5, LEASE), [])
        self.store.finish(claim, Ending(state="done", html="<p>Hi</p>", next_seq=2), [])
        self.assertEqual(self._claim().turn_id, second.id)

    def test_a_turn_that_was_committed_late_does_not_run_beside_a_younger_one(self):
        younger = self.turn.channel_id.with_user(self.member)._ask(Question("Next")).sudo()
        self.turn.state = "stopped"  # as if its transaction had not ended yet
        self.env.flush_all()
        claim = self._claim()
        self.assertEqual(claim.turn_id, younger.id)
        self.turn.state = "queued"
        self.env.flush_all()
        self.assertEqual(self.store.claim("two", 5, LEASE), [])
        self.store.finish(claim, Ending(state="done", next_seq=2), [])
        self.assertEqual(self._claim().turn_id, self.turn.id)

    def test_a_database_has_no_more_turns_at_a_time_than_its_operator_allows(self):
        other = self._ask(self.owner).sudo()
        self.env.flush_all()
        options = replace(settings.get(), turns_per_database=1)
        self.patch(settings, "get", lambda: options)
        claim = self._claim()
        self.assertEqual(self.store.claim("two", 5, LEASE), [], "whichever process asks")
        self.store.finish(claim, Ending(state="done", next_seq=2), [])
        self.assertEqual((claim.turn_id, self._claim("two").turn_id), (self.turn.id, other.id))

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
        second = self.turn.channel_id.with_user(self.member)._ask(Question("Next")).sudo()
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

    def test_a_heartbeat_writes_into_no_index(self):
        """And finds room in the row's page: PostgreSQL calls such a write HOT."""
        self.env.cr.execute(
            """
            SELECT pg_get_indexdef(indexrelid) FROM pg_index  -- with its condition, which counts, too
             WHERE indrelid = 'woow_paas_platform_ai_turn'::regclass
            """
        )
        defined = [definition for (definition,) in self.env.cr.fetchall()]
        self.assertEqual([one for one in defined if "lease_" in one], [])
        self.env.cr.execute(
            "SELECT reloptions FROM pg_class WHERE oid = 'woow_paas_platform_ai_turn'::regclass"
        )
        self.assertIn("fillfactor=80", self.env.cr.fetchone()[0])

    def test_release_requeues(self):
        self._claim()
        self.store.release("one")
        self.assertEqual(self._claim("two").epoch, 2)

    def test_what_is_given_back_is_no_try_of_the_turn(self):
        """Deployments, one after another, are no processes that a step has killed."""
        for _deployment in range(11):
            self.assertEqual(self._claim().tries, 1)
            self.store.release("one")
        claim = self._claim()
        saved = asdict(TurnProgress(step=1, epoch=claim.epoch))
        self.store.save_step(claim, saved, (), [])
        self.store.release("one")
        self.assertEqual(self._claim().tries, 1)
        self.turn.state = "queued"  # as a sweep has it
        self.env.flush_all()
        self.assertEqual(self._claim().tries, 2)
        self.store.release("one")
        self.assertEqual(self._claim().tries, 2, "deaths stay counted")

    def test_release_keeps_what_it_is_told_to(self):
        claim = self._claim()
        self.store.release("one", [claim])
        self.assertEqual(self.store.claim("two", 1, LEASE), [])
        self.store.release("one", [replace(claim, epoch=claim.epoch + 1)])
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
        said = _lt(
            "The tool did not answer within %(seconds)s s. %(reason)s", seconds="30", reason=MAYBE
        )
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
