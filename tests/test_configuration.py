"""Configuration files: from one database into another, and what of a file is refused."""

import base64
import json
from unittest.mock import patch

from odoo import Command
from odoo.exceptions import AccessError, ValidationError
from odoo.tests import new_test_user, tagged
from odoo.tools import mute_logger
from psycopg2.errors import UniqueViolation

from ..services.versions import exchange
from ..tools.refusals import BadInput, Changed
from .common import AiCase
from .test_mcp_server import discovery, tool

EGRESS = "odoo.addons.woow_paas_platform.services.net.egress"
TRANSFER = "woow_paas_platform.configuration_transfer"
TEST = "woow_paas_platform.assistant_test"


class ConfigurationCase(AiCase):
    @classmethod
    def _make_data(cls):
        super()._make_data()
        cls.rule = cls.env["woow_paas_platform.approval_rule"].create(
            {"tool_id": cls.forecast.id, "condition": "days > 3", "policy": "never"}
        )
        cls.assistant.write(
            {
                "system_prompt": "Be kind.\nBe brief.",
                "group_ids": cls.env.ref("base.group_user").ids,
                "mcp_tool_disabled_ids": cls.alerts.ids,
                "record_access_ids": [
                    Command.create({"model": "res.partner", "hidden_fields": "phone"})
                ],
                "approval_rule_ids": [
                    Command.create({"tool_id": cls.forecast.id, "policy": "ask"})
                ],
            }
        )
        cls.test = cls.env[TEST].create(
            {
                "name": "Weather",
                "assistant_id": cls.assistant.id,
                "user_id": cls.admin.id,
                "questions": "Weather in Taipei?",
                "recordings": [
                    {"tool": "forecast", "arguments": {"city": "Taipei"}, "text": "Sunny: 31."}
                ],
                "expectation_ids": [
                    Command.create(
                        {"kind": "called", "tool": "forecast", "arguments": '{"city": "Tai*"}'}
                    ),
                    Command.create({"kind": "contains", "text": "sunny"}),
                    Command.create(
                        {
                            "kind": "value",
                            "model_id": cls.env["ir.model"]._get_id("res.partner"),
                            "domain": "[('active', '=', True)]",
                        }
                    ),
                    Command.create({"kind": "tokens", "number": 900}),
                ],
                "judge_id": cls.provider.id,
                "rubric": "Is it kind?",
            }
        )
        cls.server.write({"api_key": "sk-server-secret", "headers_json": '{"X-Key": "sk-h"}'})
        cls.env.flush_all()

    @property
    def Transfer(self):
        return self.env[TRANSFER].with_user(self.admin).sudo(False)

    def _export(self, assistants=None):
        assistants = self.assistant if assistants is None else assistants
        assistants.with_user(self.admin).sudo(False).action_export_configuration()
        transfer = self.Transfer.search([], limit=1, order="id desc")
        return json.loads(base64.b64decode(transfer.file))

    def _transfer(self, document):
        raw = document if isinstance(document, bytes) else json.dumps(document).encode()
        return self.Transfer.create({"file": base64.b64encode(raw)})

    def _preview(self, document):
        transfer = self._transfer(document)
        transfer.action_preview()
        return transfer

    def _import(self, document):
        transfer = self._preview(document)
        self.env.flush_all()
        message = transfer.action_import()["params"]["message"]
        self.env.flush_all()
        self.env.invalidate_all()
        return message

    def _state(self):
        """Numbers of records, and the export, which tells whatever has changed."""
        models = ("ai.config", "ai.assistant", "woow_paas_platform.mcp_server")
        models += ("woow_paas_platform.approval_rule", "woow_paas_platform.mcp_tool")
        models += (TEST, "woow_paas_platform.test_expectation")
        counts = [self.env[one].with_context(active_test=False).search_count([]) for one in models]
        return counts, self._export(self.env["ai.assistant"])

    def _refused(self, document, code):
        before = self._state()
        with self.assertRaises(BadInput) as caught:
            self._preview(document)
        self.assertEqual(caught.exception.code, code)
        with self.assertRaises(BadInput):
            self._transfer(document).action_import()
        self.assertEqual(self._state(), before)
        return str(caught.exception)

    def _as_if_elsewhere(self):
        """Remove what is here, so that the file brings it."""
        self.assistant.unlink()
        self.rule.unlink()
        self.server.unlink()
        self.provider.unlink()


@tagged("post_install", "-at_install")
class TestConfiguration(ConfigurationCase):
    def test_a_file_holds_no_secret(self):
        self.server.url = "https://weather.example.com/mcp?api_key=sk-in-the-address"
        raw = json.dumps(self._export())
        for secret in ("sk-server-secret", "sk-h", "sk-provider-secret", "sk-in-the-address"):
            self.assertNotIn(secret, raw)
        self.assertIn("Be kind.", raw)

    def test_an_import_of_what_is_here_changes_nothing(self):
        document = self._export()
        self.assertFalse(self._preview(document).has_changes)
        before = self._state()
        self._import(document)
        self.assertEqual(self._state(), before)

    def test_everything_arrives_in_another_database_and_once(self):
        document = self._export()
        self._as_if_elsewhere()
        transfer = self._preview(document)
        self.assertEqual(transfer.preview.count("Added"), 5)
        self.assertIn("Enter its API key after the import.", transfer.preview)
        self.assertIn("Enter after the import: API Key", transfer.preview)
        self.assertFalse(self.env["ai.config"].search([("name", "=", "Test")]), "only shown")
        self.assertIn("5 added, 0 changed", self._import(document))
        again = self._export(self.env["ai.assistant"].search([("name", "=", "Helper")]))
        for entries in (*document.values(), *again.values()):
            for entry in entries if isinstance(entries, list) else ():
                entry.pop("secrets", None)
        self.assertEqual(again, document)
        before = self._state()
        self.assertIn("0 added, 0 changed", self._import(again | self._secrets(again)))
        self.assertEqual(self._state(), before)

    def _secrets(self, document):
        return {
            section: [{**entry, "secrets": []} for entry in document[section]]
            for section in ("providers", "servers")
        }

    def test_what_arrives_before_its_tools_holds_for_them(self):
        document = self._export()
        document["servers"][0] |= {"tools_off": ["extra"], "tools_policy": {"forecast": "ask"}}
        self._as_if_elsewhere()
        self._import(document)
        server = self.env["woow_paas_platform.mcp_server"].search([("name", "=", "weather")])
        assistant = self.env["ai.assistant"].search([("name", "=", "Helper")])
        server.review_new_tools = False
        server._apply_discovery(discovery(tool("forecast"), tool("alerts"), tool("extra")))
        tools = {one.name: one for one in server.tool_ids}
        self.assertFalse(tools["extra"].active)
        self.assertEqual(tools["forecast"].approval_policy, "ask")
        self.assertEqual(set(tools.values()), set(server.tool_ids.filtered("available")))
        self.assertEqual(assistant.mcp_tool_disabled_ids, tools["alerts"])
        self.assertEqual(assistant.approval_rule_ids.tool_id, tools["forecast"])

    def test_a_tool_that_was_expected_waits_for_the_review_of_new_ones(self):
        document = self._export()
        document["servers"][0]["review_new_tools"] = True
        self._as_if_elsewhere()
        self._import(document)
        server = self.env["woow_paas_platform.mcp_server"].search([("name", "=", "weather")])
        server._apply_discovery(discovery(tool("forecast")))
        known = server.tool_ids.filtered(lambda one: one.name == "forecast")
        self.assertEqual((known.review_state, known.is_usable), ("new", False))

    def test_a_change_is_shown_field_by_field_and_then_made(self):
        document = self._export()
        (assistant,) = document["assistants"]
        assistant["system_prompt"] = "Be kind.\nBe <b>exact</b>."
        document["providers"][0]["model"] = "larger"
        transfer = self._preview(document)
        self.assertIn("− Be brief.</del>", transfer.preview)
        self.assertIn("+ Be &lt;b&gt;exact&lt;/b&gt;.</ins>", transfer.preview)
        self.assertEqual(transfer.preview.count("Changed"), 2)
        self.assertEqual(self.provider.model, "test")
        self.env.flush_all()
        transfer.action_import()
        self.env.cr.flush()
        self.env.invalidate_all()
        self.assertEqual(self.provider.model, "larger")
        self.assertTrue(self.provider.has_api_key, "it stays")
        self.assertEqual(self.assistant.version_id.note, "Imported")

    def test_another_address_does_not_get_the_key(self):
        document = self._export()
        document["providers"][0]["api_base_url"] = "https://evil.example.com/v1"
        self.assertIn("Enter its API key after the import.", self._preview(document).preview)
        self._import(document)
        self.assertFalse(self.provider.has_api_key)

    def test_an_address_with_a_secret_stays_where_it_is_known(self):
        self.server.url = "https://weather.example.com/mcp?api_key=sk-1"
        document = self._export()
        document["servers"][0]["title"] = "Weather"
        self._import(document)
        self.assertEqual((self.server.title, self.server.url[-4:]), ("Weather", "sk-1"))
        document["servers"][0]["id"] = "6fa459ea-ee8a-4ca4-894e-db77e160355e"
        document["servers"][0]["name"] = "elsewhere"
        self.assertIn("Its address contains a secret", self._preview(document).preview)

    def test_a_preview_that_is_outdated_is_not_imported(self):
        document = self._export()
        document["assistants"][0]["max_rounds"] = 7
        transfer = self._preview(document)
        self.assistant.greeting = "Hello"
        self.env.flush_all()
        with self.assertRaises(Changed) as caught:
            transfer.action_import()
        self.assertEqual(caught.exception.code, "preview_outdated")
        with self.assertRaises(Changed):
            self._transfer(document).action_import()
        self.assertNotEqual(self.assistant.max_rounds, 7)

    def test_what_is_not_here_is_said(self):
        document = self._export()
        (assistant,) = document["assistants"]
        assistant["mcp_server_ids"].append(
            {"id": "6fa459ea-ee8a-4ca4-894e-db77e160355e", "name": "Far Away"}
        )
        assistant["record_access_ids"].append(
            {**assistant["record_access_ids"][0], "model": "x.not.installed"}
        )
        transfer = self._preview(document)
        self.assertIn("Far Away", transfer.preview)
        self.assertIn("x.not.installed", transfer.preview)
        self.assertFalse(transfer.has_changes)

    def test_without_its_groups_or_its_provider_nobody_gets_an_assistant(self):
        document = self._export()
        (assistant,) = document["assistants"]
        for name, value in (
            ("group_ids", [{"id": "no_module.group", "name": "Board"}]),
            ("group_ids", [{"id": "base.main_company", "name": "Board"}]),
            ("config_id", {"id": "6fa459ea-ee8a-4ca4-894e-db77e160355e", "name": "Board"}),
        ):
            with self.subTest(value=value):
                changed = {**document, "assistants": [{**assistant, name: value}]}
                transfer = self._preview(changed)
                self.assertIn("It needs “Board”, which is not here.", transfer.preview)
                self.assertFalse(transfer.has_changes)

    def test_records_of_other_companies_stay(self):
        document = self._export()
        other = self.env["res.company"].create({"name": "Other"})
        self.assistant.company_id = other
        document["assistants"][0]["max_rounds"] = 7
        transfer = self._preview(document)
        self.assertIn("belongs to another company", transfer.preview)
        self._import(document)
        self.assertNotEqual(self.assistant.max_rounds, 7)

    def test_one_of_a_company_is_shared_with_no_other(self):
        self.assistant.company_id = self.env.company
        document = self._export()
        self.assertEqual(document["assistants"][0]["company"], self.env.company.name)
        document["assistants"][0]["company"] = "Elsewhere"
        self.assistant.unlink()
        self._import(document)
        new = self.env["ai.assistant"].search([("name", "=", "Helper")])
        self.assertEqual(new.company_id, self.admin.company_id)

    def test_a_locked_server_stays_locked(self):
        document = self._export()
        document["servers"][0]["title"] = "Weather"
        self.server.write({"active": False, "is_locked": True})
        self.assertIn("only an administrator can unlock", self._preview(document).preview)
        self._import(document)
        self.assertFalse(self.server.title or self.server.active)

    def test_a_file_that_cannot_be_read_is_refused_whole(self):
        document = self._export()
        self._refused(b"no JSON", "invalid_json")
        with patch.object(exchange, "MAX_BYTES", 500_000):
            self._refused(b" " * 500_001, "file_too_large")
        self._refused({**document, "version": 2}, "unsupported_version")
        self._refused({**document, "users": []}, "unknown_field")

    def test_hostile_values_are_refused_whole(self):
        document = self._export()

        def changed(section, **values):
            return {**document, section: [{**document[section][0], **values}]}

        for code, section, values in (
            ("invalid_field", "providers", {"id": "base.main_company"}),
            ("invalid_field", "assistants", {"id": "base.user_admin"}),
            ("unknown_field", "assistants", {"partner_id": 1}),
            ("unknown_field", "providers", {"api_key": "sk-planted"}),
            ("unknown_field", "servers", {"scope": "user"}),
            ("unknown_field", "tests", {"user_id": 2}),
            ("invalid_field", "tests", {"assistant_id": None}),
            ("invalid_field", "tests", {"recordings": [{"tool": "forecast"}]}),
            ("invalid_field", "rules", {"policy": "allow"}),
            ("invalid_field", "providers", {"temperature": 10**400}),
            ("config_error", "servers", {"transport": "stdio"}),
            ("config_error", "servers", {"url": "file:///etc/passwd"}),
            ("config_error", "servers", {"url": "https://user:word@weather.example.com/mcp"}),
            ("blocked_address", "servers", {"url": "http://169.254.169.254/latest"}),
            ("config_error", "servers", {"call_timeout": 100_000}),
            ("config_error", "servers", {"tools_policy": {"forecast": "allow"}}),
            ("config_error", "providers", {"api_base_url": "javascript:alert(1)"}),
        ):
            with self.subTest(section=section, values=values), mute_logger(EGRESS):
                self._refused(changed(section, **values), code)

    def test_a_test_arrives_with_the_rights_of_who_imports_it(self):
        document = self._export()
        (entry,) = document["tests"]
        self.assertNotIn(self.admin.login, json.dumps(entry))
        self.test.unlink()
        self.assertIn("It will ask with your rights.", self._preview(document).preview)
        self._import(document)
        test = self.env[TEST].search([("exchange_id", "=", entry["id"])])
        self.assertEqual(test.user_id, self.admin)
        self.assertEqual(test.expectation_ids[-1]._expectation(self.admin).number, 900)
        test.user_id = self.internal
        self.env.flush_all()
        self._import(document)
        self.assertEqual(test.user_id, self.internal, "nothing has changed")
        document["tests"][0]["questions"] = "Which customers do we have?"
        preview = self._preview(document).preview
        self.assertIn("This test has the rights of", preview)
        self._import(document)
        self.assertEqual(test.questions, "Weather in Taipei?")

    def test_what_of_a_test_changes_is_shown_line_by_line(self):
        document = self._export()
        (entry,) = document["tests"]
        entry["expectation_ids"][1]["text"] = "<b>rain</b>"
        entry["recordings"][0]["arguments"] = '{ "city":"Tainan" }'
        preview = self._preview(document).preview
        self.assertIn("Answer contains: sunny", preview)
        self.assertIn("Answer contains: &lt;b&gt;rain&lt;/b&gt;", preview)
        self._import(document)
        self.assertEqual(self.test.expectation_ids.mapped("text")[1], "<b>rain</b>")
        self.assertEqual(self.test.recordings[0]["arguments"], {"city": "Tainan"})
        self.assertFalse(self._preview(document).has_changes)

    def test_a_test_that_does_not_fit_is_left_out_with_a_sentence(self):
        document = self._export()
        line = document["tests"][0]["expectation_ids"][0]
        result = document["tests"][0]["recordings"][0]
        gone = {"id": "e1fa6bd5-6ea3-4b0e-8d4f-0e62b6a2d8a1", "name": "Gone"}
        value = {**line, "kind": "value"}
        company = self.env["res.company"].create({"name": "Other"})
        theirs = self.provider.copy({"company_id": company.id})
        of_other = {"id": theirs.exchange_id, "name": "Theirs"}
        for said, values in (
            ("1 to 10 questions", {"questions": "---"}),
            ("at most 20 expectations", {"expectation_ids": [line] * 21}),
            ("JSON object", {"expectation_ids": [{**line, "arguments": "[1]"}]}),
            ("JSON list of objects", {"recordings": [{**result, "arguments": "{"}]}),
            ("at most 50 recorded results", {"recordings": [result] * 51}),
            ("needs “x.y”", {"expectation_ids": [{**value, "model": "x.y"}]}),
            ("may read", {"expectation_ids": [{**value, "model": "res.users.apikeys"}]}),
            ("needs “Gone”", {"assistant_id": gone}),
            ("not here: Gone", {"judge_id": gone}),
            ("another company", {"judge_id": of_other}),
            ("Write a rubric", {"rubric": ""}),
        ):
            with self.subTest(said=said):
                entry = {**document["tests"][0], **values}
                self.assertIn(said, self._preview({**document, "tests": [entry]}).preview)
        self.assistant.write(
            {
                "group_ids": [Command.clear()],
                "record_access_ids": [Command.clear()],
                "cloud_service_id": self.service.id,
            }
        )
        self.env.flush_all()
        self.assertIn("needs “Helper”", self._preview(document | {"assistants": []}).preview)

    def test_more_than_a_file_holds_is_not_exported(self):
        with patch.object(exchange, "MAX_ENTRIES", 0), self.assertRaises(BadInput) as caught:
            self._export()
        self.assertEqual(caught.exception.code, "file_too_large")

    def test_an_import_is_done_whole_or_not_at_all(self):
        document = self._export()
        document["providers"][0]["model"] = "larger"
        document["rules"][0]["condition"] = "__import__('os')"
        transfer = self._preview(document)
        self.env.flush_all()
        with self.assertRaises(ValidationError), self.env.cr.savepoint():
            transfer.action_import()
        self.env.invalidate_all()
        self.assertEqual(self.provider.model, "test")

    def test_a_rule_of_an_assistant_is_taken_by_no_other_id(self):
        document = self._export()
        own = self.assistant.approval_rule_ids
        document["rules"][0]["id"] = own.exchange_id
        transfer = self._preview(document)
        self.env.flush_all()
        with (
            self.assertRaises(UniqueViolation),
            mute_logger("odoo.sql_db"),
            self.env.cr.savepoint(),
        ):
            transfer.action_import()

    def test_only_administrators_export_and_import(self):
        document = self._export()
        for user in (self.internal, self.owner, self.stranger, self.public):
            with self.subTest(user=user.login), self.assertRaises(AccessError):
                self.assistant.with_user(user).sudo(False).action_export_configuration()
            with self.subTest(user=user.login), self.assertRaises(AccessError):
                self.env[TRANSFER].with_user(user).sudo(False).create({"file": b"e30="})
        transfer = self._transfer(document)
        for method in ("action_preview", "action_import"):
            with self.assertRaises(AccessError):
                getattr(transfer.with_user(self.internal), method)()

    def test_what_an_administrator_has_open_is_theirs_alone(self):
        other = new_test_user(self.env, "ai_other_admin", groups="woow_paas_platform.group_admin")
        for name, values in (
            ("configuration_transfer", {"file": b"e30="}),
            ("template_import", {"file": b"e30="}),
            ("lock", {"reason": "Not now"}),
            ("call_preview", {"tool_id": self.forecast.id}),
        ):
            Dialog = self.env[f"woow_paas_platform.{name}"].with_user(self.admin).sudo(False)
            dialog = Dialog.create(values)
            for operation in ("read", "write"):
                with self.subTest(model=name, operation=operation):
                    self.assertTrue(dialog.has_access(operation))
                    self.assertFalse(dialog.with_user(other).has_access(operation))

    def test_ids_are_unique_and_no_copy_has_them(self):
        self.assertNotEqual(self.assistant.copy().exchange_id, self.assistant.exchange_id)
        self.env.cr.execute("SELECT indexname FROM pg_indexes WHERE indexname LIKE '%exchange_id%'")
        self.assertEqual(self.env.cr.rowcount, 5)
