from odoo import Command
from odoo.exceptions import AccessError, ValidationError
from odoo.tests import tagged

from ..models.turn.ai_turn import Question
from .common import AiCase


@tagged("post_install", "-at_install")
class TestAssistantTools(AiCase):
    """Which tools a turn may use."""

    def _names(self, user=None, service=None):
        turn = self._ask(user or self.member, service=service)
        return sorted(turn.sudo()._tools().mapped("name"))

    def test_all_tools_of_its_servers(self):
        self.assertEqual(self._names(), ["alerts", "forecast"])

    def test_disabled_for_the_assistant(self):
        self.assistant.mcp_tool_disabled_ids = self.alerts
        self.assertEqual(self._names(), ["forecast"])

    def test_switched_off_for_everybody(self):
        self.alerts.active = False
        self.assertEqual(self._names(), ["forecast"])

    def test_no_longer_offered_by_the_server(self):
        self.alerts.available = False
        self.assertEqual(self._names(), ["forecast"])

    def test_server_switched_off(self):
        self.server.active = False
        self.assertEqual(self._names(), [])

    def test_the_service_adds_its_own(self):
        self.assertEqual(self._names(service=self.service), ["alerts", "forecast", "run_flow"])

    def test_another_service_adds_nothing(self):
        other = self.env["woow_paas_platform.cloud_service"].create(
            {"name": "other", "workspace_id": self.workspace.id}
        )
        self.assertEqual(self._names(service=other), ["alerts", "forecast"])

    def test_personal_servers_serve_their_owner_only(self):
        server = self.env["woow_paas_platform.mcp_server"].create(
            {
                "name": "notes",
                "url": "https://notes.example.com/mcp",
                "scope": "user",
                "owner_user_id": self.member.id,
                "tool_ids": [Command.create({"name": "search"})],
            }
        )
        self.assertIn("search", self._names(self.member))
        self.assertNotIn("search", self._names(self.stranger))
        server.active = False
        self.assertNotIn("search", self._names(self.member))

    def test_user_servers_cannot_be_given_to_an_assistant(self):
        with self.assertRaises(ValidationError):
            self.assistant.mcp_server_ids = self.user_server

    def test_at_most_ten_servers(self):
        servers = self.env["woow_paas_platform.mcp_server"].create(
            [{"name": f"s{i}", "url": "https://example.com/mcp"} for i in range(11)]
        )
        with self.assertRaises(ValidationError):
            self.assistant.mcp_server_ids = servers

    def test_contact_has_no_login_and_follows_the_name(self):
        self.assertFalse(self.assistant.partner_id.user_ids)
        self.assistant.name = "Oracle"
        self.assertEqual(self.assistant.partner_id.name, "Oracle")


@tagged("post_install", "-at_install")
class TestNewAssistants(AiCase):
    def _new(self):
        vals = {"name": "New", "config_id": self.provider.id, "group_ids": False}
        return self.env["ai.assistant"].create(vals)

    def test_portal_users_get_one_only_if_somebody_says_so(self):
        new = self.env["ai.assistant"].create({"name": "New", "config_id": self.provider.id})
        self.assertTrue(new.with_user(self.internal).has_access("read"))
        self.assertFalse(new.with_user(self.member).has_access("read"))
        new.group_ids = False
        self.assertTrue(new.with_user(self.member).has_access("read"))

    def test_the_list_says_whom_an_assistant_is_for(self):
        users, portal = self.env.ref("base.group_user"), self.env.ref("base.group_portal")
        ours = self.env.ref("woow_paas_platform.group_admin")
        for groups, audience in (
            (users, "Internal users"),
            (users | portal, "Internal users, Portal users"),
            (ours, ours.full_name),
        ):
            self.assistant.group_ids = groups
            self.assertEqual(self.assistant.audience, audience)
        self.assertIn("/", ours.full_name)  # with the name of its application
        self.assistant.group_ids = False
        self.assertEqual(self.assistant.audience, "Everyone")
        with self.assertRaises(AccessError):
            self.assistant.with_user(self.member).read(["audience"])

    def test_settings_say_before_which_round_new_ones_ask(self):
        self.assertEqual((self.assistant.confirm_round, self._new().confirm_round), (0, 0))
        Settings = self.env["res.config.settings"]
        Settings.create({"woow_confirm_round": 5}).execute()
        self.assertEqual(Settings.create({}).woow_confirm_round, 5)
        asking = self._new()
        self.assertEqual((self.assistant.confirm_round, asking.confirm_round), (0, 5))
        self.assertEqual(self._turn_of(asking)._turn_request().limits.confirm_round, 5)
        Settings.create({"woow_confirm_round": 0}).execute()
        self.assertEqual((asking.confirm_round, self._new().confirm_round), (5, 0))
        with self.assertRaises(ValidationError):
            Settings.create({"woow_confirm_round": -1})

    def test_facts_only_from_tools_are_told_in_the_persons_language(self):
        turn = self._turn_of(self.assistant)
        self.env["res.lang"]._activate_lang("zh_TW")
        said = [
            ("en_US", False, ""),
            ("en_US", True, "not from a tool"),
            ("zh_TW", True, "並非來自工具"),
        ]
        for turn.lang, self.assistant.is_grounded, sign in said:
            self.assertEqual(turn._turn_request().unsupported_sign, sign)
        self.assertFalse(self._new().is_grounded)

    def _turn_of(self, assistant):
        Channel = self.env["discuss.channel"].with_user(self.member)
        channel = Channel._create_ai_conversation(assistant.with_user(self.member), None)
        return channel._ask(Question("Hello")).sudo()
