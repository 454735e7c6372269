"""Versions of a server's configuration, and acts on several servers at once."""

from unittest.mock import patch

from odoo.exceptions import AccessError, UserError
from odoo.tests import tagged

from ..tools.refusals import Refusal
from .common import AiCase, AiHttpCase, OperatorFile

VERSION = "woow_paas_platform.mcp_server_version"


@tagged("post_install", "-at_install")
class TestVersions(AiCase):
    def _numbers(self, server):
        return server.version_ids.sorted("id").mapped("number")

    def _last(self):
        return self.server.version_ids.sorted("id")[-1]

    def test_each_configuration_is_kept_once(self):
        self.server.write({"trust_level": "full", "call_timeout": 77})
        self.server.write({"trust_level": "full"})
        self.server.active = False
        self.assertEqual(self._numbers(self.server), [1, 2])
        last = self._last()
        self.assertEqual(last.changed, "trust_level, call_timeout")
        self.assertEqual(last.create_uid, self.env.user)

    def test_a_version_holds_no_secret(self):
        self.server.write({"api_key": "sk-hidden", "headers_json": '{"X-Key": "sk-hidden"}'})
        self.server.url = (
            "https://weather.example.com/s/Zk3v9QpLx72bT0aYw8Rr?api_key=sk-hidden&lang=zh"
        )
        kept = str(self.server.version_ids.mapped("configuration"))
        self.assertNotIn("sk-hidden", kept)
        self.assertNotIn("Zk3v9", kept)
        self.assertIn("lang=zh", kept)

    def test_restoring_takes_the_way_of_every_change(self):
        self.server.write({"api_key": "sk-here"})
        self.server.write({"url": "https://other.example.com/mcp", "api_key": "sk-there"})
        first = self.server.version_ids.sorted("id")[0]
        self.assertEqual(
            [(change["field"], change["to"]) for change in first._changes()],
            [("url", "https://other.example.com/mcp")],
        )
        first.action_restore()
        self.assertEqual(self.server.url, "https://weather.example.com/mcp")
        self.assertFalse(self.server.has_api_key, "another origin does not get the key")
        self.assertEqual(self._numbers(self.server), [1, 2, 3])
        self.assertTrue(self._last().is_current)

    def test_an_address_with_a_secret_is_entered_again(self):
        self.server.url = "https://weather.example.com/mcp?token=sk-1"
        self.server.title = "Same address"
        kept = self._last()
        self.server.title = "Again"
        kept.action_restore()
        self.assertEqual(self.server.title, "Same address")
        self.assertIn("token=sk-1", self.server.url, "the address did not change")
        self.server.url = "https://weather.example.com/mcp"
        with self.assertRaises(UserError):
            kept.action_restore()

    def test_a_new_name_is_no_new_address(self):
        self.server.url = "https://weather.example.com/mcp?token=sk-1"
        kept = self._last()
        self.server.name = "renamed"
        kept.action_restore()
        self.assertEqual((self.server.name, self.server.url[-4:]), ("weather", "sk-1"))

    def test_a_new_owner_reads_nothing_of_the_former_one(self):
        self.user_server.url = "https://inside.example.com/mcp"
        self.user_server.url = "https://flows.example.com/mcp"
        self.user_server.write({"cloud_service_id": False, "owner_user_id": self.stranger.id})
        found = self.env[VERSION].with_user(self.stranger).search([])
        self.assertEqual(len(found), 1)
        self.assertNotIn("inside", str(found.mapped("configuration")))

    def test_the_chatter_keeps_no_address(self):
        self._end_of_request()  # what is made and changed at once is not tracked
        self.server.url = "https://weather.example.com/mcp?api_key=sk-former"
        self._end_of_request()
        self.server.write({"url": "https://weather.example.com/mcp", "trust_level": "full"})
        self._end_of_request()
        tracked = self.server.message_ids.tracking_value_ids
        self.assertIn("trust_level", tracked.field_id.mapped("name"))
        self.assertNotIn("sk-former", str(tracked.read()))

    def _end_of_request(self):
        self.env.flush_all()
        self.env.cr.precommit.run()
        self.server.invalidate_recordset()

    def test_a_lock_holds_against_a_restore(self):
        self.user_server.url = "https://other.example.com/mcp"
        first = self.user_server.version_ids.sorted("id")[0]
        self.user_server.with_user(self.admin)._lock_away()
        with self.assertRaises(Refusal):
            first.with_user(self.owner).action_restore()
        self.assertEqual(self.user_server.url, "https://other.example.com/mcp")

    def test_only_so_many(self):
        for number in range(60):
            self.server.title = f"Title {number}"
        self.assertEqual(len(self.server.version_ids), 50)
        self.assertEqual(self._last().number, 61)

    def test_only_who_manages_the_server_restores_them(self):
        self.user_server.title = "Flows"
        for user in (self.member, self.guest, self.stranger, self.internal):
            with self.assertRaises(AccessError):
                self.user_server.version_ids[0].with_user(user).action_restore()


@tagged("post_install", "-at_install")
class TestFileVersions(OperatorFile, AiCase):
    def test_what_the_operator_says_has_none_here(self):
        server = self._apply('[[mcp.servers]]\nname = "one"\nurl = "http://127.0.0.1:9/mcp"\n')
        self._apply('[[mcp.servers]]\nname = "one"\nurl = "http://127.0.0.1:8/mcp"\n')
        self.assertFalse(server.version_ids)


@tagged("post_install", "-at_install")
class TestVersionsOverHttp(AiHttpCase):
    def test_compare_and_restore(self):
        self._sign_in(self.owner)
        path = f"/api/mcp/servers/{self.user_server.id}"
        self._call("PUT", path, {"description": "New"})
        status, answer = self._call("GET", f"{path}/versions")
        self.assertEqual((status, len(answer["versions"])), (200, 2))
        first = answer["versions"][1]
        self.assertEqual(
            first["changes"],
            [{"field": "description", "label": "Description", "from": "", "to": "New"}],
        )
        status, server = self._call("POST", f"{path}/versions/{first['id']}/restore", {})
        self.assertEqual((status, server["description"]), (200, ""))
        self.assertEqual(self._call("POST", f"{path}/versions/0/restore", {})[0], 404)

    def test_one_that_fails_costs_the_others_nothing(self):
        self._sign_in(self.owner)
        ids = [self.user_server.id, self.server.id, 0]
        status, answer = self._call(
            "POST", "/api/mcp/batch", {"server_ids": ids, "action": "disable"}
        )
        self.assertEqual(status, 200)
        told = {one["id"]: one["error"] and one["error"]["code"] for one in answer["results"]}
        self.assertEqual(
            told, {self.user_server.id: None, self.server.id: "forbidden", 0: "not_found"}
        )
        self.env.invalidate_all()
        self.assertFalse(self.user_server.active)
        self.assertTrue(self.server.active)

    def test_each_act_of_a_batch_is_done(self):
        self._sign_in(self.owner)
        more = self.user_server.copy({"name": "more", "cloud_service_id": self.service.id})
        self.env.flush_all()
        ids = [self.user_server.id, more.id]

        def act(action):
            body = {"server_ids": ids, "action": action}
            status, answer = self._call("POST", "/api/mcp/batch", body)
            self.env.invalidate_all()
            self.assertEqual((status, [one["ok"] for one in answer["results"]]), (200, [True] * 2))

        act("disable")
        self.assertFalse(any((self.user_server | more).mapped("active")))
        act("enable")
        self.assertTrue(all((self.user_server | more).mapped("active")))
        with patch.object(type(more), "_sync_after_commit", autospec=True) as synced:
            act("sync")
            self.assertEqual({call.args[0].id for call in synced.call_args_list}, set(ids))
        act("delete")
        self.assertFalse((self.user_server | more).exists())

    def test_a_selection_is_exported(self):
        self._sign_in(self.admin)
        path = f"/api/mcp/export?ids={self.server.id}&download=1"
        status, document = self._call("GET", path)
        self.assertEqual((status, list(document["mcpServers"])), (200, ["weather"]))
        self.assertEqual(
            self.server.with_user(self.admin).action_export()["url"],
            path,
        )
