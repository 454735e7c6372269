import json

from odoo.exceptions import AccessError
from odoo.tests import tagged
from odoo.tools import mute_logger
from psycopg2 import IntegrityError

from ..models.turn.ai_turn import Question
from ..services.mcp.discovery import content
from ..services.specs import CallResult
from .common import AiCase, AiHttpCase

CALLS = [
    {"id": "call-ok", "alias": "weather__forecast", "arguments": {"city": "Taipei"}},
    {"id": "call-cut", "alias": "weather__alerts", "arguments": {}},
]


class RetryData:
    """A turn that was stopped in its second round: one call is finished, one was cut."""

    def _stopped_turn(self, user, channel=None):
        channel = channel or self._conversation(user)
        turn = self._asked(channel)
        turn.write(
            {
                "transcript": {
                    "started": True,
                    "step": 1,
                    "round": 0,
                    "messages": [
                        {"role": "assistant", "content": "Let me see.", "tool_calls": CALLS},
                    ],
                    "usage": {"input_tokens": 5},
                    "tools_seconds": 3.0,
                }
            }
        )
        values = {"turn_id": turn.id, "user_id": user.id, "round": 1, "server_name": "weather"}
        self.env["woow_paas_platform.tool_call"].create(
            [
                {
                    **values,
                    "call_id": "call-ok",
                    "tool_name": "forecast",
                    "arguments": {"city": "Taipei"},
                    "fixed": ["city"],
                    "outcome": "ok",
                    "result": "sunny",
                    "llm_text": "sunny",
                },
                {**values, "call_id": "call-cut", "tool_name": "alerts", "outcome": "unknown"},
            ]
        )
        self._end(turn, "stopped")
        return turn

    def _asked(self, channel, content="What is the weather?"):
        return channel.with_user(self.member).sudo(False)._ask(Question(content)).sudo()

    def _again(self, turn):
        return turn.with_user(self.member).sudo(False)._retry().sudo()

    def _end(self, turn, state, html=""):
        turn._end(state, html)
        return turn

    def _history(self, turn):
        """What the model reads, as pairs of role and text."""
        return [(one["role"], one["content"]) for one in turn._turn_request().history]


@tagged("post_install", "-at_install")
class TestRetry(RetryData, AiCase):
    def setUp(self):
        super().setUp()
        self.turn = self._stopped_turn(self.member)
        self.retry = self._again(self.turn)

    def test_every_call_is_taken_over_with_its_result(self):
        self.assertEqual(self.retry.state, "queued")
        self.assertEqual(self.retry.message_id, self.turn.message_id)
        messages = self.retry.transcript["messages"]
        self.assertEqual([m["role"] for m in messages], ["assistant", "tool", "tool"])
        self.assertEqual(
            {m["call_id"]: m["outcome"] for m in messages[1:]},
            {"call-ok": "ok", "call-cut": "unknown"},
        )
        self.assertEqual(messages[1]["content"], "sunny")
        self.assertEqual((self.retry.transcript["round"], self.retry.transcript["step"]), (1, 1))
        self.assertFalse(self.retry.call_ids, "nothing is left to call")

    def test_what_was_said_after_the_last_call_is_said_anew(self):
        self.retry.transcript = {
            **self.retry.transcript,
            "messages": [
                *self.retry.transcript["messages"],
                {"role": "assistant", "content": "It is"},
            ],
        }
        messages = self.retry._transcript_for_retry()["messages"]
        self.assertEqual([m["role"] for m in messages], ["assistant", "tool", "tool"])

    def test_the_stream_shows_the_calls_again(self):
        events = (
            self.env["woow_paas_platform.ai_turn_event"]
            .search([("turn_id", "=", self.retry.id)])
            .mapped("payload")
        )
        self.assertEqual(
            [(event["type"], event.get("id")) for event in events],
            [
                ("state", None),
                ("text", None),
                ("text_block", None),
                ("tool_call", "call-ok"),
                ("tool_result", "call-ok"),
                ("tool_call", "call-cut"),
                ("tool_result", "call-cut"),
            ],
        )
        self.assertEqual(events[4]["result"], "sunny")
        self.assertEqual([event.get("fixed") for event in events[3:6:2]], [["city"], None])

    def test_arguments_and_results_keep_the_order_of_their_keys(self):
        """As the model and the server have written them, at every depth, whatever text stands beside."""
        given = {
            "customer": "Ann",
            "id": 7,
            "values": {"currency": "TWD", "b": [{"zeta": 1, "a": 2}]},
        }
        row = {"number": "A1", "customer": "Ann", "amount": 5, "paid": True}
        call = self.turn.call_ids[0]
        for blocks, path in (
            ([], ["result"]),
            ([json.dumps({"result": [row]})], ["result"]),
            ([json.dumps(row)], ["structured", "result"]),
            (["One invoice."], ["structured", "result"]),
        ):
            with self.subTest(blocks):
                said = [{"type": "text", "text": block} for block in blocks]
                found = content.read(
                    {"content": said, "structuredContent": {"result": [row]}},
                    llm_cap=10_000,
                    ui_cap=10_000,
                )
                result = CallResult(outcome="ok", text=found.text, display=found.display)
                call.write({"arguments": given, **call._vals_of_result(result)})
                self.env.flush_all()
                self.env.invalidate_all()
                data = call.with_user(self.member).sudo(False)._api_format()
                rows = data["result"]
                for name in path:
                    rows = rows[name]
                self.assertEqual(list(rows[0]), list(row))
                self.assertEqual(json.dumps(data["args"]), json.dumps(given))

    def test_events_keep_the_order_of_their_keys(self):
        given = {"customer": "Ann", "id": 7, "values": {"currency": "TWD", "b": 1}}
        self.turn._append_events([{"type": "tool_call", "id": "c", "args": given}])
        self.env.flush_all()
        self.env.invalidate_all()
        event = self.env["woow_paas_platform.ai_turn_event"].search(
            [("turn_id", "=", self.turn.id)], order="seq DESC", limit=1
        )
        self.assertEqual(json.dumps(event.payload["args"]), json.dumps(given))

    def test_the_model_reads_the_question_once(self):
        self.assertEqual([role for role, _said in self._history(self.retry)], ["user"])
        self._end(self.retry, "done", "<p>Sunny.</p>")
        later = self._asked(self.turn.channel_id, "And tomorrow?")
        self.assertEqual(
            [role for role, _said in self._history(later)],
            ["user", "assistant", "tool", "tool", "user"],
        )

    def test_the_page_shows_the_retry_in_place_of_the_stopped_answer(self):
        channel = self.turn.channel_id.with_user(self.member)
        self._end(self.retry, "done", "<p>Sunny.</p>")
        messages = channel._conversation_page(limit=30)["messages"]
        self.assertEqual([m["role"] for m in messages], ["user", "assistant"])
        self.assertEqual(
            [call["id"] for call in messages[1]["turn"]["tool_calls"]], ["call-ok", "call-cut"]
        )

    def test_a_turn_is_retried_once(self):
        with mute_logger("odoo.sql_db"), self.assertRaises(IntegrityError):
            self._again(self.turn)

    def test_who_lost_the_assistant_cannot_retry(self):
        self._end(self.retry, "stopped")
        self.assistant.group_ids = self.env.ref("base.group_system")
        with self.assertRaises(AccessError):
            self._again(self.retry)


@tagged("post_install", "-at_install")
class TestRetryApi(RetryData, AiHttpCase):
    def test_retry(self):
        turn = self._stopped_turn(self.member)
        path = f"/api/ai/turns/{turn.id}/retry"
        self._sign_in(self.stranger)
        self.assertEqual(self._call("POST", path, {})[0], 404)
        self._sign_in(self.member)
        status, data = self._call("POST", path, {})
        self.assertEqual(status, 202)
        self.assertEqual(data["message_id"], turn.message_id.id)
        status, data = self._call("POST", path, {})
        self.assertEqual((status, data["error"]["code"]), (409, "turn_running"))

    def test_another_assistant_takes_over_the_calls_and_not_the_words(self):
        turn = self._stopped_turn(self.member)
        other = self.assistant.copy({"name": "Second"})
        page = f"/api/ai/conversations/{turn.channel_id.id}"
        self._sign_in(self.member)
        offered = self._call("GET", page)[1]["assistants"]
        self.assertLessEqual({self.assistant.id, other.id}, {one["id"] for one in offered})
        path = f"/api/ai/turns/{turn.id}/retry"
        status, data = self._call("POST", path, {"assistant_id": other.id})
        self.assertEqual((status, data["message_id"]), (202, turn.message_id.id))
        again = turn.browse(data["turn_id"])
        self.assertEqual(again.assistant_id, other)
        told = again.transcript["messages"]
        self.assertEqual([one["role"] for one in told], ["assistant", "tool", "tool"])
        self.assertEqual([one["content"] for one in told[:2]], ["", "sunny"])
        self.assertEqual(self._call("GET", page)[1]["turn"]["assistant"]["name"], "Second")
        self.assertEqual(again.channel_id.woow_assistant_id, self.assistant)

    def test_no_assistant_of_others_answers(self):
        turn = self._stopped_turn(self.member)
        hidden = self.assistant.copy({"group_ids": self.env.ref("base.group_system").ids})
        elsewhere = self.assistant.copy({"cloud_service_id": self.service.id})
        archived = self.assistant.copy({"active": False})
        self._sign_in(self.member)
        for other, status in (
            (hidden.id, 404),
            (0, 404),
            (elsewhere.id, 403),
            (archived.id, 403),
        ):
            values = {"assistant_id": other}
            path = f"/api/ai/turns/{turn.id}/retry"
            self.assertEqual(self._call("POST", path, values)[0], status)

    def test_only_the_last_answer_can_be_retried(self):
        turn = self._stopped_turn(self.member)
        self._end(self._asked(turn.channel_id, "Next"), "stopped")
        self._sign_in(self.member)
        status, data = self._call("POST", f"/api/ai/turns/{turn.id}/retry", {})
        self.assertEqual((status, data["error"]["code"]), (409, "turn_outdated"))

    def test_an_answer_stays_the_last_word_while_no_other_one_comes(self):
        """A try without an answer stands behind the answer that it was to replace, and can be tried again."""
        channel = self._conversation(self.member)
        turn = self._asked(channel)
        self._end(turn, "done", "<p>Sunny.</p>")
        again = self._again(turn)
        self._end(again, "failed")
        self._sign_in(self.member)
        page = f"/api/ai/conversations/{channel.id}"
        shown = self._call("GET", page)[1]["messages"]
        turns = [one["turn"] and one["turn"]["id"] for one in shown]
        self.assertEqual(turns, [None, turn.id, again.id])
        # a page may end anywhere between them
        latest = self._call("GET", f"{page}?limit=1")[1]["messages"]
        self.assertEqual([one["turn"]["id"] for one in latest], [turn.id, again.id])
        before = self._call("GET", f"{page}?before={turn.answer_message_id.id}")[1]["messages"]
        self.assertEqual([one["text"] for one in before], ["What is the weather?"])
        self.assertEqual(self._call("POST", f"/api/ai/turns/{again.id}/retry", {})[0], 202)

    def test_the_model_reads_the_answer_that_no_other_one_has_replaced(self):
        channel = self._conversation(self.member)
        turn = self._asked(channel)
        turn.transcript = {
            "messages": [{"role": "assistant", "content": "Sunny.", "tool_calls": []}]
        }
        self._end(turn, "done", "<p>Sunny.</p>")
        again = self._end(self._again(turn), "failed")
        self._end(self._again(again), "failed")
        said = [said for _role, said in self._history(self._asked(channel, "And tomorrow?"))]
        self.assertEqual(said, ["What is the weather?", "Sunny.", "And tomorrow?"])

    def test_what_a_try_without_an_answer_has_done_is_not_forgotten(self):
        channel = self._conversation(self.member)
        turn = self._asked(channel)
        self._end(turn, "done", "<p>Sunny.</p>")
        again = self._again(turn)
        values = {"turn_id": again.id, "user_id": self.member.id, "call_id": "call-ok"}
        self.env["woow_paas_platform.tool_call"].create(
            {**values, "tool_name": "forecast", "outcome": "ok", "llm_text": "rain"}
        )
        told = {"role": "tool", "call_id": "call-ok", "content": "rain", "outcome": "ok"}
        said = {"role": "assistant", "content": "", "tool_calls": CALLS[:1]}
        again.transcript = {"messages": [said, told]}
        self._end(again, "failed")
        later = self._asked(channel, "And tomorrow?")
        self.assertIn(("tool", "rain"), self._history(later))

    def test_each_person_decides_whether_calls_are_shown(self):
        self._sign_in(self.member)
        self.assertIs(self._call("GET", "/api/ai/preferences")[1]["show_tool_calls"], True)
        told = self._call("PATCH", "/api/ai/preferences", {"show_tool_calls": False})[1]
        self.assertIs(told["show_tool_calls"], False)
        self.assertEqual(
            self._call("PATCH", "/api/ai/preferences", {"show_tool_calls": "no"})[0], 400
        )
        self._sign_in(self.owner)
        self.assertIs(self._call("GET", "/api/ai/preferences")[1]["show_tool_calls"], True)
