import base64
import json
from dataclasses import asdict

from odoo import Command
from odoo.exceptions import AccessError, UserError, ValidationError
from odoo.tests import Form, tagged

from ..runtime.store import OdooStore
from ..services.specs import ToolCall, TurnProgress
from ..services.testing import fake_api
from ..services.toolbox import Toolbox
from .common import AiCase, AiHttpCase

PLAN = {
    "type": "object",
    "properties": {
        "partner_id": {"type": "integer", "description": "Number of the customer"},
        "email": {"type": "string"},
        "deep": {"type": "string", "description": "yes or no"},
        "items": {"type": "array", "items": {"$ref": "#/$defs/Item"}},
    },
    "required": ["partner_id", "items"],
    "$defs": {
        "Item": {
            "type": "object",
            "description": "an item",
            "properties": {"name": {"type": "string"}, "parts": {"$ref": "#/$defs/Item"}},
        }
    },
}


class RecallData:
    """A network about contacts: a tool of an MCP server and an operation of a service."""

    @classmethod
    def _make_recall(cls):
        env = cls.env(context=dict(cls.env.context, woow_no_sync=True))
        cls.customers = env["res.partner"].create(
            [
                {"name": "Ada", "email": "ada@example.com", "ref": "C-1"},
                {"name": "Bob", "ref": "C-2"},
            ]
        )
        cls.ada, cls.bob = cls.customers
        cls.crm = env["woow_paas_platform.mcp_server"].create(
            {"name": "crm", "url": "http://127.0.0.1:9/mcp", "transport": "streamable_http"}
        )
        cls.plan, cls.sorry = env["woow_paas_platform.mcp_tool"].create(
            [
                {
                    "name": "make_plan",
                    "server_id": cls.crm.id,
                    "description": "Makes a plan.",
                    "input_schema": json.dumps(PLAN),
                },
                {"name": "sorry/now", "server_id": cls.crm.id, "input_schema": "{}"},
            ]
        )
        cls.box = env["woow_paas_platform.toolbox"].create(
            {
                "name": "orders",
                "base_url": "http://127.0.0.1:9/v1",
                "document_file": base64.b64encode(json.dumps(fake_api.DOCUMENT).encode()),
            }
        )
        operations = {operation.name: operation for operation in cls.box.operation_ids}
        cls.list_orders, cls.add_note = operations["listOrders"], operations["addNote"]
        cls.stock = operations["stock"]
        cls.network = env["woow_paas_platform.knowledge_network"].create(
            {"name": "Customers", "kn_id": "kn-customers"}
        )
        partner_model = env["ir.model"]._get("res.partner")
        Action = env["woow_paas_platform.action_type"]
        common = {"network_id": cls.network.id, "model_id": partner_model.id}
        cls.planning = Action.create(
            {
                **common,
                "name": "Plan",
                "at_id": "at-plan",
                "source": "mcp",
                "tool_id": cls.plan.id,
                "parameter_ids": [
                    Command.create({"name": "partner_id", "source": "field", "field_path": "id"}),
                    Command.create({"name": "deep", "source": "constant", "constant": "true"}),
                    Command.create({"name": "items", "description": "What to plan"}),
                ],
            }
        )
        cls.ordering = Action.create(
            {
                **common,
                "name": "Orders",
                "at_id": "at-orders",
                "source": "tool",
                "operation_id": cls.list_orders.id,
                "identity_fields": "ref",
                "parameter_ids": [
                    Command.create(
                        {
                            "location": "path",
                            "name": "customer_id",
                            "source": "field",
                            "field_path": "id",
                        }
                    ),
                    Command.create(
                        {
                            "location": "query",
                            "name": "limit",
                            "source": "constant",
                            "constant": "1",
                        }
                    ),
                ],
            }
        )
        cls.noting = Action.create(
            {
                **common,
                "name": "Note",
                "at_id": "at-note",
                "source": "tool",
                "operation_id": cls.add_note.id,
                "parameter_ids": [
                    Command.create(
                        {
                            "location": "path",
                            "name": "customer_id",
                            "source": "field",
                            "field_path": "id",
                        }
                    ),
                    Command.create(
                        {
                            "location": "body",
                            "name": "author",
                            "source": "field",
                            "field_path": "email",
                        }
                    ),
                ],
            }
        )
        cls.visiting = Action.create(
            {**common, "name": "Visit", "at_id": "at-visit", "source": "manual"}
        )


@tagged("post_install", "-at_install")
class TestRecallInChat(RecallData, AiHttpCase):
    """A conversation about a record: what the engine is given, and what the API says of it."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls._make_recall()

    def _turn(self, user, record=None):
        Channel = self.env["discuss.channel"].with_user(user)
        record = record.with_user(user) if record else None
        channel = Channel._create_ai_conversation(self.assistant.with_user(user), record=record)
        return channel._ask("What about this customer?").sudo()

    def test_the_records_actions_stand_beside_the_assistants_tools(self):
        request = self._turn(self.internal, self.ada)._turn_request()
        by_alias = {tool.alias: tool for tool in request.tools}
        self.assertEqual(
            sorted(by_alias),
            [
                "record__addNote",
                "record__listOrders",
                "record__make_plan",
                "weather__alerts",
                "weather__forecast",
            ],
        )
        plan, note = by_alias["record__make_plan"], by_alias["record__addNote"]
        self.assertEqual(plan.fixed, {("", "partner_id"): self.ada.id, ("", "deep"): "true"})
        self.assertEqual(
            (plan.name, plan.title, plan.action_id), ("make_plan", "Plan", self.planning.id)
        )
        self.assertEqual(plan.description, "Plan: Makes a plan.")
        self.assertEqual(note.fixed_names, ["path.customer_id", "body.author"])
        self.assertEqual({s.name for s in request.servers}, {"weather", "crm", "orders"})
        self.assertIn("Name: Ada", request.system_prompt)

    def test_the_model_neither_sees_nor_changes_what_is_fixed(self):
        box = Toolbox(self._turn(self.internal, self.ada)._turn_request(), None)
        functions = {f["function"]["name"]: f["function"] for f in box.functions}
        parameters = functions["record__make_plan"]["parameters"]
        self.assertEqual(sorted(parameters["properties"]), ["email", "items"])
        self.assertEqual(parameters["required"], ["items"])
        self.assertEqual(parameters["properties"]["items"]["description"], "What to plan")
        body = functions["record__addNote"]["parameters"]["properties"]
        self.assertEqual(sorted(body), ["body"])
        self.assertEqual(sorted(body["body"]["properties"]), ["about", "text"])

    def test_without_a_value_an_action_is_left_out_with_a_reason(self):
        self.noting.parameter_ids[0].field_path = "parent_id"
        request = self._turn(self.internal, self.ada)._turn_request()
        (note,) = (tool for tool in request.tools if tool.name == "addNote")
        self.assertIn("customer_id", note.problem)

    def test_nobody_gets_actions_of_what_they_may_not_read(self):
        self.assertFalse(self._turn(self.internal)._actions())
        with self.assertRaises(AccessError):
            self._turn(self.member, self.ada)
        turn = self._turn(self.internal, self.ada)
        self.assertEqual(turn._actions(), self.planning | self.ordering | self.noting)
        self.ordering.domain = "[('ref', '=', 'C-2')]"
        self.plan.active = False
        self.assertEqual(turn._actions(), self.noting)
        self.network.group_ids = self.env.ref("base.group_system")
        self.assertFalse(turn._actions())
        self.network.group_ids = False
        self.ada.unlink()
        self.assertFalse(turn._actions())
        self.assertEqual({tool.server_id for tool in turn._turn_request().tools}, {self.server.id})

    def test_a_switch_counts_at_the_start_of_the_call(self):
        turn = self._turn(self.internal, self.ada)
        self.env.flush_all()
        store = OdooStore(self.env.cr.dbname)
        (claim,) = store.claim("one", 1, 15.0)
        request = store.load(claim).request
        tools = [tool for tool in request.tools if tool.action_id]
        servers = {server.id: server for server in request.servers}
        calls = [
            ToolCall(
                id=f"call_{tool.name}",
                alias=tool.alias,
                round=1,
                tool=tool,
                server=servers[tool.server_id],
                arguments={},
            )
            for tool in tools
        ]
        store.save_step(claim, asdict(TurnProgress(step=1)), calls, [])
        self.planning.active = False
        self.list_orders.active = False
        self.env.flush_all()
        verdicts = {call.tool.name: store.begin_call(claim, call.id).kind for call in calls}
        self.assertEqual(verdicts, {"make_plan": "deny", "listOrders": "deny", "addNote": "ask"})
        self.env.invalidate_all()
        rows = {row.tool_name: row for row in turn.call_ids}
        self.assertEqual(rows["make_plan"].tool_id, self.plan)
        self.assertEqual(rows["addNote"].operation_id, self.add_note)
        self.assertFalse(rows["addNote"].tool_id or rows["addNote"].server_id)
        self.assertEqual(
            rows["addNote"]._api_format()["fixed"], ["path.customer_id", "body.author"]
        )

    def test_the_api_takes_and_shows_the_record(self):
        self._sign_in(self.internal)
        body = {
            "assistant_id": self.assistant.id,
            "res_model": "res.partner",
            "res_id": self.ada.id,
        }
        status, conversation = self._call("POST", "/api/ai/conversations", body)
        self.assertEqual(status, 201)
        self.assertEqual(
            conversation["record"], {"model": "res.partner", "id": self.ada.id, "name": "Ada"}
        )
        for wrong in (
            {"res_id": 99999999},
            {"res_model": "no.model"},
            {"res_model": "ai.config", "res_id": self.provider.id},
            {"res_model": "res.partner", "res_id": None},
        ):
            with self.subTest(wrong=wrong):
                status, answer = self._call("POST", "/api/ai/conversations", {**body, **wrong})
                self.assertEqual((status, answer["error"]["code"]), (404, "not_found"))

    def test_the_form_of_the_model_offers_the_chat(self):
        Link = self.env["woow_paas_platform.service_link"].with_user(self.internal)
        params = Link.action_chat_about("res.partner", self.ada.id)["params"]
        self.assertEqual(
            params, {"res_model": "res.partner", "res_id": self.ada.id, "res_name": "Ada"}
        )
        action = self.env["ir.actions.server"].search(
            [("binding_model_id.model", "=", "res.partner"), ("woow_ai_chat", "=", True)]
        )
        self.assertEqual(len(action), 1)
        self.network.active = False
        with self.assertRaises(UserError):
            Link.action_chat_about("res.partner", self.ada.id)


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
        call = self.env["woow_paas_platform.tool_call"].create(
            {
                "user_id": self.internal.id,
                "call_id": "direct_1",
                "tool_name": "make_plan",
                "started_at": "2020-01-01 00:00:00",
            }
        )
        call._close_lost_direct_calls()
        self.assertEqual(call.outcome, "unknown")

    def test_servers_have_ids_of_their_own(self):
        ids = self.env["woow_paas_platform.mcp_server"].search([]).mapped("mcp_id")
        self.assertTrue(all(ids))
        self.assertEqual(len(ids), len(set(ids)))
        self.assertNotEqual(self.crm.copy({"name": "copy"}).mcp_id, self.crm.mcp_id)
