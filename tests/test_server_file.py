import os
from dataclasses import replace
from unittest.mock import patch

from odoo.exceptions import AccessError
from odoo.tests import tagged
from odoo.tools import mute_logger
from psycopg2 import IntegrityError

from ..services.errors import ConfigError
from ..tools import server_files, settings
from .common import AiCase, OperatorFile

STDIO = """
[[mcp.servers]]
name = "files"
display_name = "Files"
transport = "stdio"
command = "cat"
env = { TOKEN = "s3cret" }
"""
LOGGERS = (
    "odoo.addons.woow_paas_platform.tools.server_files",
    "odoo.addons.woow_paas_platform.models.mcp.mcp_server_source",
)


@tagged("post_install", "-at_install")
class TestServerFile(OperatorFile, AiCase):
    def test_a_server_of_the_file_is_of_the_system_and_its_command_is_not_in_the_database(self):
        server = self._apply(STDIO)
        self.assertEqual(
            (server.name, server.scope, server.transport), ("files", "system", "stdio")
        )
        spec = server._server_spec()
        self.assertEqual((spec.command, spec.env), (("cat",), {"TOKEN": "s3cret"}))
        self.assertEqual(spec.database, self.env.cr.dbname)
        self.assertGreaterEqual(spec.connect_timeout, 30)  # a busy host starts programs slowly
        self.assertGreaterEqual(spec.sync_timeout, 30)
        self.env.flush_all()
        self.env.cr.execute(
            "SELECT row_to_json(s)::text FROM woow_paas_platform_mcp_server s WHERE id = %s",
            [server.id],
        )
        self.assertNotIn("s3cret", self.env.cr.fetchone()[0])

    def test_people_change_only_what_is_theirs(self):
        server = self._apply(STDIO).with_user(self.admin)
        for vals in ({"url": "https://x.example.com"}, {"name": "x"}, {"transport": "sse"}):
            with self.subTest(vals=vals), self.assertRaises(AccessError):
                server.write(vals)
        with self.assertRaises(AccessError):
            server.unlink()
        server.write({"active": False, "trust_level": "full"})
        self.assertEqual(server.state, "disabled")

    @mute_logger("odoo.sql_db")
    def test_nobody_makes_a_stdio_server_by_a_form_or_the_api(self):
        Server = self.Server.with_user(self.admin)
        claims = {"default_managed_by_file": True, "default_transport": "stdio"}
        for context in ({}, claims):
            with self.assertRaises(IntegrityError), self.env.cr.savepoint():
                Server.with_context(**context).create({"name": "x", "transport": "stdio"})
                self.env.flush_all()

    def test_an_entry_that_did_not_change_keeps_what_people_switched(self):
        server = self._apply(STDIO)
        server.active = False
        both = STDIO + '[[mcp.servers]]\nname = "web"\nurl = "https://web.example.com/mcp"\n'
        servers = self._apply(both)
        self.assertEqual(set(servers.mapped("name")), {"files", "web"})
        self.assertFalse(server.active)
        self._apply(both.replace('"cat"', '"tac"'))
        self.assertTrue(server.active)

    def test_what_leaves_the_file_is_switched_off_and_may_come_back(self):
        server = self._apply(STDIO)
        self._apply("[mcp]\n")
        self.assertEqual((server.active, server.state), (False, "disabled"))
        with self.assertRaises(ConfigError):
            server._server_spec()
        self._apply(STDIO)
        self.assertTrue(server.active)

    @mute_logger(*LOGGERS)
    def test_a_broken_file_leaves_the_last_good_state(self):
        server = self._apply(STDIO)
        self._apply("[mcp\n")
        self.assertTrue(server.active)
        self.assertEqual(server._server_spec().command, ("cat",))
        settings_of_admin = self.env["res.config.settings"].create({})
        self.assertIn("line 1", settings_of_admin.woow_file_problem)
        with patch.object(server_files, "_known", server_files._Known()):  # another process starts
            self.assertEqual(server._server_spec().command, ("cat",))

    @mute_logger(*LOGGERS)
    def test_the_file_of_another_odoo_in_the_data_directory_counts_for_nothing(self):
        server = self._apply(STDIO)
        other = self.path.with_name("other.toml")
        other.write_text("[mcp]\n")
        options = replace(settings.get(), mcp_servers_file=str(other))
        with (
            patch.object(settings, "get", lambda: options),
            patch.object(server_files, "_known", server_files._Known()),
        ):
            self.assertFalse(server_files.current().servers)
        self._apply("[mcp\n")
        self.assertTrue(server.active)

    def _restart(self):
        """Another process of this data directory starts."""
        self.enterContext(patch.object(server_files, "_known", server_files._Known()))
        self.Server._apply_file()

    @mute_logger(*LOGGERS)
    def test_a_variable_that_is_missing_costs_nothing_that_was_there(self):
        token = STDIO.replace('"s3cret"', '"${WOOW_TEST_TOKEN}"')
        well = '[[mcp.servers]]\nname = "web"\nurl = "https://web.example.com/mcp"\n'
        with patch.dict(os.environ, {"WOOW_TEST_TOKEN": "s3cret"}):
            server = self._apply(token)
        self.assertNotIn("s3cret", server_files._copy().read_text())
        self._restart()
        self._apply(f"[mcp]\nenabled = false\n{token}{well}")
        self.assertFalse(server_files.current().enabled)
        self._apply(f"{token}{well}")
        self._restart()
        self.assertEqual((server.active, server.state), (True, "draft"))
        self.assertEqual(server._server_spec().env, {"TOKEN": "s3cret"})
        self.assertTrue(self.Server.search([("name", "=", "web")]).active)
        self.assertIn("WOOW_TEST_TOKEN", server_files.error())

    @mute_logger(*LOGGERS)
    def test_a_server_that_a_person_switched_off_stays_off(self):
        token = STDIO.replace('"s3cret"', '"${WOOW_TEST_TOKEN}"')
        on = token.replace("files", "other")
        for forgets in (True, False):  # the data directory is lost, too
            with patch.dict(os.environ, {"WOOW_TEST_TOKEN": "s3cret"}):
                servers = self._apply(token + on)
                off = servers.filtered(lambda server: server.name == "files")
                off.active = False
            if forgets:
                server_files._copy().unlink()
            self._restart()
            if forgets:
                self.assertEqual((servers - off).state, "error")
                with self.assertRaisesRegex(ConfigError, "has an error"):
                    off._server_spec()
            with patch.dict(os.environ, {"WOOW_TEST_TOKEN": "s3cret"}):
                self._restart()
                self.assertEqual((off.active, (servers - off).active), (False, True))
                self.assertNotEqual((servers - off).state, "error")
        self._apply("[mcp]\n")
        self.assertFalse((servers - off).active)
        with patch.dict(os.environ, {"WOOW_TEST_TOKEN": "s3cret"}):
            self._apply(token + on)
        self.assertEqual((off.active, (servers - off).active), (False, True))

    def test_another_value_of_a_variable_switches_nothing_on(self):
        token = STDIO.replace('"s3cret"', '"${WOOW_TEST_TOKEN}"')
        servers = {}
        for value in ("s3cret", "r0tated"):
            with patch.dict(os.environ, {"WOOW_TEST_TOKEN": value}):
                self._restart() if servers else self._apply(token + token.replace("files", "on"))
                servers = {server.name: server for server in self.Server.search([])}
                for server in (servers["files"], servers["on"]):
                    self.assertEqual(server._server_spec().env, {"TOKEN": value})
                    self.assertEqual(server.active, server.name == "on" or value == "s3cret")
                servers["files"].active = False
        with patch.dict(os.environ, {"WOOW_TEST_TOKEN": "r0tated"}):
            self._apply(token.replace('"cat"', '"tac"'))
        self.assertTrue(servers["files"].active, "the operator has changed it")

    @mute_logger(*LOGGERS)
    def test_a_file_of_which_nothing_is_known_switches_nothing_off(self):
        server = self._apply(STDIO)
        server_files._copy().unlink()
        with patch.object(server_files, "_known", server_files._Known()):
            self._apply("[mcp\n")
            self.assertEqual((server.active, server.state), (True, "error"))
            with self.assertRaisesRegex(ConfigError, "has an error"):
                server._server_spec()
            self._apply(STDIO)
            self.assertEqual((server.active, server.state), (True, "draft"))

    @mute_logger(*LOGGERS)
    def test_a_file_that_cannot_be_read_switches_nothing_on(self):
        self._apply("[mcp]\nenabled = false\n")
        self.path.unlink()
        self._restart()
        self.assertFalse(server_files.current().enabled)
        server_files._copy().unlink()
        self._restart()
        self.assertFalse(server_files.current().enabled)
        self.assertFalse(server_files._copy().exists(), "it knows nothing that would be worth it")

    @mute_logger(*LOGGERS)
    def test_a_name_that_an_administrator_took_stays_the_administrators(self):
        self._apply(STDIO.replace("files", "weather"))
        self.assertFalse(self.server.managed_by_file)
        self.assertEqual(self.server.transport, "auto")
