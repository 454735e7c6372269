"""Who may read what processes measure; what stands there, tests/e2e/test_metrics.py reads."""

import dataclasses
import tempfile
from unittest.mock import MagicMock, patch

from odoo.tests import tagged

from ..runtime.metrics import exporter
from ..services import packages
from ..tools import settings
from .common import AiHttpCase

TOKEN = "a-token-of-the-operator"


@tagged("post_install", "-at_install")
class TestMetrics(AiHttpCase):
    def _get(self, header=None, token=TOKEN):
        wanted = dataclasses.replace(settings.get(), metrics_token=token)
        with (
            patch.object(settings, "get", lambda: wanted),
            patch.object(packages, "missing", lambda *_: ["prometheus-client"]),
        ):
            headers = {"Authorization": header} if header else {}
            return self.url_open("/metrics", headers=headers)

    def test_nobody_reads_it_without_the_operators_token(self):
        for header in (None, "Bearer", "Bearer ", f"Bearer {TOKEN}x", f"Basic {TOKEN}", "Bearer é"):
            with self.subTest(header):
                self.assertEqual(self._get(header and header.encode()).status_code, 401)
                self.assertEqual(self._get(header and header.encode(), token="").status_code, 404)
        self._sign_in(self.env.ref("base.user_admin"))
        self.assertEqual(self._get().status_code, 401)

    def test_a_queue_names_its_tenant_only_if_the_operator_wants_it(self):
        named = []

        def families(_cr, _prefix, database):
            named.append(database)
            return []

        for wanted in (False, True):
            options = dataclasses.replace(settings.get(), metrics_tenants=wanted)
            with (
                patch.object(settings, "get", lambda: options),  # noqa: B023
                patch.object(exporter.queue, "families", families),
                patch.object(exporter, "begin"),
                patch.object(packages, "check"),
                patch.dict("os.environ", {exporter.FOLDER_KEY: "/nonexistent"}),
                patch.dict("sys.modules", prometheus_client=MagicMock()),
            ):
                exporter.text(self.env.cr)
        self.assertEqual(named, ["", self.env.cr.dbname])

    def test_without_the_package_it_says_so(self):
        answer = self._get(f"Bearer {TOKEN}")
        self.assertEqual(answer.status_code, 503)
        self.assertEqual(answer.json()["error"]["code"], "package_missing")
        self.assertIn("prometheus-client", answer.json()["error"]["message"])

    def test_a_folder_that_cannot_be_made_costs_the_metrics_only(self):
        file = self.enterContext(tempfile.NamedTemporaryFile())
        wanted = dataclasses.replace(settings.get(), metrics_token=TOKEN)
        exporter.begin.cache_clear()
        self.addCleanup(exporter.begin.cache_clear)
        with (
            patch.object(settings, "get", lambda: wanted),
            patch.object(packages, "missing", lambda *_: []),
            patch.dict("os.environ", {exporter.FOLDER_KEY: f"{file.name}/metrics"}),
            self.assertLogs(exporter.__name__, "ERROR"),
        ):
            exporter.begin()
        self.assertEqual(self._get(f"Bearer {TOKEN}").status_code, 404)
