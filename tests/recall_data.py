"""A knowledge network over a real MCP server and an OpenAPI document, for the tests of recall."""

import base64
import json

from odoo import Command

from .common import AiHttpCase
from .doubles import fake_api

RETRIEVAL = "/api/agent-retrieval/in/v1"
ACCOUNT = {"x-account-id": "acc-1", "x-account-type": "user"}

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


class RecallApiCase(RecallData, AiHttpCase):
    """The network over HTTP, for an internal user."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls._make_recall()

    def setUp(self):
        super().setUp()
        self._sign_in(self.internal)

    def _recall(self, at_id="at-plan", identity=None, headers=None, kn_id="kn-customers"):
        return self._call(
            "POST",
            f"{RETRIEVAL}/kn/get_action_info?kn_id={kn_id}&at_id={at_id}",
            {"unique_identity": {"id": self.ada.id} if identity is None else identity},
            headers=ACCOUNT if headers is None else headers,
        )

    def _assert_error(self, answer, status, code):
        self.assertEqual((answer[0], answer[1]["error"]["code"]), (status, code), answer)
        self.assertTrue(answer[1]["error"]["message"])
        self.assertNotIn("Traceback", str(answer[1]))
        return answer[1]["error"]["details"]

    def _path(self, url):
        return "/" + url.split("/", 3)[3]

    def _rows(self):
        self.env.invalidate_all()
        return self.env["woow_paas_platform.tool_call"].search(
            [("user_id", "=", self.internal.id), ("turn_id", "=", False)], order="id"
        )
