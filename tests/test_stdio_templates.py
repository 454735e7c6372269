"""Templates of servers with a command: released by the operator to administrators, and to owners where that is said."""

import tempfile
from pathlib import Path
from unittest.mock import patch

from odoo.exceptions import AccessError, UserError, ValidationError
from odoo.tests import tagged
from odoo.tools import mute_logger
from odoo.tools.misc import file_open
from psycopg2 import IntegrityError

from ..services.errors import ConfigError
from ..tools import server_files
from .common import AiCase, OperatorFile

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

    @mute_logger("odoo.addons.woow_paas_platform.tools.server_files")
    def test_a_faulty_release_of_which_nothing_is_known_is_not_withdrawn(self):
        files, off = self._add("filesystem"), self._add("postgresql", connection_string=DSN)
        off.active = False
        faulty = self.filesystem + 'env = { A = "${WOOW_TEST_TOKEN}" }\n'
        server_files._copy().unlink()
        with patch.object(server_files, "_known", server_files._Known()):
            self._apply(faulty + POSTGRESQL.replace("name", "nome"))
            self.assertEqual((files.active, files.state), (True, "error"))
            self.assertIn("has an error", files.state_sentence)
            with self.assertRaisesRegex(ConfigError, "has an error"):
                files._server_spec()
            self._apply(self.filesystem + POSTGRESQL)
            self.assertEqual((files.active, files.state), (True, "draft"))
            self.assertFalse(off.active)

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
        with self.assertRaises(ValidationError), self.env.cr.savepoint():
            Template.with_user(self.admin).create(shell)
        url = "https://shell.example.com/mcp"
        of_before = Template.create({**shell, "transport": "auto", "url": url})
        self.env.flush_all()
        self.env.cr.execute(
            "UPDATE woow_paas_platform_mcp_template SET transport = 'stdio' WHERE id = %s",
            [of_before.id],
        )
        self.env.invalidate_all()
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
