"""Assistants, providers and servers of one company: who works for another one sees and uses nothing of them."""

from odoo import Command
from odoo.exceptions import AccessError, UserError, ValidationError
from odoo.tests import new_test_user, tagged
from odoo.tools import mute_logger
from psycopg2.errors import CheckViolation

from ..models.turn.ai_turn import Question
from ..runtime.turns.store import OdooStore
from ..services.errors import EngineError
from .common import TAIPEI, AiHttpCase

PASSWORD = "secret-of-a-test"


@tagged("post_install", "-at_install")
class TestCompanies(AiHttpCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        Company = cls.env["res.company"]
        cls.acme = Company.create({"name": "Acme"})
        cls.branch = Company.create({"name": "Acme Taipei", "parent_id": cls.acme.id})
        cls.other = Company.create({"name": "Other"})
        cls.inside, cls.outside = (
            [
                cls._person(company, groups, kind)
                for groups, kind in (
                    ("base.group_user", "internal"),
                    ("base.group_portal", "portal"),
                    ("woow_paas_platform.group_admin", "admin"),
                )
            ]
            for company in (cls.acme, cls.other)
        )
        cls.in_branch = cls._person(cls.branch, "base.group_user", "internal")
        cls.records = cls.assistant, cls.server, cls.provider
        cls.assistant.company_id = cls.acme
        cls.provider.company_id = cls.acme
        cls.server.company_id = cls.acme

    @classmethod
    def _person(cls, company, groups, kind):
        return new_test_user(
            cls.env,
            f"{kind} of {company.name}",
            groups=groups,
            password=PASSWORD,
            company_id=company.id,
            company_ids=[Command.set(company.ids)],
        )

    # ------------------------------------------------------------ who sees what

    def test_rows_are_seen_by_the_company_and_its_branches(self):
        for user in (*self.inside, self.in_branch):
            with self.subTest(user=user.login):
                self.assertTrue(self.assistant.with_user(user).has_access("read"))
        admin, other_admin = self.inside[-1], self.outside[-1]
        hidden = (*self.records, self.forecast, self.server.tool_ids)
        for record in hidden:
            with self.subTest(record=record):
                self.assertTrue(record.with_user(admin).has_access("write"))
                self.assertFalse(record.with_user(other_admin).has_access("read"))
                self.assertFalse(
                    record.with_user(other_admin).search_count([("id", "in", record.ids)])
                )
        for user in self.outside:
            with self.subTest(user=user.login):
                self.assertFalse(self.assistant.with_user(user).has_access("read"))
                self.assertFalse(self.forecast.with_user(user).has_access("read"))
        self.assertEqual(self.assistant.partner_id.company_id, self.acme)

    def test_what_is_shared_is_everybodys(self):
        self.assistant.mcp_server_ids = False
        for record in (self.server, self.provider, self.assistant):
            record.company_id = False
        for user in self.outside:
            self.assertTrue(self.assistant.with_user(user).has_access("read"))
        self.assertFalse(self.assistant.partner_id.company_id)

    def test_activity_is_ones_own_or_the_companys(self):
        turn = self._ask(self.inside[0]).sudo()
        call = self.env["woow_paas_platform.tool_call"].create(
            {
                "turn_id": turn.id,
                "user_id": turn.user_id.id,
                "call_id": "one",
                "tool_name": "forecast",
                "server_id": self.server.id,
            }
        )
        self.env.flush_all()
        report = self.env["woow_paas_platform.tool_call_report"].browse(call.id)
        call.outcome = "ok"
        self.env.flush_all()
        run = self.env["woow_paas_platform.ai_run"].create(
            {"user_id": turn.user_id.id, "event": "test", "assistant_id": self.assistant.id}
        )
        for record in (turn, call, report, run):
            with self.subTest(record=record):
                found = [("id", "=", record.id)]
                self.assertTrue(record.with_user(self.inside[-1]).search_count(found))
                self.assertFalse(record.with_user(self.outside[-1]).search_count(found))
        others = run.with_user(self.outside[-1])
        for act in (others.action_stop, others.action_retry):
            with self.assertRaises(AccessError):
                act()
        turn.user_id.write(
            {"company_ids": [Command.set(self.other.ids)], "company_id": self.other.id}
        )
        for record in (turn, run):
            self.assertTrue(record.with_user(turn.user_id).has_access("read"), "one's own stays")

    # ------------------------------------------------------------ what may refer to what

    def test_nothing_refers_to_another_company(self):
        theirs = self.env["ai.assistant"].create(
            {"name": "Theirs", "config_id": self.provider.copy({"company_id": False}).id}
        )
        theirs.company_id = self.other
        for vals in (
            {"config_id": self.provider.id},
            {"mcp_server_ids": [Command.link(self.server.id)]},
        ):
            with self.subTest(vals=vals), self.assertRaises(UserError):
                theirs.write(vals)
        for record, company in (
            (self.provider, self.other),
            (self.server, self.other),
            (self.assistant, self.other),
            (self.assistant, self.env["res.company"]),
        ):
            with self.subTest(record=record, company=company.name), self.assertRaises(UserError):
                record.company_id = company
        self.assistant.company_id = self.branch  # what is the parent's is the branch's, too
        with mute_logger("odoo.sql_db"), self.assertRaises(CheckViolation):
            self.user_server.company_id = self.acme
            self.env.flush_all()

    def test_a_judge_belongs_to_the_company_of_its_assistant(self):
        theirs, shared = (
            self.provider.copy({"company_id": company}) for company in (self.other.id, False)
        )
        own = self.assistant.copy({"config_id": shared.id, "mcp_server_ids": False})
        common = own.copy({"company_id": False})
        judge = shared.copy()
        test = self.env["woow_paas_platform.assistant_test"].create(
            {
                "name": "Weather",
                "assistant_id": own.id,
                "user_id": self.inside[-1].id,
                "questions": "Rain?",
                "rubric": "Is it kind?",
                "judge_id": self.provider.id,
            }
        )
        own.company_id = self.branch  # may use what is the parent's
        for record, values in (
            (test, {"judge_id": theirs.id}),
            (test, {"assistant_id": common.id}),
        ):
            with self.subTest(values=values), self.assertRaises(ValidationError):
                record.write(values)
        test.judge_id = judge
        judge.company_id = self.other
        with self.assertRaises(ValidationError):
            test._replay_spec({}, judge)

    # ------------------------------------------------------------ entrances

    def test_no_entrance_of_the_api(self):
        inside, outside = self.inside[1], self.outside[1]
        ask = {"assistant_id": self.assistant.id, "aiMessage": "Hello"}
        call = {"toolName": self.forecast.alias, "arguments": TAIPEI}
        proxy = f"/api/mcp/proxy/{self.server.mcp_id}/tools/forecast/call"
        self._sign_in(inside)
        names = [a["name"] for a in self._call("GET", "/api/ai/assistants")[1]["assistants"]]
        self.assertIn("Helper", names)
        self.assertIn("weather", str(self._call("GET", "/api/mcp/servers")[1]))
        for user in self.outside:
            self._sign_in(user)
            with self.subTest(user=user.login):
                self.assertNotIn("Helper", str(self._call("GET", "/api/ai/assistants")[1]))
                self.assertNotIn("weather", str(self._call("GET", "/api/mcp/servers")[1]))
                self.assertNotIn("weather", str(self._call("GET", "/api/mcp/connections")[1]))
                for method, path, body in (
                    ("GET", f"/api/ai/assistants/{self.assistant.id}/mcp-config", None),
                    ("GET", f"/api/ai/assistants/{self.assistant.id}/prompts", None),
                    ("POST", "/api/ai/conversations", {"assistant_id": self.assistant.id}),
                    ("POST", "/api/ai-reply", ask),
                    ("GET", f"/api/mcp/servers/{self.server.id}", None),
                    ("POST", f"/api/mcp/servers/{self.server.id}/test", None),
                    ("POST", "/api/mcp/execute-tool", call),
                ):
                    with self.subTest(path=path):
                        self.assertEqual(self._call(method, path, body)[0], 404)
                self.assertFalse(self.forecast._is_offered_to(user))
        self._sign_in(outside)
        self.assertNotIn("Helper", self.url_open(f"/my/ai?assistant_id={self.assistant.id}").text)
        self.assertNotEqual(self._call("POST", proxy, TAIPEI)[0], 200)

    def test_no_entrance_of_discuss(self):
        for user, is_offered in ((self.inside[0], True), (self.outside[0], False)):
            with self.subTest(user=user.login):
                Channel = self.env["discuss.channel"].with_user(user)
                channel = Channel._create_channel("Team", group_id=None)
                channel.woow_ai_mentions = True
                suggested = (
                    self.env["res.partner"]
                    .with_user(user)
                    .get_mention_suggestions_from_channel(channel.id, "Helper")
                )
                self.assertEqual("Helper" in str(suggested), is_offered)
                channel.message_post(
                    body="@Helper?",
                    message_type="comment",
                    subtype_xmlid="mail.mt_comment",
                    partner_ids=self.assistant.partner_id.ids,
                )
                turns = self.env["woow_paas_platform.ai_turn"].sudo()
                self.assertEqual(bool(turns.search_count([("user_id", "=", user.id)])), is_offered)

    def test_who_leaves_the_company_goes_on_with_nothing(self):
        self.enterContext(self.enter_registry_test_mode())
        user = self.inside[1]
        channel = self._conversation(user)
        channel._ask(Question("Hello"))
        user.write({"company_ids": [Command.set(self.other.ids)], "company_id": self.other.id})
        self.env.flush_all()
        store = OdooStore(self.env.cr.dbname)
        (claim,) = store.claim("one", 1, 15.0)
        with self.assertRaises(EngineError) as caught:
            store.load(claim)
        self.assertIn("no longer available", str(caught.exception))
        self._sign_in(user)
        path = f"/api/ai/conversations/{channel.id}"
        self.assertEqual(self._call("GET", path)[0], 200, "what was said stays readable")
        status, _answer = self._call("POST", f"{path}/messages", {"content": "Again"})
        self.assertGreaterEqual(status, 400)
        self.assertFalse(channel.with_user(user)._mcp_servers())
