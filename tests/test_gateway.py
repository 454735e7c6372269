"""Odoo as an MCP server, from outside: who reaches what at /mcp, and with which key."""

import asyncio
import concurrent.futures
import json
import queue
from datetime import timedelta
from types import SimpleNamespace
from unittest.mock import patch

from odoo import fields, sql_db
from odoo.tests import BaseCase, tagged

from ..controllers import execute
from ..models.base import client_session
from ..models.turn import tool_call
from ..runtime.web import client_stream, client_tasks, slots
from ..runtime.web.client_stream import StreamedCall
from ..services import const, jsonrpc
from ..services.errors import ElicitationRequired, ServerRefused
from ..services.gateway import messages, tasks
from ..services.mcp.session.elicitation import ElicitRequest
from ..services.specs import CallResult, Executed
from ..services.testing.fake_tools import TOOLS, text
from ..tools import db, mcp_switch
from .common import ADDS, SCHEMA, AiHttpCase, served_mcp

KEYS = "/api/mcp/keys"
PASSWORD = "secret-of-a-test"
TAIPEI = {"name": "weather__forecast", "arguments": {"city": "Taipei"}}
META = const.META_PREFIX


async def _forecast(call):
    return text(f"Sunny in {call.arguments.get('city', '')}.")


class GatewayCase(AiHttpCase):
    def setUp(self):
        super().setUp()
        self.key = self._client_key(self.member)

    def _served(self):
        """The servers of the tests answer; each request that reaches them is in `headers`."""
        fake = self.enterContext(served_mcp())
        schema = json.loads(SCHEMA)
        fake.tools |= dict.fromkeys(("forecast", "alerts", "run_flow"), (_forecast, schema))
        (self.server | self.user_server).url = fake.url
        self.env.flush_all()
        return fake

    def _names(self, key=None):
        status, said = self._rpc(key or self.key, "tools/list")
        self.assertEqual(status, 200, said)
        return [tool["name"] for tool in said["result"]["tools"]]

    def _result(self, params=TAIPEI, key=None):
        status, said = self._rpc(key or self.key, "tools/call", params)
        self.assertEqual(status, 200, said)
        return said["result"]

    def _modern(self, method, params=(), capabilities=None, **headers):
        """:return: (status, JSON)"""
        declared = {
            f"{META}protocolVersion": const.MODERN_VERSION,
            f"{META}clientCapabilities": capabilities or {},
        }
        named = {"Mcp-Name": TAIPEI["name"]} if method == "tools/call" else {}
        given = {"MCP-Protocol-Version": const.MODERN_VERSION, "Mcp-Method": method}
        sent = {**dict(params), "_meta": declared}
        return self._rpc(self.key, method, sent, **{**given, **named, **headers})

    def _close_lost(self):
        """What a cron does."""
        # sudo: tool_call - as the cron
        self.env["woow_paas_platform.tool_call"].sudo()._close_lost_direct_calls()

    def _rows(self):
        self.env.invalidate_all()
        return self.env["woow_paas_platform.tool_call"].search(
            [("user_id", "=", self.member.id), ("turn_id", "=", False)], order="id"
        )


@tagged("post_install", "-at_install")
class TestGateway(GatewayCase):
    # ------------------------------------------------------------ tools

    def test_a_client_lists_and_calls(self):
        fake = self._served()
        status, said = self._rpc(self.key, "initialize", {"protocolVersion": "2025-06-18"})
        self.assertEqual((status, said["result"]["protocolVersion"]), (200, "2025-06-18"))
        self.assertEqual(self._names(), ["flows__run_flow", "weather__alerts", "weather__forecast"])
        self.assertEqual(
            self._result(),
            {"content": [{"type": "text", "text": "Sunny in Taipei."}], "isError": False},
        )
        row = self._rows()
        self.assertEqual((row.outcome, row.tool_id), ("ok", self.forecast))
        self.assertNotIn(self.key, str(fake.headers), "no server sees the key of the client")

    def test_a_modern_client_lists_and_calls(self):
        self._served()
        status, said = self._modern("server/discover")
        self.assertEqual((status, said["result"]["supportedVersions"]), (200, ["2026-07-28"]))
        listed = self._modern("tools/list")[1]["result"]
        self.assertEqual((listed["resultType"], listed["cacheScope"]), ("complete", "private"))
        called = self._modern("tools/call", TAIPEI)[1]["result"]
        self.assertEqual(
            (called["resultType"], called["content"][0]["text"]), ("complete", "Sunny in Taipei.")
        )
        for headers in ({"Mcp-Method": "ping"}, {"Mcp-Name": "weather__alerts"}):
            status, said = self._modern("tools/call", TAIPEI, **headers)
            self.assertEqual((status, said["error"]["code"]), (400, jsonrpc.HEADER_MISMATCH))
        self.assertEqual(self._modern("ping")[0], 404)
        self.assertEqual(len(self._rows()), 1)

    def test_many_tools_are_found_and_called_like_the_others(self):
        self._served()
        self.env["ir.config_parameter"].set_param("woow_paas_platform.listed_tokens", "1")
        self.env.flush_all()
        self.assertEqual(self._names(), ["call_tool", "describe_tools", "find_tools"])
        found = self._result({"name": "find_tools", "arguments": {"queries": ["forecast"]}})
        names = [tool["name"] for tool in json.loads(found["content"][0]["text"])["tools"]]
        self.assertEqual(names[0], TAIPEI["name"])
        for key in (self._client_key(self.stranger), self.key):
            answer = self._result(
                {"name": "find_tools", "arguments": {"queries": ["run flow"]}}, key
            )
            has_flows = "flows__run_flow" in answer["content"][0]["text"]
            self.assertEqual(has_flows, key == self.key)
        by_name = {"name": "call_tool", "arguments": TAIPEI}
        self.assertEqual(self._result(by_name)["content"][0]["text"], "Sunny in Taipei.")
        self.forecast.approval_policy = "never"
        self.env.flush_all()
        status, said = self._rpc(self.key, "tools/call", by_name)
        self.assertEqual((status, said["error"]["code"]), (200, jsonrpc.INVALID_PARAMS))
        self.assertEqual(self._rows().tool_id, self.forecast)

    def test_signs_that_no_database_takes_are_left_out(self):
        self._served()
        for name in ("\ud800", "weather__\0none"):
            status, said = self._rpc(self.key, "tools/call", {"name": name, "arguments": {}})
            self.assertEqual((status, said["error"]["code"]), (200, jsonrpc.INVALID_PARAMS))
        status, said = self._rpc(self.key, "resources/read", {"uri": "\ud800"})
        self.assertEqual((status, "error" in said), (200, True), said)
        status, said = self._modern("tools/call", {**TAIPEI, "requestState": "a\0\ud800"})
        self.assertEqual(said["error"]["code"], jsonrpc.INVALID_PARAMS)
        said = self._call(
            "POST",
            "/mcp",
            {"jsonrpc": "2.0", "id": "a\ud800", "method": "ping"},
            {"Authorization": f"Bearer {self.key}"},
        )
        self.assertEqual((said[0], said[1]["id"]), (200, "a"))

    def test_everybody_has_the_tools_of_their_own_chats(self):
        for user, flows in ((self.guest, True), (self.stranger, False), (self.internal, False)):
            with self.subTest(user=user.login):
                key = self._client_key(user)
                self.assertEqual("flows__run_flow" in self._names(key), flows)
                status, said = self._rpc(key, "tools/call", {"name": "flows__run_flow"})
                is_unknown = said.get("error", {}).get("code") == jsonrpc.INVALID_PARAMS
                self.assertEqual((status, is_unknown), (200, not flows), said)
        self.assistant.group_ids = self.env.ref("base.group_system")
        self.env.flush_all()
        self.assertEqual(self._names(), ["flows__run_flow"])

    def test_no_other_name_is_a_tool(self):
        for name in ("forecast", "weather.forecast", "Weather__forecast", "", "x" * 10_000):
            status, said = self._rpc(self.key, "tools/call", {"name": name})
            self.assertEqual((status, said["error"]["code"]), (200, jsonrpc.INVALID_PARAMS))
        self.assertFalse(self._rows())

    def _asks(self):
        fake = self._served()
        self.forecast.approval_policy = "ask"
        self.env.flush_all()
        return fake

    def _code(self, params=TAIPEI, key=None):
        return self._result(params, key).get("_meta", {}).get("code")

    def _waiting(self, user=None):
        self._sign_in(user or self.member)
        return self._call("GET", "/api/mcp/calls/waiting")[1]["calls"]

    def _decide(self, decision, user=None, **more):
        (asked,) = self._waiting()
        self._sign_in(user or self.member)
        values = {"decision": decision, **more}
        return self._call("POST", f"/api/mcp/calls/{asked['id']}/decision", values)

    def test_what_asks_waits_for_its_user(self):
        fake = self._asks()
        self.assertIn("weather__forecast", self._names())
        result = self._result()
        self.assertTrue(result["isError"])
        self.assertEqual(result["_meta"]["code"], "approval_required")
        self.assertIn(f"{self.base_url()}/my/ai/decisions", result["content"][0]["text"])
        self.assertEqual(self._code(), "approval_required")
        row = self._rows()
        self.assertEqual((len(row), row.outcome, row.approval), (1, False, "pending"))
        (asked,) = self._waiting()
        self.assertEqual((asked["args"], asked["server"]), ({"city": "Taipei"}, "weather"))
        self.assertEqual(asked["choices"], ["approve_once", "approve_always", "deny"])
        self.assertEqual(fake.calls, [])

    def test_an_allowed_call_is_made_once(self):
        fake = self._asks()
        self._result()
        self.assertEqual(self._decide("approve_once")[0], 204)
        self.assertEqual(self._waiting(), [])
        self.assertEqual(self._code({**TAIPEI, "arguments": {"city": "Rome"}}), "approval_required")
        self.assertEqual(self._result()["content"][0]["text"], "Sunny in Taipei.")
        self.assertEqual(len(fake.calls), 1)
        made = self._rows()[0]
        self.assertEqual((made.outcome, made.decided_by_id), ("ok", self.member))
        self.assertEqual(self._code(), "approval_required", "once is once")
        self.assertEqual(len(fake.calls), 1)

    def test_a_call_without_arguments_is_found_again(self):
        self._asks()
        bare = {"name": TAIPEI["name"]}
        self._result(bare)
        self.assertEqual(self._decide("approve_once")[0], 204)
        self.assertNotEqual(self._code(bare), "approval_required")

    def test_a_denied_call_is_refused_with_the_reason(self):
        fake = self._asks()
        self._result()
        self.assertEqual(self._decide("deny", reason="Not today.")[0], 204)
        result = self._result()
        self.assertEqual(result["_meta"]["code"], "denied")
        self.assertIn("Not today.", result["content"][0]["text"])
        self.assertEqual((self._rows().outcome, self._waiting(), fake.calls), ("denied", [], []))

    def test_always_is_for_chats_too(self):
        fake = self._asks()
        self._result()
        self._decide("approve_always")
        for _ in range(2):
            self.assertFalse(self._result()["isError"])
        self.assertEqual(len(fake.calls), 2)
        (grant,) = self._call("GET", "/api/ai/grants")[1]["grants"]
        self.assertEqual((grant["tool"], grant["scope"]), (self.forecast.display_name, "always"))

    def test_an_approval_is_for_what_was_shown(self):
        fake = self._asks()
        self._result()
        self._decide("approve_once")
        self.forecast.definition_hash = "another"
        self.env.flush_all()
        self.assertEqual(self._code(), "approval_required")
        self.assertEqual(self._code(key=self._client_key(self.guest)), "approval_required")
        self.forecast.approval_policy = "never"
        self.env.flush_all()
        self.assertEqual(self._rpc(self.key, "tools/call", TAIPEI)[1]["error"]["code"], -32602)
        self.assertEqual(fake.calls, [])

    def test_nobody_else_decides(self):
        self._asks()
        self._result()
        for user in (self.guest, self.internal):
            self.assertEqual(self._decide("approve_once", user)[0], 404)
        (asked,) = self._waiting()
        self.logout()
        path, wanted = f"/api/mcp/calls/{asked['id']}/decision", {"decision": "approve_once"}
        headers = {"Authorization": f"Bearer {self._client_key(self.member, scope=None)}"}
        self.assertEqual(self._call("POST", path, wanted, headers=headers)[0], 403)
        self.assertEqual(self._decide("approve_conversation")[1]["error"]["code"], "invalid_field")
        self.assertEqual(self._decide("approve_once")[0], 204)
        self.assertEqual(self._call("POST", path, wanted)[1]["error"]["code"], "already_decided")

    def test_a_decision_comes_too_late(self):
        self._asks()
        self._result()
        row = self._rows()
        past = fields.Datetime.now() - timedelta(hours=2)
        self.env.cr.execute(
            "UPDATE woow_paas_platform_tool_call SET create_date = %s, write_date = %s WHERE id = %s",
            [past, past, row.id],
        )
        self.env.invalidate_all()
        self.assertEqual(self._waiting(), [])
        path = f"/api/mcp/calls/{row.call_id}/decision"
        late = self._call("POST", path, {"decision": "approve_once"})
        self.assertEqual((late[0], late[1]["error"]["code"]), (409, "already_decided"))
        self.assertEqual(self._code(), "approval_required")

    def test_the_hour_for_the_same_call_begins_with_the_decision(self):
        fake = self._asks()
        for moment, is_made in (("create_date", True), ("decided_at", False)):
            call = {**TAIPEI, "arguments": {"city": moment}}
            self._result(call)
            self._decide("approve_once")
            self.env.cr.execute(
                f"""
                UPDATE woow_paas_platform_tool_call SET {moment} = {moment} - interval '70 minutes'
                 WHERE id = %s
                """,
                [self._rows()[-1].id],
            )
            self._close_lost()
            self.assertEqual(self._code(call), None if is_made else "approval_required")
        self.assertEqual(len(fake.calls), 1)

    def test_no_client_fills_the_page(self):
        self._asks()
        for number in range(20):
            self._result({**TAIPEI, "arguments": {"city": str(number)}})
        self.assertEqual(self._code(), "too_many_calls")
        self.assertEqual(len(self._waiting()), 20)

    def test_no_client_fills_the_page_with_a_few_large_calls(self):
        self._asks()
        with patch.object(tool_call, "MAX_WEIGHT_OF_CLIENTS", 10_000):
            codes = [
                self._code({**TAIPEI, "arguments": {"city": letter * 4_000}}) for letter in "abc"
            ]
        self.assertEqual(codes, ["approval_required", "approval_required", "too_many_calls"])
        self.assertEqual(len(self._waiting()), 2)

    def test_a_permission_counts_for_one_call(self):
        """Also where that call was made without it: by a permission for all that is withdrawn later, or because
        nobody had to be asked for a while."""
        fake = self._asks()
        for decision in ("approve_always", "approve_once"):
            call = {**TAIPEI, "arguments": {"city": decision}}
            self._result(call)
            row = self._rows()[-1]
            self._decide(decision)
            if decision == "approve_once":
                self.forecast.approval_policy = "auto"
                self.env.flush_all()
            made = len(fake.calls)
            self.assertFalse(self._result(call)["isError"])
            self.env["woow_paas_platform.tool_grant"].search([]).unlink()
            self.forecast.approval_policy = "ask"
            self.env.flush_all()
            self.assertEqual(self._code(call), "approval_required", decision)
            self.assertEqual(len(fake.calls), made + 1)
            self.assertEqual((row.outcome, row.started_at), ("cancelled", False))
            self._decide("deny")

    def test_a_permission_is_for_its_client_and_the_very_arguments(self):
        fake = self._asks()
        self.forecast.input_schema = "{}"
        self.env.flush_all()
        one = {**TAIPEI, "arguments": {"city": 1}}
        self._result(one)
        self._decide("approve_once")
        row = self._rows()
        for other in (True, 1.0, "1"):
            self.assertEqual(
                self._code({**TAIPEI, "arguments": {"city": other}}), "approval_required"
            )
        self.forecast.approval_policy = "auto"
        self.env.flush_all()
        self.assertIsNone(self._code({**TAIPEI, "arguments": {"city": 1.0}}))
        fake.calls.clear()
        self.forecast.approval_policy = "ask"
        row.sudo().client_name = "Another"
        self.env.flush_all()
        self.assertEqual(self._code(one), "approval_required")
        self.assertEqual(fake.calls, [])
        row.sudo().client_name = False
        self._rows()[-1].sudo().unlink()
        self.env.flush_all()
        self.assertIsNone(self._code(one))

    def test_a_tool_that_has_changed_is_not_allowed(self):
        self._asks()
        self._result()
        self.forecast.definition_hash = "another"
        self.env.flush_all()
        status, said = self._decide("approve_always")
        self.assertEqual((status, said["error"]["code"]), (409, "already_decided"))
        self.assertFalse(self.env["woow_paas_platform.tool_grant"].search([]))
        self.assertEqual(self._decide("deny")[0], 204)

    def test_a_client_that_can_asks_its_user_itself(self):
        fake = self._asks()
        capable = {"elicitation": {"form": {}}}

        def call(**more):
            return self._modern("tools/call", {**TAIPEI, **more}, capable)[1]["result"]

        asked = call()
        self.assertEqual(asked["resultType"], "input_required")
        message = asked["inputRequests"]["approval"]["params"]["message"]
        self.assertIn('{"city": "Taipei"}', message)
        state = asked["requestState"]

        def answered(action, state=state, **more):
            said = {"approval": {"action": action, "content": {}}}
            return call(requestState=state, inputResponses=said, **more)

        self.assertEqual(answered("cancel")["_meta"]["code"], "approval_required")
        accepted = {"approval": {"action": "accept"}}

        def refused(**more):
            sent = {**TAIPEI, "inputResponses": accepted, "requestState": state, **more}
            said = self._modern("tools/call", sent, capable)[1]
            self.assertEqual(said["error"]["code"], jsonrpc.INVALID_PARAMS)

        refused(requestState="another")
        refused(arguments={"city": "Rome"})
        self.assertEqual(fake.calls, [])
        self.assertEqual(answered("accept")["content"][0]["text"], "Sunny in Taipei.")
        refused()  # once is once
        self.assertEqual(len(fake.calls), 1)
        again = call()["requestState"]
        self.assertEqual(answered("decline", again)["_meta"]["code"], "denied")
        self.assertEqual(len(fake.calls), 1)
        long = call(arguments={"city": "x" * 5_000})
        self.assertEqual(long["_meta"]["code"], "approval_required", "all of it or no question")

    def test_what_never_runs_is_neither_listed_nor_called(self):
        self.forecast.approval_policy = "never"
        self.env["woow_paas_platform.approval_rule"].create(
            {"tool_id": self.alerts.id, "policy": "never", "assistant_id": self.assistant.id}
        )
        self.env["woow_paas_platform.person_rule"].create(
            {"server_id": self.user_server.id, "policy": "never", "user_ids": [self.member.id]}
        )
        self.env.flush_all()
        self.assertEqual(self._names(), [])
        for name in ("weather__forecast", "weather__alerts", "flows__run_flow"):
            _status, said = self._rpc(self.key, "tools/call", {"name": name})
            self.assertEqual(said["error"]["code"], jsonrpc.INVALID_PARAMS)
        self.assertEqual(self._names(self._client_key(self.guest)), ["flows__run_flow"])

    def test_a_rule_that_not_every_call_meets_is_told_by_the_call(self):
        self.env["woow_paas_platform.approval_rule"].create(
            {"tool_id": self.forecast.id, "policy": "never", "condition": "city == 'Taipei'"}
        )
        self.env.flush_all()
        self.assertIn("weather__forecast", self._names())
        self.assertEqual(self._result()["_meta"]["code"], "denied")

    def test_switches_count_at_once(self):
        for change in (
            lambda: self.forecast.write({"active": False}),
            lambda: self.server.write({"active": False}),
            lambda: self.assistant.write({"mcp_tool_disabled_ids": [(4, self.forecast.id)]}),
            lambda: self.forecast.sudo().write({"review_state": "changed"}),
        ):
            with self.subTest(), self.env.cr.savepoint() as savepoint:
                change()
                self.env.flush_all()
                self.assertNotIn("weather__forecast", self._names())
                _status, said = self._rpc(self.key, "tools/call", TAIPEI)
                self.assertEqual(said["error"]["code"], jsonrpc.INVALID_PARAMS)
                savepoint.close(rollback=True)

    def test_names_count_at_once(self):
        self._served()
        Server = self.env["woow_paas_platform.mcp_server"]
        rain = {"name": "climate__rain", "arguments": {"city": "Taipei"}}
        for change, name in (
            (lambda: self.server.write({"name": "climate"}), "climate__forecast"),
            (lambda: self.forecast.sudo().write({"name": "rain"}), "weather__rain"),
            (lambda: self.forecast.sudo().unlink(), ""),
            (self.server.unlink, ""),
        ):
            with self.subTest(name=name), self.env.cr.savepoint() as savepoint:
                self.assertNotIn("error", self._rpc(self.key, "tools/call", TAIPEI)[1])
                change()
                self.env.flush_all()
                _status, said = self._rpc(self.key, "tools/call", TAIPEI)
                self.assertEqual(said["error"]["code"], jsonrpc.INVALID_PARAMS)
                if name:
                    self.assertNotIn(
                        "error", self._rpc(self.key, "tools/call", rain | {"name": name})[1]
                    )
                savepoint.close(rollback=True)
                self.env.registry.clear_cache()
        climate = Server.create(
            {
                "name": "climate",
                "url": "http://127.0.0.1:9/mcp",
                "assistant_ids": self.assistant.ids,
            }
        )
        self.env.flush_all()
        self.assertIn("error", self._rpc(self.key, "tools/call", rain)[1])
        values = {"server_id": climate.id, "name": "rain", "input_schema": SCHEMA}
        self.env["woow_paas_platform.mcp_tool"].sudo().create(values)
        self.env.flush_all()
        self.assertNotIn("error", self._rpc(self.key, "tools/call", rain)[1])

    def test_names_that_a_thread_has_kept_too_long_lead_nowhere_else(self):
        self._served()
        gone, other = (2**31 - 1, "forecast", "weather"), (self.alerts.id, "forecast", "weather")
        for kept in (gone, other):
            names = {TAIPEI["name"]: kept}, {}
            with (
                self.subTest(kept=kept),
                patch.object(
                    type(self.forecast), "_system_names", lambda _tools, names=names: names
                ),
            ):
                self.assertEqual(self._result()["content"][0]["text"], "Sunny in Taipei.")
        self.assertEqual(self._rows().tool_id, self.forecast)

    def test_a_call_of_a_system_server_reads_little(self):
        self._served()
        self._result()
        seen, execute = [], sql_db.Cursor.execute

        def record(cursor, query, params=None, *args, **kwargs):
            execute(cursor, query, params, *args, **kwargs)
            seen.append(cursor._obj.query.decode())

        with patch.object(sql_db.Cursor, "execute", record):
            self._result()
        reads = [one for one in seen if one.startswith("SELECT") and "FROM" in one]
        self.assertLess(len(reads), 14, "\n".join(reads))

    def test_a_fault_is_a_result_that_a_model_can_read(self):
        self.server.url = "http://127.0.0.1:9/mcp"
        self.env.flush_all()
        wrong = {"name": "weather__forecast", "arguments": {"city": 5}}
        for params, code in ((TAIPEI, "connect_failed"), (wrong, "invalid_arguments")):
            result = self._result(params)
            self.assertTrue(result["isError"] and result["content"][0]["text"].endswith("."))
            self.assertEqual(result["_meta"]["code"], code)
        with patch.object(slots, "per_person", lambda: 0):
            self.assertEqual(self._result()["_meta"]["code"], "too_many_waits")
        self.assertEqual(self._rows().mapped("outcome"), ["error", "invalid_args", "denied"])

    def test_hints_of_a_server_that_nobody_trusts_are_not_passed_on(self):
        self.forecast.sudo().annotations = ADDS
        self.env.flush_all()

        def hints():
            _status, said = self._rpc(self.key, "tools/list")
            (tool,) = [t for t in said["result"]["tools"] if t["name"] == "weather__forecast"]
            return tool.get("annotations")

        self.assertIsNone(hints())
        self.server.trust_level = "annotations"
        self.env.flush_all()
        self.assertEqual(hints(), json.loads(ADDS))

    # ------------------------------------------------------------ who comes in

    def test_only_a_key_for_clients_opens(self):
        self.public.active = True
        of_nobody = self._client_key(self.public)
        for key in (self._client_key(self.member, "rpc"), "0123456789abcdef", "x", of_nobody):
            self.assertEqual(self._rpc(key, "ping")[0], 401)
        self.assertEqual(self._rpc(self._client_key(self.internal), "ping")[0], 200)
        for path in ("/api/ai/assistants", KEYS):
            answer = self._call("GET", path, headers={"Authorization": f"Bearer {self.key}"})
            self.assertEqual(answer[0], 401, "a key for clients opens nothing else")

    def test_a_session_is_no_key(self):
        self._sign_in(self.member)
        for method in ("POST", "GET", "DELETE"):
            answer = self.opener.request(method, f"{self.base_url()}/mcp", json={}, timeout=20)
            self.assertEqual(answer.status_code, 401)
            self.assertIn("oauth-protected-resource/mcp", answer.headers["WWW-Authenticate"])
            self.assertEqual(answer.json()["error"]["data"]["code"], "unauthenticated")

    def test_a_key_that_is_over_opens_no_more(self):
        self.assertEqual(self._rpc(self.key, "ping")[0], 200)
        self.member.active = False
        self.env.flush_all()
        self.assertEqual(self._rpc(self.key, "ping")[0], 401)
        self.member.active = True
        self.env.flush_all()
        self.assertEqual(self._rpc(self.key, "ping")[0], 200)
        self.env.cr.execute(
            "UPDATE res_users_apikeys SET expiration_date = %s WHERE user_id = %s",
            (fields.Datetime.now() - timedelta(hours=1), self.member.id),
        )
        self.assertEqual(self._rpc(self.key, "ping")[0], 401)

    def test_a_page_of_another_site_comes_not_in(self):
        for headers in ({"Origin": "https://evil.example.com"}, {"Sec-Fetch-Site": "cross-site"}):
            status, said = self._rpc(self.key, "ping", **headers)
            self.assertEqual((status, said["error"]["data"]["code"]), (403, "cross_site"))
        self.assertEqual(self._rpc(self.key, "ping", Origin=self.base_url())[0], 200)

    def test_a_name_that_a_stranger_binds_to_this_address_comes_not_in(self):
        foreign = {"Host": "evil.example.com", "Origin": "http://evil.example.com"}
        for site in ({}, {"Sec-Fetch-Site": "same-origin"}):
            status, said = self._rpc(self.key, "ping", **foreign, **site)
            self.assertEqual((status, said["error"]["data"]["code"]), (403, "cross_site"))

    def test_what_is_no_post_of_json(self):
        authorized = {"Authorization": f"Bearer {self.key}"}
        for method in ("GET", "DELETE"):
            answer = self.opener.request(
                method, f"{self.base_url()}/mcp", headers=authorized, timeout=20
            )
            self.assertEqual((answer.status_code, answer.headers["Allow"]), (405, "POST"))
        for body, kind, status in (
            (b"{}", "text/plain", 415),
            (b"", "application/json", 400),
            (b"{", "application/json", 400),
            (b'{"jsonrpc": "2.0", "method": "notifications/x"}', "application/json", 202),
            (b" " * (messages.MAX_BODY + 1), "application/json", 413),
        ):
            with self.subTest(body=body[:50]):
                answer = self.opener.post(
                    f"{self.base_url()}/mcp",
                    data=body,
                    headers={**authorized, "Content-Type": kind},
                    timeout=20,
                )
                self.assertEqual(answer.status_code, status)
                if status != 202:
                    self.assertEqual(answer.json()["jsonrpc"], "2.0")

    def test_a_batch_makes_its_calls_side_by_side(self):
        self._served()
        batch = [
            {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
            for number, params in enumerate([TAIPEI, {"name": "nope"}, TAIPEI])
        ]
        status, said = self._call("POST", "/mcp", batch, {"Authorization": f"Bearer {self.key}"})
        self.assertEqual(status, 200, said)
        self.assertEqual([one["id"] for one in said], [0, 1, 2])
        self.assertEqual(["result" in one for one in said], [True, False, True])
        self.assertEqual(self._rows().mapped("outcome"), ["ok", "ok"])


@tagged("post_install", "-at_install")
class TestClientKeys(GatewayCase):
    def setUp(self):
        super().setUp()
        self._sign_in(self.member)

    def _make(self, **values):
        sent = {"name": "Editor", "days": 90, "password": PASSWORD, **values}
        return self._call("POST", KEYS, sent)

    def _listed(self):
        status, said = self._call("GET", KEYS)
        self.assertEqual(status, 200)
        self.assertTrue(said["url"].endswith("/mcp"))
        return said["keys"]

    def test_a_person_makes_a_key_sees_and_revokes_it(self):
        status, said = self._make()
        self.assertEqual(status, 201, said)
        key = said["key"]
        self.assertEqual(self._rpc(key, "ping")[0], 200)
        mine = self._listed()[0]
        self.assertEqual(mine["name"], "Editor")
        self.assertNotIn(key, str(self._listed()))
        expiry = fields.Datetime.from_string(mine["expires_at"].replace("T", " ")[:19])
        self.assertIn((expiry - fields.Datetime.now()).days, (89, 90))
        self.assertEqual(self._call("DELETE", f"{KEYS}/{mine['id']}")[0], 204)
        self.assertEqual(self._rpc(key, "ping")[0], 401)
        self.assertEqual(self._call("DELETE", f"{KEYS}/{mine['id']}")[0], 404)

    def test_a_key_has_a_name_a_term_and_the_password(self):
        for values, status, code in (
            ({"name": " "}, 400, "invalid_field"),
            ({"name": "x" * 61}, 400, "invalid_field"),
            ({"days": 0}, 400, "invalid_field"),
            ({"days": 3650}, 400, "invalid_field"),
            ({"password": "wrong"}, 422, "wrong_password"),
            ({"password": ""}, 422, "wrong_password"),
        ):
            with self.subTest(values):
                answer = self._make(**values)
                self.assertEqual((answer[0], answer[1]["error"]["code"]), (status, code))
        self.assertEqual(len(self._listed()), 1)

    def test_nobody_has_endless_keys(self):
        for _ in range(9):
            self._client_key(self.member)
        answer = self._make()
        self.assertEqual((answer[0], answer[1]["error"]["code"]), (422, "too_many_keys"))

    def test_other_keys_are_none_of_this_page(self):
        self._client_key(self.member, "rpc")
        theirs = self._client_key(self.guest)
        self.assertEqual(len(self._listed()), 1)
        ids = self.env["res.users.apikeys"].search([("user_id", "=", self.guest.id)]).ids
        ids += self.env["res.users.apikeys"].search([("scope", "=", "rpc")]).ids
        for key_id in ids:
            self.assertEqual(self._call("DELETE", f"{KEYS}/{key_id}")[0], 404)
        self.assertEqual(self._rpc(theirs, "ping")[0], 200)

    def test_a_key_makes_no_key(self):
        self.logout()
        headers = {"Authorization": f"Bearer {self._client_key(self.member, 'rpc')}"}
        sent = {"name": "Editor", "days": 90, "password": PASSWORD}
        self.assertEqual(self._call("POST", KEYS, sent, headers)[0], 403)


async def _logs(call):
    for level in ("debug", "error"):
        params = {"level": level, "logger": "store", "data": "The disk is full."}
        await call.send({"jsonrpc": "2.0", "method": "notifications/message", "params": params})
    return text("Sunny.")


async def _stepwise(call):
    return await TOOLS["progress"][0](call)


@tagged("post_install", "-at_install")
class TestStreams(GatewayCase):
    """Calls whose client takes a stream."""

    def _streamed(self, params=TAIPEI, token=None, headers=()):
        """:return: the kind of the answer and its messages"""
        meta = {"_meta": {"progressToken": token}} if token is not None else {}
        message = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {**params, **meta}}
        answer = self.opener.post(
            f"{self.base_url()}/mcp",
            json=message,
            headers={
                "Authorization": f"Bearer {self.key}",
                "Accept": "application/json, text/event-stream",
                **dict(headers),
            },
            timeout=60,
        )
        self.assertEqual(answer.status_code, 200)
        kind = answer.headers["Content-Type"].partition(";")[0]
        if kind == "application/json":
            return kind, [answer.json()]
        datas = [
            part[len("data: ") :] for part in answer.text.split("\n") if part.startswith("data")
        ]
        self.assertEqual(answer.headers["X-Accel-Buffering"], "no")
        return kind, [json.loads(data) for data in datas]

    def test_progress_comes_before_the_result(self):
        fake = self._served()
        fake.stream = True
        fake.tools["forecast"] = (_stepwise, json.loads(SCHEMA))
        kind, said = self._streamed(token="t")
        self.assertEqual(kind, "text/event-stream")
        *told, result = said
        self.assertEqual({one["params"]["progressToken"] for one in told}, {"t"})
        reached = [one["params"]["progress"] for one in told]
        self.assertEqual(reached, sorted({*reached}))
        self.assertEqual((result["id"], result["result"]["isError"]), (7, False))
        kind, said = self._streamed()
        self.assertEqual((kind, len(said)), ("application/json", 1), "nobody asked for progress")
        self.assertEqual(self._rows().mapped("outcome"), ["ok", "ok"])

    def test_log_messages_come_from_the_level_on_that_the_client_has_set(self):
        fake = self._served()
        fake.stream = True
        fake.tools["forecast"] = (_logs, json.loads(SCHEMA))
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x"}}
        message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
        headers = {"Authorization": f"Bearer {self.key}"}
        begun = self.opener.post(f"{self.base_url()}/mcp", json=message, headers=headers)
        self.assertEqual(begun.json()["result"]["capabilities"]["logging"], {})
        session = {"Mcp-Session-Id": begun.headers["Mcp-Session-Id"]}
        self.assertEqual(self._streamed(headers=session)[0], "application/json")
        for level, known in (("error", ["error"]), ("debug", ["debug", "error"])):
            status, said = self._rpc(self.key, "logging/setLevel", {"level": level}, **session)
            self.assertEqual((status, said["result"]), (200, {}))
            kind, (*told, result) = self._streamed(headers=session)
            self.assertEqual((kind, result["result"]["isError"]), ("text/event-stream", False))
            self.assertEqual([one["params"]["level"] for one in told], known)
            self.assertEqual({one["params"]["logger"] for one in told}, {"weather/store"})
        self.assertEqual(self._streamed()[0], "application/json", "another session has no level")
        self.patch(client_session, "MAX_OF_PERSON", 1)
        another = self.opener.post(f"{self.base_url()}/mcp", json=message, headers=headers)
        other = {"Mcp-Session-Id": another.headers["Mcp-Session-Id"]}
        self._rpc(self.key, "logging/setLevel", {"level": "info"}, **other)
        kept = self.env["woow_paas_platform.client_session"].sudo().search([])
        self.assertEqual(kept.mapped("log_level"), ["info"])

    def test_a_long_call_becomes_a_stream(self):
        fake = self._served()
        self.assertEqual(self._streamed()[0], "application/json")

        async def slow(call):
            await asyncio.sleep(0.5)
            return text("Sunny.")

        fake.tools["forecast"] = (slow, json.loads(SCHEMA))
        with patch.multiple(client_stream, LOOK=0.05, SOON=2):
            kind, (said,) = self._streamed()
        self.assertEqual(
            (kind, said["result"]["content"][0]["text"]), ("text/event-stream", "Sunny.")
        )
        self.assertEqual(self._rows().mapped("outcome"), ["ok", "ok"])

    def test_what_fails_is_a_result_there_too(self):
        self.server.url = "http://127.0.0.1:9/mcp"
        self.env.flush_all()
        kind, (said,) = self._streamed(token=1)
        self.assertEqual(
            (kind, said["result"]["_meta"]["code"]), ("application/json", "connect_failed")
        )
        with patch.object(slots, "per_person", lambda: 0):
            _kind, (said,) = self._streamed(token=1)
        self.assertEqual(said["result"]["_meta"]["code"], "too_many_waits")
        self.assertEqual(self._rows().mapped("outcome"), ["error", "denied"])


TAKES = {"extensions": {tasks.EXTENSION: {}}}
FORM = {"type": "object", "properties": {"seats": {"type": "integer"}}, "required": ["seats"]}
SHOWS = {"elicitation": {"form": {}}}


def _question(message):
    params = {"mode": "form", "message": message, "requestedSchema": FORM}
    return {"method": "elicitation/create", "params": params}


async def _books(call):
    """Ask two things, at once."""
    if answers := call.params.get("inputResponses"):
        seats = [answers[key].get("content") for key in ("a", "b")]
        return text(f"{call.params.get('requestState')} {seats}")
    asked = {key: _question(f"Seats {key}?") for key in ("a", "b")}
    return {"resultType": "input_required", "inputRequests": asked, "requestState": "kept"}


class AskingCase(GatewayCase):
    """The tool asks its user in the way of 2026-07-28."""

    def setUp(self):
        super().setUp()
        self.fake = self._served()
        self.fake.eras = ("modern",)
        self.fake.tools["forecast"] = (_books, json.loads(SCHEMA))

    def _made(self, capabilities=SHOWS, **more):
        return self._modern("tools/call", {**TAIPEI, **more}, capabilities)[1]

    def _responses(self, **seats):
        accepted = {"action": "accept"}
        return {key: {**accepted, "content": {"seats": value}} for key, value in seats.items()}


@tagged("post_install", "-at_install")
class TestQuestionsOfServers(AskingCase):
    """Questions that a server asks during a call of a client."""

    def test_a_question_is_passed_on_and_its_answer_back(self):
        asked = self._made()["result"]
        self.assertEqual(asked["resultType"], "input_required")
        self.assertEqual(
            asked["inputRequests"]["a"]["params"],
            {"mode": "form", "message": "weather: Seats a?", "requestedSchema": FORM},
        )
        state = asked["requestState"]
        self.assertNotIn("kept", state)
        row = self._rows()
        self.assertFalse(row.outcome)
        again = self._made(requestState=state, inputResponses=self._responses(a=1))["result"]
        self.assertEqual(
            (again["resultType"], list(again["inputRequests"])), ("input_required", ["b"])
        )
        answers = self._responses(a=9, b=2)
        made = self._made(requestState=state, inputResponses=answers)["result"]
        self.assertEqual(
            made["content"][0]["text"], "kept [{'seats': 1}, {'seats': 2}]", "the first counts"
        )
        self.assertEqual((self._rows(), self._rows().outcome), (row, "ok"))
        late = self._made(requestState=state, inputResponses=answers)
        self.assertEqual(late["error"]["code"], jsonrpc.INVALID_PARAMS)

    def test_a_state_is_of_its_user_client_and_call(self):
        state = self._made()["result"]["requestState"]
        answers = {"inputResponses": self._responses(a=1, b=2)}
        for wrong in (
            {"requestState": f"{state}0"},
            {"requestState": state.partition(".")[0]},
            {"requestState": state, "arguments": {"city": "Rome"}},
        ):
            said = self._made(**answers, **wrong)
            self.assertEqual(said["error"]["code"], jsonrpc.INVALID_PARAMS)
        key, self.key = self.key, self._client_key(self.guest)
        said = self._made(**answers, requestState=state)
        self.assertEqual(said["error"]["code"], jsonrpc.INVALID_PARAMS)
        self.key = key
        self.assertFalse(self._made(**answers, requestState=state)["result"]["isError"])

    def test_rules_count_for_a_call_that_goes_on(self):
        state = self._made()["result"]["requestState"]
        self.env["woow_paas_platform.approval_rule"].create(
            {"tool_id": self.forecast.id, "policy": "never", "condition": "city == 'Taipei'"}
        )
        self.env.flush_all()
        said = self._made(requestState=state, inputResponses=self._responses(a=1, b=2))["result"]
        self.assertEqual(said["_meta"]["code"], "denied")
        self.assertEqual((len(self.fake.calls), self._rows().outcome), (1, "denied"))

    def test_answers_are_for_the_tool_that_has_asked(self):
        for policy in ("auto", "ask"):
            self.forecast.approval_policy = policy
            self.env.flush_all()
            made = len(self.fake.calls)
            if policy == "ask":
                self._made()
                self._sign_in(self.member)
                path = f"/api/mcp/calls/{self._rows()[-1].call_id}/decision"
                self.assertEqual(self._call("POST", path, {"decision": "approve_once"})[0], 204)
                self.logout()
            state = self._made()["result"]["requestState"]
            self.assertEqual(len(self.fake.calls), made + 1)
            url, self.server.url = self.server.url, f"{self.server.url}?changed"
            self.env.flush_all()
            answers = self._responses(a=1, b=2)
            said = self._made(requestState=state, inputResponses=answers)["result"]
            self.assertEqual(said["_meta"]["code"], "denied", policy)
            self.assertEqual((len(self.fake.calls), self._rows()[-1].outcome), (made + 1, "denied"))
            self.server.url = url

    def test_who_cannot_show_it_is_told(self):
        for capabilities in ({}, {"elicitation": {"url": {}}}):
            said = self._made(capabilities)["result"]
            self.assertNotEqual(said["resultType"], "input_required")
        self.assertEqual(said["_meta"]["code"], "input_required")
        self.assertFalse(self._rows().filtered(lambda row: not row.outcome))

    def test_nobody_answers(self):
        self._made()
        row = self._rows()
        past = fields.Datetime.now() - timedelta(hours=2)
        self.env.cr.execute(
            "UPDATE woow_paas_platform_tool_call SET write_date = %s WHERE id = %s", [past, row.id]
        )
        self.env.invalidate_all()
        self._close_lost()
        self.assertEqual((self._rows().outcome, row.sudo().ask_state), ("cancelled", False))


@tagged("post_install", "-at_install")
class TestTasks(AskingCase):
    """Calls whose clients come back for the result; tests run by themselves what a process does in the background."""

    def setUp(self):
        super().setUp()
        self.enterContext(patch.object(client_stream, "TASK_AFTER", 0.0))
        self.begun = []
        self.enterContext(
            patch.object(
                client_tasks, "begin", lambda _env, direct, _task: self.begun.append(direct)
            )
        )

    def _task(self, method="tasks/get", task_id=None, key=None, **more):
        task_id = task_id or self._rows()[-1:].call_id
        params = {"taskId": task_id, **more}
        key, self.key = self.key, key or self.key
        status, said = self._modern(method, params, TAKES, **{"Mcp-Name": task_id})
        self.key = key
        self.assertEqual(status, 200, said)
        return said.get("result") or said["error"]["code"]

    def _end(self, executed):
        """A call of a task has come to its end."""
        self._rows()[-1:].sudo()._end_task(executed)
        self.env.flush_all()

    def _decided(self, decision, **more):
        self._rows()[-1].with_user(self.member)._decide_for_client(decision, **more)
        self.env.flush_all()

    def _executed(self, raw=None, error=None, outcome="ok"):
        result = CallResult(outcome=outcome, text="Sunny.", display="Sunny.")
        return Executed(result=result, raw=raw, error=error)

    def test_a_call_that_lasts_is_a_task(self):
        made = self._made(TAKES)["result"]
        row = self._rows()
        self.assertEqual((made["resultType"], made["taskId"]), ("task", row.call_id))
        self.assertEqual(made["status"], "working")
        self.assertEqual(self._task()["status"], "working")
        link = {"type": "resource_link", "uri": "note://one", "name": "one"}
        self._end(self._executed({"content": [link], "structuredContent": {"a": 1}}))
        found = self._task()
        self.assertEqual((found["status"], found["resultType"]), ("completed", "complete"))
        self.assertEqual(found["result"]["content"][0]["uri"], "odoo://weather/note://one")
        self.assertEqual(found["result"]["structuredContent"], {"a": 1})
        self.assertEqual(self._rows().outcome, "ok")

    def test_who_takes_no_task_gets_none(self):
        for capabilities in ({}, {"extensions": {}}, {"extensions": {"x": {}}}):
            self.assertEqual(self._made(capabilities)["result"]["resultType"], "complete")
        self.assertFalse(self._rows().sudo().filtered("task"))

    def test_what_no_tool_has_answered_is_failed(self):
        self._made(TAKES)
        error = ServerRefused("It has crashed.", rpc_code=-32603)
        self._end(self._executed(error=error, outcome="error"))
        found = self._task()
        self.assertEqual((found["status"], found["error"]["code"]), ("failed", -32603))
        self.assertNotIn("result", found)

    def test_a_task_whose_process_died_is_failed(self):
        self._made(TAKES)
        self.env.cr.execute(
            "UPDATE woow_paas_platform_tool_call SET write_date = %s WHERE id = %s",
            [fields.Datetime.now() - timedelta(minutes=20), self._rows().id],
        )
        self.env.invalidate_all()
        self._close_lost()
        found = self._task()
        self.assertEqual((found["status"], found["error"]["data"]), ("failed", {"code": "unknown"}))

    def test_a_task_without_a_sign_of_life_is_failed_soon(self):
        self._made(TAKES)
        row = self._rows().sudo()
        changed = self._task()["lastUpdatedAt"]
        for minutes, status in ((2, "working"), (4, "failed")):
            self.assertTrue(row._keep_alive())
            self.assertEqual(self._task()["lastUpdatedAt"], changed)
            self.env.cr.execute(
                """
                UPDATE woow_paas_platform_tool_call
                   SET write_date = write_date - interval '20 minutes',
                       task = jsonb_set(task, '{alive}', to_jsonb(extract(epoch FROM now()) - %s))
                 WHERE id = %s RETURNING write_date
                """,
                [minutes * 60, row.id],
            )
            self.env.invalidate_all()
            self._close_lost()
            found = self._task()
            self.assertEqual(found["status"], status)
            changed = found["lastUpdatedAt"]
        self.assertEqual(found["error"]["data"], {"code": "unknown"})
        self.assertFalse(row._keep_alive())

    def test_a_task_is_cancelled_once(self):
        self._made(TAKES)
        for _ in range(2):
            self.assertEqual(self._task("tasks/cancel").keys(), {"resultType", "_meta"})
        self.assertEqual((self._task()["status"], self._rows().outcome), ("cancelled", "cancelled"))
        self._end(self._executed({"content": []}))
        self.assertEqual(self._task()["status"], "cancelled")

    def test_nobody_else_sees_a_task(self):
        self._made(TAKES)
        theirs = self._client_key(self.guest)
        for method in ("tasks/get", "tasks/cancel", "tasks/update"):
            more = {"inputResponses": {}} if method == "tasks/update" else {}
            self.assertEqual(self._task(method, key=theirs, **more), jsonrpc.INVALID_PARAMS)
        row = self._rows().sudo()
        row.client_name = "Another Client"
        self.env.flush_all()
        self.assertEqual(self._task(), jsonrpc.INVALID_PARAMS)
        row.write({"client_name": False, "task": False})
        self.env.flush_all()
        self.assertEqual(self._task(), jsonrpc.INVALID_PARAMS, "no task")

    def test_a_task_expires(self):
        self._made(TAKES)
        self._end(self._executed({"content": []}))
        self.env.cr.execute(
            "UPDATE woow_paas_platform_tool_call SET create_date = %s WHERE id = %s",
            [fields.Datetime.now() - timedelta(hours=3), self._rows().id],
        )
        self.env.invalidate_all()
        self.assertEqual(self._task(), jsonrpc.INVALID_PARAMS)
        self._close_lost()
        self.assertFalse(self._rows().sudo().task)

    def test_nobody_has_endless_tasks(self):
        with patch.object(tool_call, "MAX_TASKS", 1):
            kinds = [self._made(TAKES)["result"]["resultType"] for _ in range(2)]
        self.assertEqual(kinds, ["task", "complete"])

    def test_a_task_asks(self):
        self._made({**TAKES, **SHOWS})
        row = self._rows().sudo()
        asked = {key: ElicitRequest(message=key, schema=FORM) for key in ("a", "b")}
        row._ask_client(
            ElicitationRequired(questions=asked, more={"requestState": "kept"}), ["form"]
        )
        self.env.flush_all()
        found = self._task()
        self.assertEqual(
            (found["status"], [*found["inputRequests"]]), ("input_required", ["a", "b"])
        )
        self.assertNotIn("requestState", found)
        for responses, left in (
            ({"x": {"action": "accept"}}, ["a", "b"]),
            (self._responses(a="many"), ["a", "b"]),
            (self._responses(a=1), ["b"]),
        ):
            self._task("tasks/update", inputResponses=responses)
            self.assertEqual([*self._task()["inputRequests"]], left)
        self.assertNotIn("seats", str(row.ask_state.get("answers")), "answers may be secrets")
        self._task("tasks/update", inputResponses=self._responses(b=2))
        self.assertEqual(self._task()["status"], "working")
        (direct,) = self.begun
        self.assertEqual((direct.call.id, direct.resume["requestState"]), (row.call_id, "kept"))
        self.assertEqual(direct.resume["inputResponses"]["b"]["content"], {"seats": 2})

    def test_the_end_of_a_run_is_kept_once(self):
        """The answer to its COMMIT was lost; meanwhile its questions were answered, and the call goes on."""
        self._made(TAKES)
        row = self._rows().sudo()
        asked = {"a": ElicitRequest(message="Seats?", schema=FORM, url=None)}
        wanted = ElicitationRequired(questions=asked, more={"requestState": "kept"})
        for run, rounds, is_open in (
            ("first", 1, True),
            ("first", 1, True),
            ("answers", 1, False),
            ("first", 1, False),
            ("second", 2, True),
        ):
            if run == "answers":
                self._task("tasks/update", inputResponses=self._responses(a=1))
            else:
                self.assertTrue(row._ask_client(wanted, ("form",), run))
            self.env.flush_all()
            self.assertEqual((row.ask_round, bool(row.ask_state)), (rounds, is_open), run)

    def _held_and_answered(self):
        """:return: the row of a call whose server waits with question q2, which was answered"""
        self._made(TAKES)
        row = self._rows().sudo()
        row._hold_for_client("q2")
        accepted = {"action": "accept", "content": {"seats": 2}}
        taken = [row._take_for_client(key, accepted) for key in ("q1", "q2")]
        self.assertEqual(taken, [False, True])
        return row

    def test_an_answer_is_for_the_question_that_is_held(self):
        row = self._held_and_answered()
        question = ElicitRequest(message="?", schema=FORM, url=None)
        # twice, as the answer of the database may be lost
        found = [row._answer_held(key, question) for key in ("q1", "q2", "q2")]
        self.assertEqual([one and one.content for one in found], [None, *[{"seats": 2}] * 2])
        for key, is_kept in (("q1", True), ("q2", False)):
            row._forget_held(key)
            self.assertEqual(bool(row.ask_state), is_kept)

    def test_an_answer_goes_with_its_lost_call(self):
        row = self._held_and_answered()
        self.env.flush_all()
        self.env.cr.execute(
            "UPDATE woow_paas_platform_tool_call SET write_date = '2026-01-01' WHERE id = %s",
            [row.id],
        )
        self._close_lost()
        self.assertEqual((row.outcome, row.ask_state), ("unknown", False))

    def test_a_call_that_asks_waits_as_a_task(self):
        self.forecast.approval_policy = "ask"
        self.env.flush_all()
        made = self._made(TAKES)["result"]
        self.assertEqual((made["resultType"], made["status"]), ("task", "input_required"))
        self.assertIn("/my/ai/decisions", made["statusMessage"])
        self._task("tasks/update", inputResponses={"approval": {"action": "accept"}})
        found = self._task()
        self.assertEqual((found["status"], found["inputRequests"]), ("input_required", {}))
        self.assertEqual((self.begun, self._rows().approval), ([], "pending"), "no client decides")
        self._decided("approve_once")
        self.env.flush_all()
        for _ in range(2):
            self.assertEqual(self._task()["status"], "working")
        self.assertEqual(len(self.begun), 1, "it is begun once")
        self.assertEqual(len(self._rows()), 1)

    def test_no_client_answers_what_it_was_not_asked(self):
        """The name of a task is no question, nor is there one about more arguments than it has room for."""
        self.forecast.approval_policy = "ask"
        self.env.flush_all()
        for capabilities, city in ((TAKES, "Rome"), ({**TAKES, **SHOWS}, "x" * 2_000)):
            call = {"arguments": {"city": city}}
            made = self._made(capabilities, **call)["result"]
            accepted = {"approval": {"action": "accept"}}
            said = self._made(
                {**TAKES, **SHOWS}, **call, requestState=made["taskId"], inputResponses=accepted
            )
            self.assertEqual(said["result"]["status"], "input_required")
            self.assertEqual(self._rows()[-1].approval, "pending")
        self.assertEqual((self.begun, self.fake.calls), ([], []))

    def test_the_decision_begins_the_call(self):
        self.forecast.approval_policy = "ask"
        own, other = self.member.company_ids, self.env["res.company"].create({"name": "Elsewhere"})
        self.env.flush_all()
        for city, companies, begun in (
            ("Rome", [], 1),
            ("Bonn", own.ids, 2),
            ("Oslo", other.ids, 2),
        ):
            self._made(TAKES, arguments={"city": city})
            row = self._rows()[-1].sudo()
            row.task = {**row.task, "companies": companies}
            self.env.flush_all()
            self._sign_in(self.member)
            path = f"/api/mcp/calls/{row.call_id}/decision"
            self.assertEqual(self._call("POST", path, {"decision": "approve_once"})[0], 204)
            self.logout()
            self.assertEqual(len(self.begun), begun, city)
        self.assertFalse(row.started_at)

    def test_the_decision_begins_a_call_of_a_service(self):
        """A member of its workspace may call the tool, and read neither it nor its server."""
        self.run_flow.approval_policy = "ask"
        self.env.flush_all()
        called = {"name": "flows__run_flow", "arguments": {}}
        made = self._modern("tools/call", called, TAKES, **{"Mcp-Name": called["name"]})[1]
        self.assertEqual(made["result"]["status"], "input_required")
        self._sign_in(self.member)
        path = f"/api/mcp/calls/{self._rows().call_id}/decision"
        self.assertEqual(self._call("POST", path, {"decision": "approve_once"})[0], 204)
        self.logout()
        self.assertEqual(len(self.begun), 1)
        self.assertEqual(self._task()["status"], "working")

    def test_a_stream_tells_of_a_decision_that_waits(self):
        """It has outlived its request."""
        self.forecast.approval_policy = "ask"
        self.env.flush_all()
        self._made(TAKES)
        task = self._rows().sudo()._as_task()
        self.assertEqual(task.status, "input_required")
        self.assertIn(f"{self.base_url()}/my/ai/decisions", task.message)

    def test_subscribers_hear_of_what_the_cron_ends(self):
        self._made(TAKES)
        self.env.cr.execute(
            "UPDATE woow_paas_platform_tool_call SET write_date = '2026-01-01' WHERE id = %s",
            [self._rows().id],
        )
        self.env.invalidate_all()
        self._close_lost()
        row = self._rows()
        self.assertEqual(row.outcome, "unknown")
        self.assertGreater(row.write_date.isoformat(), "2026-01-02")

    def test_what_is_not_allowed_is_not_made(self):
        self.forecast.approval_policy = "ask"
        self.env.flush_all()
        self._made(TAKES)
        self._decided("deny", reason="Not today.")
        self.env.flush_all()
        found = self._task()
        self.assertEqual((found["status"], found["result"]["isError"]), ("completed", True))
        self.assertEqual(found["result"]["_meta"]["code"], "denied")
        self._made(TAKES, arguments={"city": "Rome"})
        self._decided("approve_once")
        self.forecast.definition_hash = "another"
        self.env.flush_all()
        self.assertEqual(self._task()["result"]["_meta"]["code"], "denied")
        self.assertEqual(self.begun, [])

    def test_an_approved_task_that_is_over_is_not_begun_by_the_same_call(self):
        """Its tool was switched off when it was allowed, or its client has cancelled it."""
        self.forecast.approval_policy = "ask"
        self.env.flush_all()
        for number, city in enumerate(("Rome", "Bonn"), 1):
            self._made(TAKES, arguments={"city": city})
            self._decided("approve_once")
            if city == "Rome":
                self.forecast.active = False
                self.env.flush_all()
                self.assertEqual(self._task()["result"]["_meta"]["code"], "denied")
                self.forecast.active = True
            else:
                self._task("tasks/cancel")
            self.env.flush_all()
            over = self._rows()[-1]
            made = self._made(TAKES, arguments={"city": city})["result"]
            self.assertEqual(made["status"], "input_required", city)
            self.assertEqual((self.begun, over.started_at), ([], False))
            self.assertEqual(len(self._rows()), 2 * number)

    def test_a_cancelled_task_asks_nobody(self):
        self.forecast.approval_policy = "ask"
        self.env.flush_all()
        self._made(TAKES)
        self._task("tasks/cancel")
        self.env.invalidate_all()
        waiting = self.env["woow_paas_platform.tool_call"].with_user(self.member)
        self.assertFalse(waiting._waiting_for_client())


@tagged("post_install", "-at_install")
class TestPromptsAndResources(GatewayCase):
    """Prompts and resources of servers: the server of an assistant and the one of a cloud service have the same."""

    def setUp(self):
        super().setUp()
        self.fake = self._served()

    def _listed(self, method="prompts/list", user=None):
        """:return: names or addresses, and codes of the servers that failed"""
        key = self._client_key(user) if user else self.key
        status, said = self._rpc(key, method)
        self.assertEqual(status, 200, said)
        result = said["result"]
        shown = next(value for value in result.values() if isinstance(value, list))
        found = [one.get("uri") or one.get("uriTemplate") or one["name"] for one in shown]
        problems = result.get("_meta", {}).get("problems", [])
        return found, [(one["server"], one["code"]) for one in problems]

    def _error(self, method, params, key=None):
        status, said = self._rpc(key or self.key, method, params)
        self.assertEqual(status, 200)
        return said["error"]["code"], said["error"]["data"]

    def test_a_client_lists_and_reads(self):
        self.assertEqual(
            self._listed()[0],
            ["flows__greet", "flows__picture", "weather__greet", "weather__picture"],
        )
        found = self._listed("resources/list")[0]
        self.assertEqual(found, sorted(found))
        self.assertIn("odoo://weather/note://one", found)
        self.assertTrue(self._listed("resources/templates/list")[0])
        params = {"name": "weather__greet", "arguments": {"who": "台北"}}
        filled = self._rpc(self.key, "prompts/get", params)[1]["result"]
        self.assertEqual(
            filled["messages"],
            [{"role": "user", "content": {"type": "text", "text": "Greet 台北."}}],
        )
        uri = "odoo://weather/note://one"
        (part,) = self._rpc(self.key, "resources/read", {"uri": uri})[1]["result"]["contents"]
        self.assertEqual(part["uri"], uri)
        self.assertTrue(part["text"])
        headers = {"Mcp-Name": uri}
        read = self._modern("resources/read", {"uri": uri}, **headers)[1]["result"]
        self.assertEqual((read["ttlMs"], read["contents"]), (0, [part]))
        self.assertFalse(self._rows(), "what has no effect is no call")

    def test_a_client_completes_arguments(self):
        asked = {
            "ref": {"type": "ref/prompt", "name": "weather__greet"},
            "argument": {"name": "tone", "value": ""},
        }
        found = self._rpc(self.key, "completion/complete", asked)[1]["result"]["completion"]
        self.assertIsInstance(found["values"], list)
        for wrong in (
            {},
            {"ref": {}, "argument": {}},
            {**asked, "ref": {"type": "ref/tool", "name": "x"}},
            {**asked, "argument": {"name": "tone"}},
            {**asked, "context": []},
            {**asked, "ref": {"type": "ref/prompt", "name": "nope"}},
            {**asked, "ref": {"type": "ref/resource", "uri": "note://one"}},
        ):
            status, said = self._rpc(self.key, "completion/complete", wrong)
            self.assertEqual((status, said["error"]["code"]), (200, jsonrpc.INVALID_PARAMS))

    def test_everybody_has_those_of_their_own_chats(self):
        for user, has_flows in ((self.guest, True), (self.stranger, False), (self.internal, False)):
            with self.subTest(user=user.login):
                names = self._listed(user=user)[0]
                self.assertIn("weather__greet", names)
                self.assertEqual("flows__greet" in names, has_flows)
                addresses = self._listed("resources/list", user)[0]
                self.assertEqual("odoo://flows/note://one" in addresses, has_flows)
        key = self._client_key(self.stranger)
        uri = "odoo://flows/note://one"
        code, data = self._error("resources/read", {"uri": uri}, key)
        self.assertEqual((code, data), (-32002, {"code": "not_found", "uri": uri}))
        code, _data = self._error("prompts/get", {"name": "flows__greet"}, key)
        self.assertEqual(code, jsonrpc.INVALID_PARAMS)

    def test_switches_and_rules_count_at_once(self):
        rule = {"server_id": self.user_server.id, "policy": "never"}
        for change, left in (
            (lambda: self.user_server.write({"active": False}), ["weather__greet"]),
            (
                lambda: self.assistant.write({"group_ids": self.env.ref("base.group_system")}),
                ["flows__greet"],
            ),
            (
                lambda: self.env["woow_paas_platform.person_rule"].create(
                    {**rule, "user_ids": [self.member.id]}
                ),
                ["weather__greet"],
            ),
            (
                lambda: self.env["ir.config_parameter"].set_param(
                    mcp_switch.PARAMETER, mcp_switch.OFF
                ),
                [],
            ),
        ):
            with self.subTest(), self.env.cr.savepoint() as savepoint:
                change()
                self.env.flush_all()
                names = [name for name in self._listed()[0] if name.endswith("greet")]
                self.assertEqual(names, left)
                gone = "flows__greet" if "flows__greet" not in left else "weather__greet"
                params = {"name": gone, "arguments": {"who": "x"}}
                self.assertEqual(self._error("prompts/get", params)[0], jsonrpc.INVALID_PARAMS)
                savepoint.close(rollback=True)

    def test_a_server_that_fails_costs_its_own_part(self):
        self.user_server.url = "http://127.0.0.1:9/mcp"
        self.env.flush_all()
        names, problems = self._listed()
        self.assertEqual(names, ["weather__greet", "weather__picture"])
        self.assertIn(("flows", "connect_failed"), problems)
        uri = "odoo://flows/note://one"
        code, data = self._error("resources/read", {"uri": uri})
        self.assertEqual((code, data["code"]), (jsonrpc.INTERNAL_ERROR, "connect_failed"))

    def test_what_a_server_does_not_know_is_told_as_such(self):
        for method, params, code in (
            ("prompts/get", {"name": "weather__nope"}, jsonrpc.INVALID_PARAMS),
            ("prompts/get", {"name": "weather__greet", "arguments": {}}, jsonrpc.INVALID_PARAMS),
            (
                "prompts/get",
                {"name": "weather__greet", "arguments": {"who": 5}},
                jsonrpc.INVALID_PARAMS,
            ),
            ("prompts/get", {"name": 5}, jsonrpc.INVALID_PARAMS),
            ("resources/read", {}, jsonrpc.INVALID_PARAMS),
            ("resources/read", {"uri": "note://one"}, -32002),
            ("resources/read", {"uri": "odoo://weather/note://nope"}, -32002),
            ("resources/read", {"uri": "odoo://weather/" + "x" * 5_000}, -32002),
        ):
            with self.subTest(params=str(params)[:60]):
                status, said = self._rpc(self.key, method, params)
                self.assertEqual((status, said["error"]["code"]), (200, code), said)

    def test_a_person_with_too_many_requests_is_told_so(self):
        with patch.object(slots, "per_person", lambda: 0):
            code, data = self._error("prompts/list", {})
        self.assertEqual((code, data["code"]), (jsonrpc.INTERNAL_ERROR, "too_many_waits"))


READING = [
    "aggregate_records",
    "describe_model",
    "find_models",
    "read_chatter",
    "read_records",
    "search_records",
]


@tagged("post_install", "-at_install")
class TestRecordsOfClients(GatewayCase):
    """Odoo's records, which clients may read where an assistant says so."""

    def setUp(self):
        super().setUp()
        self.key = self._client_key(self.internal)
        self.ada = self.env["res.partner"].create({"name": "Ada Gateway", "email": "ada@b.test"})
        self.assistant.write(
            {
                "is_open_to_clients": True,
                "record_access_ids": [
                    fields.Command.create(
                        {"model": "res.partner", "hidden_fields": "email", "can_update": True}
                    )
                ],
            }
        )
        self.env.flush_all()

    def _of_records(self, key=None):
        return [name for name in self._names(key) if "__" not in name]

    def _found(self, name="Ada Gateway", key=None, **more):
        filters = [{"field": "name", "value": name}]
        arguments = {"model": "res.partner", "filters": filters, **more}
        return self._result({"name": "search_records", "arguments": arguments}, key)

    def test_a_client_reads_with_the_rights_of_its_user(self):
        self.assertEqual(self._of_records(), READING)
        found = self._found()
        self.assertFalse(found["isError"], found)
        self.assertIn("Ada Gateway", found["content"][0]["text"])
        row = self.env["woow_paas_platform.tool_call"].search(
            [("user_id", "=", self.internal.id), ("turn_id", "=", False)]
        )
        self.assertEqual((row.outcome, row.records, row.server_name), ("ok", "read", "Odoo"))
        self.assertEqual(self._of_records(self._client_key(self.guest)), READING)
        self.assertNotIn("Ada", str(self._found(key=self._client_key(self.guest))))

    def test_what_the_assistant_hides_is_hidden(self):
        read = {"model": "res.partner", "ids": self.ada.ids}
        for given in (read, {**read, "fields": ["name", "email"]}):
            result = self._result({"name": "read_records", "arguments": given})
            self.assertNotIn("ada@b.test", str(result))
        hidden = [{"field": "email", "value": "ada@b.test"}]
        asked = {"model": "res.partner", "filters": hidden}
        result = self._result({"name": "search_records", "arguments": asked})
        self.assertTrue(result["isError"])
        self.assertNotIn("Ada", str(result))

    def test_reads_of_a_batch_share_the_time_of_one(self):
        call = {"name": "find_models", "arguments": {"query": "contact"}}
        batch = [
            {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": call}
            for number in range(3)
        ]
        headers = {"Authorization": f"Bearer {self.key}"}
        with patch.object(execute, "RECORDS_TIMEOUT", 0.0):
            status, said = self._call("POST", "/mcp", batch, headers)
        self.assertEqual(status, 200, said)
        codes = [one["result"].get("_meta", {}).get("code") for one in said]
        self.assertEqual(codes, [None, "timeout", "timeout"])
        status, said = self._call("POST", "/mcp", batch, headers)
        self.assertFalse(any(one["result"]["isError"] for one in said))

    def test_nothing_is_read_unless_an_assistant_is_open(self):
        for change in (
            {"is_open_to_clients": False},
            {"is_open_to_clients": True, "group_ids": self.env.ref("base.group_system").ids},
            {"group_ids": False, "active": False},
        ):
            self.assistant.write(change)
            self.env.flush_all()
            self.assertEqual(self._of_records(), [])
            _status, said = self._rpc(self.key, "tools/call", {"name": "search_records"})
            self.assertEqual(said["error"]["code"], jsonrpc.INVALID_PARAMS)

    def test_a_client_only_reads(self):
        for name in ("update_records", "create_record", "run_action", "open_view"):
            change = {"model": "res.partner", "ids": self.ada.ids, "values": {"name": "Eve"}}
            _status, said = self._rpc(self.key, "tools/call", {"name": name, "arguments": change})
            self.assertEqual(said["error"]["code"], jsonrpc.INVALID_PARAMS)
        self.env.invalidate_all()
        self.assertEqual(self.ada.name, "Ada Gateway")

    def test_what_cannot_be_read_is_told_in_a_sentence(self):
        for arguments, code in (
            ({}, "invalid_arguments"),
            ({"model": "res.users"}, "record_error"),
            ({"model": "res.partner", "filters": [{"field": "nope"}]}, "record_error"),
        ):
            result = self._result({"name": "search_records", "arguments": arguments})
            self.assertEqual((result["isError"], result["_meta"]["code"]), (True, code), result)
            self.assertGreater(len(result["content"][0]["text"]), 10)

    def test_the_stricter_of_two_assistants_hides(self):
        other = self.assistant.copy({"name": "Other"})
        other.record_access_ids.hidden_fields = "phone"
        self.ada.phone = "+886 2 1234"
        self.env.flush_all()
        given = {"model": "res.partner", "ids": self.ada.ids, "fields": ["name", "phone"]}
        result = self._result({"name": "read_records", "arguments": given})
        self.assertNotIn("1234", str(result))


@tagged("post_install", "-at_install")
class TestOrderOfAQuestion(BaseCase):
    def test_a_question_is_told_once_its_row_takes_the_answer(self):
        steps = []

        class Runner:
            async def db(self, *_arguments):
                steps.append("row")
                return len(steps) > 2 and "answer"

        with patch.object(client_tasks, "ANSWER_LOOK", 0):
            found = asyncio.run(
                client_tasks.answer_of(
                    Runner(), "db", "call", "call.q1", ElicitRequest, lambda: steps.append("told")
                )
            )
        self.assertEqual((found, steps), ("answer", ["row", "told", "row", "row"]))


@tagged("post_install", "-at_install")
class TestEndOfAStreamedCall(BaseCase):
    """The request's own part of a call, without Odoo."""

    def setUp(self):
        super().setUp()
        self.call = StreamedCall.__new__(StreamedCall)
        self.call._dbname, self.call._future = "db", concurrent.futures.Future()
        self.call._direct = SimpleNamespace(call=SimpleNamespace(id="call", server_name="s"))
        self.call._stream = SimpleNamespace(
            shows={"form"}, is_cancelled_by_close=True, name="call", resumes=True
        )
        self.call._asked, self.call._thinking, self.call._is_over = 0, 0.0, False
        self.call._events, self.call._one_question = queue.SimpleQueue(), asyncio.Lock()
        self.kept = []
        self.enterContext(patch.object(client_tasks, "end", self._keep))

    def _keep(self, _dbname, _call_id, executed, _run):
        self.kept.append(executed.result.outcome)

    def _leave(self, executed=None):
        """The client closes its line."""
        self.call._future, self.call._is_over = concurrent.futures.Future(), False
        if executed:
            self.call._future.set_result(executed)
        self.call._lose_client()

    def test_a_call_that_has_ended_is_not_cancelled(self):
        self._leave(Executed(result=CallResult(outcome="ok", text="Sunny.", display="Sunny.")))
        self.assertEqual(self.kept, ["ok"])

    def test_a_call_that_runs_or_asks_is_cancelled(self):
        self._leave()
        self.assertTrue(self.call._future.cancelled())
        wanted = ElicitationRequired(questions={}, more=None)
        self._leave(client_tasks.without_answer("error", "?", wanted))
        self.assertEqual(self.kept, ["cancelled", "cancelled"])

    def test_a_result_is_kept_once_the_database_is_back(self):
        begun = []
        gone = db.DatabaseGone("away")
        with (
            patch.object(client_tasks, "end", side_effect=gone) as end,
            patch.object(client_tasks.db, "transaction", side_effect=gone),
            patch.object(client_tasks.process, "in_background", begun.append),
        ):
            self.assertIsNone(client_tasks.make("db", "call", "", self.call._stream))
            self.assertIsNone(client_tasks.ask("db", "call", None, ()))
            self._leave()
        (later,), again = begun, []
        later(None, SimpleNamespace(db=lambda *arguments: again.append(arguments[-1])))
        self.assertEqual(again, [end.call_args.args[-1]], "questions are asked once")

    def test_questions_that_are_asked_at_once_are_answered_one_by_one(self):
        open_ones = []

        async def answer_of(_runner, _dbname, _call_id, key, _question, tell):
            open_ones.append(key)
            tell()
            await asyncio.sleep(0)
            self.assertEqual(open_ones, [key])
            open_ones.remove(key)
            return key

        async def ask_two():
            question = ElicitRequest(message="?", schema={}, url=None)
            return await asyncio.gather(*(self.call._elicit(question) for _ in range(2)))

        with (
            patch.object(client_tasks, "answer_of", answer_of),
            patch.object(client_tasks.process, "running", lambda: None),
        ):
            self.assertEqual(asyncio.run(ask_two()), ["call.q1", "call.q2"])
