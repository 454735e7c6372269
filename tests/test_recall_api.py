"""Action recall over HTTP: what document 002, 8, says of the description of an action."""

import json

from odoo.tests import tagged
from odoo.tools import mute_logger

from .recall_data import ACCOUNT, PLAN, RETRIEVAL, RecallApiCase


@tagged("post_install", "-at_install")
class TestRecallApi(RecallApiCase):
    def test_mcp_action_is_recalled_as_document_002_says(self):
        status, answer = self._recall()
        self.assertEqual(status, 200, answer)
        self.assertEqual(answer["headers"], ACCOUNT)
        (tool,) = answer["_dynamic_tools"]
        self.assertEqual(
            sorted(tool),
            [
                "api_call_strategy",
                "api_url",
                "description",
                "fixed_params",
                "name",
                "original_schema",
                "parameters",
            ],
        )
        self.assertEqual((tool["name"], tool["description"]), ("make_plan", "Makes a plan."))
        self.assertEqual(tool["api_call_strategy"], "kn_action_recall")
        base = self.env["ir.config_parameter"].sudo().get_param("web.base.url")
        self.assertEqual(
            tool["api_url"], f"{base}{RETRIEVAL}/mcp/proxy/{self.crm.mcp_id}/tools/make_plan/call"
        )
        self.assertEqual(tool["original_schema"], PLAN)

    def test_fixed_params_of_mcp_are_flat_and_of_the_wanted_type(self):
        (tool,) = self._recall()[1]["_dynamic_tools"]
        self.assertEqual(tool["fixed_params"], {"partner_id": self.ada.id, "deep": "true"})

    def test_schema_is_inlined_and_cycles_are_pruned(self):
        (tool,) = self._recall()[1]["_dynamic_tools"]
        parameters = tool["parameters"]
        self.assertNotIn("$defs", json.dumps(parameters))
        self.assertNotIn("$ref", json.dumps(parameters))
        item = parameters["properties"]["items"]["items"]
        self.assertEqual(item["properties"]["name"], {"type": "string"})
        self.assertEqual(
            item["properties"]["parts"],
            {
                "type": "object",
                "description": "an item",
                "properties": {},
                "additionalProperties": True,
            },
        )
        self.assertEqual(parameters["properties"]["items"]["description"], "What to plan")
        self.assertEqual(parameters["required"], ["items"], "what is fixed is not asked for")

    def test_fixed_params_of_a_tool_are_layered(self):
        status, answer = self._recall("at-orders", {"ref": "C-1"})
        self.assertEqual(status, 200, answer)
        (tool,) = answer["_dynamic_tools"]
        self.assertEqual(
            tool["fixed_params"],
            {
                "header": {"x-account-id": "acc-1"},
                "path": {"customer_id": self.ada.id},
                "query": {"limit": 1},
                "body": {},
            },
        )
        self.assertTrue(
            tool["api_url"].endswith(
                f"{RETRIEVAL}/tool/proxy/{self.box.box_id}/tools/listOrders/call"
            )
        )
        self.assertEqual(sorted(tool["parameters"]["properties"]), ["header", "path", "query"])
        self.assertNotIn("required", tool["parameters"])
        state = tool["parameters"]["properties"]["query"]["properties"]["state"]
        self.assertEqual(state["enum"], ["open", "shipped", None])

    def test_the_address_may_be_an_internal_one(self):
        self.env["ir.config_parameter"].sudo().set_param(
            "woow_paas_platform.recall_base_url", "http://agent-retrieval:30779/"
        )
        (tool,) = self._recall()[1]["_dynamic_tools"]
        self.assertTrue(tool["api_url"].startswith(f"http://agent-retrieval:30779{RETRIEVAL}/mcp/"))

    def test_every_error_of_recall_has_its_status(self):
        for answer, status, code in (
            (self._recall("at-visit"), 400, "ErrExtActionRecallUnsupportedType"),
            (self._recall(headers={}), 400, "invalid_header"),
            (self._recall(headers={"x-account-id": "a"}), 400, "invalid_header"),
            (self._recall(kn_id=""), 400, "invalid_parameter"),
            (self._recall(identity={}), 400, "invalid_identity"),
            (self._recall(identity={"id": [1]}), 400, "invalid_identity"),
            (self._recall(identity={"id": self.ada.id, "x": 1}), 400, "invalid_identity"),
            (self._recall(identity={"id": 99999999}), 404, "not_found"),
            (self._recall(identity={"id": "x' OR 1=1"}), 404, "not_found"),
            (self._recall("at-none"), 404, "not_found"),
            (self._recall(kn_id="kn-none"), 404, "not_found"),
        ):
            with self.subTest(code=code):
                self._assert_error(answer, status, code)
        self.plan.active = False
        self.env.flush_all()
        details = self._assert_error(self._recall(), 404, "ErrExtActionRecallToolNotFound")
        self.assertEqual(details["tool_name"], "make_plan")

    @mute_logger("odoo.addons.woow_paas_platform.models.recall.action_type")
    def test_a_schema_that_cannot_be_converted_is_500(self):
        self.plan.input_schema = '{"type": "array"}'
        self.env.flush_all()
        with mute_logger("odoo.addons.woow_paas_platform.runtime.web.api_error"):
            answer = self._recall()
        self._assert_error(answer, 500, "ErrExtActionRecallSchemaConvertFailed")

    def test_recall_obeys_the_callers_own_rights(self):
        self.network.group_ids = self.env.ref("base.group_system")
        self.env.flush_all()
        self._assert_error(self._recall(), 404, "not_found")
        self.network.group_ids = False
        self.env.flush_all()
        self.assertEqual(self._recall()[0], 200)
        self._sign_in(self.member)  # portal: sees no other contacts
        self._assert_error(self._recall(), 404, "not_found")
        self.authenticate(None, None)
        self._assert_error(self._recall(), 401, "unauthenticated")

    def test_a_record_that_does_not_match_gets_nothing(self):
        self.planning.domain = "[('ref', '=', 'C-2')]"
        self.env.flush_all()
        self._assert_error(self._recall(), 404, "not_found")
        self.assertEqual(self._recall(identity={"id": str(self.bob.id)})[0], 200)

    def test_a_required_value_that_the_record_lacks_is_told(self):
        line = self.planning.parameter_ids.filtered(lambda p: p.name == "partner_id")
        line.field_path = "parent_id"
        self.env.flush_all()
        details = self._assert_error(self._recall(), 400, "missing_value")
        self.assertEqual(details["missing"], ["partner_id"])
