from unittest.mock import patch

from odoo import Command
from odoo.exceptions import AccessError, UserError, ValidationError
from odoo.tests import Form, tagged
from odoo.tools import mute_logger
from psycopg2 import IntegrityError

from ..tools import notify
from .common import AiCase


@tagged("post_install", "-at_install")
class TestCloudService(AiCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.Link = cls.env["woow_paas_platform.service_link"]
        cls.workspace.access_ids = [Command.create({"user_id": cls.internal.id, "role": "user"})]
        cls.record = cls.env["res.partner"].create({"name": "Any Record"})

    def _link(self, user=None, record=None):
        return self.Link.with_user(user or self.admin).create(
            {
                "cloud_service_id": self.service.id,
                "record": f"res.partner,{(record or self.record).id}",
            }
        )

    def test_its_form_adds_a_server_of_its_own(self):
        form = Form(self.service.with_user(self.admin).with_context(woow_no_sync=True))
        with form.user_mcp_server_ids.new() as server:
            server.name = "more flows"
            server.url = "https://more.example.com/mcp"
        form.save()
        server = self.service.user_mcp_server_ids.filtered(lambda s: s.name == "more flows")
        self.assertEqual((server.scope, server.cloud_service_id), ("user", self.service))

    def test_its_servers_go_by_the_orm(self):
        server, SignIn = self.user_server, self.env["woow_paas_platform.mcp_sign_in"]
        SignIn.create({"server_id": server.id, "address": "x", "is_active": True})
        server.message_post(body="Words")
        server.activity_schedule("mail.mail_activity_data_todo", user_id=self.admin.id)
        server.active = False
        of_server = [("model", "=", server._name), ("res_id", "=", server.id)]
        of_activity = [("res_model", "=", server._name), ("res_id", "=", server.id)]
        Entry = self.env["woow_paas_platform.audit_entry"]
        deleted = [("act", "=", "deleted"), ("model", "ilike", "mcp_server")]
        self.env.flush_all()
        before = Entry.search_count(deleted)
        with (
            patch.object(notify, "server_off") as off,
            patch.object(type(SignIn), "_give_back") as given_back,
        ):
            self.service.with_user(self.admin).sudo(False).unlink()
        self.env.cr.precommit.run()
        self.assertIn(server.id, [call.args[1] for call in off.call_args_list])
        given_back.assert_called_once()
        self.assertFalse(server.exists())
        self.assertFalse(self.env["mail.message"].search(of_server))
        self.assertFalse(self.env["mail.activity"].search(of_activity))
        self.assertEqual(Entry.search_count(deleted), before + 1)

    def test_conversations_are_counted(self):
        self._conversation(self.member, self.service)
        self._conversation(self.member)
        service = self.service.with_user(self.admin)
        self.assertEqual(service.conversation_count, 1)

    def test_a_chat_opened_from_a_linked_record_uses_the_services_tools(self):
        self._link()
        action = self.Link.with_user(self.internal).action_chat_about("res.partner", self.record.id)
        self.assertEqual(action["tag"], "woow_paas_platform.ai_chat")
        service = self.service.browse(action["params"]["cloud_service_id"])
        turn = self._ask(self.internal, service=service).sudo()
        self.assertIn(self.run_flow, turn._tools())

    def test_the_action_menu_offers_the_chat_once_for_each_model(self):
        self._link()
        self._link(record=self.record.copy())
        action = self.env["ir.actions.server"].search([("woow_ai_chat", "=", True)])
        self.assertEqual(action.binding_model_id.model, "res.partner")
        run = action.with_user(self.internal).with_context(
            active_model="res.partner", active_id=self.record.id, active_ids=self.record.ids
        )
        params = run.run()["params"]
        self.assertEqual(params["cloud_service_id"], self.service.id)
        self.assertEqual((params["res_model"], params["res_id"]), ("res.partner", self.record.id))

    def test_only_who_sees_the_service_chats_about_it(self):
        self._link()
        other = self.env["res.users"].create(
            {
                "name": "Other",
                "login": "ai_other",
                "group_ids": [Command.set(self.env.ref("base.group_user").ids)],
            }
        )
        with self.assertRaisesRegex(UserError, "not linked"):
            self.Link.with_user(other).action_chat_about("res.partner", self.record.id)
        self.Link.create(
            {
                "cloud_service_id": self.service.id,
                "record": f"woow_paas_platform.mcp_server,{self.server.id}",
            }
        )
        with self.assertRaises(AccessError):
            self.Link.with_user(self.internal).action_chat_about(
                "woow_paas_platform.mcp_server", self.server.id
            )

    def test_who_may_link(self):
        with self.assertRaises(AccessError):
            self._link(self.internal)
        access = self.workspace.access_ids.filtered(lambda a: a.user_id == self.internal)
        access.role = "admin"
        link = self._link(self.internal)
        with self.assertRaises(AccessError):
            link.write({"record": f"woow_paas_platform.mcp_server,{self.server.id}"})
        for user in (self.member, self.stranger):
            with self.assertRaises(AccessError):
                link.with_user(user).read(["record"])

    def test_a_record_is_linked_once_and_must_exist(self):
        self._link()
        with mute_logger("odoo.sql_db"), self.assertRaises(IntegrityError), self.cr.savepoint():
            self._link()
        gone = self.record.copy()
        gone.unlink()
        with self.assertRaises(ValidationError):
            self._link(record=gone)

    def test_a_link_goes_with_its_record(self):
        link = self._link()
        self.record.unlink()
        self.Link._gc_dangling()
        self.assertFalse(link.exists())
