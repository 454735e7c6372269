from dataclasses import asdict

from odoo.tests import tagged

from ..runtime.turns.store import OdooStore
from ..services.specs import TurnProgress
from .common import AiHttpCase


@tagged("post_install", "-at_install")
class TestToolProtocol(AiHttpCase):
    """What a provider remembers of its model."""

    def _turn_finds(self, found):
        store = OdooStore(self.env.cr.dbname)
        self._ask(self.member)
        self.env.flush_all()
        (claim,) = store.claim("one", 1, 15.0)
        store.save_step(claim, asdict(TurnProgress(step=1, found_protocol=found)), [], [])
        self.env.invalidate_all()

    def test_a_new_provider_finds_out(self):
        spec = self.provider._llm_spec()
        self.assertEqual((spec.tool_protocol, spec.found_protocol), ("auto", ""))

    def test_what_a_turn_has_found_is_remembered_for_this_model_only(self):
        self._turn_finds("prompt")
        self.assertEqual(self.provider._llm_spec().found_protocol, "prompt")
        self.assertFalse(self.provider.copy().found_protocol)
        for changed in ({"model": "another"}, {"api_base_url": "http://127.0.0.1:10/v1"}):
            self.provider.found_protocol = "prompt"
            self.provider.write(changed)
            self.assertFalse(self.provider.found_protocol)

    def test_what_an_administrator_chose_stays(self):
        self.provider.tool_protocol = "native"
        self._turn_finds("prompt")
        self.assertFalse(self.provider.found_protocol)

    def test_a_turn_that_found_nothing_forgets_nothing(self):
        self.provider.found_protocol = "native"
        self._turn_finds("")
        self.assertEqual(self.provider.found_protocol, "native")
