"""Assistants of a cloud service: who makes, changes, sees and asks them, what of them an administrator decides, and
when they end."""

from contextlib import contextmanager
from unittest.mock import patch

from odoo import Command, fields
from odoo.exceptions import AccessError, UserError, ValidationError
from odoo.tests import tagged
from odoo.tools import mute_logger

from ..models.assistant import ai_assistant
from .common import AiHttpCase
from .test_permissions import ADMIN, EVERYBODY, MANAGERS, SEERS, People

SWITCH = "woow_paas_platform.owner_assistants"
READERS = SEERS - MANAGERS  # of the service, who manage nothing
INSTRUCTIONS = "Answer for n8n.\nBe brief."


class Owned(People):
    """Beside `People` a provider and a system server that owners may choose, and an assistant of the service."""

    @classmethod
    def _make_data(cls):
        super()._make_data()
        cls.env["ir.config_parameter"].set_param(SWITCH, "True")
        cls.provider.is_for_owners = True
        cls.server.is_for_owners = True
        cls.other_provider = cls.provider.copy({"name": "Kept back"})
        cls.kept_back = cls._make("mcp_server", name="kept", url="https://kept.example.com/mcp")
        cls.other_service = cls._make(
            "cloud_service", name="Elsewhere", workspace_id=cls.other_workspace.id
        )
        cls.foreign_server = cls._make(
            "mcp_server",
            name="foreign",
            url="https://foreign.example.com/mcp",
            scope="user",
            cloud_service_id=cls.other_service.id,
        )
        cls.second_server = cls._make(
            "mcp_server",
            name="second",
            url="https://second.example.com/mcp",
            scope="user",
            cloud_service_id=cls.service.id,
        )
        cls.owned = cls.quiet["ai.assistant"].create(
            {
                "name": "Flow helper",
                "config_id": cls.provider.id,
                "system_prompt": INSTRUCTIONS,
                "group_ids": False,
                "cloud_service_id": cls.service.id,
                "mcp_server_ids": [Command.set((cls.user_server | cls.server).ids)],
            }
        )
        cls.people = {who: getattr(cls, who) for who in sorted(EVERYBODY)}
        cls.env.cr.flush()  # publishes the first version
        cls.listed = f"/api/ai/cloud-services/{cls.service.id}/assistants"
        cls.path = f"/api/ai/assistants/{cls.owned.id}"

    def _as(self, user):
        if user == self.public:
            self.opener.cookies.clear()
        else:
            self._sign_in(user)

    def _change(self, **values):
        answer = self._call("PUT", self.path, values)
        self.env.invalidate_all()
        return answer

    @contextmanager
    def _undone(self):
        self.env.flush_all()
        with self.env.cr.savepoint() as savepoint:
            yield
            savepoint.rollback()
        self.env.invalidate_all()

    def _versions(self):
        self.env.cr.flush()
        return self._call("GET", f"{self.path}/versions")[1]["versions"]


@tagged("post_install", "-at_install")
class TestWhoManagesServiceAssistants(Owned, AiHttpCase):
    def test_who_gets_where(self):
        """Nobody but those who manage the service comes in; who does not see the service learns of nothing."""
        version = self.owned.version_id.id
        chat = {"assistant_id": self.owned.id, "cloud_service_id": self.service.id}
        managed = [
            ("GET", self.listed, None),
            ("POST", self.listed, {"name": "Another"}),
            ("PUT", self.path, {"description": "x"}),
            ("DELETE", self.path, None),
            ("GET", f"{self.path}/versions", None),
            ("POST", f"{self.path}/versions/{version}/restore", None),
            ("GET", f"{self.path}/ratings", None),
        ]
        rows = [(*row, {200: MANAGERS, 403: READERS}) for row in managed]
        rows.append(("POST", "/api/ai/conversations", chat, {200: SEERS}))
        found, expected = {}, {}
        for who, user in self.people.items():
            self._as(user)
            for method, path, body, outcomes in rows:
                with self._undone():
                    status = self.opener.request(
                        method, self.base_url() + path, json=body, timeout=20
                    ).status_code
                key = (who, method, path)
                found[key] = 200 if status < 300 else status
                others = 401 if who == "public" else 404
                expected[key] = next((s for s, them in outcomes.items() if who in them), others)
        self.assertEqual(found, expected)

    def test_pages(self):
        page = f"/my/services/{self.service.id}/assistants"
        for who in ("owner", "manager"):
            self._sign_in(self.people[who])
            answer = self.url_open(page)
            self.assertTrue(answer.url.endswith(page), who)
            self.assertIn("woow_paas_platform.ServiceAssistants", answer.text)
            self.assertIn(f'href="{page}"', self.url_open(f"/my/services/{self.service.id}").text)
        for who in ("member", "guest", "admin", "stranger"):
            self._sign_in(self.people[who])
            answer = self.url_open(page)
            self.assertIn("o_woow_gone", answer.text, who)
            self.assertNotIn(f'href="{page}"', answer.text)

    def test_one_function_decides_and_rules_let_nobody_else_write(self):
        Version = self.env["woow_paas_platform.assistant_version"]
        for who, user in self.people.items():
            with self.subTest(who=who):
                self.assertEqual(self.owned._is_managed_by(user), who in MANAGERS)
                own = self.owned.with_user(user).sudo(False)
                self.assertEqual(own.has_access("read"), who in SEERS)
                for verb in ("write", "create", "unlink"):
                    self.assertEqual(own.has_access(verb), who in ADMIN)
                if who not in ADMIN:
                    self.assertFalse(Version.with_user(user).has_access("read"))
                    for field in ("system_prompt", "config_id", "mcp_server_ids"):
                        with self.assertRaises(AccessError):
                            own.read([field])

    def test_the_end_of_a_role_is_the_end_of_managing(self):
        self._sign_in(self.manager)
        self.assertEqual(self._change(description="Mine")[0], 200)
        role = self.workspace.access_ids.filtered(lambda one: one.user_id == self.manager)
        role.role = "user"
        self.assertEqual(self._change(description="Still mine")[0], 403)
        role.unlink()
        self.assertEqual(self._change(description="Still mine")[0], 404)
        self.assertEqual(self.owned.description, "Mine")


@tagged("post_install", "-at_install")
class TestServiceAssistants(Owned, AiHttpCase):
    def setUp(self):
        super().setUp()
        self._sign_in(self.owner)

    # ------------------------------------------------------------ made and changed

    def test_an_owner_makes_one_of_what_is_offered(self):
        status, listed = self._call("GET", self.listed)
        self.assertEqual(status, 200)
        self.assertEqual([one["name"] for one in listed["providers"]], ["Test"])
        offered = {one["id"] for one in listed["servers"]}
        own = self.user_server | self.second_server
        self.assertTrue({*own.ids, self.server.id} <= offered)
        self.assertFalse(offered & {*(self.kept_back | self.foreign_server).ids})
        self.assertFalse(offered & {self.personal_server.id})
        values = {
            "name": " Second  helper ",
            "description": "For flows",
            "instructions": "Be kind.",
            "greeting": "Hello",
            "starters": ["What runs?", " "],
            "server_ids": self.second_server.ids,
        }
        status, made = self._call("POST", self.listed, values)
        self.assertEqual(status, 201)
        self.assertEqual(
            {name: made[name] for name in values},
            values | {"name": "Second helper", "starters": ["What runs?"]},
        )
        assistant = self.env["ai.assistant"].browse(made["id"])
        self.assertEqual(assistant.cloud_service_id, self.service)
        self.assertEqual(assistant.config_id, self.provider, "the only one that is offered")
        self.assertFalse(assistant.group_ids or assistant.record_access_ids)
        self.assertEqual(assistant.approval_mode, "policy")
        contact = assistant.partner_id
        self.assertEqual(self._call("DELETE", f"/api/ai/assistants/{made['id']}")[0], 204)
        self._is_forgotten(assistant)
        self.assertFalse(assistant.exists() or contact.exists())

    def _is_forgotten(self, assistant):
        """Odoo's daily job comes by, two days later."""
        self.env.invalidate_all()
        assistant.removed_at = fields.Datetime.subtract(assistant.removed_at, days=2)
        self.env["ai.assistant"]._gc_removed()

    def _rated(self, user, value, comment="", *, is_shared=False):
        """An answer of the service's assistant to this member, rated by them.

        :return: the turn, with sudo
        """
        Channel = self.env["discuss.channel"].with_user(user)
        own, service = self.owned.with_user(user), self.service.with_user(user)
        channel = Channel._create_ai_conversation(own, service)
        turn = self._ask(user, "A private question", channel=channel).sudo()
        turn.write({"state": "done", "ended_at": fields.Datetime.now()})
        self.env["woow_paas_platform.answer_rating"].with_user(user)._rate(
            turn.with_user(user),
            value,
            "slow" if value == "bad" else None,
            comment,
            is_shared=is_shared,
        )
        return turn

    def test_what_a_deleted_one_has_said_keeps_its_name_and_version(self):
        turn = self._rated(self.member, "bad", "Not so.", is_shared=True)
        author = self.owned.partner_id
        message = turn.channel_id.message_post(body="Well.", author_id=author.id)
        version = turn.version_id = self.owned.version_id
        self.assertEqual(self._call("DELETE", self.path)[0], 204)
        for method, path in (("PUT", self.path), ("DELETE", self.path)):
            answer = self._call(method, path, {"active": True} if method == "PUT" else None)
            self._assert_error(answer, 404, "not_found")
        self.assertFalse(self._call("GET", self.listed)[1]["assistants"])
        self._is_forgotten(self.owned)
        self.assertEqual((turn.assistant_id, turn.version_id), (self.owned, version))
        self.assertEqual(turn._own_rating().assistant_id, self.owned)
        self.owned.with_user(self.admin).active = True
        self.assertEqual(self._change(description="Back")[0], 200)
        self.owned.unlink()
        self.assertEqual((message.author_id, author.active), (author, False))
        self.assertEqual(author.name, "Flow helper")

    def test_no_contact_stays_behind(self):
        quiet = self.owned.partner_id
        for end in (self.owned.unlink, self.service.unlink, self.workspace.unlink):
            with self.subTest(end=end), self._undone():
                end()
                self.assertFalse(self.owned.exists() or quiet.exists())

    def test_what_does_not_show_is_not_written(self):
        told = self._change(
            name="Flow\u200b helper\u202e",
            instructions="Be\u2063 kind.\nBe\U000e0041 brief.",
            starters=["\u200b", "What\u200b runs?"],
            note="Too\u200b short",
        )
        self.assertEqual(told[0], 200)
        self.assertEqual(told[1]["name"], "Flow helper")
        self.assertEqual(told[1]["instructions"], "Be kind.\nBe brief.")
        self.assertEqual(told[1]["starters"], ["What runs?"])
        self.assertEqual(self._versions()[0]["note"], "Too short")
        self._assert_error(self._change(name="\u200b"), 400, "invalid_field")

    def test_what_is_not_offered_is_not_taken(self):
        refused = {
            "name": [" ", "x" * 101],
            "description": ["x" * 201],
            "greeting": ["x" * 201],
            "instructions": ["x" * 4_001],
            "starters": [["x"] * 5, ["x" * 201]],
            "provider_id": [self.other_provider.id, 99_999_999],
            "server_ids": [
                one.ids for one in (self.kept_back, self.foreign_server, self.personal_server)
            ],
        }
        before = self.owned._data_of_owner()
        for name, values in refused.items():
            for value in values:
                with self.subTest(name=name):
                    answer = self._change(**{name: value})
                    self._assert_error(answer, 400, "invalid_field")
                    self.assertEqual(answer[1]["error"]["details"]["field"], name)
        for name in (
            "group_ids",
            "record_access_ids",
            "approval_mode",
            "company_id",
            "system_prompt",
        ):
            self._assert_error(self._change(**{name: "x"}), 400, "unknown_field")
        self.assertEqual(self.owned._data_of_owner(), before)
        self._assert_error(self._call("POST", self.listed, {}), 400, "invalid_field")

    def test_their_number_and_their_changes_are_limited(self):
        self.env["ir.config_parameter"].set_param(
            "woow_paas_platform.max_assistants_per_service", 2
        )
        self.assertEqual(self._call("POST", self.listed, {"name": "Two"})[0], 201)
        self._assert_error(
            self._call("POST", self.listed, {"name": "Three"}), 422, "too_many_assistants"
        )
        two = self._call("GET", self.listed)[1]["assistants"][-1]
        with patch.object(ai_assistant, "MAX_ADDITIONS", 2):
            self.assertEqual(self._call("DELETE", f"/api/ai/assistants/{two['id']}")[0], 204)
            answer = self._call("POST", self.listed, {"name": "Three"})
            self._assert_error(answer, 429, "too_many_additions")
        Version = self.env["woow_paas_platform.assistant_version"]
        numbers = range(10, 60)
        Version.create(
            [
                {
                    "assistant_id": self.owned.id,
                    "number": number,
                    "content": {"max_rounds": 1},
                    "content_digest": "x",
                }
                for number in numbers
            ]
        )
        self._assert_error(self._change(description="x"), 429, "too_many_changes")

    def test_what_an_owner_writes_is_the_same_in_all_languages(self):
        self.env["res.lang"]._activate_lang("zh_TW")
        self.owned.with_context(lang="zh_TW").description = "舊的"
        status, told = self._call(
            "PUT", self.path, {"description": "新的"}, {"X-Woow-Language": "zh_TW"}
        )
        self.assertEqual((status, told["description"]), (200, "新的"))
        self.env.invalidate_all()
        for lang in ("en_US", "zh_TW"):
            self.assertEqual(self.owned.with_context(lang=lang).description, "新的")

    def test_it_goes_with_its_service(self):
        self.service.unlink()
        self.assertFalse(self.owned.exists())

    def test_in_another_workspace_nobody_gets_what_they_have_not_read(self):
        self._rated(self.member, "bad", "Of the old ones.", is_shared=True)
        self._change(instructions="Our secret plan.")
        self._change(instructions=INSTRUCTIONS)
        self.env.cr.flush()
        for table in ("assistant_version", "answer_rating"):
            self.env.cr.execute(
                f"UPDATE woow_paas_platform_{table} SET create_date = create_date - interval '1 day'"
            )
        self.env.invalidate_all()
        self.service.workspace_id = self.other_workspace
        self.env.flush_all()
        self.assertFalse(self.owned.active)
        self.assertIn(self._call("GET", self.listed)[0], (403, 404))
        self._sign_in(self.other_workspace.owner_id)
        (told,) = self._call("GET", self.listed)[1]["assistants"]
        self.assertEqual(
            (told["active"], told["lock"], told["instructions"]), (False, None, INSTRUCTIONS)
        )
        self.assertEqual(told["ratings"], {"good": 0, "bad": 0})
        self.assertFalse(self._call("GET", f"{self.path}/ratings")[1]["shared"])
        (version,) = self._versions()
        self.assertTrue(version["is_current"])
        self.assertNotIn("secret plan", str(version["changes"]))
        self.assertEqual(self._change(active=True)[0], 200)

    def test_it_never_reaches_records_or_groups(self):
        for values in (
            {"group_ids": self.env.ref("base.group_user").ids},
            {"record_access_ids": [Command.create({"model": "res.partner"})]},
            {"is_open_to_clients": True},
            {"mcp_server_ids": self.foreign_server.ids},
            {"mcp_server_ids": self.personal_server.ids},
        ):
            with self.subTest(values=values), self.assertRaises(ValidationError), self._undone():
                self.owned.write(values)
        with self.assertRaises(ValidationError), self._undone():
            self.assistant.mcp_server_ids = self.personal_server

    # ------------------------------------------------------------ asked

    def _names(self, path):
        status, listed = self._call("GET", path)
        self.assertEqual(status, 200)
        return [one["name"] for one in listed.get("assistants") or listed["data"]]

    def test_it_is_offered_in_chats_about_its_service_only(self):
        self._sign_in(self.member)
        of_service = f"/api/ai/assistants?cloud_service_id={self.service.id}"
        self.assertIn("Flow helper", self._names(of_service))
        self.assertNotIn("Flow helper", self._names("/api/ai/assistants"))
        chat = {"assistant_id": self.owned.id}
        refused = self._call("POST", "/api/ai/conversations", chat)
        self._assert_error(refused, 403, "assistant_unavailable")
        refused = self._call("POST", "/api/ai-reply", {"aiMessage": "Hi", **chat})
        self._assert_error(refused, 403, "assistant_unavailable")
        key = {"Authorization": f"Bearer {self._client_key(self.member)}"}
        models = self._call("GET", "/v1/models", headers=key)[1]["data"]
        self.assertNotIn("Flow helper", [one["name"] for one in models])
        status, told = self._call("GET", f"/v1/models/assistant-{self.owned.id}", headers=key)
        self.assertEqual((status, told["error"]["code"]), (404, "model_not_found"))
        Channel = self.env["discuss.channel"].with_user(self.member)
        self.assertFalse(Channel._assistants_of(self.owned.partner_id))
        both = self._make("cloud_service", name="Both", workspace_id=self.workspace.id)
        chat["cloud_service_id"] = both.id
        refused = self._call("POST", "/api/ai/conversations", chat)
        self._assert_error(refused, 403, "assistant_unavailable")
        self.assertNotIn(
            "Flow helper", self._names(f"/api/ai/assistants?cloud_service_id={both.id}")
        )

    def _servers(self):
        self.env.invalidate_all()
        return self.owned._offered_mcp_servers(self.member, self.service)

    def test_it_uses_what_its_owner_has_chosen_and_the_administrator_offers(self):
        personal = self.personal_server
        self.assertEqual(self._servers(), self.user_server | self.server | personal)
        self.server.is_for_owners = False
        self.assertEqual(self._servers(), self.user_server | personal)
        self.assertEqual(self._change(server_ids=self.second_server.ids)[0], 200)
        self.assertEqual(self._servers(), self.second_server | personal)
        self.second_server.cloud_service_id = self.other_service
        self.assertEqual(self._servers(), personal)

    def test_its_instructions_are_nobodys_own_words(self):
        channel = self._chat()
        turn = self._ask(self.member, "Go", channel=channel).sudo()
        self.assertEqual(turn._said(), ["Go"])
        self.assertIn("Answer for n8n.", turn._turn_request().system_prompt)

    def test_it_answers_in_no_chat_about_a_record(self):
        chat = {"assistant_id": self.owned.id, "cloud_service_id": self.service.id}
        record = self.member.partner_id
        self._sign_in(self.member)
        about = {"res_model": record._name, "res_id": record.id}
        refused = self._call("POST", "/api/ai/conversations", {**chat, **about})
        self._assert_error(refused, 403, "assistant_unavailable")
        channel = self._chat()
        channel.sudo().write({"woow_res_model": record._name, "woow_res_id": record.id})
        turn = self._ask(self.member, "Go", channel=channel).sudo()
        self.assertIsNone(turn._record(), "also of one that has begun before")
        self.assertFalse(turn._actions())
        self.assertNotIn(record.name, turn._system_prompt())

    def test_it_never_stands_in_for_one_of_the_administrators(self):
        """What one of them has read would reach the servers that the service's owner has chosen for the other."""
        self._sign_in(self.member)
        both = (self.assistant, self.owned)
        for asked, other in (both, both[::-1]):
            chat = {"assistant_id": asked.id, "cloud_service_id": self.service.id}
            opened = self._call("POST", "/api/ai/conversations", chat)[1]
            path = f"/api/ai/conversations/{opened['id']}"
            turn = self._call("POST", f"{path}/messages", {"content": "Go"})[1]["turn_id"]
            self._call("POST", f"/api/ai/turns/{turn}/stop", {})
            with self.subTest(asked.name):
                for offered in (opened["assistants"], self._call("GET", path)[1]["assistants"]):
                    ids = [one["id"] for one in offered]
                    self.assertIn(asked.id, ids)
                    self.assertNotIn(other.id, ids)
                retry = {"assistant_id": other.id}
                refused = self._call("POST", f"/api/ai/turns/{turn}/retry", retry)
                self._assert_error(refused, 403, "assistant_unavailable")

    def _chat(self):
        Channel = self.env["discuss.channel"].with_user(self.member)
        own = self.owned.with_user(self.member)
        return Channel._create_ai_conversation(own, self.service.with_user(self.member))

    def test_it_ends_with_what_allows_it(self):
        channel = self._chat()
        parameters = self.env["ir.config_parameter"]
        ends = {
            "the switch": lambda: parameters.set_param(SWITCH, False),
            "the provider": lambda: self.provider.write({"is_for_owners": False}),
            "an archived provider": lambda: self.provider.write({"active": False}),
            "the service": lambda: self.service.write({"active": False}),
            "its own switch": lambda: self.owned.write({"active": False}),
        }
        self.assertFalse(channel._closed_sentence())
        for name, end in ends.items():
            with self.subTest(name), self._undone():
                end()
                self.env.flush_all()
                self.assertTrue(channel._closed_sentence())
                own = self.env["ai.assistant"].with_user(self.member)
                self.assertNotIn(self.owned, own._offered(self.service.with_user(self.member)))
                if name != "its own switch":  # of which a turn hears when it runs
                    with self.assertRaises(UserError):
                        self._chat()
        for name in ("the switch", "the service"):
            with self.subTest(name), self._undone():
                ends[name]()
                self.assertIn(self._change(description="x")[0], (403, 404))

    @mute_logger("odoo.http")
    def test_what_an_administrator_switches_off_stays_off(self):
        (version,) = self._versions()
        self.owned.with_user(self.admin).active = False
        self.env.flush_all()
        (told,) = self._call("GET", self.listed)[1]["assistants"]
        self.assertEqual(told["lock"]["by"], self.admin.name)
        restore = f"{self.path}/versions/{version['id']}/restore"
        for method, path, body in (
            ("PUT", self.path, {"active": True}),
            ("PUT", self.path, {"description": "x"}),
            ("POST", restore, None),
            ("DELETE", self.path, None),
        ):
            with self.subTest(method=method, body=body):
                self._assert_error(self._call(method, path, body), 403, "locked")
        self.env.invalidate_all()
        self.assertFalse(self.owned.active)
        mine = self.owned.with_user(self.admin)
        mine.action_unlock()
        self.assertFalse(mine.active)
        self.assertEqual(self._change(active=True)[0], 200)
        self.env["woow_paas_platform.lock"].with_user(self.admin).browse(
            mine.action_lock()["res_id"]
        ).action_lock()
        self.assertTrue(mine.is_locked)
        self.assertIn("Flow helper", mine.lock_sentence)
        self._assert_error(self._change(active=True), 403, "locked")

    # ------------------------------------------------------------ versions

    def test_versions_are_compared_and_restored(self):
        self.assertEqual([one["number"] for one in self._versions()], [1])
        told = self._change(
            instructions="Answer for n8n.\nBe exact.",
            server_ids=self.server.ids,
            note="Too short",
        )
        self.assertEqual(told[0], 200)
        latest, first = self._versions()
        self.assertEqual((latest["note"], latest["is_current"]), ("Too short", True))
        changes = {one["field"]: one["lines"] for one in latest["changes"]}
        self.assertEqual(changes.keys(), {"instructions", "servers"})
        self.assertEqual(
            [line["sign"] + line["text"] for line in changes["instructions"]],
            [" Answer for n8n.", "-Be brief.", "+Be exact."],
        )
        provider = {one["field"]: one["lines"] for one in first["changes"]}["provider"]
        self.assertEqual([line["text"] for line in provider], ["Name: Test"], "and no address")
        self.user_server.unlink()
        self.owned.approval_mode = "effects"
        path = f"{self.path}/versions/{first['id']}/restore"
        status, restored = self._call("POST", path)
        self.assertEqual((status, restored["left_out"]), (200, ["1 MCP server"]))
        self.assertEqual(restored["assistant"]["instructions"], INSTRUCTIONS)
        self.env.invalidate_all()
        self.assertEqual(self.owned.approval_mode, "effects", "which is not the owner's")
        self.assertEqual(self._versions()[0]["note"], "Restored version 1")

    def test_a_restore_brings_back_nothing_that_is_not_offered(self):
        first = self._versions()[0]
        other = self.provider.copy({"name": "Now", "is_for_owners": True})
        self.assertEqual(self._change(provider_id=other.id)[0], 200)
        self.provider.is_for_owners = self.server.is_for_owners = False
        status, restored = self._call("POST", f"{self.path}/versions/{first['id']}/restore")
        self.assertEqual((status, restored["left_out"]), (200, ["1 MCP server", "the provider"]))
        told = str(self._versions())
        self.assertNotIn("weather", told, "nor are they named any more")
        self.assertNotIn("Test", told)
        self.assertIn("No longer offered", told)
        self.assertIn("flows", told)
        self.assertEqual(self.owned.config_id, other)
        self.assertEqual(self.owned.mcp_server_ids, self.user_server)

    def test_versions_of_others_do_not_exist(self):
        theirs = self.assistant.version_id
        answer = self._call("POST", f"{self.path}/versions/{theirs.id}/restore")
        self._assert_error(answer, 404, "not_found")
        answer = self._call("GET", f"/api/ai/assistants/{self.assistant.id}/versions")
        self._assert_error(answer, 403, "forbidden")
        self._sign_in(self.admin)
        answer = self._call("PUT", f"/api/ai/assistants/{self.assistant.id}", {"name": "x"})
        self._assert_error(answer, 422, "not_of_a_service")

    # ------------------------------------------------------------ ratings

    def test_ratings_are_counted_and_only_what_is_shared_is_told(self):
        Rating = self.env["woow_paas_platform.answer_rating"]
        self._rated(self.member, "bad", "Not so.", is_shared=True)
        self._rated(self.guest, "bad", "A secret.")
        self._rated(self.manager, "good", "Fine.")
        told = self._call("GET", f"{self.path}/ratings")[1]
        shared = {"value": "bad", "reason": "Too slow", "text": "Not so."}
        self.assertEqual(told, {"good": 1, "bad": 2, "shared": [shared]})
        (listed,) = self._call("GET", self.listed)[1]["assistants"]
        self.assertEqual(listed["ratings"], {"good": 1, "bad": 2})
        self.assertFalse(Rating.with_user(self.owner).search([]))
        Turn = self.env["woow_paas_platform.ai_turn"].with_user(self.owner)
        self.assertFalse(Turn.search([("assistant_id", "=", self.owned.id)]))
