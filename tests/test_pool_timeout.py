"""Requests without a connection: they wait while all are in use, and are 503 `busy` then, or in an outage."""

from unittest.mock import patch

import psycopg2
from odoo.http import _generate_routing_rules, root
from odoo.sql_db import PoolError
from odoo.tests import HttpCase, TransactionCase, tagged
from odoo.tools.translate import code_translations

from ..models.base.ir_http import LANGUAGE_HEADER
from ..runtime.web import outage, pool_timeout
from ..tools.db import ADDON

FULL = PoolError("The Connection Pool Is Full")


class TestPoolTimeout(TransactionCase):
    def setUp(self):
        super().setUp()
        self.patch(pool_timeout, "LOOK_AGAIN", (0, 0))

    def _registry(self, *outcomes):
        """Of which each try to get a cursor has the next of these outcomes."""
        left = list(outcomes)

        def cursor(readonly=False):
            outcome = left.pop(0)
            if isinstance(outcome, Exception):
                raise outcome
            return outcome, readonly

        registry = type("Registry", (), {"cursor": staticmethod(cursor)})()
        pool_timeout.install(registry)
        pool_timeout.install(registry)
        return registry

    def test_it_waits_for_a_connection(self):
        registry = self._registry(FULL, FULL, "cursor")
        self.assertEqual(registry.cursor(readonly=True), ("cursor", True))

    def test_it_does_not_wait_forever(self):
        self.patch(pool_timeout, "TIMEOUT", -1)
        with self.assertRaises(PoolError):
            self._registry(FULL).cursor()

    def test_other_errors_are_not_its_business(self):
        with self.assertRaises(ZeroDivisionError):
            self._registry(ZeroDivisionError()).cursor()


@tagged("post_install", "-at_install")
class TestBusy(HttpCase):
    def test_a_request_that_waited_in_vain_is_told_when_to_come_back(self):
        self.authenticate("demo", "demo")
        with patch.object(self.registry, "cursor", side_effect=pool_timeout.PoolTimeout()):
            answer = self.url_open("/api/ai/turns/1/stream")
        self.assertEqual(answer.status_code, 503)
        self.assertEqual(answer.headers["Retry-After"], "2")
        self.assertEqual(answer.json()["error"]["code"], "busy")

    def test_an_outage_is_no_page_and_signs_nobody_out(self):
        session = self.authenticate("demo", "demo")
        session.context["lang"] = "zh_TW"
        root.session_store.save(session)
        for error in (psycopg2.OperationalError, psycopg2.DatabaseError, psycopg2.InterfaceError):
            with self.subTest(error=error.__name__):
                answer = self._without_database(error("closed"))
                self.assertEqual(answer.status_code, 503)
                self.assertEqual(answer.headers["Retry-After"], "2")
                problem = answer.json()["error"]
                self.assertEqual(problem["code"], "busy")
                self.assertEqual(problem["message"], "Odoo 目前無法連線到資料庫，請稍後再試。")
                self.assertEqual(self.url_open("/api/ai/turns/1/stream").status_code, 404)

    def test_a_language_that_nobody_ships_loads_no_catalog(self):
        self.authenticate("demo", "demo")
        headers = {LANGUAGE_HEADER: "../xx"}
        answer = self._without_database(psycopg2.OperationalError("closed"), headers)
        self.assertEqual(answer.json()["error"]["message"], str(outage.NO_DATABASE))
        self.assertNotIn((ADDON, "../xx"), code_translations.python_translations)

    def test_a_full_pool_keeps_its_own_sentence(self):
        self.authenticate("demo", "demo")
        answer = self._without_database(pool_timeout.PoolTimeout())
        self.assertIn("Too many people", answer.json()["error"]["message"])

    def test_the_paths_are_those_of_the_api(self):
        own = {
            url
            for url, endpoint in _generate_routing_rules([ADDON], nodb_only=False)
            if endpoint.routing["type"] == "woow_ai"
        }
        self.assertTrue(own)
        self.assertEqual({path for path in own if not path.startswith(outage.PATHS)}, set())

    def _without_database(self, error, headers=None):
        """The answer of a stream's route, whose request meets this error first."""
        with patch.object(self.registry, "check_signaling", side_effect=error):
            self.registry.check_signaling = outage._answered(self.registry.check_signaling)
            return self.url_open("/api/ai/turns/1/stream", headers=headers)
