"""Templates in the backend: made of a working server, taken out as a file, put in elsewhere."""

import base64
import json

from odoo import Command
from odoo.exceptions import AccessError, UserError, ValidationError
from odoo.tests import tagged

from .common import AiCase, OperatorFile
from .test_mcp_api import McpApiCase

TEMPLATE = "woow_paas_platform.mcp_template"
EXPORT, IMPORT = "/api/mcp/templates/export", "/api/mcp/templates/import"
WEATHER = {
    "id": "shared_weather",
    "name": "Weather",
    "category": "data",
    "url": "https://weather.example.com/mcp",
    "fields": [{"name": "token", "target": "api_key", "secret": True}],
}


@tagged("post_install", "-at_install")
class TestSaveAsTemplate(AiCase):
    def _save(self, server, user=None):
        action = server.with_user(user or self.admin).action_save_as_template()
        return self.env[TEMPLATE].browse(action["res_id"])

    def _connected(self, **values):
        self.server.write({"title": "Our weather", **values})
        self.server._set_state("connected")
        return self.server

    def test_servers_of_it_are_like_the_one_that_works(self):
        server = self._connected(
            url="https://weather.example.com/mcp?page=2&apiKey=in-the-address",
            api_key="sk-s3cret",
            headers_json=json.dumps({"X-Team": "blue"}),
            transport="streamable_http",
        )
        server._set_state("connected")
        template = self._save(server)
        self.assertEqual((template.code, template.name), ("weather", "Our weather"))
        self.assertFalse(template.for_owners)
        self.env.flush_all()
        for table in (template, template.field_ids):
            self.env.cr.execute(f"SELECT row_to_json(t)::text FROM {table._table} t")
            self.assertNotRegex(str(self.env.cr.fetchall()), "s3cret|blue|in-the-address")
        values = {"apiKey": "in-the-address", "api_key": "sk-s3cret", "x_team": "blue"}
        vals = template._server_vals(values)
        headers = json.dumps(vals.pop("headers"))
        other = self.env[server._name].create({"name": "b", "headers_json": headers, **vals})
        mine, theirs = server._server_spec(), other._server_spec()
        self.assertEqual(
            (mine.url, mine.request_headers, mine.transport),
            (theirs.url, theirs.request_headers, theirs.transport),
        )
        self.assertEqual(self._save(server).code, "weather_2")

    def test_a_sign_in_stays_one(self):
        server = self._connected(authorization="oauth_user")
        server._set_state("connected")
        self.assertEqual(self._save(server)._server_vals({})["authorization"], "oauth_user")

    def test_only_of_what_works_and_by_administrators(self):
        with self.assertRaises(UserError):
            self._save(self.server)
        self._connected()
        self.user_server._set_state("connected")
        for user in (self.owner, self.member, self.internal, self.stranger):
            with self.subTest(user=user.login), self.assertRaises(AccessError):
                self._save(self.user_server, user)

    def test_owners_see_it_once_it_is_offered(self):
        template = self._save(self._connected())
        Template, Field = self.env[TEMPLATE], self.env[f"{TEMPLATE}_field"]
        for offered in (False, True):
            template.for_owners = offered
            for user in (self.owner, self.internal):
                listed = Template.with_user(user)._listed()
                self.assertEqual(template in listed, offered)
                fields = Field.with_user(user).search([("template_id", "=", template.id)])
                self.assertEqual(fields, template.field_ids if offered else Field)
            with self.assertRaises(AccessError):
                template.with_user(self.owner).write({"name": "x"})


@tagged("post_install", "-at_install")
class TestTemplateFile(OperatorFile, McpApiCase):
    def setUp(self):
        super().setUp()
        self._apply("[mcp]\n")
        self.Template = self.env[TEMPLATE].with_context(active_test=False)

    def test_out_of_one_database_and_into_another(self):
        self._sign_in(self.admin)
        document = self._json("GET", EXPORT, None, 200)
        before = {template["id"] for template in document["mcpTemplates"]}
        self.assertLessEqual({"github", "filesystem", "slack"}, before)
        self.Template.search([]).unlink()
        answer = self._json("POST", IMPORT, document, 201)
        missing = {note["name"] for note in answer["notes"]}
        self.assertEqual(missing, {"filesystem", "postgresql", "slack", "brave_search"})
        self.assertEqual({t["id"] for t in answer["templates"]}, before - missing)
        self._apply('[[mcp.templates]]\nname = "slack"\n')
        self._json("POST", IMPORT, document, 201)
        self.assertTrue(self.Template.search([("code", "=", "slack")]))
        one = self._json("GET", f"{EXPORT}?ids=github", None, 200)["mcpTemplates"]
        (before,) = [t for t in document["mcpTemplates"] if t["id"] == "github"]
        self.assertEqual(one, [before])

    def test_what_is_there_already_stays(self):
        self._sign_in(self.admin)
        github = self.Template.search([("code", "=", "github")])
        evil = {**WEATHER, "id": "github", "url": "https://evil.example.com/mcp"}
        answer = self._json("POST", IMPORT, {"mcpTemplates": [evil, WEATHER]}, 201)
        self.assertEqual([note["name"] for note in answer["notes"]], ["github"])
        self.assertEqual(github.url, "https://api.githubcopilot.com/mcp/")
        new = self.Template.search([("code", "=", "shared_weather")])
        self.assertEqual((new.for_owners, new.field_ids.mapped("target")), (False, ["api_key"]))

    def test_a_command_is_in_no_file(self):
        self._sign_in(self.admin)
        for entry in (
            {**WEATHER, "command": "sh"},
            {"id": "shell", "name": "x", "category": "data", "transport": "stdio"},
            {"id": "slack", "name": "x", "category": "data", "transport": "stdio"},
        ):
            error = self._error("POST", IMPORT, 422, "nothing_imported", {"mcpTemplates": [entry]})
            self.assertEqual(len(error["details"]["notes"]), 1)
        self._error("POST", IMPORT, 422, "config_error", {"mcpTemplates": []})
        self._error("POST", IMPORT, 400, "invalid_field", {"mcpTemplates": "x"})

    def test_a_file_in_the_backend(self):
        Import = self.env["woow_paas_platform.template_import"].with_user(self.admin)
        for raw in (b"", b"no JSON", b"[" * 100_000, b"{}", b"\xff\xfe", b" " * 1_100_000 + b"{}"):
            wizard = Import.create({"file": base64.b64encode(raw or b" ")})
            with self.subTest(raw=raw[:10]), self.assertRaises(UserError):
                wizard.action_import()
        raw = json.dumps({"mcpTemplates": [WEATHER, {**WEATHER, "id": "X"}]}).encode()
        action = Import.create({"file": base64.b64encode(raw)}).action_import()
        self.assertEqual(action["params"]["type"], "warning")
        new = self.Template.search([("code", "=", "shared_weather")])
        self.assertEqual(new.with_user(self.admin).action_export()["target"], "download")

    def test_what_the_form_takes(self):
        github = self.Template.search([("code", "=", "github")]).with_user(self.admin)
        copy = github.copy()
        self.assertEqual((copy.code, len(copy.field_ids)), ("github_2", len(github.field_ids)))
        token = github.field_ids.filtered(lambda field: field.target == "api_key")
        for vals in (
            {"website": "javascript:alert(1)"},
            {"url": "file:///etc/passwd"},
            {"url": "https://api.githubcopilot.com/mcp?api_key=s3cret"},
            {"url": f"https://api.githubcopilot.com/{{{token.name}}}"},
            {"url": False},
            {"code": "Git Hub"},
            {"icon": 'fa-x" onload="'},
            {"description": "x" * 2001},
            {"field_ids": [Command.update(token.id, {"name": "a b"})]},
            {"field_ids": [Command.update(token.id, {"target": "header", "header": "a\nb"})]},
        ):
            with (
                self.subTest(vals=vals),
                self.assertRaisesRegex(ValidationError, "^GitHub: "),
                self.env.cr.savepoint(),
            ):
                github.write(vals)

    def test_a_template_of_before_whose_address_holds_a_key_is_not_exported(self):
        self._sign_in(self.admin)
        github = self.Template.search([("code", "=", "github")])
        self.env.cr.execute(
            "UPDATE woow_paas_platform_mcp_template SET url = %s WHERE id = %s",
            ["https://api.example.com/mcp?api_key=s3cret", github.id],
        )
        self.env.invalidate_all()
        answer = self.url_open(f"{EXPORT}?ids=github")
        self.assertEqual(answer.status_code, 422, answer.text)
        self.assertIn("contains a key", answer.text)
        self.assertNotIn("s3cret", answer.text)

    def test_what_the_operator_has_to_add(self):
        slack = self.Template.search([("code", "=", "slack")]).with_user(self.admin)
        self.assertIn('name = "slack"', slack.operator_lines)
        self._apply('[[mcp.templates]]\nname = "slack"\n')
        slack.invalidate_recordset()
        self.assertFalse(slack.operator_lines)
