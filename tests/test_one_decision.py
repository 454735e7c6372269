"""One decision table, all entrances: a call runs, asks or is refused alike, wherever it is asked for."""

from contextlib import contextmanager
from dataclasses import asdict
from itertools import product

from odoo.tests import tagged

from ..models.turn.ai_turn import Question
from ..services.specs import ToolCall, TurnProgress
from ..services.testing.fake_tools import text
from ..tools import mcp_switch
from .common import ADDS, TurnByHandCase, served_mcp
from .doubles.fake_api import FakeApi
from .doubles.sampling import some
from .recall_data import PLAN, RETRIEVAL, RecallData
from .test_mcp_switch import switch

READ, DESTROY = '{"readOnlyHint": true}', '{"destructiveHint": true}'
DIRECT = ("execute-tool", "execute-tools", "proxy", "mcp client")
ALL = (*DIRECT, "proxy by an action", "chat", "resume", "action in a chat")


async def _plan(call):
    return text("Planned.")


@tagged("post_install", "-at_install")
class TestOneDecision(RecallData, TurnByHandCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls._make_recall()
        cls.assistant.mcp_server_ids += cls.crm

    def setUp(self):
        super().setUp()
        self.person = self.internal
        self.turn._request_stop()  # only turns of this person are claimed here
        self.fake = self.enterContext(served_mcp())
        self.fake.tools["make_plan"] = (_plan, PLAN)
        self.crm.url = self.fake.url
        self._sign_in(self.person)
        self.arguments = {"partner_id": self.ada.id, "deep": "true", "items": []}

    # ------------------------------------------------------------ the table

    def test_a_tool(self):
        tool, crm, assistant = self.plan, self.crm, self.assistant
        cases = (
            (
                "a read-only tool of a trusted server",
                "run",
                lambda: self._hint(READ, "annotations"),
            ),
            ("a tool that destroys nothing", "run", lambda: self._hint(ADDS, "full")),
            ("a tool that does not say so", "ask", lambda: self._hint("{}", "full")),
            ("nobody has decided", "ask", lambda: None),
            ("an untrusted server calls it read-only", "ask", lambda: self._hint(READ, "none")),
            ("a destructive tool", "ask!", lambda: self._hint(DESTROY, "full")),
            ("the tool's policy runs", "run", lambda: tool.write({"approval_policy": "auto"})),
            ("the tool's policy asks", "ask!", lambda: tool.write({"approval_policy": "ask"})),
            (
                "the tool's policy refuses",
                "never",
                lambda: tool.write({"approval_policy": "never"}),
            ),
            ("a rule for all refuses", "never", lambda: self._rule("never")),
            ("a rule of the assistant refuses", "never", lambda: self._rule("never", assistant)),
            ("a rule asks", "ask!", lambda: self._rule("ask")),
            ("a rule of the assistant asks", "ask!", lambda: self._rule("ask", assistant)),
            ("a rule runs", "run", lambda: self._rule("auto")),
            (
                "a condition is met",
                "never",
                lambda: self._rule("never", condition="deep == 'true'"),
            ),
            ("a rule for the person refuses", "never", lambda: self._person_rule("never")),
            ("a rule for the person asks", "ask!", lambda: self._person_rule("ask")),
            ("a rule for the person runs", "run", lambda: self._person_rule("auto")),
            ("a rule for a group asks", "ask!", lambda: self._person_rule("ask", is_of_group=True)),
            ("a rule for somebody else", "ask", lambda: self._person_rule("never", self.member)),
            (
                "a rule for the person is stricter than one for all",
                "ask!",
                lambda: (self._person_rule("ask"), self._rule("auto")),
            ),
            (
                "a rule for all is stricter than one for the person",
                "ask!",
                lambda: (self._person_rule("auto"), self._rule("ask")),
            ),
            ("a condition is not met", "ask", lambda: self._rule("auto", condition="deep == 'no'")),
            (
                "the assistant does not ask for trusted servers",
                "run",
                lambda: (
                    assistant.write({"approval_mode": "auto"}),
                    crm.write({"trust_level": "annotations"}),
                ),
            ),
            (
                "the assistant does not ask for trusted servers, and this is none",
                "ask",
                lambda: assistant.write({"approval_mode": "auto"}),
            ),
            ("the definition has changed", "never", lambda: self._review("changed")),
            ("the tool is switched off", "never", lambda: tool.write({"active": False})),
            ("the server is switched off", "never", lambda: crm.write({"active": False})),
            ("MCP is switched off", "never", lambda: switch(self.env, False)),
            ("the tool is gone", "never", lambda: tool.write({"available": False})),
        )
        for (name, wanted, change), entrance in some(product(cases, ALL), 3):
            with self.subTest(name, entrance=entrance), self._rolled_back():
                ask = getattr(self, f"_by_{entrance.replace('-', '_').replace(' ', '_')}")
                self.assertEqual(ask(change), self._here(entrance, wanted))

    def test_an_operation(self):
        for method, wanted in (("GET", "run"), ("POST", "ask"), ("DELETE", "ask!")):
            for entrance in ("proxy", "proxy by an action", "action in a chat"):
                with self.subTest(method, entrance=entrance), self._rolled_back():
                    self.add_note.sudo().method = method
                    self.noting.active = entrance != "proxy"
                    if entrance == "action in a chat":
                        found = self._in_chat(self.noting, {})
                    else:
                        found = self._operation(self.admin)
                    self.assertEqual(found, self._here(entrance, wanted))

    def _here(self, entrance, wanted):
        """“ask!” is a question that the existence of an action type does not answer."""
        if wanted == "ask" and entrance == "proxy by an action":
            return "run"
        if wanted.startswith("ask") and entrance == "resume":
            return "run"  # the person has allowed it
        return wanted.rstrip("!")

    # ------------------------------------------------------------ what makes the difference

    def _hint(self, annotations, trust):
        self.plan.annotations = annotations
        self.crm.trust_level = trust

    def _rule(self, policy, assistant=None, condition=False):
        self.env["woow_paas_platform.approval_rule"].create(
            {
                "tool_id": self.plan.id,
                "policy": policy,
                "condition": condition,
                "assistant_id": assistant.id if assistant else False,
            }
        )

    def _person_rule(self, policy, person=None, is_of_group=False):
        """Of the tool for the person, or of the whole server for all internal users."""
        who = {"user_ids": [(person or self.person).id], "tool_id": self.plan.id}
        if is_of_group:
            who = {"group_ids": [self.env.ref("base.group_user").id]}
        self.env["woow_paas_platform.person_rule"].create(
            {"server_id": self.crm.id, "policy": policy, **who}
        )

    def _review(self, state):
        self.plan.review_state = state

    @contextmanager
    def _rolled_back(self):
        with self.env.cr.savepoint() as savepoint:
            try:
                yield
            finally:
                savepoint.close(rollback=True)
                self.env.invalidate_all()
                if not mcp_switch.is_on(self.env):  # parameters are cached beyond a savepoint
                    self.registry.clear_all_caches()
                self.claim = None

    # ------------------------------------------------------------ entrances

    def _by_execute_tool(self, change):
        self.planning.active = False
        return self._direct(
            change, "/api/mcp/execute-tool", {"toolName": "make_plan", "arguments": self.arguments}
        )

    def _by_execute_tools(self, change):
        self.planning.active = False
        change()
        self.env.flush_all()
        call = {"name": "make_plan", "arguments": self.arguments}
        _status, answer = self._call("POST", "/api/mcp/execute-tools", {"calls": [call]})
        (result,) = answer["results"]
        return "run" if result["success"] else self._refused(result["code"], result["error"])

    def _by_mcp_client(self, change):
        """A client is shown what it may call at all."""
        self.planning.active = False
        name = self.plan.with_user(self.person).alias
        change()
        key = self._client_key(self.person)
        _status, listed = self._rpc(key, "tools/list")
        is_listed = name in [tool["name"] for tool in listed["result"]["tools"]]
        _status, answer = self._rpc(key, "tools/call", {"name": name, "arguments": self.arguments})
        if "error" in answer:
            self.assertFalse(is_listed)
            return "never"
        result = answer["result"]
        if not result["isError"]:
            self.assertTrue(is_listed)
            return "run"
        code, sentence = result["_meta"]["code"], result["content"][0]["text"]
        if code == "approval_required":
            self.assertTrue(is_listed)
            return "ask"
        return self._refused(code, sentence)

    def _by_proxy(self, change):
        self.planning.active = False
        return self._by_proxy_by_an_action(change)

    def _by_proxy_by_an_action(self, change):
        path = f"{RETRIEVAL}/mcp/proxy/{self.crm.mcp_id}/tools/make_plan/call"
        return self._direct(change, path, self.arguments)

    def _direct(self, change, path, body):
        change()
        self.env.flush_all()
        status, answer = self._call("POST", path, body)
        if status == 200:
            return "run"
        return self._refused(answer["error"]["code"], answer["error"]["message"])

    def _refused(self, code, sentence):
        self.assertIn(code, ("denied", "mcp_off", "not_found", "ErrExtActionRecallToolNotFound"))
        return "ask" if sentence.startswith("This call requires approval") else "never"

    def _operation(self, user):
        self._sign_in(user)
        box, name = self.box.box_id, self.add_note.name
        body = {
            "path": {"customer_id": self.ada.id},
            "body": {"text": "Hello", "author": "ada@example.com"},
        }
        with FakeApi() as api:
            self.box.base_url = f"{api.url}/v1"
            self.env.flush_all()
            status, answer = self._call(
                "POST", f"{RETRIEVAL}/tool/proxy/{box}/tools/{name}/call", body
            )
        return "run" if status in (200, 502) else self._refused(**self._said(answer))

    def _said(self, answer):
        return {"code": answer["error"]["code"], "sentence": answer["error"]["message"]}

    def _by_chat(self, change):
        self.turn = self._ask(self.person).sudo()
        change()
        return self._verdict(self._begin((self.plan, self.arguments))[0])

    def _by_resume(self, change):
        """The person has allowed the call; what changed meanwhile counts."""
        self.turn = self._ask(self.person).sudo()
        self._begin((self.plan, self.arguments))
        self._wait()
        self.path = f"/api/ai/turns/{self.turn.id}/decision"
        self.assertEqual(self._decide("approve_once")[0], 200)
        change()
        return self._verdict(self._resume("call_1_1")[0])

    def _by_action_in_a_chat(self, change):
        return self._in_chat(self.planning, self.arguments, change)

    def _in_chat(self, action, arguments, change=None):
        Channel = self.env["discuss.channel"].with_user(self.person)
        channel = Channel._create_ai_conversation(
            self.assistant.with_user(self.person), record=self.ada.with_user(self.person)
        )
        channel._ask(Question("Hello"))
        self.env.flush_all()
        (claim,) = self.store.claim("one", 1, 15.0)
        loaded = self.store.load(claim).request
        tool = next(tool for tool in loaded.tools if tool.action_id == action.id)
        server = next(server for server in loaded.servers if server.id == tool.server_id)
        call = ToolCall(
            id="call_a", alias=tool.alias, round=1, tool=tool, server=server, arguments=arguments
        )
        self.store.save_step(claim, asdict(TurnProgress(step=1)), [call], [])
        if change:
            change()
        self.env.flush_all()
        return self._verdict(self.store.begin_call(claim, call))

    def _verdict(self, verdict):
        return {"run": "run", "ask": "ask", "deny": "never"}[verdict.kind]


@tagged("post_install", "-at_install")
class TestStrictestAssistant(RecallData, TurnByHandCase):
    """A program is bound by the rules of every assistant that offers the tool to its user."""

    def _may(self, user):
        tool = self.forecast.with_user(user)
        return not tool._direct_call_refusal({})

    def _another(self, **values):
        return self.assistant.copy({"name": "Other", **values})

    def test_the_rule_of_one_of_two_assistants_is_enough(self):
        other = self._another()
        self.assertEqual(other.mcp_server_ids, self.server)
        self.forecast.approval_policy = "auto"
        self.assertTrue(self._may(self.member))
        rule = self.env["woow_paas_platform.approval_rule"].create(
            {"tool_id": self.forecast.id, "policy": "never", "assistant_id": other.id}
        )
        self.assertFalse(self._may(self.member))
        other.group_ids = self.env.ref("base.group_system")
        self.assertTrue(self._may(self.member), "an assistant that the caller may not chat with")
        other.group_ids = False
        other.mcp_tool_disabled_ids = self.forecast
        self.assertTrue(self._may(self.member), "an assistant that does not offer the tool")
        rule.assistant_id = self.assistant
        self.assertFalse(self._may(self.member))

    def test_one_assistant_that_asks_is_enough(self):
        self.server.trust_level = "annotations"
        other = self._another(approval_mode="auto")
        self.assertFalse(self._may(self.member))
        self.assistant.active = False
        self.assertTrue(self._may(self.member))
        other.active = False
        self.assertFalse(self._may(self.member), "without an assistant the default asks")
