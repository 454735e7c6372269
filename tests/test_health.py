from datetime import timedelta
from unittest.mock import patch

from odoo import fields
from odoo.tests import tagged

from ..runtime.servers import background
from ..services.errors import AuthRequired, ConnectFailed, ServerTimeout
from .common import AiCase
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
        activity = self.user_server.activity_ids
        self.assertEqual(activity.user_id, self.owner)
        self.assertIn("flows", activity.summary)
        self._check(None, self.user_server)
        self.assertFalse(self.user_server.activity_ids)

    def test_admins_are_told_of_a_system_server(self):
        for _ in range(3):
            self._check(ConnectFailed())
        self.assertIn(self.admin, self.server.activity_ids.user_id)
        self.assertNotIn(self.owner, self.server.activity_ids.user_id)
        self.server._apply_discovery(discovery(tool("forecast")))
        self.assertFalse(self.server.activity_ids)

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
