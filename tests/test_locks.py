"""What an administrator has locked stays off, whatever way its owner tries; who and why is shown."""

from lxml import etree
from odoo.exceptions import AccessError
from odoo.tests import tagged
from odoo.tools import mute_logger
from psycopg2 import IntegrityError

from ..tools.refusals import Locked
from .common import AiCase, OperatorFile
from .test_mcp_api import SERVERS, McpApiCase
from .test_mcp_server import discovery, tool
from .test_server_file import STDIO

REASON = "Sends data abroad."
ADDRESS = "https://flows.example.com/mcp"


@tagged("post_install", "-at_install")
class TestLocks(McpApiCase):
    def setUp(self):
        super().setUp()
        self.admin.name = (
            "Ada Admin"  # the log tells of each refusal, and the addon's name there is a fault
        )
        self.path = f"{SERVERS}/{self.user_server.id}"
        self.tool_path = f"/api/mcp/tools/{self.run_flow.id}"
        self.place = {"cloud_service_id": self.service.id}
        self._sign_in(self.admin)

    def _lock(self, path=None, reason=REASON):
        data = self._json("PUT", f"{path or self.path}/lock", {"reason": reason}, 200)
        self.assertFalse(data["active"])
        self._sign_in(self.owner)

    def _refused(self, method, path, body=None):
        told = self._error(method, path, 403, "locked", body)
        self.assertIn(REASON, told["message"])
        self.assertIn(self.admin.name, told["message"])
        self.assertEqual(
            (told["details"]["by"], told["details"]["reason"]), (self.admin.name, REASON)
        )

    def test_no_entrance_switches_a_locked_server_on(self):
        self._lock()
        lock = self._json("GET", self.path)["lock"]
        self.assertEqual((lock["by"], lock["reason"]), (self.admin.name, REASON))
        self._refused("PATCH", f"{self.path}/toggle", {"active": True})
        self._refused("PUT", self.path, {"active": True})
        self._refused("PUT", self.path, {"url": "https://elsewhere.example.com/mcp"})
        self._refused("DELETE", self.path)
        own = self.user_server.with_user(self.owner)
        for way in (
            lambda: own.write({"active": True}),
            lambda: own.sudo().write({"active": True}),
            own.action_enable,
            own.action_start,
            lambda: own.copy({"name": "copy"}),
            own.unlink,
        ):
            with self.subTest(way=way), self.assertRaises(Locked):
                way()
        with self.assertRaises(AccessError):
            own.write({"is_locked": False})
        self.assertFalse(self.user_server.active)
        self._json("PUT", self.path, {"description": "Still ours"}, 200)

    def test_no_second_server_takes_its_place(self):
        self._lock()
        for url in (ADDRESS, "https://FLOWS.example.com:443/mcp/?again=1"):
            self._refused("POST", SERVERS, {"url": url})
            self._refused("POST", SERVERS, {"url": url, **self.place})
            document = {"again": {"url": url}, "other": {"url": "https://other.example.com/mcp"}}
            answer = self._json("POST", "/api/mcp/import", {"mcpServers": document, **self.place})
            self.assertNotIn("again", [server["name"] for server in answer.get("servers", ())])
            self.assertIn(REASON, str(answer))
        other = self._add(url="https://another.example.com/mcp")
        self._refused("PUT", f"{SERVERS}/{other['id']}", {"url": ADDRESS})
        self._sign_in(self.stranger)
        self._add(url=ADDRESS)

    def test_no_other_spelling_of_its_address_takes_its_place(self):
        self.user_server.url = "https://flüsse.example.com/mcp"
        self._lock()
        for url in (
            "https://xn--flsse-lva.example.com/mcp",
            "https://FLÜSSE.example.com./mcp/",
            "https://flüsse.example.com/m%63p",
        ):
            with self.subTest(url=url):
                self._refused("POST", SERVERS, {"url": url})

    def test_no_template_takes_its_place(self):
        self.user_server.url = "https://mcp.context7.com/mcp"
        self._lock()
        self._refused("POST", SERVERS, {"template": "context7", "values": {}})

    def test_no_entrance_switches_a_locked_tool_on(self):
        self._lock(self.tool_path)
        (told,) = self._json("GET", f"{self.path}/tools")["tools"]
        self.assertEqual(told["lock"]["reason"], REASON)
        self._refused("PATCH", self.tool_path, {"active": True})
        self._refused("DELETE", self.path)
        self._refused("PUT", self.path, {"url": "https://elsewhere.example.com/mcp"})
        self._refused("POST", SERVERS, {"url": ADDRESS})
        own = self.run_flow.with_user(self.owner)
        for way in (lambda: own.write({"active": True}), own.action_enable):
            with self.subTest(way=way), self.assertRaises(Locked):
                way()
        with self.assertRaises(Locked):
            self.user_server.with_user(self.owner).write(
                {"tool_ids": [(1, self.run_flow.id, {"active": True})]}
            )
        self.user_server._apply_discovery(discovery(tool("run_flow", "Changed.")))
        self.user_server._apply_discovery(discovery())
        self.user_server._apply_discovery(discovery(tool("run_flow")))
        self.assertFalse(self.run_flow.active)
        self.assertTrue(self.run_flow.is_locked)

    def test_what_an_administrator_switches_off_for_somebody_is_locked(self):
        off = self._json("PATCH", f"{self.path}/toggle", {"active": False}, 200)
        self.assertEqual(off["lock"]["by"], self.admin.name)
        self._json("PATCH", self.tool_path, {"active": False}, 200)
        self._sign_in(self.owner)
        self._error("PATCH", f"{self.path}/toggle", 403, "locked", {"active": True})
        self._error("PATCH", self.tool_path, 403, "locked", {"active": True})
        self._sign_in(self.admin)
        on = self._json("PATCH", f"{self.path}/toggle", {"active": True}, 200)
        self.assertEqual((on["active"], on["lock"]), (True, None))
        self._json("PATCH", f"{SERVERS}/{self.server.id}/toggle", {"active": False}, 200)
        self.assertFalse(self.server.is_locked)  # nobody but administrators switches it

    def test_unlocked_it_is_the_owners_again(self):
        self._lock()
        for path in (self.path, self.tool_path):
            self._error("PUT", f"{path}/lock", 403, "forbidden", {})
            self._error("DELETE", f"{path}/lock", 403, "forbidden")
        self._sign_in(self.admin)
        unlocked = self._json("DELETE", f"{self.path}/lock", expect=200)
        self.assertEqual((unlocked["active"], unlocked["lock"]), (False, None))
        self._sign_in(self.owner)
        on = self._json("PATCH", f"{self.path}/toggle", {"active": True}, 200)
        self.assertTrue(on["active"])
        self._json("PATCH", f"{self.path}/toggle", {"active": False}, 200)
        self._json("PATCH", f"{self.path}/toggle", {"active": True}, 200)  # one's own switch

    def test_the_buttons_ask_for_a_reason(self):
        for records in (self.user_server, self.run_flow | self.forecast):
            action = records.with_user(self.admin).action_lock()
            wizard = self.env[action["res_model"]].with_user(self.admin).browse(action["res_id"])
            wizard.reason = REASON
            wizard.action_lock()
            self.assertEqual(records.mapped("is_locked"), [True] * len(records))
            self.assertEqual(set(records.mapped("lock_reason")), {REASON})
            records.with_user(self.admin).action_unlock()
            self.assertFalse(any(records.mapped("is_locked")))
            with self.assertRaises(AccessError):
                records[0].with_user(self.owner).action_lock()

    def test_buttons_of_lists_have_a_name(self):
        """Odoo's lists give a button's title to its tooltip only."""
        ours = [("module", "=", "woow_paas_platform"), ("model", "=", "ir.ui.view")]
        ids = self.env["ir.model.data"].search(ours).mapped("res_id")
        nameless = [
            (view.name, button.get("name"))
            for view in self.env["ir.ui.view"].browse(ids)
            for button in etree.fromstring(view.arch).xpath("//list//button[not(@string)]")
        ]
        self.assertEqual(nameless, [])

    def test_locked_means_off(self):
        self._lock()
        with mute_logger("odoo.sql_db"), self.assertRaises(IntegrityError), self.env.cr.savepoint():
            self.env.cr.execute(
                "UPDATE woow_paas_platform_mcp_server SET active = TRUE WHERE is_locked"
            )


@tagged("post_install", "-at_install")
class TestLocksAndTheFile(OperatorFile, AiCase):
    def test_a_change_of_the_file_leaves_a_lock_as_it_is(self):
        server = self._apply(STDIO)
        server.with_user(self.admin)._lock_away(REASON)
        self._apply(STDIO.replace('"cat"', '"tac"'))
        self.assertFalse(server.active)
        server.with_user(self.admin).active = True
        self.assertFalse(server.is_locked)
