"""The models of recall: forms, values, documents."""

import base64
import json
from datetime import timedelta
from unittest.mock import patch

from odoo import fields
from odoo.exceptions import AccessError, ValidationError
from odoo.tests import Form, tagged

from ..runtime.servers import background
from .common import AiCase
from .doubles import fake_api
from .recall_data import RecallData


@tagged("post_install", "-at_install")
class TestRecallModels(RecallData, AiCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls._make_recall()

    def test_the_form_lists_the_arguments_of_the_tool(self):
        form = Form(self.env["woow_paas_platform.action_type"].with_user(self.admin))
        form.name = "New"
        form.network_id = self.network
        form.model_id = self.env["ir.model"]._get("res.partner")
        form.tool_id = self.plan
        with form.parameter_ids.edit(1) as line:
            line.source = "field"
            line.field_path = "parent_id.email"
        action = form.save()
        self.assertEqual(
            action.parameter_ids.mapped("name"), ["partner_id", "email", "deep", "items"]
        )
        with Form(action) as form:
            form.source = "tool"
            form.operation_id = self.list_orders
        self.assertEqual(
            [(p.location, p.name) for p in action.parameter_ids],
            [
                ("path", "customer_id"),
                ("query", "state"),
                ("query", "limit"),
                ("header", "x-account-id"),
            ],
        )

    def test_try_it_shows_what_the_model_gets(self):
        trial = self.env["woow_paas_platform.action_try"].create({"action_id": self.planning.id})
        trial.res_id = self.ada.id
        shown = json.loads(trial.result)
        self.assertEqual(shown["fixed_params"]["partner_id"], self.ada.id)
        self.planning.domain = "[('ref', '=', 'x')]"
        trial.invalidate_recordset()
        self.assertIn("does not apply", trial.result)

    def test_paths_and_conditions_are_checked_on_save(self):
        line = self.planning.parameter_ids[0]
        for path in ("nothing", "name.x", "parent_id.nothing", "."):
            with self.subTest(path=path), self.assertRaises(ValidationError):
                line.field_path = path
        for names in ("", "nothing", "id, nothing"):
            with self.subTest(names=names), self.assertRaises(ValidationError):
                self.planning.identity_fields = names
        for domain in ("[('nothing', '=', 1)]", "nonsense", "[(1"):
            with self.subTest(domain=domain), self.assertRaises(ValidationError):
                self.planning.domain = domain

    def test_a_server_of_one_service_serves_no_action(self):
        with self.assertRaises(ValidationError):
            self.planning.tool_id = self.run_flow
        self.assertTrue(self.planning._is_usable())
        self.crm.write({"scope": "user", "cloud_service_id": self.service.id})
        self.assertFalse(self.planning._is_usable())

    def test_values_of_a_record(self):
        line = self.planning.parameter_ids[0]
        child = self.env["res.partner"].create({"name": "Kid", "parent_id": self.ada.id})
        tag = self.env["res.partner.category"].create({"name": "VIP"})
        child.category_id = tag
        for path, value in (
            ("id", child.id),
            ("parent_id", self.ada.id),
            ("parent_id.email", "ada@example.com"),
            ("parent_id.child_ids.name", "Kid"),
            ("category_id", tag.ids),
            ("email", None),
            ("active", True),
            ("color", 0),
            ("country_id.code", None),
        ):
            with self.subTest(path=path):
                line.write({"source": "field", "field_path": path})
                self.assertEqual(line._fixed_value(child), value)
        self.assertRegex(self._value(line, "create_date", child), r"^\d{4}-\d\d-\d\dT.*Z$")
        for constant, value in (("5", 5), ("five", "five"), ('["a"]', ["a"]), ("true", True)):
            line.write({"source": "constant", "constant": constant})
            self.assertEqual(line._fixed_value(child), value)

    def _value(self, line, path, record):
        line.field_path = path
        return line._fixed_value(record)

    def test_a_new_document_keeps_the_switches(self):
        self.stock.active = False
        document = json.loads(json.dumps(fake_api.DOCUMENT))
        document["paths"]["/stock"]["get"]["summary"] = "Stock"
        del document["paths"]["/upload"]
        document["paths"]["/new"] = {"get": {"operationId": "fresh"}}
        self.box._import(json.dumps(document))
        by_name = {operation.name: operation for operation in self.box.operation_ids}
        self.assertEqual((by_name["stock"].active, by_name["stock"].title), (False, "Stock"))
        self.assertFalse(by_name["upload"].available)
        self.assertTrue(by_name["fresh"].is_usable)

    def test_a_document_is_read_in_the_background(self):
        url = self.box.document_url = "https://orders.example.com/openapi.json"
        box, asked = self.box.with_user(self.admin), []
        with patch.object(background, "import_later", lambda *given: asked.append(given)):
            box.action_import()
            self.assertFalse(asked, "nothing starts before the commit")
            self.env.cr.postcommit.run()
        self.assertEqual(asked, [(self.env.cr.dbname, box.id, url, self.admin.id)])
        document = json.loads(json.dumps(fake_api.DOCUMENT))
        document["paths"]["/new"] = {"get": {"operationId": "fresh"}}
        for source, address, found in (
            (b"{}", url, False),
            (json.dumps(document), "https://another.example.com", False),
            (json.dumps(document), url, True),
        ):
            self.box._keep_document(source, address, self.admin.id)
            self.assertEqual("fresh" in self.box.operation_ids.mapped("name"), found)

    def test_what_nothing_here_can_hold_is_taken_out_or_refused_with_a_sentence(self):
        url = self.box.document_url = "https://orders.example.com/openapi.json"
        binary = """
            openapi: "3.0.3"
            paths:
              /fresh:
                get:
                  operationId: fresh
                  parameters:
                  - {name: q, in: query, schema: {type: string, default: !!binary aGk=}}
        """

        def document(path, pattern):
            schema = {"type": "string", "pattern": pattern}
            parameters = [{"name": "q", "in": "query", "schema": schema}]
            operation = {"operationId": "fresh", "parameters": parameters}
            return json.dumps({"openapi": "3.0.3", "paths": {path: {"get": operation}}})

        for source, kind, path in (
            (document("/surrogate", "[\ud83c-\ud83f]"), "success", "/surrogate"),
            (document("/nu\0l", "x"), "success", "/nul"),
            (binary, "danger", "/nul"),
        ):
            with (
                self.subTest(source=source),
                patch.object(type(self.env.user), "_bus_send") as sent,
            ):
                self.box._keep_document(source.encode(), url, self.admin.id)
                name, notice = sent.call_args_list[0].args
                self.assertEqual((name, notice["type"]), ("simple_notification", kind))
                self.env.flush_all()
                fresh = self.box.operation_ids.filtered(lambda one: one.name == "fresh")
                self.assertEqual(fresh.path, path)

    def test_an_operation_that_cannot_be_called_says_why(self):
        upload = self.box.operation_ids.filtered(lambda o: o.name == "upload")
        self.assertIn("image/png", upload.problem)
        self.assertFalse(upload.is_usable)

    def test_a_document_that_is_none_is_refused_with_a_sentence(self):
        for document in (b"{}", b"[1", b'{"openapi": "2.0"}', b'{"openapi": "3.0.0", "paths": {}}'):
            with self.subTest(document=document), self.assertRaises(ValidationError):
                self.box.document_file = base64.b64encode(document)

    def test_the_credential_is_write_only(self):
        self.box.write({"credential_type": "bearer", "credential": "very-secret"})
        self.env.flush_all()
        self.box.invalidate_recordset()
        self.assertFalse(self.box.credential)
        self.assertTrue(self.box.has_credential)
        with self.assertRaises(AccessError):
            self.box.with_user(self.admin).read(["credential_encrypted"])
        self.assertNotIn("very-secret", repr(self.stock._tool_spec()))
        self.assertEqual(
            self.stock._tool_spec().operation.headers, {"Authorization": "Bearer very-secret"}
        )

    def test_calls_whose_process_died_become_unknown(self):
        values = {"user_id": self.internal.id, "tool_name": "make_plan"}
        asked = {"approval": "pending"}
        lost, late, waiting, running = self.env["woow_paas_platform.tool_call"].create(
            [
                {**values, "call_id": "direct_1"},
                {**values, **asked, "call_id": "direct_3"},
                {**values, **asked, "call_id": "direct_4"},
                # begun just now, on a host whose clock is slow
                {**values, "call_id": "direct_2", "started_at": "2020-01-01 00:00:00"},
            ]
        )
        self.env.flush_all()
        self.env.cr.execute(
            "UPDATE woow_paas_platform_tool_call SET write_date = '2020-01-01' WHERE id IN %s",
            [(lost.id, late.id)],
        )
        ahead = fields.Datetime.now() + timedelta(days=1)
        with patch.object(fields.Datetime, "now", lambda *_: ahead):  # on this host
            lost._close_lost_direct_calls()
        self.assertEqual((lost.outcome, running.outcome), ("unknown", False))
        self.assertEqual((late.outcome, late.approval), ("denied", "expired"))
        self.assertEqual((waiting.outcome, waiting.approval), (False, "pending"))

    def test_servers_have_ids_of_their_own(self):
        ids = self.env["woow_paas_platform.mcp_server"].search([]).mapped("mcp_id")
        self.assertTrue(all(ids))
        self.assertEqual(len(ids), len(set(ids)))
        self.assertNotEqual(self.crm.copy({"name": "copy"}).mcp_id, self.crm.mcp_id)
