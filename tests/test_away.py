from datetime import timedelta

from odoo import fields
from odoo.tests import tagged

from ..services.turn.ports import Ending
from ..tools import limits
from .common import TAIPEI, TurnByHandCase


@tagged("post_install", "-at_install")
class TestAway(TurnByHandCase):
    """A decision that waits reaches a person who has left."""

    def setUp(self):
        super().setUp()
        self.forecast.approval_policy = "ask"
        self._asked((self.forecast, TAIPEI))

    def _mails(self, minutes=20):
        """What the person was written when the decision has waited that long."""
        self.turn.waiting_since = fields.Datetime.now() - timedelta(minutes=minutes)
        self.env["woow_paas_platform.ai_turn"]._mail_waiting()
        to_person = [("partner_ids", "in", self.member.partner_id.ids)]
        return self.env["mail.message"].search(to_person)

    def test_a_mail_leads_to_the_conversation_once(self):
        self.assertEqual(self.turn.state, "waiting")
        self.assertFalse(self._mails(minutes=5))
        mail = self._mails()
        self.assertEqual(len(mail), 1)
        self.assertIn("is waiting for your decision", mail.subject)
        self.assertIn(f"/my/ai/{self.turn.channel_id.id}", mail.body)
        self.assertEqual(self._mails(), mail)

    def test_who_wants_none_gets_none(self):
        _status, told = self._call("PATCH", "/api/ai/preferences", {"notify": False})
        self.assertEqual((told["notify"], told["show_tool_calls"]), (False, True))
        self.env.invalidate_all()
        self.assertFalse(self._mails())

    def test_an_administrator_switches_them_off(self):
        self.env["ir.config_parameter"].set_param(f"{limits.PREFIX}mail_after_minutes", "0")
        self.assertFalse(self._mails())

    def test_what_was_decided_meanwhile_is_not_written_about(self):
        self._decide("approve_once")
        self.assertFalse(self._mails())

    def test_the_tile_of_the_portal_says_it(self):
        self.assertIn("o_woow_waiting", self.url_open("/my").text)
        self._sign_in(self.owner)
        self.assertNotIn("o_woow_waiting", self.url_open("/my").text)


@tagged("post_install", "-at_install")
class TestAwayFromAnAnswer(TurnByHandCase):
    """An answer that nobody has looked at reaches the person who has left."""

    def setUp(self):
        super().setUp()
        self.turn._request_stop()
        self._sign_in(self.member)
        self.channel = self.turn.channel_id
        self.conversation = f"/api/ai/conversations/{self.channel.id}"
        self._ask_there()

    def _ask_there(self, **headers):
        told = self._call("POST", f"{self.conversation}/messages", {"content": "Hi"}, headers)[1]
        self.turn = self.env["woow_paas_platform.ai_turn"].browse(told["turn_id"])

    def _end(self, state="done", minutes=20):
        self.env.flush_all()
        (claim,) = self.store.claim("one", 1, 15.0)
        ending = Ending(state=state, html="<p>Yes.</p>", next_seq=self.turn._last_seq() + 1)
        self.store.finish(claim, ending, [])
        self.env.invalidate_all()
        self.turn.ended_at = fields.Datetime.now() - timedelta(minutes=minutes)

    def _mails(self):
        self.env["woow_paas_platform.ai_turn"]._mail_unseen()
        to_person = [("partner_ids", "in", self.member.partner_id.ids)]
        return self.env["mail.message"].search(to_person)

    def test_a_mail_leads_to_the_answer_once(self):
        self._end(minutes=5)
        self.assertFalse(self._mails())
        self.turn.ended_at = fields.Datetime.now() - timedelta(minutes=20)
        mail = self._mails()
        self.assertEqual(len(mail), 1)
        self.assertIn("has answered", mail.subject)
        self.assertIn(f"/my/ai/{self.channel.id}", mail.body)
        self.assertEqual(self._mails(), mail)

    def test_several_answers_are_one_mail(self):
        self._end()
        self.turn.copy().is_unseen = True
        self.assertEqual(len(self._mails()), 1)

    def test_a_failure_is_told_as_one(self):
        self._end("failed")
        self.assertIn("could not answer", self._mails().subject)

    def test_what_was_looked_at_is_not_written_about(self):
        self._end()
        self.assertTrue(self._call("GET", self.conversation)[1]["unseen"])
        (listed,) = self._call("GET", "/api/ai/conversations")[1]["conversations"]
        self.assertTrue(listed["unseen"])
        self.assertEqual(self._call("POST", f"{self.conversation}/seen")[0], 204)
        self.env.invalidate_all()
        self.assertFalse(self._call("GET", self.conversation)[1]["unseen"])
        (listed,) = self._call("GET", "/api/ai/conversations")[1]["conversations"]
        self.assertFalse(listed["unseen"])
        self.assertFalse(self._mails())

    def test_what_was_read_in_discuss_is_not_written_about(self):
        self._end()
        member = self.channel.channel_member_ids.filtered(
            lambda one: one.partner_id == self.member.partner_id
        )
        member.with_user(self.member).sudo()._mark_as_read(self.turn.answer_message_id.id)
        self.assertFalse(self._mails())

    def test_who_asks_on_has_read(self):
        self._end()
        self._ask_there()
        self.assertFalse(self._mails())

    def test_what_was_stopped_is_not_written_about(self):
        self._end("stopped")
        self.assertFalse(self._mails())

    def test_programs_get_no_mails(self):
        key = (
            self.env["res.users.apikeys"]
            .with_user(self.internal)
            ._generate(None, "test", fields.Datetime.now() + timedelta(days=1))
        )
        self.assertTrue(self.turn.is_unseen)
        channel = self._conversation(self.internal)
        self.conversation = f"/api/ai/conversations/{channel.id}"
        self._ask_there(Authorization=f"Bearer {key}")
        self.assertEqual(self.turn.channel_id, channel)
        self.assertFalse(self.turn.is_unseen)

    def test_what_is_a_day_old_is_no_news(self):
        self._end(minutes=25 * 60)
        self.assertFalse(self._mails())

    def test_each_can_be_switched_off(self):
        self._end()
        set_param = self.env["ir.config_parameter"].set_param
        set_param(f"{limits.PREFIX}answer_mail_after_minutes", "0")
        self.assertFalse(self._mails())
        set_param(f"{limits.PREFIX}answer_mail_after_minutes", "15")
        self.member.woow_ai_notify = False
        self.assertFalse(self._mails())
