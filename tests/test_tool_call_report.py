from odoo.exceptions import AccessError
from odoo.tests import tagged

from .common import AiCase


@tagged("post_install", "-at_install")
class TestToolCallReport(AiCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        turn = cls._ask(cls.member)
        made = [(100, "ok")] * 9 + [(1000, "error")]
        cls.env["woow_paas_platform.tool_call"].create(
            [
                {
                    "turn_id": turn.id,
                    "user_id": cls.member.id,
                    "call_id": f"call_{number}",
                    "tool_name": "forecast",
                    "tool_id": cls.forecast.id,
                    "server_id": cls.server.id,
                    "outcome": outcome,
                    "duration_ms": duration,
                    "bytes": 10,
                    "tokens": 3,
                }
                for number, (duration, outcome) in enumerate(made)
            ]
        )
        cls.env.flush_all()
        cls.Report = cls.env["woow_paas_platform.tool_call_report"]

    def test_rates_medians_and_percentiles_are_those_of_the_group(self):
        ((server, assistant, count, rate, median, p95, size, tokens),) = self.Report.with_user(
            self.admin
        )._read_group(
            [("server_id", "=", self.server.id)],
            ["server_id", "assistant_id"],
            [
                "__count",
                "error_rate:avg",
                "duration_median:avg",
                "duration_p95:avg",
                "bytes:sum",
                "tokens:sum",
            ],
        )
        self.assertEqual((server, assistant, count), (self.server, self.assistant, 10))
        self.assertEqual((rate, median, size, tokens), (10.0, 100, 100, 30))
        self.assertAlmostEqual(p95, 595, delta=1)

    def test_others_see_no_statistics(self):
        for user in (self.internal, self.owner, self.stranger, self.public):
            with self.subTest(user=user.login), self.assertRaises(AccessError):
                self.Report.with_user(user).search([])
