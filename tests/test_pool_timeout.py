"""Requests that find all connections in use wait, and as in an outage they are told to come again."""

from unittest.mock import patch

import psycopg2
from odoo.sql_db import PoolError
from odoo.tests import HttpCase, TransactionCase, tagged

from ..runtime.web import outage, pool_timeout

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
        self.authenticate("demo", "demo")
        for error in (psycopg2.OperationalError, psycopg2.DatabaseError, psycopg2.InterfaceError):
            with self.subTest(error=error.__name__):
                with patch.object(self.registry, "check_signaling", side_effect=error("closed")):
                    self.registry.check_signaling = outage._answered(self.registry.check_signaling)
                    answer = self.url_open("/api/ai/turns/1/stream")
                self.assertEqual(answer.status_code, 503)
                self.assertEqual(answer.headers["Retry-After"], "2")
                self.assertEqual(answer.json()["error"]["code"], "busy")
                self.assertEqual(self.url_open("/api/ai/turns/1/stream").status_code, 404)
