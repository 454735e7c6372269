import os
from dataclasses import replace
from unittest.mock import patch

from odoo.exceptions import AccessError
from odoo.tests import tagged
from odoo.tools import mute_logger

from ..models.turn.ai_turn import Question
from ..services.errors import BlockedAddress, ConfigError, HostUnreachable
from ..tools import settings
from .common import AiHttpCase

INSIDE = "10.0.0.5"


@tagged("post_install", "-at_install")
class TestWhatReadersSee(AiHttpCase):
    """Of a server's trouble its users read what to do, administrators also where in our network it is."""

    def setUp(self):
        super().setUp()
        (self.server | self.user_server).write({"url": f"http://{INSIDE}:1234/mcp"})
        self.channel = self._conversation(self.member)
        self.env.flush_all()

    def _as(self, user, method, path, body=None):
        self._sign_in(user)
        with mute_logger("odoo.addons.woow_paas_platform.services.net.egress"):
            return self._call(method, path, body)

    def _of_the_members_chat(self):
        conversation = f"/api/ai/conversations/{self.channel.id}"
        prompt = {"server_id": self.server.id, "name": "x"}
        tool = {"toolName": "forecast", "arguments": {"city": "Taipei"}}
        return [
            self._as(self.member, "GET", f"{conversation}/prompts"),
            self._as(self.member, "GET", f"{conversation}/resources"),
            self._as(self.member, "POST", f"{conversation}/prompts/get", prompt),
            self._as(self.member, "POST", "/api/mcp/execute-tool", tool),
        ]

    def test_a_member_learns_no_address(self):
        listed, *others = self._of_the_members_chat()
        (problem,) = listed[1]["problems"]
        self.assertEqual(problem["code"], "blocked_address")
        self.assertEqual(str(problem["message"]), BlockedAddress.default_message)
        self.assertNotIn(INSIDE, str([listed, *others]))
        calls = self.env["woow_paas_platform.tool_call"].search([("user_id", "=", self.member.id)])
        self.assertNotIn(INSIDE, str(calls.mapped("llm_text") + calls.mapped("result")))

    def test_a_member_learns_no_name_of_the_environment(self):
        released = replace(settings.get(), released_env=frozenset({"S3CRET_NAME"}))
        self.enterContext(patch.object(settings, "get", lambda: released))
        with patch.dict(os.environ, {"S3CRET_NAME": "x"}):
            self.server.api_key_env = "S3CRET_NAME"
        self.env.flush_all()
        answers = self._of_the_members_chat()
        self.assertNotIn("S3CRET_NAME", str(answers))
        self.assertEqual(answers[0][1]["problems"][0]["message"], ConfigError.default_message)
        turn = self.channel._ask(Question("Hello")).sudo()
        self.assertNotIn("S3CRET_NAME", str(turn._turn_request()))

    def test_a_test_tells_an_administrator_more_than_an_owner(self):
        for user, server, knows in (
            (self.owner, self.user_server, False),
            (self.admin, self.server, True),
        ):
            with self.subTest(user=user.login):
                status, told = self._as(user, "POST", f"/api/mcp/servers/{server.id}/test")
                failed = next(step for step in told["steps"] if step["state"] == "failed")
                self.assertEqual(status, 200)
                for message in (
                    failed["message"],
                    told["error"]["message"],
                    told["server"]["state_message"],
                ):
                    self.assertEqual(INSIDE in message, knows, message)

    def test_a_state_tells_everybody_what_is_theirs(self):
        self.user_server._record_failure(HostUnreachable(detail=f"db.internal is {INSIDE}"))
        as_owner, as_admin = (self.user_server.with_user(u) for u in (self.owner, self.admin))
        self.assertEqual(as_owner.state_sentence, HostUnreachable.default_message)
        self.assertEqual(as_owner.state_message, HostUnreachable.default_message)
        self.assertIn(INSIDE, as_admin.state_sentence)
        with self.assertRaises(AccessError):
            as_owner.read(["state_inside"])
        self.user_server._tell_owners()
        told = [("partner_ids", "in", self.owner.partner_id.ids)]
        notes = self.env["mail.message"].sudo().search(told).mapped("body")
        self.assertIn(
            "is down", str(self.env["mail.message"].sudo().search(told).mapped("subject"))
        )
        self.assertNotIn(INSIDE, str(notes))
        self.user_server._reset_state()
        self.assertFalse(self.user_server.state_inside)
