"""Deciders of runs: who is told of a question, sees it and may answer it, and that nobody else does."""

import json
import re
from copy import deepcopy
from dataclasses import asdict
from datetime import timedelta
from unittest.mock import patch

from odoo import Command, fields
from odoo.exceptions import ValidationError
from odoo.tests import new_test_user, tagged

from ..services.records import catalog
from ..services.specs import TurnProgress
from ..services.turn.ports import Ending
from .common import ApiCase
from .records_data import PARTNER, RehearsalCase
from .test_runs import RunCase

LIST = "/api/ai/decisions"
LINK = r"/my/ai/decisions/[\w-]{40,}"  # of a mail
PERSON = {
    "password": "secret-of-a-test",
    "lang": "en_US",
    "context": {"no_reset_password": True, "tracking_disable": True},
}


@tagged("post_install", "-at_install")
class TestDeciders(RunCase, RehearsalCase, ApiCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.line.write({"can_update": True})
        cls.group, cls.second, cls.unseeing = cls.env["res.groups"].create(
            [{"name": "Deciders"}, {"name": "Directors"}, {"name": "Blind"}]
        )
        cls.company = cls.env["res.company"].create({"name": "Elsewhere"})
        made = {
            name: new_test_user(cls.env, f"ai_{name}", groups="base.group_user", **PERSON)
            for name in ("one", "two", "blind", "gone", "field", "director", "requester", "away")
        }
        cls.one, cls.two, cls.field = made["one"], made["two"], made["field"]
        cls.director, cls.requester = made["director"], made["requester"]
        cls.people = made | {
            "user": cls.internal,
            "administrator": cls.admin,
            "portal": cls.member,
            "portal in group": cls.guest,
        }
        made["away"].write({"company_id": cls.company.id, "company_ids": [cls.company.id]})
        members = [made[name] for name in ("one", "two", "blind", "gone", "away")]
        for user in (*members, cls.guest):
            user.group_ids += cls.group
        cls.director.group_ids += cls.second
        made["blind"].group_ids += cls.unseeing
        made["gone"].active = False
        cls.contact.write(
            {"company_id": cls.env.company.id, "city": "Graz", "user_id": cls.field.id}
        )
        cls.env["ir.rule"].create(
            {
                "name": "Not for the blind",
                "model_id": cls.env["ir.model"]._get_id("res.partner"),
                "groups": [Command.link(cls.unseeing.id)],
                "domain_force": "[('id', '=', user.partner_id.id)]",
            }
        )
        cls.by_group = {"woow_decider": "group", "woow_decider_group_id": cls.group.id}

    # ------------------------------------------------------------ a run that asks

    def _asks(self, *, confirm=0, by=None, **values):
        """A run whose only call, a change of the contact, waits for a decision."""
        self._is_started(by, **values)
        if not confirm:
            self._rehearse("update_records", **self._change())
        self._waits(confirm)
        return self.run

    def _change(self):
        return {"ids": [self.contact.id], "values": {"city": "Linz"}}

    def _is_started(self, by=None, **values):
        action = self._action(woow_answer_to="none", **values)
        env = self.env(user=by) if by else self.env
        action.with_env(env).sudo().with_context(
            active_model="res.partner", active_ids=self.contact.ids
        ).run()
        self._start()
        self.run = self._runs(action)
        self.turn = self.run.turn_id
        self.turns[self.internal] = self.turn
        self._claims()

    def _claims(self):
        self.env.flush_all()
        claims = self.store.claim("one", 8, 15.0)
        self.claims[self.internal] = next(c for c in claims if c.turn_id == self.turn.id)

    def _waits(self, confirm=0):
        ending = Ending(
            state="waiting",
            confirm=confirm,
            progress=asdict(TurnProgress(step=self.number)),
            next_seq=len(self._log()) + 1,
        )
        self.store.finish(self.claims[self.internal], ending, [])
        self.env.invalidate_all()
        self.assertEqual(self.turn.state, "waiting")
        self._sign_in(self.internal)
        (row,) = self._rows()
        question = self._call("GET", f"{LIST}/{row['id']}")[1]["question"]
        self.asked = {"id": question["id"]}
        if not confirm:
            self.asked["shown"] = {question["id"]: question["review_hash"]}

    def _log(self):
        log = self.env["woow_paas_platform.ai_turn_event"]
        return log.search([("turn_id", "=", self.turn.id)]).mapped("payload")

    # ------------------------------------------------------------ what a person can do

    def _rows(self):
        status, said = self._call("GET", LIST)
        self.assertEqual(status, 200)
        return [row for row in said["decisions"] if row["turn_id"] == self.turn.id]

    def _try(self, decision, **values):
        body = {**self.asked, "decision": decision, **values}
        return self._call("POST", f"/api/ai/turns/{self.turn.id}/decision", body)

    def _is_let(self, decision):
        """True if the decision is taken; what came of it is taken back."""
        with self.env.cr.savepoint() as savepoint:
            status, _said = self._try(decision)
            savepoint.close(rollback=True)
        self.env.invalidate_all()
        self.assertIn(status, (200, 404, 422))
        return status == 200

    def _may(self, user):
        """Letters of what the user may: list it, read it, allow, deny, and read the conversation."""
        self._sign_in(user)
        asked = self.row.call_id
        rows = self._rows()
        status, details = self._call("GET", f"{LIST}/{asked}")
        if status == 404:
            self.assertNotIn("Graz", json.dumps(details))
        elif user != self.internal:
            self.assertEqual(rows[0]["conversation"], None)
            self.assertEqual(rows[0]["record"]["id"], self.contact.id)
        further = self._call("GET", f"/api/ai/turns/{self.turn.id}/rehearsal?call={asked}")
        self.assertEqual(further[0] == 200, status == 200 or user == self.admin)
        channel = self._call("GET", f"/api/ai/conversations/{self.turn.channel_id.id}")
        may = {
            "l": rows,
            "r": status == 200,
            "a": self._is_let("approve_once"),
            "d": self._is_let("deny"),
            "c": channel[0] == 200,
        }
        return "".join(letter for letter, is_let in may.items() if is_let)

    def _matrix(self, **wanted):
        told = {name: self._may(user) for name, user in self.people.items() if user.active}
        self.assertEqual({name: may for name, may in told.items() if may}, wanted)
        self.logout()
        self.assertEqual(self._call("GET", f"{LIST}/{self.row.call_id}")[0], 401)

    # ------------------------------------------------------------ who

    def test_the_user_of_the_run(self):
        self._asks()
        self._matrix(user="lradc")

    def test_a_group(self):
        self._asks(**self.by_group)
        self._matrix(one="lrad", two="lrad", user="lrdc")

    def test_a_field(self):
        name = self.env.ref("base.field_res_partner__user_id")
        self._asks(woow_decider="field", woow_decider_field_id=name.id)
        people = (self.field, self.internal, self.one, self.admin)
        self.assertEqual([self._may(user) for user in people], ["lrad", "lrdc", "", ""])
        self.contact.user_id = self.two
        self.assertEqual([self._may(user) for user in (self.field, self.two)], ["", "lrad"])
        self.contact.user_id = self.people["blind"]
        self.assertEqual(self._may(self.two), "")
        self.assertEqual(self._may(self.internal), "lradc")

    def test_who_may_not_read_what_a_call_changes_does_not_decide(self):
        """Nobody is shown values that are not theirs to read, nor allows what cannot be shown."""
        city = self.env["res.partner"]._fields["city"]
        self.two.group_ids += self.env.ref("base.group_partner_manager")
        with patch.object(city, "groups", "base.group_partner_manager"):
            self._asks(**self.by_group)
            self._matrix(two="lrad", user="lrdc")

    def test_without_anybody_left_it_is_up_to_the_user_or_an_administrator(self):
        self._asks(**self.by_group)
        (self.one | self.two).write({"group_ids": [Command.unlink(self.group.id)]})
        self.assertEqual([self._may(user) for user in (self.one, self.internal)], ["", "lradc"])
        self._asks(**self.by_group, woow_requester_is_excluded=True)
        self.assertEqual(self._may(self.admin), "lrad")
        self.assertEqual(self._may(self.internal), "lrdc")

    def test_the_requester_is_excluded(self):
        self.one.group_ids += self.env.ref("base.group_partner_manager")
        self._asks(by=self.one, woow_requester_is_excluded=True, **self.by_group)
        self.assertIn(self.one, self.run.requester_ids)
        people = (self.one, self.two, self.internal, self.admin)
        self.assertEqual([self._may(user) for user in people], ["lrd", "lrad", "lrdc", ""])

    def test_a_round(self):
        self._asks(confirm=2, **self.by_group)
        self._sign_in(self.one)
        (row,) = self._rows()
        self.assertEqual((row["kind"], row["round"]), ("round", 2))
        _status, details = self._call("GET", f"{LIST}/{row['id']}")
        self.assertEqual(details["question"]["choices"], ["continue", "stop"])
        self._sign_in(self.internal)
        _status, details = self._call("GET", f"{LIST}/{row['id']}")
        self.assertEqual(details["question"]["choices"], ["stop"])
        self._assert_error(self._try("continue"), 422, "refused")
        self._sign_in(self.one)
        self.assertEqual(self._try("continue"), (200, {"state": "queued", "waiting_for": []}))

    def test_another_answer_in_the_chat_is_up_to_its_user(self):
        self._is_started(**self.by_group)
        self._end(self.run)
        self.turn = self._wait(self.run, self._retry_in_chat(self.turn))
        self.asked = {"id": "round-3"}
        self.env.flush_all()
        for user in (self.one, self.internal):
            self._sign_in(user)
            is_own = user == self.internal
            self.assertEqual((bool(self._rows()), self._is_let("continue")), (is_own, is_own))

    def test_an_earlier_always_counts_only_where_the_user_may_allow(self):
        self.env["woow_paas_platform.tool_grant"].create(
            {
                "name": "Change contacts",
                "user_id": self.internal.id,
                "records": "update_records res.partner",
                "scope": "always",
                "definition": catalog.TOOLS["update_records"].definition,
            }
        )
        for kind, values in (
            ("run", {}),
            ("ask", self.by_group),
            ("ask", {"woow_requester_is_excluded": True}),
        ):
            with self.subTest(kind, **values):
                self._is_started(**values)
                change = {**PARTNER, **self._change()}
                _call, verdict = self._begin(self.internal, "update_records", change)
                self.assertEqual(verdict.kind, kind)

    def test_a_message_on_what_a_user_may_not_read_is_not_for_that_user_to_decide(self):
        other = self.env["res.partner"].create({"name": "Kept Apart"})
        self.env["ir.rule"].create(
            {
                "name": "Not for the group",
                "model_id": self.env["ir.model"]._get_id("res.partner"),
                "groups": [Command.link(self.group.id)],
                "domain_force": f"[('id', '!=', {other.id})]",
            }
        )
        self.line.can_message = True
        self._is_started(**self.by_group)
        self._rehearse("post_message", id=other.id, body="Pay Graz by Friday.")
        self._waits()
        self.assertEqual((self._may(self.one), self._may(self.internal)), ("", "lradc"))

    # ------------------------------------------------------------ what a decider may do

    def test_the_first_of_two_decides_once_as_it_was_asked(self):
        self._asks(**self.by_group)
        self._sign_in(self.one)
        (row,) = self._rows()
        _status, details = self._call("GET", f"{LIST}/{row['id']}")
        question = details["question"]
        self.assertEqual(question["choices"], ["approve_once", "deny"])
        self.assertLessEqual(set(question["schema"]["properties"]), set(question["fixed"]))
        other = {**question["args"], "values": {"city": "Rom"}}
        self._assert_error(self._try("approve_once", arguments=other), 422, "refused")
        self._assert_error(self._try("approve_always"), 422, "refused")
        self._assert_error(self._try("accept", content={}), 404, "not_found")
        status, said = self._try("approve_once", arguments=question["args"])
        self.assertEqual((status, said["waiting_for"]), (200, []))
        self._sign_in(self.two)
        self._assert_error(self._try("deny"), 409, "already_decided")
        self.assertEqual(self.row.decided_by_id, self.one)
        (decided,) = [event for event in self._log() if event["type"] == "decided"]
        self.assertEqual(decided["by"], self.one.name)

    def test_a_record_that_has_changed_is_asked_about_again_of_the_same(self):
        self._asks(**self.by_group)
        self._sign_in(self.one)
        first = self.asked
        self.assertEqual(self._try("approve_once")[0], 200)
        self.contact.city = "Wien"
        self._claims()
        self.store.ask_again(self.claims[self.internal], self.call.id, self._differs())
        self._waits()
        self.assertNotEqual(self.asked, first)
        changes = {name: self._city_shown(name) for name in ("before", "changes")}
        self.assertEqual(changes, {"before": "Graz", "changes": "Wien"})
        self.turn._mail_question(self.one)
        body = self._last_mail_to(self.one).body
        self.assertLess(body.index("City: Graz → Linz"), body.index("City: Wien → Linz"))
        self._sign_in(self.one)
        self._assert_error(self._try("approve_once", shown={}), 409, "question_changed")
        self.assertEqual([self._may(user) for user in (self.one, self.two)], ["lrad", "lrad"])

    def test_what_was_shown_before_is_for_those_who_may_read_it(self):
        other = self.env["res.partner"].create({"name": "Kept Apart"})
        self._asks(**self.by_group)
        shown = self.row.rehearsal["shown"]
        before = {**shown, "changes": [{**shown["changes"][0], "id": other.id}]}
        self.row.rehearsal = {**self.row.rehearsal, "before": before}
        self.assertIn("before", self.row._rehearsal_shown(self.one))
        other.company_id = self.company
        self.env.flush_all()
        self.assertNotIn("before", self.row._rehearsal_shown(self.one))
        self.assertIn("before", self.row._rehearsal_shown(self.internal))
        self.assertTrue(self.row._is_shown_to(self.one))
        mail = {"kind": "mail", "record": "", "body": "Secret.", "recipients": ["x@y.example"]}
        self.row.rehearsal = {**self.row.rehearsal, "shown": {**shown, "messages": [mail]}}
        self.assertFalse(self.row._is_shown_to(self.one), "of whose record nothing is known")

    def _city_shown(self, name):
        """The city before the change, in the list of the one who decides."""
        self._sign_in(self.one)
        (row,) = self._rows()
        return self._field(row[name][0], "city")["old"]

    def test_the_link_of_a_mail_opens_the_question_for_its_user_alone(self):
        self._asks(**self.by_group)
        self.turn._mail_question(self.one | self.internal)
        (link,) = re.findall(LINK, self._last_mail_to(self.one).body)

        def opens(user, path=link):
            self.env.flush_all()
            if user:
                self._sign_in(user)
            else:
                self.authenticate(None, None)
            answer = self.url_open(path, allow_redirects=False)
            self.assertNotIn("Graz", answer.text)
            if user != self.one:
                self.assertNotIn(self.one.name, answer.text)
            return answer.status_code, answer.headers.get("Location", "")

        found = opens(self.one)
        self.assertEqual(found[0], 303)
        self.assertIn(f"/my/ai/decisions?open={self.row.call_id}", found[1])
        status, place = opens(None)
        self.assertEqual(status, 303)
        self.assertIn("/web/login?redirect=", place)
        self.assertIn(link.rpartition("/")[2], place)
        for user in (self.two, self.internal, self.member, self.admin):
            self.assertEqual(opens(user)[0], 403)
        for edited in (link[:-4] + "AAAA", link[:-9], link + "x", "/my/ai/decisions/x"):
            self.assertEqual(opens(self.one, edited)[0], 403)
        (own,) = re.findall(LINK, self._last_mail_to(self.internal).body)
        self.assertIn(f"/my/ai/{self.turn.channel_id.id}", opens(self.internal, own)[1])
        self.assertEqual(self.row.approval, "pending")
        until = self.turn.waiting_until
        with patch.object(fields.Datetime, "now", return_value=until):
            self.assertEqual(opens(self.one)[0], 410)
        self.one.group_ids -= self.group
        self.assertEqual(opens(self.one)[0], 410)
        self.one.group_ids += self.group
        self._sign_in(self.two)
        self.assertEqual(self._try("deny")[0], 200)
        self.assertEqual(opens(self.one)[0], 410)

    def test_the_link_of_a_mail_opens_what_is_left_of_its_calls(self):
        self._asks(**self.by_group)
        other = self.row.copy({"call_id": "another"})
        self._later(minutes=20)
        (link,) = re.findall(LINK, self._last_mail_to(self.two).body)
        for asked, decider, status, place in (
            (self.asked, self.one, 303, "/my/ai/decisions?open=another"),
            ({"id": other.call_id}, self.two, 410, ""),
        ):
            self._sign_in(decider)
            self.asked = asked
            self.assertEqual(self._try("deny")[0], 200)
            self._sign_in(self.two)
            answer = self.url_open(link, allow_redirects=False)
            self.assertEqual(answer.status_code, status)
            self.assertIn(place, answer.headers.get("Location", ""))

    # ------------------------------------------------------------ who is told, and when

    def _later(self, **time):
        """So much time passes, and the cron comes by."""
        self.turn.waiting_since -= timedelta(**time)
        self.env.flush_all()
        self.env.ref("woow_paas_platform.ir_cron_mail_waiting").method_direct_trigger()
        self.env.invalidate_all()

    def _mails(self):
        """``[(login, subject)]`` of all mails on the question, in order of the logins."""
        partners = self.env["res.users"].union(*self.people.values()).partner_id
        mails = self.env["mail.message"].search([("partner_ids", "in", partners.ids)])
        words = "waiting for your decision"
        found = [(m.partner_ids.name, m.subject) for m in mails if words in (m.subject or "")]
        return sorted(found)

    def _last_mail_to(self, user):
        told = [("partner_ids", "in", user.partner_id.ids)]
        return self.env["mail.message"].search(told, order="id desc", limit=1)

    def test_a_mail_tells_values_as_the_card_does(self):
        self._asks(**self.by_group)
        pairs = {
            "float": (0.0, 1250000.125),
            "monetary": (None, {"amount": 1250000.0, "currency": "EUR", "name": "1250000.00 EUR"}),
            "datetime": ("Acme: 2026-10-06 09:00", "2026-10-05 17:00"),
        }
        rehearsal = deepcopy(self.row.rehearsal)
        rehearsal["shown"]["changes"][0]["fields"] = [
            {"name": kind, "label": kind, "type": kind, "old": old, "new": new}
            for kind, (old, new) in pairs.items()
        ]
        self.row.rehearsal = rehearsal
        self._later(minutes=20)
        body = self._last_mail_to(self.one).body
        self.assertIn("float: 0 → 1,250,000.125", body)
        self.assertIn("monetary: nothing → 1,250,000.00 EUR", body)
        self.assertRegex(body, r"datetime: Acme: 2026-10-06 09:00 → 10/05/2026 0?5:00:00\sPM")

    def test_deciders_are_told_reminded_and_joined_by_a_second_group_once_each(self):
        self._asks(
            **self.by_group,
            woow_remind_hours=4,
            woow_escalation_hours=8,
            woow_escalation_group_id=self.second.id,
        )
        activities = self.contact.activity_ids
        self.assertEqual(activities.user_id, self.one | self.two)
        self.assertIn(f"/my/ai/decisions?open={self.row.call_id}", activities[0].note)
        self.assertFalse(self.contact.message_partner_ids & (self.one | self.two).partner_id)
        for _again in range(2):
            self._later(minutes=20)
            self.assertEqual(len(self._mails()), 2)
        mail = self._last_mail_to(self.one)
        self.assertIn("City: Graz → Linz", mail.body)
        self.assertRegex(mail.body, LINK)
        for _again in range(2):
            self._later(hours=4)
            reminders = [subject for _name, subject in self._mails() if "Reminder" in subject]
            self.assertEqual((len(self._mails()), len(reminders)), (4 + bool(_again), 2))
            if not _again:
                self.assertEqual(self._may(self.director), "")
        self.assertEqual(self.contact.activity_ids.user_id, self.one | self.two | self.director)
        self.assertEqual(self._may(self.director), "lrad")
        self._later(hours=1)
        self.assertEqual(len(self._mails()), 5)
        self._sign_in(self.director)
        self.assertEqual(self._try("deny")[0], 200)
        self.assertFalse(self.contact.activity_ids)

    def test_a_question_for_the_user_alone_is_not_escalated(self):
        self._asks(
            **self.by_group, woow_escalation_hours=8, woow_escalation_group_id=self.second.id
        )
        self.row.approval = "approved"
        values = {"call_id": self.row.id, "kind": "form", "message": "How many?"}
        question = self.env["woow_paas_platform.call_question"].create(values)
        self._later(hours=9)
        self.assertFalse(self.run.is_escalated)
        question.action, self.row.approval = "decline", "pending"
        self._later(hours=1)
        self.assertTrue(self.run.is_escalated)

    def test_what_cannot_work_is_refused(self):
        other = self.env.ref("base.field_res_company__create_uid")
        for words, values in (
            ("Choose the group", {"woow_decider": "group"}),
            ("Choose a field", {"woow_decider": "field"}),
            ("Choose a field", {"woow_decider": "field", "woow_decider_field_id": other.id}),
            ("cannot be negative", {"woow_remind_hours": -1}),
            ("more than 8760", {"woow_escalation_hours": 2_000_000_000}),
            ("Set both", {"woow_escalation_hours": 1}),
            ("Set both", {"woow_escalation_group_id": self.group.id}),
        ):
            with self.subTest(words, **values), self.assertRaisesRegex(ValidationError, words):
                self._action(**values)
