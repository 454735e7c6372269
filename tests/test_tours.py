from odoo.tests import tagged

from .common import AiHttpCase


@tagged("post_install", "-at_install")
class TestTours(AiHttpCase):
    def test_admin_makes_a_server_and_an_assistant(self):
        self.env["ai.config"].create(
            {"name": "Tour Provider", "api_base_url": "http://127.0.0.1:9/v1", "model": "test"}
        )
        self.start_tour("/odoo", "woow_paas_platform.admin", login=self.admin.login)
        server = self.env["woow_paas_platform.mcp_server"].search([("name", "=", "Tour Server")])
        self.assertEqual(server.url, "https://tour.example.com/mcp")
        assistant = self.env["ai.assistant"].search([("name", "=", "Tour Assistant")])
        self.assertEqual(assistant.mcp_server_ids, self.server | server)
        self.assertEqual(assistant.mcp_tool_disabled_ids, self.alerts)
        self.assertEqual(assistant._system_tools(), self.forecast)
