from datetime import timedelta

from odoo import fields
from odoo.exceptions import AccessError
from odoo.tests import tagged

from .common import AiCase

MODELS = ("ai.config", "ai.assistant", "woow_paas_platform.mcp_server")


@tagged("post_install", "-at_install")
class TestOverview(AiCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.Overview = cls.env["woow_paas_platform.overview"].with_user(cls.admin)
        cls.numbers = iter(range(1000))

    def _overview(self):
        self.env.flush_all()
        self.env.invalidate_all()
        return self.Overview.get_overview()

    def _turn(self, state, **values):
        turn = self._ask(self.member, f"Question {next(self.numbers)}").sudo()
        turn.write({"state": state, **values})
        return turn

    def _call(self, turn, outcome):
        number = next(self.numbers)
        self.env["woow_paas_platform.tool_call"].create(
            {
                "turn_id": turn.id,
                "user_id": self.member.id,
                "call_id": f"overview_{number}",
                "tool_name": "forecast",
                "outcome": outcome,
            }
        )

    def test_only_administrators_see_it(self):
        for person in (self.internal, self.owner, self.member, self.stranger, self.public):
            with self.subTest(person=person.login), self.assertRaises(AccessError):
                self.Overview.with_user(person).get_overview()

    def test_the_setup_tells_what_is_missing(self):
        self.env["woow_paas_platform.ai_turn"].search([]).state = "failed"
        for model in reversed(MODELS):
            self.env[model].search([]).active = False
        nothing = dict.fromkeys(("provider", "tools", "assistant", "answer"), False)
        self.assertEqual(self._overview()["setup"], nothing)
        provider = self.env["ai.config"].with_context(active_test=False).search([], limit=1)
        provider.active = True
        self.assertEqual(self._overview()["setup"], nothing, "it was not tested")
        self.assertEqual(self._overview()["provider_id"], provider.id)
        provider.state = "connected"
        self.assertEqual(self._overview()["setup"], {**nothing, "provider": True})
        self._turn("done")
        answered = {**nothing, "provider": True, "answer": True}
        self.assertEqual(self._overview()["setup"], answered)
        provider.active = False
        self.assertFalse(self._overview()["setup"]["provider"], "the answer was another one's")

    def test_what_was_spent_and_by_which_assistant(self):
        Cost = self.env["woow_paas_platform.cost"]
        before = self._overview()["costs"]
        config = self.assistant.config_id
        self.env["woow_paas_platform.price"].create(
            {"model": "tidal", "valid_from": "2020-01-01", "input_price": 2.0}
        )
        for number, days in enumerate((0, 0, 29, 30, 59, 61)):
            cost = Cost._reserve(
                {
                    "key": f"overview-{number}",
                    "kind": "answer",
                    "config_id": config.id,
                    "model": "tidal",
                    "user_id": self.admin.id,
                    "assistant_id": self.assistant.id,
                    "date": fields.Datetime.now() - timedelta(days=days),
                }
            )
            cost._settle({"input_tokens": 500_000, "output_tokens": 0})
        costs = self._overview()["costs"]
        grown = {name: costs[name] - before[name] for name in ("today", "month", "before")}
        self.assertEqual(grown, {"today": 2.0, "month": 3.0, "before": 2.0})
        self.assertEqual(costs["requests"] - before["requests"], 3)
        amounts = {one["id"]: one["amount"] for one in costs["assistants"]}
        self.assertGreaterEqual(amounts[self.assistant.id], 3)

    def test_the_numbers_of_today_and_of_the_days_before(self):
        before = self._overview()["days"][-1]
        usage = {"input_tokens": 100, "output_tokens": 23, "duration_ms": 4000}
        answered = self._turn("done", usage=usage)
        failed = self._turn("failed", usage={}, error_message="The model is away.")
        self._turn("stopped", usage={})
        self._turn("running", usage={})
        for outcome in ("ok", "denied", "error", "timeout"):
            self._call(answered, outcome)
        self.assertEqual((answered.tokens, answered.duration_ms), (123, 4000))
        overview = self._overview()
        self.assertEqual(len(overview["days"]), 30)
        today = overview["days"][-1]
        grown = {name: today[name] - before[name] for name in today if name != "day"}
        counted = {"turns": 4, "done": 1, "stopped": 1, "failed": 1, "tokens": 123}
        counted |= {"calls": 4, "ok": 1, "prevented": 1, "errors": 2}
        self.assertEqual(grown, counted | {"good": 0, "bad": 0})
        told = overview["failures"][0]
        self.assertEqual((told["id"], told["why"]), (failed.id, "The model is away."))

    def test_a_failure_is_told_in_the_language_of_who_reads_it(self):
        turn = self._turn("failed", error_code="llm_timeout", error_message="太久了。")
        (told,) = [f for f in self._overview()["failures"] if f["id"] == turn.id]
        self.assertEqual(told["why"], "The language model did not answer in time. Try again.")
        self.assertEqual(turn.error_sentence, told["why"])

    def test_questions_and_calls_count_the_days_of_the_person(self):
        self.Overview = self.Overview.with_context(tz="Asia/Taipei")
        before = {day["day"]: day for day in self._overview()["days"]}
        turn = self._turn("done", usage={})
        self._call(turn, "ok")
        self.env.flush_all()
        today = fields.Date.context_today(self.Overview)
        late = f"{today - timedelta(days=1)} 20:00:00"  # 4 o'clock of this day in Taipei
        for table in ("woow_paas_platform_ai_turn", "woow_paas_platform_tool_call"):
            column = "id" if table.endswith("ai_turn") else "turn_id"
            query = f"UPDATE {table} SET create_date = %s WHERE {column} = %s"
            self.env.cr.execute(query, (late, turn.id))
        after = self._overview()["days"]
        grown = {
            day["day"]: (
                day["turns"] - before[day["day"]]["turns"],
                day["calls"] - before[day["day"]]["calls"],
            )
            for day in after
        }
        self.assertEqual({day: n for day, n in grown.items() if any(n)}, {str(today): (1, 1)})

    def test_what_waits_and_what_is_in_trouble(self):
        before = self._overview()
        self._turn("waiting")
        self.forecast.review_state = "changed"
        self.server._set_state("error", "The MCP server closed the connection.")
        overview = self._overview()
        self.assertEqual(overview["waiting"], before["waiting"] + 1)
        self.assertEqual(overview["reviews"], before["reviews"] + 1)
        self.assertEqual(overview["servers"][0]["state"], "error")
        told = [
            failure["id"] for failure in overview["failures"] if failure["id"] == self.server.id
        ]
        self.assertEqual(told, [self.server.id])

    def test_it_asks_the_database_as_often_however_much_there_is(self):
        turn = self._turn("done")
        few = self._queries()
        for number in range(30):
            self._call(turn, "ok" if number % 2 else "error")
            self._turn("done")
        self.assertLessEqual(self._queries(), few)
        self.assertLess(few, 40)

    def _queries(self):
        self._overview()  # what Odoo keeps in its caches may have been driven out meanwhile
        self.env.flush_all()
        self.env.invalidate_all()
        before = self.env.cr.sql_log_count
        self.Overview.get_overview()
        return self.env.cr.sql_log_count - before

    def test_the_first_assistant_has_all_that_there_is(self):
        self.env["ai.config"].search([("id", "!=", self.assistant.config_id.id)]).active = False
        Assistant = self.env["ai.assistant"].with_user(self.admin)
        fields = ["name", "config_id", "mcp_server_ids"]
        plain = Assistant.default_get(fields)
        self.assertEqual(plain["config_id"], self.assistant.config_id.id)
        self.assertNotIn("mcp_server_ids", plain)
        context = self.Overview.with_user(self.admin).get_overview()["first_assistant"]
        of_setup = Assistant.with_context(**context).default_get(fields)
        self.assertTrue(of_setup["name"])
        self.assertIn(self.server.id, of_setup["mcp_server_ids"][0][2])
