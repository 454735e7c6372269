"""Decisions: one list of all that waits for a person, and who sees what of it."""

import json
from dataclasses import asdict
from datetime import timedelta

from odoo import fields
from odoo.tests import tagged

from ..services.errors import ElicitationRequired, SignInRequired
from ..services.mcp.session.elicitation import ElicitRequest
from ..services.specs import CallResult, TurnProgress
from ..services.turn.ports import Ending
from .common import ApiCase, TurnByHandCase
from .records_data import RehearsalCase

LIST = "/api/ai/decisions"
PAY = ElicitRequest(message="Pay the order.", url="https://pay.example.com/1")
MEGABYTE = 1024 * 1024


@tagged("post_install", "-at_install")
class TestDecisions(TurnByHandCase):
    def setUp(self):
        super().setUp()
        self.forecast.approval_policy = "ask"
        self.alerts.approval_policy = "auto"
        self.round = 0
        self.turn.unlink()

    # ------------------------------------------------------------ what waits

    def _waits(self, *calls, minutes, confirm=0):
        """A turn of the member that has begun these calls, and waits since so many minutes.

        :return: ids of the calls
        """
        self.turn, self.claim, self.round = self._ask(self.member).sudo(), None, self.round + 1
        self._begin(*calls, round_=self.round)
        self._let_wait(minutes, confirm)
        return [f"call_{self.round}_{number}" for number in range(1, len(calls) + 1)]

    def _let_wait(self, minutes, confirm=0):
        self._wait(confirm)
        self.turn.waiting_since = fields.Datetime.now() - timedelta(minutes=minutes)
        self.env.flush_all()

    def _is_asked(self, wanted, minutes):
        """A server asks in the middle of a call.

        :return: the id of the question
        """
        self.turn, self.claim, self.round = self._ask(self.member).sudo(), None, self.round + 1
        self._begin((self.alerts, {}), round_=self.round)
        self.assertEqual(
            self.store.suspend_call(self.claim, f"call_{self.round}_1", wanted, []), ""
        )
        self._let_wait(minutes)
        return f"question-{self.turn.call_ids.question_ids.id}"

    def _client_asks(self, **arguments):
        name = {"name": "weather__forecast", "arguments": arguments}
        _status, said = self._rpc(self._client_key(self.member), "tools/call", name)
        self.assertEqual(said["result"]["_meta"]["code"], "approval_required")
        self.env.invalidate_all()
        calls = self.env["woow_paas_platform.tool_call"]
        return calls.search([("turn_id", "=", False)], order="id desc", limit=1).call_id

    def _listed(self, user=None, query=""):
        self._sign_in(user or self.member)
        status, said = self._call("GET", LIST + query)
        self.assertEqual(status, 200, said)
        return said

    def _ids(self):
        return [row["id"] for row in self._listed()["decisions"]]

    def _one_of_each(self):
        """:return: ids in the order of the list"""
        (call,) = self._waits((self.forecast, {"city": "Taipei"}), minutes=40)
        self._waits((self.alerts, {}), minutes=30, confirm=2)
        confirm = f"turn-{self.turn.id}"
        question = self._is_asked(ElicitationRequired(questions={"q": PAY}, more=None), 20)
        self.server.authorization = "oauth_user"
        sign_in = self._is_asked(SignInRequired(url="https://id.example.com/login"), 10)
        self.server.authorization = "key"
        of_client = self._client_asks(city="Rome")
        self._sign_in(self.member)
        return [of_client, sign_in, question, confirm, call]

    def test_all_that_waits_is_one_list_the_newest_first(self):
        ids = self._one_of_each()
        said = self._listed()
        self.assertEqual([row["id"] for row in said["decisions"]], ids)
        self.assertEqual(said["total"], 5)
        of_client, sign_in, question, confirm, call = said["decisions"]
        kinds = [row["kind"] for row in said["decisions"]]
        self.assertEqual(kinds, ["client_call", "sign_in", "question", "round", "call"])
        self.assertEqual((call["title"], call["server"]), ("forecast", "weather"))
        self.assertEqual(call["assistant"], {"id": self.assistant.id, "name": "Helper"})
        self.assertEqual(call["summary"], "city: Taipei")
        channel = call["conversation"]
        self.assertEqual(channel["url"], f"/my/ai/{channel['id']}")
        self.assertEqual(confirm["round"], 2)
        self.assertEqual(question["summary"], "Pay the order.")
        self.assertEqual(sign_in["summary"], "id.example.com")
        self.assertEqual((of_client["turn_id"], of_client["conversation"]), (None, None))
        self.assertLess(call["asked_at"], of_client["asked_at"])
        few = self._listed(query="?limit=2")
        self.assertEqual(([row["id"] for row in few["decisions"]], few["total"]), (ids[:2], 5))
        self.assertEqual(self._listed(query="?limit=0"), {"decisions": [], "total": 5})
        for limit in ("-1", "101", "x"):
            self.assertEqual(self._call("GET", f"{LIST}?limit={limit}")[0], 400)

    def test_each_is_read_by_its_id_and_decided_where_it_was_before(self):
        decisions = {
            "call": "approve_once",
            "round": "continue",
            "question": "accept",
            "sign_in": "decline",
            "client_call": "approve_once",
        }
        for decision_id in self._one_of_each():
            status, row = self._call("GET", f"{LIST}/{decision_id}")
            with self.subTest(row["kind"]):
                self.assertEqual(status, 200)
                question, decision = row["question"], decisions[row["kind"]]
                if row["kind"] == "client_call":
                    self.assertEqual(question["args"], {"city": "Rome"})
                    path = f"/api/mcp/calls/{question['id']}/decision"
                    body = {"decision": decision}
                else:
                    path = f"/api/ai/turns/{row['turn_id']}/decision"
                    body = {"id": question["id"], "decision": decision}
                self.assertIn(self._call("POST", path, body)[0], (200, 204))
                self.assertNotIn(decision_id, self._ids())
                self._assert_error(self._call("GET", f"{LIST}/{decision_id}"), 404, "not_found")
                self._assert_error(self._call("POST", path, body), 409, "already_decided")
        self.assertEqual(self._listed(), {"decisions": [], "total": 0})

    def test_a_question_of_a_held_session_is_there_while_the_turn_runs(self):
        self.turn = self._ask(self.member).sudo()
        self._begin((self.alerts, {}))
        event = self.store.ask(self.claim, "call_1_1", ElicitRequest(message="Who?"), 60.0)
        (row,) = self._listed()["decisions"]
        self.assertEqual((row["id"], row["kind"]), (event["id"], "question"))
        self.assertEqual(self.turn.state, "running")
        self.store.end_call(self.claim, "call_1_1", CallResult(outcome="ok", text="x"), [])
        self.env.invalidate_all()
        self.assertEqual(self._ids(), [])

    def test_what_is_over_waits_no_more(self):
        self._waits((self.forecast, {}), (self.forecast, {}), minutes=5)
        stop = f"/api/ai/turns/{self.turn.id}/stop"
        (kept,) = self._waits((self.forecast, {}), minutes=9)
        self.assertEqual(len(self._ids()), 3)
        self.assertEqual(self._call("POST", stop)[0], 200)
        self.assertEqual(self._ids(), [kept])

    # ------------------------------------------------------------ who sees what

    def test_nobody_else_sees_or_decides_any_of_it(self):
        """A matrix of kinds of decision × kinds of person."""
        ids = self._one_of_each()
        rows = {row["id"]: row for row in self._listed()["decisions"]}
        asked = {one: self._call("GET", f"{LIST}/{one}")[1]["question"]["id"] for one in ids}
        for user in (self.admin, self.internal, self.owner, self.guest, self.stranger):
            self.assertEqual(self._listed(user), {"decisions": [], "total": 0}, user.login)
            self.assertNotIn("o_woow_waiting", self.url_open("/my").text)
            for decision_id in ids:
                with self.subTest(user=user.login, kind=rows[decision_id]["kind"]):
                    answer = self._call("GET", f"{LIST}/{decision_id}")
                    self._assert_error(answer, 404, "not_found")
                    self.assertNotIn("Rome", json.dumps(answer))
                    turn_id = rows[decision_id]["turn_id"]
                    path = (
                        f"/api/ai/turns/{turn_id}"
                        if turn_id
                        else f"/api/mcp/calls/{asked[decision_id]}"
                    )
                    body = {"decision": "deny", **({"id": asked[decision_id]} if turn_id else {})}
                    self._assert_error(
                        self._call("POST", f"{path}/decision", body), 404, "not_found"
                    )
        self.assertEqual(self._ids(), ids)
        self.logout()
        for path in (LIST, f"{LIST}/{ids[0]}", f"{LIST}/{ids[-1]}"):
            self._assert_error(self._call("GET", path), 401, "unauthenticated")

    def test_of_a_conversation_that_was_left_nothing_is_told(self):
        self._waits((self.forecast, {}), minutes=1)
        channel = self.turn.channel_id.sudo()
        channel.woow_user_id = self.stranger
        self.env.flush_all()
        self.env.cr.execute(
            "DELETE FROM discuss_channel_member WHERE channel_id = %s", [channel.id]
        )
        self.env.invalidate_all()
        self.env.flush_all()
        (row,) = self._listed()["decisions"]
        self.assertEqual((row["conversation"], row["record"]), (None, None))

    # ------------------------------------------------------------ how much

    def test_long_arguments_are_read_one_by_one(self):
        long = {"city": "x" * MEGABYTE}
        self._waits(*[(self.forecast, long)] * 20, minutes=1)
        self._sign_in(self.member)
        answer = self.url_open(LIST)
        self.assertLess(len(answer.content), 20_000)
        rows = answer.json()["decisions"]
        self.assertEqual([row["summary"] for row in rows], [""] * 20)
        _status, details = self._call("GET", f"{LIST}/{rows[0]['id']}")
        self.assertEqual(details["question"]["args"], long)

    def test_a_row_hides_nothing_behind_what_does_not_show(self):
        self._waits((self.forecast, {"city": f"Taipei{' ' * 500}\u202eIBAN"}), minutes=1)
        (row,) = self._listed()["decisions"]
        self.assertEqual(row["summary"], "city: Taipei [␣×500] [U+202E]IBAN")


@tagged("post_install", "-at_install")
class TestDecisionsOnRecords(RehearsalCase, ApiCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.internal.group_ids += cls.env.ref("base.group_partner_manager")
        cls.line.write({"can_update": True})
        cls.azure = cls.env["res.partner"].create({"name": "Azurite", "city": "Fremont"})
        cls.env.flush_all()

    def _lets_wait(self):
        ending = Ending(
            state="waiting",
            progress=asdict(TurnProgress(step=self.number)),
            next_seq=self.turns[self.internal]._last_seq() + 1,
        )
        self.store.finish(self.claims[self.internal], ending, [])
        self.env.invalidate_all()
        self._sign_in(self.internal)

    def test_a_row_has_the_beginning_of_what_changes(self):
        values = {"city": "Oslo", "street": "S" * 500, "zip": "0150", "phone": "1"}
        self._rehearse("update_records", ids=[self.azure.id], values=values)
        self._lets_wait()
        (row,) = self._call("GET", LIST)[1]["decisions"]
        (change,) = row["changes"]
        self.assertEqual((change["kind"], change["name"]), ("changed", "Azurite"))
        cities = [field for field in change["fields"] if field["name"] == "city"]
        self.assertTrue(all(one["old"] == "Fremont" and one["new"] == "Oslo" for one in cities))
        self.assertEqual((len(change["fields"]), row["has_more"]), (3, True))
        self.assertLess(len(json.dumps(row)), 3_000)
        url = f"/odoo/ai-chat/{self.turns[self.internal].channel_id.id}"
        self.assertEqual(row["conversation"]["url"], url)

    def test_a_late_decision_on_an_earlier_question_is_none(self):
        change = {"ids": [self.azure.id], "values": {"city": "Oslo"}}
        self._rehearse("update_records", **change)
        self._lets_wait()
        path = f"{LIST}/{self.call.id}"
        before = self._call("GET", path)[1]["question"]
        self.row.rehearsal = {**self.row.rehearsal, "digest": "another", "again": True}
        self.env.flush_all()
        decide = f"/api/ai/turns/{self.row.turn_id.id}/decision"
        body = {"id": self.call.id, "decision": "approve_once"}
        for shown in (None, {self.call.id: before["review_hash"]}):
            sent = body | ({"shown": shown} if shown else {})
            self._assert_error(self._call("POST", decide, sent), 409, "question_changed")
        now = self._call("GET", path)[1]["question"]
        self.assertNotEqual(now["review_hash"], before["review_hash"])
        sent = {**body, "shown": {self.call.id: now["review_hash"]}}
        self.assertEqual(self._call("POST", decide, sent)[0], 200)
        self.assertEqual(self._call("GET", LIST)[1]["total"], 0)
        self._assert_error(self._call("POST", decide, sent), 409, "already_decided")

    def test_a_long_list_of_changes_is_read_when_it_is_opened(self):
        values = {"comment": "<p>" + "x" * 4_000 + "</p>"}
        partners = self.env["res.partner"].create([{"name": f"P{n}"} for n in range(8)])
        self._rehearse("update_records", ids=partners.ids, values=values)
        self._lets_wait()
        (row,) = self._call("GET", LIST)[1]["decisions"]
        self.assertEqual((row["changes"], row["has_more"], row["summary"]), ([], True, ""))
        details = self._call("GET", f"{LIST}/{self.call.id}")[1]
        self.assertEqual(len(details["question"]["rehearsal"]["changes"]), 8)
