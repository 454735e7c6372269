"""Keys that each person adds for a shared server: who sees them, and which chats they serve."""

from odoo.exceptions import AccessError, ValidationError
from odoo.tests import tagged

from ..services.errors import KeyMissing
from .test_mcp_api import McpApiCase

CONNECTIONS = "/api/mcp/connections"


@tagged("post_install", "-at_install")
class TestServerCredential(McpApiCase):
    @classmethod
    def _make_data(cls):
        super()._make_data()
        cls.server.write({"wants_own_keys": True, "api_key": "shared-secret"})
        cls.Credential = cls.env["woow_paas_platform.server_credential"]

    def setUp(self):
        super().setUp()
        self.path = f"{CONNECTIONS}/{self.server.id}"

    def _keep(self, user, key):
        return self.Credential._keep(self.server, user, key)

    def _spec_of(self, turn):
        (spec,) = [s for s in turn._turn_request().servers if s.id == self.server.id]
        return spec

    # ------------------------------------------------------------ who sees what

    def test_nobody_reads_a_key(self):
        row = self._keep(self.member, "member-secret")
        self.env.flush_all()
        self.env.cr.execute("SELECT api_key_encrypted FROM woow_paas_platform_server_credential")
        self.assertNotIn("member-secret", str(self.env.cr.fetchall()))
        for user in (self.admin, self.member):
            seen = row.with_user(user)
            self.env.invalidate_all()
            self.assertNotIn("member-secret", str(seen.read()))
            self.assertTrue(seen.has_api_key)
            with self.assertRaises(AccessError):
                seen.read(["api_key_encrypted"])
            with self.assertRaises(AccessError):
                seen.write({"api_key": "another"})
            with self.assertRaises(AccessError):
                self.Credential.with_user(user).create(
                    {"server_id": self.server.id, "user_id": user.id, "api_key": "x"}
                )

    # ------------------------------------------------------------ which chats it serves

    def test_each_person_has_a_session_of_their_own(self):
        self._keep(self.member, "member-secret")
        self._keep(self.stranger, "stranger-secret")
        specs = [self._spec_of(self._ask(user).sudo()) for user in (self.member, self.stranger)]
        self.assertEqual([s.api_key for s in specs], ["member-secret", "stranger-secret"])
        self.assertNotEqual(specs[0].fingerprint, specs[1].fingerprint)
        self.assertEqual(self.server._server_spec().api_key, "shared-secret", "for its tools")

    def test_without_a_key_only_this_server_is_withheld(self):
        turn = self._ask(self.member, service=self.service).sudo()
        request = turn._turn_request()
        self.assertEqual([s.name for s in request.servers], ["flows"])
        problems = {tool.name: tool.problem for tool in request.tools}
        self.assertIn("AI settings", problems["forecast"])
        self.assertFalse(problems["run_flow"])
        self.assertNotIn("shared-secret", str(request))

    def test_where_others_read_along_it_is_not_used(self):
        channel = self.env["discuss.channel"].create({"name": "General"})
        self._keep(self.internal, "internal-secret")
        turn = self._ask(self.internal).sudo()
        turn.channel_id = channel
        request = turn._turn_request()
        self.assertFalse(request.servers)
        self.assertIn("others can read the conversation", request.tools[0].problem)

    def test_a_key_that_was_removed_serves_no_more(self):
        row = self._keep(self.member, "member-secret")
        self.assertIsNone(self.server._key_problem(self.member))
        row.with_user(self.member).unlink()
        self.assertIsInstance(self.server._key_problem(self.member), KeyMissing)

    def test_a_key_stays_where_it_was_entered_for(self):
        self._keep(self.member, "member-secret")
        self.server.url = f"{self.server.url}/v2"
        self.assertIsNone(self.server._key_problem(self.member), "the same origin")
        self.server.url = "https://elsewhere.example.org/mcp"
        self.assertFalse(self.Credential.search([("server_id", "=", self.server.id)]))

    def test_only_shared_servers_with_an_address_can_want_keys(self):
        with self.assertRaises(ValidationError):
            self.user_server.wants_own_keys = True
        for oauth in ("oauth_server", "oauth_user"):
            with self.subTest(oauth=oauth), self.assertRaisesRegex(ValidationError, "Switch off"):
                self.server.authorization = oauth
        self.server.wants_own_keys = False
        self.server.authorization = "oauth_user"
        with self.assertRaises(ValidationError):
            self.server.wants_own_keys = True

    # ------------------------------------------------------------ the API and the page

    def test_add_replace_and_remove(self):
        self._sign_in(self.member)
        (listed,) = self._json("GET", CONNECTIONS, expect=200)["connections"]
        self.assertEqual((listed["server"]["name"], listed["has_key"]), ("weather", False))
        for key in ("first-secret", "second-secret"):
            told = self._json("PUT", self.path, {"api_key": f" {key}\n"}, 200)
            self.assertTrue(told["has_key"] and told["key_since"])
            self.assertNotIn("secret", str(told))
            self.env.invalidate_all()
            self.assertEqual(self._spec_of(self._ask(self.member).sudo()).api_key, key)
        self._json("DELETE", self.path, expect=204)
        self._error("DELETE", self.path, 404, "not_found")
        self.assertFalse(self._json("GET", CONNECTIONS)["connections"][0]["has_key"])

    def test_what_cannot_be_a_key_is_refused(self):
        self._sign_in(self.member)
        for key in ("", "  ", "two\nlines", "ключ", "x" * 5000):
            with self.subTest(key=key[:10]):
                self._error("PUT", self.path, 400, "invalid_field", {"api_key": key})
        other = f"{CONNECTIONS}/{self.user_server.id}"
        self._error("PUT", other, 404, "not_found", {"api_key": "k"})
        self.opener.cookies.clear()
        self._error("PUT", self.path, 401, "unauthenticated", {"api_key": "k"})

    def test_a_key_stays_removable_when_the_server_wants_none_any_more(self):
        self._keep(self.member, "k")
        self.server.wants_own_keys = False
        self._sign_in(self.member)
        self.assertEqual(len(self._json("GET", CONNECTIONS)["connections"]), 1)
        self._json("DELETE", self.path, expect=204)
        self.assertFalse(self._json("GET", CONNECTIONS)["connections"])

    def test_a_direct_call_without_a_key_says_where_to_add_one(self):
        self._sign_in(self.member)
        body = {"toolName": "forecast", "arguments": {}}
        status, data = self._call("POST", "/api/mcp/execute-tool", body)
        self.assertEqual((status, data["error"]["code"]), (422, "key_missing"))
        self.assertIn("AI settings", data["error"]["message"])

    def test_the_page(self):
        self._sign_in(self.member)
        self.assertIn("AiConnections", self.url_open("/my/ai/connections").text)
        self.assertIn("/my/ai/connections", self.url_open("/my/ai-servers").text)
