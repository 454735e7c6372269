"""Audit log: each act leaves one entry that nobody changes, in the transaction of the act, and without words."""

import json
from datetime import timedelta
from unittest.mock import patch

from odoo import Command, fields
from odoo.exceptions import AccessError
from odoo.tests import tagged
from odoo.tools import SQL, mute_logger

from ..models.governance import audit_entry
from ..models.governance.audit_entry import ACTS
from ..services import events
from ..services.oauth_server import tokens
from ..tools import limits
from .common import AiCase

ENTRY = "woow_paas_platform.audit_entry"
CHECKPOINT = "woow_paas_platform.audit_checkpoint"
PERSON = "woow_paas_platform.audit_person"
PERSONAL_DATA = "woow_paas_platform.personal_data"
SECRET = "sk-never-in-the-log"


class AuditCase(AiCase):
    def setUp(self):
        super().setUp()
        self.Log = self.env[ENTRY]
        self.Checkpoint = self.env[CHECKPOINT]
        # The installation's own entries have chains of other sessions.
        self.env.cr.execute("DELETE FROM woow_paas_platform_audit_entry")
        self.env.cr.execute("DELETE FROM woow_paas_platform_audit_checkpoint")

    def _entries(self, *acts):
        return self.Log.search([("act", "in", acts)] if acts else [], order="id")

    def _made(self, work, *acts):
        """Entries that `work` makes."""
        self.env.flush_all()
        known = self._entries(*acts)
        work()
        self.env.flush_all()
        self.env.cr.precommit.run()
        return self._entries(*acts) - known


class Undone(Exception):
    """Rolls an act back."""


@tagged("post_install", "-at_install")
class TestActs(AuditCase):
    def setUp(self):
        super().setUp()
        env = self.env
        self.as_admin = self.env(user=self.admin.id, su=False)
        self.turn = self._ask(self.member).sudo()
        self.call = env["woow_paas_platform.tool_call"].create(
            {
                "turn_id": self.turn.id,
                "user_id": self.member.id,
                "call_id": "call_1",
                "tool_name": "forecast",
                "tool_id": self.forecast.id,
            }
        )
        self.question = env["woow_paas_platform.call_question"].create(
            {"call_id": self.call.id, "kind": "form", "message": "Who?"}
        )
        self.sign_in = env["woow_paas_platform.mcp_sign_in"]._of(
            self.server.id, self.member.id, "a", make=True
        )
        self.grant = env["woow_paas_platform.tool_grant"].create(self._grant_values("always"))
        self.client = env["woow_paas_platform.oauth_client"].create(
            {"name": "Claude Code", "client_id": "c1", "redirect_uris": "http://127.0.0.1/"}
        )
        self.oauth_grant = env["woow_paas_platform.oauth_grant"].create(self._oauth_values("one"))
        self.key = self.member.with_user(self.member)
        self.box = env["woow_paas_platform.toolbox"].create({"name": "orders"})
        self.run = env["woow_paas_platform.ai_run"].create(
            {"user_id": self.internal.id, "event": "test", "assistant_id": self.assistant.id}
        )
        self.env.flush_all()
        self.env.cr.precommit.run()

    def _grant_values(self, scope):
        subject, now = self.alerts._grant_subject()
        return {**subject, **now, "user_id": self.member.id, "scope": scope}

    def _oauth_values(self, family):
        return {
            "client_id": self.client.id,
            "user_id": self.member.id,
            "scope": "tools:read",
            "redirect_uri": "http://127.0.0.1/",
            "resource": "http://127.0.0.1/mcp",
            "family_digest": tokens.digest(family),
            "expires_at": fields.Datetime.now() + timedelta(days=1),
        }

    def _key_id(self):
        keys = self.env["res.users.apikeys"].with_user(self.member).sudo()
        keys._generate("mcp", "Laptop", fields.Datetime.now() + timedelta(days=30))
        return keys.search([("user_id", "=", self.member.id)], limit=1).id

    def _make_key(self):
        with patch.object(type(self.env.user), "_check_credentials", return_value={}):
            self.key._make_woow_mcp_key("Laptop", 30, "password")

    def _decide_round(self):
        self.turn.write({"state": "waiting", "waiting_round": 3})
        self.turn.with_user(self.member).sudo()._record_round_decision(events.round_id(3), "stop")

    def _acts(self):
        """What is done for each act, and the person who does it."""
        admin = self.as_admin
        server = self.server.with_env(admin)
        Person = admin["woow_paas_platform.person_rule"]
        rule = self.env["woow_paas_platform.person_rule"].create(
            {"server_id": self.server.id, "user_ids": [Command.link(self.member.id)]}
        )
        key_id = self._key_id()
        transfer = admin["woow_paas_platform.configuration_transfer"]
        self.env["woow_paas_platform.mcp_sign_in"]._of(
            self.server.id, self.admin.id, "b", make=True
        )._keep({"access_token": SECRET})
        other = self.env["woow_paas_platform.mcp_sign_in"].search([("address", "=", "b")])
        locked = self.run_flow.with_env(admin)
        locked._lock_away(SECRET)
        return {
            "created": lambda: Person.create(
                {"server_id": self.server.id, "user_ids": [Command.link(self.member.id)]}
            ),
            "changed": lambda: rule.with_env(admin).write({"policy": "never"}),
            "deleted": lambda: rule.with_env(admin).unlink(),
            "locked": lambda: self.user_server.with_env(admin)._lock_away(SECRET),
            "unlocked": locked._unlock,
            "setting_changed": lambda: self.env["ir.config_parameter"].set_param(
                limits.PREFIX + "runs_at_once", "3"
            ),
            "secret_entered": lambda: server.write({"api_key": SECRET}),
            "secret_removed": server._remove_api_key,
            "call_decided": lambda: self.call.with_user(self.member).sudo()._decide("deny"),
            "round_decided": self._decide_round,
            "question_answered": lambda: (
                self.question.with_user(self.member).sudo()._answer("accept", {"name": SECRET})
            ),
            "permission_given": lambda: self.env["woow_paas_platform.tool_grant"]._grant(
                self.turn, self.forecast, "always"
            ),
            "permission_revoked": self.grant.unlink,
            "tool_decided": lambda: self.alerts.with_env(admin).write({"approval_policy": "never"}),
            "version_published": lambda: self.assistant.with_env(admin).write(
                {"system_prompt": SECRET}
            ),
            "configuration_exported": lambda: transfer._export(self.assistant.with_env(admin)),
            "configuration_imported": lambda: admin[
                "woow_paas_platform.mcp_template"
            ]._import_templates({"mcpTemplates": [{}]}),
            "client_allowed": lambda: self.oauth_grant.create(self._oauth_values("two")),
            "tokens_issued": lambda: self.oauth_grant._renew("one"),
            "client_ended": lambda: self.oauth_grant._end("test"),
            "key_made": self._make_key,
            "key_revoked": lambda: self.key._revoke_woow_mcp_key(key_id),
            "signed_in": lambda: self.sign_in._keep({"access_token": SECRET}),
            "signed_out": other.unlink,
            "ran_as": self.run._record_ran_as,
            "data_exported": lambda: self.env[PERSONAL_DATA]._request("export", self.member),
            "data_erased": lambda: self.env[PERSONAL_DATA]._request("erasure", self.member),
            "audit_exported": lambda: self.Log.search([]).export_data(["act"]),
        }

    def test_each_act_leaves_one_entry_and_none_when_it_is_undone(self):
        acts = self._acts()
        self.assertEqual(acts.keys(), dict(ACTS).keys())
        for act, work in acts.items():
            with self.subTest(act=act):
                count = len(self._entries(act))
                try:
                    with self.env.cr.savepoint():
                        [entry] = self._made(work, act)
                        self.assertNotIn(SECRET, str(entry.read()))
                        self.assertTrue(json.loads(entry.codes) is not None)
                        raise Undone
                except Undone:
                    pass
                self.env.invalidate_all()
                self.assertEqual(len(self._entries(act)), count)

    def test_a_change_is_told_by_ids_codes_and_digests(self):
        admin = self.as_admin
        gateway = self.env["woow_paas_platform.gateway"].create({"name": "Sales"})
        [entry] = self._made(
            lambda: gateway.with_env(admin).write(
                {"name": SECRET, "active": False, "server_ids": self.server.ids}
            ),
            "changed",
        )
        codes = json.loads(entry.codes)
        self.assertEqual(codes["active"], [True, False])
        self.assertEqual(codes["server_ids"], [[], self.server.ids])
        before, after = codes["name"]
        self.assertNotEqual(before, after)
        self.assertNotIn("Sales", entry.codes)
        self.assertFalse(self._made(lambda: gateway.write({"active": False}), "changed"))

    def test_what_is_configured_is_audited(self):
        audited = self.env["woow_paas_platform.audited.mixin"]
        found = {
            name.removeprefix("woow_paas_platform.")
            for name in audited._inherit_children
            if not self.env[name]._abstract
        }
        known = {"approval_rule", "budget", "gateway", "ir.actions.server", "mail_address"}
        known |= {"person_rule", "record_access", "tool_grant", "workspace_access"}
        known |= {"mcp_template", "mcp_template_field", "price"}
        self.assertLessEqual(known, found)

    def test_a_price_is_audited_but_not_those_that_come_along(self):
        prices = self.env["woow_paas_platform.price"]
        values = {"model": "gpt-tide", "input_price": 2.0, "output_price": 8.0}
        price = prices.create({**values, "valid_from": "2026-01-01"})
        self.env.flush_all()
        change = self._made(lambda: price.write({"output_price": 9.0}), "changed")
        self.assertEqual(json.loads(change.codes), {"output_price": [8, 9]})
        with patch.object(self.env.registry, "ready", False):
            self.assertFalse(self._made(lambda: price.copy({"valid_from": "2026-02-01"})))

    def test_members_and_their_rights_are_told_by_pseudonym(self):
        access = self.workspace.access_ids[0]
        [entry] = self._made(access.unlink, "deleted")
        self.assertEqual((entry.model, entry.res_id), (access._name, access.id))
        self.assertEqual(entry.user_id, self.env.user)
        owner, ada = self.workspace.owner_id, self.internal
        ada.email = "ada@example.com"
        (owner | ada).partner_id.parent_id = self.env["res.partner"].create({"name": "Acme"})
        workspace = self.workspace.with_user(owner)
        [entry] = self._made(lambda: workspace._add_member(ada.email), "created")
        access = self.workspace.access_ids.filtered(lambda one: one.user_id == ada)
        self.assertEqual((entry.model, entry.res_id), (access._name, access.id))
        self.assertEqual(entry.user_id, owner)


@tagged("post_install", "-at_install")
class TestLog(AuditCase):
    def _act(self, count=1, user=None):
        mixin = self.env(user=(user or self.admin).id)["woow_paas_platform.audit.mixin"]
        for number in range(count):
            mixin._record_act("configuration_exported", entries=number)
        return self._entries()

    def _problems(self, known=None):
        check, problems = self.Checkpoint._check(known)
        return [problem.code for problem in problems], check

    def _sql(self, text, *values):
        self.env.cr.execute(SQL(text, *values))
        self.env.invalidate_all()

    def _seal(self):
        with patch.object(audit_entry._logger, "info") as told:
            self.Checkpoint._cron_seal()
        return told.call_args.args

    def test_nobody_changes_an_entry(self):
        entry = self._act()
        self._seal()
        for record in (entry, self.Checkpoint.search([])):
            for user in (self.env.user, self.admin, self.member):
                own = record.with_user(user).sudo()
                for way in (
                    lambda own=own: own.create({}),
                    lambda own=own: own.write({}),
                    lambda own=own: own.copy(),
                    own.unlink,
                ):
                    with self.assertRaises(AccessError):
                        way()

    def test_a_log_is_right_and_what_is_done_to_it_is_found(self):
        entries = self._act(5)
        head = self._seal()[1:]
        self.assertEqual(head, (1, self.Checkpoint.search([]).fingerprint))
        self._act(2)
        problems, check = self._problems(head)
        self.assertEqual((problems, check.entries, check.unsealed), ([], 7, 2))
        table = "woow_paas_platform_audit_entry"
        for attack, code in (
            (f"UPDATE {table} SET act = 'deleted' WHERE seq = 2", "changed"),
            (f"UPDATE {table} SET at = at + interval '1 second' WHERE seq = 5", "changed"),
            (f"DELETE FROM {table} WHERE seq = 3", "missing"),
            (f"UPDATE {table} SET previous = 'x' WHERE seq = 4", "reordered"),
            (f"DELETE FROM {table} WHERE seq >= 5", "cut"),
            (f"DELETE FROM {table}", "cut"),
            (
                "UPDATE woow_paas_platform_audit_checkpoint SET signature = 'x'",
                "checkpoint_unsigned",
            ),
            ("DELETE FROM woow_paas_platform_audit_checkpoint", "unknown_checkpoint"),
        ):
            with self.subTest(attack=attack), self.env.cr.savepoint() as savepoint:
                self._sql(attack)
                self.assertIn(code, self._problems(head)[0])
                savepoint.rollback()
                self.env.invalidate_all()
        self.assertEqual(len(self._entries()), 7)
        self.assertEqual(entries.mapped("seq"), [1, 2, 3, 4, 5])

    def test_a_checkpoint_tells_only_what_is_new(self):
        self._act(2)
        self._seal()
        self.Checkpoint._cron_seal()
        self.assertEqual(len(self.Checkpoint.search([])), 1)
        self._act()
        self._seal()
        latest = self.Checkpoint.search([], limit=1)
        self.assertEqual(latest.number, 2)
        self.assertFalse(self._problems()[0])

    def test_retention_deletes_whole_days_behind_a_checkpoint(self):
        now = fields.Datetime.now()
        parameter, name = self.env["ir.config_parameter"], limits.PREFIX + "audit_retention_days"
        parameter.set_param(name, "0")
        self.env.cr.execute("DELETE FROM woow_paas_platform_audit_entry")
        for days in (900, 800, 10, 0):
            with patch.object(fields.Datetime, "now", lambda *_a, d=days: now - timedelta(days=d)):
                self._act(2)
                if days:
                    self.Checkpoint._cron_seal()
        self._seal()
        self.assertEqual(len(self._entries()), 8)
        parameter.set_param(name, "730")
        preview = self.env["woow_paas_platform.retention"].create({}).preview
        self.assertIn("<td class='text-end'>730</td><td class='text-end'>4</td>", preview)
        self._seal()
        self.assertEqual(len(self._entries()), 5)
        problems, check = self._problems()
        self.assertEqual((problems, check.entries), ([], 5))
        with patch.object(fields.Datetime, "now", lambda *_a: now - timedelta(days=801)):
            self._act()
        self.assertIn("back", self._problems()[0])

    def test_a_person_is_erased_with_the_key(self):
        entry = self._act(user=self.member)
        self.assertEqual(entry.with_user(self.admin).sudo(False).user_id, self.member)
        found = self.Log.with_user(self.admin).search([("user_id", "=", self.member.id)])
        self.assertEqual(found, entry)
        self._seal()
        self.env[PERSON]._forget(self.member)
        self.env.invalidate_all()
        self.assertFalse(entry.user_id)
        self.assertFalse(self._problems()[0])
        again = self._act(user=self.member)[-1]
        self.assertNotEqual(again.person, entry.person)

    @mute_logger("odoo.addons.base.models.ir_rule", "odoo.models")
    def test_only_administrators_see_the_log(self):
        self._act()
        self._seal()
        for user in (self.member, self.stranger, self.guest, self.env.ref("base.public_user")):
            for model in (ENTRY, CHECKPOINT, PERSON):
                with self.assertRaises(AccessError):
                    self.env[model].with_user(user).sudo(False).search([])
        with self.assertRaises(AccessError):
            self.env[PERSON].with_user(self.admin).sudo(False).search([])
