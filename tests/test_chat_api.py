import time
from dataclasses import replace
from datetime import timedelta
from threading import Event
from unittest.mock import patch

from odoo import fields
from odoo.exceptions import AccessError
from odoo.tests import new_test_user, tagged
from odoo.tools import SQL

from ..models.base import ir_http
from ..models.conversation import conversation_folder, discuss_channel_view
from ..models.turn.ai_turn import Question
from ..runtime import process
from ..runtime.turns import listeners
from ..tools import settings
from .common import AiHttpCase


@tagged("post_install", "-at_install")
class TestChatApi(AiHttpCase):
    """The HTTP contract, from the outside; the turn itself is the e2e tests' matter."""

    def setUp(self):
        super().setUp()
        self.told_of_proxy = Event()  # of this test
        self.told_of_proxy.set()
        self.startPatcher(patch.object(ir_http, "_told_of_proxy", self.told_of_proxy))

    def _new(self, **values):
        return self._call(
            "POST", "/api/ai/conversations", {"assistant_id": self.assistant.id, **values}
        )

    def _assert_error(self, answer, status, code):
        self.assertEqual((answer[0], answer[1]["error"]["code"]), (status, code))
        self.assertTrue(answer[1]["error"]["message"].endswith("."))
        self.assertNotIn("Traceback", str(answer[1]))

    def test_ask_and_read(self):
        self._sign_in(self.member)
        status, conversation = self._new(cloud_service_id=self.service.id)
        self.assertEqual(status, 201)
        self.assertEqual(conversation["cloud_service"]["name"], "n8n")
        path = f"/api/ai/conversations/{conversation['id']}"
        status, turn = self._call("POST", f"{path}/messages", {"content": "天氣如何？\n第二行"})
        self.assertEqual(status, 202)
        self.assertEqual(turn["stream_url"], f"/api/ai/turns/{turn['turn_id']}/stream")
        status, page = self._call("GET", path)
        self.assertEqual(page["name"], "天氣如何？ 第二行")
        self.assertEqual([m["role"] for m in page["messages"]], ["user"])
        self.assertIn("第二行", page["messages"][0]["text"])
        self.assertEqual(page["turn"]["state"], "queued")
        status, listed = self._call("GET", "/api/ai/conversations")
        self.assertEqual(listed["conversations"][0]["turn"]["id"], turn["turn_id"])

    def test_internal_users_who_may_write_on_the_record_may_post_answers_there(self):
        self.internal.group_ids += self.env.ref("base.group_partner_manager")
        about = {"res_model": "res.partner", "res_id": self.workspace.owner_id.partner_id.id}
        reader = new_test_user(self.env, "reader", "base.group_user", password="secret-of-a-test")
        no_thread = {"res_model": "res.country", "res_id": self.env.ref("base.tw").id}
        for person, subject, can_post in [
            (self.internal, about, True),
            (self.internal, no_thread, False),
            (self.internal, {}, False),
            (reader, about, False),
            (self.owner, about, False),
        ]:
            with self.subTest(person=person.login, subject=subject):
                self._sign_in(person)
                status, conversation = self._new(**subject)
                self.assertEqual((status, conversation["can_post"]), (201, can_post))
                path = f"/api/ai/conversations/{conversation['id']}"
                self.assertEqual(self._call("GET", path)[1]["can_post"], can_post)

    def test_the_same_token_gives_the_same_turn(self):
        self._sign_in(self.member)
        path = f"/api/ai/conversations/{self._new()[1]['id']}/messages"
        body = {"content": "Hi", "client_token": "t-1"}
        first, second = self._call("POST", path, body), self._call("POST", path, body)
        self.assertEqual(first, second)
        self._assert_error(self._call("POST", path, {"content": "Hi"}), 409, "turn_running")

    def test_what_is_sent_during_an_answer_waits_for_it_if_that_is_said(self):
        self._sign_in(self.member)
        path = f"/api/ai/conversations/{self._new()[1]['id']}"
        first = self._call("POST", f"{path}/messages", {"content": "First"})[1]
        body = {"content": "Second", "client_token": "t-2"}
        self._assert_error(self._call("POST", f"{path}/messages", body), 409, "turn_running")
        status, second = self._call("POST", f"{path}/messages", {**body, "when": "queue"})
        self.assertEqual(status, 202)
        again = self._call("POST", f"{path}/messages", {**body, "when": "queue"})[1]
        self.assertEqual(again, second)
        page = self._call("GET", path)[1]
        self.assertEqual(page["turn"]["id"], first["turn_id"])
        queued = {name: second[name] for name in ("message_id", "stream_url")}
        self.assertEqual(page["queued"], [{"id": second["turn_id"], **queued, "steers": False}])
        self._assert_error(
            self._call(
                "POST",
                f"{path}/messages",
                {"content": "Other", "edit_of": first["message_id"], "when": "queue"},
            ),
            409,
            "turn_running",
        )
        self._assert_error(
            self._call("POST", f"{path}/messages", {"content": "x", "when": "never"}),
            400,
            "invalid_field",
        )
        turn = self.env["woow_paas_platform.ai_turn"].browse(first["turn_id"])
        turn._end("done", "<p>One.</p>")
        page = self._call("GET", path)[1]
        self.assertEqual([m["text"] for m in page["messages"]], ["First", "One.", "Second"])
        self.assertEqual((page["turn"]["id"], page["queued"]), (second["turn_id"], []))

    def test_what_is_queued_waits_while_a_decision_is_open(self):
        self._sign_in(self.member)
        path = f"/api/ai/conversations/{self._new()[1]['id']}/messages"
        first = self._call("POST", path, {"content": "First"})[1]
        turn = self.env["woow_paas_platform.ai_turn"].browse(first["turn_id"])
        turn.state = "waiting"
        self.env.flush_all()
        self._assert_error(self._call("POST", path, {"content": "x"}), 409, "turn_waiting")
        second = self._call("POST", path, {"content": "x", "when": "queue"})[1]
        store = process.store(self.env.cr.dbname)
        self.assertEqual(store.claim("one", 5, 15.0), [])
        turn._end("stopped")
        self.env.flush_all()
        claims = store.claim("one", 5, 15.0)
        self.assertEqual([claim.turn_id for claim in claims], [second["turn_id"]])

    def test_stop_and_history(self):
        self._sign_in(self.member)
        path = f"/api/ai/conversations/{self._new()[1]['id']}"
        turn = self._call("POST", f"{path}/messages", {"content": "Hi"})[1]
        self.assertEqual(
            self._call("POST", f"/api/ai/turns/{turn['turn_id']}/stop"),
            (200, {"state": "stopped"}),
        )
        page = self._call("GET", path)[1]
        self.assertIsNone(page["turn"])
        self.assertEqual(page["messages"][1]["turn"]["state"], "stopped")

    def test_the_first_message_names_a_conversation_in_any_language(self):
        self.env["res.lang"]._activate_lang("zh_TW")
        assistant = self.assistant.with_user(self.member)
        Channel = self.env["discuss.channel"].with_user(self.member).with_context(lang="zh_TW")
        channel = Channel._create_ai_conversation(assistant)
        self.assertNotEqual(channel.name, "New conversation")
        channel.with_context(lang="en_US")._ask(Question("Tea?"))
        self.assertEqual(channel.name, "Tea?")

    def test_a_first_message_gives_a_name_of_visible_characters(self):
        for content, name in (
            ("\u200b\u202eTea?\nNow", "Tea? Now"),
            ("\u200b\u202e", "New conversation"),
        ):
            channel = self._conversation(self.member)
            channel._ask(Question(content))
            self.assertEqual(channel.name, name)

    def test_rename_and_delete(self):
        self._sign_in(self.member)
        path = f"/api/ai/conversations/{self._new()[1]['id']}"
        self.assertEqual(self._call("PATCH", path, {"name": " Weather "})[1]["name"], "Weather")
        self._call("POST", f"{path}/messages", {"content": "Hi"})
        self._assert_error(self._call("DELETE", path), 422, "refused")
        turn = self._call("GET", path)[1]["turn"]
        self._call("POST", f"/api/ai/turns/{turn['id']}/stop")
        self.assertEqual(self._call("DELETE", path), (204, None))
        self._assert_error(self._call("GET", path), 404, "not_found")

    def _listed(self, query=""):
        status, page = self._call("GET", f"/api/ai/conversations?{query}")
        self.assertEqual(status, 200)
        return [conversation["id"] for conversation in page["conversations"]]

    def _act(self, action, *ids):
        body = {"action": action, "conversation_ids": list(ids)}
        status, answer = self._call("POST", "/api/ai/conversations/batch", body)
        self.assertEqual(status, 200)
        return [result["ok"] for result in answer["results"]]

    def test_pinned_conversations_come_first_and_archived_ones_have_their_own_list(self):
        self._sign_in(self.member)
        one, two, three, four = (self._new()[1]["id"] for _ in range(4))
        self.assertEqual(self._act("pin", one, two), [True, True])
        self.assertEqual(self._act("archive", three), [True])
        self.assertEqual(self._listed(), [two, one, four])
        pages, before = [], ""
        while page := self._listed(f"limit=1{before}"):
            pages += page
            before = f"&before={page[-1]}"
        self.assertEqual(pages, [two, one, four])
        self.assertEqual(self._listed("archived=1"), [three])
        self.assertEqual(self._listed("q=conversation"), [two, one, four])
        self.assertEqual(self._listed("q=conversation&archived=1"), [three])
        path = f"/api/ai/conversations/{three}"
        self.assertTrue(self._call("GET", path)[1]["archived"])
        self.assertEqual(self._act("archive", two), [True])
        self.assertEqual(self._listed("archived=1"), [three, two])  # as they were used
        self.assertEqual(self._act("restore", two), [True])
        self.assertEqual(self._listed(), [one, four, two])  # no longer pinned

    def test_a_question_brings_its_conversation_back_from_the_archive(self):
        self._sign_in(self.member)
        talk = self._new()[1]["id"]
        self._act("archive", talk)
        self._call("POST", f"/api/ai/conversations/{talk}/messages", {"content": "Hi"})
        self.assertEqual(self._listed(), [talk])

    def test_discuss_leaves_out_the_archive(self):
        self._sign_in(self.member)
        talk, other = (self._new()[1]["id"] for _ in range(2))
        self._act("archive", talk)
        shown = self.env["discuss.channel"].with_user(self.member)._get_channels_as_member().ids
        self.assertNotIn(talk, shown)
        self.assertIn(other, shown)

    def _folder(self, name):
        return self._call("POST", "/api/ai/folders", {"name": name})

    def test_folders_hold_conversations_and_leave_them_behind(self):
        self._sign_in(self.member)
        status, trips = self._folder(" Trips  abroad ")
        self.assertEqual((status, trips["name"]), (201, "Trips abroad"))
        one, two = (self._new()[1]["id"] for _ in range(2))
        made = self._new(folder_id=trips["id"])[1]
        self.assertEqual(made["folder_id"], trips["id"])
        body = {"action": "move", "conversation_ids": [one], "folder_id": trips["id"]}
        self.assertEqual(self._call("POST", "/api/ai/conversations/batch", body)[0], 200)
        self.assertEqual(self._listed(), [made["id"], two, one])
        self.assertEqual(self._listed(f"folder_id={trips['id']}"), [made["id"], one])
        self.assertEqual(self._listed("folder_id=0"), [two])
        self.assertEqual(self._act("archive", one), [True])
        self.assertEqual(self._listed(f"folder_id={trips['id']}"), [made["id"]])
        self.assertEqual(self._act("restore", one), [True])
        self.assertEqual(self._act("move", made["id"]), [True])
        self.assertEqual(self._listed("folder_id=0"), [made["id"], two])
        path = f"/api/ai/folders/{trips['id']}"
        self.assertEqual(self._call("PATCH", path, {"name": "Sea"})[1]["name"], "Sea")
        self.assertEqual(self._call("DELETE", path), (204, None))
        self.assertEqual(self._listed("folder_id=0"), [made["id"], two, one])
        self._assert_error(self._call("DELETE", path), 404, "not_found")

    def test_conversations_about_a_record_are_their_persons_alone(self):
        about = {"res_model": "res.partner", "res_id": self.workspace.owner_id.partner_id.id}
        query = "&".join(f"{name}={value}" for name, value in about.items())
        own = []
        for person in (self.owner, self.internal):
            self._sign_in(person)
            self._new()
            own.append(self._new(**about)[1]["id"])
            self.assertEqual(self._listed(query), own[-1:])
            self.assertEqual(self._listed(query.replace("partner", "users")), [])
            counted = {"model": about["res_model"], "id": about["res_id"], "count": 1}
            answer = self._call("GET", "/api/ai/conversations/records")[1]
            self.assertEqual(answer, {"records": [counted]})
        self._act("archive", own[-1])
        answer = self._call("GET", "/api/ai/conversations/records")[1]
        self.assertEqual(answer, {"records": []})
        for half in ("res_model=res.partner", "res_model=res.partner&res_id=x", "res_id=1"):
            answer = self._call("GET", f"/api/ai/conversations?{half}")
            self._assert_error(answer, 400, "invalid_parameter")

    def test_the_list_is_narrowed_by_assistant_time_and_files(self):
        self._sign_in(self.member)
        other = self.assistant.copy({"name": "Other"})
        old, fresh = (self._new()[1]["id"] for _ in range(2))
        theirs = self._new(assistant_id=other.id)[1]["id"]
        channel = self.env["discuss.channel"].browse(old)
        channel.last_interest_dt = fields.Datetime.to_datetime("2020-01-02 03:04:05")
        file = {"name": "a.txt", "data": "YQ=="}
        self._call("POST", f"/api/ai/conversations/{fresh}/attachments", file)
        for query, expected in (
            (f"assistant_id={self.assistant.id}", [fresh, old]),
            (f"assistant_id={other.id}", [theirs]),
            ("since=2020-01-03", [theirs, fresh]),
            ("since=2020-01-02&limit=100", [theirs, fresh, old]),
            ("has_files=1", [fresh]),
            (f"has_files=1&q=conversation&assistant_id={other.id}", []),
            ("q=conversation&since=2020-01-03", [theirs, fresh]),
        ):
            with self.subTest(query=query):
                self.assertEqual(self._listed(query), expected)
        for query, status in (("since=soon", 400), ("has_files=2", 400), ("assistant_id=0x", 400)):
            with self.subTest(query=query):
                answer = self._call("GET", f"/api/ai/conversations?{query}")
                self.assertEqual(answer[0], status)
        answer = self._call("GET", f"/api/ai/conversations?assistant_id={2**31 - 1}")
        self.assertEqual(answer[0], 404)

    def test_what_no_folder_may_be_is_refused_with_a_sentence(self):
        self._sign_in(self.member)
        folder = self._folder("Trips")[1]
        for name in ("", "  ", "\u202e", "trips", "tr\u200bips"):
            with self.subTest(name=name):
                self._assert_error(self._folder(name), 422, "refused")
        same = self._call("PATCH", f"/api/ai/folders/{folder['id']}", {"name": "TRIPS"})
        self.assertEqual(same[1]["name"], "TRIPS")
        self.assertEqual(len(self._folder("x" * 100)[1]["name"]), 60)
        with patch.object(conversation_folder, "MAX_FOLDERS", 2):
            self._assert_error(self._folder("Third"), 422, "refused")
        names = [one["name"] for one in self._call("GET", "/api/ai/folders")[1]["folders"]]
        self.assertEqual(names, ["TRIPS", "x" * 60])
        self._sign_in(self.owner)
        self.assertEqual(self._call("GET", "/api/ai/folders")[1], {"folders": []})
        self.assertEqual(self._folder("Trips")[0], 201)
        own = self._new()[1]["id"]
        body = {"action": "move", "conversation_ids": [own], "folder_id": folder["id"]}
        answer = self._call("POST", "/api/ai/conversations/batch", body)
        self._assert_error(answer, 404, "not_found")

    def test_nobody_reaches_the_fields_of_a_member_by_rpc(self):
        talk = self._conversation(self.member)
        member = talk.sudo().channel_member_ids.with_user(self.member).sudo(False)
        for name in ("woow_is_pinned", "woow_is_archived", "woow_folder_id"):
            with self.subTest(name=name), self.assertRaises(AccessError):
                member.read([name])
            with self.subTest(name=name), self.assertRaises(AccessError):
                member.write({name: False})

    def test_one_of_several_that_fails_costs_the_others_nothing(self):
        self._sign_in(self.owner)
        foreign = self._new()[1]["id"]
        self._sign_in(self.member)
        busy, idle = (self._new()[1]["id"] for _ in range(2))
        self._call("POST", f"/api/ai/conversations/{busy}/messages", {"content": "Hi"})
        self.assertEqual(self._act("delete", busy, idle, foreign, 0), [False, True, False, False])
        self.assertEqual(self._listed(), [busy])
        for action in ("pin", "unpin", "archive", "restore", "delete"):
            self.assertEqual(self._act(action, foreign), [False])
        self.assertTrue(self.env["discuss.channel"].browse(foreign).exists())
        for body in (
            {"action": "delete", "conversation_ids": []},
            {"action": "delete", "conversation_ids": list(range(101))},
            {"action": "burn", "conversation_ids": [busy]},
            {"action": "pin", "conversation_ids": ["x"]},
        ):
            with self.subTest(body=body):
                answer = self._call("POST", "/api/ai/conversations/batch", body)
                self._assert_error(answer, 400, "invalid_field")

    def test_the_conversations_about_a_service(self):
        self._sign_in(self.member)
        about, general = self._new(cloud_service_id=self.service.id)[1], self._new()[1]
        for conversation, text in ((about, "Restart it"), (general, "Restart the other")):
            path = f"/api/ai/conversations/{conversation['id']}/messages"
            self._call("POST", path, {"content": text})
        only = f"cloud_service_id={self.service.id}"
        for query, expected in (
            ("", [general, about]),
            (only, [about]),
            (f"{only}&q=restart", [about]),
            (f"{only}&q=other", []),
            (f"{only}&before={about['id']}", []),
        ):
            with self.subTest(query=query):
                status, page = self._call("GET", f"/api/ai/conversations?{query}")
                self.assertEqual(status, 200)
                found = [conversation["id"] for conversation in page["conversations"]]
                self.assertEqual(found, [conversation["id"] for conversation in expected])

    def test_a_search_tells_what_surrounds_the_words(self):
        self._sign_in(self.member)
        path = f"/api/ai/conversations/{self._new()[1]['id']}/messages"
        said = f"{'long ago ' * 30}<b>Restart</b> it {'and again ' * 30}"
        self._call("POST", path, {"content": said})
        (found,) = self._call("GET", "/api/ai/conversations?q=restart")[1]["conversations"]
        excerpt = found["excerpt"]
        self.assertIn("<b>Restart</b> it", excerpt)  # text, which the page shows as such
        self.assertTrue(excerpt.startswith("… ") and excerpt.endswith(" …"))
        self.assertLess(len(excerpt), 170)
        (named,) = self._call("GET", "/api/ai/conversations")[1]["conversations"]
        self.assertEqual(named["excerpt"], "")

    def test_a_search_ends_in_time(self):
        """And tells what it found until then."""
        self._sign_in(self.member)
        old, new = (self._new()[1]["id"] for _number in range(2))
        self.env["discuss.channel"].browse(new).last_interest_dt = "2126-01-01 08:00:00"
        self.env.cr.execute(
            """
            INSERT INTO mail_message (model, res_id, message_type, body, author_id, date)
            SELECT 'discuss.channel', unnest(%s), 'comment', '<p>Tea and <b>coffee</b>.</p>', %s, now()
            """,
            [[old, new], self.member.partner_id.id],
        )
        self.env.flush_all()
        says = discuss_channel_view._says

        def slowly(words):  # where there is much to look through, which here the older one is
            found = "CASE WHEN %s THEN res_id = %s OR pg_sleep(60) IS NULL ELSE FALSE END"
            return SQL(found, says(words), new)

        self.patch(discuss_channel_view, "_says", slowly)
        self.patch(discuss_channel_view, "PORTION", 1)
        self.patch(discuss_channel_view, "SEARCH_TIME", 0.5)
        begun = time.monotonic()
        page = self._call("GET", "/api/ai/conversations?q=coffee")[1]
        self.assertEqual([found["id"] for found in page["conversations"]], [new])
        self.assertTrue(page["incomplete"])
        self.assertLess(time.monotonic() - begun, 5)
        page = self._call("GET", "/api/ai/conversations?q=no such words")[1]
        self.assertFalse(page["incomplete"])

    def test_one_person_searches_not_too_often_at_once(self):
        self._sign_in(self.member)
        self.patch(listeners.slots(self.env.cr.dbname), "_take", lambda *_slot: None)
        self._assert_error(self._call("GET", "/api/ai/conversations?q=tea"), 429, "too_many_waits")
        self.assertEqual(self._call("GET", "/api/ai/conversations")[0], 200)

    def test_what_is_continued_comes_first(self):
        self._sign_in(self.member)
        made = [self._new()[1]["id"] for _number in range(4)]
        channels = self.env["discuss.channel"].browse(made)
        for day, channel in enumerate(channels, 1):
            channel.last_interest_dt = f"2026-01-0{day} 08:00:00"
        (channels[0] | channels[2]).last_interest_dt = "2026-01-09 08:00:00"
        self.env.flush_all()
        expected = [made[2], made[0], made[3], made[1]]
        for words in ("", "&q=new"):
            found, before = [], ""
            for _page in range(4):
                path = f"/api/ai/conversations?limit=1{before}{words}"
                (one,) = self._call("GET", path)[1]["conversations"]
                found.append(one["id"])
                before = f"&before={one['id']}"
            self.assertEqual(found, expected)
            self.assertEqual(
                self._call("GET", f"/api/ai/conversations?{before}{words}")[1]["conversations"], []
            )

    def test_pages_of_a_long_conversation(self):
        self._sign_in(self.member)
        conversation = self._new()[1]["id"]
        channel = self.env["discuss.channel"].browse(conversation).with_user(self.member)
        for number in range(5):
            channel._ask(Question(f"Question {number}")).sudo()._request_stop()
        path = f"/api/ai/conversations/{conversation}"
        page = self._call("GET", f"{path}?limit=2")[1]
        asked = [m for m in page["messages"] if m["role"] == "user"]
        self.assertEqual([m["text"] for m in asked], ["Question 3", "Question 4"])
        self.assertTrue(page["has_more"])
        older = self._call("GET", f"{path}?limit=10&before={asked[0]['id']}")[1]
        self.assertEqual(len([m for m in older["messages"] if m["role"] == "user"]), 3)
        self.assertFalse(older["has_more"])

    def test_a_page_ends_where_its_results_get_too_many(self):
        self._sign_in(self.member)
        conversation = self._new()[1]["id"]
        channel = self.env["discuss.channel"].browse(conversation).with_user(self.member)
        for number in range(4):
            turn = channel._ask(Question(f"Question {number}")).sudo()
            self.env["woow_paas_platform.tool_call"].sudo().create(
                {
                    "turn_id": turn.id,
                    "user_id": self.member.id,
                    "call_id": f"call_{number}",
                    "tool_name": "large",
                    "outcome": "ok",
                    "result": "x" * 1000,
                    "kept_bytes": 1000,
                }
            )
            self.env["woow_paas_platform.tool_call"].sudo().create(
                {
                    "turn_id": turn.id,
                    "user_id": self.member.id,
                    "call_id": f"unfinished_{number}",
                    "tool_name": "large",
                }
            )
            turn._request_stop()
        path = f"/api/ai/conversations/{conversation}"
        self.patch(discuss_channel_view, "PAGE_BYTES", 2500)
        page = self._call("GET", path)[1]
        asked = [m for m in page["messages"] if m["role"] == "user"]
        self.assertEqual([m["text"] for m in asked], ["Question 2", "Question 3"])
        self.assertTrue(page["has_more"])
        self.patch(discuss_channel_view, "PAGE_BYTES", 0)
        older = self._call("GET", f"{path}?before={asked[0]['id']}")[1]
        asked = [m["text"] for m in older["messages"] if m["role"] == "user"]
        self.assertEqual((asked, older["has_more"]), (["Question 1"], True), "one at least")

    def test_what_one_may_not_see_does_not_exist(self):
        turn = self._ask(self.member, service=self.service)
        conversation = f"/api/ai/conversations/{turn.channel_id.id}"
        self._sign_in(self.stranger)
        for method, path, body in (
            ("GET", conversation, None),
            ("PATCH", conversation, {"name": "Mine"}),
            ("DELETE", conversation, None),
            ("POST", f"{conversation}/messages", {"content": "Hi"}),
            ("GET", f"/api/ai/turns/{turn.id}/stream", None),
            ("POST", f"/api/ai/turns/{turn.id}/stop", None),
            ("GET", "/api/ai/conversations/99999999", None),
            ("GET", f"/api/ai/conversations?cloud_service_id={self.service.id}", None),
        ):
            with self.subTest(method=method, path=path):
                self._assert_error(self._call(method, path, body), 404, "not_found")
        self.assertEqual(turn.sudo().state, "queued")
        self._assert_error(self._new(cloud_service_id=self.service.id), 404, "not_found")
        self.assertEqual(self._call("GET", "/api/ai/cloud-services")[1], {"cloud_services": []})
        self.assertEqual(self._call("GET", "/api/ai/conversations")[1]["conversations"], [])

    def test_the_public_is_turned_away(self):
        for method, path in (
            ("GET", "/api/ai/assistants"),
            ("GET", "/api/ai/conversations"),
            ("POST", "/api/ai/conversations"),
            ("GET", "/api/ai/turns/1/stream"),
            ("POST", "/api/ai/turns/1/stop"),
        ):
            with self.subTest(path=path):
                self._assert_error(self._call(method, path), 401, "unauthenticated")

    def test_bad_input_is_told_and_changes_nothing(self):
        self._sign_in(self.member)
        path = f"/api/ai/conversations/{self._new()[1]['id']}/messages"
        for body, status, code in (
            ({}, 400, "invalid_field"),
            ({"content": 5}, 400, "invalid_field"),
            ({"content": "  \n"}, 400, "empty_message"),
            ({"content": "Hi", "kontent": "x"}, 400, "unknown_field"),
            ([1], 400, "bad_json"),
            ({"content": "x" * 40_000}, 422, "refused"),
        ):
            with self.subTest(body=str(body)[:40]):
                self._assert_error(self._call("POST", path, body), status, code)
        self._assert_error(
            self._call("GET", "/api/ai/conversations?limit=x"), 400, "invalid_parameter"
        )
        for path_of, method in (
            ("/api/ai/folders/0", "PATCH"),
            ("/api/ai/folders/0", "DELETE"),
            ("/api/ai/cloud-services/0/assistants", "GET"),
        ):
            self._assert_error(self._call(method, path_of, {}), 404, "not_found")
        for query in ("conversations?q=a%00b", "conversations?res_model=a%00b&res_id=1"):
            self.assertEqual(self._call("GET", f"/api/ai/{query}")[1]["conversations"], [])
        prompts = f"/api/ai/assistants/{self.assistant.id}/default-prompts?model=a%00b"
        self.assertEqual(self._call("GET", prompts), (200, {"prompts": []}))
        self._assert_error(self._new(assistant_id=99999999), 404, "not_found")
        self.assertIsNone(self._call("GET", path.removesuffix("/messages"))[1]["turn"])

    def test_other_sites_are_refused(self):
        self._sign_in(self.member)
        for site, status in (("cross-site", 403), ("same-site", 403), ("same-origin", 201)):
            with self.subTest(site=site):
                answer = self._call(
                    "POST",
                    "/api/ai/conversations",
                    {"assistant_id": self.assistant.id},
                    headers={"Sec-Fetch-Site": site},
                )
                self.assertEqual(answer[0], status)

    def test_over_plain_http_the_origin_tells_another_site(self):
        """Where browsers send no `Sec-Fetch-Site`; also for requests without a body, as forms can send them."""
        self._sign_in(self.member)
        turn = self._ask(self.member)
        here = self.base_url()
        self.env["ir.config_parameter"].sudo().set_param("web.base.url", "https://ai.example.com")
        self.env.flush_all()
        for origin, refused in (
            ("http://evil.example.com", True),
            ("http://127.0.0.1:1", True),
            ("null", True),
            ("http://[", True),
            (here, False),
            ("https://ai.example.com", False),
            (None, False),
        ):
            for path, body in (
                ("/api/ai/conversations", {"assistant_id": self.assistant.id}),
                (f"/api/ai/turns/{turn.id}/stop", None),
            ):
                with self.subTest(origin=origin, path=path):
                    answer = self._call("POST", path, body, headers={"Origin": origin})
                    self.assertEqual(answer[0] == 403, refused, answer)
                    if refused:
                        self.assertEqual(answer[1]["error"]["code"], "cross_site")

    def test_another_port_or_scheme_of_the_host_is_another_site(self):
        self._sign_in(self.member)
        turn = self._ask(self.member)
        base = "http://ai.example.com:8069"
        self.env["ir.config_parameter"].sudo().set_param("web.base.url", base)
        self.env.flush_all()
        for origin, refused in (
            ("http://127.0.0.1:1", True),
            ("https://127.0.0.1", True),
            ("http://127.0.0.1", False),
            ("http://127.0.0.1:80", False),
            ("http://ai.example.com", True),
            ("https://ai.example.com:8069", True),
            (base, False),
        ):
            for act in ("stop", "retry"):  # without a body, so without a question of the browser's
                with self.subTest(origin=origin, act=act):
                    headers = {"Host": "127.0.0.1", "Origin": origin}
                    path = f"/api/ai/turns/{turn.id}/{act}"
                    status, _answer = self._call("POST", path, headers=headers)
                    self.assertEqual(status == 403, refused)

    def test_a_proxy_that_leaves_the_port_out_is_named_in_the_log(self):
        """Behind nginx at port 8080 `$host` is a host without a port, `$http_host` is the one that the page names."""
        self._sign_in(self.member)
        path = f"/api/ai/turns/{self._ask(self.member).id}/stop"
        base = "https://odoo.example.com"
        self.env["ir.config_parameter"].sudo().set_param("web.base.url", base)
        self.env.flush_all()
        page = {"Origin": "http://127.0.0.1:8080"}
        self.told_of_proxy.clear()
        status, _answer = self._call("POST", path, headers={"Host": "127.0.0.1:8080", **page})
        self.assertEqual(status, 200)
        evil = {"Host": "127.0.0.1", "Origin": "http://evil.example.com"}
        self.assertEqual(self._call("POST", path, headers=evil)[0], 403)
        self.assertFalse(self.told_of_proxy.is_set())
        with self.assertLogs(ir_http.__name__, "WARNING") as said:
            for _again in range(2):
                status, _answer = self._call("POST", path, headers={"Host": "127.0.0.1", **page})
                self.assertEqual(status, 403)
        (line,) = said.output
        for part in ("http://127.0.0.1:8080", "http://127.0.0.1/", "$http_host", "web.base.url"):
            self.assertIn(part, line)

    def test_forms_are_refused(self):
        self._sign_in(self.member)
        response = self.opener.post(
            self.base_url() + "/api/ai/conversations", data={"assistant_id": 1}, timeout=20
        )
        self.assertEqual(response.status_code, 415)

    def test_api_key_is_enough_and_a_wrong_one_is_not(self):
        key = (
            self.env["res.users.apikeys"]
            .with_user(self.internal)
            ._generate(None, "test", fields.Datetime.now() + timedelta(days=1))
        )
        headers = {"Authorization": f"Bearer {key}"}
        status, answer = self._call("GET", "/api/ai/assistants", headers=headers)
        self.assertEqual(status, 200)
        self.assertIn("Helper", [a["name"] for a in answer["assistants"]])
        wrong = {"Authorization": "Bearer 0123456789abcdef"}
        self._assert_error(
            self._call("GET", "/api/ai/assistants", headers=wrong), 401, "unauthenticated"
        )

    def test_health_is_public_and_says_no_names(self):
        status, health = self._call("GET", "/api/ai/health")
        self.assertEqual((status, health["status"]), (200, "ok"))
        self.assertNotIn("example.com", str(health))

    def test_health_names_settings_that_cannot_be_used(self):
        faulty = replace(settings.get(), faults={"max_streams": "…"}, secret_key=())
        with patch.object(settings, "get", lambda: faulty):
            status, health = self._call("GET", "/api/ai/health")
        self.assertEqual((status, health["faulty_settings"]), (200, ["max_streams"]))
        self.assertEqual(health["status"], "secret_unreadable")  # what is worse comes first
        unknown = replace(settings.get(), unknown=("3v-k is unknown.",))
        with patch.object(settings, "get", lambda: unknown):
            status, health = self._call("GET", "/api/ai/health")
        self.assertEqual((health["status"], health["faulty_settings"]), ("settings_invalid", []))
        self.assertEqual(health["unknown_settings"], 1)
        self.assertNotIn("3v-k", str(health))

    def test_portal_page(self):
        self._sign_in(self.member)
        page = self.url_open("/my/ai")
        self.assertEqual(page.status_code, 200)
        self.assertIn("woow_paas_platform", page.text)
        self.assertIn("o_ai_chat_skeleton", page.text, "there is something before the script is")
        self.assertIn("prefers-color-scheme: dark", page.text)
        chosen = self.url_open("/my/ai", cookies={"color_scheme": "light"})
        self.assertNotIn("prefers-color-scheme: dark", chosen.text)
        self.assertIn("/my/ai", self.url_open("/my").text)
