from datetime import timedelta

from odoo import fields
from odoo.tests import tagged

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
        self.assertEqual(self.turn.with_user(self.member)._waiting_count(), 1)
        self.assertEqual(self.turn.with_user(self.owner)._waiting_count(), 0)
        self.assertIn("o_woow_waiting", self.url_open("/my").text)
