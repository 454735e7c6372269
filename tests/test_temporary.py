from datetime import timedelta
from unittest.mock import patch

from odoo import fields
from odoo.tests import tagged

from ..models.conversation import discuss_channel
from ..services.turn.ports import Ending
from ..tools import limits
from .common import TAIPEI, TurnByHandCase

AWAY = 20  # minutes without a look at the page


@tagged("post_install", "-at_install")
class TestTemporary(TurnByHandCase):
    """A temporary conversation is in no list and goes when it is over."""

    def setUp(self):
        super().setUp()
        self.turn._request_stop()
        self.turn.channel_id.unlink()
        self._sign_in(self.member)
        self.channel = self._begun()
        self.path = f"/api/ai/conversations/{self.channel.id}"

    def _begun(self, **values):
        body = {"assistant_id": self.assistant.id, "temporary": True, **values}
        status, made = self._call("POST", "/api/ai/conversations", body)
        self.assertEqual((status, made["temporary"]), (201, True))
        return self.env["discuss.channel"].browse(made["id"])

    def _ask_there(self, content="Hi"):
        status, told = self._call("POST", f"{self.path}/messages", {"content": content})
        self.assertEqual(status, 202)
        self.turn = self.env["woow_paas_platform.ai_turn"].browse(told["turn_id"])

    def _act(self, action):
        body = {"action": action, "conversation_ids": [self.channel.id]}
        (result,) = self._call("POST", "/api/ai/conversations/batch", body)[1]["results"]
        self.env.invalidate_all()
        return result

    def _listed(self, query=""):
        listed = self._call("GET", f"/api/ai/conversations?{query}")[1]["conversations"]
        return [one["id"] for one in listed]

    def _in_discuss(self):
        channels = self.env["discuss.channel"].with_user(self.member)._get_channels_as_member()
        return self.channel.id in channels.ids

    def _cron(self, commit=lambda *_, **__: 1.0):
        with patch.object(self.env.registry["ir.cron"], "_commit_progress", commit):
            self.env["discuss.channel"]._cron_end_temporary()
        self.env.invalidate_all()

    def test_nothing_lists_or_finds_it(self):
        self._ask_there("Platypus")
        self.assertEqual(self._listed(), [])
        self.assertEqual(self._listed("q=platypus"), [])
        self.assertEqual(self._listed("archived=1"), [])
        self.assertFalse(self._in_discuss())
        status, page = self._call("GET", self.path)
        self.assertEqual((status, page["temporary"], len(page["messages"])), (200, True, 1))
        self._sign_in(self.stranger)
        self.assertEqual(self._call("GET", self.path)[0], 404)
        self.assertFalse(self.channel.with_user(self.stranger).has_access("read"))

    def test_it_counts_towards_no_limit_of_conversations(self):
        key = f"{limits.PREFIX}max_conversations_per_person"
        self.env["ir.config_parameter"].sudo().set_param(key, 1)
        self._call("POST", "/api/ai/conversations", {"assistant_id": self.assistant.id})
        other = self._begun()
        self.assertTrue(other.exists())
        self.assertEqual(self._act("keep")["error"]["code"], "too_many_conversations")
        self.assertTrue(self.channel.woow_temporary_until)

    def test_leaving_it_deletes_it(self):
        self._ask_there()
        self.assertTrue(self._act("delete")["ok"])
        self.assertFalse(self.channel.exists() or self.turn.exists())
        self.assertEqual(self._call("GET", self.path)[0], 404)

    def test_an_answer_is_stopped_before(self):
        self._ask_there()
        self._begin((self.forecast, TAIPEI))
        self.assertTrue(self._act("delete")["ok"])
        self.assertTrue(self.turn.stop_requested)
        self.assertEqual(self._call("GET", self.path)[0], 404)  # for its person it is gone
        self._cron()
        self.assertTrue(self.channel.exists())  # a runner still holds it
        self._finish_turn("stopped")
        self._cron()
        self.assertFalse(self.channel.exists())

    def test_the_runner_of_its_answer_is_waited_for_by_the_cron(self):
        self._ask_there()
        self._begin((self.forecast, TAIPEI))
        cron = self.env.ref("woow_paas_platform.ir_cron_temporary")
        before = self.env["ir.cron.trigger"].search([("cron_id", "=", cron.id)])
        self._act("delete")
        later = self.env["ir.cron.trigger"].search([("cron_id", "=", cron.id)]) - before
        self.assertEqual(len(later), 1)

    def test_what_was_left_goes_a_day_after_the_last_question(self):
        now = fields.Datetime.now()
        day = timedelta(hours=discuss_channel.TEMPORARY_HOURS)
        self.channel.woow_temporary_until = now + timedelta(minutes=1)
        self._ask_there()
        self.env.invalidate_all()
        self.assertGreaterEqual(self.channel.woow_temporary_until, now + day)
        self._cron()
        self.assertTrue(self.channel.exists())
        self.channel.woow_temporary_until = now - timedelta(minutes=1)
        self.assertEqual(self._call("GET", self.path)[0], 404)
        self._cron()
        self.assertFalse(self.channel.exists())

    def test_the_cron_tells_how_many_are_left(self):
        channels = self.channel | self._begun() | self._begun()
        channels.woow_temporary_until = fields.Datetime.now() - timedelta(minutes=1)
        self.env.flush_all()
        told = []

        def commit(_cron, done=0, **left):
            told.append(left.get("remaining", -done))
            return 1.0

        with patch.object(discuss_channel, "TEMPORARY_BATCH", 2):
            self._cron(commit)
        self.assertEqual(told, [3, -1, -1])

    def test_kept_it_is_an_ordinary_one(self):
        self._ask_there("Tea?")
        self.assertTrue(self._act("keep")["ok"])
        self.assertEqual(self._listed(), [self.channel.id])
        self.assertTrue(self._in_discuss())
        page = self._call("GET", self.path)[1]
        self.assertEqual((page["temporary"], page["name"]), (False, "Tea?"))
        self._cron()
        self.assertTrue(self.channel.exists())
        self.assertFalse(self._act("delete")["ok"])  # its answer is not stopped any more

    def test_a_stale_tab_does_not_end_what_was_kept(self):
        self._act("keep")
        self.assertTrue(self._act("end")["ok"])
        self.assertTrue(self.channel.exists())

    def test_leaving_it_ends_it(self):
        self._act("end")
        self.assertFalse(self.channel.exists())

    def test_no_list_of_decisions_names_it(self):
        self.forecast.approval_policy = "ask"
        self._ask_there()
        self._begin((self.forecast, TAIPEI))
        self._wait()
        self.assertEqual(self._call("GET", "/api/ai/decisions")[1]["decisions"], [])

    def test_a_failure_leaves_the_others_to_the_cron(self):
        now = fields.Datetime.now()
        self.channel.woow_temporary_until = now - timedelta(minutes=2)
        with (
            patch.object(type(self.channel), "_end_temporary", side_effect=ValueError),
            self.assertLogs("odoo.addons.woow_paas_platform", "ERROR"),
        ):
            self._cron()
        self._cron()
        self.assertFalse(self.channel.exists())

    def test_no_mail_tells_of_it(self):
        self.forecast.approval_policy = "ask"
        self._ask_there()
        self._begin((self.forecast, TAIPEI))
        self._wait()
        long_ago = fields.Datetime.now() - timedelta(minutes=AWAY)
        self.turn.waiting_since = long_ago
        Turn = self.env["woow_paas_platform.ai_turn"]
        to_person = [("partner_ids", "in", self.member.partner_id.ids)]
        Turn._mail_waiting()
        self.assertFalse(self.env["mail.message"].search(to_person))
        self.turn._request_stop()
        self._ask_there()
        self.env.flush_all()
        (claim,) = self.store.claim("one", 1, 15.0)
        ending = Ending(state="done", html="<p>Yes.</p>", next_seq=self.turn._last_seq() + 1)
        self.store.finish(claim, ending, [])
        self.env.invalidate_all()
        self.turn.ended_at = long_ago
        self.assertTrue(self.turn.is_unseen)
        Turn._mail_unseen()
        self.assertFalse(self.env["mail.message"].search(to_person))

    def test_the_oldest_makes_room(self):
        with patch.object(discuss_channel, "MAX_TEMPORARY", 2):
            second = self._begun()
            self.channel.last_interest_dt = fields.Datetime.now() - timedelta(hours=1)
            self.env.flush_all()
            third = self._begun()
        self.assertEqual((self.channel | second | third).exists(), second | third)

    def test_one_whose_answer_is_under_way_makes_room_too(self):
        self._ask_there()
        self._begin((self.forecast, TAIPEI))
        with patch.object(discuss_channel, "MAX_TEMPORARY", 1):
            second = self._begun()
            self.assertEqual(self._call("GET", self.path)[0], 404)
            self.assertTrue(self.turn.stop_requested)
            self._begun()
        self.assertFalse(second.exists())

    def test_nobody_makes_one_of_another_conversation(self):
        with self.assertRaisesRegex(Exception, "cannot be changed"):
            self.channel.with_user(self.member).woow_temporary_until = False
