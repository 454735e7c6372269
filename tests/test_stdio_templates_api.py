"""Templates with a command over the API."""

from dataclasses import replace
from unittest.mock import patch

from odoo.tests import tagged

from ..tools import settings
from .test_mcp_api import SERVERS, McpApiCase
from .test_mcp_server import discovery
from .test_mcp_server import tool as found
from .test_stdio_templates import COMMANDS, DSN, ENVIRONMENTS, POSTGRESQL, SERVER, SLACK, Released


@tagged("post_install", "-at_install")
class TestStdioTemplatesApi(Released, McpApiCase):
    def _offered(self, scope=""):
        answer = self._json("GET", f"/api/mcp/templates{scope}", None, 200)
        return {template["id"]: template for template in answer["templates"]}

    def test_an_administrator_adds_one(self):
        self._sign_in(self.admin)
        offered = self._offered()
        available = {code for code in COMMANDS if offered[code]["available"]}
        self.assertEqual(available, {"filesystem", "postgresql"})
        self.assertTrue(all(offered[code]["is_command"] for code in COMMANDS))
        self.assertEqual(offered["postgresql"]["operator_lines"], "")
        self.assertIn('name = "slack"', offered["slack"]["operator_lines"])
        self.assertEqual(
            (offered["github"]["available"], offered["github"]["operator_lines"]), (True, "")
        )
        self.assertTrue(offered["postgresql"]["is_system_only"])
        self.assertFalse(offered["github"]["is_system_only"])
        self.assertEqual(
            [(f["name"], f["required"], f["secret"]) for f in offered["postgresql"]["fields"]],
            [("connection_string", True, True)],
        )
        body = {
            "template": "postgresql",
            "values": {"connection_string": f" {DSN} "},
            "scope": "system",
            "name": "shop",
            "trust_level": "annotations",
        }
        added = self._json("POST", SERVERS, body, 201)
        self.assertEqual(
            (added["name"], added["transport"], added["template"], added["trust_level"]),
            ("shop", "stdio", "postgresql", "annotations"),
        )
        path = f"{SERVERS}/{added['id']}"
        new = {"values": {"connection_string": DSN.replace("reader", "auditor")}}
        self._json("PUT", path, new, 200)
        spec = self.env[SERVER].browse(added["id"])._server_spec()
        self.assertIn("auditor", spec.env["DSN"])
        for answer in (added, self._json("GET", path), self._json("GET", SERVERS)):
            self.assertNotIn("s3cret", str(answer))
        self._json("DELETE", path, None, 204)

    def test_the_folder_in_the_empty_field_is_accepted(self):
        def shown(scope):
            return self._offered(scope)["filesystem"]["field_placeholders"]["allowed_roots"]

        self._sign_in(self.admin)
        values = {"allowed_roots": shown("?scope=system")}
        self.assertEqual(values, {"allowed_roots": str(self.root)})
        body = {"template": "filesystem", "values": values, "scope": "system", "name": "files"}
        self._json("POST", SERVERS, body, 201)
        self.assertEqual(shown("?scope=user"), "")
        self._sign_in(self.owner)
        self.assertEqual((shown(""), shown("?scope=system")), ("", ""))

    def test_bad_input(self):
        self._sign_in(self.admin)
        files, shop = {"template": "filesystem"}, {"template": "postgresql"}
        for status, code, body in (
            (422, "refused", {**files}),  # for the caller alone
            (422, "refused", {**files, "cloud_service_id": self.service.id}),
            (422, "refused", {**files, "scope": "system", "values": {"allowed_roots": "/etc"}}),
            (422, "refused", {**files, "scope": "system", "values": {"command": "sh"}}),
            (422, "refused", {**shop, "scope": "system"}),
            (
                422,
                "refused",
                {**shop, "scope": "system", "values": {"connection_string": "--help"}},
            ),
            (400, "invalid_field", {**files, "scope": "system", "url": "https://x.org"}),
            (400, "invalid_field", {**files, "scope": "system", "headers": {"X": "y"}}),
            (400, "invalid_field", {**files, "scope": "system", "transport": "auto"}),
            (422, "refused", {"template": "slack", "scope": "system", "values": {}}),
            (404, "not_found", {"template": "shell", "scope": "system", "values": {}}),
        ):
            with self.subTest(body=body):
                error = self._error("POST", SERVERS, status, code, body)
                self.assertNotIn("--help", str(error))
        self.assertFalse(self.Server.search([("transport", "=", "stdio")]))

    def test_others_see_what_the_operator_would_have_to_add(self):
        for user in (self.owner, self.stranger, self.internal):
            self._sign_in(user)
            offered = self._offered()
            for code in COMMANDS:
                self.assertFalse(offered[code]["available"])
                self.assertTrue(offered[code]["is_system_only"])
                self.assertIn("owners = true", offered[code]["operator_lines"])
                self.assertNotIn(str(self.root), str(offered[code]))
            for scope, expected in (
                ({"scope": "system"}, (403, "forbidden")),
                ({"scope": "user"}, (422, "refused")),
                ({}, (422, "refused")),
            ):
                body = {"template": "filesystem", "values": {}, **scope}
                self._error("POST", SERVERS, *expected, body)
        self._error("GET", "/api/mcp/templates?scope=x", 400, "invalid_field")

    def test_the_environment_dates_and_the_rest_of_the_design(self):
        self._apply(POSTGRESQL + ENVIRONMENTS)
        self._sign_in(self.admin)
        postgresql = self._offered()["postgresql"]
        self.assertEqual(
            [one["env_type"] for one in postgresql["environments"]],
            ["dynamic_injected", "custom_image"],
        )
        self.assertEqual(postgresql["default_config"]["env_type"], "dynamic_injected")
        self.assertEqual(postgresql["required_fields"], ["connection_string"])
        self.assertEqual(postgresql["optional_fields"], [])
        for name in ("field_labels", "field_placeholders", "field_help_texts"):
            self.assertEqual([*postgresql[name]], ["connection_string"])
        body = {
            "template": "postgresql",
            "values": {"connection_string": DSN},
            "scope": "system",
            "auto_start": True,
            "env_type": "custom_image",
            "env_config": {"image": "dbhub:1"},
        }
        added = self._json("POST", SERVERS, body, 201)
        self.assertEqual((added["env_type"], added["auto_start"]), ("custom_image", True))
        self.assertEqual(added["env_config"], {"image": "dbhub:1"})
        self.assertTrue(added["created_at"] and added["updated_at"])
        path = f"{SERVERS}/{added['id']}"
        changed = self._json(
            "PUT",
            path,
            {"env_type": "dynamic_injected"}
            | {"env_config": postgresql["environments"][0]["env_config"], "auto_start": False},
            200,
        )
        self.assertEqual((changed["env_type"], changed["auto_start"]), ("dynamic_injected", False))
        evil = {"env_type": "custom_image", "env_config": {"image": "evil"}}
        self._error("PUT", path, 422, "refused", evil)
        self._error("PUT", path, 400, "invalid_field", {"env_type": "shell"})
        self._error("POST", SERVERS, 422, "refused", {"url": "https://x.example.com/mcp", **evil})
        self._error("POST", SERVERS, 422, "refused", {**body, **evil})
        self._error("POST", SERVERS, 400, "invalid_field", {**body, "api_key_env": "HOME"})
        plain = {"url": "https://plain.example.com/mcp", "scope": "system"}
        self.assertIsNone(self._json("POST", SERVERS, plain, 201)["env_type"])

    def test_a_key_of_the_environment_is_one_that_the_operator_has_released(self):
        options = replace(settings.get(), released_env=("WEATHER_KEY",))
        self.enterContext(patch.object(settings, "get", lambda: options))
        self._sign_in(self.admin)
        path = f"{SERVERS}/{self.server.id}"
        self.assertEqual(
            self._json("PUT", path, {"api_key_env": "WEATHER_KEY"}, 200)["api_key_env"],
            "WEATHER_KEY",
        )
        self._error("PUT", path, 422, "invalid", {"api_key_env": "HOME"})
        self.assertEqual(self._json("PUT", path, {"api_key_env": ""}, 200)["api_key_env"], "")
        self._sign_in(self.owner)
        own = f"{SERVERS}/{self.user_server.id}"
        self._error("PUT", own, 422, "invalid", {"api_key_env": "WEATHER_KEY"})
        self.assertNotIn("created_at", self._json("GET", path))
        self.assertTrue(self._json("GET", own)["created_at"])

    def test_an_owner_adds_one_where_the_operator_says_so(self):
        self._apply(self.filesystem + self.for_owners + SLACK)
        self._sign_in(self.owner)
        offered = self._offered()
        self.assertTrue(offered["filesystem"]["available"])
        self.assertFalse(offered["filesystem"]["is_system_only"])
        body = {"template": "slack", "values": {"bot_token": "xoxb-s3cret"}}
        added = self._json("POST", SERVERS, {**body, "cloud_service_id": self.service.id}, 201)
        self.assertEqual((added["scope"], added["template"]), ("user", "slack"))
        path = f"{SERVERS}/{added['id']}"
        self._json("PUT", path, {"values": {"bot_token": "xoxb-another"}}, 200)
        spec = self.env[SERVER].browse(added["id"])._server_spec()
        self.assertEqual(spec.env["SLACK_MCP_XOXB_TOKEN"], "xoxb-another")
        self.assertNotIn("xoxb", str(self._json("GET", path)))
        trusted = self._json("PUT", path, {"trust_level": "annotations"}, 200)
        self.assertEqual(trusted["trust_level"], "annotations")
        self.env[SERVER].browse(added["id"])._apply_discovery(discovery(found("post")))
        tool = self.env[SERVER].browse(added["id"]).tool_ids
        path_of_tool = f"/api/mcp/tools/{tool.id}"
        told = self._json("PATCH", path_of_tool, {"approval_policy": "never"}, 200)
        self.assertEqual((told["approval_policy"], tool.approval_policy), ("never", "never"))
        self._sign_in(self.stranger)
        self._error("PATCH", path_of_tool, 404, "not_found", {"approval_policy": "auto"})
        self._error("GET", path, 404, "not_found")
        self._error(
            "POST", SERVERS, 404, "not_found", {**body, "cloud_service_id": self.service.id}
        )
