from datetime import timedelta
from unittest.mock import patch

from odoo import fields
from odoo.addons.mail.models import mail_thread
from odoo.tests import tagged

from ..runtime.servers import background
from ..runtime.servers.server_store import ServerStore
from ..services.errors import AuthRequired, ConnectFailed, ServerTimeout
from .common import AiCase, AiHttpCase
from .test_mcp_server import discovery, tool


@tagged("post_install", "-at_install")
class TestHealth(AiCase):
    def _check(self, error=None, server=None):
        (server or self.server)._record_check(error)

    def test_one_failure_is_a_bad_moment_and_the_next_one_a_state(self):
        self._check()
        self.assertEqual(self.server.state, "connected")
        self.server.state_since = long_ago = fields.Datetime.now() - timedelta(days=3)
        self._check()
        self.assertEqual(self.server.state_since, long_ago)
        self._check(ConnectFailed())
        self.assertEqual(self.server.state, "degraded")
        self.assertIn("cannot be reached", self.server.state_sentence)
        self.assertGreater(self.server.state_since, long_ago)
        self._check(ServerTimeout())
        self.assertEqual(self.server.state, "error")
        self._check()
        self.assertEqual((self.server.state, self.server.state_message), ("connected", False))

    def test_a_server_that_was_down_until_now_is_read_when_it_is_well(self):
        asked = []
        server = self.server.with_context(woow_no_sync=False)
        server._record_failure(ServerTimeout())
        with patch.object(background, "sync_later", lambda _name, ids, _uid: asked.append(ids)):
            self._check(ServerTimeout(), server)
            self.env.cr.postcommit.run()
            self.assertFalse(asked)
            self._check(None, server)
            self.env.cr.postcommit.run()
            self.assertEqual(asked, [server.ids])
            server._apply_discovery(discovery(tool("forecast")))
            self._check(None, server)
            self.env.cr.postcommit.run()
        self.assertEqual(asked, [server.ids])

    def test_refused_credentials_are_a_state_of_their_own(self):
        self._check(AuthRequired())
        self.assertEqual(self.server.state, "auth_required")
        self.server._record_failure(AuthRequired())
        self.assertEqual(self.server.state, "auth_required")

    def test_a_server_that_is_switched_off_is_disabled_and_left_alone(self):
        self.server.active = False
        self.assertEqual(self.server.state, "disabled")
        self._check(ConnectFailed())
        self.server._record_health(discovery())
        self.assertEqual(self.server.state, "disabled")
        self.assertNotIn(self.server, self.env["woow_paas_platform.mcp_server"]._due_for_check())
        self.server.active = True
        self.assertEqual(self.server.state, "draft")

    def test_its_owner_is_told_once_when_it_stays_down(self):
        for _ in range(5):
            self._check(ConnectFailed(), self.user_server)
        self.assertFalse(self.user_server.activity_ids)  # of which a portal user has no list
        to_owner = [("partner_ids", "in", self.owner.partner_id.ids)]
        mail = self.env["mail.message"].search(to_owner)
        self.assertEqual(len(mail), 1)
        self.assertIn("flows", mail.subject)
        self.assertIn(f"/my/services/{self.service.id}/mcp", mail.body)
        self.assertFalse(mail.model)

    def test_an_owner_of_the_own_company_has_it_among_the_activities(self):
        self.workspace.access_ids.filtered(lambda a: a.role == "owner").user_id = self.internal
        for _ in range(3):
            self._check(ConnectFailed(), self.user_server)
        self.assertEqual(self.user_server.activity_ids.user_id, self.internal)
        self._check(None, self.user_server)
        self.assertFalse(self.user_server.activity_ids)

    def test_the_portal_tells_managers_what_to_look_at(self):
        services = self.service | self.other_workspace_service()
        Server = self.env["woow_paas_platform.mcp_server"]
        self.assertEqual(
            Server.with_user(self.owner)._attention(services.with_user(self.owner)), {}
        )
        self.user_server._record_failure(ConnectFailed())
        Tool = self.env["woow_paas_platform.mcp_tool"]
        of_server = {"server_id": self.user_server.id}
        Tool.create({**of_server, "name": "fresh", "review_state": "new"})
        gone = Tool.create({**of_server, "name": "gone", "review_state": "new"})
        gone.available = False  # which nobody can decide about
        self.assertEqual(
            Server.with_user(self.owner)._attention(services.with_user(self.owner)),
            {self.service: 2},
        )
        server = self.service.with_user(self.owner)._own_servers()
        self.assertEqual((server.state, server.review_count), ("error", 1))
        for person in (self.member, self.guest, self.stranger):
            seen = self.service.with_user(person)
            self.assertEqual(
                (
                    Server.with_user(person).sudo()._attention(seen.sudo()),
                    len(seen.sudo()._own_servers()),
                ),
                ({}, 0),
            )

    def other_workspace_service(self):
        return self.env["woow_paas_platform.cloud_service"].create(
            {"name": "Elsewhere", "workspace_id": self.other_workspace.id}
        )

    def test_admins_are_told_of_a_system_server(self):
        for _ in range(3):
            self._check(ConnectFailed())
        self.assertIn(self.admin, self.server.activity_ids.user_id)
        self.assertNotIn(self.owner, self.server.activity_ids.user_id)
        self.server._apply_discovery(discovery(tool("forecast")))
        self.assertFalse(self.server.activity_ids)

    def test_nobody_who_is_told_of_it_is_waited_for(self):
        """Where the network is gone, push services and mail servers are silent, too."""
        self.registry_enter_test_mode()
        Parameter = self.env["ir.config_parameter"]
        for key in ("private", "public"):
            Parameter.set_param(f"mail.web_push_vapid_{key}_key", "x")
        self.admin.notification_type = "inbox"  # and in the browser
        device = self.env["mail.push.device"].create(
            {
                "endpoint": "https://push.example.com/1",
                "keys": "{}",
                "partner_id": self.admin.partner_id.id,
            }
        )
        self.env.flush_all()
        store = ServerStore(self.env.cr.dbname)
        with patch.object(mail_thread, "push_to_end_point") as pushed:
            for server in self.server | self.user_server:
                for _ in range(3):
                    store.checked(server.id, ConnectFailed())
        pushed.assert_not_called()
        queued = [("mail_push_device_id", "=", device.id)]
        self.assertTrue(self.env["mail.push"].search(queued))
        to_owner = [("recipient_ids", "in", self.owner.partner_id.ids)]
        self.assertEqual(self.env["mail.mail"].search(to_owner).state, "outgoing")
        cron = self.env.ref("mail.ir_cron_mail_scheduler_action")
        self.assertTrue(self.env["ir.cron.trigger"].search([("cron_id", "=", cron.id)]))

    def test_the_cron_asks_whose_time_has_come(self):
        self.registry_enter_test_mode()
        self.env["woow_paas_platform.mcp_server"].search([]).last_check = fields.Datetime.now()
        self.server.last_check = fields.Datetime.now() - timedelta(minutes=6)
        self.env.flush_all()
        asked = []
        with patch.object(background, "check_later", lambda _name, ids: asked.extend(ids)):
            for _time in range(2):
                self.env["woow_paas_platform.mcp_server"]._cron_check_health()
        self.assertEqual(asked, self.server.ids, "once")


@tagged("post_install", "-at_install")
class TestHealthInThePortal(AiHttpCase):
    def test_the_pages_of_a_service_say_what_to_look_at(self):
        self.user_server._record_failure(ConnectFailed())
        said = self.user_server.state_sentence
        list_page, page = "/my/services", f"/my/services/{self.service.id}"
        for person, is_told in ((self.owner, True), (self.member, False)):
            self._sign_in(person)
            with self.subTest(person=person.login):
                for path in (list_page, page):
                    answer = self.url_open(path)
                    self.assertEqual(answer.status_code, 200)
                    self.assertEqual("o_woow_attention" in answer.text, is_told)
                self.assertEqual(said in answer.text, is_told)
                self.assertIn(f"{page}/chat", answer.text)
