import contextlib
import socket
from dataclasses import replace
from unittest.mock import patch

import psycopg2
from odoo.exceptions import UserError
from odoo.tests import tagged
from odoo.tools import mute_logger

from ..runtime.records import executor, record_calls, write
from ..services.approval import approval
from ..services.llm.transcript import DIFFERS
from ..services.records import catalog
from ..services.records.errors import RecordError, SomethingLeft
from ..services.turn.interrupt import Interrupt
from ..services.turn.ports import Ending
from ..tools import db
from .records_data import ALL, PARTNER, WritesCase


@tagged("post_install", "-at_install")
class TestRecordsWrite(WritesCase):
    # ------------------------------------------------------------ one transaction

    def test_a_write_its_row_and_its_event_are_one_transaction(self):
        result = self._write(
            "update_records", ids=[self.azure.id], values={"city": "Oslo"}, **PARTNER
        )
        self.assertEqual((self.azure.city, result.outcome, self.row.outcome), ("Oslo", "ok", "ok"))
        event = self.env["woow_paas_platform.ai_turn_event"].search(
            [("turn_id", "=", self.row.turn_id.id), ("seq", "=", self.seq)]
        )
        self.assertEqual((event.payload["type"], event.payload["outcome"]), ("tool_result", "ok"))
        self.assertEqual(event.payload["result"]["records"]["rows"][0]["id"], self.azure.id)

    def test_what_fails_in_the_middle_leaves_nothing(self):
        def half(scope, given):
            self.azure.with_env(scope.env).city = "Half"
            scope.env.flush_all()
            raise ValueError("broken")

        with patch.dict(write.TOOLS, update_records=half):
            self._refuses("update_records", ids=[self.azure.id], values={"city": "x"}, **PARTNER)
        self.assertEqual(
            (self.azure.city, self.row.outcome, self.row.started_at), ("Fremont", False, False)
        )
        self.assertLess(self.row.turn_id._last_seq(), self.seq)

    def test_a_constraint_says_what_is_wrong(self):
        """In the words of its model; a reference by the model that has it."""
        countries = self.assistant.record_access_ids.filtered(
            lambda one: one.model == "res.country"
        )
        countries.write(dict.fromkeys(ALL[:4], True))
        rights = {f"perm_{one}": True for one in ("read", "write", "create", "unlink")}
        about = {"name": "All", "model_id": self.env["ir.model"]._get_id("res.country")}
        self.env["ir.model.access"].create({**about, **rights})
        belgium = self.env.ref("base.be")
        self.azure.country_id = belgium
        self.env.flush_all()
        for said, name, given in (
            (
                "The code of the country must be unique!",
                "create_record",
                {"model": "res.country", "values": {"name": "Elsewhere", "code": "BE"}},
            ),
            (
                "Contacts require a name",
                "update_records",
                {**PARTNER, "ids": [self.azure.id], "values": {"name": None}},
            ),
            (
                "still refer to this one",
                "delete_records",
                {"model": "res.country", "ids": belgium.ids},
            ),
        ):
            with self.subTest(name), mute_logger("odoo.sql_db"):
                self.assertIn(said, self._refuses(name, **given))

    def test_if_the_row_cannot_be_written_the_records_are_not(self):
        call, _verdict = self._begin(
            self.internal,
            "update_records",
            {"ids": [self.azure.id], "values": {"city": "Oslo"}, **PARTNER},
        )
        row = self.env["woow_paas_platform.tool_call"].search([("call_id", "=", call.id)])
        with patch.object(type(self.store), "_insert_result", side_effect=RecordError("no event")):
            self._error(self.store.perform_call, self.claims[self.internal], call.id, [])
        self.env.invalidate_all()
        self.assertEqual((self.azure.city, row.outcome), ("Fremont", False))

    def test_repeated_it_is_the_same_result(self):
        self._write("create_record", values={"name": "Only Once"}, **PARTNER)
        again = self.store.perform_call(self.claims[self.internal], self.row.call_id, [])
        self.assertEqual(again.outcome, "ok")
        self.assertEqual(self.env["res.partner"].search_count([("name", "=", "Only Once")]), 1)

    def test_cut_before_its_end_it_was_not_begun(self):
        call, _verdict = self._begin(
            self.internal, "create_record", {"values": {"name": "Cut"}, **PARTNER}
        )
        row = self.env["woow_paas_platform.tool_call"].search([("call_id", "=", call.id)])
        self.env.invalidate_all()
        row.turn_id._close_open_calls()
        self.assertEqual(row.outcome, "cancelled")

    def test_a_failure_after_the_commit_does_not_deny_it(self):
        commits = []

        def transaction(name, work, **options):
            result = self.real_transaction(name, work, **options)
            commits.append(result)
            if len(commits) == 1:
                raise OSError("no mail server")
            return result

        self.real_transaction = db.transaction
        call, _verdict = self._begin(
            self.internal, "create_record", {"values": {"name": "Sent"}, **PARTNER}
        )
        with patch.object(db, "transaction", transaction), self.assertLogs(level="ERROR"):
            result = self.store.perform_call(self.claims[self.internal], call.id, [])
        self.assertEqual(result.outcome, "ok")

    # ------------------------------------------------------------ who is asked

    def test_a_change_asks_by_default(self):
        self.line.policy = "ask"
        _call, verdict = self._begin(
            self.internal, "create_record", {"values": {"name": "A"}, **PARTNER}
        )
        self.assertEqual(verdict.kind, "ask")
        ending = Ending(state="waiting", next_seq=self.turns[self.internal]._last_seq() + 1)
        self.store.finish(self.claims[self.internal], ending, [])
        self.env.invalidate_all()
        (asked,) = self.turns[self.internal]._waiting_for()
        self.assertEqual((asked["server"], asked["choices"]), ("Odoo", list(approval.ALL)))

    def test_always_is_of_one_tool_and_one_model(self):
        lines = self.assistant.record_access_ids
        lines.write({"policy": "ask", "can_create": True, "can_update": True})
        create = ("create_record", {"values": {"name": "A"}, **PARTNER})

        def verdict(name, arguments, round_=1):
            return self._begin(self.internal, name, arguments, round_)[1].kind

        self._begin(self.internal, *create)
        self.env.invalidate_all()
        row = self.turns[self.internal].call_ids
        self.assertEqual(row.approval_choices, list(approval.ALL))
        self.env["woow_paas_platform.tool_grant"]._grant(row.turn_id, row, "always")
        self.assertEqual(verdict(*create), "run")
        other = {"model": "res.partner.category", "values": {"name": "A"}}
        self.assertEqual(verdict("create_record", other), "ask")
        update = ("update_records", {"ids": [self.azure.id], "values": {"city": "x"}, **PARTNER})
        self.assertEqual(verdict(*update), "ask")
        self.env["woow_paas_platform.tool_grant"].search([("records", "!=", False)]).unlink()
        self.assertEqual(verdict(*create), "ask")

    def test_always_does_not_pass_over_what_was_read_or_shown(self):
        self.line.policy = "ask"
        update = ("update_records", {"ids": [self.azure.id], "values": {"city": "x"}, **PARTNER})
        self._begin(self.internal, *update)
        self.env.invalidate_all()
        row = self.turns[self.internal].call_ids
        self.env["woow_paas_platform.tool_grant"]._grant(row.turn_id, row, "always")
        self.assertEqual(self._begin(self.internal, *update)[1].kind, "run")
        # what would be changed is not what was shown: the person is asked again
        row.write({"approval": "pending", "decision": False, "rehearsal": {"shown": {}}})
        self.assertEqual(row._may_start(row._asked_of()).kind, "ask")
        call, _verdict = self._begin(self.internal, "search_records", PARTNER)
        result = self.store.read_records(self.claims[self.internal], call.id)
        self.store.end_call(self.claims[self.internal], call.id, result, [])
        self.assertEqual(self._begin(self.internal, *update, round_=2)[1].kind, "ask")

    def test_a_definition_that_changed_after_the_question_is_not_carried_out(self):
        self.line.policy = "ask"
        create = ("create_record", {"values": {"name": "A"}, **PARTNER})
        self.assertEqual(self._begin(self.internal, *create)[1].kind, "ask")
        self.env.invalidate_all()
        row = self.turns[self.internal].call_ids
        self.assertEqual(row._may_start(row._asked_of()).kind, "ask")
        tool = catalog.TOOLS["create_record"]
        changed = replace(tool, description=f"{tool.description} And sends it to the press.")
        with patch.dict(catalog.TOOLS, create_record=changed):
            verdict = row._may_start(row._asked_of())
        self.assertEqual((verdict.kind, verdict.reason), ("deny", DIFFERS))

    def test_an_error_of_the_database_that_passes_is_not_told_to_the_model(self):
        for code in ("53300", "57P01", "40001"):
            query = f"DO $$ BEGIN RAISE EXCEPTION 'not now' USING ERRCODE = '{code}'; END $$"
            with (
                self.subTest(code=code),
                self.assertRaises(psycopg2.Error),
                self.env.cr.savepoint(),
                executor.record_errors(self.env),
            ):
                self.env.cr.execute(query, log_exceptions=False)

    def test_after_reading_records_what_has_an_effect_asks(self):
        call, _verdict = self._begin(self.internal, "search_records", PARTNER)
        result = self.store.read_records(self.claims[self.internal], call.id)
        self.store.end_call(self.claims[self.internal], call.id, result, [])
        for name, arguments, wanted in (
            ("update_records", {"ids": [self.azure.id], "values": {"city": "x"}}, "ask"),
            ("delete_records", {"ids": [self.azure.id]}, "ask"),
            ("post_message", {"id": self.azure.id, "body": "x"}, "ask"),
            ("create_record", {"values": {"name": "x"}}, "ask"),
        ):
            with self.subTest(name):
                verdict = self._begin(self.internal, name, {**PARTNER, **arguments}, round_=2)[1]
                self.assertEqual(verdict.kind, wanted)

    def test_what_is_switched_off_is_denied(self):
        call, verdict = self._begin(
            self.internal, "delete_records", {"ids": [self.azure.id], **PARTNER}
        )
        self.assertEqual(verdict.kind, "run")
        self.line.can_delete = False
        self.env.flush_all()
        said = self._error(self.store.perform_call, self.claims[self.internal], call.id, [])
        self.assertIn("may not", said)
        self.assertTrue(self.azure.exists())

    def test_each_operation_needs_its_switch(self):
        said = self._refuses("create_record", model="res.country", values={"name": "X"})
        self.assertIn("may not create", said)

    # ------------------------------------------------------------ whose rights

    def test_the_persons_own_rights_hold(self):
        self.internal.group_ids -= self.env.ref("base.group_partner_manager")
        self.assertIn("no right", self._refuses("create_record", values={"name": "X"}, **PARTNER))
        for name, more in (
            ("update_records", {"values": {"city": "x"}}),
            ("archive_records", {}),
            ("delete_records", {}),
        ):
            with self.subTest(name):
                self.assertIn(
                    "no right", self._refuses(name, ids=[self.azure.id], **PARTNER, **more)
                )

    def test_a_portal_user_changes_nothing_that_portal_rules_do_not_give(self):
        said = self._refuses(
            "update_records",
            person=self.member,
            ids=[self.azure.id],
            values={"city": "x"},
            **PARTNER,
        )
        self.assertIn("no right", said)

    def test_what_may_not_be_read_or_written_is_refused(self):
        self.line.hidden_fields = "ref"
        for values in (
            {"ref": "x"},
            {"id": 7},
            {"create_uid": 1},
            {"image_1920": "aGk="},
            {"signup_token": "x"},
            {"child_ids": [{"parent_id": 1, "name": "x"}]},
            {"category_id": ["Nothing like it"]},
            {},
        ):
            with self.subTest(values=values):
                self._refuses("update_records", ids=[self.azure.id], values=values, **PARTNER)

    def test_users_and_companies_are_read_only(self):
        self.admin.group_ids += self.env.ref("base.group_system")
        for model in ("res.users", "res.company"):
            line = self.assistant.record_access_ids.filtered(lambda one, m=model: one.model == m)
            line.write({"can_create": True, "can_update": True})
            with self.subTest(model):
                said = self._refuses(
                    "update_records", person=self.admin, model=model, ids=[1], values={"name": "x"}
                )
                self.assertIn("no right", said)

    # ------------------------------------------------------------ each tool

    def test_create_with_names_lines_and_text_that_is_no_markup(self):
        result = self._write(
            "create_record",
            values={
                "name": "New",
                "category_id": ["Wholesale"],
                "parent_id": "azurite",
                "comment": "<script>alert(1)</script> & more",
                "child_ids": [{"name": "Line"}],
            },
            **PARTNER,
        )
        record = self.env["res.partner"].browse(result.display["records"]["rows"][0]["id"])
        self.assertEqual((record.category_id, record.parent_id), (self.tag, self.azure))
        self.assertEqual(record.child_ids.name, "Line")
        self.assertIn("&lt;script&gt;", record.comment)
        self.assertEqual(record.create_uid, self.internal)

    def test_a_name_that_means_several_asks_for_an_id(self):
        self.env["res.partner"].create({"name": "Azurite Exterior"})
        self.env.flush_all()
        said = self._refuses(
            "create_record", values={"name": "X", "parent_id": "azurite"}, **PARTNER
        )
        self.assertIn("may mean several", said)
        self.assertIn(str(self.azure.id), said)

    def test_archive_restore_and_delete(self):
        self._write("archive_records", ids=[self.azure.id], **PARTNER)
        self.assertFalse(self.azure.active)
        self._write("archive_records", ids=[self.azure.id], restore=True, **PARTNER)
        self.assertTrue(self.azure.active)
        self._write("delete_records", ids=[self.azure.id], **PARTNER)
        self.assertFalse(self.azure.exists())

    def test_a_change_of_values_neither_archives_nor_schedules(self):
        self.line.can_archive = False
        child = {"name": "Child", "parent_id": self.azure.id}
        child = self.env["res.partner"].create(child)
        self.azure.activity_schedule(summary="Call")
        self.env.flush_all()
        given = {"ids": [self.azure.id], **PARTNER}
        for values, why in (
            ({"active": False}, "may not archive"),
            ({"child_ids": [{"id": child.id, "active": False}]}, "may not archive"),
            ({"activity_summary": "x"}, "cannot be written"),
            ({"activity_type_id": "Email"}, "cannot be written"),
        ):
            with self.subTest(values=values):
                self.assertIn(why, self._refuses("update_records", values=values, **given))
        self.assertTrue(self.azure.active and child.active)
        self.line.can_archive = True
        self.env.flush_all()
        self._write("update_records", values={"active": False}, **given)
        self.assertFalse(self.azure.active)

    def test_message_note_and_activity(self):
        self._write("post_message", id=self.azure.id, body="Hi <b>you</b>", is_note=True, **PARTNER)
        message = self.azure.message_ids[:1]
        self.assertEqual(message.subtype_id, self.env.ref("mail.mt_note"))
        self.assertEqual(message.author_id, self.internal.partner_id)
        self.assertIn("&lt;b&gt;", message.body)
        self._write("post_message", id=self.azure.id, body="Hello", **PARTNER)
        self.assertEqual(self.azure.message_ids[:1].subtype_id, self.env.ref("mail.mt_comment"))
        self._write(
            "schedule_activity",
            id=self.azure.id,
            summary="Call",
            date="2026-12-24",
            user="ai_admin",
            **PARTNER,
        )
        activity = self.azure.activity_ids
        self.assertEqual((activity.summary, activity.user_id), ("Call", self.admin))
        self.assertEqual(str(activity.date_deadline), "2026-12-24")

    def test_a_released_action_runs_with_the_persons_rights(self):
        action = self.env["ir.actions.server"].create(
            {
                "name": "Move to Oslo",
                "model_id": self.env["ir.model"]._get_id("res.partner"),
                "state": "code",
                "code": "records.write({'city': 'Oslo ' + env.user.login})",
            }
        )
        self.line.action_ids = action
        self._write("run_action", ids=[self.azure.id], action="Move to Oslo", **PARTNER)
        self.assertEqual(self.azure.city, "Oslo ai_internal")
        said = self._refuses("run_action", ids=[self.azure.id], action="Move to Osloo", **PARTNER)
        self.assertIn("Move to Oslo", said)

    def test_code_that_commits_cannot_be_released(self):
        action = self.env["ir.actions.server"].create(
            {
                "name": "Commits",
                "model_id": self.env["ir.model"]._get_id("res.partner"),
                "state": "code",
                "code": "env.cr.commit()",
            }
        )
        with self.assertRaisesRegex(Exception, "commits"), self.env.cr.savepoint():
            self.line.action_ids = action

    def test_limits_hold_while_writing(self):
        def sleeps(scope, given):
            scope.env.cr.execute("SELECT pg_sleep(5)")

        with (
            patch.dict(write.TOOLS, create_record=sleeps),
            patch.object(executor, "STATEMENT_TIMEOUT", 0.05),
        ):
            said = self._refuses("create_record", values={"name": "x"}, **PARTNER)
        self.assertIn("was ended", said)

    def test_a_transaction_that_nobody_looks_after_is_ended_by_postgresql(self):
        """Where the process stands still, too; who runs the server may allow less."""
        told = []

        def shows(scope, _given):
            scope.env.cr.execute("SHOW idle_in_transaction_session_timeout")
            told.append(scope.env.cr.fetchone()[0])
            return "", {}

        for before in ("0", "5s", "1h"):
            self.env.cr.execute("SET LOCAL idle_in_transaction_session_timeout = %s", [before])
            call, _verdict = self._begin(
                self.internal, "create_record", {"values": {"name": before}, **PARTNER}
            )
            with patch.dict(write.TOOLS, create_record=shows):
                claim = self.claims[self.internal]
                self.store.perform_call(claim, call.id, [], Interrupt(30))
        self.env.cr.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
        self.assertEqual(told, ["31s", "5s", "31s"])

    def test_what_fails_after_something_was_sent_is_unknown_and_says_why(self):
        """A person had allowed what could not be shown, so it was not sandboxed."""
        self.line.policy = "ask"
        for error, sentence in (
            (UserError("The carrier refused it."), "The carrier refused it."),
            (psycopg2.errors.LockNotAvailable(), "Somebody else is changing these records"),
            (psycopg2.errors.QueryCanceled(), "took longer than"),
            (psycopg2.errors.IdleInTransactionSessionTimeout(), "outside the database"),
        ):
            with self.subTest(type(error).__name__):
                call, _verdict = self._begin(
                    self.internal, "create_record", {"values": {"name": "Sent"}, **PARTNER}
                )
                row = self.env["woow_paas_platform.tool_call"].search([("call_id", "=", call.id)])
                row.write({"approval": "approved", "decision": "approve_once"})
                row.rehearsal = {"impossible": "the network"}
                self.env.flush_all()

                def sends(_scope, _given, error=error):
                    with contextlib.suppress(OSError):
                        socket.create_connection(("127.0.0.1", 9), 0.01)
                    raise error

                with patch.dict(write.TOOLS, create_record=sends):
                    claim = self.claims[self.internal]
                    said = self._error(
                        self.store.perform_call, claim, call.id, [], of=SomethingLeft
                    )
                self.assertIn(sentence, said)
                self.env.invalidate_all()

    def test_lost_connections_are_counted_over_all_runners(self):
        arguments = {**PARTNER, "ids": [self.azure.id], "values": {"city": "Oslo"}}
        call, _verdict = self._begin(self.internal, "update_records", arguments)
        claim = self.claims[self.internal]
        for losses in (1, 2):
            self.assertEqual(self.store.lose_call(claim, call.id), (None, losses))
        done = self.store.perform_call(claim, call.id, [])
        with self.assertLogs(record_calls.__name__, "WARNING") as said:
            result, losses = self.store.lose_call(claim, call.id)
        self.assertEqual((result.outcome, result.text, losses), ("ok", done.text, 2))
        self.assertIn("may not have been done", said.output[0])
