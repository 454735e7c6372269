"""Rules for users and groups: made by administrators, and by a person for the person alone, only stricter."""

from odoo import Command
from odoo.exceptions import AccessError, ValidationError
from odoo.tests import tagged

from .test_mcp_api import SERVERS, McpApiCase

RULE = "woow_paas_platform.person_rule"
CALL = {"toolName": "forecast", "arguments": {"city": "Taipei"}}


@tagged("post_install", "-at_install")
class TestPersonRules(McpApiCase):
    def setUp(self):
        super().setUp()
        self.path = f"{SERVERS}/{self.server.id}/my-policy"
        self.tool_path = f"/api/mcp/tools/{self.forecast.id}/my-policy"
        self._sign_in(self.member)

    def _may(self, user, tool=None):
        return not (tool or self.forecast).with_user(user)._direct_call_refusal({"city": "Taipei"})

    def test_people_restrict_themselves(self):
        self.assertTrue(self._may(self.member))
        told = self._json("PUT", self.path, {"policy": "ask"}, 200)
        self.assertEqual(told["my_policy"], "ask")
        self.assertEqual((self._may(self.member), self._may(self.guest)), (False, True))
        self.assertIn("requires approval", self._denied()["message"])
        told = self._json("PUT", self.tool_path, {"policy": "never"}, 200)
        self.assertEqual(told["my_policy"], "never")
        self.assertIn("blocks calls", self._denied()["message"])
        self._json("PUT", self.tool_path, {"policy": "default"}, 200)
        self.assertIn("requires approval", self._denied()["message"])
        listed = self._json("GET", SERVERS)["system_servers"]
        self.assertEqual({s["my_policy"] for s in listed if s["id"] == self.server.id}, {"ask"})
        self._json("PUT", self.path, {"policy": "default"}, 200)
        self.assertTrue(self._may(self.member))
        self.assertFalse(self.env[RULE].search([("owner_id", "=", self.member.id)]))

    def _denied(self):
        return self._error("POST", "/api/mcp/execute-tool", 403, "denied", CALL)

    def test_nobody_loosens(self):
        self._error("PUT", self.path, 400, "invalid_field", {"policy": "auto"})
        self.forecast.approval_policy = "never"
        self._json("PUT", self.tool_path, {"policy": "ask"}, 200)
        self.assertIn("administrator has blocked", self._denied()["message"])
        with self.assertRaises(ValidationError):
            self.env[RULE]._set_own(self.server, self.forecast, "auto")

    def test_of_what_one_may_use(self):
        self._sign_in(self.stranger)
        for path in (SERVERS + f"/{self.user_server.id}", f"/api/mcp/tools/{self.run_flow.id}"):
            self._error("PUT", f"{path}/my-policy", 404, "not_found", {"policy": "never"})
        self._sign_in(self.member)
        told = self._json(
            "PUT", f"/api/mcp/tools/{self.run_flow.id}/my-policy", {"policy": "never"}, 200
        )
        self.assertEqual(told["my_policy"], "never")
        self.assertFalse(self._may(self.member, self.run_flow))

    def test_an_always_of_before_does_not_answer_it(self):
        turn = self._ask(self.member).sudo()
        self.forecast.approval_policy = "ask"
        self.env["woow_paas_platform.tool_grant"]._grant(turn, self.forecast, "always")
        self.assertTrue(self._may(self.member))
        self._json("PUT", self.tool_path, {"policy": "ask"}, 200)
        self.assertFalse(self._may(self.member))

    def test_administrators_make_them_for_others(self):
        Rule = self.env[RULE].with_user(self.admin)
        rule = Rule.create(
            {
                "server_id": self.server.id,
                "group_ids": [Command.link(self.env.ref("base.group_portal").id)],
                "policy": "never",
            }
        )
        self.assertEqual((self._may(self.member), self._may(self.internal)), (False, True))
        rule.write({"tool_id": self.alerts.id, "user_ids": [Command.link(self.internal.id)]})
        self.assertTrue(self._may(self.member))
        self.assertFalse(self._may(self.internal, self.alerts))
        for wrong in (
            {"tool_id": self.run_flow.id},
            {"user_ids": [Command.clear()], "group_ids": [Command.clear()]},
        ):
            with self.assertRaises(ValidationError):
                rule.write(wrong)
        with self.assertRaises(AccessError):
            rule.owner_id = self.member
