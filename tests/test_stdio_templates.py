"""Templates of servers with a command: released by the operator to administrators, and to owners where that is said."""

import tempfile
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

from odoo.exceptions import AccessError, UserError
from odoo.tests import tagged
from odoo.tools import mute_logger
from odoo.tools.misc import file_open
from psycopg2 import IntegrityError

from ..services.errors import ConfigError
from ..tools import settings
from .common import AiCase, OperatorFile
from .test_mcp_api import SERVERS, McpApiCase

SERVER = "woow_paas_platform.mcp_server"
TEMPLATE = "woow_paas_platform.mcp_template"
COMMANDS = {"filesystem", "postgresql", "slack", "brave_search"}
DSN = "postgresql://reader:s3cret-w0rd@db.example.com/shop"
SLACK = '[[mcp.templates]]\nname = "slack"\nowners = true\n'
ENVIRONMENTS = (
    'environments = [{ env_type = "custom_image", env_config = { image = "dbhub:1" } }]\n'
)
POSTGRESQL = '[[mcp.templates]]\nname = "postgresql"\n'


class Released(OperatorFile):
    """The operator releases the file system, below one folder, and PostgreSQL."""

    def setUp(self):
        super().setUp()
        self.root = Path(self.enterContext(tempfile.TemporaryDirectory())).resolve()
        (self.root / "team").mkdir()
        self.filesystem = f'[[mcp.templates]]\nname = "filesystem"\nroots = ["{self.root}"]\n'
        self._apply(self.filesystem + POSTGRESQL)

        self.workspaces = Path(self.enterContext(tempfile.TemporaryDirectory())).resolve()
        self.for_owners = f'owners = true\nworkspace_root = "{self.workspaces}"\n'

    def _add(self, code, user=None, service=None, **values):
        user = user or self.admin
        template = self.env[TEMPLATE].search([("code", "=", code)])
        place = {"scope": "user", "cloud_service_id": service.id} if service else {}
        vals = {"name": code, "scope": "system", **place}
        Server = self.Server.with_user(user)
        return Server._create_of_template(template.with_user(user), values, vals)


@tagged("post_install", "-at_install")
class TestReleases(Released, AiCase):
    def test_what_is_filled_in_is_started_and_stands_nowhere(self):
        server = self._add("postgresql", connection_string=DSN)
        self.assertEqual(
            (server.scope, server.transport, server.state), ("system", "stdio", "draft")
        )
        spec = server._server_spec()
        self.assertIn("@bytebase/dbhub@1.4.0", spec.command)
        self.assertEqual(spec.env["DSN"], DSN)
        self.assertGreater(spec.connect_timeout, server.connect_timeout)  # the package is fetched
        self.env.flush_all()
        self.env.cr.execute(f"SELECT row_to_json(s)::text FROM {server._table} s")
        self.assertNotIn("s3cret", str(self.env.cr.fetchall()))
        columns = [name for name, field in server._fields.items() if not field.groups]
        self.assertNotIn("s3cret", str(server.read(columns)))
        with self.assertRaises(AccessError):
            server.read(["template_values_encrypted"])
        self.assertNotIn(server.name, server._export_servers()["mcpServers"])

    def test_values_are_changed_and_the_rest_is_not(self):
        server = self._add("filesystem")
        self.assertEqual(server._server_spec().command[-1], str(self.root))
        server._change_template_values({"allowed_roots": f"{self.root}/team"})
        self.assertEqual(server._server_spec().command[-1], str(self.root / "team"))
        with self.assertRaises(UserError):
            server._change_template_values({"allowed_roots": "/etc"})
        server._change_template_values({"allowed_roots": ""})
        self.assertEqual(server._server_spec().command[-1], str(self.root))
        for vals in (
            {"transport": "auto", "url": "https://x.example.com"},
            {"scope": "user", "owner_user_id": self.admin.id},
        ):
            with self.subTest(vals=vals), self.assertRaises(UserError):
                server.write(vals)
        server.write({"name": "files", "call_timeout": 99, "trust_level": "annotations"})
        self.assertEqual(server._server_spec().call_timeout, 99)
        with self.assertRaises(UserError):
            self.server.with_user(self.admin)._change_template_values({"url": "x"})

    def test_what_is_withdrawn_stops_and_may_come_back(self):
        files, shop = self._add("filesystem"), self._add("postgresql", connection_string=DSN)
        self._apply(POSTGRESQL)
        self.assertEqual((files.active, files.state), (False, "disabled"))
        self.assertIn("no longer enabled", files.state_sentence)
        self.assertEqual((shop.active, shop.state), (True, "draft"))
        with self.assertRaises(ConfigError):
            files._server_spec()
        self._apply(self.filesystem + POSTGRESQL)
        self.assertEqual((files.active, files.state), (True, "draft"))

    def test_what_an_administrator_switched_off_stays_off(self):
        files = self._add("filesystem")
        files.active = False
        self._apply(POSTGRESQL)
        self._apply(self.filesystem)
        self.assertFalse(files.active)

    def test_a_release_that_changes_counts_for_the_servers_that_are_there(self):
        files = self._add("filesystem", allowed_roots=f"{self.root}/team")
        files._set_state("connected")
        self._apply(self.filesystem + 'env = { NODE_ENV = "production" }\n')
        self.assertEqual((files.active, files.state), (True, "draft"))
        self.assertEqual(files._server_spec().env["NODE_ENV"], "production")
        self._apply(self.filesystem.replace(str(self.root), f"{self.root}/other"))
        self.assertFalse(files.active)
        self.assertIn("not inside a folder that the operator has released", files.state_sentence)

    def test_a_copy_of_the_database_starts_nothing(self):
        files = self._add("filesystem", allowed_roots=f"{self.root}/team")
        self.env.flush_all()
        with file_open("woow_paas_platform/data/neutralize.sql") as file:
            self.env.cr.execute(file.read())
        self.env.invalidate_all()
        self.assertFalse(files.active)
        with self.assertRaises(ConfigError):  # not: all folders
            files._server_spec()
        files._change_template_values({"allowed_roots": f"{self.root}/team"})
        self.assertEqual(files._server_spec().command[-1], str(self.root / "team"))


@tagged("post_install", "-at_install")
class TestNobodyElse(Released, AiCase):
    """Over RPC, whatever is tried: no command of a person's own, and no server of a template but by its form."""

    def _claims(self, user):
        own = {"name": "x", "scope": "user", "owner_user_id": user.id}
        system = {"name": "x", "scope": "system", "owner_user_id": False}
        service = {"name": "x", "scope": "user", "owner_user_id": False}
        service["cloud_service_id"] = self.service.id
        for vals in (own, system, service):
            yield {**vals, "transport": "stdio"}
            yield {**vals, "transport": "stdio", "template_code": "filesystem"}
            yield {**vals, "transport": "stdio", "managed_by_file": True}
            yield {**vals, "transport": "stdio", "template_values_encrypted": "x"}

    def _refused(self, attempt, *args):
        """By the rules, or by the database itself."""
        try:
            with self.env.cr.savepoint():
                attempt(*args)
                self.env.flush_all()
        except (AccessError, IntegrityError):
            return
        self.fail("It was not refused.")

    @mute_logger("odoo.sql_db")
    def test_by_no_route(self):
        files = self._add("filesystem")
        for user in (self.stranger, self.owner, self.internal, self.admin):
            Server = self.Server.with_user(user)
            own = {"name": "mine", "scope": "user", "owner_user_id": user.id}
            mine = Server.create({**own, "url": "https://mine.example.com"})
            for vals in self._claims(user):
                by_context = {f"default_{name}": value for name, value in vals.items()}
                with self.subTest(user=user.login, vals=vals):
                    self._refused(Server.create, vals)
                    self._refused(mine.write, vals)
                    self._refused(mine.copy, vals)
                    self._refused(Server.with_context(**by_context).create, {"name": "x"})
            with self.subTest(user=user.login):
                theirs = files.with_user(user)
                self._refused(theirs.copy)
                self._refused(theirs.write, {"template_code": "postgresql"})
                if user != self.admin:
                    self._refused(theirs.action_change_template_values)
                    self._refused(theirs._change_template_values, {})
                    self._refused(theirs.write, {"name": "y"})
                    self._refused(theirs.unlink)
        self.assertEqual(self.Server.search([("transport", "=", "stdio")]), files)

    def test_an_import_makes_none(self):
        for user in (self.stranger, self.admin):
            Server = self.Server.with_user(user)
            fields = ["name", "transport", "template_code", "scope"]
            told = Server.load(fields, [["x", "stdio", "filesystem", "system"]])
            self.assertFalse(told["ids"], told)
        self.assertFalse(self.Server.search([("transport", "=", "stdio")]))

    def test_making_one_needs_an_administrator_even_from_inside(self):
        template = self.env[TEMPLATE].search([("code", "=", "filesystem")])
        for user in (self.stranger, self.internal):
            with self.assertRaises(AccessError), self.env.cr.savepoint():
                self.Server.with_user(user)._create_of_template(
                    template, {}, {"name": "x", "scope": "system"}
                )

    def test_who_sees_the_templates(self):
        Template = self.env[TEMPLATE]
        shell = {"code": "shell", "name": "Shell", "category": "data", "transport": "stdio"}
        Template.with_user(self.admin).create(shell)
        Template.search([("code", "=", "slack")]).for_owners = False
        for user, expected in (
            (self.admin, COMMANDS),
            (self.stranger, COMMANDS - {"slack"}),
            (self.internal, COMMANDS - {"slack"}),
        ):
            codes = set(Template.with_user(user)._listed().mapped("code"))
            self.assertEqual(COMMANDS & codes, expected)
            self.assertNotIn("shell", codes)
            fields = self.env[f"{TEMPLATE}_field"].with_user(user).search([])
            self.assertEqual("slack" in fields.template_id.mapped("code"), "slack" in expected)


@tagged("post_install", "-at_install")
class TestOwners(Released, AiCase):
    """Where the operator says so, cloud services have such servers, each workspace apart from the others."""

    def setUp(self):
        super().setUp()
        self._apply(self.filesystem + self.for_owners)
        self.their_service = self.env["woow_paas_platform.cloud_service"].create(
            {"name": "theirs", "workspace_id": self.other_workspace.id}
        )

    def _folder(self, server):
        return server._server_spec().command[-1]

    def test_each_workspace_has_a_folder_of_its_own(self):
        ours = self._add("filesystem", self.owner, self.service)
        theirs = self._add("filesystem", self.stranger, self.their_service)
        shared = self._add("filesystem")
        self.assertEqual(self._folder(ours), str(self.workspaces / self.workspace.folder))
        self.assertEqual(self._folder(theirs), str(self.workspaces / self.other_workspace.folder))
        self.assertEqual(self._folder(shared), str(self.root))
        for folder in (str(self.root), f"{self.workspaces}/{self.other_workspace.folder}"):
            with self.assertRaises(UserError):
                ours._change_template_values({"allowed_roots": folder})
        for user in (self.stranger, self.member, self.guest, self.internal):
            with self.subTest(user=user.login):
                self.assertFalse(ours.with_user(user).has_access("read"))
                with self.assertRaises(AccessError), self.env.cr.savepoint():
                    self._add("filesystem", user, self.service)

    def test_nobody_takes_the_folder_of_another_workspace(self):
        for values in ({"folder": self.other_workspace.folder}, {"folder": "../x"}):
            with self.assertRaises(AccessError):
                self.workspace.with_user(self.admin).write(values)
            with self.assertRaises(AccessError):
                self.workspace.with_user(self.admin).create({"name": "x", **values})
        self.assertNotEqual(self.workspace.copy().folder, self.workspace.folder)

    def test_a_person_alone_has_none(self):
        template = self.env[TEMPLATE].search([("code", "=", "filesystem")])
        vals = {"name": "x", "scope": "user", "owner_user_id": self.owner.id}
        with self.assertRaisesRegex(UserError, "belong to a cloud service"):
            self.Server.with_user(self.owner)._create_of_template(template, {}, vals)

    def test_what_owners_may_not_use_any_more_stops(self):
        ours, shared = self._add("filesystem", self.owner, self.service), self._add("filesystem")
        self._apply(self.filesystem)
        self.assertEqual((ours.active, ours.state, shared.active), (False, "disabled", True))
        self.assertIn("not enabled this template for cloud services", ours.state_sentence)
        with self.assertRaises(ConfigError):
            ours._server_spec()
        self._apply(self.filesystem + self.for_owners)
        self.assertTrue(ours.active)

    def test_a_service_that_moves_leaves_its_values_behind(self):
        self._apply(self.filesystem + self.for_owners + SLACK)
        files = self._add("filesystem", self.owner, self.service)
        slack = self._add("slack", self.owner, self.service, bot_token="xoxb-s3cret")
        self.service.workspace_id = self.other_workspace
        files, slack = files.with_env(self.env), slack.with_env(self.env)  # no longer the owner's
        for server in files | slack:
            self.assertEqual((server.active, server.state), (False, "disabled"))
            self.assertFalse(server.sudo().template_values_encrypted)
            with self.assertRaises(ConfigError):
                server._server_spec()
        files.with_user(self.stranger)._change_template_values({})
        files.with_user(self.stranger).active = True
        self.assertEqual(self._folder(files), str(self.workspaces / self.other_workspace.folder))

    @mute_logger("odoo.sql_db")
    def test_a_server_stays_where_it_was_made(self):
        files = self._add("filesystem", self.owner, self.service)
        for vals in (
            {"cloud_service_id": self.their_service.id},
            {"cloud_service_id": False, "owner_user_id": self.owner.id},
            {"scope": "system", "cloud_service_id": False},
        ):
            for user in (self.owner, self.admin):
                with self.subTest(vals=vals), self.assertRaises(UserError):
                    files.with_user(user).write(vals)


@tagged("post_install", "-at_install")
class TestEnvironments(Released, AiCase):
    """Administrators choose how a server starts, among what the operator's file says."""

    def setUp(self):
        super().setUp()
        self._apply(POSTGRESQL + ENVIRONMENTS)
        self.shop = self._add("postgresql", connection_string=DSN)

    def test_one_of_those_that_are_released(self):
        self.assertIn("npx", self.shop._server_spec().command)
        self.shop._choose_environment("custom_image", {"image": "dbhub:1"})
        self.assertIn("dbhub:1", self.shop._server_spec().command)
        self.assertEqual(self.shop._environment(), ("custom_image", {"image": "dbhub:1"}))
        for chosen in (("custom_image", {"image": "evil"}), ("preinstalled", {})):
            with self.subTest(chosen=chosen), self.assertRaises(UserError):
                self.shop._choose_environment(*chosen)
        with self.assertRaises(UserError):
            self.server.with_user(self.admin)._choose_environment("custom_image", {})

    def test_what_leaves_the_file_is_not_started(self):
        self.shop._choose_environment("custom_image", {"image": "dbhub:1"})
        self._apply(POSTGRESQL)
        self.assertEqual((self.shop.active, self.shop.state), (False, "disabled"))
        self.assertIn("has not released this environment", self.shop.state_sentence)
        with self.assertRaises(ConfigError):
            self.shop._server_spec()
        self._apply(POSTGRESQL + ENVIRONMENTS)
        self.assertIn("dbhub:1", self.shop._server_spec().command)

    def test_what_is_written_to_the_row_by_any_route_starts_nothing(self):
        for vals in ({"env_type": "custom_image"}, {"env_config": {"image": "evil"}}):
            with self.subTest(vals=vals), self.assertRaises(AccessError):
                self.shop.write(vals)
        self.shop.sudo().write({"env_type": "custom_image", "env_config": {"image": "evil"}})
        with self.assertRaises(ConfigError):
            self.shop._server_spec()

    def test_owners_do_not_choose(self):
        self._apply(SLACK + ENVIRONMENTS)
        slack = self._add("slack", self.owner, self.service, bot_token="xoxb-1")
        with self.assertRaises(AccessError):
            slack._choose_environment("custom_image", {"image": "dbhub:1"})


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
        self._sign_in(self.stranger)
        self._error("GET", path, 404, "not_found")
        self._error(
            "POST", SERVERS, 404, "not_found", {**body, "cloud_service_id": self.service.id}
        )
