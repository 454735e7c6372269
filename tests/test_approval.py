from datetime import timedelta
from unittest.mock import patch

from odoo import fields
from odoo.exceptions import AccessError, ValidationError
from odoo.tests import tagged

from ..services.llm.transcript import DIFFERS
from ..services.specs import CallResult
from .common import TAIPEI, TurnByHandCase


@tagged("post_install", "-at_install")
class TestApproval(TurnByHandCase):
    """Who is asked, who decides, and what becomes of it; the store's methods are called by hand."""

    # ------------------------------------------------------------ policies

    def test_policy_of_tool_assistant_and_rules(self):
        Rule = self.env["woow_paas_platform.approval_rule"]
        for kind, change in {
            "ask": lambda: None,
            "run": lambda: self.forecast.write({"approval_policy": "auto"}),
            "deny": lambda: self.forecast.write({"approval_policy": "never"}),
        }.items():
            with self.subTest(policy=kind):
                change()
                self.turn.call_ids.unlink()
                self.assertEqual(self._begin((self.forecast, TAIPEI))[0].kind, kind)
        self.forecast.approval_policy = "default"
        self.assistant.approval_mode = "auto"
        self.turn.call_ids.unlink()
        self.assertEqual(self._begin((self.forecast, TAIPEI))[0].kind, "ask", "it is not trusted")
        self.server.trust_level = "annotations"
        self.turn.call_ids.unlink()
        self.assertEqual(self._begin((self.forecast, TAIPEI))[0].kind, "run")
        Rule.create({"tool_id": self.forecast.id, "condition": "city == 'Taipei'"})
        self.turn.call_ids.unlink()
        verdicts = self._begin((self.forecast, TAIPEI), (self.forecast, {"city": "Rome"}))
        self.assertEqual([verdict.kind for verdict in verdicts], ["ask", "run"])
        Rule.create(
            {"tool_id": self.forecast.id, "policy": "auto", "sequence": 1}
        ).assistant_id = self.assistant
        self.turn.call_ids.unlink()
        self.assertEqual(self._begin((self.forecast, TAIPEI))[0].kind, "run")

    def test_a_condition_must_be_readable(self):
        with self.assertRaises(ValidationError):
            self.env["woow_paas_platform.approval_rule"].create(
                {"tool_id": self.forecast.id, "condition": "__import__('os')"}
            )

    def test_lists_tell_what_becomes_of_a_call(self):
        self.forecast.input_schema = '{"properties": {"city": {"type": "string"}}}'
        self.assertIn('\n  "properties": {', self.forecast.input_schema_text)
        for annotations, trust, policy, now, effect in (
            ("{}", "none", "default", "ask", False),
            ('{"readOnlyHint": true}', "none", "default", "ask", "read"),
            ('{"readOnlyHint": true}', "annotations", "default", "auto", "read"),
            ('{"destructiveHint": true}', "full", "default", "ask", "destroy"),
            ('{"destructiveHint": true}', "full", "auto", "auto", "destroy"),
            ("{}", "full", "never", "never", False),
        ):
            with self.subTest(annotations=annotations, trust=trust, policy=policy):
                self.server.trust_level = trust
                self.forecast.write({"annotations": annotations, "approval_policy": policy})
                self.assertEqual((self.forecast.policy_now, self.forecast.effect), (now, effect))

    def test_read_only_tools_of_a_trusted_server_run(self):
        self.forecast.annotations = '{"readOnlyHint": true}'
        self.assertEqual(self._begin((self.forecast, TAIPEI))[0].kind, "ask")
        self.server.trust_level = "annotations"
        self.turn.call_ids.unlink()
        self.assertEqual(self._begin((self.forecast, TAIPEI))[0].kind, "run")

    def test_where_others_read_along_nobody_is_asked(self):
        self._mention(self._channel(self.internal), self.internal)
        (verdict,) = self._begin((self.forecast, TAIPEI))
        self.assertEqual(verdict.kind, "deny")
        self.assertIn("permission", verdict.reason)

    # ------------------------------------------------------------ decisions

    def test_the_question_tells_what_the_tool_does(self):
        self.forecast.description = "Tells\nthe weather. " * 40
        self._asked()
        (event,) = self._events("approval_required")
        self.assertEqual(event["description"][:18], "Tells the weather.")
        self.assertEqual(len(event["description"]), 300)
        self.assertIs(event["destructive"], False)

    def test_the_form_keeps_the_order_of_its_fields(self):
        self.forecast.input_schema = (
            '{"type": "object", "properties": {"number": {}, "city": {}, "notify": {}}}'
        )
        self._asked()
        (event,) = self._events("approval_required")
        self.assertEqual(list(event["schema"]["properties"]), ["number", "city", "notify"])

    def test_the_question_says_that_the_tool_is_set_to_ask(self):
        self.forecast.approval_policy = "ask"
        self._asked()
        (event,) = self._events("approval_required")
        self.assertEqual(event["reason"], "This tool is set to ask before it runs.")

    def test_the_question_tells_whether_something_can_be_destroyed(self):
        self.forecast.annotations = '{"destructiveHint": true}'
        self._asked()
        (event,) = self._events("approval_required")
        self.assertIs(event["destructive"], True)

    def test_who_manages_the_server_is_led_to_where_it_is_said_what_asks(self):
        self.run_flow.approval_policy = "default"
        self.turn.state = "stopped"
        for person, path in (
            (self.member, None),
            (self.owner, f"/my/services/{self.service.id}/mcp"),
            (self.admin, f"/odoo/mcp-tools/{self.run_flow.id}"),
        ):
            with self.subTest(person=person.login):
                self.turn = self._ask(person, service=self.service.with_user(person)).sudo()
                self._begin((self.run_flow, TAIPEI))
                self._wait()
                (event,) = self._events("approval_required")
                self.assertEqual(event["manage_path"], path)
                self.turn.call_ids.unlink()

    def test_a_call_waits_and_runs_when_it_is_allowed(self):
        self._asked()
        (event,) = self._events("approval_required")
        self.assertEqual(event["args"], TAIPEI)
        self.assertEqual(event["schema"]["properties"]["city"]["type"], "string")
        self.assertEqual((event["tool"], event["server"]), ("forecast", "weather"))
        self.assertEqual((self.turn.state, self.turn.lease_owner), ("waiting", False))
        conversation = f"/api/ai/conversations/{self.turn.channel_id.id}"
        page = self._call("GET", conversation)[1]
        self.assertEqual(page["turn"]["waiting_for"][0]["id"], "call_1_1")
        self.assertEqual(
            self._decide("approve_once"), (200, {"state": "queued", "waiting_for": []})
        )
        call = self.turn.call_ids
        self.assertEqual((call.approval, call.decided_by_id), ("approved", self.member))
        self.assertTrue(call.decided_at)
        self.assertEqual(self._resume("call_1_1")[0].kind, "run")

    def test_a_denial_and_its_reason_reach_the_model(self):
        self._asked()
        self._decide("deny", reason=" Not <b>today</b>. ")
        (verdict,) = self._resume("call_1_1")
        self.assertEqual(verdict.kind, "deny")
        self.assertIn("Not <b>today</b>.", verdict.reason)
        self.assertEqual(self._events("decided")[0]["by"], self.member.name)

    def test_changed_arguments_are_checked_kept_and_used(self):
        self._asked()
        wrong = self._decide("approve_once", arguments={"city": 5})
        self._assert_error(wrong, 422, "invalid_arguments")
        self.assertEqual(self.turn.call_ids.approval, "pending")
        self.assertEqual(self._decide("approve_once", arguments={"city": "Rome"})[0], 200)
        call = self.turn.call_ids
        self.assertEqual((call.arguments, call.asked_arguments), ({"city": "Rome"}, TAIPEI))
        (verdict,) = self._resume("call_1_1")
        self.assertEqual((verdict.kind, verdict.arguments), ("run", {"city": "Rome"}))
        event = {"type": "tool_result", "id": "call_1_1"}
        seq = self.turn._last_seq() + 1
        self.store.end_call(
            self.claim, "call_1_1", CallResult(outcome="ok", text="sunny"), [(seq, event)]
        )
        self.assertEqual(self._events("tool_result")[0]["args"], {"city": "Rome"})

    def test_what_is_unchanged_stays_as_asked(self):
        """A browser may round the long id, so it only names it."""
        self.forecast.input_schema = '{"type": "object", "properties": {"id": {"type": "integer"}}}'
        asked = {"id": 1234567890123456789, "city": "Taipei", "tags": [], "note": "cold"}
        changed = {**asked, "city": "Rome"}
        without = {name: changed[name] for name in ("id", "city", "tags")}
        for values, arguments in (
            ({}, asked),
            ({"arguments": {}, "unchanged": list(asked)}, asked),
            ({"arguments": {"city": "Rome"}, "unchanged": ["id", "tags", "note"]}, changed),
            ({"arguments": {"city": "Rome"}, "unchanged": ["tags", "id", "none"]}, without),
            ({"arguments": {"city": "Rome"}}, {"city": "Rome"}),
        ):
            with self.subTest(**values):
                self._asked((self.forecast, asked))
                self.assertEqual(self._decide("approve_once", **values)[0], 200)
                call = self.turn.call_ids
                self.assertEqual(list(call.arguments.items()), list(arguments.items()))
                self.assertEqual(call.is_changed, arguments != asked)
                (verdict,) = self._resume("call_1_1")
                instead = None if arguments == asked else arguments
                self.assertEqual((verdict.kind, verdict.arguments), ("run", instead))
                self.turn.call_ids.unlink()

    def test_unchanged_arguments_are_of_one_allowed_call(self):
        self._asked((self.forecast, TAIPEI), (self.alerts, TAIPEI))
        for decision, question in (("deny", "call_1_1"), ("approve_once", "all")):
            with self.subTest(decision=decision):
                refused = self._decide(decision, question, unchanged=["city"])
                self._assert_error(refused, 400, "invalid_field")

    def test_changed_arguments_meet_the_rules_again(self):
        self.env["woow_paas_platform.approval_rule"].create(
            {"tool_id": self.forecast.id, "condition": "city == 'Rome'", "policy": "never"}
        )
        self._asked()
        self._decide("approve_once", arguments={"city": "Rome"})
        self.assertEqual(self._resume("call_1_1")[0].kind, "deny")

    def test_parallel_calls_one_by_one_or_all_at_once(self):
        self._asked((self.forecast, TAIPEI), (self.alerts, TAIPEI))
        status, answer = self._decide("approve_once", "call_1_1")
        self.assertEqual((status, answer["state"]), (200, "waiting"))
        self.assertEqual([asked["id"] for asked in answer["waiting_for"]], ["call_1_2"])
        self._assert_error(self._decide("deny", "call_1_1"), 409, "already_decided")
        self.assertEqual(self._decide("deny", "call_1_2")[1]["state"], "queued")
        self._assert_error(self._decide("deny", "call_1_2"), 409, "already_decided")
        kinds = [verdict.kind for verdict in self._resume("call_1_1", "call_1_2")]
        self.assertEqual(kinds, ["run", "deny"])

    def test_all_at_once(self):
        self._asked((self.forecast, TAIPEI), (self.alerts, TAIPEI))
        self.assertEqual(self._decide("approve_once", "all")[1]["state"], "queued")
        self.assertEqual(len(self._events("decided")), 2)
        self._assert_error(self._decide("approve_once", "all"), 409, "already_decided")

    def test_only_the_turns_user_decides(self):
        self._asked()
        for user in (self.stranger, self.guest, self.owner, self.internal, self.admin):
            with self.subTest(user=user.login):
                self._sign_in(user)
                self._assert_error(self._decide("approve_once"), 404, "not_found")
        self.authenticate(None, None)
        self._assert_error(self._decide("approve_once"), 401, "unauthenticated")
        self.assertEqual(self.turn.call_ids.approval, "pending")

    def test_bad_decisions_change_nothing(self):
        self._asked()
        for values, status, code in (
            ({"decision": "maybe"}, 400, "invalid_field"),
            ({"decision": "continue"}, 409, "already_decided"),
            ({"decision": "deny", "question": "call_9"}, 404, "not_found"),
            ({"decision": "deny", "arguments": {}}, 400, "invalid_field"),
            ({"decision": "deny", "arguments": "x"}, 400, "invalid_field"),
        ):
            with self.subTest(**values):
                self._assert_error(self._decide(**values), status, code)
        self.assertEqual(self.turn.state, "waiting")

    def test_what_was_switched_off_meanwhile_is_denied(self):
        self._asked()
        self._decide("approve_once")
        self.forecast.active = False
        self.assertEqual(self._resume("call_1_1")[0].kind, "deny")

    def test_a_tool_that_changed_meanwhile_is_denied(self):
        for name, change in {
            "definition": lambda: self.forecast.write({"definition_hash": "another"}),
            "address": lambda: self.server.write({"url": "https://other.example.com/mcp"}),
        }.items():
            with self.subTest(changed=name):
                self._asked()
                self._decide("approve_once")
                change()
                (verdict,) = self._resume("call_1_1")
                self.assertEqual((verdict.kind, verdict.reason), ("deny", DIFFERS))
                self.turn.call_ids.unlink()

    def test_stop_while_waiting_cancels_the_calls(self):
        self._asked()
        path = f"/api/ai/turns/{self.turn.id}/stop"
        self.assertEqual(self._call("POST", path), (200, {"state": "stopped"}))
        self.env.invalidate_all()
        call = self.turn.call_ids
        self.assertEqual((call.outcome, call.approval), ("cancelled", "cancelled"))
        self._assert_error(self._decide("approve_once"), 409, "already_decided")

    def test_a_stop_that_came_too_late_for_the_runner_counts(self):
        self._begin((self.forecast, TAIPEI))
        self.turn.stop_requested = True
        self.env.flush_all()
        self._wait()
        self.assertEqual(self.turn.state, "stopped")
        self.assertEqual(self._events("done")[0]["state"], "stopped")

    def test_nobody_decides_in_time(self):
        self._asked()
        cron = self.env.ref("woow_paas_platform.ir_cron_expire_decisions")
        cron.method_direct_trigger()
        self.assertEqual(self.turn.state, "waiting")
        self.turn.waiting_until = fields.Datetime.now() - timedelta(minutes=1)
        with patch.object(type(self.env["ir.cron"]), "_commit_progress"):
            cron.method_direct_trigger()
        self.assertEqual((self.turn.state, self.turn.call_ids.approval), ("queued", "expired"))
        self.assertEqual(self._events("decided")[0]["decision"], "expired")
        (verdict,) = self._resume("call_1_1")
        self.assertEqual(verdict.kind, "deny")
        self.assertIn("in time", verdict.reason)

    # ------------------------------------------------------------ rounds

    def test_a_round_is_confirmed(self):
        for decision, change in (("continue", {"confirmed": 2}), ("stop", {"sum_up": True})):
            with self.subTest(decision=decision):
                self._begin()
                self._wait(confirm=2)
                self._sign_in(self.member)
                event = self._events("confirm_required")[-1]
                self.assertEqual((event["id"], event["round"]), ("round-2", 2))
                self._assert_error(self._decide(decision, "round-9"), 404, "not_found")
                self.assertEqual(self._decide(decision, "round-2")[1]["state"], "queued")
                self._assert_error(self._decide(decision, "round-2"), 409, "already_decided")
                self.assertEqual(self.turn.transcript, {**self.turn.transcript, **change})

    # ------------------------------------------------------------ grants

    def test_grants_hold_where_they_were_given_until_the_tool_changes(self):
        Grant = self.env["woow_paas_platform.tool_grant"]
        self._asked()
        self._decide("approve_conversation")
        grant = Grant.search([("user_id", "=", self.member.id)])
        self.assertEqual((grant.tool_id, grant.scope), (self.forecast, "conversation"))
        other = self._ask(self.member).sudo()
        self.assertTrue(Grant._is_granted(self.turn, self.forecast))
        self.assertFalse(Grant._is_granted(other, self.forecast))
        self.assertFalse(Grant._is_granted(self.turn, self.alerts))
        Grant._grant(self.turn, self.forecast, "always")
        self.assertTrue(Grant._is_granted(other, self.forecast))
        self.forecast.definition_hash = "another"
        self.assertFalse(Grant._is_granted(other, self.forecast))

    def test_a_granted_call_runs_and_says_so(self):
        self.env["woow_paas_platform.tool_grant"]._grant(self.turn, self.forecast, "always")
        self.assertEqual(self._begin((self.forecast, TAIPEI))[0].kind, "run")
        self.env.invalidate_all()
        self.assertEqual(self.turn.call_ids.approval, "granted")

    def test_grants_are_listed_and_taken_back_by_their_person(self):
        grant = self.env["woow_paas_platform.tool_grant"]._grant(
            self.turn, self.forecast, "conversation"
        )
        path = f"/api/ai/grants/{grant.id}"
        self._sign_in(self.stranger)
        self.assertEqual(self._call("GET", "/api/ai/grants")[1], {"grants": []})
        self._assert_error(self._call("DELETE", path), 404, "not_found")
        self._sign_in(self.member)
        (listed,) = self._call("GET", "/api/ai/grants")[1]["grants"]
        self.assertEqual((listed["id"], listed["tool"]), (grant.id, "weather.forecast"))
        self.assertEqual(listed["conversation"]["id"], self.turn.channel_id.id)
        self.assertEqual(self._call("DELETE", path), (204, None))
        self.assertFalse(grant.exists())

    def test_nobody_copies_a_permission(self):
        grant = self.env["woow_paas_platform.tool_grant"]._grant(self.turn, self.forecast, "always")
        with self.assertRaises(AccessError):
            grant.with_user(self.member).copy()
