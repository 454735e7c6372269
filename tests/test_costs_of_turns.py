"""Costs of a turn's requests, as the store of its runner writes them."""

from dataclasses import asdict, replace

from odoo.tests import tagged

from ..services.errors import LeaseLost
from ..services.specs import ModelRequest, TurnProgress
from .common import TurnByHandCase

USAGE = {"input_tokens": 1000, "output_tokens": 10}


@tagged("post_install", "-at_install")
class TestCostsOfTurns(TurnByHandCase):
    def setUp(self):
        super().setUp()
        self.env.flush_all()
        (self.claim,) = self.store.claim("one", 1, 15.0)
        self.request = ModelRequest(
            key="1-1",
            kind="answer",
            llm_id=self.assistant.config_id.id,
            model="acme-1",
            step=0,
            input_tokens=900,
        )

    def _costs(self):
        self.env.invalidate_all()
        costs = self.env["woow_paas_platform.cost"].search([("turn_id", "=", self.turn.id)])
        return costs.sorted("id")

    def _save(self, *spent):
        progress = asdict(TurnProgress(step=1, spent=list(spent)))
        self.store.save_step(self.claim, progress, (), [])

    def test_a_request_is_put_down_before_and_settled_after(self):
        for _ in range(2):  # the answer of the database may be lost
            self.store.reserve(self.claim, self.request)
        cost = self._costs()
        self.assertEqual(
            (cost.state, cost.is_estimated, cost.input_tokens), ("reserved", True, 900)
        )
        self.assertEqual((cost.user_id, cost.assistant_id), (self.member, self.assistant))
        spent = {"key": "1-1", "usage": USAGE, "tools": ["forecast"]}
        for _ in range(2):
            self._save(spent)
        cost = self._costs()
        self.assertEqual((cost.state, cost.is_estimated), ("settled", False))
        self.assertEqual((cost.input_tokens, cost.output_tokens), (1000, 10))
        self.assertEqual(cost.tool_names, "forecast")
        self.assertEqual(self.turn.transcript["spent"], [])

    def test_what_nobody_has_told_of_stays_estimated(self):
        self.store.reserve(self.claim, self.request)
        self.store.reserve(self.claim, replace(self.request, key="1-2", is_retry=True))
        last = {"key": "1-2", "usage": USAGE, "tools": []}
        self._finish_turn("stopped", progress=asdict(TurnProgress(step=1, spent=[last])))
        first, second = self._costs()
        self.assertEqual((first.state, first.is_estimated), ("settled", True))
        self.assertEqual((second.state, second.is_estimated), ("settled", False))
        self.assertTrue(second.is_retry)

    def test_what_died_with_its_turn_is_closed(self):
        """Nobody ends a turn that was deleted, and its budgets would wait."""
        self.store.reserve(self.claim, self.request)
        cost = self._costs()
        cost.sudo().env.cr.execute(
            "UPDATE woow_paas_platform_cost SET date = date - interval '2 hours' WHERE id = %s",
            [cost.id],
        )
        self.env["woow_paas_platform.cost"]._cron_close_lost()
        self.assertEqual(self._costs().state, "reserved", "its turn still runs")
        self.turn.unlink()
        self.env["woow_paas_platform.cost"]._cron_close_lost()
        self.env.invalidate_all()
        self.assertEqual((cost.state, cost.is_estimated), ("settled", True))

    def test_no_company_pays_that_is_not_the_users(self):
        """A browser names the active companies."""
        own = self.member.company_id
        other = self.env["res.company"].create({"name": "Not theirs"})
        for companies, named, payer in (
            (own, other.ids, own),
            (own, [other.id, own.id], own),
            (own, [0], own),
            (own | other, other.ids, other),
        ):
            self.member.company_ids = companies
            self.turn.companies = named
            self.assertEqual(self.turn._payer().company, payer.id)

    def test_nobody_else_spends_for_a_turn(self):
        with self.assertRaises(LeaseLost):
            self.store.reserve(replace(self.claim, epoch=self.claim.epoch + 1), self.request)
        self.assertFalse(self._costs())
