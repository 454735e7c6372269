"""Drafts of assistants: edited apart, published by hand, and never used by anybody before."""

from contextlib import contextmanager

from odoo import Command
from odoo.exceptions import AccessError, UserError
from odoo.tests import Form, new_test_user, tagged
from odoo.tools import mute_logger
from psycopg2.errors import CheckViolation

from .common import AiCase
from .test_assistant_versions import Published


@tagged("post_install", "-at_install")
class TestDrafts(Published, AiCase):
    @classmethod
    def _make_data(cls):
        super()._make_data()
        cls.assistant.record_access_ids = [Command.create({"model": "res.partner"})]
        cls.assistant.system_prompt = "Be kind."
        groups = "base.group_user,woow_paas_platform.group_admin"
        cls.admin = new_test_user(cls.env, "drafts_admin", groups=groups)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls._switch("True")

    @classmethod
    def _switch(cls, value):
        cls.env["ir.config_parameter"].set_param("woow_paas_platform.drafts", value)

    def _mine(self, record):
        return record.with_user(self.admin).sudo(False)

    def _draft(self):
        opened = self._mine(self.assistant).action_edit_draft()
        draft = self.env["ai.assistant"].browse(opened["res_id"])
        return self._mine(draft)

    def _change(self, draft):
        draft.write(
            {
                "name": "Secret Plan",
                "greeting": "Not yet",
                "system_prompt": "Be rude.",
                "group_ids": [Command.clear()],
                "is_open_to_clients": True,
                "approval_mode": "auto",
                "mcp_server_ids": [Command.clear()],
                "record_access_ids": [
                    Command.create({"model": "res.country", "can_delete": True, "policy": "auto"})
                ],
                "approval_rule_ids": [Command.create({"tool_id": self.forecast.id})],
            }
        )
        self._end()

    @contextmanager
    def _refused_by_the_database(self):
        with (
            self.assertRaises(CheckViolation),
            mute_logger("odoo.sql_db"),
            self.env.cr.savepoint(),
        ):
            yield

    def test_a_draft_is_the_same_until_it_is_changed(self):
        draft = self._draft()
        self.assertFalse(draft.draft_difference)
        self.assertEqual(self._draft(), draft, "there is one")
        draft.system_prompt = "Be brief."
        self.assertIn("+ Be brief.</ins>", draft.draft_difference)
        self.assertEqual(self._end(), [1])

    def test_nothing_of_a_draft_is_used_before_it_is_published(self):
        draft = self._draft()
        self._change(draft)
        self.assertEqual(self._end(), [1], "the published state is what it was")
        self.assertFalse(self._versions(draft))
        self.assertEqual(self.assistant.partner_id.name, "Helper")
        for user in (self.internal, self.owner, self.stranger):
            Assistant = self.env["ai.assistant"].with_user(user).with_context(active_test=False)
            self.assertNotIn(draft.id, Assistant.search([]).ids)
            with self.assertRaises(AccessError):
                draft.with_user(user).read(["name", "greeting"])
            with self.assertRaises(UserError):
                self.env["discuss.channel"].with_user(user)._create_ai_conversation(
                    draft.with_user(user)
                )
        with self._refused_by_the_database():
            draft.active = True
            self.env.flush_all()

    def test_publishing_takes_no_models_from_gateways(self):
        self._switch("")
        self.assistant.is_open_to_clients = True
        self._end()
        self._switch("True")
        line = self.assistant.record_access_ids
        gateway = self.env["woow_paas_platform.gateway"].create(
            {"name": "Desk", "record_access_ids": [Command.set(line.ids)]}
        )
        draft = self._draft()
        offered = gateway._fields["record_access_ids"].domain
        own = [("assistant_id", "in", (self.assistant | draft).ids)]
        self.assertEqual(line.search([*offered, *own]), line, "a draft's lines cannot be chosen")
        draft.record_access_ids.can_update = True
        draft.record_access_ids = [Command.create({"model": "res.country"})]
        draft.action_publish()
        self._end()
        self.assertEqual(gateway.record_access_ids, line)
        self.assertTrue(line.can_update)
        self.assistant.version_id._before().action_restore()
        self.assertEqual(gateway.record_access_ids, line)

    def test_publishing_makes_one_version_with_its_note(self):
        draft = self._draft()
        self._change(draft)
        draft.draft_note = "At last"
        draft.action_publish()
        self.assertEqual(self._end(), [1, 2])
        latest = self.assistant.version_id
        self.assertEqual((latest.note, latest.create_uid), ("At last", self.admin))
        self.assertEqual(latest.content["system_prompt"], "Be rude.")
        self.assertEqual(
            [one["model"] for one in latest.content["record_access_ids"]][-1], "res.country"
        )
        self.assertEqual(latest.content["approval_rule_ids"][0]["tool_id"]["id"], self.forecast.id)
        self.assertFalse(draft.exists())
        self.assertEqual(self.assistant.partner_id.name, "Secret Plan")
        self.assertTrue(self.assistant.active)

    def test_discarding_changes_nothing(self):
        draft = self._draft()
        self._change(draft)
        draft.action_discard_draft()
        self.assertEqual(self._end(), [1])
        self.assertFalse(draft.exists())
        self.assertTrue(self.assistant.partner_id.exists())
        for act in ("action_publish", "action_discard_draft"):
            with self.assertRaises(UserError):
                getattr(self._mine(self.assistant), act)()

    def test_what_is_published_changes_by_no_other_way(self):
        assistant = self._mine(self.assistant)
        rule = {"tool_id": self.forecast.id, "assistant_id": assistant.id}
        access = assistant.record_access_ids
        for change in (
            lambda: assistant.write({"system_prompt": "Be rude."}),
            lambda: assistant.update_field_translations("name", {"en_US": "Other"}),
            lambda: access.write({"can_delete": True}),
            access.unlink,
            lambda: assistant.env["woow_paas_platform.approval_rule"].create(rule),
            lambda: self.server.with_user(self.admin).write({"assistant_ids": [Command.clear()]}),
        ):
            with self.assertRaises(UserError), self.env.cr.savepoint():
                change()
                self._end()
            self.env.cr.precommit.clear()
            self.env.invalidate_all()
        self.assertEqual(self._end(), [1])

    def test_what_follows_from_elsewhere_goes_on(self):
        self.provider.model = "larger"
        self.assertEqual(self._end(), [1, 2])
        self._mine(self.assistant).active = False
        self._mine(self.assistant).active = True
        self.server.unlink()
        self.assertEqual(self._end(), [1, 2, 3])

    def test_a_version_is_restored_and_the_draft_says_so(self):
        draft = self._draft()
        self._change(draft)
        draft.action_publish()
        self._end()
        draft = self._draft()
        self._mine(self._versions()[0]).action_restore()
        self.assertEqual(self._end(), [1, 2, 3])
        self.assertIn("users get version 3. It began as version 2", draft.draft_sentence)
        self.assertIn("3. To change it, edit", self._mine(self.assistant).draft_sentence)

    def test_the_form_is_read_only_where_drafts_are_on(self):
        form = Form(self._mine(self.assistant))
        with self.assertRaises(AssertionError):
            form.system_prompt = "Be rude."
        with Form(self._draft()) as form:
            form.system_prompt = "Be brief."
        self._switch(False)
        with Form(self._mine(self.assistant)) as form:
            form.system_prompt = "Be exact."
        self.assertEqual(self._end(), [1, 2])

    def test_released_actions_stay_without_the_right_to_release(self):
        action = self.env["ir.actions.server"].create(
            {
                "name": "Greet",
                "model_id": self.env["ir.model"]._get_id("res.partner"),
                "state": "code",
                "code": "pass",
            }
        )
        self._switch(False)
        self.assistant.record_access_ids.action_ids = action
        self._end()
        self._switch("True")
        draft = self._draft()
        self.assertFalse(draft.draft_difference)
        draft.record_access_ids.can_update = True
        draft.action_publish()
        self._end()
        self.assertEqual(self.assistant.record_access_ids.action_ids, action)
        draft = self._draft()
        draft.sudo().record_access_ids.action_ids = False
        with self.assertRaises(UserError):
            draft.action_publish()

    def test_assistants_of_services_are_saved_at_once(self):
        own = self.env["ai.assistant"].create(
            {
                "name": "Own",
                "config_id": self.provider.id,
                "cloud_service_id": self.service.id,
                "group_ids": False,
            }
        )
        self._end()
        self._mine(own).system_prompt = "Be exact."
        self.assertEqual(self._end(own), [1, 2])
        with self.assertRaises(UserError):
            self._mine(own).action_edit_draft()

    def test_only_administrators_have_drafts(self):
        draft = self._draft()
        for user in (self.internal, self.owner, self.public):
            with self.assertRaises(AccessError):
                self.assistant.with_user(user).sudo(False).action_edit_draft()
            for act in ("action_publish", "action_discard_draft"):
                with self.assertRaises(AccessError):
                    getattr(draft.with_user(user), act)()
        self.assertTrue(draft.exists())
