"""The one switch for everything of MCP: in Settings, and in the operator's file."""

from unittest.mock import patch

from odoo.exceptions import UserError
from odoo.tests import tagged

from ..models.turn.ai_turn import Question
from ..services.errors import McpOff
from ..tools import mcp_switch, notify
from .common import AiCase, OperatorFile
from .test_mcp_api import SERVERS, McpApiCase
from .test_server_file import STDIO

SENTENCE = McpOff.default_message
OFF = "[mcp]\nenabled = false\n"


def switch(env, is_on):
    """As Settings do."""
    env["res.config.settings"].create({"woow_mcp_enabled": is_on}).execute()


@tagged("post_install", "-at_install")
class TestMcpSwitch(McpApiCase):
    def setUp(self):
        super().setUp()
        self.conversation = self._conversation(self.member, self.service)
        self.config = f"/api/sessions/{self.conversation.id}/mcp-config"
        self._sign_in(self.member)

    def test_chats_go_on_without_tools(self):
        turn = self.conversation._ask(Question("Hello")).sudo()
        before = self._json("GET", self.config, expect=200)
        self.assertEqual((len(before["servers"]), before["notice"]), (2, ""))
        self.assertTrue(turn._turn_request().tools)
        self.conversation._switch_server(self.server, False)
        switch(self.env, False)
        config = self._json("GET", self.config, expect=200)
        self.assertEqual((config["servers"], config["notice"]), ([], SENTENCE))
        new = f"/api/ai/assistants/{self.assistant.id}/mcp-config"
        self.assertEqual(self._json("GET", new, expect=200)["notice"], SENTENCE)
        request = turn._turn_request()
        self.assertEqual((request.tools, request.servers), ((), ()))
        prompts = f"/api/ai/conversations/{self.conversation.id}/prompts"
        self.assertEqual(self._json("GET", prompts, expect=200)["prompts"], [])
        switch(self.env, True)
        self.assertEqual(
            {s["name"]: s["enabled"] for s in self._json("GET", self.config)["servers"]},
            {"weather": False, "flows": True},
            "what was chosen is chosen again",
        )

    def test_no_server_is_asked(self):
        switch(self.env, False)
        self._error(
            "POST",
            "/api/mcp/execute-tool",
            422,
            "mcp_off",
            {"toolName": "forecast", "arguments": {}},
        )
        self._sign_in(self.owner)
        for what in ("test", "sync"):
            path = f"{SERVERS}/{self.user_server.id}/{what}"
            self.assertEqual(self._error("POST", path, 422, "mcp_off", {})["message"], SENTENCE)
        with self.assertRaisesRegex(UserError, "switched off"):
            self.user_server.action_sync_tools()
        with self.assertRaises(McpOff):
            self.server._server_spec()
        Server = self.env["woow_paas_platform.mcp_server"]
        self.assertFalse(Server._take_due_for_check())
        self.assertFalse(Server._take_due_for_sync())
        self.assertFalse(self.forecast.is_usable)
        switch(self.env, True)
        self.assertIn(self.server, Server._take_due_for_check())
        self.assertTrue(self.forecast.is_usable)
        self.assertEqual((self.server.active, self.forecast.active), (True, True))

    def test_what_is_open_is_closed(self):
        with patch.object(notify, "server_off") as closed:
            switch(self.env, False)
        self.assertIn(self.server.id, [call.args[1] for call in closed.call_args_list])
        with patch.object(notify, "server_off") as closed:
            switch(self.env, False)  # another setting is saved
        closed.assert_not_called()

    def test_it_is_said(self):
        for is_on in (True, False):
            switch(self.env, is_on)
            self.assertEqual(self._json("GET", "/api/ai/health")["mcp_enabled"], is_on)
            self.assertEqual(self._json("GET", SERVERS)["notice"], "" if is_on else SENTENCE)
            self.assertEqual(self.env["res.config.settings"].create({}).woow_mcp_enabled, is_on)
        self.member.lang = "en_US"
        self.assertEqual(mcp_switch.notice(self.env), SENTENCE)


@tagged("post_install", "-at_install")
class TestOperatorsSwitch(OperatorFile, AiCase):
    def test_the_operators_word_is_the_last(self):
        server = self._apply(STDIO)
        with patch.object(notify, "server_off") as closed:
            self._apply(OFF + STDIO)
        self.assertIn(self.server.id, [call.args[1] for call in closed.call_args_list])
        self.assertTrue(server.active, "its own switch counts again afterwards")
        self.assertTrue(self.env["res.config.settings"].create({}).woow_mcp_off_by_operator)
        switch(self.env, True)
        for one in (self.server, server):
            with self.assertRaises(McpOff):
                one._server_spec()
        self.assertFalse(self.forecast.is_usable)
        self._apply(STDIO)
        self.env.invalidate_all()
        self.assertTrue(self.forecast.is_usable)
        self.assertFalse(self.env["res.config.settings"].create({}).woow_mcp_off_by_operator)
