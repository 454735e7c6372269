"""Whether traces are sent, and what says that they are not; what stands in them, tests/core/telemetry reads."""

import dataclasses
from unittest.mock import patch

from odoo.tests import tagged

from ..runtime.traces import collector
from ..services import packages, traces
from ..tools import settings
from .common import AiHttpCase


@tagged("post_install", "-at_install")
class TestTraces(AiHttpCase):
    def _with_collector(self, *missing):
        wanted = dataclasses.replace(settings.get(), traces="http://127.0.0.1:9")
        self.enterContext(patch.object(settings, "get", lambda: wanted))
        self.enterContext(
            patch.object(
                packages,
                "missing",
                lambda *groups: list(missing) if packages.TRACES in groups else [],
            )
        )

    def _health(self):
        return self.url_open("/api/ai/health").json()

    def test_they_are_off_until_the_operator_names_a_collector(self):
        self.assertEqual(self._health()["traces"], "off")
        collector.begin()
        self.assertIsNone(traces._installed.tracer)
        self._with_collector()
        self.assertEqual(self._health()["traces"], "on")

    def test_without_the_packages_it_says_so_and_goes_on(self):
        self._with_collector("opentelemetry-sdk")
        health = self._health()
        self.assertEqual((health["traces"], health["status"]), ("package_missing", "ok"))
        with self.assertLogs(collector._logger, "ERROR") as logged:
            collector.begin()
        self.assertIn("opentelemetry-sdk", logged.output[0])
        self.assertEqual(traces.carrier(), {})

    def test_each_attempt_at_a_turn_has_its_key_and_no_other_turn_has(self):
        turns = [self._ask(self.member, content).sudo() for content in ("One", "Two")]
        one, again, two = (turn._turn_request().key for turn in (turns[0], *turns))
        self.assertEqual(one, again)
        self.assertNotEqual(one, two)
        uuid = self.env["ir.config_parameter"].sudo().get_param("database.uuid")
        self.assertTrue(uuid)
        self.assertTrue(one.startswith(f"{uuid}/"))
