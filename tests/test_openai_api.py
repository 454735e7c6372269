"""Assistants as models of the OpenAI API, from outside: who reaches which, and what their turns are told."""

import base64
import contextlib
import json
from datetime import timedelta
from unittest.mock import patch

from odoo import fields
from odoo.tests import new_test_user, tagged

from ..runtime.turns import streams
from ..runtime.turns.listener import FINAL, Event, frame
from ..runtime.web import completion, slots
from ..services import events
from ..tools import limits
from .common import AiHttpCase, retention

PATH = "/v1/chat/completions"
PNG = b"\x89PNG\r\n\x1a\n" + b"picture"
HELLO = [{"role": "user", "content": "Hello"}]
ANSWER = (
    events.text("Good ", 0),
    events.text("day.", 0),
    events.usage({"input_tokens": 5, "output_tokens": 2}),
    events.done("done", None),
)


class OpenAiCase(AiHttpCase):
    def setUp(self):
        super().setUp()
        self.key = self._client_key(self.member)
        self.model = f"assistant-{self.assistant.id}-helper"

    def _get(self, path, key=None):
        return self._call("GET", path, headers={"Authorization": f"Bearer {key or self.key}"})

    def _complete(self, told=ANSWER, key=None, **body):
        """:param told: events of the turn, which no runner takes here"""
        with self._telling(told):
            sent = {"model": self.model, "messages": HELLO, **body}
            headers = {"Authorization": f"Bearer {key or self.key}"}
            return self._call("POST", PATH, sent, headers)

    def _stream(self, told=ANSWER, **body):
        """:return: what a client reads, piece by piece"""
        with self._telling(told):
            answer = self.opener.post(
                self.base_url() + PATH,
                json={"model": self.model, "messages": HELLO, "stream": True, **body},
                headers={"Authorization": f"Bearer {self.key}"},
                timeout=20,
            )
        self.assertEqual(answer.status_code, 200, answer.text)
        self.assertTrue(answer.headers["Content-Type"].startswith("text/event-stream"))
        return [line[6:] for line in answer.text.split("\n") if line.startswith("data: ")]

    @contextlib.contextmanager
    def _telling(self, told):
        def follow(*_args):
            for seq, event in enumerate(told, 1):
                yield event and Event(seq, frame(seq, json.dumps(event)), event["type"] in FINAL)

        def stop(asked):
            self.stopped.append(asked)

        self.stopped = []
        with (
            patch.object(streams, "follow", follow),
            patch.object(completion.Asked, "stop", stop),
        ):
            yield

    def _turns(self):
        self.env.invalidate_all()
        return self.env["woow_paas_platform.ai_turn"].search([("user_id", "=", self.member.id)])

    def _assert_refused(self, answer, status, code, param=None):
        self.assertEqual(answer[0], status, answer[1])
        self.assertEqual(list(answer[1]), ["error"])
        error = answer[1]["error"]
        self.assertEqual((error["code"], error["param"]), (code, param), error)
        self.assertTrue(error["message"] and error["type"])


@tagged("post_install", "-at_install")
class TestOpenAiApi(OpenAiCase):
    # ------------------------------------------------------------ models

    def test_models_are_the_assistants_of_the_user(self):
        status, said = self._get("/v1/models")
        self.assertEqual((status, said["object"]), (200, "list"))
        self.assertIn(self.model, [one["id"] for one in said["data"]])
        status, said = self._get(f"/v1/models/{self.model}")
        self.assertEqual((status, said["id"], said["name"]), (200, self.model, "Helper"))
        self.assistant.name = "Someone else"
        self.env.flush_all()
        self.assertEqual(self._get(f"/v1/models/{self.model}")[0], 200, "the number counts")

    def test_an_assistant_of_others_is_no_model(self):
        for change in ({"group_ids": self.env.ref("base.group_system")}, {"active": False}):
            with self.subTest(change), self.env.cr.savepoint() as savepoint:
                self.assistant.write(change)
                self.env.flush_all()
                listed = self._get("/v1/models")[1]["data"]
                self.assertNotIn(self.model, [one["id"] for one in listed])
                refused = self._get(f"/v1/models/{self.model}")
                self._assert_refused(refused, 404, "model_not_found", "model")
                self._assert_refused(self._complete(), 404, "model_not_found", "model")
                savepoint.close(rollback=True)
        for name in ("gpt-4", "helper", "x" * 10_000, "assistant-", "assistant-99999999"):
            self._assert_refused(self._complete(model=name), 404, "model_not_found", "model")
        self.assertFalse(self._turns())

    # ------------------------------------------------------------ who

    def test_only_a_key_of_a_user_opens_it(self):
        for path in ("/v1/models", f"/v1/models/{self.model}"):
            self._assert_refused(self._get(path, "no-key"), 401, "invalid_api_key")
            self._assert_refused(self._call("GET", path), 401, "invalid_api_key")
        self._assert_refused(self._complete(key="no-key"), 401, "invalid_api_key")
        other = self._client_key(self.member, "elsewhere")
        self._assert_refused(self._complete(key=other), 401, "invalid_api_key")
        self._sign_in(self.member)
        self._assert_refused(self._call("POST", PATH, {}), 401, "invalid_api_key")
        self.env["res.users.apikeys"].sudo().search([("user_id", "=", self.member.id)]).unlink()
        self.env.flush_all()
        self._assert_refused(self._complete(), 401, "invalid_api_key")

    def test_an_archived_user_has_no_key(self):
        gone = new_test_user(self.env, "ai_gone", groups="base.group_portal")
        key = self._client_key(gone)
        self.assertEqual(self._complete(key=key)[0], 200)
        gone.active = False
        self.env.flush_all()
        self._assert_refused(self._complete(key=key), 401, "invalid_api_key")

    def test_everybody_with_a_key_has_a_turn_of_their_own(self):
        for user in (self.internal, self.stranger, self.guest, self.admin):
            with self.subTest(user.login):
                status, said = self._complete(key=self._client_key(user))
                self.assertEqual(status, 200, said)
                turn = self.env["woow_paas_platform.ai_turn"].browse(
                    int(said["id"].removeprefix("chatcmpl-"))
                )
                self.assertEqual(turn.user_id, user)
                self.assertFalse(turn.with_user(self.member).has_access("read"))

    def test_a_cloud_service_is_for_its_members(self):
        about = {"metadata": {"cloud_service_id": str(self.service.id)}}
        self.assertEqual(self._complete(**about)[0], 200)
        self.assertEqual(self._turns().cloud_service_id, self.service)
        refused = self._complete(key=self._client_key(self.stranger), **about)
        self._assert_refused(refused, 404, "not_found")

    # ------------------------------------------------------------ answers

    def test_an_answer(self):
        status, said = self._complete()
        self.assertEqual(status, 200, said)
        self.assertEqual((said["object"], said["model"]), ("chat.completion", self.model))
        (choice,) = said["choices"]
        self.assertEqual(choice["message"]["content"], "Good day.")
        self.assertEqual(choice["finish_reason"], "stop")
        self.assertEqual(said["usage"]["total_tokens"], 7)
        self.assertFalse(self.stopped)

    def test_a_streamed_answer(self):
        *chunks, end = self._stream((None, *ANSWER), stream_options={"include_usage": True})
        self.assertEqual(end, "[DONE]")
        chunks = [json.loads(chunk) for chunk in chunks]
        self.assertEqual({chunk["object"] for chunk in chunks}, {"chat.completion.chunk"})
        *spoken, usage = chunks
        self.assertEqual((usage["choices"], usage["usage"]["prompt_tokens"]), ([], 5))
        deltas = [chunk["choices"][0]["delta"] for chunk in spoken]
        self.assertEqual(deltas[0]["role"], "assistant")
        self.assertEqual("".join(delta.get("content", "") for delta in deltas), "Good day.")
        self.assertEqual(spoken[-1]["choices"][0]["finish_reason"], "stop")

    def test_a_call_that_asks_ends_the_answer_with_a_link(self):
        asks = (events.text("I will.", 0), events.state("waiting"))
        said = self._complete(asks)[1]["choices"][0]
        link = f"{self.base_url()}/my/ai/{self._turns().channel_id.id}"
        self.assertEqual(
            said["message"]["content"],
            f"I will.\n\nThe assistant is waiting for your decision. {link}",
        )
        self.assertEqual((said["finish_reason"], self.stopped), ("stop", []))
        self._sign_in(self.member)
        page = self._call("GET", f"/api/ai/conversations/{self._turns().channel_id.id}")
        self.assertEqual(page[0], 200, "the card is there")

    def test_a_failed_turn_is_an_error(self):
        failed = (events.error("llm_unreachable", "The model cannot be reached.", None),)
        self._assert_refused(self._complete(failed), 502, "llm_unreachable")
        (_role, error) = self._stream(failed)
        self.assertEqual(json.loads(error)["error"]["code"], "llm_unreachable")

    def test_a_turn_that_is_not_read_to_its_end_is_stopped(self):
        self._assert_refused(self._complete(ANSWER[:1]), 504, "timeout")
        self.assertEqual([asked.turn_id for asked in self.stopped], self._turns().ids)

    def test_without_a_slot_the_turn_is_stopped(self):
        with patch.object(slots, "per_person", lambda: 0):
            self._assert_refused(self._complete(), 429, "too_many_waits")
            self.assertEqual(len(self.stopped), 1)

    # ------------------------------------------------------------ requests

    def test_bad_requests_are_refused(self):
        for body, status, code, param in (
            ({"tools": [{"type": "function"}]}, 400, "unsupported_parameter", "tools"),
            ({"functions": [{}]}, 400, "unsupported_parameter", "functions"),
            ({"n": 2}, 400, "unsupported_value", "n"),
            ({"messages": []}, 400, "invalid_value", "messages"),
            ({"messages": [{"role": "tool", "content": "x"}]}, 400, "invalid_value", None),
            ({"messages": HELLO * 201}, 400, "too_many_messages", "messages"),
            ({"user": "x" * 20_000_000}, 413, "body_too_large", None),
        ):
            with self.subTest(code):
                param = param or ("messages[0].role" if code == "invalid_value" else None)
                self._assert_refused(self._complete(**body), status, code, param)
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        for data, status, code in (("{", 400, "bad_json"), ("[]", 400, "bad_json")):
            answer = self.opener.post(self.base_url() + PATH, data=data, headers=headers)
            self._assert_refused((answer.status_code, answer.json()), status, code)
            self.assertEqual(answer.headers["x-should-retry"], "false")
        self.assertFalse(self._turns())

    # ------------------------------------------------------------ pictures

    def _see(self, *contents):
        seen = [
            {
                "type": "image_url",
                "image_url": {"url": f"data:image/png;base64,{base64.b64encode(one).decode()}"},
            }
            for one in contents
        ]
        return self._complete(messages=[{"role": "user", "content": seen}])

    def test_pictures(self):
        self._assert_refused(self._see(PNG), 400, "unsupported_content")
        self.assistant.config_id.supports_vision = True
        self.env.flush_all()
        status, said = self._see(PNG, PNG)
        self.assertEqual(status, 200, said)
        turn = self._turns()
        self.assertEqual(turn.sudo().attachment_ids.mapped("mimetype"), ["image/png"] * 2)
        self.assertEqual((turn.prompt, turn.taint), ("[picture-1]\n[picture-2]", "file"))
        guest = self._client_key(self.guest)
        url = f"data:image/png;base64,{base64.b64encode(PNG).decode()}"
        seen = [{"type": "image_url", "image_url": {"url": url}}]
        asked = [{"role": "user", "content": seen}]
        self.assertEqual(self._complete(key=guest, messages=asked)[0], 200)

    def test_pictures_that_are_none(self):
        self.assistant.config_id.supports_vision = True
        self.env.flush_all()
        for contents, status, code in (
            ([b"words"], 415, "unsupported_file"),
            ([b""], 400, "empty_file"),
            ([PNG] * 11, 422, "too_many_files"),
            ([PNG + bytes(8 * 1024 * 1024)], 413, "file_too_large"),
        ):
            with self.subTest(code):
                self._assert_refused(self._see(*contents), status, code)
        self.assertFalse(self._turns())

    # ------------------------------------------------------------ the turn

    def _turn_of(self, *messages):
        status, said = self._complete(messages=[*messages, *HELLO])
        self.assertEqual(status, 200, said)
        return self._turns()[0]

    def test_words_of_the_client_are_not_those_of_the_user(self):
        self.assertEqual(self._turn_of({"role": "system", "content": "x"}).taint, "program")
        self.assertEqual(self._turn_of({"role": "assistant", "content": "x"}).taint, "program")
        self.assertEqual(self._turn_of({"role": "user", "content": "> x"}).taint, "quote")
        plain = self._turn_of({"role": "user", "content": "Write to ann@example.com"})
        self.assertFalse(plain.taint)

    def test_a_retry_is_told_the_same(self):
        turn = self._turn_of({"role": "user", "content": "First"})
        turn.write({"state": "failed", "ended_at": fields.Datetime.now()})
        self._sign_in(self.member)
        status, said = self._call("POST", f"/api/ai/turns/{turn.id}/retry")
        self.assertEqual(status, 202, said)
        self.assertEqual(self._turns()[0].client_messages, turn.client_messages)

    # ------------------------------------------------------------ its conversation

    def test_nothing_lists_the_conversation(self):
        channel = self._turn_of().channel_id
        self.assertTrue(channel.woow_is_of_program)
        mine = channel.with_user(self.member)
        self.assertFalse(mine.self_member_id.is_pinned)
        self._sign_in(self.member)
        listed = self._call("GET", "/api/ai/conversations")[1]["conversations"]
        self.assertNotIn(channel.id, [one["id"] for one in listed])
        stranger = channel.with_user(self.stranger)
        self.assertFalse(stranger.has_access("read"))

    def test_old_conversations_are_deleted(self):
        old, new, open_ = (self._turn_of() for _ in range(3))
        ended = {"state": "done", "ended_at": fields.Datetime.now()}
        (old | new).write(ended)
        days = timedelta(days=181)
        self.env.flush_all()
        self.env.cr.execute(
            "UPDATE discuss_channel SET last_interest_dt = last_interest_dt - %s WHERE id = ANY(%s)",
            [days, (old | open_).channel_id.ids],
        )
        chat = self._conversation(self.member)
        retention(self.env)
        self.assertEqual((old | new | open_).exists(), new | open_)
        self.assertTrue(chat.exists())

    def test_the_least_recently_used_conversations_make_room(self):
        one, two, open_ = (self._turn_of() for _ in range(3))
        (one | two).write({"state": "done", "ended_at": fields.Datetime.now()})
        chat = self._conversation(self.member)
        self.env.flush_all()
        for hours, turn in enumerate((two, one, open_), 1):
            self.env.cr.execute(
                "UPDATE discuss_channel SET last_interest_dt = last_interest_dt - %s WHERE id = %s",
                [timedelta(hours=hours), turn.channel_id.id],
            )
        self.env["ir.config_parameter"].sudo().set_param(
            f"{limits.PREFIX}max_program_conversations_per_person", 3
        )
        self.env.flush_all()
        new = self._turn_of()
        self.assertEqual((one | two | open_ | new).exists(), one | two | open_ | new)
        newest = self._turn_of()
        kept = (one | two | open_ | new | newest).exists()
        self.assertEqual(kept, two | open_ | new | newest, "what is under way stays, too")
        self.assertTrue(chat.exists())
        self.assertEqual(self._complete(key=self._client_key(self.stranger))[0], 200)
        self.assertTrue(two.exists(), "each user has as many")
