"""Document 004, §4.2: every route × every kind of person, over REST, RPC and the portal."""

from urllib.parse import urlparse

from odoo import Command
from odoo.exceptions import AccessError
from odoo.tests import new_test_user, tagged

from .test_mcp_api import SERVERS, McpApiCase

SIGNED_IN = {
    "admin",
    "internal",
    "owner",
    "workspace_admin",
    "member",
    "guest",
    "stranger",
}
MANAGERS = {"admin", "owner", "workspace_admin"}
MEMBERS = MANAGERS - {"admin"} | {"member", "guest"}
NEW = {"url": "https://new.example.com/mcp"}
CHAT = "/api/ai/conversations/{conversation}"

# method, path, body, who may, the status of everybody else who signs in
ROUTES = [
    ("GET", SERVERS, None, SIGNED_IN, 401),
    ("GET", "/api/mcp/templates", None, SIGNED_IN, 401),
    ("GET", "/api/mcp/export", None, SIGNED_IN, 401),
    ("GET", "/api/mcp/templates/export", None, {"admin"}, 403),
    ("POST", SERVERS, NEW, SIGNED_IN, 401),
    ("POST", SERVERS, {**NEW, "scope": "system"}, {"admin"}, 403),
    ("GET", SERVERS + "/{system}", None, SIGNED_IN, 401),
    ("GET", SERVERS + "/{system}/tools", None, SIGNED_IN, 401),
    ("PUT", SERVERS + "/{system}", {"description": "x"}, {"admin"}, 403),
    ("PATCH", SERVERS + "/{system}/toggle", {"active": True}, SIGNED_IN, 401),
    ("PATCH", "/api/mcp/tools/{system_tool}", {"active": True}, {"admin"}, 403),
    ("GET", SERVERS + "/{user}", None, MANAGERS, 404),
    ("GET", SERVERS + "/{user}/tools", None, MANAGERS, 404),
    ("PUT", SERVERS + "/{user}", {"description": "x"}, MANAGERS, 404),
    ("PATCH", SERVERS + "/{user}/toggle", {"active": True}, MANAGERS | MEMBERS, 404),
    ("PATCH", "/api/mcp/tools/{user_tool}", {"active": True}, MANAGERS, 404),
    ("GET", SERVERS + "/{system}/versions", None, {"admin"}, 403),
    ("GET", SERVERS + "/{user}/versions", None, MANAGERS, 404),
    ("POST", CHAT + "/command", {"command": "/mcp tools"}, {"member"}, 404),
    ("GET", SERVERS + "/{personal}", None, {"admin", "member"}, 404),
    ("PUT", SERVERS + "/{personal}", {"description": "x"}, {"admin", "member"}, 404),
    ("GET", "/api/sessions/{conversation}/mcp-config", None, {"member"}, 404),
    ("PUT", "/api/sessions/{conversation}/mcp-config", {"enabled_servers": None}, {"member"}, 404),
    (
        "PATCH",
        SERVERS + "/{system}/toggle",
        {"active": True, "conversation_id": 0},
        {"member"},
        404,
    ),
]
# what changes the matrix when it goes well: only what is refused is tried
REFUSALS = {
    ("DELETE", SERVERS + "/{system}"): ({"admin"}, 403),
    ("POST", SERVERS + "/{system}/test"): ({"admin"}, 403),
    ("POST", SERVERS + "/{system}/sync"): ({"admin"}, 403),
    ("DELETE", SERVERS + "/{user}"): (MANAGERS, 404),
    ("POST", SERVERS + "/{user}/test"): (MANAGERS, 404),
    ("POST", SERVERS + "/{user}/sync"): (MANAGERS, 404),
    ("DELETE", SERVERS + "/{personal}"): ({"admin", "member"}, 404),
}


@tagged("post_install", "-at_install")
class TestMcpPermissions(McpApiCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        env = cls.env(context=dict(cls.env.context, woow_no_sync=True))
        cls.workspace_admin = new_test_user(
            env, "ai_workspace_admin", groups="base.group_portal", password="secret-of-a-test"
        )
        cls.workspace.access_ids = [
            Command.create({"user_id": cls.workspace_admin.id, "role": "admin"})
        ]
        cls.personal = env["woow_paas_platform.mcp_server"].create(
            {
                "name": "mine",
                "url": "https://mine.example.com/mcp",
                "scope": "user",
                "owner_user_id": cls.member.id,
            }
        )
        cls.conversation = cls._conversation(cls.member, cls.service)
        cls.ids = {
            "system": cls.server.id,
            "user": cls.user_server.id,
            "personal": cls.personal.id,
            "system_tool": cls.forecast.id,
            "user_tool": cls.run_flow.id,
            "conversation": cls.conversation.id,
        }

    def _each_person(self):
        for who in sorted(SIGNED_IN):
            self._sign_in(getattr(self, who))
            yield who
        self.opener.cookies.clear()
        yield "public"

    def test_every_route(self):
        for who in self._each_person():
            for method, path, body, allowed, refused in ROUTES:
                if body and "conversation_id" in body:
                    body = {**body, "conversation_id": self.conversation.id}
                with self.subTest(who=who, method=method, path=path, body=body):
                    status, _data = self._call(method, path.format(**self.ids), body)
                    if who in allowed:
                        self.assertIn(status, (200, 201))
                    else:
                        self.assertEqual(status, 401 if who == "public" else refused)

    def test_what_is_refused_changes_nothing(self):
        for who in self._each_person():
            for (method, path), (allowed, refused) in REFUSALS.items():
                if who in allowed:
                    continue
                with self.subTest(who=who, method=method, path=path):
                    status, _data = self._call(method, path.format(**self.ids), None)
                    self.assertEqual(status, 401 if who == "public" else refused)
        self.assertTrue((self.server | self.user_server | self.personal).exists())

    def test_into_a_service(self):
        """Adding to a service: managers may, members may not, for others there is no such service."""
        document = {"mcpServers": {"a": {"url": "https://a.example.com/mcp"}}}
        for who in self._each_person():
            for path, body in ((SERVERS, NEW), ("/api/mcp/import", document)):
                with self.subTest(who=who, path=path):
                    place = {"cloud_service_id": self.service.id}
                    status, _data = self._call("POST", path, {**body, **place})
                    if who in MANAGERS:
                        self.assertEqual(status, 201)
                        added = self.service.user_mcp_server_ids - self.user_server
                        added.unlink()
                    elif who in MEMBERS:
                        self.assertEqual(status, 403)
                    else:
                        self.assertEqual(status, 401 if who == "public" else 404)

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
        own = self.personal.with_user(self.member)
        for name in (self.server.name, "nobody"):
            with self.subTest(name=name):
                with self.assertRaises(AccessError):
                    Server.create({"name": name, "url": "https://a.example.com/mcp"})
                with self.assertRaises(AccessError):
                    own.write({"name": name, **system})

    def test_lists_hold_nothing_of_others(self):
        for who in self._each_person():
            if who == "public":
                continue
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
                    self.assertNotIn("weather.example.com", str(listed))

    def test_portal(self):
        path = f"/my/services/{self.service.id}"
        for who in self._each_person():
            with self.subTest(who=who):
                page = self.url_open(path, allow_redirects=False)
                if who in MEMBERS | {"admin"}:
                    self.assertEqual(page.status_code, 200)
                    self.assertEqual(f'"{path}/mcp"' in page.text, who in MANAGERS - {"admin"})
                    self.assertIn("ai_owner", page.text)
                else:
                    self.assertEqual(page.status_code, 303)
                listed = self.url_open("/my/services").text
                self.assertEqual(f'"{path}"' in listed, who in MEMBERS | {"admin"})

    def test_portal_tabs(self):
        """Who may not see a tab is led to the nearest page that they may see."""
        path = f"/my/services/{self.service.id}"
        about, general = self.conversation.id, self._conversation(self.member).id
        seers, chat = MEMBERS | {"admin"}, f"{path}/chat"
        tabs = (  # with who sees it, and where the others who see the service are led
            (f"{path}/mcp", MANAGERS - {"admin"}, path),
            (chat, seers, None),
            (f"{chat}/{about}", {"member"}, chat),
            (f"{chat}/{general}", set(), chat),
            (f"{chat}/99999999", set(), chat),
        )
        for who in self._each_person():
            for tab, allowed, otherwise in tabs:
                with self.subTest(who=who, tab=tab):
                    page = self.url_open(tab, allow_redirects=False)
                    if who in allowed:
                        self.assertEqual(page.status_code, 200)
                        self.assertIn("AiChat" if "chat" in tab else "McpServers", page.text)
                        continue
                    self.assertEqual(page.status_code, 303)
                    target = urlparse(page.headers["Location"]).path
                    outside = "/web/login" if who == "public" else "/my/services"
                    self.assertEqual(target, otherwise if who in seers else outside)

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

    def test_templates_and_checks(self):
        for who in (*sorted(SIGNED_IN), "public"):
            with self.subTest(who=who):
                user = getattr(self, who)
                template = self.env.ref("woow_paas_platform.mcp_template_github").with_user(user)
                for record in (template, template.field_ids.browse(1)):
                    own = record.browse().with_user(user)
                    self.assertEqual(own.has_access("read"), who != "public")
                    self.assertEqual(own.has_access("write"), who == "admin")
                checks = self.env["woow_paas_platform.mcp_check"].with_user(user)
                self.assertEqual(checks.has_access("read"), who == "admin")
                self.assertFalse(checks.has_access("write"))
