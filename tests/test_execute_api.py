"""The routes of document 001 over HTTP, with an MCP server and a language model of ours."""

import asyncio
import json
import threading
from contextlib import contextmanager

from odoo.tests import tagged

from ..models.turn.ai_turn import Question
from ..services.testing.fake_tools import text
from ..services.testing.scripted_llm import Reply, ScriptedLlm
from .common import ADDS, SCHEMA, AiHttpCase, served_mcp

ONE = "/api/mcp/execute-tool"
MANY = "/api/mcp/execute-tools"
REPLY = "/api/ai-reply"


async def _forecast(call):
    return text(f"Sunny in {call.arguments.get('city', '')}.")


async def _alerts(call):
    return text("The sensors are broken.", isError=True)


@contextmanager
def served_llm(*script):
    """A `ScriptedLlm` that this process's real runner can ask."""
    loop, llm = asyncio.new_event_loop(), ScriptedLlm(*script)
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    asyncio.run_coroutine_threadsafe(llm.__aenter__(), loop).result(5)
    try:
        yield llm
    finally:
        asyncio.run_coroutine_threadsafe(llm.__aexit__(), loop).result(5)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(5)
        loop.close()


@tagged("post_install", "-at_install")
class TestExecuteApi(AiHttpCase):
    def setUp(self):
        super().setUp()
        self._sign_in(self.member)

    @contextmanager
    def _mcp(self):
        with served_mcp() as fake:
            schema = json.loads(SCHEMA)
            fake.tools |= {"forecast": (_forecast, schema), "alerts": (_alerts, schema)}
            self.server.url = fake.url
            self.env.flush_all()
            yield fake

    def _one(self, name="forecast", **arguments):
        return self._call("POST", ONE, {"toolName": name, "arguments": arguments})

    def _code(self, answer):
        status, data = answer
        self.assertTrue(data["error"]["message"])
        self.assertNotIn("Traceback", str(data))
        return status, data["error"]["code"]

    def _rows(self):
        self.env.invalidate_all()
        return self.env["woow_paas_platform.tool_call"].search(
            [("user_id", "=", self.member.id), ("turn_id", "=", False)], order="id"
        )

    def _model(self, llm):
        self.provider.api_base_url = llm.base_url
        self.env.flush_all()

    def _reply(self, **data):
        return self._call("POST", REPLY, {"assistant_id": self.assistant.id, **data})

    # ------------------------------------------------------------ one call

    def test_a_tool_is_called_by_either_of_its_names(self):
        with self._mcp() as fake:
            for name in ("forecast", "weather__forecast"):
                status, data = self._one(name, city="台北")
                self.assertEqual((status, data["success"]), (200, True), data)
                self.assertEqual(data["content"], [{"type": "text", "text": "Sunny in 台北."}])
            self.assertEqual(len(fake.calls), 2)
        self.assertEqual(self._rows().mapped("outcome"), ["ok", "ok"])
        self.assertEqual(self._rows().tool_id, self.forecast)

    def test_what_a_tool_reports_as_failed_is_no_success(self):
        with self._mcp():
            status, data = self._one("alerts")
        self.assertEqual((status, data["success"], data["outcome"]), (200, False, "error"))
        self.assertEqual(data["error"], "The sensors are broken.")
        self.assertTrue(data["content"])

    def test_a_server_that_is_down_is_a_sentence(self):
        self.server.url = "http://127.0.0.1:9/mcp"
        self.env.flush_all()
        status, data = self._one()
        self.assertEqual((status, data["success"], data["outcome"]), (200, False, "error"))
        self.assertTrue(data["error"].endswith(".") and data["code"])
        self.assertEqual(self._rows().outcome, "error")

    def test_who_is_offered_what(self):
        flow = {"toolName": "run_flow", "arguments": {}}
        self.assertEqual(self._code(self._call("POST", ONE, {"toolName": "nope"}))[0], 404)
        for user, may in ((self.guest, True), (self.stranger, False), (self.internal, False)):
            self._sign_in(user)
            with self.subTest(user=user.login):
                status, data = self._call("POST", ONE, flow)
                self.assertEqual(status == 200, may, data)
                if not may:
                    self.assertEqual(data["error"]["code"], "not_found")
        self.assistant.group_ids = self.env.ref("base.group_system")
        self.env.flush_all()
        self.assertEqual(self._code(self._one()), (404, "not_found"))
        self.assertFalse(self._rows())

    def test_nobody_calls_without_signing_in(self):
        self.logout()
        for path, data in (
            (ONE, {"toolName": "forecast"}),
            (MANY, {"calls": [{"name": "forecast"}]}),
            (REPLY, {"aiMessage": "Hello"}),
        ):
            self.assertEqual(self._code(self._call("POST", path, data)), (401, "unauthenticated"))

    def test_switches_count(self):
        for change in (
            lambda: self.forecast.write({"active": False}),
            lambda: self.server.write({"active": False}),
            lambda: self.assistant.write({"mcp_tool_disabled_ids": [(4, self.forecast.id)]}),
        ):
            with self.subTest(), self.env.cr.savepoint() as savepoint:
                change()
                self.env.flush_all()
                self.assertEqual(self._code(self._one()), (404, "not_found"))
                savepoint.close(rollback=True)

    def test_the_approval_policy_is_respected(self):
        with self._mcp() as fake:
            for policy in ("never", "ask", "default"):
                self.forecast.approval_policy = policy
                self.env.flush_all()
                self.assertEqual(self._code(self._one()), (403, "denied"))
            self.assertEqual((fake.calls, self._rows().mapped("outcome")), ([], ["denied"] * 3))
            self.server.trust_level = "full"
            self.forecast.annotations = ADDS
            self.env.flush_all()
            self.assertEqual(self._one()[0], 200)

    def test_who_has_allowed_a_tool_for_good_may_call_it(self):
        self.forecast.approval_policy = "ask"
        Grant = self.env["woow_paas_platform.tool_grant"]
        grant = Grant.create(
            {
                "name": "forecast",
                "user_id": self.member.id,
                "tool_id": self.forecast.id,
                "scope": "always",
                "definition": "another",
            }
        )
        with self._mcp():
            self.assertEqual(self._code(self._one()), (403, "denied"))
            grant.definition = self.forecast._pinned()
            self.env.flush_all()
            self.assertEqual(self._one()[0], 200)
            self._sign_in(self.guest)
            self.assertEqual(self._code(self._one()), (403, "denied"))

    def test_a_rule_asks(self):
        self.env["woow_paas_platform.approval_rule"].create(
            {"tool_id": self.forecast.id, "policy": "ask", "condition": "city == 'Atlantis'"}
        )
        with self._mcp() as fake:
            self.assertEqual(self._code(self._one(city="Atlantis")), (403, "denied"))
            self.assertEqual(self._one(city="Taipei")[0], 200)
            self.assertEqual(len(fake.calls), 1)

    def test_wrong_arguments(self):
        self.assertEqual(self._code(self._one(city=5)), (422, "invalid_arguments"))
        for bad in ({}, {"toolName": 5}, {"toolName": "x", "arguments": []}, {"nope": 1}):
            self.assertEqual(self._call("POST", ONE, bad)[0], 400)

    def test_a_name_of_several_servers_has_to_be_said_in_full(self):
        other = self.server.copy({"name": "climate"})
        self.env["woow_paas_platform.mcp_tool"].create(
            {"name": "forecast", "server_id": other.id, "input_schema": SCHEMA}
        )
        self.assistant.mcp_server_ids |= other
        self.env.flush_all()
        status, data = self._one()
        self.assertEqual((status, data["error"]["code"]), (409, "ambiguous_tool"))
        self.assertEqual(
            set(data["error"]["details"]["names"]), {"weather__forecast", "climate__forecast"}
        )

    def _of_service(self, name, fake, tool="forecast", **owner):
        """A server of the service, or of another owner, with the fake's tool."""
        server = self.env["woow_paas_platform.mcp_server"].create(
            {
                "name": name,
                "url": fake.url,
                "scope": "user",
                "trust_level": "full",
                **(owner or {"cloud_service_id": self.service.id}),
            }
        )
        tool = {"name": tool, "server_id": server.id, "input_schema": SCHEMA, "annotations": ADDS}
        self.env["woow_paas_platform.mcp_tool"].create(tool)
        self.env.flush_all()
        return server

    def test_a_server_of_an_owner_takes_no_name_from_the_others(self):
        with self._mcp(), served_mcp() as theirs:
            theirs.tools["forecast"] = (_alerts, json.loads(SCHEMA))
            for name in ("weather", "Weather", "weather!"):
                own = self._of_service(name, theirs)
                for known in ("forecast", "weather.forecast", "weather__forecast"):
                    with self.subTest(server=name, tool=known):
                        status, data = self._one(known, city="Taipei")
                        self.assertEqual((status, data.get("success")), (200, True), data)
                called = f"{name}#{own.id}.forecast"
                self.assertEqual(
                    self._one(called)[1]["content"][0]["text"], "The sensors are broken."
                )
                own.unlink()
                self.env.flush_all()

    def _says(self, name):
        """:return: what the tool of this name has answered, or the code of the refusal"""
        data = self._one(name, city="Paris")[1]
        return data["content"][0]["text"] if "success" in data else data["error"]["code"]

    def test_a_name_in_full_of_a_tool_of_the_system_is_not_taken(self):
        theirs, ours = "The sensors are broken.", "Sunny in Paris."
        for tool, server, own in (
            ("github__create_issue", "github", "create_issue"),
            ("repo.search", "repo", "search"),
            ("a__b", "weather__a", "b"),
        ):
            with self._mcp() as fake, served_mcp() as other, self.subTest(tool=tool):
                self.forecast.name = tool
                fake.tools[tool] = (_forecast, json.loads(SCHEMA))
                other.tools[own] = (_alerts, json.loads(SCHEMA))
                added = self._of_service(server, other, own)
                for name in (tool, f"weather.{tool}", f"weather__{tool.replace('.', '_')}"):
                    self.assertEqual(self._says(name), ours, name)
                # What models call the other one calls the other one.
                told = added.tool_ids.with_user(self.member).sudo()._tool_specs()
                self.assertEqual(self._says(told[0].alias), theirs)
                added.unlink()

    def test_what_is_switched_off_keeps_its_names(self):
        review = {"review_state": "changed"}
        with self._mcp(), served_mcp() as theirs:
            theirs.tools["forecast"] = (_alerts, json.loads(SCHEMA))
            own = self._of_service("weather", theirs)
            for record, values in (
                (self.server, {"active": False}),
                (self.forecast, {"active": False}),
                (self.forecast, review),
                (self.assistant, {"mcp_server_ids": [(5,)]}),
            ):
                with self.subTest(values=values), self.env.cr.savepoint() as savepoint:
                    record.write(values)
                    self.env.flush_all()
                    for name in ("weather.forecast", "weather__forecast"):
                        self.assertEqual(self._says(name), "not_found", name)
                    status, data = self._one("forecast")
                    self.assertEqual((status, data["error"]["code"]), (409, "ambiguous_tool"))
                    called = f"weather_{own.id}__forecast"
                    self.assertEqual(data["error"]["details"]["names"], [called])
                    self.assertEqual(self._says(called), "The sensors are broken.")
                    savepoint.close(rollback=True)

    def test_a_server_has_one_name_at_every_entrance(self):
        second = self.service.copy({"name": "Second"})
        with self._mcp(), served_mcp() as crm, served_llm(Reply("Hello.")) as llm:
            crm.tools["forecast"] = (_alerts, json.loads(SCHEMA))
            first, other = (
                self._of_service("crm", crm, cloud_service_id=service.id)
                for service in (self.service, second)
            )
            self._model(llm)
            for service, server in ((self.service, first), (second, other)):
                called, alias = f"crm#{server.id}", f"crm_{server.id}__forecast"
                channel = self._conversation(self.member, service)
                self.env.flush_all()
                path = f"/api/sessions/{channel.id}/mcp-config"
                listed = self._call("GET", path)[1]["servers"]
                self.assertEqual({s["id"]: s["name"] for s in listed}[server.id], called)
                self.assertEqual(self._call("PUT", path, {"enabled_servers": ["crm"]})[0], 422)
                kept = self._call("PUT", path, {"enabled_servers": [called]})[1]
                self.assertEqual(kept["enabled_servers"], [called])
                new = f"/api/ai/assistants/{self.assistant.id}/mcp-config"
                listed = self._call("GET", f"{new}?cloud_service_id={service.id}")[1]["servers"]
                self.assertEqual({s["id"]: s["name"] for s in listed}[server.id], called)
                rows = self.assistant.with_user(self.member)._tool_rows(server.sudo())
                self.assertEqual([row["name"] for row in rows], [f"{called}.forecast"])
                request = (
                    channel._ask(Question("Hello")).with_user(self.member).sudo()._turn_request()
                )
                self.assertEqual([tool.alias for tool in request.tools], [alias])
                self.assertEqual(server.tool_ids.with_user(self.member).sudo().alias, alias)
                about = {"includeMCPTools": True, "cloud_service_id": service.id}
                self._reply(aiMessage="Hi", **about)
                self.assertIn(alias, str(llm.requests[-1]))
                for name in (f"{called}.forecast", alias):
                    self._one(name)
                    self.assertEqual(self._rows()[-1].server_id, server)
            self.assertEqual(self._says("crm.forecast"), "not_found")

    def test_nobody_who_lets_a_person_in_takes_the_names_of_what_is_theirs(self):
        theirs = self.other_workspace.service_ids.create(
            {"name": "Theirs", "workspace_id": self.other_workspace.id}
        )
        with self._mcp(), served_mcp() as hostile, served_mcp() as mine:
            for fake, tool in ((hostile, _alerts), (mine, _forecast)):
                fake.tools["find"] = (tool, json.loads(SCHEMA))
            older = self._of_service("crm", hostile, "find", cloud_service_id=theirs.id)
            own = self._of_service("crm", mine, "find", owner_user_id=self.member.id)
            names = ("crm.find", "crm__find", "find")
            self.assertEqual([self._says(name) for name in names], ["Sunny in Paris."] * 3)
            self.other_workspace.access_ids = [(0, 0, {"user_id": self.member.id, "role": "user"})]
            self.env.flush_all()
            self.assertEqual([self._says(name) for name in names], ["Sunny in Paris."] * 3)
            self.assertEqual(self._says(f"crm#{older.id}.find"), "The sensors are broken.")
            # Nor by a name that looks like one that was made.
            older.name = f"crm#{own.id}"
            self.env["woow_paas_platform.mcp_server"].create(
                {"name": "crm", "url": "https://crm.example.com/mcp"}
            )
            self.env.flush_all()
            self.assertEqual(self._says(f"crm#{own.id}.find"), "Sunny in Paris.")

    def test_what_a_reply_tells_of_can_be_called(self):
        with self._mcp(), served_mcp() as theirs, served_llm(Reply("Hello.")) as llm:
            theirs.tools["forecast"] = (_alerts, json.loads(SCHEMA))
            own = self._of_service("weather", theirs)
            self._model(llm)
            about = {"includeMCPTools": True, "cloud_service_id": self.service.id}
            self._reply(aiMessage="Weather?", **about)
            alias = f"weather_{own.id}__forecast"
            self.assertIn(alias, str(llm.requests[0]))
            calls = [{"name": alias}, {"name": "weather__forecast", "arguments": {"city": "Paris"}}]
            results = self._call("POST", MANY, {"calls": calls})[1]["results"]
            self.assertEqual(
                [one["content"][0]["text"] for one in results],
                ["The sensors are broken.", "Sunny in Paris."],
            )
            # Not another tool by the name that was told, where the assistant has no `weather` itself.
            self.assistant.mcp_server_ids -= self.server
            other = self.assistant.copy({"name": "Other"})
            other.mcp_server_ids |= self.server
            self.env.flush_all()
            self._reply(aiMessage="Weather?", assistant_id=self.assistant.id, **about)
            self.assertIn(alias, str(llm.requests[1]))
            self.assertNotIn("weather__forecast", str(llm.requests[1]))

    def test_a_reply_tells_of_no_tool_that_never_runs(self):
        tool = self.server.tool_ids.filtered(lambda tool: tool.name == "forecast")
        with self._mcp(), served_llm(Reply("Hello.")) as llm:
            self._model(llm)
            self._reply(aiMessage="Hi", includeMCPTools=True)
            self.assertIn("weather__forecast", str(llm.requests[-1]))
            tool.approval_policy = "never"
            self.env.flush_all()
            self._reply(aiMessage="Hi", includeMCPTools=True)
            self.assertNotIn("weather__forecast", str(llm.requests[-1]))

    def test_an_assistant_that_is_switched_off_does_not_reply(self):
        with served_llm(Reply("Hello.")) as llm:
            self._model(llm)
            self.assistant.active = False
            self.env.flush_all()
            refused = self._code(self._reply(aiMessage="Hi"))
            self.assertEqual((refused, llm.requests), ((403, "assistant_unavailable"), []))

    def test_a_reply_tells_administrators_that_the_model_is_down(self):
        with served_llm(Reply(status=503)) as llm:
            self._model(llm)
            self.assertEqual(self._reply(aiMessage="Hi")[0], 502)
        self.env.invalidate_all()
        config = self.assistant.config_id
        self.assertEqual(config.state, "error")
        self.assertTrue(config.state_message)

    def test_a_reply_has_the_tools_of_a_chat_about_the_same(self):
        with self._mcp() as fake, served_llm(Reply("Hello.")) as llm:
            self._of_service("harbour", fake)
            self._model(llm)
            for about, sees in (({}, False), ({"cloud_service_id": self.service.id}, True)):
                self._reply(aiMessage="Hi", includeMCPTools=True, **about)
                self.assertIn("weather__forecast", str(llm.requests[-1]))
                self.assertEqual("harbour__forecast" in str(llm.requests[-1]), sees)
            self._sign_in(self.stranger)
            answer = self._reply(aiMessage="Hi", cloud_service_id=self.service.id)
            self.assertEqual(self._code(answer), (404, "not_found"))

    # ------------------------------------------------------------ several calls

    def test_each_of_several_calls_has_its_own_result(self):
        self.run_flow.approval_policy = "never"
        calls = [
            {"name": "alerts"},
            {"name": "nope", "arguments": {}},
            {"name": "forecast", "arguments": {"city": "台南"}},
            {"name": "run_flow"},
            {"name": "forecast", "arguments": {"city": 5}},
        ]
        with self._mcp() as fake:
            status, data = self._call("POST", MANY, {"calls": calls})
            self.assertEqual(len(fake.calls), 2)
        self.assertEqual(status, 200)
        results = data["results"]
        self.assertEqual([one["name"] for one in results], [call["name"] for call in calls])
        self.assertEqual([one["success"] for one in results], [False, False, True, False, False])
        self.assertEqual(results[2]["content"][0]["text"], "Sunny in 台南.")
        codes = [one.get("code") for one in results]
        self.assertEqual(codes[1:], ["not_found", None, "denied", "invalid_arguments"])
        self.assertEqual(
            sorted(self._rows().mapped("outcome")), ["denied", "error", "invalid_args", "ok"]
        )

    def test_calls_that_are_none(self):
        for bad in ([], [{}] * 21, ["forecast"], [{"name": "x", "args": {}}], [{"name": 5}]):
            answer = self._call("POST", MANY, {"calls": bad})
            self.assertEqual(self._code(answer), (400, "invalid_field"))

    # ------------------------------------------------------------ a reply

    def test_the_loop_of_document_001(self):
        calls = [{"name": "weather__forecast", "arguments": {"city": "台北"}}]
        asked = json.dumps({"tool_calls": calls, "message": "I look."})
        with self._mcp(), served_llm(Reply(asked), Reply("It is sunny.")) as llm:
            self._model(llm)
            _, first = self._reply(aiMessage="Weather?", includeMCPTools=True)
            self.assertEqual((first["reply"], first["message"]), (asked, "I look."))
            _, made = self._call("POST", MANY, {"calls": first["tool_calls"]})
            _, last = self._reply(aiMessage="Weather?", toolResults=made["results"])
        self.assertEqual((last["message"], last["tool_calls"]), ("It is sunny.", []))
        with_tools, without = [str(request["messages"]) for request in llm.requests]
        self.assertIn("weather__forecast", with_tools)
        self.assertNotIn("flows__run_flow", str(llm.requests[1]["messages"][0]))
        self.assertIn("Sunny in 台北.", without)
        self.assertFalse(any("tools" in request for request in llm.requests))

    def test_a_model_that_fails_is_a_sentence(self):
        with served_llm(Reply(status=401, error="bad key sk-provider-secret")) as llm:
            self._model(llm)
            status, data = self._reply(aiMessage="Hi")
        self.assertEqual((status, data["error"]["code"]), (502, "llm_auth_failed"))
        self.assertNotIn("sk-provider-secret", str(data))

    def test_a_reply_that_cannot_be_asked_for(self):
        for bad, status, code in (
            ({}, 400, "invalid_field"),
            ({"aiMessage": " "}, 400, "empty_message"),
            ({"aiMessage": "x" * 40_000}, 400, "invalid_field"),
            ({"aiMessage": "x", "toolResults": ["y"]}, 400, "invalid_field"),
            ({"aiMessage": "x", "assistant_id": 99_999_999}, 404, "not_found"),
        ):
            self.assertEqual(self._code(self._call("POST", REPLY, bad)), (status, code))
