from unittest.mock import patch

from odoo import Command
from odoo.exceptions import AccessError
from odoo.tests import new_test_user, tagged
from odoo.tools import mute_logger

from ..models.mcp.mcp_check import MAX_CHECKS
from ..runtime.servers import background
from ..services.errors import ServerRefused
from ..tools.refusals import TooOften
from .common import AiCase, AiHttpCase

SERVER = "woow_paas_platform.mcp_server"


@tagged("post_install", "-at_install")
class TestAttackOnServers(AiCase):
    """What people who manage a server of their own can make of it over Odoo's RPC."""

    def _own(self, user, **context):
        values = {
            "name": "mine",
            "url": "https://mine.example.com/mcp",
            "scope": "user",
            "owner_user_id": user.id,
        }
        return self.env[SERVER].with_user(user).with_context(**context).create(values)

    def test_only_odoo_writes_what_is_readonly(self):
        """Over RPC, too, and not by defaults that the caller brings along."""
        claims = {
            "mcp_id": "mine",
            "state": "connected",
            "state_message": "All is well.",
            "failed_checks": -100,
            "header_names": "X-Team",
            "managed_by_file": True,
            "file_digest": "x",
            "env_config": {"image": "x"},
        }
        for user in (self.owner, self.admin):
            server = self.user_server.with_user(user)
            for name, value in claims.items():
                with self.subTest(user=user.login, name=name):
                    with self.assertRaises(AccessError):
                        server.write({name: value})
                    with self.assertRaises(AccessError):
                        server.create({"name": "x", "url": "https://x.example.com", name: value})
            self.assertEqual(server.copy({"name": user.login}).state, "draft")
        context = {f"default_{name}": value for name, value in claims.items()}
        self.env["ir.default"].set(SERVER, "managed_by_file", True)
        server = self._own(self.stranger, **context)
        self.assertNotEqual(server.mcp_id, "mine")
        self.assertEqual(server.state, "draft")
        self.assertFalse(any(server[name] for name in claims.keys() - {"mcp_id", "state"}))

    def test_a_secret_is_not_sent_to_another_address(self):
        """Who may change the address must not learn by it what its owner has entered."""
        helper = new_test_user(self.env, "ai_helper", groups="base.group_portal")
        self.workspace.access_ids = [Command.create({"user_id": helper.id, "role": "admin"})]
        server = self.user_server.with_user(self.owner)
        server.write({"api_key": "sk-flows", "headers_json": '{"X-Key": "sk-header"}'})
        server.with_user(helper).url = "https://flows.example.com/sse"
        self.assertEqual(server.sudo()._server_spec().api_key, "sk-flows")
        for url in (
            "https://flows.evil.example/mcp",
            "http://flows.example.com/mcp",
            "https://flows.example.com:8443/mcp",
        ):
            server.write({"url": "https://flows.example.com/mcp"})
            server.write({"api_key": "sk-flows", "headers_json": '{"X-Key": "sk-header"}'})
            with self.subTest(url=url):
                server.with_user(helper).write({"url": url, "api_key": ""})
                spec = server.sudo()._server_spec()
                self.assertEqual((spec.api_key, spec.headers), ("", {}))
                self.assertFalse(server.header_names)
        server.with_user(helper).write({"url": "https://other.example", "api_key": "sk-other"})
        self.assertEqual(server.sudo()._server_spec().api_key, "sk-other")

    def test_a_client_secret_is_not_sent_to_another_issuer(self):
        values = {
            "authorization": "oauth_client",
            "oauth_client_id": "odoo",
            "oauth_client_secret": "sk-client",
            "oauth_issuer": "https://login.example.com",
        }
        server = self.user_server.with_user(self.owner)
        server.write(values)
        self.assertEqual(server.sudo()._server_spec().oauth.client_secret, "sk-client")
        server.oauth_issuer = "https://login.evil.example"
        self.assertEqual(server.sudo()._server_spec().oauth.client_secret, "")

    def test_nobody_turns_odoo_against_other_machines(self):
        """Over RPC as over the API: tests, syncs, and what is read of servers that are new."""
        server = self._own(self.stranger, woow_no_sync=True).with_context(woow_no_sync=False)

        def add_and_remove():
            self._own(self.owner).unlink()

        with patch.object(background, "sync_later"):
            for ask in (server.action_sync_tools, add_and_remove):
                for _time in range(MAX_CHECKS):
                    ask()
                with self.assertRaises(TooOften):
                    ask()

    def test_what_a_server_says_is_no_page_for_its_owners(self):
        said = ServerRefused.of_rpc(1, '<a href="https://evil.example">Sign in</a>')
        for _time in range(3):
            self.user_server._record_check(said)
        to_owner = [("partner_ids", "in", self.owner.partner_id.ids)]
        note = self.env["mail.message"].search(to_owner, limit=1).body
        self.assertIn("Sign in", note)
        self.assertEqual(note.count("<a"), 1)  # ours, to the page

    def test_one_name_twice_costs_only_itself(self):
        document = {
            "a": {"url": "https://a.example.com/mcp"},
            " a": {"url": "https://b.example.com/mcp"},
        }
        owner = {"scope": "user", "cloud_service_id": False, "owner_user_id": self.stranger.id}
        Server = self.env[SERVER].with_user(self.stranger)
        servers, notes = Server._import_servers(document, owner)
        self.assertEqual(servers.mapped("url"), ["https://a.example.com/mcp"])
        self.assertEqual([note["name"] for note in notes], ["a"])

    def test_portal_users_send_no_mail_through_a_server(self):
        someone = self.env["res.partner"].create({"name": "Anna", "email": "anna@example.com"})
        server = self._own(self.stranger, woow_no_sync=True)
        mail = {"body": "Pay here", "partner_ids": someone.ids}
        for as_whom in (server, server.sudo()):  # Odoo's routes post with sudo
            for way in (
                lambda s: s.message_post(**mail),
                lambda s: s.message_notify(**mail),
                lambda s: s.message_mail_with_source("mail.message_origin_link"),
                lambda s: s.message_subscribe(partner_ids=someone.ids),
                lambda s: s.activity_schedule("mail.mail_activity_data_todo", user_id=2),
            ):
                with self.assertRaises(AccessError):
                    way(as_whom)
        for model, vals in (
            ("mail.message", {"model": server._name, "res_id": server.id, **mail}),
            ("mail.followers", {"res_model": server._name, "res_id": server.id}),
            ("mail.activity", {"res_model": server._name, "res_id": server.id}),
        ):
            with self.subTest(model=model), self.assertRaises(AccessError):
                self.env[model].with_user(self.stranger).create(vals)
        server.write({"trust_level": "full", "active": False})  # what is tracked may change
        self.assertFalse(self.env["mail.message"].search([("partner_ids", "in", someone.ids)]))
        self.server.with_user(self.admin).message_post(body="Fixed", partner_ids=someone.ids)

    def test_a_message_of_a_conversation_goes_to_nobody_else(self):
        someone = self.env["res.partner"].create({"name": "Anna", "email": "anna@example.com"})
        channel = self._conversation(self.member)
        for as_whom in (channel, channel.sudo()):
            message = as_whom.message_post(
                body="Pay here",
                message_type="comment",
                subtype_xmlid="mail.mt_comment",
                partner_ids=someone.ids,
            )
            self.assertFalse(message.sudo().notification_ids)


@tagged("post_install", "-at_install")
class TestAttackOnMessages(AiHttpCase):
    def _post(self, record):
        body = {
            "thread_model": record._name,
            "thread_id": record.id,
            "post_data": {"body": "Pay here", "message_type": "comment"},
        }
        return self._call("POST", "/mail/message/post", {"params": body})[1]

    def test_portal_users_write_no_message_about_a_server_over_the_route(self):
        server = self.user_server
        self._sign_in(self.owner)
        with mute_logger("odoo.http"):
            self.assertIn("error", self._post(server))
        self.assertNotIn("Pay here", str(server.message_ids.mapped("body")))
        self._sign_in(self.admin)
        self.assertIn("result", self._post(server))


@tagged("post_install", "-at_install")
class TestAttackOnSignIns(AiHttpCase):
    def test_a_stranger_learns_no_server_by_signing_in(self):
        """A row of one's own would tell the name of its server."""
        self.user_server.authorization = "oauth_user"
        self._sign_in(self.stranger)
        path = f"/api/ai/oauth/start/{self.user_server.id}"
        self.assertEqual(self.opener.get(self.base_url() + path, timeout=20).status_code, 404)
        self.assertFalse(
            self.env["woow_paas_platform.mcp_sign_in"].search([("user_id", "=", self.stranger.id)])
        )
