"""Responses of the OpenAI API, from outside: who finds which again, and what goes on from them."""

import json
from unittest.mock import patch

from odoo import fields
from odoo.tests import tagged

from ..runtime import process
from ..runtime.web import completion
from ..services import events
from ..services.openai_api.response import Response, ResponseHead
from .test_openai_api import ANSWER, OpenAiCase

PATH = "/v1/responses"
ASKS = (events.text("I will.", 0), events.state("waiting"))


@tagged("post_install", "-at_install")
class TestOpenAiResponses(OpenAiCase):
    def _respond(self, told=ANSWER, key=None, **body):
        with self._telling(told):
            sent = {"model": self.model, "input": "Hello", **body}
            headers = {"Authorization": f"Bearer {key or self.key}"}
            return self._call("POST", PATH, sent, headers)

    def _made(self, state="done", **body):
        """Id of a response, whose turn is over; no runner takes it here."""
        status, said = self._respond(**body)
        self.assertEqual(status, 200, said)
        values = {"state": state, "ended_at": fields.Datetime.now()}
        if state == "waiting":
            values = {"state": state, "waiting_round": 3}
        self._turns()[0].write(values)
        self.env.flush_all()
        return said["id"]

    def _send(self, method, path, key=None):
        return self._call(method, path, headers={"Authorization": f"Bearer {key or self.key}"})

    # ------------------------------------------------------------ answers

    def test_an_answer(self):
        status, said = self._respond(instructions="Be brief.", metadata={"a": "b"})
        self.assertEqual(status, 200, said)
        (message,) = said["output"]
        self.assertEqual(message["content"][0]["text"], "Good day.")
        self.assertEqual((said["status"], said["usage"]["total_tokens"]), ("completed", 7))
        self.assertEqual((said["metadata"], said["instructions"]), ({"a": "b"}, "Be brief."))
        turn = self._turns()
        self.assertEqual((turn.taint, turn.is_response), ("program", True))
        self.assertEqual(turn.client_messages, [{"role": "system", "content": "Be brief."}])

    def test_a_call_that_asks_ends_the_answer_with_a_link(self):
        status, said = self._respond(ASKS)
        self.assertEqual((status, said["status"]), (200, "completed"))
        link = f"{self.base_url()}/my/ai/{self._turns().channel_id.id}"
        self.assertTrue(said["output"][-1]["content"][0]["text"].endswith(link))
        self.assertFalse(self.stopped)

    def test_a_failed_turn_is_an_error(self):
        failed = (events.error("llm_unreachable", "The model cannot be reached.", None),)
        self._assert_refused(self._respond(failed), 502, "llm_unreachable")

    def test_in_the_background_nobody_waits(self):
        status, said = self._respond((), background=True)
        self.assertEqual((status, said["status"]), (200, "queued"))
        self.assertEqual(self._send("GET", f"{PATH}/{said['id']}")[1]["status"], "queued")
        status, said = self._send("POST", f"{PATH}/{said['id']}/cancel")
        self.assertEqual((status, said["status"]), (200, "cancelled"))
        self.assertEqual(self._turns().state, "stopped")

    # ------------------------------------------------------------ found again

    def test_the_next_question_goes_on(self):
        first = self._made()
        status, said = self._respond(previous_response_id=first)
        self.assertEqual((status, said["previous_response_id"]), (200, first))
        second, before = self._turns()
        self.assertEqual(second.channel_id, before.channel_id)
        self.assertFalse(before.hidden)

    def test_what_followed_gives_way_to_another_question(self):
        first, second = self._made(), None
        second = self._made(previous_response_id=first)
        third = self._made(previous_response_id=first)
        turns = self._turns()
        self.assertEqual(turns.mapped(lambda turn: bool(turn.hidden)), [False, True, False])
        refused = self._respond(previous_response_id=second)
        self._assert_refused(refused, 409, "conversation_changed", "previous_response_id")
        self.assertEqual(self._respond(previous_response_id=third)[0], 200)

    def test_nobody_else_finds_a_response(self):
        made = self._made()
        others = [self._client_key(user) for user in (self.stranger, self.guest, self.admin)]
        code = "previous_response_not_found"
        for key in others:
            refused = self._respond(key=key, previous_response_id=made)
            self._assert_refused(refused, 404, code, "previous_response_id")
            for method, path in (("GET", ""), ("DELETE", ""), ("POST", "/cancel")):
                refused = self._send(method, f"{PATH}/{made}{path}", key)
                self._assert_refused(refused, 404, "not_found")
        for name in ("resp_x", "resp_1_2_3", "x" * 1_000, f"chatcmpl-{self._turns().id}"):
            refused = self._respond(previous_response_id=name)
            self._assert_refused(refused, 404, code, "previous_response_id")
        self.assertEqual(self._send("GET", f"{PATH}/{made}")[0], 200)

    def test_a_portal_user_finds_their_own(self):
        key = self._client_key(self.guest)
        status, said = self._respond(key=key)
        self.assertEqual(status, 200, said)
        self.assertEqual(self._send("GET", f"{PATH}/{said['id']}", key)[0], 200)
        status, said = self._send("POST", f"{PATH}/{said['id']}/cancel", key)
        self.assertEqual((status, said["status"]), (200, "cancelled"))
        self.assertEqual(self._respond(key=key, previous_response_id=said["id"])[0], 200)
        self.assertEqual(self._send("DELETE", f"{PATH}/{said['id']}", key)[0], 200)

    def test_what_is_not_to_be_kept_is_not_found(self):
        made = self._made(store=False)
        self._assert_refused(self._send("GET", f"{PATH}/{made}"), 404, "not_found")
        completion = self._complete()[1]["id"].replace("chatcmpl-", "resp_")
        self._assert_refused(self._send("GET", f"{PATH}/{completion}"), 404, "not_found")

    def test_a_response_is_deleted(self):
        first = self._made()
        second = self._made(previous_response_id=first)
        channel = self._turns().channel_id
        for made in (first, second):
            status, said = self._send("DELETE", f"{PATH}/{made}")
            self.assertEqual((status, said["deleted"]), (200, True))
            self._assert_refused(self._send("GET", f"{PATH}/{made}"), 404, "not_found")
        self.assertFalse(channel.exists())

    def test_another_assistant_does_not_go_on(self):
        made = self._made()
        other = self.assistant.copy({"name": "Other"})
        self.env.flush_all()
        refused = self._respond(model=f"assistant-{other.id}", previous_response_id=made)
        self._assert_refused(refused, 409, "conversation_changed", "previous_response_id")

    # ------------------------------------------------------------ decisions

    def test_a_conversation_that_waits_is_decided_in_odoo(self):
        made = self._made("waiting")
        status, said = self._respond(previous_response_id=made)
        self._assert_refused((status, said), 409, "approval_required")
        self.assertIn(f"/my/ai/{self._turns().channel_id.id}", said["error"]["message"])

    def test_no_key_decides(self):
        made = self._made("waiting")
        turn = self._turns()
        turn.waiting_round = 0
        call = self.env["woow_paas_platform.tool_call"].create(
            {
                "turn_id": turn.id,
                "user_id": self.member.id,
                "call_id": "c1",
                "tool_name": "count",
                "approval": "pending",
                "approval_choices": ["approve_once", "deny"],
            }
        )
        self.env.flush_all()
        approval = {"type": "mcp_approval_response", "approve": True}
        answer = [{**approval, "approval_request_id": "mcpr_c1"}]
        for more in ({"previous_response_id": made}, {}):
            refused = self._respond(input=answer, **more)
            self._assert_refused(refused, 409, "approval_required")
        key = self._client_key(self.stranger)
        self._assert_refused(self._respond(key=key, input=answer), 404, "not_found", "input")
        unknown = [{**approval, "approval_request_id": "mcpr_c2"}]
        self._assert_refused(self._respond(input=unknown), 404, "not_found", "input")
        path = f"/api/ai/turns/{turn.id}/decision"
        decision = {"id": call.call_id, "decision": "approve_once"}
        for user, status in ((self.member, 403), (self.stranger, 404)):
            headers = {"Authorization": f"Bearer {self._client_key(user, scope=None)}"}
            self.assertEqual(self._call("POST", path, decision, headers)[0], status)
        call.invalidate_recordset()
        self.assertEqual((call.approval, turn.state), ("pending", "waiting"))
        (asked,) = [
            item
            for item in self._send("GET", f"{PATH}/{made}")[1]["output"]
            if item["type"] == "mcp_approval_request"
        ]
        self.assertEqual(asked["name"], "count")
        self._sign_in(self.member)
        self.assertEqual(self._call("POST", path, decision)[0], 200)

    # ------------------------------------------------------------ requests

    def test_bad_requests_are_refused(self):
        for body, code, param in (
            ({"tools": [{"type": "function"}]}, "unsupported_parameter", "tools"),
            ({"input": []}, "invalid_value", "input"),
            ({"text": {"format": {"type": "json_object"}}}, "unsupported_value", "text"),
        ):
            with self.subTest(code):
                self._assert_refused(self._respond(**body), 400, code, param)
        made = self._made()
        refused = self._send("GET", f"{PATH}/{made}?stream=true")
        self._assert_refused(refused, 400, "unsupported_parameter")
        self._assert_refused(self._respond(key="no-key"), 401, "invalid_api_key")
        for method, path in (("GET", ""), ("DELETE", ""), ("POST", "/cancel")):
            refused = self._send(method, f"{PATH}/{made}{path}", "no-key")
            self._assert_refused(refused, 401, "invalid_api_key")

    def test_events_of_a_stream(self):
        with self._telling(ANSWER):
            answer = self.opener.post(
                self.base_url() + PATH,
                json={"model": self.model, "input": "Hello", "stream": True},
                headers={"Authorization": f"Bearer {self.key}"},
                timeout=20,
            )
        lines = [line[6:] for line in answer.text.split("\n") if line.startswith("data: ")]
        told = [json.loads(line) for line in lines]
        self.assertEqual([event["sequence_number"] for event in told], [*range(len(told))])
        self.assertEqual(told[-1]["type"], "response.completed")
        self.assertEqual(told[-1]["response"]["output"][0]["content"][0]["text"], "Good day.")

    def test_a_client_may_leave_before_the_first_word(self):
        asked = completion.Asked(self.env.cr.dbname, self.member.id, None, 1, "", True)
        reply = Response(ResponseHead("resp_1", 0, self.model, {}))
        waiting = completion.Completion(asked, reply, None, None)
        with self._telling(ANSWER), patch.object(process, "is_evented", lambda: True):
            parts = waiting({"REQUEST_METHOD": "POST"}, lambda *_args: None)
            self.assertIn(b"response.created", next(iter(parts)))
            parts.close()
            self.assertEqual(self.stopped, [asked])
