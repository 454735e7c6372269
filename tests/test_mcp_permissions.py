"""Document 004, §4.2: what lists, names and pages show. Who may use which route: test_permissions_of_routes."""

from odoo.exceptions import AccessError
from odoo.tests import tagged

from .test_mcp_api import SERVERS, McpApiCase
from .test_permissions import ADMIN, MANAGERS, SEERS, SIGNED_IN, People


@tagged("post_install", "-at_install")
class TestMcpPermissions(People, McpApiCase):
    def _each_person(self):
        for who in sorted(SIGNED_IN):
            self._sign_in(getattr(self, who))
            yield who

    def test_names_of_servers_are_no_secret_to_be_guessed(self):
        """Whether a name is taken is the same to who may not add a server there, over each way to add one."""
        self.server.active = False
        self.env.flush_all()
        known, unknown = self.server.name, "nobody"
        template = self.env["woow_paas_platform.mcp_template"].search(
            [("transport", "!=", "stdio")], limit=1
        )
        url = {"url": "https://a.example.com/mcp"}
        for who in ("member", "guest"):
            self._sign_in(getattr(self, who))
            for place in ({"scope": "system"}, {"cloud_service_id": self.service.id}):
                taken = known if "scope" in place else self.user_server.name
                for path, made in (
                    ("/api/mcp/import", lambda name: {"mcpServers": {name: url}}),
                    (SERVERS, lambda name: {"name": name, **url}),
                    (SERVERS, lambda name: {"name": name, "template": template.code, "values": {}}),
                ):
                    answers = [
                        self._call("POST", path, {**made(name), **place})
                        for name in (taken, unknown)
                    ]
                    with self.subTest(who=who, path=path, place=place):
                        self.assertEqual(answers[0], answers[1])
                        self.assertIn(answers[0][0], (403, 422))

    def test_nor_over_rpc(self):
        Server = self.env["woow_paas_platform.mcp_server"].with_user(self.member)
        system = {"scope": "system", "owner_user_id": False, "cloud_service_id": False}
        own = self.personal_server.with_user(self.member)
        for name in (self.server.name, "nobody"):
            with self.subTest(name=name):
                with self.assertRaises(AccessError):
                    Server.create({"name": name, "url": "https://a.example.com/mcp"})
                with self.assertRaises(AccessError):
                    own.write({"name": name, **system})

    def test_lists_hold_nothing_of_others(self):
        for who in self._each_person():
            with self.subTest(who=who):
                listed = self._json("GET", SERVERS, expect=200)
                names = {server["name"] for server in listed["user_servers"]}
                expected = {"flows"} if who in MANAGERS else set()
                expected |= {"mine"} if who in ("admin", "member") else set()
                self.assertEqual(names, expected)
                user = getattr(self, who)
                Server = self.env["woow_paas_platform.mcp_server"].with_user(user)
                found = Server.search([("scope", "=", "user")])
                self.assertEqual(set(found.mapped("name")), expected)
                tools = self.env["woow_paas_platform.mcp_tool"].with_user(user).search([])
                self.assertEqual(self.run_flow in tools, who in MANAGERS)
                self.assertIn(self.forecast, tools)
                if who != "admin":
                    self.assertNotIn(self.server.url, str(listed["system_servers"]))

    def test_the_page_of_a_service(self):
        """Who is in its workspace, and a tab for those who manage its servers."""
        path = f"/my/services/{self.service.id}"
        for who in self._each_person():
            with self.subTest(who=who):
                listed = self.url_open("/my/services").text
                self.assertEqual(f'"{path}"' in listed, who in SEERS)
                if who in SEERS:
                    page = self.url_open(path).text
                    self.assertEqual(f'"{path}/mcp"' in page, who in MANAGERS - ADMIN)
                    self.assertIn("ai_owner", page)

    def test_the_tabs_of_a_service(self):
        self._sign_in(self.manager)
        path = f"/my/services/{self.service.id}"
        for tab, component in ((f"{path}/mcp", "McpServers"), (f"{path}/chat", "AiChat")):
            self.assertIn(component, self.url_open(tab).text)

    def test_a_tool_of_a_service_stays_there(self):
        """Two services share an assistant; each chat has the tools of its own."""
        theirs = self.env["woow_paas_platform.cloud_service"].create(
            {"name": "theirs", "workspace_id": self.other_workspace.id}
        )
        for user, service, has_it in (
            (self.member, self.service, True),
            (self.member, None, False),
            (self.stranger, theirs, False),
        ):
            turn = self._ask(user, service=service).sudo()
            self.assertEqual(self.run_flow in turn._tools(), has_it)
            self.assertIn(self.forecast, turn._tools())
        config = self._conversation(self.stranger, theirs)._mcp_config()
        self.assertEqual(config["enabled_servers"], ["weather"])

    def test_an_archived_service_lends_its_tools_to_nobody(self):
        """At every entrance alike: in a chat about it, and in calls without a chat."""
        turn = self._ask(self.member, service=self.service).sudo()
        for is_active in (True, False):
            self.service.active = is_active
            for user in (self.member, self.stranger):
                has_it = is_active and user == self.member
                with self.subTest(user=user.name, service=is_active):
                    self.assertEqual(self.run_flow._is_offered_to(user), has_it)
                    offered = self.assistant.with_user(user)._tools_of_caller()
                    self.assertEqual(self.run_flow in offered, has_it)
                    offered = self.assistant._tools_for_caller(user, self.service)
                    self.assertEqual(self.run_flow in offered, has_it)
            self.assertEqual(self.run_flow in turn._tools(), is_active)
            shown = turn.channel_id.with_user(self.member)._mcp_config()["enabled_servers"]
            self.assertEqual(self.user_server.name in shown, is_active)
