import asyncio
import json
from contextlib import contextmanager
from datetime import timedelta
from types import SimpleNamespace
from unittest.mock import patch

from odoo import Command, fields
from odoo.exceptions import AccessError, ValidationError
from odoo.tests import Form, tagged

from ..runtime.engine import Engine
from ..runtime.servers import background, server_jobs
from ..services.errors import EngineError, ServerTimeout
from ..services.mcp.discovery import health
from ..services.specs import DiscoveredTool
from ..tools import limits
from .common import AiCase, retention


def discovery(*names):
    return SimpleNamespace(
        tools=[
            DiscoveredTool(name=name, description="A tool.", input_schema={"type": "object"})
            for name in names
        ],
        protocol_version="2025-11-25",
        transport="streamable_http",
        server_info={},
        too_large=0,
        is_cut=False,
    )


@tagged("post_install", "-at_install")
class TestAdmin(AiCase):
    def _as_admin(self, record):
        return record.with_user(self.admin)

    def _limit(self, name, value):
        self.env["ir.config_parameter"].set_param(limits.PREFIX + name, value)

    # ------------------------------------------------------------ buttons

    @contextmanager
    def _told(self):
        """What is sent to the browser of the administrator meanwhile."""
        told = []
        with patch.object(
            self.env.registry["res.users"],
            "_bus_send",
            lambda user, kind, message: told.append((user, kind, message)),
        ):
            yield told

    def test_sync_tells_what_changed(self):
        with self._told() as told:
            for _time in range(2):
                self.server._tell_synced(
                    self.admin.id, *self.server._apply_discovery(discovery("forecast"))
                )
            self.server._tell_failed(self.admin.id, ServerTimeout())
        self.assertEqual(
            {(user, kind) for user, kind, _ in told}, {(self.admin, "simple_notification")}
        )
        first, second, third = (message for _user, _kind, message in told)
        self.assertIn("1 no longer offered", first["message"])
        self.assertIn("up to date: 1", second["message"])
        self.assertEqual((third["type"], third["message"]), ("danger", str(ServerTimeout())))

    def test_a_sync_waits_for_no_server(self):
        """Also of one server, and over RPC: nothing is asked before the commit, and then in the background."""
        asked = []
        servers = self._as_admin(self.server | self.user_server).with_context(woow_no_sync=False)
        with patch.object(background, "sync_later", lambda *given: asked.append(given)):
            for some, said in (
                (servers, "2 servers"),
                (servers[0], "“weather” are being reloaded"),
            ):
                asked.clear()
                self.assertIn(said, some.action_sync_tools()["params"]["message"])
                self.assertFalse(asked, "nothing starts before the commit")
                self.env.cr.postcommit.run()
                self.assertEqual(asked, [(self.env.cr.dbname, some.ids, self.admin.id)])

    def test_the_test_of_a_connection_is_for_who_manages_the_server(self):
        action = self._as_admin(self.server).action_test_connection()
        self.assertEqual(action["params"], {"path": f"/api/mcp/servers/{self.server.id}/test"})
        with self.assertRaises(AccessError):
            self.server.with_user(self.member).action_test_connection()

    def test_switch_off_and_on_in_a_batch(self):
        servers = self._as_admin(self.server | self.user_server)
        servers.action_disable()
        self.assertFalse(any(servers.mapped("active")))
        self.assertFalse(self.forecast.is_usable)
        servers.action_enable()
        tools = self._as_admin(self.forecast | self.alerts)
        tools.action_disable()
        self.assertEqual(self.assistant._system_tools(), self.env["woow_paas_platform.mcp_tool"])
        tools.action_enable()
        self.assertEqual(self.assistant._system_tools(), self.forecast | self.alerts)

    def test_people_switch_only_what_they_manage(self):
        for user in (self.member, self.internal):
            with self.assertRaises(AccessError):
                self.server.with_user(user).action_disable()
            with self.assertRaises(AccessError):
                self.forecast.with_user(user).action_disable()

    def test_smart_buttons_count_and_lead_there(self):
        turn = self._ask(self.member).sudo()
        self.env["woow_paas_platform.tool_call"].create(
            {
                "turn_id": turn.id,
                "user_id": self.member.id,
                "call_id": "call-1",
                "tool_name": "forecast",
                "tool_id": self.forecast.id,
                "server_id": self.server.id,
            }
        )
        assistant, server = self._as_admin(self.assistant), self._as_admin(self.server)
        self.assertEqual((assistant.turn_count, assistant.call_count), (1, 1))
        self.assertEqual((server.tool_count, server.call_count), (2, 1))
        for action in (
            assistant.action_view_turns(),
            assistant.action_view_calls(),
            server.action_view_tools(),
            server.action_view_calls(),
        ):
            found = self.env[action["res_model"]].with_user(self.admin).search(action["domain"])
            self.assertEqual(len(found), 2 if "mcp_tool" in action["res_model"] else 1)

    # ------------------------------------------------------------ assistant's form

    def test_the_kanban_begins_with_what_is_in_trouble(self):
        self.server.state = "connected"
        self.user_server.state = "error"
        servers = self._as_admin(self.server | self.user_server)
        groups = servers.with_context(read_group_expand=True).formatted_read_group(
            [("id", "in", servers.ids)], ["state"], ["__count"]
        )
        self.assertEqual([group["state"] for group in groups], ["error", "connected"])

    def test_each_page_has_an_address(self):
        data = self.env["ir.model.data"].search(
            [("module", "=", "woow_paas_platform"), ("model", "=", "ir.actions.act_window")]
        )
        actions = self.env["ir.actions.act_window"].browse(data.mapped("res_id"))
        self.assertTrue(actions)
        nowhere = actions.filtered(lambda a: a.target == "current" and not a.path)
        self.assertFalse(nowhere.mapped("name"))

    def test_a_tool_that_is_off_everywhere_stays_in_the_disabled_ones(self):
        self.forecast.active = False
        self.server.active = False
        self.assistant.mcp_tool_disabled_ids = [Command.link(self.forecast.id)]
        self.assistant.invalidate_recordset()
        self.assertEqual(self.assistant.mcp_tool_disabled_ids, self.forecast)
        self.assertEqual(self.assistant.mcp_server_ids, self.server)

    def test_a_new_assistant_takes_the_rounds_of_the_settings(self):
        self._limit("max_rounds", 7)
        form = Form(self.env["ai.assistant"].with_user(self.admin))
        self.assertEqual(form.max_rounds, 7)

    # ------------------------------------------------------------ settings

    def test_settings_hold_the_defaults_and_keep_what_is_set(self):
        settings = self.env["res.config.settings"].create({})
        self.assertEqual(settings.woow_max_tools_per_server, 50)
        settings.woow_max_tools_per_server = 3
        settings.execute()
        self.assertEqual(limits.get(self.env, "max_tools_per_server"), 3)
        self.server._apply_discovery(discovery("a", "b", "c", "d", "e"))
        self.assertIn("3 tools", self.server.state_message)

    def test_only_a_setting_that_has_changed_is_in_the_audit_log(self):
        def told():
            known = Log.search([])
            settings.execute()
            self.env.flush_all()
            changed = (Log.search([]) - known).filtered(lambda one: one.act == "setting_changed")
            return [json.loads(one.codes) for one in changed]

        Log, key = self.env["woow_paas_platform.audit_entry"], f"{limits.PREFIX}mail_after_minutes"
        settings = self.env["res.config.settings"].create({"woow_mail_after_minutes": 15})
        told()
        self.assertEqual(told(), [])
        settings.woow_mail_after_minutes = 0
        self.assertEqual(told(), [{"key": key, "value": ["15", "0"]}])
        self.assertEqual(told(), [])
        self.assertEqual(limits.get(self.env, "mail_after_minutes"), 0)
        settings.woow_mail_after_minutes = 5
        self.assertEqual(told(), [{"key": key, "value": ["0", "5"]}])

    def test_a_limit_that_makes_no_sense_is_refused_or_ignored(self):
        with self.assertRaises(ValidationError):
            self.env["res.config.settings"].create({"woow_max_rounds": 0})
        for wrong in (
            {"woow_run_approval_hours": 2**31 - 1},
            {"woow_result_retention_days": 10**6},
        ):
            with self.subTest(**wrong), self.assertRaisesRegex(ValidationError, "hundred years"):
                self.env["res.config.settings"].create(wrong)
        self._limit("max_rounds", "many")
        self.assertEqual(limits.get(self.env, "max_rounds"), 5)

    def test_servers_of_an_assistant_are_limited_by_the_settings(self):
        self._limit("max_servers_per_assistant", 1)
        other = self.server.copy({"name": "another"})
        with self.assertRaisesRegex(ValidationError, "at most 1"):
            self.assistant.mcp_server_ids = [Command.link(other.id)]

    # ------------------------------------------------------------ crons

    def test_the_cron_reads_what_is_due_and_no_other(self):
        self.registry_enter_test_mode()
        now = fields.Datetime.now()
        everyone = self.env["woow_paas_platform.mcp_server"].search([])
        everyone.last_attempt = now
        self.server.last_attempt = now - timedelta(hours=25)
        self.user_server.last_attempt = False
        self.env.flush_all()
        asked = []
        with patch.object(background, "sync_later", lambda _name, ids, _uid: asked.append(ids)):
            for _time in range(2):
                everyone._cron_sync_tools()
        self.assertEqual(asked, [(self.user_server | self.server).ids], "once")

    def test_a_dead_server_costs_the_others_nothing(self):
        """Its own time-out, and even a write of it that fails."""

        class Store:
            name, kept = "db", []

            def specs(self, ids):
                return {number: SimpleNamespace(id=number) for number in ids}

            def keep(self, server_id, found, uid):
                if server_id == 3:
                    raise ValueError("a write that fails")
                self.kept.append((server_id, found, uid))

        class Host:
            async def db(self, _name, method, *args):
                return method(*args)

        class Engine:
            async def discover(self, spec):
                if spec.id == 1:
                    await asyncio.sleep(0)
                    raise ServerTimeout
                if spec.id == 5:
                    raise ValueError("a fault of ours")
                return "tools"

        store = Store()
        with self.assertLogs("odoo.addons.woow_paas_platform.runtime.servers.server_jobs", "ERROR"):
            asyncio.run(server_jobs.sync(Engine(), Host(), store, [1, 2, 3, 4, 5], 7))
        outcomes = {server_id: found for server_id, found, _uid in store.kept}
        self.assertEqual(sorted(outcomes), [1, 2, 4, 5])
        self.assertIsInstance(outcomes[1], ServerTimeout)
        self.assertIsInstance(outcomes[5], EngineError)

    def test_a_server_that_swallows_everything_is_a_sentence(self):
        async def never(_once):
            await asyncio.Event().wait()

        engine = Engine(None, 1, SimpleNamespace(), None, None)
        engine.load()
        spec = SimpleNamespace(sync_timeout=0.01)
        with patch.object(health, "patiently", never), self.assertRaises(ServerTimeout):
            asyncio.run(engine.discover(spec))

    def test_results_go_with_their_age_and_the_line_stays(self):
        turn = self._ask(self.member).sudo()
        # The results of an open turn are still needed.
        turn.write({"state": "done", "ended_at": fields.Datetime.now()})
        old, young = self.env["woow_paas_platform.tool_call"].create(
            [
                {
                    "turn_id": turn.id,
                    "call_id": call_id,
                    "tool_name": "forecast",
                    "arguments": {"city": "Taipei"},
                    "outcome": "ok",
                    "result": "sunny",
                    "llm_text": "sunny",
                }
                for call_id in ("old", "young")
            ]
        )
        self.env.flush_all()
        self.env.cr.execute(
            "UPDATE woow_paas_platform_tool_call SET create_date = create_date - interval '181 days'"
            " WHERE id = %s",
            [old.id],
        )
        retention(self.env)
        self.env.invalidate_all()
        self.assertFalse(old.result or old.llm_text)
        self.assertEqual((old.outcome, old.arguments), ("ok", {"city": "Taipei"}))
        self.assertEqual(old._api_format()["result"], "")
        self.assertEqual(young.result, "sunny")
