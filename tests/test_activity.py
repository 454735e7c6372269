from odoo.tests import tagged

from ..models.turn.ai_turn import Question
from ..services.turn.ports import Ending
from .store_data import StoreCase

TURN = "woow_paas_platform.ai_turn"
CALL = "woow_paas_platform.tool_call"
MACHINERY = {
    TURN: ("client_token", "lease_epoch", "lease_owner", "lease_until", "transcript", "write_uid"),
    CALL: ("call_id", "started_epoch", "llm_text", "is_summed", "result_pruned", "write_date"),
}
OF_INTEREST = {
    TURN: ("assistant_id", "config_id", "create_date", "prompt", "state", "tokens", "user_id"),
    CALL: ("create_date", "duration_ms", "outcome", "server_name", "tool_name", "user_id"),
}


@tagged("post_install", "-at_install")
class TestActivity(StoreCase):
    """What administrators see of turns and calls."""

    def _columns(self, model):
        """What its list shows that can be sorted."""
        View = self.env[model].with_user(self.admin)
        views = View.get_views([(False, "list"), (False, "search")])
        return views["models"][model]["fields"]

    def test_filters_offer_what_means_something(self):
        for model, machinery in MACHINERY.items():
            offered = self.env[model].with_user(self.admin).fields_get()
            for name in machinery:
                with self.subTest(name):
                    told = offered[name]
                    self.assertFalse(told["searchable"] or told["groupable"] or told["sortable"])
                    self.assertFalse(told.get("aggregator"))
            for name in OF_INTEREST[model]:
                with self.subTest(name):
                    self.assertTrue(offered[name]["searchable"])
            self.assertIn("lease_epoch" if model == TURN else "call_id", offered)

    def test_the_lists_sort_by_what_they_show(self):
        for model, names in OF_INTEREST.items():
            shown = self._columns(model)
            for name in names:
                with self.subTest(name):
                    self.assertTrue(shown[name]["sortable"])

    def test_a_turn_leads_to_its_conversation(self):
        other = self.turn.channel_id.with_user(self.member)._ask(Question("Next")).sudo()
        seen = self.turn.with_user(self.admin)
        self.assertEqual(seen.conversation_turn_count, 2)
        found = seen.search(seen.action_view_conversation()["domain"])
        self.assertEqual(found.sudo(), self.turn | other)
        opened = seen.action_open_chat()
        self.assertEqual(opened["params"], {"conversation_id": self.turn.channel_id.id})

    def test_tokens_are_counted_by_provider(self):
        claim = self._claim()
        usage = {"input_tokens": 30, "output_tokens": 4}
        self.store.finish(claim, Ending(state="done", usage=usage, next_seq=claim.next_seq), [])
        self.env.invalidate_all()
        Turn = self.env[TURN].with_user(self.admin)
        ((provider, tokens),) = Turn._read_group(
            [("id", "=", self.turn.id)], ["config_id"], ["tokens:sum"]
        )
        self.assertEqual((provider.sudo(), tokens), (self.provider, 34))
