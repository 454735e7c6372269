"""A person's own lasting switch for a server that others use, too, beside the one of each conversation."""

from odoo.tests import tagged

from ..models.turn.ai_turn import Question
from .test_mcp_api import SERVERS, McpApiCase

OPT_OUT = "woow_paas_platform.server_opt_out"


@tagged("post_install", "-at_install")
class TestServerOptOut(McpApiCase):
    def setUp(self):
        super().setUp()
        self.before = self._conversation(self.member, self.service)
        self._sign_in(self.member)

    def _switch(self, is_on, server=None, status=200, **more):
        path = f"{SERVERS}/{(server or self.server).id}/toggle"
        return self._json("PATCH", path, {"active": is_on, **more}, status)

    def _used(self, conversation):
        path = f"/api/sessions/{conversation.id}/mcp-config"
        return self._json("GET", path, expect=200)["enabled_servers"]

    def test_it_counts_in_old_and_new_conversations(self):
        turn = self.before._ask(Question("Hello")).sudo()
        self.assertIn(self.forecast, turn._tools())
        off = self._switch(False)
        self.assertEqual((off["enabled_for_me"], off["active"]), (False, True))
        self.assertNotIn(self.forecast, turn._tools(), "also for a turn that is under way")
        after = self._conversation(self.member, self.service)
        self.assertEqual((self._used(self.before), self._used(after)), (["flows"], ["flows"]))
        (listed,) = [
            s for s in self._json("GET", SERVERS)["system_servers"] if s["id"] == self.server.id
        ]
        self.assertFalse(listed["enabled_for_me"])
        new = self._json("GET", f"/api/ai/assistants/{self.assistant.id}/mcp-config")
        (told,) = [s for s in new["servers"] if s["id"] == self.server.id]
        self.assertEqual((told["enabled"], told["enabled_for_me"]), (False, False))
        self._switch(True)
        self.assertEqual(set(self._used(self.before)), {"weather", "flows"})

    def test_it_is_nobody_elses(self):
        theirs = self._conversation(self.guest, self.service)
        self._switch(False)
        self._switch(False)  # once more changes nothing
        self._sign_in(self.guest)
        self.assertEqual(set(self._used(theirs)), {"weather", "flows"})
        row = self.env[OPT_OUT].search([("user_id", "=", self.member.id)])
        self.assertEqual(row.server_id, self.server)

    def test_the_choice_of_a_conversation_comes_first(self):
        chosen = f"/api/sessions/{self.before.id}/mcp-config"
        self._json("PUT", chosen, {"enabled_servers": ["weather"]}, 200)
        self._switch(False)
        self.assertEqual(self._used(self.before), ["weather"])
        self._json("PUT", chosen, {"enabled_servers": None}, 200)
        self.assertEqual(self._used(self.before), ["flows"])
        self._switch(True, conversation_id=self.before.id)
        self.assertEqual(set(self._used(self.before)), {"weather", "flows"})
        self.assertEqual(self._used(self._conversation(self.member, self.service)), ["flows"])

    def test_in_the_panel_both_are_switched(self):
        chosen = f"/api/sessions/{self.before.id}/mcp-config"
        self._json("PUT", chosen, {"enabled_servers": ["weather"]}, 200)
        told = self._switch(False, conversation_id=self.before.id, for_me=True)
        self.assertEqual(told["enabled_servers"], [])
        self.assertEqual(self._used(self._conversation(self.member, self.service)), ["flows"])

    def test_a_server_of_a_service(self):
        told = self._switch(False, self.user_server)
        self.assertFalse(told["enabled_for_me"])
        self.assertNotIn("url", told)
        self.assertEqual(self._used(self.before), ["weather"])
        self._sign_in(self.stranger)
        self._switch(False, self.user_server, 404)
        self._sign_in(self.owner)
        mine = self._switch(False, self.user_server, for_me=True)
        self.assertEqual((mine["active"], mine["enabled_for_me"]), (True, False))
        everybodys = self._switch(False, self.user_server)
        self.assertFalse(everybodys["active"])
        self._sign_in(self.member)
        self._switch(True, self.user_server, 404)
        self.assertFalse(self.user_server.active)
