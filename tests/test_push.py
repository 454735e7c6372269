import json
from unittest.mock import patch

from odoo.addons.mail.models import mail_thread
from odoo.tests import tagged

from .common import TAIPEI, TurnByHandCase
from .doubles.push_service import PushService


@tagged("post_install", "-at_install")
class TestPush(TurnByHandCase):
    """Browsers of an internal user who is away are told that an answer or a decision waits."""

    def setUp(self):
        super().setUp()
        self.browser = PushService()
        self.addCleanup(self.browser.close)
        self.forecast.approval_policy = "ask"
        self._register(self.internal)
        self._ask_in_chat(self.internal)

    def _register(self, user):
        Device = self.env["mail.push.device"].with_user(user)
        public_key = Device.get_web_push_vapid_public_key()
        Device.register_devices(vapid_public_key=public_key, **self.browser.subscription)

    def _ask_in_chat(self, user, **values):
        self._stop()
        self.turn = self._ask(user, in_browser=True, **values).sudo()
        self.prefix = f"call_{self.turn.id}"

    def _presence(self, user, status):
        self.env["mail.presence"].create({"user_id": user.id, "status": status})

    def _answer(self, state="done"):
        self.env.flush_all()
        (self.claim,) = self.store.claim("one", 1, 15.0)
        with patch.object(mail_thread, "push_to_end_point") as pushed:
            self._finish_turn(state, html="<p>Secret figures.</p>")
        pushed.assert_not_called()

    def _ask_for_decision(self):
        self._begin((self.forecast, TAIPEI))
        self._wait()

    def _queued(self):
        self.env.invalidate_all()
        return [json.loads(one.payload) for one in self.env["mail.push"].search([])]

    def _run_cron(self):
        self.env["mail.push"]._push_notification_to_endpoint()
        return [self.browser.read(body) for body in self.browser.bodies]

    def test_an_answer_reaches_the_browser_by_odoos_cron(self):
        self._answer()
        self.assertFalse(self.browser.bodies)
        cron = self.env.ref("mail.ir_cron_web_push_notification")
        self.assertTrue(self.env["ir.cron.trigger"].search([("cron_id", "=", cron.id)]))
        (told,) = self._run_cron()
        self.assertIn("has answered", told["title"])
        self.assertEqual(told["options"]["body"], self.turn.channel_id.name)
        self.assertEqual(told["options"]["data"]["res_id"], self.turn.channel_id.id)
        self.assertNotIn("Secret figures", json.dumps(told))

    def test_a_decision_reaches_the_browser(self):
        self._ask_for_decision()
        (told,) = self._run_cron()
        self.assertIn("is waiting for your decision", told["title"])
        self.assertNotIn("Taipei", json.dumps(told))

    def test_a_failure_is_told_as_one(self):
        self._answer("failed")
        self.assertIn("could not answer", self._queued()[0]["title"])

    def test_a_browser_that_is_gone_is_forgotten(self):
        self._answer()
        self.browser.status = 410
        self._run_cron()
        self.assertFalse(self.env["mail.push.device"].search([]))
        self.assertFalse(self._queued())

    def test_a_push_service_that_is_down_costs_nothing(self):
        self._answer()
        self.assertEqual(self.turn.state, "done")
        self.browser.close()
        with self.assertLogs("odoo.addons.mail.models.mail_push", "ERROR"):
            self._run_cron()
        self.assertFalse(self._queued())

    def test_who_is_there_is_not_told(self):
        self._presence(self.internal, "online")
        self._answer()
        self.assertFalse(self._queued())

    def test_who_is_away_for_long_is_told(self):
        self._presence(self.internal, "away")
        self._answer()
        self.assertEqual(len(self._queued()), 1)

    def test_who_wants_none_gets_none(self):
        self.internal.woow_ai_notify = False
        self._answer()
        self._ask_in_chat(self.internal)
        self._ask_for_decision()
        self.assertFalse(self._queued())

    def test_who_is_busy_gets_none(self):
        self.internal.manual_im_status = "busy"
        self._answer()
        self.assertFalse(self._queued())

    def test_what_was_stopped_is_no_news(self):
        self._answer("stopped")
        self.assertFalse(self._queued())

    def test_portal_users_get_mail_only(self):
        self.env["mail.push.device"].search([]).partner_id = self.member.partner_id
        self._ask_in_chat(self.member)
        self._answer()
        self.assertFalse(self._queued())

    def test_programs_and_runs_tell_nobody(self):
        for field in ("woow_is_of_program", "woow_is_of_run"):
            with self.subTest(field=field):
                self._ask_in_chat(self.internal)
                self.turn.channel_id.sudo()[field] = True
                self._answer()
                self.assertFalse(self._queued())

    def test_what_is_asked_in_discuss_odoo_tells_itself(self):
        self.turn.is_from_discuss = True
        self._answer()
        (told,) = self._queued()
        self.assertIn("Secret figures", json.dumps(told))
