from odoo.exceptions import ValidationError
from odoo.tests import tagged
from odoo.tools import mute_logger
from psycopg2 import IntegrityError

from ..models.mcp import mcp_server_state
from ..services.mcp.discovery.discovery import Discovery
from ..services.mcp.session.session import ServerInfo
from ..services.specs import DiscoveredTool
from .common import AiCase


def discovery(*tools, **more):
    return Discovery(
        tools=list(tools),
        info=ServerInfo(transport="streamable_http", protocol_version="2025-11-25"),
        **more,
    )


def tool(name, description="A tool.", **schema):
    return DiscoveredTool(
        name=name, description=description, input_schema={"type": "object", **schema}
    )


@tagged("post_install", "-at_install")
class TestMcpServer(AiCase):
    def _tools(self):
        return (
            self.env["woow_paas_platform.mcp_tool"]
            .with_context(active_test=False)
            .search([("server_id", "=", self.server.id)])
        )

    def test_sync_adds_updates_and_keeps(self):
        counts = self.server._apply_discovery(
            discovery(tool("forecast", "New words."), tool("radar"))
        )
        self.assertEqual(counts, (1, 1, 1))
        by_name = {t.name: t for t in self._tools()}
        self.assertEqual(by_name["forecast"].description, "New words.")
        self.assertTrue(by_name["radar"].is_usable)
        self.assertFalse(by_name["alerts"].available)
        self.assertEqual(self.server.state, "connected")
        self.assertTrue(self.server.last_sync)

    def test_sync_never_switches_a_tool_on_again(self):
        self.forecast.active = False
        self.server._apply_discovery(discovery(tool("forecast", "Changed.")))
        self.assertFalse(self.forecast.active)
        self.assertEqual(self.forecast.description, "Changed.")

    def test_a_tool_that_comes_back_is_available_again(self):
        self.server._apply_discovery(discovery(tool("forecast")))
        self.assertFalse(self.alerts.available)
        self.server._apply_discovery(discovery(tool("forecast"), tool("alerts")))
        self.assertTrue(self.alerts.available)

    def test_beyond_the_limit_tools_come_switched_off_and_are_told(self):
        self.server._apply_discovery(discovery(*(tool(f"t{i}") for i in range(55))))
        tools = self._tools().filtered("available")
        self.assertEqual(len(tools), 55)
        self.assertEqual(len(tools.filtered("active")), 48)
        self.assertIn("50 tools", self.server.state_message)

    def test_nobody_switches_on_more_than_the_limit(self):
        self.server._apply_discovery(discovery(*(tool(f"t{i}") for i in range(55))))
        off = self._tools().filtered(lambda t: not t.active)
        with self.assertRaisesRegex(ValidationError, "at most 50 tools"):
            off[0].action_enable()
        self._tools().filtered("active")[0].action_disable()
        off[0].action_enable()

    def test_what_is_left_out_is_told(self):
        self.server._apply_discovery(discovery(tool("forecast"), too_large=3, is_cut=True))
        self.assertIn("3 tools were left out", self.server.state_message)
        self.assertIn("too long to be read completely", self.server.state_message)

    def test_a_server_that_renames_its_tools_does_not_fill_the_tables(self):
        self.patch(mcp_server_state, "MAX_KNOWN", 10)
        Review = self.env["woow_paas_platform.mcp_tool_review"]
        before = Review.search_count([])
        for turn in range(6):
            self.server._apply_discovery(discovery(*(tool(f"t{turn}_{i}") for i in range(4))))
            self.assertEqual(self.server.tool_count, 4)
            self.assertLessEqual(len(self._tools()), 10)
        self.assertLessEqual(Review.search_count([]) - before, 10)

    def test_what_somebody_has_decided_about_is_never_forgotten(self):
        self.patch(mcp_server_state, "MAX_KNOWN", 10)
        self.forecast.approval_policy = "never"
        self.alerts.active = False
        for turn in range(4):
            self.server._apply_discovery(discovery(*(tool(f"t{turn}_{i}") for i in range(6))))
        self.assertTrue((self.forecast | self.alerts).exists() == (self.forecast | self.alerts))
        self.server._apply_discovery(discovery(tool("forecast"), tool("alerts")))
        self.assertEqual((self.forecast.approval_policy, self.alerts.active), ("never", False))

    def test_more_tools_than_can_be_known_are_told(self):
        self.patch(mcp_server_state, "MAX_KNOWN", 4)
        self.server._apply_discovery(discovery(*(tool(f"t{i}") for i in range(9))))
        self.assertEqual(len(self._tools()), 4)
        self.assertIn("too long to be read completely", self.server.state_message)

    def test_empty_list(self):
        self.assertEqual(self.server._apply_discovery(discovery()), (0, 0, 2))
        self.assertEqual(self.server.tool_count, 0)

    def test_aliases_are_legal(self):
        self.server.name = "wetter.台北"
        self.forecast.name = "get.forecast"
        self.assertRegex(self.forecast.alias, r"^[a-zA-Z0-9_-]{1,64}$")

    def test_addresses_are_checked_on_save(self):
        for url in ("ftp://example.com", "example.com/mcp", "https://me:pw@example.com/mcp", ""):
            with self.subTest(url=url), self.assertRaises(ValidationError):
                self.server.url = url

    def test_headers_are_checked_on_save(self):
        for headers in ("[1]", "{", '{"Host": "x"}', '{"X": "a\\r\\nb"}', '{"X-名": "x"}'):
            with self.subTest(headers=headers), self.assertRaises(ValidationError):
                self.server.headers_json = headers

    def test_a_new_address_is_not_tested_yet(self):
        self.server._record_health(discovery())
        self.server.url = "https://other.example.com/mcp"
        self.assertEqual(self.server.state, "draft")

    @mute_logger("odoo.sql_db")
    def test_servers_go_with_their_owner(self):
        person = self.stranger.copy({"login": "ai_leaving"})
        vals = {"name": "own", "url": "https://own.example.com", "scope": "user"}
        own = self.env[self.server._name].create({**vals, "owner_user_id": person.id})
        person.unlink()
        self.assertFalse(own.exists())
        self.service.unlink()
        self.assertFalse(self.user_server.exists())

    def test_names_are_unique_in_their_scope_only(self):
        Server = self.env["woow_paas_platform.mcp_server"].with_context(woow_no_sync=True)
        Server.create(
            {
                "name": "weather",
                "url": "https://example.com/mcp",
                "scope": "user",
                "cloud_service_id": self.service.id,
            }
        )
        with self.assertRaises(IntegrityError), self.env.cr.savepoint():
            Server.create({"name": "weather", "url": "https://example.com/mcp"})

    def test_people_read_the_display_name_and_the_model_the_name(self):
        self.server.title = "Weather of the world"
        self.assertEqual(self.server.display_name, "Weather of the world")
        found = self.env["woow_paas_platform.mcp_server"].name_search("of the world")
        self.assertEqual(found, [(self.server.id, "Weather of the world")])
        self.assertTrue(self.forecast.alias.startswith("weather__"))

    @mute_logger("odoo.sql_db")
    def test_a_user_server_belongs_to_exactly_one(self):
        with self.assertRaises(IntegrityError), self.env.cr.savepoint():
            self.env["woow_paas_platform.mcp_server"].with_context(woow_no_sync=True).create(
                {"name": "lost", "url": "https://example.com/mcp", "scope": "user"}
            )
