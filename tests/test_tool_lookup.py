"""Looking tools up, as the host sees it: what may not be called is not found, and finding is nobody's result."""

from dataclasses import asdict

from odoo.tests import tagged

from ..services.specs import CallResult, ToolCall, TurnProgress
from ..services.toolset import lookup
from .common import TAIPEI, TurnByHandCase

PEOPLE = "woow_paas_platform.person_rule"
RULES = "woow_paas_platform.approval_rule"
FOUND = CallResult(outcome="ok", text='{"tools": []}', display='{"tools": []}')


@tagged("post_install", "-at_install")
class TestToolLookup(TurnByHandCase):
    def _blocked(self):
        self.env.flush_all()
        request = self.turn.with_user(self.member).sudo()._turn_request()
        return {tool.name for tool in request.tools if tool.is_blocked}

    def _look_up(self, round_=1):
        """Claim the turn and begin a look-up."""
        self.env.flush_all()
        (self.claim,) = self.store.claim(f"look {round_}", 1, 15.0)
        call = ToolCall(
            id=f"look_{round_}",
            alias=lookup.FIND.alias,
            round=round_,
            tool=lookup.FIND,
            arguments={"queries": ["rain"]},
        )
        self.store.save_step(self.claim, asdict(TurnProgress(step=round_)), (call,), [])
        return call, self.store.begin_call(self.claim, call)

    def test_what_never_runs_is_neither_offered_nor_found(self):
        self.assertEqual(self._blocked(), set())
        self.forecast.approval_policy = "never"
        self.assertEqual(self._blocked(), {"forecast"})
        self.forecast.approval_policy = "auto"
        rule = self.env[RULES].create({"tool_id": self.alerts.id, "policy": "never"})
        self.assertEqual(self._blocked(), {"alerts"})
        rule.condition = "days > 3"
        self.assertEqual(self._blocked(), set(), "some of its calls run")
        rule.unlink()
        self.env[PEOPLE].create(
            {"server_id": self.server.id, "policy": "never", "user_ids": self.member.ids}
        )
        self.assertEqual(self._blocked(), {"forecast", "alerts"})
        self.alerts.active = False
        request = self.turn.with_user(self.member).sudo()._turn_request()
        self.assertEqual([tool.name for tool in request.tools], ["forecast"])

    def test_the_budget_is_the_assistants_and_sizes_are_known(self):
        self.assistant.definition_tokens = 700
        request = self.turn.with_user(self.member).sudo()._turn_request()
        self.assertEqual(request.limits.definition_tokens, 700)

    def test_what_people_say_of_a_server_helps_to_find_its_tools(self):
        self.server.description = "Rain over Taiwan."
        self.env.flush_all()
        request = self.turn.with_user(self.member).sudo()._turn_request()
        self.assertEqual([spec.description for spec in request.servers], ["Rain over Taiwan."])

    def test_a_look_up_runs_and_runs_again_after_a_crash(self):
        call, verdict = self._look_up()
        self.assertEqual(verdict.kind, "run")
        self.env.cr.execute(
            "UPDATE woow_paas_platform_ai_turn SET state = 'queued', lease_epoch = lease_epoch + 1"
            " WHERE id = %s",
            [self.turn.id],
        )
        (self.claim,) = self.store.claim("two", 1, 15.0)
        self.assertEqual(self.store.begin_call(self.claim, call).kind, "run")
        self.store.end_call(self.claim, call.id, FOUND, [])
        self.assertEqual(self.store.begin_call(self.claim, call).result.text, FOUND.text)

    def test_a_look_up_taints_nothing_and_a_server_cannot_pose_as_one(self):
        self.forecast.annotations = '{"destructiveHint": true}'
        self.forecast.approval_policy = "auto"
        call, _verdict = self._look_up()
        self.store.end_call(self.claim, call.id, FOUND, [])
        self.assertEqual(self._begin((self.forecast, TAIPEI), round_=2)[0].kind, "run")
        posing = self.alerts
        posing.name = lookup.FIND.name
        posing.approval_policy = "auto"
        self._begin((posing, TAIPEI), round_=3)
        self.store.end_call(self.claim, "call_3_1", FOUND, [])
        posing.unlink()
        self.assertEqual(self._begin((self.forecast, TAIPEI), round_=4)[0].kind, "ask")
