"""Which records an assistant is offered, and what the rows of its calls say."""

from unittest.mock import patch

from odoo.exceptions import ValidationError
from odoo.tests import tagged

from ..models.turn.ai_turn import Question
from ..services.specs import CallResult
from .records_data import PartnersCase

TAG = "res.partner.category"


@tagged("post_install", "-at_install")
class TestRecordsOffered(PartnersCase):
    def test_nothing_is_offered_by_default(self):
        self.assistant.record_access_ids.unlink()
        turn = self._turn(self.internal)
        self.assertFalse(turn._own_tool_specs())
        self.assertNotIn("find_models", turn._system_prompt())

    def test_only_reading_is_offered_until_more_is_chosen(self):
        turn = self._turn(self.internal)
        self.assertEqual({tool.operation for tool in turn._record_tools()}, {"read"})
        self.line.can_update = True
        names = {tool.name for tool in turn._record_tools()}
        self.assertIn("update_records", names)
        self.assertNotIn("delete_records", names)

    def test_in_a_thread_that_others_read_nothing_is_offered(self):
        turn = self._turn(self.internal)
        with patch.object(type(turn), "_is_private", lambda self: False):
            self.assertFalse(turn._own_tool_specs())

    def test_this_customer_is_the_record_of_the_conversation(self):
        Channel = self.env["discuss.channel"].with_user(self.internal)
        channel = Channel._create_ai_conversation(
            self.assistant.with_user(self.internal), record=self.azure.with_user(self.internal)
        )
        turn = channel._ask(Question("What does this customer owe us?")).sudo()
        said = f"about is res.partner with the id {self.azure.id}."
        self.assertIn(said, turn._system_prompt())
        self.line.unlink()
        self.assertNotIn(said, turn._system_prompt())

    def test_the_name_of_the_conversations_record_tells_nothing_hidden(self):
        """In a thread that others read, neither: whatever the assistant may use there, it never sees the field."""
        Channel = self.env["discuss.channel"].with_user(self.internal)
        channel = Channel._create_ai_conversation(
            self.assistant.with_user(self.internal), record=self.azure.with_user(self.internal)
        )
        turn = channel._ask(Question("Who is it?")).sudo()
        self.assertIn('Name: "Azurite Interior"', turn._system_prompt())
        self.line.hidden_fields = "name"
        self.env.flush_all()
        self.assertNotIn("Azurite", turn._system_prompt())
        with patch.object(type(turn), "_is_private", lambda self: False):
            self.assertNotIn("Azurite", turn._system_prompt())
            self.assertIn(f'Name: "#{self.azure.id}', turn._system_prompt())

    def test_a_switch_counts_at_once(self):
        call, verdict = self._begin(self.internal, "search_records", {"model": "res.partner"})
        self.assertEqual(verdict.kind, "run")
        self.assistant.record_access_ids.unlink()
        self.env.flush_all()
        verdict = self.store.begin_call(self.claims[self.internal], call)
        self.assertEqual(verdict.kind, "deny")

    def test_it_says_what_it_works_with_and_suggests_that(self):
        assistant = self.assistant.with_user(self.internal)
        contacts = {"model": "res.partner", "name": "Contact"}
        self.assertIn(contacts, assistant._api_records())
        self.assertIn("“Contact”", " ".join(assistant._api_face()["starters"]))
        offered = assistant._offered_mcp_servers(self.internal)
        self.assertIn(contacts, assistant._mcp_config(offered, offered)["records"])
        self.assistant.record_access_ids.unlink()
        self.assertFalse(assistant._api_records())

    def test_one_that_has_nothing_for_the_user_comes_last(self):
        Assistant = self.env["ai.assistant"].with_user(self.internal)
        self.assistant.record_access_ids.filtered(lambda one: one.model != TAG).unlink()
        self.assistant.write({"sequence": -1, "mcp_server_ids": [(5,)]})
        self.assistant.copy({"name": "Other", "sequence": 0, "record_access_ids": [(5,)]})
        self.env[TAG].search([]).unlink()
        self.assertNotEqual(Assistant._offered()[0], self.assistant)
        self.assertIn(self.assistant, Assistant._offered())
        self.env[TAG].create({"name": "Gold"})
        self.assertEqual(Assistant._offered()[0], self.assistant)

    def test_presets_name_what_is_installed_only(self):
        offered = dict(self.env["ai.assistant"]._selection_record_preset())
        self.assertIn("contacts", offered)
        self.assertEqual("crm" in offered, "crm.lead" in self.env)
        assistant = self.env["ai.assistant"].new({"record_preset": "contacts"})
        assistant._onchange_record_preset()
        self.assertIn("res.partner", assistant.record_access_ids.mapped("model"))

    def test_code_rights_credentials_and_our_own_tables_cannot_be_chosen(self):
        options = dict(self.env["woow_paas_platform.record_access"]._selection_model())
        self.assertIn("res.partner", options)
        for model in (
            *("ir.rule", "ir.actions.server", "ir.config_parameter", "ir.attachment"),
            *("res.groups", "res.users.apikeys", "mail.mail", "discuss.channel"),
            *("ai.config", "woow_paas_platform.mcp_server", "woow_paas_platform.tool_call"),
        ):
            self.assertNotIn(model, options)
            with self.assertRaises(ValidationError):
                self.line.model = model
            self.env.invalidate_all()

    def test_what_cannot_be_chosen_is_not_reached_even_if_it_is_in_the_table(self):
        self.env.cr.execute(
            "UPDATE woow_paas_platform_record_access SET model = 'ir.config_parameter' WHERE id = %s",
            [self.line.id],
        )
        self.env.invalidate_all()
        self.assertIn(
            "no model",
            self._refused(self.admin, "read_records", model="ir.config_parameter", ids=[1]),
        )

    def test_hidden_fields_must_exist(self):
        with self.assertRaises(ValidationError) as caught, self.env.cr.savepoint():
            self.line.hidden_fields = "emial"
        self.assertIn("email", str(caught.exception))

    # ------------------------------------------------------------ rows

    def test_a_row_tells_whose_tool_it_was_and_what_it_read_taints(self):
        call, _verdict = self._begin(self.internal, "search_records", {"model": "res.partner"})
        result = self.store.read_records(self.claims[self.internal], call.id)
        self.store.end_call(self.claims[self.internal], call.id, result, [])
        row = self.env["woow_paas_platform.tool_call"].search([("call_id", "=", call.id)])
        self.assertEqual((row.records, row.server_name, row.outcome), ("read", "Odoo", "ok"))
        self.assertEqual(
            (row._call_event()["records"], row._api_format()["records"]), ("read",) * 2
        )
        self.assertEqual(row.taint, "record")
        call, _verdict = self._begin(self.internal, "find_models", {})
        row = self.env["woow_paas_platform.tool_call"].search([("call_id", "=", call.id)])
        self.assertFalse(row._taint_of_result("A model."))

    def test_names_in_a_refusal_to_open_a_view_taint(self):
        filters = [{"field": "parent_id", "value": "Azurit Interor"}]
        given = {"model": "res.partner", "view": "list", "filters": filters}
        call, _verdict = self._begin(self.internal, "open_view", given)
        said = self._error(self.store.read_records, self.claims[self.internal], call.id)
        self.assertIn("Azurite Interior", said)
        result = CallResult(outcome="invalid_args", text=said)
        self.store.end_call(self.claims[self.internal], call.id, result, [])
        row = self.env["woow_paas_platform.tool_call"].search([("call_id", "=", call.id)])
        self.assertEqual(row.taint, "record")

    def test_a_call_that_was_cut_is_not_unknown(self):
        call, _verdict = self._begin(self.internal, "search_records", {"model": "res.partner"})
        row = self.env["woow_paas_platform.tool_call"].search([("call_id", "=", call.id)])
        self.assertFalse(row.started_at)
        self.env.invalidate_all()
        row.turn_id._close_open_calls()
        self.assertEqual(row.outcome, "cancelled")
