"""What one person may keep: conversations, and files in them."""

import base64
from unittest.mock import patch

from odoo.tests import tagged

from ..models.conversation import discuss_channel
from ..models.turn import tool_call
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
        with patch.object(discuss_channel, "MEGABYTE", 1000):
            self._assert_error(self._attach(other), 422, "storage_full")

    def test_what_nobody_sends_makes_room_in_all_conversations(self):
        one, other = (self._conversation(self.member) for _ in range(2))
        first = self._attach(one)[1]["id"]
        with patch.object(discuss_channel, "MAX_UNSENT_BYTES", 1000):
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

    def _long_result(self, number, size=20_000):
        """A call of the turn whose tool says so much."""
        self._begin((self.forecast, TAIPEI), round_=number)
        result = CallResult(
            outcome="ok", text="said " * 100, whole="x" * size, display={"said": "x" * size}
        )
        call_id = f"call_{number}_1"
        self.store.end_call(self.claim, call_id, result, [])
        self.env.invalidate_all()
        return self.env["woow_paas_platform.tool_call"].search([("call_id", "=", call_id)])

    def _next_turn(self):
        self.turn._end("done", "<p>Done.</p>")
        self.turn = self._ask(self.member).sudo()
        self.claim = None

    def test_new_results_take_the_room_of_the_oldest(self):
        self._limit(max_file_megabytes_per_person=1)
        self.tools.approval_policy = "auto"
        with patch.object(tool_call, "MEGABYTE", 100_000):
            first = self._long_result(1)
            former = first.turn_id
            self._next_turn()
            second, third = self._long_result(2), self._long_result(3)
        self.assertTrue(first.result_pruned)
        self.assertFalse(first.whole_text or first.result or first.kept_bytes)
        self.assertTrue(former.events_pruned)
        self.env.cr.execute(
            "SELECT COUNT(*) FROM woow_paas_platform_ai_turn_event WHERE turn_id = %s", [former.id]
        )
        self.assertEqual(self.env.cr.fetchone()[0], 0)
        for kept in (second, third):
            self.assertEqual(len(kept.whole_text), 20_000)
            self.assertGreater(kept.kept_bytes, 40_000)
        self.assertFalse(second.turn_id.events_pruned)

    def test_without_room_a_result_keeps_what_the_model_reads(self):
        self._limit(max_file_megabytes_per_person=1)
        self.tools.approval_policy = "auto"
        with patch.object(tool_call, "MEGABYTE", 50_000):
            kept, cut = self._long_result(1), self._long_result(2)
        self.assertTrue(kept.whole_text)
        self.assertFalse(cut.whole_text)
        self.assertTrue(cut.truncated)
        self.assertEqual(cut.result, cut.llm_text)
        self.assertEqual(cut.outcome, "ok")
