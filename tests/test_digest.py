from unittest.mock import patch

from freezegun import freeze_time
from odoo.http import Request
from odoo.tests import tagged

from ..models.conversation import decision
from .common import TAIPEI, TurnByHandCase

DECISION = "woow_paas_platform.decision"
MORNING, EVENING = "2027-03-01 00:30:00", "2027-03-01 13:00:00"  # UTC; 8:30 and 21:00 in Taipei


@tagged("post_install", "-at_install")
class TestDigest(TurnByHandCase):
    """One mail each morning with what waits, for those who want it."""

    def setUp(self):
        super().setUp()
        self.forecast.approval_policy = "ask"
        self.member.write({"woow_ai_digest": True, "tz": "Asia/Taipei"})

    def _mails(self, at=MORNING, user=None):
        user = user or self.member
        self.env.flush_all()
        with freeze_time(at):
            self.env[DECISION]._mail_digest(user.id)
        return self.env["mail.message"].search([("partner_ids", "in", user.partner_id.ids)])

    def _run_cron(self, time_left=1.0):
        commit = patch.object(
            self.env.registry["ir.cron"], "_commit_progress", lambda *_, **__: time_left
        )
        with commit, freeze_time(MORNING):
            self.env[DECISION]._cron_mail_digest()

    def _answer(self):
        self._stop()
        self.turn = self._ask(self.member, "What is new?", in_browser=True).sudo()
        self.env.flush_all()
        (self.claim,) = self.store.claim("one", 1, 15.0)
        self._finish_turn(html="<p>Figures.</p>")

    def test_a_decision_is_named_with_its_link_once_a_day(self):
        self._asked((self.forecast, TAIPEI))
        mail = self._mails()
        self.assertEqual(len(mail), 1)
        self.assertIn("Decisions that wait for you: 1", mail.body)
        self.assertIn("/my/ai/decisions?open=call_1_1", mail.body)
        self.assertNotIn("Unread answers", mail.body)
        self.assertEqual(self._mails("2027-03-01 02:00:00"), mail)
        self.assertEqual(len(self._mails("2027-03-02 00:30:00")), 2)

    def test_an_unread_answer_is_named_without_its_text(self):
        self._answer()
        self.turn.channel_id.name = "What is <new>?"
        mail = self._mails()
        self.assertIn("Unread answers: 1", mail.body)
        self.assertIn(f"/my/ai/{self.turn.channel_id.id}", mail.body)
        self.assertIn("What is &lt;new&gt;?", mail.body)
        self.assertNotIn("Figures", mail.body)

    def test_nothing_is_written_where_nothing_waits(self):
        self._stop()
        self.assertFalse(self._mails())

    def test_it_comes_in_the_users_morning(self):
        self._asked((self.forecast, TAIPEI))
        self.assertFalse(self._mails(EVENING))
        self.member.tz = "America/New_York"  # 8:00 there
        self.assertEqual(len(self._mails(EVENING)), 1)

    def test_it_is_off_by_default(self):
        self.assertFalse(self.env["res.users"].new().woow_ai_digest)
        self.member.woow_ai_digest = False
        self._asked((self.forecast, TAIPEI))
        self.assertFalse(self._mails())

    def test_others_decisions_and_answers_are_not_told(self):
        self._asked((self.forecast, TAIPEI))
        self.stranger.write({"woow_ai_digest": True, "tz": "Asia/Taipei"})
        self.assertFalse(self._mails(user=self.stranger))

    def test_runs_and_programs_have_no_unread_answers(self):
        self._answer()
        self.turn.channel_id.woow_is_of_run = True
        self.assertFalse(self._mails())

    def test_an_answer_in_the_archive_is_not_told(self):
        self._answer()
        self.turn.channel_id.channel_member_ids.woow_is_archived = True
        self.assertFalse(self._mails())

    def test_the_cron_writes_to_all_whose_morning_it_is(self):
        Decision = type(self.env[DECISION])
        self.stranger.write({"woow_ai_digest": True, "tz": "America/New_York"})
        self.env.flush_all()
        with patch.object(Decision, "_mail_digest", autospec=True) as mailed:
            self._run_cron()
        self.assertEqual([call.args[1] for call in mailed.call_args_list], [self.member.id])

    def test_the_cron_ends_when_its_time_is_over(self):
        (self.stranger | self.owner).write({"woow_ai_digest": True, "tz": "Asia/Taipei"})
        self.env.flush_all()
        self._run_cron(time_left=0.0)
        users = self.member | self.stranger | self.owner
        users.invalidate_recordset()
        self.assertEqual(len(users.filtered("woow_ai_digest_on")), 1)

    def test_a_mail_that_fails_costs_nobody_else_theirs(self):
        self.stranger.write({"woow_ai_digest": True, "tz": "Asia/Taipei"})
        self._asked((self.forecast, TAIPEI))
        ResUsers, write = type(self.env["res.users"]), self.env.registry["res.users"].write

        def refuse(user, values):
            if "woow_ai_digest_on" in values and user == self.stranger:
                raise ValueError("The disk is full.")
            return write(user, values)

        self.env.flush_all()
        with (
            patch.object(ResUsers, "write", refuse),
            self.assertLogs(decision.__name__, "ERROR") as logged,
        ):
            self._run_cron()
        self.env.invalidate_all()
        self.assertIn(
            f"The digest of user {self.stranger.id} could not be written", logged.output[0]
        )
        self.assertFalse(self.stranger.woow_ai_digest_on)
        mail = self.env["mail.message"].search([("partner_ids", "in", self.member.partner_id.ids)])
        self.assertIn("Decisions that wait for you: 1", mail.body)

    def test_the_page_switches_it(self):
        self._sign_in(self.member)
        token = Request.csrf_token(self)
        for name, field in (("digest", "woow_ai_digest"), ("notify", "woow_ai_notify")):
            for is_on in ("", "1"):
                with self.subTest(name=name, is_on=is_on):
                    form = {"name": name, "is_on": is_on, "csrf_token": token}
                    self.assertEqual(self.url_open("/my/ai/notifications", form).status_code, 200)
                    self.env.invalidate_all()
                    self.assertEqual(self.member[field], bool(is_on))
        form = {"name": "language", "is_on": "1", "csrf_token": token}
        self.assertEqual(self.url_open("/my/ai/notifications", form).status_code, 200)
        self.assertTrue(self._call("GET", "/api/ai/preferences")[1]["digest"])
