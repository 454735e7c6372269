from dataclasses import asdict

from odoo.tests import tagged

from ..models.conversation import discuss_channel_view
from ..runtime.turns.store import OdooStore
from ..services.specs import TurnProgress
from ..services.turn.ports import Ending
from .common import AiHttpCase

ANSWER = {"role": "assistant", "content": "It rains.", "tool_calls": []}


@tagged("post_install", "-at_install")
class TestSteering(AiHttpCase):
    """A message that is sent during an answer enters it, or is answered next; once, whatever happens."""

    def setUp(self):
        super().setUp()
        self._sign_in(self.member)
        self.store = OdooStore(self.env.cr.dbname)
        new = self._call("POST", "/api/ai/conversations", {"assistant_id": self.assistant.id})[1]
        self.path = f"/api/ai/conversations/{new['id']}"
        self.turn = self._send("Rain?")
        self.env.flush_all()
        (self.claim,) = self.store.claim("one", 1, 15.0)
        self.env.invalidate_all()

    def _send(self, content, **values):
        status, said = self._call("POST", f"{self.path}/messages", {"content": content, **values})
        self.assertEqual(status, 202, said)
        self.env.invalidate_all()
        return self.env["woow_paas_platform.ai_turn"].browse(said["turn_id"])

    def _save(self, *messages, claim=None):
        progress = asdict(TurnProgress(step=1, started=True, messages=list(messages)))
        self.store.save_step(claim or self.claim, progress, (), [])
        self.env.invalidate_all()

    def _finish(self, state="done", html="<p>It rains.</p>", **values):
        ending = Ending(state=state, html=html, next_seq=self.turn._last_seq() + 1, **values)
        self.store.finish(self.claim, ending, [])
        self.env.invalidate_all()

    def _page(self):
        return self._call("GET", self.path)[1]

    def _history(self):
        """What the model reads when the person sends thanks."""
        later = self._send("Thanks").sudo()
        return [message["content"] for message in later._turn_request().history]

    def _user(self, turn):
        return {"role": "user", "content": turn.prompt, "turn": turn.id}

    def _kinds(self, turn):
        rows = self.env["woow_paas_platform.ai_turn_event"].search(
            [("turn_id", "=", turn.id)], order="seq"
        )
        return [(row.payload["type"], row.payload.get("state")) for row in rows]

    def test_it_enters_the_turn_once_and_is_over(self):
        more = self._send("In Tainan", when="steer")
        self.assertTrue(self._page()["queued"][0]["steers"])
        taken = self.store.take_steering(self.claim, set())
        self.assertEqual([sent["content"] for sent in taken], ["In Tainan"])
        self.assertEqual(self.store.take_steering(self.claim, set()), taken, "until it is saved")
        self._save(self._user(more), ANSWER)
        self.assertEqual((more.state, more.entered_id), ("done", self.turn))
        self.assertEqual(
            self._kinds(more), [("state", "queued"), ("state", "done"), ("done", "done")]
        )
        self._save(self._user(more), ANSWER)
        self.assertEqual(len(self._kinds(more)), 3, "a write that is repeated changes nothing")
        self.assertEqual(self.store.take_steering(self.claim, {more.id}), [])
        self._finish()
        self.assertEqual(self.store.claim("two", 5, 15.0), [])

    def test_the_answer_shows_it_where_it_entered(self):
        more = self._send("In Tainan", when="steer")
        self.store.take_steering(self.claim, set())
        first = {"role": "assistant", "content": "One moment.", "tool_calls": []}
        self._save(first, self._user(more), ANSWER)
        self._finish()
        page = self._page()
        self.assertEqual([m["text"] for m in page["messages"]], ["Rain?", "It rains."])
        timeline = page["messages"][1]["turn"]["timeline"]
        self.assertEqual(
            [(entry["type"], entry["text"]) for entry in timeline],
            [
                ("text_block", "One moment."),
                ("steered", "In Tainan"),
                ("text_block", "It rains."),
            ],
        )
        self.assertEqual(
            self._history(), ["Rain?", "One moment.", "In Tainan", "It rains.", "Thanks"]
        )

    def test_the_answer_that_it_entered_can_be_retried(self):
        more = self._send("In Tainan", when="steer")
        self.store.take_steering(self.claim, set())
        self._save(self._user(more), ANSWER)
        self._finish()
        status, said = self._call("POST", f"/api/ai/turns/{more.id}/retry", {})
        self.assertEqual((status, said["error"]["code"]), (409, "turn_outdated"))
        self.assertEqual(self._call("POST", f"/api/ai/turns/{self.turn.id}/retry", {})[0], 202)

    def test_a_page_is_not_empty_because_of_it(self):
        more = self._send("In Tainan", when="steer")
        self.store.take_steering(self.claim, set())
        self._save(self._user(more))
        self.env["woow_paas_platform.tool_call"].create(
            {"turn_id": self.turn.id, "call_id": "one", "tool_name": "large", "kept_bytes": 1000}
        )
        self._finish("failed", "")
        self.patch(discuss_channel_view, "PAGE_BYTES", 0)
        asked = [m["text"] for m in self._page()["messages"] if m["role"] == "user"]
        self.assertEqual(asked, ["Rain?"])

    def test_what_has_entered_is_no_answer_that_nobody_has_seen(self):
        self.turn.is_unseen = False
        more = self._send("In Tainan", when="steer")
        more.is_unseen = True  # sent in a browser
        self.store.take_steering(self.claim, set())
        self._save(self._user(more))
        self.assertEqual((more.state, self.turn.state), ("done", "running"))
        (listed,) = self._call("GET", "/api/ai/conversations")[1]["conversations"]
        self.assertEqual((listed["unseen"], self._page()["unseen"]), (False, False))

    def test_the_model_reads_what_was_said_until_the_answer_was_stopped(self):
        progress = TurnProgress(step=0, started=True, messages=[ANSWER])
        self._finish("stopped", progress=asdict(progress))
        self.assertEqual(self._history(), ["Rain?", "It rains.", "Thanks"])
        self.assertEqual(
            [entry["text"] for entry in self._page()["messages"][1]["turn"]["timeline"]],
            ["It rains."],
        )

    def test_what_has_not_entered_is_answered_next(self):
        for is_taken in (False, True):
            with self.subTest(is_taken=is_taken):
                more = self._send("In Tainan", when="steer")
                if is_taken:  # its runner dies before the transcript has it
                    self.store.take_steering(self.claim, set())
                self._finish()
                self.assertEqual((more.state, more.entered_id.ids), ("queued", []))
                (self.claim,) = self.store.claim("two", 5, 15.0)
                self.assertEqual(self.claim.turn_id, more.id)
                self.turn = more

    def test_taken_by_a_runner_that_died_it_is_taken_again(self):
        more = self._send("In Tainan", when="steer")
        self.store.take_steering(self.claim, set())
        self.store.release("one")
        (claim,) = self.store.claim("two", 5, 15.0)
        self.assertEqual(claim.turn_id, self.turn.id)
        (sent,) = self.store.take_steering(claim, set())
        self.assertEqual(sent["turn"], more.id)

    def test_it_can_be_taken_back_until_it_is_taken(self):
        one, other = self._send("One", when="steer"), self._send("Other", when="steer")
        self.assertEqual(self._call("POST", f"/api/ai/turns/{one.id}/stop")[1]["state"], "stopped")
        taken = self.store.take_steering(self.claim, set())
        self.assertEqual([sent["turn"] for sent in taken], [other.id])
        self.assertEqual(self._call("POST", f"/api/ai/turns/{other.id}/stop")[1]["state"], "queued")

    def test_a_stop_while_it_is_taken_is_not_lost(self):
        more = self._send("In Tainan", when="steer")
        taken = self.store.take_steering(self.claim, set())
        self._call("POST", f"/api/ai/turns/{more.id}/stop")
        self.assertEqual(self.store.take_steering(self.claim, set()), [], "not taken once more")
        self.assertEqual([one["turn"] for one in taken], [more.id])
        self._finish()
        self.assertEqual(more.state, "stopped")
        self.assertEqual(self._kinds(more)[-1], ("done", "stopped"))

    def test_a_stop_that_met_a_locked_row_keeps_it_out(self):
        more = self._send("In Tainan", when="steer")
        more.sudo()._leave_stop()
        self.assertEqual(self.store.take_steering(self.claim, set()), [])
        self.store.sweep()
        self.env.invalidate_all()
        self.assertEqual(more.state, "stopped")

    def test_a_stop_of_what_is_part_of_the_answer_already_comes_too_late(self):
        more = self._send("In Tainan", when="steer")
        self.store.take_steering(self.claim, set())
        self._call("POST", f"/api/ai/turns/{more.id}/stop")
        self._save(self._user(more), ANSWER)
        self.store.sweep()
        self.env.invalidate_all()
        self.assertEqual(more.state, "done")

    def test_only_what_says_so_enters_and_only_what_the_person_says(self):
        self._send("Later", when="queue")
        foreign = self._send("Foreign", when="steer")
        foreign.user_id = self.stranger
        self.env.flush_all()
        self.assertEqual(self.store.take_steering(self.claim, set()), [])

    def test_what_was_begun_already_goes_on_by_itself(self):
        """Of turns that were committed in another order than they were made, the younger one may begin first."""
        begun = self._send("Later", when="steer")
        begun.started_at = "2026-01-01 10:00:00"
        self.env.flush_all()
        self.assertEqual(self.store.take_steering(self.claim, set()), [])

    def test_while_a_decision_is_open_it_can_only_wait(self):
        self.turn.state = "waiting"
        self.env.flush_all()
        status, said = self._call(
            "POST", f"{self.path}/messages", {"content": "x", "when": "steer"}
        )
        self.assertEqual((status, said["error"]["code"]), (409, "turn_waiting"))
        self._send("x", when="queue")

    def test_with_nothing_under_way_it_is_a_question_like_any_other(self):
        self._finish()
        self.assertFalse(self._send("And now?", when="steer").steers)
