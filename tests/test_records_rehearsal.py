import contextlib
import socket
from dataclasses import replace
from unittest.mock import patch

from odoo import Command, sql_db
from odoo.tests import tagged

from ..runtime.records import executor, write
from ..services.turn.ports import Ending
from ..tools import rehearsal
from .records_data import PARTNER, RehearsalCase

ALL = ("can_create", "can_update", "can_archive", "can_delete", "can_message", "can_schedule")


@tagged("post_install", "-at_install")
class TestRecordsRehearsal(RehearsalCase):
    """What would happen is shown before the yes, and nothing else happens after it."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.internal.group_ids += cls.env.ref("base.group_partner_manager")
        cls.line.write(dict.fromkeys(ALL, True))
        cls.azure = cls.env["res.partner"].create(
            {"name": "Azurite Interior", "city": "Fremont", "is_company": True}
        )
        cls.child = cls.env["res.partner"].create(
            {"name": "Brandon", "parent_id": cls.azure.id, "type": "contact"}
        )
        cls.tag = cls.env["res.partner.category"].create({"name": "Wholesale"})
        cls.env.flush_all()

    # ------------------------------------------------------------ shown and committed are the same

    def test_an_update_shows_old_and_new_of_all_that_it_touches(self):
        shown = self._rehearse(
            "update_records", ids=[self.azure.id], values={"city": "Oslo", "name": "Azurite AS"}
        )
        self.assertEqual((self.azure.city, self.row.outcome), ("Fremont", False))
        changed = {one["id"]: one for one in shown["changes"]}
        city = self._field(changed[self.azure.id], "city")
        self.assertEqual((city["old"], city["new"]), ("Fremont", "Oslo"))
        # Odoo itself takes the address over to contacts, and computes their names.
        self.assertEqual(self._field(changed[self.child.id], "city")["new"], "Oslo")
        self.assertEqual(
            self._field(changed[self.child.id], "complete_name")["new"], "Azurite AS, Brandon"
        )
        self.assertEqual(self._allow().outcome, "ok")
        self.assertEqual((self.azure.city, self.child.city), ("Oslo", "Oslo"))

    def test_create_archive_delete_links_note_and_activity(self):
        for name, arguments, shows, happens in (
            (
                "create_record",
                {"values": {"name": "New One", "child_ids": [{"name": "Line"}]}},
                lambda shown: self.assertEqual(
                    {one["label"] for one in shown["created"]}, {"Contact"}
                ),
                lambda: (
                    self.env["res.partner"].search_count([("name", "in", ("New One", "Line"))]) == 2
                ),
            ),
            (
                "update_records",
                {"ids": [self.azure.id], "values": {"category_id": {"add": ["Wholesale"]}}},
                lambda shown: self.assertEqual(
                    self._field(shown["changes"][0], "category_id")["new"], "Wholesale"
                ),
                lambda: self.azure.category_id == self.tag,
            ),
            (
                "post_message",
                {"id": self.azure.id, "body": "Hello there", "is_note": True},
                lambda shown: self.assertEqual(
                    [(one["kind"], one["body"]) for one in shown["messages"]],
                    [("note", "Hello there")],
                ),
                lambda: "Hello there" in self.azure.message_ids[0].body,
            ),
            (
                "schedule_activity",
                {"id": self.azure.id, "summary": "Call back"},
                lambda shown: self.assertIn(
                    "mail.activity", [one["model"] for one in shown["created"]]
                ),
                lambda: self.azure.activity_ids.summary == "Call back",
            ),
            (
                "archive_records",
                {"ids": [self.child.id]},
                lambda shown: self.assertIs(
                    self._field(shown["changes"][0], "active")["new"], False
                ),
                lambda: not self.child.active,
            ),
            (
                "delete_records",
                {"ids": [self.child.id]},
                lambda shown: self.assertEqual(
                    [one["id"] for one in shown["deleted"]], [self.child.id]
                ),
                lambda: not self.child.exists(),
            ),
        ):
            with self.subTest(name):
                shows(self._rehearse(name, **arguments))
                self.assertFalse(happens())
                self.assertEqual(self._allow().outcome, "ok")
                self.assertTrue(happens())

    def test_a_change_in_between_is_caught_and_shown(self):
        self._rehearse("update_records", ids=[self.azure.id], values={"city": "Oslo"})
        self.azure.city = "Bergen"
        self.env.flush_all()
        self.row.write({"approval": "approved", "decision": "approve_once"})
        self.env.flush_all()
        claim = self.claims[self.internal]
        differs = self._differs()
        self.assertEqual(self.azure.city, "Bergen")
        self.store.ask_again(claim, self.call.id, differs)
        self.env.invalidate_all()
        asked = self.row._approval_event()["rehearsal"]
        self.assertTrue(asked["differs"])
        self.assertEqual(self._field(asked["changes"][0], "city")["old"], "Bergen")
        self.assertEqual(self._field(asked["before"]["changes"][0], "city")["old"], "Fremont")
        self.store.ask_again(claim, self.call.id, differs)  # nobody heard that it was done
        self.env.invalidate_all()
        self.assertEqual(self.row._approval_event()["rehearsal"], asked)
        ending = Ending(state="waiting", next_seq=self.row.turn_id._last_seq() + 1)
        self.store.finish(claim, ending, [])
        self.env.invalidate_all()
        self.assertEqual(self.row.turn_id.state, "waiting")

    def test_ids_and_moments_are_not_compared(self):
        self._rehearse("create_record", values={"name": "Twice"})
        self.env["res.partner"].create({"name": "In Between"})
        self.env.flush_all()
        self.assertEqual(self._allow().outcome, "ok")

    def test_an_old_id_that_a_new_record_has_too_is_no_difference(self):
        action = self.env["ir.actions.server"].create(
            {
                "name": "Link",
                "model_id": self.env["ir.model"]._get_id("res.partner"),
                "state": "code",
                "code": "records.write({'city': 'Oslo'})\n"
                "records.message_post(body='See /odoo/contacts/%s' % records.id)",
            }
        )
        self.line.action_ids = action
        self._next_id("res_partner")
        partner = self.env["res.partner"].create({"name": "Linked"})
        self.env.flush_all()
        self._rehearse("run_action", ids=partner.ids, action="Link")
        self._next_id("mail_message")
        self.assertEqual(self._allow().outcome, "ok")
        self.assertTrue(self.env["mail.message"].browse(partner.id).exists())

    def _next_id(self, table, following=900_001):
        self.env.cr.execute("SELECT setval(%s, %s, false)", [f"{table}_id_seq", following])

    # ------------------------------------------------------------ several of one answer

    def test_each_of_two_changes_is_asked_about_once(self):
        """The second one is shown as what it is after the first one, of which it changes what that has made."""
        self.line.action_ids = self.env["ir.actions.server"].create(
            {
                "name": "Finish",
                "model_id": self.env["ir.model"]._get_id("res.partner"),
                "state": "code",
                "code": "records.child_ids.write({'city': 'Bergen'})\nrecords.message_post(body='Done')",
            }
        )
        lines = [{"name": "Line"}]
        shown = self._rehearse(
            "update_records",
            answer=1,
            ids=[self.azure.id],
            values={"city": "Oslo", "child_ids": lines},
        )
        first, first_row = self.call, self.row
        finish = {"ids": [self.azure.id], "action": "Finish"}
        shown = self._rehearse("run_action", answer=1, **finish)
        cities = {self._field(one, "city")["old"] for one in shown["changes"]}
        self.assertEqual(cities, {"Oslo"})
        self.assertEqual((self.azure.city, self.row.approval), ("Fremont", "pending"))
        second, second_row = self.call, self.row
        self._next_id("res_partner")
        for self.call, self.row in ((first, first_row), (second, second_row)):
            self.assertEqual(self._allow().outcome, "ok")
        self.assertEqual(self.azure.child_ids.mapped("city"), ["Bergen"] * 2)

    def test_without_the_first_one_the_second_one_is_shown_again(self):
        for city in ("Oslo", "Bergen"):
            self._rehearse("update_records", answer=1, ids=[self.azure.id], values={"city": city})
        denied = self.env["woow_paas_platform.tool_call"].search(
            [("turn_id", "=", self.row.turn_id.id)], limit=1
        )
        denied.write({"approval": "denied", "outcome": "denied"})
        self.row.write({"approval": "approved", "decision": "approve_once"})
        self.env.flush_all()
        shown = self._differs()["shown"]
        self.assertEqual(self._field(shown["changes"][0], "city")["old"], "Fremont")

    def test_numbers_of_one_answer_go_on(self):
        self.env["ir.sequence"].create({"name": "S", "code": "woow.test", "prefix": "T"})

        def numbered(scope, given):
            number = scope.env["ir.sequence"].sudo().next_by_code("woow.test")
            scope.env["res.partner"].create({"name": f"Partner {number}"})
            return "", {}

        with patch.dict(write.TOOLS, create_record=numbered):
            for number in ("T1", "T2"):
                shown = self._rehearse("create_record", answer=1, values={"name": "x"})
                self.assertEqual(shown["numbers"], [number])

    def test_what_is_behind_a_change_that_waits_does_not_begin(self):
        """Asking is all that it does meanwhile, and nothing says that it was begun."""
        self.line.policy = "auto"
        self.line.action_ids = self.env["ir.actions.server"].create(
            {
                "name": "Move",
                "model_id": self.env["ir.model"]._get_id("res.partner"),
                "state": "code",
                "code": "records.write({'city': 'Oslo'})",
            }
        )
        given = {**PARTNER, "ids": [self.azure.id]}
        for name, more in (("read_records", {}), ("run_action", {"action": "Move"})):
            call, verdict = self._begin(self.internal, name, {**given, **more})
            self.assertEqual(verdict.kind, "run")
            call, _verdict = self._begin(self.internal, name, {**given, **more}, begins=False)
            behind = replace(call, is_behind=True)
            self.assertEqual(self.store.begin_call(self.claims[self.internal], behind).kind, "held")
            row = self.env["woow_paas_platform.tool_call"].search([("call_id", "=", call.id)])
            self.assertFalse(row.started_at)
        self.line.policy = "ask"
        self.env.flush_all()
        self.assertEqual(self.store.begin_call(self.claims[self.internal], behind).kind, "ask")

    # ------------------------------------------------------------ nothing leaves

    def test_no_number_is_drawn_from_a_sequence(self):
        sequence = self.env["ir.sequence"].create({"name": "S", "code": "woow.test", "prefix": "T"})
        self.env.flush_all()

        def numbers(scope, given):
            drawn = [scope.env["ir.sequence"].sudo().next_by_code("woow.test") for _ in range(2)]
            scope.env["res.partner"].create({"name": f"Partner {drawn[0]} {drawn[1]}"})
            return "", {}

        with patch.dict(write.TOOLS, create_record=numbers):
            shown = self._rehearse("create_record", values={"name": "x"})
            self.assertEqual(shown["numbers"], ["T1", "T2"])
            self.assertEqual(sequence.number_next_actual, 1)
            sequence.next_by_id()
            self.assertEqual(self._allow().outcome, "ok")
        self.assertTrue(self.env["res.partner"].search([("name", "=", "Partner T2 T3")]))

    def test_what_would_leave_is_refused_and_the_card_says_so(self):
        def connects(scope, given):
            socket.create_connection(("127.0.0.1", 9), 0.01)

        def passes_over(scope, given):
            try:
                connects(scope, given)
            except Exception:
                return "", {}

        def commits(scope, given):
            scope.env.cr.commit()

        def opens(scope, given):
            sql_db.db_connect(scope.env.cr.dbname).cursor().close()

        for doing in (connects, passes_over, commits, opens):
            with self.subTest(doing.__name__), patch.dict(write.TOOLS, create_record=doing):
                shown = self._rehearse("create_record", values={"name": "x"})
                self.assertIn("cannot be shown in advance", shown["impossible"])

    def test_what_a_rehearsal_did_not_see_leaving_does_not_leave_after_the_yes(self):
        """Whether something is sent may depend on what has become of the records meanwhile."""
        partners = type(self.env["res.partner"])
        writes, service = partners.write, socket.create_server(("127.0.0.1", 0))
        self.addCleanup(service.close)
        service.setblocking(False)

        def write(records, vals):
            if "Bergen" in records.mapped("city"):
                socket.create_connection(service.getsockname(), 1).close()
            return writes(records, vals)

        with patch.object(partners, "write", write):
            self._rehearse("update_records", ids=[self.azure.id], values={"street": "Side street"})
            writes(self.azure, {"city": "Bergen"})
            self.env.flush_all()
            self.row.write({"approval": "approved", "decision": "approve_once"})
            self.env.flush_all()
            differs = self._differs()
            self.assertRaises(BlockingIOError, service.accept)
            self.assertFalse(self.azure.street)
            self.store.ask_again(self.claims[self.internal], self.call.id, differs)
            self.env.invalidate_all()
            asked = self.row._approval_event()["rehearsal"]
            self.assertIn("the network", asked["impossible"])
            self.assertEqual(self._allow().outcome, "ok")
        self.assertEqual(self.azure.street, "Side street")
        self.assertTrue(service.accept())

    def test_what_follows_a_commit_or_a_rollback_is_dropped(self):
        """A rollback is not sandboxed: what would be taken back has not left."""
        done = []

        def sends(scope, given):
            scope.env.cr.precommit.add(lambda: done.append("before"))
            scope.env.cr.postcommit.add(lambda: done.append("after"))
            scope.env.cr.prerollback.add(lambda: done.append("undone"))
            scope.env.cr.postrollback.add(lambda: done.append("undone"))
            return "", {}

        with patch.dict(write.TOOLS, create_record=sends):
            self._rehearse("create_record", values={"name": "x"})
        self.assertEqual(done, ["before"])
        self.assertFalse(self.env.cr.postrollback)

    def test_other_threads_are_not_sandboxed(self):
        with (
            rehearsal.recording(rehearsal.Recorder()),
            self.assertRaises(rehearsal.Refused),
        ):
            socket.getaddrinfo("127.0.0.1", 9)
        self.assertTrue(socket.getaddrinfo("127.0.0.1", 9))

    # ------------------------------------------------------------ what cannot be asked, what is not shown

    def test_of_what_was_given_up_nothing_leaves_any_more(self):
        left, is_over = [], False

        def connect():
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", 9), 0.01)

        with rehearsal.watching(left, lambda: is_over):
            connect()
            before = list(left)
            is_over = True
            self.assertRaises(rehearsal.Refused, connect)
        self.assertEqual((set(left), left), ({"the network"}, before))

    def test_nobody_is_asked_about_what_fails(self):
        arguments = {"ids": [self.internal.partner_id.id], **PARTNER}  # of a user, so it is kept
        self.call, verdict = self._begin(self.internal, "delete_records", arguments)
        self.assertEqual(verdict.kind, "ask")
        self._error(self.store.rehearse_call, self.claims[self.internal], self.call.id)
        row = self.env["woow_paas_platform.tool_call"].search([("call_id", "=", self.call.id)])
        self.env.invalidate_all()
        self.assertFalse(row.approval)

    def test_records_that_the_person_may_not_read_are_not_shown(self):
        self.env["ir.rule"].create(
            {
                "name": "Not the child",
                "model_id": self.env["ir.model"]._get_id("res.partner"),
                "domain_force": f"[('id', '!=', {self.child.id})]",
                "perm_write": False,
                "perm_create": False,
                "perm_unlink": False,
            }
        )
        self.env.flush_all()
        shown = self._rehearse(
            "update_records", ids=[self.azure.id], values={"city": "Oslo", "name": "Azurite AS"}
        )
        self.assertEqual([one["id"] for one in shown["changes"]], [self.azure.id])
        self.assertGreater(shown["hidden"], 0)
        self.assertNotIn("Brandon", str(shown))

    def test_limits_hold_in_a_rehearsal(self):
        def sleeps(scope, given):
            scope.env.cr.execute("SELECT pg_sleep(5)")

        with (
            patch.dict(write.TOOLS, create_record=sleeps),
            patch.object(executor, "STATEMENT_TIMEOUT", 0.05),
        ):
            self.call, _verdict = self._begin(
                self.internal, "create_record", {"values": {"name": "x"}, **PARTNER}
            )
            said = self._error(self.store.rehearse_call, self.claims[self.internal], self.call.id)
        self.assertIn("was ended", said)

    def test_a_released_action_is_rehearsed(self):
        action = self.env["ir.actions.server"].create(
            {
                "name": "Move",
                "model_id": self.env["ir.model"]._get_id("res.partner"),
                "state": "code",
                "code": "records.write({'city': 'Oslo'})",
            }
        )
        self.line.action_ids = [Command.set(action.ids)]
        shown = self._rehearse("run_action", ids=[self.azure.id], action="Move")
        self.assertEqual(self._field(shown["changes"][0], "city")["new"], "Oslo")
        self.assertEqual(self._allow().outcome, "ok")
