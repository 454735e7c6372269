import re

from odoo.exceptions import ValidationError
from odoo.tests import tagged
from odoo.tools import file_open

from ..tools import limits
from .common import AiCase, retention

SUMS = "woow_paas_platform.tool_call_sum"
MEASURES = [
    "__count",
    "error_rate:avg",
    "duration_median:avg",
    "duration_p95:avg",
    "total_duration:sum",
    "bytes:sum",
    "tokens:sum",
]
LEVELS = (
    [],
    ["server_id"],
    ["tool_id"],
    ["server_name", "tool_name"],
    ["assistant_id", "user_id"],
    ["outcome"],
    ["date:day"],
    ["date:month", "tool_name"],
)


class CountedCase(AiCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.turn = cls._ask(cls.member).sudo()
        cls.Report = cls.env["woow_paas_platform.tool_call_report"].with_user(cls.admin)
        cls.admin.group_ids += cls.env.ref("base.group_system")
        cls.numbers = iter(range(1000))

    @classmethod
    def _calls(cls, *made, age=0, **values):
        """:param made: (duration in ms, outcome) of calls that are `age` days old"""
        calls = cls.env["woow_paas_platform.tool_call"].create(
            [
                {
                    "turn_id": cls.turn.id,
                    "user_id": cls.member.id,
                    "call_id": f"call_{next(cls.numbers)}",
                    "tool_name": "forecast",
                    "tool_id": cls.forecast.id,
                    "server_id": cls.server.id,
                    "server_name": "weather",
                    "arguments": {"city": "Taipei"},
                    "outcome": outcome,
                    "duration_ms": duration,
                    "bytes": 10,
                    "tokens": 3,
                    **values,
                }
                for duration, outcome in made
            ]
        )
        cls.env.flush_all()
        cls.env.cr.execute(
            "UPDATE woow_paas_platform_tool_call"
            " SET create_date = create_date - %s * interval '1 day' WHERE id = ANY(%s)",
            [age, calls.ids],
        )
        cls.env.invalidate_all()
        return calls

    def _said(self):
        """What graph and pivot show, at several levels."""
        self.env.flush_all()
        return [
            self.Report._read_group([], levels, MEASURES, order=",".join(levels) or None)
            for levels in LEVELS
        ]


@tagged("post_install", "-at_install")
class TestToolCallReport(CountedCase):
    def test_rates_medians_and_percentiles_are_those_of_the_group(self):
        self._calls(*[(100, "ok")] * 8, (250, "denied"), (1000, "error"))
        ((server, assistant, *measured),) = self.Report._read_group(
            [("server_id", "=", self.server.id)], ["server_id", "assistant_id"], MEASURES
        )
        self.assertEqual((server, assistant), (self.server, self.assistant))
        self.assertEqual(measured, [10, 10.0, 100, 1000, 2050, 100, 30])
        self.assertEqual(self.Report._read_group([], [], ["errors:sum"]), [(1,)])

    def test_calls_that_never_ran_have_no_duration(self):
        self._calls((100, "ok"), (0, "denied"), (0, "invalid_args"))
        self._calls((0, "denied"), tool_name="never")
        of_server = [("server_id", "=", self.server.id)]
        found = self.Report._read_group(of_server, ["tool_name"], ["duration_median:avg"])
        self.assertEqual(dict(found), {"forecast": 100, "never": False})

    def test_calls_of_no_server_have_a_name(self):
        nowhere = {"server_id": False, "server_name": False, "tool_id": False}
        self._calls((1, "ok"), tool_name="find_tools", **nowhere)
        self._calls((0, "unknown_tool"), tool_name="made_up", **nowhere)
        found = self.Report._read_group(
            [("tool_name", "in", ("find_tools", "made_up"))], ["server_name"], ["errors:sum"]
        )
        self.assertEqual(dict(found), {"Built-in tools": 0, "Unknown tools": 1})

    def test_durations_are_counted_within_five_percent(self):
        for duration in (0, 7, 99, 104, 105, 995, 1049, 4444, 59_949, 600_000):
            self._calls((duration, "ok"), tool_name=f"took_{duration}")
        for name, median in self.Report._read_group([], ["tool_name"], ["duration_median:avg"]):
            if name.startswith("took_"):
                truth = int(name.removeprefix("took_"))
                self.assertLessEqual(abs(median - truth), 0.05 * truth)

    def test_the_pivot_reads_all_its_levels_at_once(self):
        self._calls((100, "ok"), (3000, "error"))
        whole, by_tool = self.Report.formatted_read_grouping_sets(
            [("server_id", "=", self.server.id)],
            [[], ["server_name", "tool_name"]],
            MEASURES,
        )
        for (line,) in (whole, by_tool):
            self.assertEqual((line["__count"], line["error_rate:avg"]), (2, 50.0))
            self.assertEqual((line["duration_median:avg"], line["duration_p95:avg"]), (100, 3000))


@tagged("post_install", "-at_install")
class TestToolCallRetention(CountedCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.old = cls._calls(*[(123, "ok")] * 3, (4567, "error"), (0, "denied"), age=400)
        cls.direct = cls._calls(
            (777, "ok"),
            (778, "ok"),
            age=400,
            turn_id=False,
            tool_id=cls.alerts.id,
            tool_name="alerts",
        )
        cls.young = cls._calls((88, "ok"), (999_999, "timeout"), age=364)
        cls._calls((5, "ok"), age=1)
        cls.open = cls._calls((0, False), age=400)

    def _rows(self):
        return self.env[SUMS].search([("server_id", "=", self.server.id)])

    def _fold(self, limit=1000):
        return self.env[SUMS]._fold_old(limit)

    def test_nothing_jumps_when_the_cron_runs(self):
        before = self._said()
        retention(self.env)
        self.assertEqual(sum(self._rows().mapped("calls")), 7)
        self.assertEqual(len(self._rows()), 4)
        self.assertEqual(self._said(), before)
        retention(self.env)
        self.assertEqual(self._said(), before)

    def test_calls_of_programs_go_and_those_of_conversations_stay(self):
        decided = self.old[-1]
        decided.write({"approval": "denied", "decision": "deny", "decided_by_id": self.member.id})
        told = self.turn._timelines({})
        shown = [call._api_format()["args"] for call in self.old]
        retention(self.env)
        self.env.invalidate_all()
        self.assertFalse(self.direct.exists())
        self.assertEqual(
            (self.young | self.open | self.old).exists(), self.young | self.open | self.old
        )
        self.assertEqual(self.turn._timelines({}), told)
        self.assertEqual([call._api_format()["args"] for call in self.old], shown)
        self.assertEqual((decided.decision, decided.decided_by_id), ("deny", self.member))

    def test_batches_can_be_cut_anywhere(self):
        before = self._said()
        self.assertEqual([self._fold(3), self._fold(3)], [3, 3])
        self.assertEqual(self._said(), before)
        with self.assertRaises(RuntimeError), self.env.cr.savepoint():
            self._fold(3)
            raise RuntimeError("the process died before its commit")
        self.assertEqual(self._said(), before)
        self.assertEqual([self._fold(3), self._fold(3)], [1, 0])
        self.assertEqual(self._said(), before)

    def test_a_call_that_ends_late_is_added_to_its_day(self):
        self._fold()
        self.open.write({"outcome": "ok", "duration_ms": 123})
        before = self._said()
        self._fold()
        self.assertEqual(self._said(), before)
        self.assertEqual(max(self._rows().mapped("calls")), 4)
        self.assertEqual(len(self._rows()), 4)

    def test_zero_keeps_calls_for_ever(self):
        Settings = self.env["res.config.settings"].with_user(self.admin)
        self.assertEqual(Settings.create({}).woow_call_retention_days, 365)
        Settings.create({"woow_call_retention_days": 0}).execute()
        self.assertEqual(Settings.create({}).woow_call_retention_days, 0)
        self.assertEqual(self._fold(), 0)
        Settings.create({"woow_call_retention_days": 364}).execute()
        self.assertEqual(limits.get(self.env, "call_retention_days"), 364)
        with self.assertRaises(ValidationError):
            Settings.create({"woow_call_retention_days": -1})
        with self.assertRaises(ValidationError):
            Settings.create({"woow_approval_hours": 0})

    def test_lists_and_cards_name_an_outcome_the_same_way(self):
        with file_open("woow_paas_platform/static/src/tool_call/tool_call_card.js") as source:
            cards = re.findall(r'(\w+): \{\s+label: _t\("([^"]+)"\)', source.read())
        outcomes = self.env["woow_paas_platform.tool_call"]._fields["outcome"].selection
        self.assertEqual(cards, outcomes)

    def test_names_and_numbers_stay_when_server_and_person_go(self):
        self._fold()
        counts = [["server_name", "tool_name", "outcome"], MEASURES]
        before = self.Report._read_group([("server_name", "=", "weather")], *counts)
        self.assistant.mcp_server_ids = False
        self.server.unlink()
        self.assertEqual(
            self.Report._read_group([("server_name", "=", "weather")], *counts), before
        )
        user = self.env["res.users"].create({"name": "Going", "login": "going"})
        self._calls((50, "ok"), turn_id=False, user_id=user.id, server_id=False, tool_id=False)
        everything = self.Report._read_group([], [], MEASURES)
        user.unlink()
        self.assertEqual(self.Report._read_group([], [], MEASURES), everything)

    def test_a_deleted_conversation_stays_counted(self):
        self.turn.state = "done"
        before = self._said()
        self.turn.channel_id.with_user(self.member)._delete_ai_conversation()
        self.assertFalse(self.young.exists())
        self.assertEqual(self._said(), before)

    def test_smart_buttons_count_what_is_gone_too(self):
        server, alerts = self.server.with_user(self.admin), self.alerts.with_user(self.admin)
        self.assertEqual((server.total_call_count, alerts.total_call_count), (10, 2))
        self._fold()
        self.env.invalidate_all()
        self.assertEqual((server.total_call_count, alerts.total_call_count), (10, 2))
        action = alerts.action_view_statistics()
        self.assertEqual(action["domain"], [("tool_id", "=", alerts.id)])
