"""Calls of what was recalled: document 002, 8, with an MCP server and an HTTP service of ours."""

import json
from contextlib import contextmanager
from unittest.mock import patch

from odoo.exceptions import ConcurrencyError
from odoo.tests import tagged
from odoo.tools import mute_logger

from ..controllers import retrieval
from ..runtime.web import api_error, direct_call
from ..services.testing.fake_http import respond
from ..services.testing.fake_tools import text
from .common import served_mcp
from .doubles.fake_api import FakeApi
from .recall_data import PLAN, RETRIEVAL, RecallApiCase


async def _plan(call):
    return text(json.dumps(call.arguments), structuredContent={"plan": call.arguments})


async def _sorry(call):
    return text("This customer is blocked.", isError=True)


async def _overloaded(call, writer):
    await respond(writer, 503, {"error": {"message": "Too many plans."}})


@tagged("post_install", "-at_install")
class TestRecallProxy(RecallApiCase):
    @contextmanager
    def _mcp(self):
        """A server of ours behind the record."""
        with served_mcp() as fake:
            fake.tools |= {"make_plan": (_plan, PLAN), "sorry/now": (_sorry, {"type": "object"})}
            self.crm.url = fake.url
            self.env.flush_all()
            yield fake

    @contextmanager
    def _api(self, **options):
        with FakeApi(**options) as api:
            self.box.base_url = f"{api.url}/v1"
            self.env.flush_all()
            yield api

    # ------------------------------------------------------------ proxy

    def test_the_sequence_of_document_002(self):
        """Recall, merge what the model adds, call the proxy, get the tool's own result."""
        with self._mcp() as fake:
            (tool,) = self._recall()[1]["_dynamic_tools"]
            arguments = {"items": [{"name": "call"}], **tool["fixed_params"]}
            status, answer = self._call("POST", self._path(tool["api_url"]), arguments)
            self.assertEqual((status, answer["structuredContent"]["plan"]), (200, arguments))
            self.assertEqual(json.loads(answer["content"][0]["text"]), arguments)
            self.assertEqual([call[1:] for call in fake.calls], [("make_plan", arguments)])
        (row,) = self._rows()
        self.assertEqual(
            (row.outcome, row.tool_id, row.action_id), ("ok", self.plan, self.planning)
        )
        self.assertEqual((row.arguments, row.server_id), (arguments, self.crm))
        self.assertTrue(row.started_at and row.bytes)

    def test_each_key_step_leaves_a_line_for_debugging(self):
        with self._mcp(), self.assertLogs(retrieval.__name__, "DEBUG") as log:
            (tool,) = self._recall()[1]["_dynamic_tools"]
            arguments = {"items": [], **tool["fixed_params"]}
            self._call("POST", self._path(tool["api_url"]), arguments)
        recalled, begins, ended = log.records
        self.assertEqual({line.levelname for line in log.records}, {"DEBUG"})
        self.assertIn("make_plan", recalled.getMessage())
        for line in (begins, ended):
            self.assertIn(self.crm.mcp_id, line.getMessage())
            self.assertIn("make_plan", line.getMessage())
            self.assertNotIn("items", line.getMessage())

    def test_what_is_refused_leaves_a_line_for_debugging(self):
        proxy = f"{RETRIEVAL}/mcp/proxy/{self.crm.mcp_id}/tools/nothing/call"
        with self.assertLogs(api_error.__name__, "DEBUG") as log:
            self.assertEqual(self._recall(at_id="nobody's")[0], 404)
            self.assertEqual(self._recall(headers={})[0], 400)
            self.assertEqual(self._call("POST", proxy, {})[0], 404)
        recalled, without, called = (line.getMessage() for line in log.records)
        self.assertEqual({line.levelname for line in log.records}, {"DEBUG"})
        self.assertIn("get_action_info is refused: 404 not_found", recalled)
        self.assertIn("get_action_info is refused: 400 invalid_header", without)
        self.assertIn(self.crm.mcp_id, called)
        self.assertIn("404 ErrExtActionRecallToolNotFound", called)

    def test_a_tools_own_failure_is_a_result(self):
        self.assistant.mcp_server_ids += self.crm
        self.sorry.approval_policy = "auto"
        path = f"{RETRIEVAL}/mcp/proxy/{self.crm.mcp_id}/tools/sorry%2Fnow/call"
        with self._mcp():
            status, answer = self._call("POST", path, {})
        self.assertEqual((status, answer["isError"]), (200, True))
        self.assertEqual(self._rows().outcome, "error")

    def test_an_upstream_that_fails_is_502_with_its_sentence(self):
        self.assistant.mcp_server_ids += self.crm
        self.plan.approval_policy = "auto"
        path = f"{RETRIEVAL}/mcp/proxy/{self.crm.mcp_id}/tools/make_plan/call"
        with self._mcp() as fake, self.assertLogs("odoo.addons.woow_paas_platform", "ERROR") as log:
            self.crm.api_key = "sk-of-the-server"
            fake.faults["make_plan"] = _overloaded
            self.env.flush_all()
            answer = self._call("POST", path, {"partner_id": 1, "items": []})
        details = self._assert_error(answer, 502, "ErrExtActionRecallMCPCallFailed")
        self.assertEqual((details["mcp_id"], details["tool_name"]), (self.crm.mcp_id, "make_plan"))
        self.assertIn("503", answer[1]["error"]["message"])
        self.assertIn(self.crm.mcp_id, log.output[0])
        self.assertIn("make_plan", log.output[0])
        self.assertNotIn("sk-of-the-server", str(answer) + log.output[0])
        self.assertEqual(self._rows().outcome, "error")

    def test_what_the_proxy_refuses_is_told_and_written_down(self):
        self.assistant.mcp_server_ids += self.crm
        self.env.flush_all()
        path = f"{RETRIEVAL}/mcp/proxy/{self.crm.mcp_id}/tools"
        good = {"partner_id": 1, "items": []}
        self._assert_error(
            self._call("POST", f"{path}/make_plan/call", {"partner_id": "one"}),
            400,
            "invalid_arguments",
        )
        details = self._assert_error(
            self._call("POST", f"{path}/nothing/call", good), 404, "ErrExtActionRecallToolNotFound"
        )
        self.assertEqual(details["tool_name"], "nothing")
        for switch in (
            {"active": False},
            {"active": True, "approval_policy": "never"},
            {"approval_policy": "ask"},
        ):
            self.plan.write(switch)
            self.env.flush_all()
            self._assert_error(self._call("POST", f"{path}/make_plan/call", good), 403, "denied")
        self.assertEqual(
            self._rows().mapped("outcome"), ["invalid_args", "denied", "denied", "denied"]
        )
        self.assertFalse(self._rows().filtered("started_at"))

    def test_an_id_that_is_left_out_is_told(self):
        for address, missing in (
            ("mcp/proxy//tools/make_plan/call", "mcp_id"),
            (f"mcp/proxy/{self.crm.mcp_id}/tools//call", "tool_name"),
            ("mcp/proxy/%20/tools/make_plan/call", "mcp_id"),
            ("mcp/proxy//tools//call", "mcp_id"),
            ("tool/proxy//tools/anything/call", "box_id"),
            (f"tool/proxy/{self.box.box_id}/tools//call", "tool_name"),
        ):
            with self.subTest(address):
                answer = self._call("POST", f"{RETRIEVAL}/{address}", {"partner_id": 1})
                details = self._assert_error(answer, 400, "invalid_parameter")
                self.assertEqual(details, {"parameter": missing})

    def test_the_proxy_is_no_side_door(self):
        """A tool that comes with an action only is called for records of the caller's own only."""
        path = f"{RETRIEVAL}/mcp/proxy/{self.crm.mcp_id}/tools/make_plan/call"
        good = {"partner_id": self.ada.id, "deep": "true", "items": []}
        not_found = (404, "ErrExtActionRecallToolNotFound")
        with self._mcp() as fake:
            for change in ({"partner_id": 99999999}, {"deep": "no"}, {"partner_id": None}):
                self._assert_error(self._call("POST", path, good | change), *not_found)
            self._sign_in(self.member)
            self._assert_error(self._call("POST", path, good), *not_found)
            self._sign_in(self.internal)
            self.planning.active = False
            self.env.flush_all()
            self._assert_error(self._call("POST", path, good), *not_found)
            self.assertEqual(fake.calls, [])
            self.planning.active = True
            self.env.flush_all()
            self.assertEqual(self._call("POST", path, good)[0], 200)

    def test_the_call_is_made_once_however_often_the_endpoint_runs(self):
        """`retrying` repeats the endpoint; the call waits for the commit."""
        record, runs = direct_call.record, []

        def failing(*args, **kwargs):
            row = record(*args, **kwargs)
            runs.append(row.call_id)
            if len(runs) < 3:
                raise ConcurrencyError("again")
            return row

        path = f"{RETRIEVAL}/mcp/proxy/{self.crm.mcp_id}/tools/make_plan/call"
        good = {"partner_id": self.ada.id, "deep": "true", "items": []}
        with (
            self._mcp() as fake,
            patch.object(direct_call, "record", failing),
            patch("odoo.service.model.time.sleep"),
        ):
            self.assertEqual(self._call("POST", path, good)[0], 200)
            self.assertEqual((len(runs), len(fake.calls)), (3, 1))
        self.assertEqual(self._rows().mapped("call_id"), runs[-1:])

    # ------------------------------------------------------------ toolbox

    def test_an_operation_is_called_with_its_layers(self):
        with self._api(key="k-1") as api:
            self.box.write(
                {
                    "credential_type": "header",
                    "credential_name": "X-API-Key",
                    "credential": "k-1",
                }
            )
            self.env.flush_all()
            (tool,) = self._recall("at-orders", {"ref": "C-1"})[1]["_dynamic_tools"]
            arguments = tool["fixed_params"] | {"query": {"limit": 1, "state": "open"}}
            status, answer = self._call("POST", self._path(tool["api_url"]), arguments)
            self.assertEqual(status, 200, answer)
            self.assertEqual(answer["status_code"], 200)
            orders = [{"customer": str(self.ada.id), "number": f"SO-{self.ada.id}-1"}]
            self.assertEqual(answer["structuredContent"], {"orders": orders, "state": "open"})
            ((method, path, headers, body),) = api.requests
            self.assertEqual((method, body), ("GET", None))
            self.assertEqual(path, f"/v1/customers/{self.ada.id}/orders?limit=1&state=open")
            self.assertEqual((headers["x-api-key"], headers["x-account-id"]), ("k-1", "acc-1"))
            self.assertNotIn("cookie", headers)
        row = self._rows()
        self.assertEqual((row.outcome, row.operation_id), ("ok", self.list_orders))
        self.assertNotIn("k-1", str(row.read()))

    def test_an_operation_with_a_body(self):
        with self._api() as api:
            (tool,) = self._recall("at-note")[1]["_dynamic_tools"]
            self.assertEqual(tool["fixed_params"]["body"], {"author": "ada@example.com"})
            arguments = tool["fixed_params"]
            arguments["body"]["text"] = "Wants a call."
            answer = self._call("POST", self._path(tool["api_url"]), arguments)
            self.assertEqual((answer[0], answer[1]["status_code"]), (200, 201))
            self.assertEqual(
                api.requests[0][3], {"author": "ada@example.com", "text": "Wants a call."}
            )
            arguments["body"]["text"] = ""
            self._assert_error(
                self._call("POST", self._path(tool["api_url"]), arguments), 400, "invalid_arguments"
            )

    @mute_logger("odoo.addons.woow_paas_platform.controllers.retrieval")
    def test_a_service_that_fails_is_502_with_its_sentence(self):
        self._sign_in(self.admin)
        path = f"{RETRIEVAL}/tool/proxy/{self.box.box_id}/tools"
        with self._api(key="k-1"):
            self._assert_error(
                self._call("POST", f"{path}/stock/call", {}),
                502,
                "ErrExtActionRecallToolCallFailed",
            )
        with self._api():
            answer = self._call("POST", f"{path}/stock/call", {})
            self._assert_error(answer, 502, "ErrExtActionRecallToolCallFailed")
            self.assertIn("The warehouse is closed.", answer[1]["error"]["message"])
            answer = self._call("POST", f"{path}/listOrders/call", {"path": {"customer_id": 404}})
            self.assertEqual((answer[0], answer[1]["status_code"]), (200, 404))
            self.assertTrue(answer[1]["isError"])
        self.stock.active = False
        self.env.flush_all()
        self._assert_error(self._call("POST", f"{path}/stock/call", {}), 403, "denied")
        self._assert_error(
            self._call("POST", f"{path}/nothing/call", {}), 404, "ErrExtActionRecallToolNotFound"
        )
