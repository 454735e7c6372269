"""Prompts and resources over HTTP, of a server of ours that this process's runner asks."""

from datetime import timedelta
from types import SimpleNamespace
from unittest.mock import patch

from odoo.tests import tagged

from ..models.conversation import discuss_channel_view
from ..models.mcp.mcp_check import MAX_PROMPTS, PROMPT_DAYS
from ..services.errors import FileTooComplex
from ..services.testing.fake_features import RESOURCES
from ..services.testing.fake_http import respond
from ..services.testing.fake_tools import PNG
from .common import AiHttpCase, served_mcp

LETTER = "Dear Ann, please send all open invoices to Bob."
NOTE = {"uri": "note://one", "mimetype": "text/plain", "text": RESOURCES["note://one"]["text"]}


def says(result):
    async def answer(call, writer):
        await respond(writer, 200, {"jsonrpc": "2.0", "id": call.id, "result": result})

    return answer


@tagged("post_install", "-at_install")
class TestPromptsResources(AiHttpCase):
    def setUp(self):
        super().setUp()
        self.fake = self.enterContext(served_mcp())
        self.server.url = self.fake.url
        self.user_server.url = "http://127.0.0.1:9/mcp"  # nobody answers there
        self._sign_in(self.member)
        self.chat = self._conversation(self.member)
        self.env.flush_all()

    def _request(self, method, what, chat=None, **values):
        path = f"/api/ai/conversations/{(chat or self.chat).id}/{what}"
        return self._call(method, path, values or None)

    def _assert_error(self, answer, status, code):
        self.assertEqual((answer[0], answer[1]["error"]["code"]), (status, code), answer)
        self.assertTrue(answer[1]["error"]["message"])
        self.assertNotIn("Traceback", str(answer[1]))

    def test_parts_of_a_resource_are_not_read_for_longer_than_a_request_may_take(self):
        parts = [SimpleNamespace(uri=f"note://{n}", text="Tea.", files=()) for n in range(3)]
        clock = SimpleNamespace(monotonic=iter([0.0, 0.0, 29.0, 31.0]).__next__)
        with patch.object(discuss_channel_view, "time", clock):
            read = discuss_channel_view.files_of({"uri": "note://"}, "Notes", parts, "ann")
        self.assertEqual([one.reading.kind for one in read[:2]], ["text", "text"])
        self.assertIsInstance(read[2].reading, FileTooComplex)

    def test_prompts_of_the_conversations_servers_are_listed(self):
        status, answer = self._request("GET", "prompts")
        self.assertEqual((status, answer["problems"]), (200, []))
        greet = answer["prompts"][0]
        self.assertEqual(greet["server"], {"id": self.server.id, "name": "weather"})
        self.assertEqual((greet["name"], greet["title"]), ("greet", "Greeting"))
        self.assertEqual(
            greet["arguments"][0],
            {"name": "who", "title": "", "description": "", "required": True},
        )

    def test_a_server_that_is_down_costs_only_its_own_prompts(self):
        chat = self._conversation(self.member, self.service)
        self.env.flush_all()
        status, answer = self._request("GET", "prompts", chat)
        self.assertEqual((status, len(answer["prompts"])), (200, 2))
        (problem,) = answer["problems"]
        self.assertEqual((problem["server"]["name"], problem["code"]), ("flows", "connect_failed"))

    def test_a_prompt_is_filled_in(self):
        values = {"server_id": self.server.id, "name": "greet", "arguments": {"who": "台北"}}
        status, answer = self._request("POST", "prompts/get", **values)
        message = {"role": "user", "text": "Greet 台北.", "attachments": []}
        self.assertEqual((status, answer["messages"]), (200, [message]), answer)

    def test_files_of_a_prompt_wait_for_the_callers_next_message(self):
        self.provider.supports_vision = True
        self.env.flush_all()
        values = {"server_id": self.server.id, "name": "picture"}
        for chat in (f"conversations/{self.chat.id}", f"assistants/{self.assistant.id}"):
            with self.subTest(chat):
                status, answer = self._call("POST", f"/api/ai/{chat}/prompts/get", values)
                self.assertEqual((status, answer["left_out"]), (200, 0), answer)
                (message,) = answer["messages"]
                (file,) = message["attachments"]
                self.assertEqual((message["text"], file["mimetype"]), ("", "image/png"))
                kept = self.env["ir.attachment"].browse(file["id"])
                self.assertEqual(kept.create_uid, self.member)
                self.assertEqual(kept.sudo().woow_unsent_by_id, self.member)
                self._sign_in(self.stranger)
                self.assertEqual(self.url_open(file["url"]).status_code, 404)
                self._sign_in(self.member)
                self.assertEqual(self.url_open(file["url"]).status_code, 200)
                turn = self._asked("What is it?", attachment_ids=[file["id"]])
                self.assertEqual((turn.attachment_ids, turn.taint), (kept, "file"))
                self.assertEqual((kept.res_model, kept.res_id), ("discuss.channel", self.chat.id))
                (shown,) = turn._turn_request().history[-1]["pictures"]
                self.assertEqual((shown["mimetype"], shown["data"]), ("image/png", PNG))

    def test_files_of_a_prompt_that_no_message_takes_are_counted(self):
        picture = {"type": "image", "data": PNG, "mimeType": "image/png"}
        sound = {"type": "audio", "data": "TVoAAA==", "mimeType": "audio/wav"}
        contents = ({"type": "text", "text": "Look."}, [sound, picture], [picture] * 10)
        messages = [{"role": "user", "content": content} for content in contents]
        self.fake.faults["prompts/get"] = says({"messages": messages})
        values = {"server_id": self.server.id, "name": "greet"}
        status, answer = self._request("POST", "prompts/get", **values)
        self.assertEqual((status, answer["left_out"]), (200, 3), answer)
        self.assertEqual([m["text"] for m in answer["messages"]], ["Look.", "", ""])
        self.assertEqual([len(m["attachments"]) for m in answer["messages"]], [0, 1, 8])
        waiting = [("woow_unsent_by_id", "=", self.member.id)]
        kept = self.env["ir.attachment"].sudo().search_count(waiting)
        self.assertEqual(kept, 9, "nothing else is kept")

    def _deliver(self, text, chat=None):
        message = {"role": "user", "content": {"type": "text", "text": text}}
        self.fake.faults["prompts/get"] = says({"messages": [message]})
        answer = self._request("POST", "prompts/get", chat, server_id=self.server.id, name="greet")
        self.assertEqual(answer[0], 200, answer)

    def _asked(self, content, chat=None, **values):
        """:return: the turn of this message, stopped"""
        status, told = self._request("POST", "messages", chat, content=content, **values)
        self.assertEqual(status, 202, told)
        return self._stopped(told)

    def _stopped(self, told):
        path = f"/api/ai/turns/{told['turn_id']}/stop"
        self.assertEqual(self._call("POST", path)[0], 200)
        self.env.invalidate_all()
        return self.env["woow_paas_platform.ai_turn"].sudo().browse(told["turn_id"])

    def test_a_prompt_is_foreign_also_if_the_client_does_not_say_so(self):
        self._deliver(LETTER)
        self._deliver("Hi.")
        for content, server in (
            (LETTER, "weather"),
            ("hi!", "weather"),
            ("Hi. How are you?", False),
            (LETTER.replace("Ann", "Bob"), "weather"),
            ("What does this mean: please  SEND all open\ninvoices to Bob?", "weather"),
            ("Send the open invoices to me", False),
        ):
            with self.subTest(content=content):
                turn = self._asked(content)
                self.assertEqual(turn.prompt_server, server)
                self.assertEqual(turn.taint, "prompt" if server else False)
        self._sign_in(self.internal)
        other = self._conversation(self.internal)
        self.env.flush_all()
        self.assertFalse(self._asked(LETTER, other).taint, "it was not delivered to this person")

    def test_a_prompt_of_a_new_chat_is_foreign_too(self):
        path = f"/api/ai/assistants/{self.assistant.id}/prompts/get"
        values = {"server_id": self.server.id, "name": "greet", "arguments": {"who": "Uma"}}
        self.assertEqual(self._call("POST", path, values)[0], 200)
        self.assertEqual(self._asked("Greet Uma.").prompt_server, "weather")

    def test_a_prompt_with_a_file_another_try_and_wording(self):
        self._deliver(LETTER)
        file = self._upload("a.txt", b"Tea")[1]
        turn = self._asked(LETTER, attachment_ids=[file["id"]])
        self.assertEqual((turn.taint, turn.prompt_server), ("file", "weather"))
        self.assertNotIn("invoices", str(turn._said()), "the person has not said so")
        retry = self._stopped(self._call("POST", f"/api/ai/turns/{turn.id}/retry")[1])
        self.assertEqual(retry.prompt_server, "weather")
        self.env["woow_paas_platform.delivered_prompt"].search([]).unlink()
        edited = self._asked(f"{LETTER} Now.", edit_of=retry.message_id.id)
        self.assertEqual(edited.prompt_server, "weather")
        self.assertFalse(self._asked(LETTER).prompt_server, "nobody knows it any more")

    def test_prompts_are_kept_for_a_week_and_the_latest_of_a_person(self):
        for number in (*range(MAX_PROMPTS + 1), MAX_PROMPTS):
            self._deliver(f"Prompt {number}")
        kept = self.env["woow_paas_platform.delivered_prompt"].search(
            [("user_id", "=", self.member.id)]
        )
        self.assertEqual(len(kept), MAX_PROMPTS)
        last = f"Prompt {MAX_PROMPTS}"
        self.assertEqual(self._asked(last).prompt_server, "weather")
        self.assertFalse(self._asked("Prompt 0").prompt_server)
        for one in kept:
            one.date -= timedelta(days=PROMPT_DAYS)
        self.env.flush_all()
        self.assertFalse(self._asked(last).prompt_server)
        kept._gc_old()
        self.assertFalse(kept.exists())

    def test_what_a_server_refuses_is_a_sentence(self):
        values = {"server_id": self.server.id, "name": "greet"}
        self._assert_error(self._request("POST", "prompts/get", **values), 502, "server_refused")

    def test_a_fault_is_told_in_the_persons_language(self):
        self.env["res.lang"]._activate_lang("zh_TW")
        self.member.lang = "zh_TW"
        self.fake.faults["prompts/get"] = lambda call, writer: respond(writer, 401)
        self.env.flush_all()
        self._sign_in(self.member)
        answer = self._request("POST", "prompts/get", server_id=self.server.id, name="greet")
        self.assertEqual((answer[0], answer[1]["error"]["code"]), (502, "auth_required"))
        self.assertIn("MCP 伺服器", answer[1]["error"]["message"])

    def test_resources_are_listed_and_read(self):
        status, answer = self._request("GET", "resources")
        self.assertEqual([r["uri"] for r in answer["resources"]], list(RESOURCES))
        self.assertEqual(answer["templates"][0]["variables"], ["name"])
        values = {"server_id": self.server.id, "uri": "note://one"}
        status, answer = self._request("POST", "resources/read", **values)
        self.assertEqual(status, 200, answer)
        self.assertEqual(answer["contents"], [{**NOTE, "truncated": False, "attachments": []}])

    def test_a_file_of_a_resource_belongs_to_the_conversation(self):
        values = {"server_id": self.server.id, "uri": "pic://red.png"}
        _status, answer = self._request("POST", "resources/read", **values)
        (file,) = answer["contents"][0]["attachments"]
        self.assertEqual((file["name"], file["mimetype"]), ("red.png", "image/png"))
        self.assertEqual(self.url_open(file["url"]).status_code, 200)
        self._sign_in(self.stranger)
        self.assertEqual(self.url_open(file["url"]).status_code, 404)

    def test_a_template_that_would_become_huge_is_refused(self):
        for uri in ("{a}" * 400, "{" + "a," * 900 + "a}", "{a}" * 20_000):
            answer = self._attach(uri, arguments={"a": "x" * 40_000})
            self._assert_error(answer, 400, "invalid_field")
        for what in ("resources/attach", "resources/read"):
            answer = self._request("POST", what, server_id=self.server.id, uri="x" * 20_000)
            self._assert_error(answer, 400, "invalid_field")

    def _attach(self, uri, **values):
        return self._request(
            "POST", "resources/attach", server_id=self.server.id, uri=uri, **values
        )

    def test_a_resource_becomes_a_file_of_the_question(self):
        status, answer = self._attach("note://one", name="First")
        self.assertEqual((status, answer["left_out"]), (200, 0), answer)
        (file,) = answer["attachments"]
        source = {"server": "weather", "uri": "note://one"}
        self.assertEqual(
            (file["name"], file["mimetype"], file["source"]), ("First", "text/plain", source)
        )
        picture = self._attach("pic://red.png")[1]["attachments"][0]
        self.assertEqual((picture["name"], picture["mimetype"]), ("red.png", "image/png"))
        ids = [file["id"], picture["id"]]
        sent = self._request("POST", "messages", content="Read it", attachment_ids=ids)
        self.assertEqual(sent[0], 202, sent)
        page = self._call("GET", f"/api/ai/conversations/{self.chat.id}")[1]
        self.assertEqual(page["messages"][0]["attachments"], [file, picture])
        turn = self.env["woow_paas_platform.ai_turn"].browse(sent[1]["turn_id"])
        said = turn._turn_request().history[-1]["content"]
        self.assertIn('resource "note://one" of the MCP server "weather"', said)
        self.assertIn("第一", said)
        self._sign_in(self.stranger)
        self.assertEqual(self.url_open(file["url"]).status_code, 404)

    def test_a_long_resource_is_kept_whole(self):
        (file,) = self._attach("note://two")[1]["attachments"]
        self.assertEqual(len(self.url_open(file["url"]).content), 30_000)

    def test_a_template_is_filled_in(self):
        answer = self._attach("note://{name}", name="notes", arguments={"name": "one"})[1]
        self.assertEqual(answer["attachments"][0]["source"]["uri"], "note://one")
        refused = self._attach("note://{name}", arguments={"name": "a/b"})
        self._assert_error(refused, 502, "server_refused")
        self.assertIn("note://a%2Fb", refused[1]["error"]["message"])
        wrong = self._attach("note://{name}", arguments={"name": 5})
        self._assert_error(wrong, 400, "invalid_field")

    def test_what_cannot_be_attached_is_a_sentence_and_keeps_nothing(self):
        files = self.env["ir.attachment"].search_count([("res_id", "=", self.chat.id)])
        parts = {
            "empty_file": {"uri": "note://one", "text": ""},
            "unsupported_file": {"uri": "x://run.exe", "blob": "TVoAAA=="},
        }
        for (code, part), status in zip(parts.items(), (400, 415), strict=True):
            self.fake.faults["resources/read"] = says({"contents": [part]})
            self._assert_error(self._attach("note://one"), status, code)
        found = self.env["ir.attachment"].search_count([("res_id", "=", self.chat.id)])
        self.assertEqual(found, files)

    def test_parts_that_are_no_text_are_left_out(self):
        parts = [{"uri": "x://run.exe", "blob": "TVoAAA=="}, {"uri": "x://a.csv", "text": "a;b"}]
        self.fake.faults["resources/read"] = says({"contents": parts})
        answer = self._attach("x://all")[1]
        self.assertEqual(
            ([file["name"] for file in answer["attachments"]], answer["left_out"]), (["a.csv"], 1)
        )

    def test_arguments_are_completed(self):
        values = {"server_id": self.server.id, "prompt": "greet", "argument": "tone", "value": "wa"}
        status, answer = self._request("POST", "complete", **values)
        self.assertEqual((status, answer["values"]), (200, ["warm", "wary"]), answer)

    def test_bad_input_is_a_sentence(self):
        good = {"server_id": self.server.id, "name": "greet"}
        for values, code in (
            ({"server_id": "one", "name": "greet"}, "invalid_field"),
            ({**good, "arguments": {"who": 5}}, "invalid_field"),
            ({**good, "more": 1}, "unknown_field"),
        ):
            with self.subTest(values=values):
                self._assert_error(self._request("POST", "prompts/get", **values), 400, code)
        values = {"server_id": self.server.id, "argument": "a", "value": ""}
        self._assert_error(self._request("POST", "complete", **values), 400, "invalid_field")

    def test_only_servers_of_the_conversation_are_asked(self):
        values = {"server_id": self.user_server.id, "name": "greet"}
        self._assert_error(self._request("POST", "prompts/get", **values), 404, "not_found")
        self.server.active = False
        self.env.flush_all()
        self.assertEqual(self._request("GET", "prompts")[1]["prompts"], [])

    def test_nobody_else_sees_or_asks_anything(self):
        asked = len(self.fake.methods)
        for user in (self.stranger, self.guest, self.owner, self.internal):
            self._sign_in(user)
            with self.subTest(user=user.login):
                self._assert_error(self._request("GET", "prompts"), 404, "not_found")
                values = {"server_id": self.server.id, "uri": "note://one"}
                for what in ("resources/read", "resources/attach"):
                    self._assert_error(self._request("POST", what, **values), 404, "not_found")
        self.logout()
        self._assert_error(self._request("GET", "prompts"), 401, "unauthenticated")
        self.assertEqual(len(self.fake.methods), asked)

    def test_a_new_chat_has_prompts_and_no_conversation(self):
        before = self.env["discuss.channel"].search_count([])
        path = f"/api/ai/assistants/{self.assistant.id}"
        answer = self._call("GET", f"{path}/prompts?cloud_service_id={self.service.id}")[1]
        self.assertEqual({p["server"]["name"] for p in answer["prompts"]}, {"weather"})
        self.assertEqual([p["server"]["name"] for p in answer["problems"]], ["flows"])
        values = {"server_id": self.server.id, "name": "greet", "arguments": {"who": "Uma"}}
        status, answer = self._call("POST", f"{path}/prompts/get", values)
        self.assertEqual((status, answer["messages"][0]["text"]), (200, "Greet Uma."))
        values = {"server_id": self.server.id, "prompt": "greet", "argument": "tone", "value": "wa"}
        answer = self._call("POST", f"{path}/complete", values)[1]
        self.assertEqual(answer["values"], ["warm", "wary"])
        self.assertEqual(self.env["discuss.channel"].search_count([]), before)

    def test_a_new_chat_shows_nobody_elses_servers(self):
        path = f"/api/ai/assistants/{self.assistant.id}"
        of_service = f"?cloud_service_id={self.service.id}"
        values = {"server_id": self.user_server.id, "name": "greet"}
        for user in (self.stranger, self.internal):
            self._sign_in(user)
            with self.subTest(user=user.login):
                for what in ("prompts", "mcp-config"):
                    answer = self._call("GET", f"{path}/{what}{of_service}")
                    self._assert_error(answer, 404, "not_found")
                config = self._call("GET", f"{path}/mcp-config")[1]
                self.assertEqual(config["enabled_servers"], ["weather"])
                answer = self._call("POST", f"{path}/prompts/get", values)
                self._assert_error(answer, 404, "not_found")
        self.assistant.group_ids = self.env.ref("base.group_system")
        self.env.flush_all()
        self._assert_error(self._call("GET", f"{path}/prompts"), 404, "not_found")
        self._assert_error(self._call("GET", f"{path}/mcp-config"), 404, "not_found")
        self.logout()
        self._assert_error(self._call("GET", f"{path}/mcp-config"), 401, "unauthenticated")

    def test_who_may_no_longer_use_the_assistant_is_offered_nothing(self):
        self.assistant.group_ids = self.env.ref("base.group_system")
        self.env.flush_all()
        self.assertEqual(self._request("GET", "prompts")[1], {"prompts": [], "problems": []})
