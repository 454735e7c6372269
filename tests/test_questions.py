from datetime import timedelta

from odoo import fields
from odoo.tests import tagged

from ..services.errors import ElicitationRequired, SignInRequired
from ..services.mcp.session.elicitation import ElicitRequest
from ..services.specs import CallResult
from ..tools import notify
from .common import TAIPEI, TurnByHandCase

FORM = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0}},
    "required": ["name"],
}
WHO = ElicitRequest(message="Who?", schema=FORM)
PAY = ElicitRequest(message="Pay.", url="https://pay.example.com/1")


@tagged("post_install", "-at_install")
class TestQuestions(TurnByHandCase):
    """What servers ask in the middle of a call."""

    def setUp(self):
        super().setUp()
        self.tools.approval_policy = "auto"

    def _suspend(self, *questions, more=(("requestState", "opaque"),)):
        """A call of the member ends with these questions; returns their ids."""
        self._begin((self.forecast, TAIPEI))
        return self._ask_again(*questions, more=more)

    def _ask_again(self, *questions, more=(("requestState", "opaque"),)):
        wanted = ElicitationRequired(
            questions={f"q{n}": asked for n, asked in enumerate(questions)},
            more=None if more is None else dict(more),
        )
        refused = self.store.suspend_call(self.claim, "call_1_1", wanted, [])
        self.assertEqual(refused, "")
        self._wait()
        self._sign_in(self.member)
        return [event["id"] for event in self._events("input_required")][-len(questions) :]

    def test_an_answer_goes_back_to_the_server(self):
        (question,) = self._suspend(WHO)
        (event,) = self._events("input_required")
        self.assertEqual(event["schema"], FORM)
        self.assertEqual(list(event["schema"]["properties"]), ["name", "age"])
        self.assertEqual((event["kind"], event["message"]), ("form", "Who?"))
        self.assertEqual(event["choices"], ["accept", "decline", "cancel"])
        self.assertFalse(self.turn.call_ids.started_at, "a call that asks is not in flight")
        status, answer = self._decide("accept", question, content={"name": "Bob", "age": 3})
        self.assertEqual((status, answer["state"]), (200, "queued"))
        (verdict,) = self._resume("call_1_1")
        self.assertEqual(verdict.kind, "run")
        self.assertEqual(
            verdict.resume,
            {
                "inputResponses": {
                    "q0": {"action": "accept", "content": {"name": "Bob", "age": 3}}
                },
                "requestState": "opaque",
            },
        )
        self.assertEqual(self._events("decided")[0]["decision"], "accept")
        # the answer is kept encrypted, and no longer than it is needed
        row = self.turn.call_ids.question_ids
        self.assertNotIn("Bob", row.content_encrypted)
        self.store.end_call(self.claim, "call_1_1", CallResult(outcome="ok", text="Fine."), [])
        self.env.invalidate_all()
        self.assertFalse(row.content_encrypted)
        self.assertEqual((row.action, row.answered_by_id), ("accept", self.member))

    def test_a_runner_that_goes_before_the_turn_waits_answers_nothing(self):
        for more in ((("requestState", "opaque"),), None):
            with self.subTest(more=more):
                self._begin((self.forecast, TAIPEI))
                wanted = ElicitationRequired(questions={"q": WHO}, more=more and dict(more))
                self.store.suspend_call(self.claim, "call_1_1", wanted, [])
                self.store.release("one")
                self.store.release("two")
                (verdict,) = self._resume("call_1_1")
                self.assertEqual(verdict.kind, "ask")
                self._wait()
                question = self._events("input_required")[-1]["id"]
                self._sign_in(self.member)
                self._decide("accept", question, content={"name": "Bob"})
                self.assertEqual(self._resume("call_1_1")[0].kind, "run")
                self.turn.call_ids.unlink()

    def test_asking_twice_is_asking_once(self):
        """After a lost connection nobody knows whether the commit arrived."""
        self._begin((self.forecast, TAIPEI))
        wanted = ElicitationRequired(questions={"q": WHO}, more={})
        for _ in range(2):
            self.assertEqual(self.store.suspend_call(self.claim, "call_1_1", wanted, []), "")
        self.env.invalidate_all()
        self.assertEqual(
            (len(self.turn.call_ids.question_ids), self.turn.call_ids.ask_round), (1, 1)
        )

    def test_a_server_that_waits_is_asked_for_once(self):
        self._begin((self.forecast, TAIPEI))
        first, again, other = (
            self.store.ask(self.claim, "call_1_1", asked, 60.0)["id"] for asked in (WHO, WHO, PAY)
        )
        self.assertEqual(first, again)
        self.assertNotEqual(first, other)
        self.store.take_answer(self.claim, first, True)
        later = self.store.ask(self.claim, "call_1_1", WHO, 60.0)["id"]
        self.assertNotIn(later, (first, other), "asked again when the first one is over")

    def test_a_server_that_was_deleted_wants_no_sign_in(self):
        self._begin((self.forecast, TAIPEI))
        self.server.unlink()
        self.env.flush_all()
        wanted = SignInRequired(url="https://weather.example.com")
        refused = self.store.suspend_call(self.claim, "call_1_1", wanted, [])
        self.assertIn("removed", refused)

    def test_declined_and_dismissed(self):
        asked = self._suspend(WHO, WHO)
        self.assertEqual(self._decide("decline", asked[0])[1]["state"], "waiting")
        self.assertEqual(self._decide("cancel", asked[1])[1]["state"], "queued")
        (verdict,) = self._resume("call_1_1")
        responses = verdict.resume["inputResponses"]
        self.assertEqual(responses, {"q0": {"action": "decline"}, "q1": {"action": "cancel"}})

    def test_an_answer_that_does_not_fit_changes_nothing(self):
        (question,) = self._suspend(WHO)
        for content, problems in (
            ({}, {"name": "required"}),
            ({"name": "Bob", "age": "old"}, {"age": "integer"}),
            ({"name": "Bob", "admin": True}, {"admin": "unknown"}),
        ):
            with self.subTest(content=content):
                answer = self._decide("accept", question, content=content)
                self._assert_error(answer, 422, "invalid_answer")
                self.assertEqual(answer[1]["error"]["details"], {"fields": problems})
        self.assertEqual(self._decide("accept", question, content={"name": "B"})[0], 200)

    def test_who_may_answer_and_once(self):
        (question,) = self._suspend(WHO)
        for stranger in (self.stranger, self.guest, self.internal, self.admin):
            self._sign_in(stranger)
            self._assert_error(self._decide("decline", question), 404, "not_found")
        self._sign_in(self.member)
        self._assert_error(self._decide("accept", "question-0"), 404, "not_found")
        self.assertEqual(self._decide("decline", question)[0], 200)
        self._assert_error(self._decide("accept", question), 409, "already_decided")

    def test_a_server_may_ask_again_but_not_for_ever(self):
        self._begin((self.forecast, TAIPEI))
        for _ in range(8):
            (question,) = self._ask_again(WHO)
            self.assertEqual(self._decide("accept", question, content={"name": "B"})[0], 200)
            (verdict,) = self._resume("call_1_1")
            self.assertEqual(list(verdict.resume["inputResponses"]), ["q0"])
        wanted = ElicitationRequired(questions={"q": WHO}, more={})
        refused = self.store.suspend_call(self.claim, "call_1_1", wanted, [])
        self.assertIn("keeps asking", refused)

    def test_a_page_that_the_call_needs(self):
        (question,) = self._suspend(PAY, more=None)
        (event,) = self._events("input_required")
        self.assertEqual((event["kind"], event["host"]), ("url", "pay.example.com"))
        self._decide("accept", question)
        (verdict,) = self._resume("call_1_1")
        self.assertEqual((verdict.kind, verdict.resume), ("run", None))

    def test_a_page_that_nobody_visited(self):
        (question,) = self._suspend(PAY, more=None)
        self._decide("decline", question)
        (verdict,) = self._resume("call_1_1")
        self.assertEqual(verdict.kind, "deny")

    def test_not_answered_in_time(self):
        self._suspend(WHO)
        self.turn.waiting_until = fields.Datetime.now() - timedelta(minutes=1)
        self.turn._expire_decisions()
        self.assertEqual(self.turn.state, "queued")
        (verdict,) = self._resume("call_1_1")
        self.assertEqual(verdict.resume["inputResponses"], {"q0": {"action": "cancel"}})
        self.assertEqual(self._events("decided")[0]["decision"], "expired")

    def test_stop_closes_the_questions(self):
        (question,) = self._suspend(WHO)
        self.assertEqual(self._call("POST", f"/api/ai/turns/{self.turn.id}/stop")[0], 200)
        self._assert_error(self._decide("accept", question), 409, "already_decided")
        self.assertEqual(self.turn.call_ids.outcome, "cancelled")

    def test_the_conversation_names_what_it_waits_for(self):
        (question,) = self._suspend(WHO)
        path = f"/api/ai/conversations/{self.turn.channel_id.id}"
        waiting_for = self._call("GET", path)[1]["turn"]["waiting_for"]
        self.assertEqual([asked["id"] for asked in waiting_for], [question])

    def test_nobody_is_asked_in_a_thread_of_a_channel(self):
        self.patch(type(self.turn), "_is_private", lambda _: False)
        self._begin((self.forecast, TAIPEI))
        wanted = ElicitationRequired(questions={"q": WHO}, more={})
        self.assertIn(
            "nobody can be asked", self.store.suspend_call(self.claim, "call_1_1", wanted, [])
        )
        self.assertIsNone(self.store.ask(self.claim, "call_1_1", WHO, 60.0))

    # ------------------------------------------------------------ a server that waits

    def test_a_server_that_waits_gets_the_answer_while_the_turn_runs(self):
        self._begin((self.forecast, TAIPEI))
        event = self.store.ask(self.claim, "call_1_1", WHO, 60.0)
        self.assertEqual((None, None), self.store.take_answer(self.claim, event["id"], False))
        self.env.invalidate_all()
        self._sign_in(self.member)
        told = []
        self.patch(notify, "answered", lambda _cr, turn_id: told.append(turn_id))
        status, answer = self._decide("accept", event["id"], content={"name": "Bob"})
        self.assertEqual((status, answer["state"]), (200, "running"))
        self.assertEqual(told, [self.turn.id])
        self.assertFalse(self._events("decided"), "the runner numbers the events of its turn")
        said, decided = self.store.take_answer(self.claim, event["id"], False)
        self.assertEqual((said.action, said.content), ("accept", {"name": "Bob"}))
        self.assertEqual((decided["id"], decided["by"]), (event["id"], self.member.name))

    def test_a_server_that_waited_too_long(self):
        self._begin((self.forecast, TAIPEI))
        event = self.store.ask(self.claim, "call_1_1", WHO, 60.0)
        said, decided = self.store.take_answer(self.claim, event["id"], True)
        self.assertEqual((said.action, decided["decision"]), ("cancel", "expired"))
        self.env.invalidate_all()
        self._sign_in(self.member)
        self._assert_error(self._decide("accept", event["id"]), 409, "already_decided")
