from unittest.mock import patch

from odoo.addons.mail.models import mail_thread
from odoo.exceptions import ValidationError
from odoo.tests import tagged

from ..models.turn import tool_call
from ..runtime.web import direct_call
from ..services.errors import ElicitationRequired, EngineError
from ..services.mcp.session.elicitation import ElicitRequest
from ..services.specs import CallResult, ToolCall
from ..services.turn.ports import Ending
from .common import TAIPEI, TurnByHandCase

WHO = ElicitRequest(message="Who?", schema={"type": "object", "properties": {}})


@tagged("post_install", "-at_install")
class TestTurnEnds(TurnByHandCase):
    """However a turn ends, nothing of it stays open, and nobody outside is waited for."""

    def setUp(self):
        super().setUp()
        self.tools.approval_policy = "auto"

    def _finish(self, state="failed", **values):
        ending = Ending(state=state, next_seq=self.turn._last_seq() + 1, **values)
        self.store.finish(self.claim, ending, [])
        self.env.invalidate_all()

    def _last_events(self):
        rows = self.env["woow_paas_platform.ai_turn_event"].search(
            [("turn_id", "=", self.turn.id)], order="seq"
        )
        payloads = rows.mapped("payload")
        first = next(n for n, said in enumerate(payloads) if said["type"] == "tool_result")
        return [(said["type"], said.get("outcome")) for said in payloads[first:]]

    def _open_calls(self):
        """One call that has started, one that asks the person, one that has not started."""
        self.alerts.approval_policy = "ask"
        kinds = self._begin((self.forecast, TAIPEI), (self.alerts, TAIPEI), (self.forecast, TAIPEI))
        self.assertEqual([verdict.kind for verdict in kinds], ["run", "ask", "run"])
        wanted = ElicitationRequired(questions={"q": WHO}, more={})
        self.store.suspend_call(self.claim, "call_1_3", wanted, [])
        self.env.invalidate_all()

    def _assert_closed(self):
        self.assertEqual(
            self.turn.call_ids.mapped("outcome"), ["unknown", "cancelled", "cancelled"]
        )
        self.assertEqual(self.turn.call_ids[1].approval, "cancelled")
        self.assertEqual(self.turn.call_ids.question_ids.mapped("action"), ["cancel"])
        results = [("tool_result", call.outcome) for call in self.turn.call_ids]
        self.assertEqual(self._last_events()[:3], results)
        self.assertIn(self._last_events()[-1][0], ("done", "error"))

    def test_a_turn_that_fails_leaves_no_call_open(self):
        self._open_calls()
        self._finish(error_code="turn_timeout", error_message="Too long.")
        self._assert_closed()

    def test_a_turn_that_cannot_be_loaded_leaves_no_call_open(self):
        self._open_calls()
        self.store.release("one")
        # By hand: a user who is archived has no open turns any more.
        self.env.cr.execute("UPDATE res_users SET active = FALSE WHERE id = %s", [self.member.id])
        self.env.invalidate_all()
        (self.claim,) = self.store.claim("two", 1, 15.0)
        try:
            self.store.load(self.claim)
        except EngineError as error:
            self._finish(error_code=error.code, error_message=str(error))
        self._assert_closed()

    def test_a_turn_whose_end_cannot_be_written_is_closed_by_the_next_try(self):
        self._open_calls()
        Channel = type(self.env["discuss.channel"])
        with (
            patch.object(Channel, "_post_answer", side_effect=ValidationError("full")),
            self.assertRaises(ValidationError),
        ):
            self._finish("done", html="<p>Hi</p>")
        self._finish()
        self._assert_closed()

    def test_a_stop_of_a_waiting_turn_leaves_no_call_open(self):
        self._open_calls()
        self._wait()
        self.assertEqual(self.turn._request_stop(), "stopped")
        self.assertFalse(self.turn.waiting_until or self.turn.waiting_round)
        self._assert_closed()

    def test_the_answer_of_an_assistant_that_was_deleted_has_its_author(self):
        contact = self.assistant.partner_id
        self._begin()
        self.assistant.unlink()
        self.env.flush_all()
        self._finish("done", html="<p>Hi</p>")
        self.assertEqual(
            (self.turn.state, self.turn.answer_message_id.author_id), ("done", contact)
        )

    def test_browsers_are_told_after_the_commit(self):
        Parameter = self.env["ir.config_parameter"]
        for key in ("private", "public"):
            Parameter.set_param(f"mail.web_push_vapid_{key}_key", "x")
        device = self.env["mail.push.device"].create(
            {
                "endpoint": "https://push.example.com/1",
                "keys": "{}",
                "partner_id": self.member.partner_id.id,
            }
        )
        self.turn.is_from_discuss = True
        self._begin()
        with patch.object(mail_thread, "push_to_end_point") as pushed:
            self._finish("done", html="<p>Tea time.</p>")
        pushed.assert_not_called()
        queued = self.env["mail.push"].search([("mail_push_device_id", "=", device.id)])
        self.assertEqual(len(queued), 1)
        self.assertIn("Tea time.", queued.payload)

    def test_a_direct_call_keeps_all_of_its_result(self):
        env = self.env(user=self.member)
        call = ToolCall(id="direct_1", alias="x", round=0, arguments={})
        result = CallResult(outcome="ok", text="a … z", truncated=True, whole="abcz")
        self.assertEqual(direct_call.record(env, call, {}, result).sudo().whole_text, "abcz")

    def test_small_results_of_direct_calls_are_recorded_as_others_are(self):
        env = self.env(user=self.member)
        columns = ", ".join(tool_call._columns_of_result(CallResult(outcome="ok", text="")))
        query = f"SELECT {columns}, taint FROM woow_paas_platform_tool_call WHERE call_id = %s"
        for number, (result, source) in enumerate(
            (
                (CallResult(outcome="ok", text="Sunny", display="Sunny"), "server"),
                (CallResult(outcome="ok", text="7", display={"b": 7, "a": [1]}), "open_world"),
                (CallResult(outcome="error", text="", display="", duration_ms=3), "untrusted"),
                (CallResult(outcome="ok", text="a…z", truncated=True, whole="a\x00bz"), "server"),
            )
        ):
            kept = []
            for call_id in (f"direct_{number}_row", f"direct_{number}_cursor"):
                call = ToolCall(id=call_id, alias="x", round=0, arguments={})
                row = direct_call.record(env, call)
                self.env.flush_all()
                if call_id.endswith("row"):
                    row.sudo()._end_direct(result, source)
                    self.env.flush_all()
                else:
                    self.assertTrue(tool_call.end_small(self.env.cr, call_id, result, source))
                    again = CallResult(outcome="denied", text="Late")
                    tool_call.end_small(self.env.cr, call_id, again, source)
                self.env.cr.execute(query, [call_id])
                kept.append(self.env.cr.fetchone())
            self.assertEqual(kept[0], kept[1], result)
        large = CallResult(outcome="ok", text="x" * 5000)
        self.assertFalse(tool_call.end_small(self.env.cr, call_id, large, "server"))
