from odoo.tests import tagged

from ..models.turn.ai_turn import Question
from ..tools.refusals import Busy
from .common import AiHttpCase


class ConversationCase(AiHttpCase):
    def setUp(self):
        super().setUp()
        self.channel = self._conversation(self.member)
        self._sign_in(self.member)

    def _say(self, content, answer, **body):
        status, turn = self._call("POST", f"{self.url}/messages", {"content": content, **body})
        self.assertEqual(status, 202, turn)
        turn = self.env["woow_paas_platform.ai_turn"].browse(turn["turn_id"]).sudo()
        turn._end("done", f"<p>{answer}</p>")
        self.env.flush_all()
        return turn

    @property
    def url(self):
        return f"/api/ai/conversations/{self.channel.id}"

    def _page(self):
        return self._call("GET", self.url)[1]["messages"]

    def _texts(self):
        return [message["text"] for message in self._page()]


@tagged("post_install", "-at_install")
class TestBranch(ConversationCase):
    """A question asked in other words begins a branch; the old one can be shown again."""

    def setUp(self):
        super().setUp()
        self.first = self._say("One", "First")
        self.second = self._say("Two", "Second")
        self.third = self._say("Three", "Third")
        self.anew = self._say("Two!", "Other", edit_of=self.second.message_id.id)

    def test_what_followed_is_left(self):
        self.assertEqual(self._texts(), ["One", "First", "Two!", "Other"])
        question = self._page()[2]
        self.assertEqual(question["versions"], [self.second.id, self.anew.id])
        self.assertEqual(question["turn_id"], self.anew.id)

    def test_the_model_reads_the_branch_that_is_shown(self):
        last = self._say("Four", "Fourth")
        said = [m["content"] for m in last._turn_request().history if m["role"] == "user"]
        self.assertEqual(said, ["One", "Two!", "Four"])

    def test_the_branches_come_back_as_they_were(self):
        more = self._say("Two?", "Third try", edit_of=self.anew.message_id.id)
        wanted = {
            self.second: ["One", "First", "Two", "Second", "Three", "Third"],
            self.anew: ["One", "First", "Two!", "Other"],
            more: ["One", "First", "Two?", "Third try"],
        }
        for turn in (self.second, more, self.anew, self.second, self.anew, more):
            self.assertEqual(self._call("POST", f"/api/ai/turns/{turn.id}/show", {})[0], 200)
            self.assertEqual(self._texts(), wanted[turn])
            (question,) = [m for m in self._page() if m["versions"]]
            self.assertEqual(question["versions"], [self.second.id, self.anew.id, more.id])

    def test_a_page_that_is_out_of_date_does_not_mix_branches(self):
        self._say("One!", "New", edit_of=self.first.message_id.id)
        status, answer = self._call("POST", f"/api/ai/turns/{self.second.id}/show", {})
        self.assertEqual((status, answer["error"]["code"]), (409, "turn_outdated"))
        self.assertEqual(self._texts(), ["One!", "New"])

    def test_the_answer_of_a_branch_can_be_retried(self):
        self._call("POST", f"/api/ai/turns/{self.second.id}/show", {})
        self.assertEqual(self._call("POST", f"/api/ai/turns/{self.third.id}/retry", {})[0], 202)

    def test_nothing_changes_while_an_answer_runs(self):
        self._call("POST", f"{self.url}/messages", {"content": "Busy"})
        body = {"content": "Now", "edit_of": self.first.message_id.id}
        status, answer = self._call("POST", f"{self.url}/messages", body)
        self.assertEqual((status, answer["error"]["code"]), (409, "turn_running"))
        status, answer = self._call("POST", f"/api/ai/turns/{self.second.id}/show", {})
        self.assertEqual((status, answer["error"]["code"]), (409, "turn_running"))
        with self.assertRaises(Busy) as caught:
            self.channel._ask(Question("Now", edits=self.first))
        self.assertEqual(caught.exception.code, "turn_running")

    def test_only_ones_own_questions(self):
        answer = self.first.answer_message_id.id
        hidden = self.second.message_id.id
        for message in (answer, hidden, 0, 999_999_999):
            body = {"content": "Other words", "edit_of": message}
            self.assertEqual(self._call("POST", f"{self.url}/messages", body)[0], 404, message)
        self.assertEqual(self._texts(), ["One", "First", "Two!", "Other"])
        self._sign_in(self.stranger)
        body = {"content": "Mine", "edit_of": self.first.message_id.id}
        self.assertEqual(self._call("POST", f"{self.url}/messages", body)[0], 404)
        self.assertEqual(self._call("POST", f"/api/ai/turns/{self.second.id}/show", {})[0], 404)


@tagged("post_install", "-at_install")
class TestSearch(ConversationCase):
    def _found(self, words):
        status, data = self._call("GET", f"/api/ai/conversations?q={words}")
        self.assertEqual(status, 200)
        return [conversation["id"] for conversation in data["conversations"]]

    def test_names_and_messages_are_searched_as_text(self):
        self._say("Where is the harbour?", "It is <strong>in Keelung</strong> &amp; near.")
        other = self._conversation(self.member)
        other._rename_ai_conversation("Harbour_100%")
        other.sudo().last_interest_dt = "2036-01-01 08:00:00"
        both = [other.id, self.channel.id]
        self.assertEqual(self._found("HARBOUR"), both)
        self.assertEqual(self._found("keelung"), [self.channel.id])
        self.assertEqual(self._found("%26 near"), [self.channel.id])
        self.assertEqual(self._found("strong"), [], "tags are no text")
        self.assertEqual(self._found("r_100%25"), [other.id])
        self.assertEqual(self._found("h_rbour"), [])
        self.assertEqual(self._found("%25"), [other.id])
        self.assertEqual(len(self._found("x" * 5000)), 0)

    def test_a_page_goes_on_before_an_id(self):
        self._say("Harbour", "Yes")
        self.assertEqual(self._found(f"harbour&before={self.channel.id}"), [])

    def test_only_ones_own(self):
        self._say("Where is the harbour?", "In Keelung.")
        self._sign_in(self.stranger)
        self.assertEqual(self._found("harbour"), [])
