from datetime import timedelta

from odoo import fields
from odoo.tests import tagged

from ..models.turn.ai_turn import Question
from .common import AiCase, retention


@tagged("post_install", "-at_install")
class TestTurn(AiCase):
    def _events(self, turn):
        return (
            self.env["woow_paas_platform.ai_turn_event"]
            .search([("turn_id", "=", turn.id)], order="seq")
            .mapped("payload")
        )

    def test_a_message_queues_a_turn(self):
        turn = self._ask(self.member, "What is the weather?")
        self.assertEqual(turn.state, "queued")
        self.assertEqual(self._events(turn), [{"type": "state", "state": "queued"}])
        self.assertEqual(turn.channel_id.name, "What is the weather?")
        self.assertEqual(turn.message_id.author_id, self.member.partner_id)

    def test_stop_before_it_runs_ends_it(self):
        turn = self._ask(self.member).sudo()
        self.assertEqual(turn._request_stop(), "stopped")
        self.assertEqual(
            [event["type"] for event in self._events(turn)], ["state", "state", "done"]
        )
        self.assertEqual(turn._request_stop(), "stopped")
        self.assertEqual(len(self._events(turn)), 3)

    def test_the_request_is_complete_and_plain(self):
        turn = self._ask(self.member, "Hi", service=self.service).sudo()
        request = turn._turn_request()
        self.assertEqual(request.history, ({"role": "user", "content": "Hi"},))
        self.assertEqual(
            [tool.alias for tool in request.tools],
            ["weather__alerts", "weather__forecast", "flows__run_flow"],
        )
        self.assertIn("n8n", request.system_prompt)
        self.assertIn("Flows", request.system_prompt)
        self.assertNotIn("secret", repr(request))

    def test_the_model_knows_the_language_of_the_page(self):
        self.env["res.lang"]._activate_lang("zh_TW")
        for lang, name in (("zh_TW", "Chinese, Traditional"), ("en_US", "English (US)")):
            channel = self._conversation(self.member).with_context(lang=lang)
            request = channel._ask(Question("你好")).sudo()._turn_request()
            self.assertIn(f"language is {name}", request.system_prompt)

    def test_history_holds_whole_calls_with_their_results(self):
        channel = self._conversation(self.member)
        first = channel._ask(Question("One")).sudo()
        first.write(
            {
                "state": "done",
                "transcript": {
                    "step": 2,
                    "round": 1,
                    "messages": [
                        {
                            "role": "assistant",
                            "content": "",
                            "tool_calls": [
                                {"id": "a", "alias": "x", "arguments": {}},
                                {"id": "cut", "alias": "x", "arguments": {}},
                            ],
                        },
                        {"role": "tool", "call_id": "a", "content": "r" * 9000, "outcome": "ok"},
                        {"role": "assistant", "content": "Answer"},
                    ],
                },
            }
        )
        second = channel._ask(Question("Two")).sudo()
        history = second._turn_request().history
        self.assertEqual(
            [m["role"] for m in history], ["user", "assistant", "tool", "assistant", "user"]
        )
        self.assertEqual([call["id"] for call in history[1]["tool_calls"]], ["a"])
        self.assertLess(len(history[2]["content"]), 2100)

    def test_history_is_bounded(self):
        self.provider.context_length = 8_000
        channel = self._conversation(self.member)
        for _number in range(30):
            channel._ask(Question("x" * 4000)).sudo().state = "done"
        last = channel._ask(Question("Now")).sudo()
        shown = sum(len(m["content"]) for m in last._turn_request().history)
        self.assertTrue(8_000 < shown < 4 * 8_000, shown)

    def test_who_lost_the_right_is_told(self):
        turn = self._ask(self.member, service=self.service).sudo()
        self.assertEqual(turn._check_still_allowed(), "")
        self.workspace.access_ids.filtered(lambda a: a.user_id == self.member).unlink()
        self.assertIn("no longer a member", turn._check_still_allowed())

    def test_events_of_old_turns_go_and_the_turn_stays(self):
        turn = self._ask(self.member).sudo()
        turn._request_stop()
        turn.ended_at = fields.Datetime.now() - timedelta(days=8)
        self.env.flush_all()
        retention(self.env)
        self.env.invalidate_all()
        self.assertFalse(self._events(turn))
        self.assertTrue(turn.events_pruned)
        self.assertEqual(turn._final_event()["type"], "done")

    def test_sweep_requeues_what_nobody_holds(self):
        self.registry_enter_test_mode()
        turn = self._ask(self.member).sudo()
        past = fields.Datetime.now() - timedelta(hours=1)
        turn.write({"state": "running", "lease_owner": "dead", "lease_until": past})
        self._sweep()
        self.assertEqual((turn.state, turn.lease_owner), ("running", False), "it may be back soon")
        self._sweep()
        self.assertEqual(turn.state, "running", "not before its time is over")
        turn.lease_until = past
        self._sweep()
        self.assertEqual(turn.state, "queued")

    def _sweep(self):
        self.env.flush_all()
        self.env["woow_paas_platform.ai_turn"]._cron_sweep()
        self.env.invalidate_all()

    def test_deleting_the_conversation_deletes_its_turns(self):
        turn = self._ask(self.member)
        turn.sudo()._request_stop()
        turn.channel_id._delete_ai_conversation()
        self.assertFalse(turn.exists())
