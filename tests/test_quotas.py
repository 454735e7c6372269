"""What one person may keep: conversations, and files in them."""

import base64
from unittest.mock import patch

from odoo.tests import tagged

from ..models.conversation import discuss_channel_quota, tool_call
from ..services.specs import CallResult
from ..tools import limits
from .common import TAIPEI, TurnByHandCase

FILE = base64.b64encode(b"x" * 400).decode()


@tagged("post_install", "-at_install")
class TestQuotas(TurnByHandCase):
    def _limit(self, **values):
        for name, value in values.items():
            self.env["ir.config_parameter"].sudo().set_param(limits.PREFIX + name, value)
        self.env.flush_all()

    def _files(self, *channels):
        self.env.invalidate_all()
        ids = [channel.id for channel in channels]
        return self.env["ir.attachment"].search(
            [("res_model", "=", "discuss.channel"), ("res_id", "in", ids)]
        )

    def _attach(self, channel):
        self._sign_in(self.member)
        path = f"/api/ai/conversations/{channel.id}/attachments"
        return self._call("POST", path, {"name": "a.txt", "data": FILE})

    def test_conversations(self):
        self._sign_in(self.member)
        self._limit(max_conversations_per_person=2)
        body = {"assistant_id": self.assistant.id}
        self.assertEqual(self._call("POST", "/api/ai/conversations", body)[0], 201)
        refused = self._call("POST", "/api/ai/conversations", body)
        self._assert_error(refused, 422, "too_many_conversations")
        self.assertIn("2 conversations", refused[1]["error"]["message"])
        self._sign_in(self.stranger)
        self.assertEqual(self._call("POST", "/api/ai/conversations", body)[0], 201)

    def test_files_over_all_conversations(self):
        one, other = (self._conversation(self.member) for _ in range(2))
        self._limit(max_files_per_person=1)
        self.assertEqual(self._attach(one)[0], 201)
        self._assert_error(self._attach(other), 422, "storage_full")
        self._limit(max_files_per_person=9, max_file_megabytes_per_person=1)
        self.assertEqual(self._attach(other)[0], 201)
        with patch.object(discuss_channel_quota, "MEGABYTE", 1000):
            self._assert_error(self._attach(other), 422, "storage_full")

    def test_what_nobody_sends_makes_room_in_all_conversations(self):
        one, other = (self._conversation(self.member) for _ in range(2))
        first = self._attach(one)[1]["id"]
        with patch.object(discuss_channel_quota, "MAX_UNSENT_BYTES", 1000):
            kept = [self._attach(other)[1]["id"] for _ in range(2)]
        self.assertNotIn(first, self._files(one, other).ids)
        self.assertEqual(sorted(self._files(one, other).ids), sorted(kept))

    def test_files_of_tools(self):
        """Those of one turn together; and what a person has no room for is left out, too."""
        file = {"name": "a.png", "mimetype": "image/png", "data": FILE}
        self.tools.approval_policy = "auto"
        self._begin((self.forecast, TAIPEI), (self.alerts, TAIPEI))
        with patch.object(tool_call, "MAX_TURN_FILES", 3):
            for number in (1, 2):
                result = CallResult(outcome="ok", text="Done.", attachments=(file, file))
                self.store.end_call(self.claim, f"call_1_{number}", result, [])
        self.assertEqual(len(self._files(self.turn.channel_id)), 3)
        self._begin((self.forecast, TAIPEI), round_=2)
        self._limit(max_files_per_person=4)
        self.store.end_call(self.claim, "call_2_1", result, [])
        self.assertEqual(len(self._files(self.turn.channel_id)), 4)
        self.assertEqual(self.turn.call_ids.mapped("outcome"), ["ok"] * 3)
