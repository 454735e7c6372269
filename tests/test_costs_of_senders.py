"""Costs of requests outside of turns, sent by this process's real runner to a scripted model."""

from unittest.mock import patch

from odoo.tests import tagged

from ..runtime import process
from ..services.errors import BudgetExhausted
from ..services.specs import ModelRequest, Payer
from ..services.testing.scripted_llm import Reply
from .common import AiHttpCase
from .test_execute_api import served_llm
from .test_provider import TEST

COST = "woow_paas_platform.cost"


@tagged("post_install", "-at_install")
class TestCostsOfSenders(AiHttpCase):
    def _costs(self):
        self.env.invalidate_all()
        return self.env[COST].search([], order="id")

    def _reserved(self, payer=None, **values):
        request = {"key": "k", "kind": "embedding", "llm_id": self.provider.id, "model": "embedder"}
        request = ModelRequest(**{**request, "input_tokens": 9, "output_limit": 0, **values})
        self.env[COST]._reserve_of(payer or Payer(user=self.member.id), request)
        return self._costs()[-1]

    def _budget(self, limit):
        return self.env["woow_paas_platform.budget"].create(
            {"name": "Mine", "scope": "user", "user_id": self.member.id, "limit": limit}
            | {"measure": "tokens", "time_zone": "UTC"}
        )

    def test_a_test_of_a_provider(self):
        self._sign_in(self.admin)
        with served_llm(
            Reply(calls=[("report_ready", {})]), Reply(status=503), Reply("Red.")
        ) as llm:
            llm.embed = lambda _text: [1.0]
            self.provider.write(
                {
                    "api_base_url": llm.base_url,
                    "supports_vision": True,
                    "embedding_model": "embedder",
                    "tool_protocol": "auto",
                }
            )
            self.env.flush_all()
            _status, found = self._call("POST", TEST.format(self.provider.id), {})
            self.assertTrue(found["ok"], found)
        costs = self._costs()
        self.assertEqual(costs.mapped("model"), ["test", "test", "test", "embedder"])
        self.assertEqual(set(costs.mapped("kind")), {"connection"})
        self.assertEqual(set(costs.mapped("state")), {"settled"})
        self.assertEqual(costs.mapped("is_retry"), [False, False, True, False])
        self.assertEqual(costs.mapped("input_tokens"), [10, 0, 10, 2])
        self.assertEqual(costs.mapped("output_tokens"), [5, 0, 5, 0])
        self.assertEqual(costs.mapped("is_estimated"), [False, False, False, True])
        self.assertEqual((costs.config_id, costs.user_id), (self.provider, self.admin))
        self.assertFalse(costs.assistant_id | costs.turn_id.assistant_id)

    def test_an_answer_without_a_turn(self):
        other = self.provider.create(
            {"name": "Other", "api_base_url": "http://127.0.0.1:9/v1", "model": "other"}
        )
        self.provider.fallback_id = other
        self._sign_in(self.member)
        with served_llm(Reply(status=503)) as down, served_llm(Reply("Hello.")) as up:
            self.provider.api_base_url, other.api_base_url = down.base_url, up.base_url
            self.env.flush_all()
            asked = {"assistant_id": self.assistant.id, "cloud_service_id": self.service.id}
            status, _data = self._call("POST", "/api/ai-reply", {"aiMessage": "Hi", **asked})
            self.assertEqual(status, 200)
        costs = self._costs()
        self.assertEqual(costs.mapped("kind"), ["answer"] * 3)
        self.assertEqual(costs.mapped("config_id.name"), ["Test", "Other"])
        self.assertEqual(costs.mapped("is_retry"), [False, True, False])
        self.assertEqual(costs.mapped("is_fallback"), [False, False, True])
        self.assertEqual(costs.mapped("input_tokens"), [0, 0, 10])
        self.assertEqual((costs.user_id, costs.assistant_id), (self.member, self.assistant))
        self.assertEqual(costs.version_id, self.assistant.version_id)
        self.assertEqual(
            (costs.cloud_service_id, costs.workspace_id), (self.service, self.workspace)
        )
        self.assertFalse(costs.turn_id)

    def test_one_that_a_budget_refuses_is_402_and_not_sent(self):
        """The last of it is spent by somebody else after the question was let in."""
        self._budget(1)
        self._sign_in(self.member)
        self._reserved(kind="test")
        with (
            served_llm(Reply("Hello.")) as llm,
            patch.object(self.env.registry["woow_paas_platform.budget"], "_left_of_budget"),
        ):
            self.provider.api_base_url = llm.base_url
            self.env.flush_all()
            asked = {"assistant_id": self.assistant.id, "aiMessage": "Hi"}
            status, data = self._call("POST", "/api/ai-reply", asked)
        self.assertEqual((status, data["error"]["code"]), (402, "budget_exhausted"))
        self.assertFalse(llm.requests)
        self.assertEqual(len(self._costs()), 1)

    def test_embeddings(self):
        payer = Payer(user=self.member.id, assistant=self.assistant.id)
        with served_llm() as llm:
            llm.embed = lambda _text: [1.0]
            self.provider.write({"api_base_url": llm.base_url, "embedding_model": "embedder"})
            spec = self.provider._llm_spec()
            self.env.flush_all()

            async def ranked(engine):
                engine.vectors.prepare(spec, ["invoice", "weather"], payer)
                await engine.vectors.prepared()
                return await engine.vectors.rank(spec, ["invoice", "weather"], ["rain"], payer)

            process.runner()
            process._process.engine.wait_loaded()
            with self.allow_requests(all_requests=True):
                self.assertTrue(process.wait_for(ranked, 20))
        costs = self._costs()
        self.assertEqual(costs.mapped("kind"), ["embedding"] * 2)
        self.assertEqual(costs.mapped("input_tokens"), [4, 1])
        self.assertEqual(costs.mapped("output_tokens"), [0, 0])
        self.assertEqual(set(costs.mapped("state")), {"settled"})
        self.assertEqual((costs.user_id, costs.assistant_id), (self.member, self.assistant))

    def test_embeddings_and_tests_of_providers_are_never_refused(self):
        budget = self._budget(1)
        self._reserved(key="a", kind="test")
        with self.assertRaises(BudgetExhausted), self.env.cr.savepoint():
            self._reserved(key="b", kind="test")
        for kind in ("embedding", "connection"):
            self._reserved(key=kind, kind=kind)
        self.assertEqual(budget.period_ids.reserved, 27, "they are counted all the same")

    def test_of_what_was_deleted_meanwhile_the_rest_is_kept(self):
        gone = self.assistant.copy({"name": "Gone"})
        payer = Payer(user=self.member.id, assistant=gone.id, company=self.env.company.id)
        gone.unlink()
        cost = self._reserved(payer)
        self.assertEqual((cost.user_id, cost.assistant_id.id), (self.member, False))
        self.assertEqual(cost.company_id, self.env.company)
        self.env[COST]._settle_of({"key": "k", "usage": {"input_tokens": 7}, "tools": []})
        self.env[COST]._settle_of({"key": "unknown", "usage": {}, "tools": []})
        self.assertEqual((cost.state, cost.input_tokens), ("settled", 7))
