import json

from odoo.addons.mail.tools.discuss import Store
from odoo.tests import tagged

from ..models.turn.ai_turn import Question
from .common import AiHttpCase


@tagged("post_install", "-at_install")
class TestDiscussCards(AiHttpCase):
    """What Discuss learns of a turn with its messages, and what a click on a card fetches."""

    def setUp(self):
        super().setUp()
        self.chat = self._conversation(self.internal)

    def _turn(self, calls=1, **values):
        turn = self.chat._ask(Question("What time is it?")).sudo()
        for number in range(calls):
            self.env["woow_paas_platform.tool_call"].create(
                {
                    "turn_id": turn.id,
                    "user_id": turn.user_id.id,
                    "call_id": f"call_{turn.id}_{number}",
                    "server_name": "weather",
                    "tool_name": "forecast",
                    "arguments": {"city": "secret city"},
                    "result": {"text": "secret weather"},
                    "outcome": "ok",
                    "duration_ms": 12,
                    **values,
                }
            )
        return turn

    def _answer(self, turn):
        turn.state = "running"
        turn._end("done", "<p>Tea time.</p>")
        return turn.answer_message_id

    def _cards(self, messages, user=None):
        """``{message id: data}`` as a client gets it."""
        store = Store().add(messages.with_user(user or self.internal))
        rows = store.get_result()["mail.message"]
        return {row["id"]: row["woow_ai_turn"] for row in rows if "woow_ai_turn" in row}

    def test_the_question_carries_an_open_turn_and_the_answer_one_that_ended(self):
        turn = self._turn()
        question = turn.message_id
        data = self._cards(question)[question.id]
        self.assertEqual((data["id"], data["state"]), (turn.id, "queued"))
        self.assertEqual((data["user_id"], data["assistant"]), (self.internal.id, "Helper"))
        self.assertEqual(data["stream_url"], f"/api/ai/turns/{turn.id}/stream")
        answer = self._answer(turn)
        cards = self._cards(question | answer)
        self.assertEqual(list(cards), [answer.id])
        (call,) = cards[answer.id]["tool_calls"]
        self.assertEqual((call["server"], call["tool"]), ("weather", "forecast"))
        self.assertEqual((call["outcome"], call["duration_ms"]), ("ok", 12))
        self.assertNotIn("secret", json.dumps(cards), "others may read along")

    def test_a_turn_without_an_answer_stays_at_its_question(self):
        turn = self._turn()
        turn._end("stopped")
        self.assertEqual(self._cards(turn.message_id)[turn.message_id.id]["state"], "stopped")
        retry = turn.with_user(self.internal)._retry().sudo()
        answer = self._answer(retry)
        cards = self._cards(turn.message_id | answer)
        self.assertEqual([data["id"] for data in cards.values()], [retry.id])
        self.assertEqual(len(cards[answer.id]["tool_calls"]), 1, "the calls were taken over")

    def test_a_page_of_messages_costs_as_much_as_one(self):
        answers = self.env["mail.message"]
        for _ in range(5):
            answers |= self._answer(self._turn(calls=3))
        counts = []
        for page in (answers[:1], answers):
            self.env.flush_all()
            self.env.invalidate_all()
            before = self.env.cr.sql_log_count
            self.assertEqual(len(page.with_user(self.internal)._turn_cards()), len(page))
            counts.append(self.env.cr.sql_log_count - before)
        self.assertEqual(*counts)

    def test_a_question_of_the_chat_is_announced_to_discuss(self):
        Bus = self.env["bus.bus"].sudo()
        self.env.cr.precommit.run()
        Bus.search([]).unlink()
        turn = self._turn(calls=0)
        self.env.cr.precommit.run()
        said = [json.loads(row.message) for row in Bus.search([])]
        rows = [
            row
            for one in said
            if one["type"] == "mail.record/insert"
            for row in one["payload"].get("mail.message", ())
        ]
        announced = [row["woow_ai_turn"]["id"] for row in rows if "woow_ai_turn" in row]
        self.assertEqual(announced, [turn.id])

    def test_other_messages_are_left_alone(self):
        note = self.internal.partner_id.message_post(body="A note")
        self.assertFalse(note._turn_cards())

    def test_only_who_may_read_the_turn_gets_its_details(self):
        turn = self._turn()
        self._answer(turn)
        path = f"/api/ai/turns/{turn.id}"
        self.assertEqual(self._call("GET", path)[0], 401)
        for user in (self.internal, self.admin):
            self._sign_in(user)
            status, data = self._call("GET", path)
            self.assertEqual((status, data["id"], data["state"]), (200, turn.id, "done"))
            self.assertEqual(data["tool_calls"][0]["args"], {"city": "secret city"})
        for user in (self.stranger, self.guest, self.owner):
            self._sign_in(user)
            self.assertEqual(self._call("GET", path)[0], 404)
