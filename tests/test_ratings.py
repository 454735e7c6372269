"""Ratings of answers: whose they are, what administrators read of them, and when they go."""

from datetime import timedelta

from odoo import fields
from odoo.exceptions import AccessError, ValidationError
from odoo.tests import tagged
from odoo.tools import html2plaintext

from .common import TurnByHandCase, retention

BAD = {"value": "bad", "reason": "inaccurate", "text": "It is not.", "share": False}


@tagged("post_install", "-at_install")
class TestRatings(TurnByHandCase):
    def setUp(self):
        super().setUp()
        self.path = f"/api/ai/turns/{self.turn.id}/rating"
        self.Rating = self.env["woow_paas_platform.answer_rating"]
        self._sign_in(self.member)

    def _answer(self):
        self._begin((self.forecast, {}))
        self._finish_turn(html="<p>It is sunny.</p>")

    def _rate(self, **values):
        answer = self._call("PUT", self.path, values)
        self.env.invalidate_all()
        return answer

    def _ratings(self):
        self.env.invalidate_all()
        return self.Rating.search([("turn_id", "=", self.turn.id)])

    def _shown(self):
        """Rating in the conversation's data."""
        path = f"/api/ai/conversations/{self.turn.channel_id.id}"
        (answer,) = (m for m in self._call("GET", path)[1]["messages"] if m["role"] == "assistant")
        return answer["turn"]["rating"]

    def _as_admin(self):
        return self._ratings().with_user(self.admin).sudo(False)

    # ------------------------------------------------------------ the person

    def test_one_rating_that_is_changed_and_taken_back(self):
        self._answer()
        self.assertIsNone(self._shown())
        status, said = self._rate(value="good")
        self.assertEqual(status, 200)
        nothing = {"reason": None, "text": "", "share": False, "reported": False}
        nothing |= {"seen_at": None, "reply": ""}
        self.assertEqual(said, {"value": "good", **nothing})
        self.assertEqual(self._shown(), said)
        self.assertEqual(self._rate(**BAD)[1], {**nothing, **BAD})
        self.assertEqual(self._shown(), {**nothing, **BAD})
        self.assertEqual(len(self._ratings()), 1)
        self.assertEqual(self._rate(value="good")[1], said, "nothing is left of the bad one")
        self.assertEqual(self._call("DELETE", self.path), (204, None))
        self.assertFalse(self._ratings())
        self.assertIsNone(self._shown())
        self.assertEqual(self._call("DELETE", self.path), (204, None), "it is gone already")

    def test_nobody_rates_the_answers_of_others(self):
        self._answer()
        self._rate(**BAD)
        for user in (self.guest, self.owner, self.stranger, self.internal, self.admin):
            self._sign_in(user)
            with self.subTest(user=user.login):
                self._assert_error(self._rate(value="good"), 404, "not_found")
                self._assert_error(self._call("DELETE", self.path), 404, "not_found")
        self.assertEqual(self._ratings().value, "bad")

    def test_only_the_person_and_administrators_find_it(self):
        self._answer()
        self._rate(**BAD)
        found = set()
        for user in (self.member, self.guest, self.owner, self.stranger, self.internal, self.admin):
            if self.Rating.with_user(user).search([("turn_id", "=", self.turn.id)]):
                found.add(user)
        self.assertEqual(found, {self.member, self.admin})
        with self.assertRaises(AccessError):
            self.Rating.with_user(self.public).search([])

    def test_nobody_writes_a_rating_around_the_route(self):
        self._answer()
        self._rate(**BAD)
        own = self._ratings().with_user(self.member).sudo(False)
        for change in ({"value": "good"}, {"reply": "Yes."}, {"seen_at": "2026-01-01 00:00:00"}):
            with self.subTest(change=change), self.assertRaises(AccessError):
                own.write(change)
        with self.assertRaises(AccessError):
            own.action_mark_read()
        for change in ({"value": "good"}, {"is_shared": True}, {"tool_ids": []}, {"text": "No."}):
            with self.subTest(change=change), self.assertRaises(AccessError):
                self._as_admin().write(change)
        with self.assertRaises(AccessError):
            self._as_admin().unlink()

    def test_bad_input_is_refused(self):
        self._assert_error(self._rate(value="good"), 409, "turn_running")
        self._answer()
        for values in (
            {},
            {"value": "so so"},
            {"value": "bad", "reason": "ugly"},
            {"value": "good", "reason": "slow"},
            {"value": "bad", "text": "a" * 1_001},
            {"value": "bad", "share": "yes"},
            {"value": "bad", "report": True},
            {"value": "good", "report": True},
            {"value": "bad", "reason": "slow", "report": "yes"},
        ):
            with self.subTest(values=values):
                self._assert_error(self._rate(**values), 400, "invalid_field")
        self._assert_error(self._rate(value="good", user_id=1), 400, "unknown_field")
        self.assertFalse(self._ratings())
        self.assertEqual(self._rate(value="bad", text="a" * 1_000)[0], 200)
        self.assertEqual(self._rate(value="bad", text="a\0\ud800b")[0], 200)

    # ------------------------------------------------------------ reports

    def _told(self):
        """People who were written to."""
        self.env.invalidate_all()
        domain = [("subject", "ilike", "An answer of “Helper” was reported")]
        return self.env["mail.message"].search(domain).notified_partner_ids.user_ids

    def test_a_report_tells_who_is_responsible_once(self):
        self.assistant.responsible_id = self.admin
        self._answer()
        self._rate(**BAD)
        self.assertFalse(self._told())
        status, said = self._rate(**BAD, report=True)
        self.assertEqual((status, said["reported"]), (200, True))
        self.assertEqual(self._told(), self.admin)
        self.assertEqual(self._rate(**BAD | {"text": "No."}, report=True)[0], 200)
        messages = self.env["mail.message"].search([("subject", "ilike", "was reported")])
        self.assertEqual(len(messages), 1)
        self.assertIn(f"/odoo/ai-ratings/{self._ratings().id}", messages.body)
        self.assertNotIn("Hello", messages.body)
        self._assert_error(self._call("DELETE", self.path), 409, "already_reported")
        self.assertTrue(self._rate(value="good")[1]["reported"])
        self._as_admin().action_mark_read()
        self.assertTrue(self._shown()["seen_at"] and self._shown()["reported"])

    def test_without_one_all_administrators_are_told(self):
        self._answer()
        self._rate(**BAD, report=True)
        self.assertIn(self.admin, self._told())
        self.assertFalse(self._told() & (self.internal | self.owner | self.member))

    def test_only_an_administrator_is_responsible(self):
        with self.assertRaises(ValidationError):
            self.assistant.responsible_id = self.internal
        self.assistant.responsible_id = self.admin
        self.admin.group_ids = self.env.ref("base.group_user")
        self._answer()
        self._rate(**BAD, report=True)
        self.assertNotIn(self.admin, self._told())

    def test_one_person_reports_so_many_answers_a_day(self):
        self._answer()
        others = [self._ask(self.member).sudo() for _number in range(10)]
        now = fields.Datetime.now()
        for number, turn in enumerate(others):
            hours = 23 if number else 25
            reported = {"reported_at": now - timedelta(hours=hours), "value": "bad"}
            self.Rating.create({"turn_id": turn.id, "user_id": self.member.id, **reported})
        self.env.flush_all()
        self.assertEqual(self._rate(**BAD, report=True)[0], 200)
        self._ratings().reported_at = False
        self._ratings().search([("reported_at", "!=", False)]).reported_at = now
        self.env.flush_all()
        self._assert_error(self._rate(**BAD, report=True), 429, "too_many_reports")
        self.assertEqual(self._rate(**BAD)[0], 200, "it may still be rated")

    def test_the_list_is_filtered_by_version(self):
        self._answer()
        self.turn.version_id = self.assistant.version_id
        self._rate(**BAD)
        number = self.assistant.version_id.number
        found = self.Rating.with_user(self.admin).search([("version_number", "=", number)])
        self.assertIn(self._ratings(), found)
        self.assertFalse(found.search([("version_number", "=", number + 1)]))

    # ------------------------------------------------------------ administrators

    def test_administrators_read_the_text_only_if_it_is_shared(self):
        self._answer()
        self._rate(**BAD)
        hidden = self._as_admin()
        self.assertEqual(hidden.assistant_id, self.assistant)
        self.assertEqual(hidden.tool_ids, self.forecast)
        self.assertIn("forecast", hidden.tool_names)
        self.assertEqual((hidden.reason, hidden.text), ("inaccurate", "It is not."))
        self.assertFalse(hidden.shared_question or hidden.shared_answer)
        self._rate(**BAD | {"share": True})
        shown = self._as_admin()
        self.assertEqual(shown.shared_question, "Hello")
        self.assertEqual(html2plaintext(shown.shared_answer), "It is sunny.")
        with self.assertRaises(AccessError):
            shown.with_user(self.member).read(["shared_question"])
        self._rate(**BAD)
        self.assertFalse(self._as_admin().shared_answer, "it is shared no more")

    def test_the_person_sees_that_it_was_read_and_the_reply(self):
        self._answer()
        self._rate(**BAD)
        self._as_admin().action_mark_read()
        self.assertEqual(self._ratings().seen_by_id, self.admin)
        shown = self._shown()
        self.assertTrue(shown["seen_at"])
        self.assertEqual(shown["reply"], "")
        self._as_admin().write({"reply": "  It is now. "})
        self.assertEqual(self._shown(), {**shown, "reply": "It is now."})
        self._rate(**BAD)
        self.assertTrue(self._shown()["seen_at"], "nothing has changed")
        self._rate(value="good")
        self.assertIsNone(self._shown()["seen_at"], "this one nobody has read")
        self._as_admin().write({"reply": "Good."})
        self.assertTrue(self._shown()["seen_at"], "who replies has read it")
        with self.assertRaises(ValidationError):
            self._as_admin().write({"reply": "a" * 1_001})

    def test_the_overview_counts_them(self):
        overview = self.env["woow_paas_platform.overview"].with_user(self.admin)
        before = overview.get_overview()["days"][-1]
        self._answer()
        self._rate(value="good")
        after = overview.get_overview()["days"][-1]
        self.assertEqual(after["good"], before["good"] + 1)
        self.assertEqual(after["bad"], before["bad"])

    # ------------------------------------------------------------ deletion

    def test_it_stays_as_long_as_its_answer_and_its_person(self):
        self._answer()
        self._rate(**BAD)
        self.turn.ended_at = fields.Datetime.now() - timedelta(days=4000)
        retention(self.env)
        self.assertTrue(self._ratings(), "the conversation is still there")
        self._call("DELETE", f"/api/ai/conversations/{self.turn.channel_id.id}")
        self.assertFalse(self._ratings())

    def test_it_goes_with_its_person(self):
        self._mention(self._channel(self.internal), self.internal)
        self._answer()
        self._sign_in(self.internal)
        self.path = f"/api/ai/turns/{self.turn.id}/rating"
        self._rate(**BAD)
        rating = self._ratings()
        self.internal.unlink()
        self.assertFalse(rating.exists())
