"""`/mcp`, `/mcp tools` and `/mcp reload`, in the chat and in Discuss."""

from unittest.mock import patch

from odoo.exceptions import UserError
from odoo.tests import tagged
from odoo.tools import mute_logger

from ..runtime import engine
from ..runtime.servers import background
from ..services.errors import McpOff
from ..tools import host, mcp_switch, server_files
from .common import AiHttpCase, OperatorFile, served_mcp


@tagged("post_install", "-at_install")
class TestCommands(OperatorFile, AiHttpCase):
    def setUp(self):
        super().setUp()
        self.path.touch()
        self.fake = self.enterContext(served_mcp())
        self.user_server.url = self.fake.url
        self._sign_in(self.member)
        self.chat = self._conversation(self.member, self.service)
        self.env.flush_all()

    def _command(self, command, place=None, **values):
        path = place or f"/api/ai/conversations/{self.chat.id}/command"
        status, answer = self._call("POST", path, {"command": command, **values})
        self.assertEqual(status, 200, answer)
        return {row["name"]: row["about"] for row in answer["rows"]}

    def test_every_state_is_told_to_everybody(self):
        self.server._set_state("degraded")
        self.user_server._set_state("auth_required")
        self.env.flush_all()
        told = self._command("/mcp")
        self.assertEqual(told["weather"], "Degraded · 2 tools")
        self.assertEqual(told["flows"], "Credentials needed · 1 tool")

    def test_only_what_this_chat_may_call_is_listed(self):
        self.assistant.mcp_tool_disabled_ids = self.alerts
        self.env.flush_all()
        self.assertEqual(set(self._command("/mcp tools")), {"weather.forecast", "flows.run_flow"})
        self.chat._switch_server(self.server, False)
        self.env.flush_all()
        self.assertEqual(set(self._command("/mcp tools")), {"flows.run_flow"})
        switched_off = self._command("/mcp tools", server_ids=[self.server.id])
        self.assertEqual(set(switched_off), {"weather.forecast"})

    def test_a_new_chat(self):
        place = f"/api/ai/assistants/{self.assistant.id}/command"
        own = f"{place}?cloud_service_id={self.service.id}"
        self.assertEqual(set(self._command("/mcp", place)), {"weather"})
        self.assertEqual(set(self._command("/mcp", own)), {"weather", "flows"})
        one = self._command("/mcp", own, server_ids=[self.user_server.id])
        self.assertEqual(set(one), {"flows"})

    def test_reload_reads_what_the_caller_manages(self):
        told = self._command("/mcp reload")
        self.assertEqual(set(told.values()), {"Only those who manage this server can reload it."})
        self._sign_in(self.owner)
        self.chat = self._conversation(self.owner, self.service)
        self.env.flush_all()
        told = self._command("/mcp reload")
        self.assertEqual(told["flows"], "Tools reloaded.")
        self.assertIn("Only those who manage", told["weather"])
        self.env.invalidate_all()
        self.assertTrue(self.user_server.last_sync)

    def test_one_broken_server_breaks_nothing(self):
        self.server.url = "http://127.0.0.1:9/mcp"
        self._sign_in(self.admin)
        self.assistant.mcp_server_ids |= self.user_server.create(
            {"name": "well", "url": self.fake.url}
        )
        self.chat = self._conversation(self.admin)
        self.env.flush_all()
        told = self._command("/mcp reload")
        self.assertEqual(told["well"], "Tools reloaded.")
        self.assertIn("connection", told["weather"].lower())

    def test_a_fault_of_ours_with_one_server_breaks_nothing(self):
        self._sign_in(self.owner)
        self.chat = self._conversation(self.owner, self.service)
        self.env.flush_all()
        discover = patch.object(engine.Engine, "discover", side_effect=KeyError("ours"))
        with discover, mute_logger("odoo.addons.woow_paas_platform.runtime.servers.server_jobs"):
            told = self._command("/mcp reload")
        self.assertEqual(told["flows"], "Something went wrong in the AI engine.")

    def test_an_administrator_has_the_file_read_again(self):
        self._apply("[mcp]\nauto_reload = false\n")
        self._apply('[[mcp.servers]]\nname = "later"\nurl = "http://127.0.0.1:9/mcp"\n')
        self.assertFalse(self.server.search([("name", "=", "later")]))
        self._sign_in(self.admin)
        self.chat = self._conversation(self.admin)
        self.env.flush_all()
        with patch.object(background, "sync_later"):
            self._command("/mcp reload")
        self.assertTrue(self.server.search([("name", "=", "later")]))

    def test_in_discuss_an_administrator_has_the_file_read_again(self):
        self._apply("[mcp]\nauto_reload = false\n")
        self._apply('[[mcp.servers]]\nname = "later"\nurl = "http://127.0.0.1:9/mcp"\n')
        chat = self._conversation(self.admin)
        told = self.env.registry["res.users"], "_bus_send_transient_message"
        with (
            patch.object(*told) as bus,
            patch.object(type(host.current()), "apply_file_later") as later,
            patch.object(background, "sync_later"),
        ):
            chat.execute_command_mcp(body="/mcp reload")
            self.assertIn("mcp_servers.toml</dt><dd>Reloaded.", bus.call_args.args[1])
            later.assert_not_called()
            self.env.cr.postcommit.run()
        later.assert_called_once_with(self.env.cr.dbname)
        self.assertIn("later", server_files.current().servers)

    def test_with_mcp_switched_off_each_command_says_so(self):
        self.env["ir.config_parameter"].set_param(mcp_switch.PARAMETER, mcp_switch.OFF)
        self.env.flush_all()
        for command in ("/mcp", "/mcp tools", "/mcp reload"):
            with self.subTest(command=command):
                self.assertEqual(self._command(command), {"MCP": McpOff.default_message})
                chat = self.chat.with_user(self.member)
                told = self.env.registry["res.users"], "_bus_send_transient_message"
                with patch.object(*told) as bus:
                    chat.execute_command_mcp(body=command)
                self.assertIn(McpOff.default_message, bus.call_args.args[1])

    def test_who_may_not_see_a_chat_gets_404(self):
        self._sign_in(self.stranger)
        path = f"/api/ai/conversations/{self.chat.id}/command"
        self.assertEqual(self._call("POST", path, {"command": "/mcp"})[0], 404)

    def test_in_discuss_only_who_typed_it_sees_the_answer(self):
        chat = self.chat.with_user(self.member)
        with patch.object(type(self.env["res.users"]), "_bus_send_transient_message") as told:
            chat.execute_command_mcp(body="/mcp tools")
        (_channel, html), _kwargs = told.call_args
        self.assertIn("flows.run_flow", html)
        with self.assertRaises(UserError):
            self.chat.with_user(self.owner).execute_command_mcp(body="/mcp")

    def test_a_tool_is_called_by_its_dotted_name(self):
        offered = self.assistant.with_user(self.member)._tools_of_caller()
        for name in ("run_flow", "flows.run_flow", self.run_flow.alias):
            self.assertEqual(offered._called(name), self.run_flow, name)
