"""Versions of an assistant: what publishes one, what each of them holds, and how one is restored."""

from unittest.mock import patch

from odoo import Command, sql_db
from odoo.exceptions import AccessError
from odoo.tests import Form, new_test_user, tagged
from odoo.tools import SQL

from .common import AiCase
from .store_data import StoreCase

VERSION = "woow_paas_platform.assistant_version"


class Published:
    """Mixed into a test case: transactions end where the test says so."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.env.cr.flush()

    def _end(self, assistant=None):
        """End the transaction.

        :return: the numbers of the versions, from the first on
        """
        self.env.cr.flush()
        return self._versions(assistant).mapped("number")

    def _versions(self, assistant=None):
        domain = [("assistant_id", "=", (assistant or self.assistant).id)]
        return self.env[VERSION].search(domain, order="number")


@tagged("post_install", "-at_install")
class TestAssistantVersions(Published, AiCase):
    @classmethod
    def _make_data(cls):
        super()._make_data()
        groups = "base.group_user,woow_paas_platform.group_admin"
        cls.admin = new_test_user(cls.env, "versions_admin", groups=groups)

    def test_a_new_assistant_and_a_copy_have_one_version(self):
        self.assertEqual(self._versions().mapped("number"), [1])
        self.assertEqual(self.assistant.version_id, self._versions())
        copy = self.assistant.copy()
        self.assertEqual(self._end(copy), [1])
        self.assertEqual(copy.version_id.assistant_id, copy)
        self.assertEqual(self._end(), [1])

    def test_a_form_that_is_not_saved_publishes_nothing(self):
        new = Form(self.env["ai.assistant"])
        new.name = "New"
        new.system_prompt = "Be brief."
        changed = Form(self.assistant)
        changed.max_rounds = 9
        self.assertEqual(self._end(), [1])
        new.config_id = self.provider
        self.assertEqual(self._end(new.save()), [1])

    def test_a_transaction_publishes_one_version(self):
        self.assistant.system_prompt = "Be brief."
        self.env.flush_all()
        self.assistant.write({"max_rounds": 3, "group_ids": [Command.clear()]})
        self.assistant.record_access_ids = [Command.create({"model": "res.partner"})]
        self.env.flush_all()
        self.assistant.name = "Other"
        self.assertEqual(self._end(), [1, 2])
        self.assertEqual(self._end(), [1, 2])
        self.assertEqual(self.assistant.version_id.content["system_prompt"], "Be brief.")

    def test_what_changes_nothing_publishes_nothing(self):
        before = self.assistant.max_rounds
        self.assistant.write({"max_rounds": before, "sequence": 77, "image": False})
        self.assertEqual(self._end(), [1])
        self.assistant.max_rounds = before + 1
        self.env.flush_all()
        self.assistant.max_rounds = before
        self.server.name = "renamed"
        self.forecast.title = "Renamed"
        self.assistant.version_note = "For nothing"
        self.provider.write({"api_key": "sk-another", "first_token_timeout": 77})
        self.assertEqual(self._end(), [1])

    def test_all_that_makes_an_assistant_publishes(self):
        access = "woow_paas_platform.record_access"
        rule = "woow_paas_platform.approval_rule"
        self.env["res.lang"]._activate_lang("zh_TW")
        line = self.env[access].create({"assistant_id": self.assistant.id, "model": "res.partner"})
        self.assertEqual(len(self._end()), 2)
        rules = self.env[rule].create(
            [
                {"assistant_id": self.assistant.id, "tool_id": self.forecast.id},
                {"assistant_id": self.assistant.id, "tool_id": self.alerts.id, "sequence": 20},
            ]
        )
        self.assertEqual(len(self._end()), 3)
        for number, change in enumerate(
            (
                lambda: line.write({"can_update": True}),
                lambda: line.write({"hidden_fields": "email"}),
                lambda: rules[0].write({"condition": "days > 3"}),
                lambda: rules[0].write({"sequence": 30}),
                rules[0].unlink,
                line.unlink,
                lambda: self.assistant.write({"approval_mode": "effects"}),
                lambda: self.assistant.write({"mcp_tool_disabled_ids": self.alerts}),
                lambda: self.assistant.with_context(lang="zh_TW").write({"name": "助理"}),
                lambda: self.assistant.update_field_translations("greeting", {"en_US": "Hi"}),
                lambda: self.provider.write({"model": "larger"}),
                lambda: self.provider.write({"temperature": 0.5}),
                self.server.unlink,
            ),
            4,
        ):
            with self.subTest(number):
                change()
                self.assertEqual(len(self._end()), number)

    def test_a_rule_for_all_assistants_belongs_to_none(self):
        self.env["woow_paas_platform.approval_rule"].create({"tool_id": self.forecast.id})
        self.assertEqual(self._end(), [1])

    def test_a_version_says_who_and_why(self):
        admin = self.admin
        assistant = self.assistant.with_user(admin)
        assistant.write({"max_rounds": 7, "version_note": "Too many rounds"})
        assistant.env.flush_all()
        self._end()
        version = self.assistant.version_id
        self.assertEqual((version.note, version.create_uid), ("Too many rounds", admin))
        self.assertFalse(self.assistant.version_note)

    def test_a_version_holds_no_secret(self):
        key = "Zk3v9QpLx72bT0aYw8RrZk3v9QpLx72b"
        self.provider.api_base_url = f"https://llm.example.com/{key}/v1?token={key}"
        self.assertEqual(self._end(), [1, 2])
        content = str(self.assistant.version_id.content)
        self.assertIn("llm.example.com", content)
        self.assertNotIn(key, content)
        self.assertNotIn("sk-provider-secret", content)

    def test_nobody_changes_a_version(self):
        version = self.assistant.version_id
        for records in (version, version.sudo(), version.with_user(self.admin)):
            with self.assertRaises(AccessError):
                records.write({"note": "x"})
            with self.assertRaises(AccessError):
                records.unlink()
        self.assistant.max_rounds = 9
        self._end()
        with self.assertRaises(AccessError):
            self.assistant.with_user(self.admin).version_id = version
        self.assistant.unlink()
        self.env.cr.flush()
        self.assertFalse(version.exists())

    def test_an_administrator_of_another_company_sees_none(self):
        other = self.env["res.company"].create({"name": "Other"})
        admin = self.admin
        self.assistant.company_id = other
        seen = self.env[VERSION].with_user(admin).search([])
        self.assertNotIn(self.assistant, seen.sudo().assistant_id)

    def test_differences_are_told_field_by_field(self):
        version = self.assistant.version_id
        self.assertIn("Helper", version.difference)
        self.assistant.write({"system_prompt": "One\nTwo\nThree"})
        self.assistant.record_access_ids = [
            Command.create({"model": "res.partner", "can_update": True})
        ]
        self._end()
        self.assistant.write({"system_prompt": "One\n<b>2</b>\nThree", "is_grounded": True})
        self._end()
        second, third = self._versions()[1:]
        self.assertIn("res.partner", second.difference)
        self.assertNotIn("res.partner", third.difference)
        self.assertIn("− Two</del>", third.difference)
        self.assertIn("+ &lt;b&gt;2&lt;/b&gt;</ins>", third.difference)
        self.assertIn("Facts Only from Tools", third.difference)
        self.assertTrue(third.is_current and not second.is_current)

    def test_restore_brings_everything_back(self):
        self.env["res.lang"]._activate_lang("zh_TW")
        self.assistant.with_context(lang="zh_TW").name = "助理"
        self.assistant.write(
            {
                "record_access_ids": [Command.create({"model": "res.partner"})],
                "approval_rule_ids": [
                    Command.create({"tool_id": self.forecast.id, "condition": "days > 3"}),
                    Command.create({"tool_id": self.alerts.id, "policy": "never", "sequence": 11}),
                ],
                "mcp_tool_disabled_ids": self.alerts.ids,
            }
        )
        self._end()
        kept = self.assistant.version_id
        self.assistant.write(
            {
                "name": "Changed",
                "greeting": "Hello",
                "system_prompt": False,
                "mcp_server_ids": [Command.clear()],
                "mcp_tool_disabled_ids": [Command.clear()],
                "record_access_ids": [
                    Command.clear(),
                    Command.create({"model": "res.country", "can_act": True}),
                ],
                "approval_rule_ids": [Command.clear()],
                "approval_mode": "auto",
                "config_id": self.provider.copy().id,
            }
        )
        self._end()
        told = kept.with_user(self.admin).action_restore()
        self.assertEqual(told["params"]["type"], "success")
        self.assertEqual(self._end(), [1, 2, 3, 4])
        restored = self.assistant.version_id
        self.assertEqual(
            (restored.content_digest, restored.note), (kept.content_digest, "Restored version 2")
        )
        self.assertEqual(self.assistant.partner_id.name, "Helper")
        self.assertEqual(kept.action_restore()["params"]["type"], "success")
        self.assertEqual(len(self._end()), 4, "nothing was to be restored")

    def test_restore_names_what_is_gone(self):
        other = self.env["ai.config"].create(
            {"name": "Gone", "api_base_url": "http://127.0.0.1:9/v1", "model": "x"}
        )
        self.assistant.write(
            {
                "config_id": other.id,
                "approval_rule_ids": [Command.create({"tool_id": self.forecast.id})],
                "max_rounds": 5,
            }
        )
        self._end()
        kept = self.assistant.version_id
        self.assistant.write({"config_id": self.provider.id, "max_rounds": 6})
        other.unlink()
        self.server.unlink()
        self._end()
        said = kept.with_user(self.admin).action_restore()["params"]
        self.assertEqual((said["type"], said["sticky"]), ("warning", True))
        for name in ("Gone", "weather", "forecast"):
            self.assertIn(name, said["message"])
        self.assertEqual((self.assistant.max_rounds, self.assistant.config_id), (5, self.provider))

    def test_settings_of_a_provider_are_its_own(self):
        kept = self.assistant.version_id
        self.provider.model = "larger"
        self._end()
        said = kept.action_restore()["params"]
        self.assertIn("settings of the provider “Test”", said["message"])
        self.assertEqual(self.provider.model, "larger")

    def test_who_may_not_release_actions_restores_without_them(self):
        action = self.env["ir.actions.server"].create(
            {
                "name": "Greet",
                "model_id": self.env["ir.model"]._get_id("res.partner"),
                "state": "code",
                "code": "pass",
            }
        )
        values = {"model": "res.partner", "action_ids": action.ids}
        self.assistant.record_access_ids = [Command.create(values)]
        self._end()
        kept = self.assistant.version_id
        self.assistant.record_access_ids.unlink()
        self._end()
        said = kept.with_user(self.admin).action_restore()["params"]
        self.assertIn("Greet", said["message"])
        self.assertEqual(self.assistant.record_access_ids.model, "res.partner")
        self.assertFalse(self.assistant.record_access_ids.action_ids)


@tagged("post_install", "-at_install")
class TestVersionsOfTurns(Published, StoreCase):
    def test_a_turn_names_the_version_that_answers(self):
        other = self._ask(self.owner).sudo()
        self.env.flush_all()
        first = self.assistant.version_id
        claim = self._claim()
        self.store.load(claim)
        self.env.invalidate_all()
        self.assertEqual((self.turn.version_id, first.number), (first, 1))
        self.assertEqual(first.turn_count, 1)
        self.assistant.max_rounds = 3
        self._end()
        claim = self._claim("two")
        self.assistant.max_rounds = 4  # between claim and load
        self._end()
        self.store.load(claim)
        self.env.invalidate_all()
        self.assertEqual(self.turn.version_id, first)
        self.assertEqual(other.version_id, self.assistant.version_id)
        self.assertEqual(other.version_id.number, 3)

    def test_versions_cost_a_turn_no_statement(self):
        claim = self._claim()
        execute = sql_db.Cursor.execute
        with patch.object(sql_db.Cursor, "execute", autospec=True, side_effect=execute) as executed:
            self.store.load(claim)
        asked = [call.args[1] for call in executed.call_args_list]
        said = [one.code if isinstance(one, SQL) else str(one) for one in asked]
        self.assertTrue(said)
        self.assertFalse([query for query in said if "assistant_version" in query])
        self.assertFalse([query for query in said if query.lstrip().startswith("UPDATE")])
