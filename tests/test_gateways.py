"""Gateways, from outside: each shows a part of what its users may use, at list and at call, and no token is for two."""

import contextlib
import json
from datetime import timedelta
from unittest.mock import patch

from odoo import Command, fields
from odoo.exceptions import ValidationError
from odoo.tests import Form, new_test_user, tagged
from odoo.tools import mute_logger
from psycopg2.errors import UniqueViolation

from ..models.turn import ai_turn
from ..runtime.turns import streams
from ..runtime.turns.listener import FINAL, Event, frame
from ..runtime.web import completion
from ..services import events, jsonrpc
from ..services.const import PROMPT_CHARS
from ..services.gateway.asking import MAX_RUNNING
from .common import SCHEMA
from .test_gateway import PASSWORD, READING, TAIPEI
from .test_oauth_server import OauthCase

GATEWAY = "woow_paas_platform.gateway"
TOOLS = {"flows__run_flow", "weather__alerts", "weather__forecast"}


class GatewaysCase(OauthCase):
    def setUp(self):
        super().setUp()
        self.sales = self._gateway("sales", tool_ids=self.alerts.ids)

    def _gateway(self, code, **values):
        """A gateway for everybody, unless the values say otherwise."""
        values = {"name": code.title(), "code": code, "group_ids": False, **values}
        gateway = self.env[GATEWAY].create(values)
        self.env.flush_all()
        return gateway

    def _at(self, gateway, method, params=None, key=None):
        """:return: (status, JSON) of a request to this gateway"""
        return self._rpc(key or self.key, method, params, path=f"/mcp/{gateway.code}")

    def _shown(self, gateway, key=None):
        status, said = self._at(gateway, "tools/list", key=key)
        self.assertEqual(status, 200, said)
        return {tool["name"] for tool in said["result"]["tools"]}

    def _called(self, gateway, name, key=None):
        """True if the gateway knows the tool; the call was made then."""
        params = {"name": name, "arguments": {"city": "Taipei"}}
        status, said = self._at(gateway, "tools/call", params, key=key)
        self.assertEqual(status, 200, said)
        if "error" in said:
            self.assertEqual(said["error"]["code"], jsonrpc.INVALID_PARAMS)
            return False
        self.assertFalse(said["result"]["isError"], said)
        return True

    def _signed_in(self, gateway=None, company=None, user=None):
        """Tokens of a client for this gateway.

        :param company: that the person chooses on the page
        """
        self._sign_in(user or self.member)
        resource = f"{self.base_url()}/mcp" + (f"/{gateway.code}" if gateway else "")
        chosen = {"company": company.id} if company else {}
        code = self._decided(chosen=chosen, resource=resource)["code"]
        status, told = self._redeem(code, resource=resource)
        self.assertEqual(status, 200, told)
        return told["access_token"]


@tagged("post_install", "-at_install")
class TestGateways(GatewaysCase):
    # ------------------------------------------------------------ what it shows

    def test_it_shows_its_tools_and_no_other_is_called(self):
        fake = self._served()
        self.assertEqual(self._shown(self.sales), {"weather__alerts"})
        self.assertTrue(self._called(self.sales, "weather__alerts"))
        self.assertFalse(self._called(self.sales, "weather__forecast"))
        self.assertEqual(len(fake.calls), 1)
        row = self._rows()
        self.assertEqual((row.tool_id, row.gateway_id), (self.alerts, self.sales))
        self.assertEqual(set(self._names()), TOOLS, "the personal gateway shows all")

    def test_lists_and_calls_of_everybody_agree(self):
        """Group × gateway × server × tool: a gateway shows nothing that /mcp does not, and calls what it lists."""
        self._served()
        quiet = self.env(context={**self.env.context, "woow_no_sync": True})
        own = quiet["woow_paas_platform.mcp_server"].create(
            {
                "name": "mine",
                "url": self.server.url,
                "scope": "user",
                "owner_user_id": self.member.id,
            }
        )
        tool = self.forecast.create(
            {
                "name": "forecast",
                "server_id": own.id,
                "input_schema": SCHEMA,
                "approval_policy": "auto",
                "is_accepted": True,
            }
        )
        gateways = {
            self._gateway("all", server_ids=(self.server | self.user_server).ids): TOOLS,
            self._gateway("own", tool_ids=tool.ids, server_ids=own.ids): set(),  # a person's alone
            self._gateway("flows", server_ids=self.user_server.ids): {"flows__run_flow"},
            self.sales: {"weather__alerts"},
        }
        known = TOOLS | {"mine__forecast", "find_models"}
        self.alerts.approval_policy = "never"
        self.env.flush_all()
        for user in (self.member, self.stranger, self.internal):
            key = self._client_key(user)
            everything = set(self._names(key))
            self.assertNotIn("weather__alerts", everything)
            for gateway, shown in gateways.items():
                with self.subTest(user=user.login, gateway=gateway.code):
                    self.assertEqual(self._shown(gateway, key), everything & shown)
                    refused = known - (everything & shown)
                    self.assertFalse([one for one in refused if self._called(gateway, one, key)])
        for gateway, shown in gateways.items():
            is_called = [self._called(gateway, name) for name in shown - {"weather__alerts"}]
            self.assertTrue(all(is_called))

    def test_switches_and_assistants_count_at_once(self):
        self._served()
        self.assistant.group_ids = self.env.ref("base.group_system")
        self.env.flush_all()
        self.assertEqual(self._shown(self.sales), set())
        self.assertFalse(self._called(self.sales, "weather__alerts"))
        self.assistant.group_ids = False
        self.alerts.active = False
        self.env.flush_all()
        self.assertEqual(self._shown(self.sales), set())
        self.assertFalse(self._called(self.sales, "weather__alerts"))

    def test_prompts_and_resources_are_those_of_its_servers(self):
        self._served()
        of_server = self._gateway("weather", server_ids=self.server.ids)
        closed = self._gateway(
            "closed", server_ids=self.server.ids, has_prompts=False, has_resources=False
        )
        for method, key in (("prompts/list", "prompts"), ("resources/list", "resources")):
            for gateway, is_shown in ((of_server, True), (closed, False), (self.sales, False)):
                with self.subTest(method=method, gateway=gateway.code):
                    result = self._at(gateway, method)[1]["result"]
                    self.assertEqual(
                        {"weather"} if is_shown else set(), self._servers_in(result, key)
                    )
                    self.assertNotIn("_meta", result)
        for gateway in (closed, self.sales):
            for method, params in (
                ("prompts/get", {"name": "weather__greet"}),
                ("resources/read", {"uri": "odoo://weather/note://one"}),
            ):
                self.assertIn("error", self._at(gateway, method, params)[1])
        read = {"uri": "odoo://weather/note://one"}
        self.assertIn("result", self._at(of_server, "resources/read", read)[1])

    def _servers_in(self, result, key):
        names = [one.get("uri") or one["name"] for one in result[key]]
        return {name.removeprefix("odoo://").replace("__", "/").split("/")[0] for name in names}

    def test_records_are_those_of_its_models(self):
        self.env["res.partner"].create({"name": "Ada Gateway"})
        self.assistant.is_open_to_clients = True
        self.assistant.record_access_ids = [
            Command.create({"model": model}) for model in ("res.partner", "res.country")
        ]
        partners, countries = self.assistant.record_access_ids
        open_one = self._gateway("contacts", record_access_ids=partners.ids)
        key = self._client_key(self.internal)
        self.assertEqual(self._shown(open_one, key), set(READING))
        self.assertEqual(self._shown(self.sales, key), {"weather__alerts"})
        filters = [{"field": "name", "value": "Ada Gateway"}]
        for model, is_read in (("res.partner", True), ("res.country", False)):
            given = {"model": model, "filters": filters}
            params = {"name": "search_records", "arguments": given}
            result = self._at(open_one, "tools/call", params, key)[1]["result"]
            self.assertEqual(result["isError"], not is_read, result)
        self.assertFalse(self._called(self.sales, "find_models", key))
        self.assistant.is_open_to_clients = False
        self.env.flush_all()
        self.assertEqual(self._shown(open_one, key), set())
        self.assertFalse(self._called(open_one, "find_models", key))
        self.assertTrue(countries.exists())

    # ------------------------------------------------------------ who may use it

    def test_what_is_not_the_callers_is_not_there(self):
        other = self.env["res.company"].create({"name": "Elsewhere"})
        closed = {
            "group": self._gateway("a", group_ids=self.env.ref("base.group_system").ids),
            "workspace": self._gateway("b", workspace_id=self.other_workspace.id),
            "company": self._gateway("c", company_id=other.id),
            "archived": self._gateway("d", active=False),
        }
        said = {self._rpc(self.key, "ping", path=path)[0] for path in ("/mcp/nope", "/mcp/Sales")}
        self.assertEqual(said, {404})
        status, missing = self._rpc(self.key, "ping", path="/mcp/nope")
        for why, gateway in closed.items():
            for key in (self.key, self._client_key(self.admin)):
                with self.subTest(why=why):
                    self.assertEqual(self._at(gateway, "ping", key=key), (status, missing))
                    self.assertEqual(self._at(gateway, "tools/call", TAIPEI, key)[0], 404)
        key = self._client_key(self.stranger)
        self.assertEqual(self._at(closed["workspace"], "ping", key=key)[0], 200)
        self.stranger.active = False
        self.env.flush_all()
        self.assertEqual(self._at(closed["workspace"], "ping", key=key)[0], 401)

    def test_nobody_learns_from_outside_which_there_are(self):
        answers = []
        for code in ("sales", "nope"):
            refused = self._send("POST", f"/mcp/{code}", json={})
            self.assertEqual(refused.status_code, 401)
            challenge = refused.headers["WWW-Authenticate"]
            path = f"/.well-known/oauth-protected-resource/mcp/{code}"
            self.assertIn(f'"{self.base_url()}{path}"', challenge)
            told = self._send("GET", path).text
            self.assertIn(f'"{self.base_url()}/mcp/{code}"', told)
            answers.append((challenge.replace(code, ""), told.replace(code, "")))
        self.assertEqual(*answers)
        path = "/.well-known/oauth-protected-resource/mcp/NO"
        self.assertEqual(self._send("GET", path).status_code, 404)

    # ------------------------------------------------------------ sign-in

    def test_a_token_is_for_one_gateway(self):
        other = self._gateway("other")
        paths = {"": "/mcp", "sales": "/mcp/sales", "other": "/mcp/other"}
        for gateway in (None, self.sales, other):
            token = self._signed_in(gateway)
            for code, path in paths.items():
                with self.subTest(token=gateway and gateway.code, path=path):
                    is_its = code == (gateway.code if gateway else "")
                    self.assertEqual(self._rpc(token, "ping", path=path)[0], 200 if is_its else 401)
        self.assertEqual(len(self._grants()), 3, "a client may be connected to each")
        models = self._send("GET", "/v1/models", headers={"Authorization": f"Bearer {token}"})
        self.assertEqual(models.status_code, 401)

    def test_no_token_is_exchanged_for_one_of_another_gateway(self):
        self._sign_in(self.member)
        resource = f"{self.base_url()}/mcp/sales"
        for wanted in (f"{self.base_url()}/mcp", f"{self.base_url()}/mcp/other"):
            code = self._decided(resource=resource)["code"]
            status, told = self._redeem(code, resource=wanted)
            self.assertEqual((status, told["error"]), (400, "invalid_target"))
        status, told = self._redeem(code, resource=resource)
        self.assertEqual(status, 200, told)
        status, told = self._refresh(told["refresh_token"], resource=wanted)
        self.assertEqual((status, told["error"]), (400, "invalid_target"))

    def test_the_page_names_the_gateway(self):
        self._sign_in(self.member)
        self.assertIn("Sales", self._page(resource=f"{self.base_url()}/mcp/sales").text)
        self.assertNotIn("Sales", self._page().text)
        closed = self._gateway("closed", workspace_id=self.other_workspace.id, name="Secret")
        for code in (closed.code, "nope"):
            told = self._told(self._page(resource=f"{self.base_url()}/mcp/{code}"))
            self.assertEqual(told["error"], "invalid_target")
            self.assertNotIn("Secret", str(told))

    def test_whatever_ends_a_gateway_counts_at_the_next_request(self):
        for change, status in (
            ({"active": False}, 404),
            ({"workspace_id": self.other_workspace.id, "active": True}, 404),
            ({"workspace_id": False, "code": "sold"}, 401),
        ):
            self.sales.write({"code": "sales", "active": True, "workspace_id": False})
            token = self._signed_in(self.sales)
            self.assertEqual(self._rpc(token, "ping", path="/mcp/sales")[0], 200)
            self.sales.write(change)
            self.env.flush_all()
            self.assertEqual(self._rpc(token, "ping", path="/mcp/sales")[0], status)
        self.assertFalse(self._grants(), "another address ends what was for the old one")

    def test_people_see_which_gateway_a_client_uses(self):
        self._signed_in(self.sales)
        (client,) = self._call("GET", "/api/mcp/keys")[1]["clients"]
        self.assertEqual(client["gateway"], "Sales")
        listed = self._call("GET", "/api/mcp/keys")[1]["gateways"]
        self.assertEqual(listed, [{"name": "Sales", "url": f"{self.base_url()}/mcp/sales"}])
        self.sales.group_ids = self.env.ref("base.group_system")
        self.env.flush_all()
        self.assertEqual(self._call("GET", "/api/mcp/keys")[1]["gateways"], [])

    # ------------------------------------------------------------ company

    def test_a_client_works_in_the_company_that_its_person_has_chosen(self):
        Company = self.env["res.company"]
        acme, other = Company.create([{"name": "Acme Sign-in"}, {"name": "Other Sign-in"}])
        both = new_test_user(
            self.env,
            "ai_both",
            groups="base.group_user",
            password=PASSWORD,
            company_id=acme.id,
            company_ids=[Command.set([acme.id, other.id])],
        )
        partners = self.env["res.partner"]
        for company in (acme, other):
            partners.create({"name": f"Ada of {company.name}", "company_id": company.id})
        self.assistant.is_open_to_clients = True
        self.assistant.record_access_ids = [Command.create({"model": "res.partner"})]
        access = self.assistant.record_access_ids
        of_other = self._gateway("other", company_id=other.id, record_access_ids=access.ids)
        shared = self._gateway("shared", record_access_ids=access.ids)
        for chosen, found in ((acme, {acme}), (other, {other}), (None, {acme, other})):
            token = self._signed_in(shared, chosen, both)
            given = {
                "model": "res.partner",
                "filters": [{"field": "name", "operator": "ilike", "value": "Ada of"}],
            }
            params = {"name": "search_records", "arguments": given}
            said = str(self._at(shared, "tools/call", params, token)[1]["result"])
            for company in (acme, other):
                self.assertEqual(company.name in said, company in found)
            token = self._signed_in(of_other, other, both)
        self.assertEqual(self._at(of_other, "ping", key=token)[0], 200)
        token = self._signed_in(shared, other, both)
        both.company_ids = acme
        self.env.flush_all()
        self.assertEqual(self._at(shared, "ping", key=token)[0], 401)
        self._sign_in(both)
        page = self._page(resource=f"{self.base_url()}/mcp/shared")
        self.assertNotIn("<select", page.text, "one company is no choice")
        form = self._form(page) | {"decision": "allow", "company": other.id}
        self.assertEqual(self._send("POST", "/woow/oauth/authorize", data=form).status_code, 400)

    # ------------------------------------------------------------ limits and forms

    def test_calls_of_an_hour_are_limited(self):
        fake = self._served()
        self.sales.calls_per_hour = 2
        self.env.flush_all()
        call = {"name": "weather__alerts", "arguments": {"city": "Taipei"}}
        for code in (None, None, "too_many_calls", "too_many_calls"):
            result = self._at(self.sales, "tools/call", call)[1]["result"]
            self.assertEqual(result.get("_meta", {}).get("code"), code)
        self.assertEqual(len(fake.calls), 2)
        self.assertFalse(self._result({**TAIPEI})["isError"], "/mcp has no limit of a gateway")
        guest = self._client_key(self.guest)
        self.assertFalse(self._at(self.sales, "tools/call", call, guest)[1]["result"]["isError"])
        batch = [
            {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": call}
            for number in range(3)
        ]
        headers = {"Authorization": f"Bearer {self._client_key(self.owner)}"}
        said = self._call("POST", "/mcp/sales", batch, headers)[1]
        self.assertEqual([one["result"]["isError"] for one in said], [False, False, True])

    def test_questions_of_an_hour_are_limited_too(self):
        self._served()
        self.sales.calls_per_hour = 2
        self.alerts.approval_policy = "ask"
        self.env.flush_all()
        for city, code in zip(
            "abc", ("approval_required", "approval_required", "too_many_calls"), strict=True
        ):
            call = {"name": "weather__alerts", "arguments": {"city": city}}
            result = self._at(self.sales, "tools/call", call)[1]["result"]
            self.assertEqual(result["_meta"]["code"], code)

    def test_an_administrator_sees_it_as_a_user_would(self):
        gateway = self.sales.with_user(self.admin)
        for user, said in (
            (self.member, "weather__alerts"),
            (self.internal, "weather__alerts"),
        ):
            gateway.preview_user_id = user
            self.assertIn(said, gateway.preview)
            self.assertNotIn("weather__forecast", gateway.preview)
        gateway.workspace_id = self.workspace
        gateway.preview_user_id = self.stranger
        self.assertIn("cannot use", gateway.preview)
        form = Form(self.env[GATEWAY].with_user(self.admin))
        form.name = "Desk"
        self.assertEqual(form.code, "desk")
        form.preview_user_id = self.internal
        self.assertIn("none of these", form.preview)
        form.server_ids.add(self.server)
        form.assistant_ids.add(self.assistant)
        for name in ("weather__forecast", "ask_helper"):
            self.assertIn(name, form.preview)
        made = form.save()
        self.assertEqual(made.server_ids, self.server)

    def test_a_code_is_part_of_an_address(self):
        made = self.env[GATEWAY].create({"name": "After Sales"})
        self.assertEqual(made.code, "after-sales")
        self.assertTrue(made.address.endswith("/mcp/after-sales"))
        for code in ("A b", "a/b", "a" * 41):
            with self.assertRaises(ValidationError):
                made.code = code
        with mute_logger("odoo.sql_db"), self.assertRaises(UniqueViolation):
            made.code = "sales"
            self.env.flush_all()

    def test_a_deleted_gateway_leaves_nothing(self):
        self._signed_in(self.sales)
        self.sales.unlink()
        self.assertFalse(self._grants())


ASK = {"name": "ask_helper", "arguments": {"question": "Which orders are late?"}}
CALLED = events.tool_call(
    "call_1",
    tool="forecast",
    title="Forecast",
    server="weather",
    arguments={},
    fixed=(),
    round_=1,
    max_rounds=5,
)
ANSWER = (CALLED, events.text("None is late.", 1), events.done("done", None))


@tagged("post_install", "-at_install")
class TestAssistantsAsTools(GatewaysCase):
    """Assistants of a gateway, which answer one question as a turn; no runner takes it here."""

    def setUp(self):
        super().setUp()
        self.desk = self._gateway("desk", assistant_ids=self.assistant.ids)

    @contextlib.contextmanager
    def _telling(self, *told):
        """:param told: events of the turn"""

        def follow(*_args):
            for seq, event in enumerate(told, 1):
                yield event and Event(seq, frame(seq, json.dumps(event)), event["type"] in FINAL)

        def stop(asked):
            self.stopped.append(asked.turn_id)

        self.stopped = []
        with (
            patch.object(streams, "follow", follow),
            patch.object(completion.Asked, "stop", stop),
        ):
            yield

    def _ask_helper(self, *told, key=None, gateway=None, **more):
        """:return: result of a question"""
        params = {**ASK, "arguments": {**ASK["arguments"], **more}}
        with self._telling(*told):
            status, said = self._at(gateway or self.desk, "tools/call", params, key)
        self.assertEqual(status, 200, said)
        return said.get("result") or said["error"]

    def _asked_turns(self, user=None):
        self.env.invalidate_all()
        mine = [("user_id", "=", (user or self.member).id)]
        return self.env["woow_paas_platform.ai_turn"].search(mine, order="id")

    def _code_of(self, result):
        return result.get("_meta", {}).get("code")

    def test_an_assistant_is_a_tool(self):
        listed = self._at(self.desk, "tools/list")[1]["result"]["tools"]
        (tool,) = listed
        self.assertEqual((tool["name"], tool["title"]), ("ask_helper", "Helper"))
        result = self._ask_helper(*ANSWER)
        self.assertFalse(result["isError"], result)
        self.assertEqual(result["content"][0]["text"], "None is late.")
        turn, row = self._asked_turns(), self._rows()
        self.assertEqual((turn.prompt, turn.user_id), ("Which orders are late?", self.member))
        self.assertEqual((row.outcome, row.asked_turn_id, row.gateway_id), ("ok", turn, self.desk))
        self.assertEqual(row.llm_text, "None is late.")
        turn.sudo().state = "done"
        number = str(turn.channel_id.id)
        self.assertIn(number, result["content"][1]["text"])
        self.assertFalse(self._ask_helper(*ANSWER, conversation=number)["isError"])
        self.assertEqual(self._asked_turns().channel_id, turn.channel_id)

    def test_only_its_users_ask_it_and_only_where_it_is_shown(self):
        self.assertEqual(
            set(self._names()), TOOLS, "the personal gateway shows tools, not assistants"
        )
        self.assertEqual(self._ask_helper(gateway=self.sales)["code"], jsonrpc.INVALID_PARAMS)
        self.assistant.group_ids = self.env.ref("base.group_user")
        self.env.flush_all()
        self.assertEqual(self._shown(self.desk), set())
        self.assertEqual(self._ask_helper()["code"], jsonrpc.INVALID_PARAMS)
        key = self._client_key(self.internal)
        self.assertEqual(self._shown(self.desk, key), {"ask_helper"})
        self.assistant.active = False
        self.env.flush_all()
        self.assertEqual(self._ask_helper(key=key)["code"], jsonrpc.INVALID_PARAMS)
        self.assertFalse(self._asked_turns() | self._asked_turns(self.internal))

    def test_the_token_needs_the_scope(self):
        self._sign_in(self.member)
        resource = f"{self.base_url()}/mcp/desk"
        for scope, is_its in (
            ("tools:read tools:call", False),
            ("tools:call tools:read assistants", True),
        ):
            code = self._decided(resource=resource, scope=scope)["code"]
            token = self._redeem(code, resource=resource)[1]["access_token"]
            self.assertEqual(self._shown(self.desk, token), {"ask_helper"} if is_its else set())
            with self._telling(*ANSWER):
                status, said = self._at(self.desk, "tools/call", ASK, token)
            self.assertEqual(status, 200 if is_its else 403, said)
        self.assertEqual(len(self._asked_turns()), 1)

    def test_its_waiting_is_the_waiting_of_the_call(self):
        waits = events.state("waiting")
        result = self._ask_helper(CALLED, waits)
        self.assertEqual(self._code_of(result), "approval_required")
        self.assertIn("/my/ai/decisions", result["content"][0]["text"])
        turn, row = self._asked_turns(), self._rows()
        self.assertEqual((row.outcome, self.stopped), (False, []))
        turn.sudo().state = "waiting"
        self.assertEqual(self._code_of(self._ask_helper()), "approval_required")
        turn.sudo()._append_events([waits])
        turn.sudo().state = "running"
        self.env.flush_all()
        result = self._ask_helper(CALLED, waits, *ANSWER[1:])
        self.assertEqual(result["content"][0]["text"], "None is late.")
        self.assertEqual(
            (self._asked_turns(), self._rows()), (turn, row), "nothing was asked twice"
        )
        self.assertEqual(row.outcome, "ok")
        turn.sudo().state = "done"
        self._ask_helper(*ANSWER)
        self.assertEqual(len(self._asked_turns()), 2, "an answer is told once")

    def test_a_lost_question_is_found_again_for_an_hour(self):
        self.assertTrue(self._ask_helper()["isError"])
        row = self._rows()
        self.assertFalse(row.outcome)
        past = fields.Datetime.now() - timedelta(minutes=70)
        self.env.cr.execute(
            "UPDATE woow_paas_platform_tool_call SET create_date = %s, write_date = %s WHERE id = %s",
            [past, past, row.id],
        )
        turn = self._asked_turns().sudo()
        for minutes, outcome in ((None, False), (50, False), (70, "unknown")):
            turn.ended_at = minutes and fields.Datetime.now() - timedelta(minutes=minutes)
            self.env.flush_all()
            row._close_lost_direct_calls()
            self.assertEqual(row.outcome, outcome)
            self._ask_helper()
            self.assertEqual(len(self._asked_turns()), 2 if outcome else 1)

    def test_what_fails_is_a_result(self):
        result = self._ask_helper(events.error("llm_unreachable", "It does not answer.", None))
        self.assertEqual(self._code_of(result), "llm_unreachable")
        self.assertEqual(self._rows().outcome, "error")
        long = "x" * (PROMPT_CHARS + 1)
        for given in (
            {"question": 5},
            {"question": long},
            {"conversation": "x"},
            {"conversation": "99999999"},
        ):
            result = self._ask_helper(**given)
            self.assertTrue(result["isError"] and self._code_of(result), result)
        other = self._ask(self.guest).sudo().channel_id
        result = self._ask_helper(conversation=str(other.id))
        self.assertEqual(self._code_of(result), "not_found")
        with patch.object(ai_turn, "PROMPT_CHARS", 9):
            self.assertEqual(self._code_of(self._ask_helper()), "refused")
        self.assertEqual(len(self._asked_turns()), 1)

    def test_assistants_do_not_ask_in_a_circle(self):
        for number in range(MAX_RUNNING + 1):
            result = self._ask_helper(question=f"Question {number}?")
        self.assertEqual(self._code_of(result), "too_many_calls")
        self.assertEqual(len(self._asked_turns()), MAX_RUNNING)

    def test_progress_and_the_answer_come_in_a_stream(self):
        message = {
            "jsonrpc": "2.0",
            "id": 7,
            "method": "tools/call",
            "params": {**ASK, "_meta": {"progressToken": "p"}},
        }
        headers = {
            "Authorization": f"Bearer {self.key}",
            "Accept": "application/json, text/event-stream",
        }
        with self._telling(*ANSWER):
            answer = self._send("POST", "/mcp/desk", json=message, headers=headers)
        said = [
            json.loads(line[6:]) for line in answer.text.split("\n") if line.startswith("data: ")
        ]
        self.assertEqual(said[0]["params"]["message"], "Forecast")
        self.assertEqual((said[-1]["id"], said[-1]["result"]["isError"]), (7, False))
        batch = [message, {**message, "id": 8}]
        said = self._call("POST", "/mcp/desk", batch, {"Authorization": headers["Authorization"]})[
            1
        ]
        self.assertEqual([self._code_of(one["result"]) for one in said], ["not_alone"] * 2)

    def test_two_of_a_name_have_tools_of_their_own(self):
        other = self.assistant.copy({"name": "Helper!"})
        chinese = self.assistant.copy({"name": "\u52a9\u7406"})
        self.desk.assistant_ids = self.assistant | other | chinese
        self.env.flush_all()
        names = {"ask_helper", f"ask_helper_{other.id}", f"ask_assistant_{chinese.id}"}
        self.assertEqual(self._shown(self.desk), names)

    # ------------------------------------------------------------ changes of records

    def test_changes_of_records_are_shown_to_the_user_first(self):
        key = self._client_key(self.internal)
        partner = self.env["res.partner"].create({"name": "Ada Gateway", "city": "Graz"})
        self.assistant.write(
            {
                "is_open_to_clients": True,
                "record_access_ids": [
                    Command.create({"model": model, "can_update": True, "policy": "auto"})
                    for model in ("res.partner", "res.country")
                ],
            }
        )
        partners = self.assistant.record_access_ids[0]
        desk = self._gateway("records", record_access_ids=partners.ids)
        self.assertEqual(self._shown(desk, key), set(READING), "to read is not to change")
        self.assistant.is_changed_by_clients = True
        self.env.flush_all()
        self.assertEqual(self._shown(desk, key), {*READING, "update_records"})
        self.assertNotIn("update_records", self._shown(self.desk, key))
        self.assertIn("update_records", self._names(key))

        def move(model, ids, city="Linz"):
            arguments = {"model": model, "ids": ids, "values": {"city": city}}
            params = {"name": "update_records", "arguments": arguments}
            with self._telling(CALLED, events.state("waiting")):
                return self._at(desk, "tools/call", params, key)[1]["result"]

        result = move("res.country", self.env.ref("base.be").ids)
        self.assertEqual(self._code_of(result), "denied")
        self.assertFalse(self._asked_turns(self.internal))
        self.assertEqual(self._code_of(move("res.partner", partner.ids)), "approval_required")
        turn = self._asked_turns(self.internal).sudo()
        self.assertEqual((turn.given_call["alias"], turn.taint), ("update_records", "program"))
        self.assertEqual(list(turn._record_access()), ["res.partner"])
        self.assertEqual(partner.city, "Graz")
        self.assertEqual(self._code_of(move("res.partner", "x")), "invalid_arguments")
        self._sign_in(self.internal)
        resource = f"{self.base_url()}/mcp/records"
        code = self._decided(resource=resource, scope="tools:read tools:call")["code"]
        token = self._redeem(code, resource=resource)[1]["access_token"]
        self.assertEqual(self._shown(desk, token), set(READING))
        params = {"name": "update_records", "arguments": {}}
        status, said = self._at(desk, "tools/call", params, token)
        self.assertEqual((status, said["error"]["data"]["scope"]), (403, "records:write"))
