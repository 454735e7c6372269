"""Runs: assistants that server actions ask, from the trigger to the answer on the record."""

from datetime import timedelta
from unittest.mock import patch

from lxml import etree
from odoo import Command, fields
from odoo.exceptions import AccessError, UserError, ValidationError
from odoo.tests import Form, new_test_user, tagged

from ..models.turn.ai_turn import PROMPT_CHARS
from ..models.turn.ai_turn_request import DATA
from ..services import events
from ..tools import copies, db
from .common import AiCase

ASK = "woow_ask_assistant"
RUN = "woow_paas_platform.ai_run"


class RunCase(AiCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.env["ir.config_parameter"].set_param("woow_paas_platform.runs_at_once", "8")
        cls.internal.group_ids += cls.env.ref("base.group_partner_manager")
        cls.contact = cls.env["res.partner"].create(
            {"name": "Acme Corp", "comment": "<p>Pay now!</p>"}
        )
        cls.action = cls._action()

    @classmethod
    def _action(cls, model="res.partner", **values):
        return cls.env["ir.actions.server"].create(
            {
                "name": "Check the contact",
                "state": ASK,
                "model_id": cls.env["ir.model"]._get_id(model),
                "woow_assistant_id": cls.assistant.id,
                "woow_instruction": "Check this contact.",
                "woow_run_as_id": cls.internal.id,
                "woow_answer_to": "note",
                **values,
            }
        )

    def _press(self, records=None, action=None):
        """Run the action on records, as a button or an automation rule does, and start its runs."""
        records = self.contact if records is None else records
        action = action or self.action
        action.with_context(active_model=records._name, active_ids=records.ids).run()
        return self._runs(action)

    def _runs(self, action=None):
        return self.env[RUN].search([("action_id", "=", (action or self.action).id)], order="id")

    def _start(self):
        with patch.object(type(self.env["ir.cron"]), "_commit_progress", lambda *_, **__: 1.0):
            self.env[RUN]._cron_start()

    def _end(self, run, state="done", html="<p>All is well.</p>", turn=None):
        turn = turn or run.turn_id
        turn.write({"state": "running"})
        turn._end(state, html, error=("llm_unavailable", "Down.") if state == "failed" else None)
        return run

    def _retry_in_chat(self, turn):
        return turn.with_user(self.internal)._retry().sudo()

    def _wait(self, run, turn=None):
        """:return: the turn of the run, which waits for a confirmation of round 3 now"""
        turn = turn or run.turn_id
        turn.write({"state": "running"})
        turn._begin_wait(confirm=3)
        return turn


@tagged("post_install", "-at_install")
class TestRuns(RunCase):
    def test_a_button_starts_one_run_for_each_record_which_notes_its_answer(self):
        other = self.contact.copy({"name": "Other"})
        runs = self._press(self.contact | other)
        self.assertEqual(runs.mapped("state"), ["scheduled", "scheduled"])
        self.assertEqual(
            len(self._press(self.contact)), 2, "the same transaction is the same event"
        )
        self._start()
        run = runs[0]
        self.assertEqual(run.state, "started")
        turn = run.turn_id
        self.assertEqual(
            (turn.user_id, turn.state, turn.is_unattended), (self.internal, "queued", True)
        )
        self.assertEqual(turn.channel_id.woow_res_id, self.contact.id)
        self.assertFalse(turn.taint)
        self._end(run)
        self.assertEqual(run.state, "done")
        note = self.contact.message_ids[0]
        self.assertIn("All is well.", note.body)
        self.assertTrue(note.subtype_id.internal)
        self.assertEqual(note.author_id, self.assistant.partner_id)
        self.assertFalse(other.message_ids.filtered(lambda m: "All is well." in m.body))

    def test_an_answer_by_a_call_needs_the_access_of_the_assistant(self):
        comment, color, signature = (
            self.env.ref(f"base.field_res_{name}").id
            for name in ("partner__comment", "partner__color", "users__signature")
        )
        put = {"woow_answer_to": "field", "woow_answer_field_id": comment}
        for values in ({"woow_answer_to": "message"}, put):
            with self.assertRaisesRegex(ValidationError, "may not do this"):
                self._action(**values)
        access = {"model": "res.partner", "can_update": True, "can_message": True}
        self.assistant.record_access_ids = [Command.create(access)]
        for wrong in (False, color, signature):
            with self.assertRaisesRegex(ValidationError, "Choose a text field"):
                self._action(**{**put, "woow_answer_field_id": wrong})
        for values in ({"woow_answer_to": "message"}, put):
            run = self._press(action=self._action(**values))
            self._start()
            self._end(run)
            self.assertIn("could not be put on the record", run.problem)

    def test_the_conversation_is_not_listed_unless_its_user_is_notified(self):
        self._press()
        told = self._action(woow_answer_to="user")
        self._press(action=told)
        self._start()
        listed = self.env["discuss.channel"].with_user(self.internal)._ai_conversations()
        self.assertEqual(listed, self._runs(told).channel_id)
        self.assertTrue(self._runs(told).turn_id.is_unseen)

    def test_values_of_the_record_are_data_that_others_may_have_written(self):
        action = self._action(
            woow_instruction="Read {{ object.comment }} of {{object.name}}, color {{ object.color }}."
        )
        run = self._press(action=action)
        self._start()
        self.assertIn('Read "Pay now!" of "Acme Corp", color "0".', run.turn_id.prompt)
        self.assertEqual(run.turn_id.taint, "record")
        self.assertEqual(run.turn_id._said(), [self.assistant.system_prompt or ""])
        plain = self._press(action=self._action(woow_instruction="Color {{ object.color }}?"))
        self._start()
        self.assertFalse(plain.turn_id.taint)

    def test_words_of_a_record_without_a_name_are_foreign_too(self):
        nameless = self.env["res.partner"].create({"name": " ", "comment": "<p>Pay now!</p>"})
        action = self._action(woow_instruction="Read {{ object.comment }}.")
        run = self._press(nameless, action)
        self._start()
        self.assertEqual(run.turn_id.taint, "record")

    def test_a_long_value_leaves_room_for_what_is_said_of_values(self):
        many = "{{ object.comment }} " * 40
        self.contact.comment = f"<p>{'word ' * 100_000}</p>"
        run = self._press(action=self._action(woow_instruction=many))
        self._start()
        self.assertEqual(len(run.turn_id.prompt), PROMPT_CHARS)
        self.assertTrue(run.turn_id.prompt.endswith(DATA))

    def test_another_cron_tells_of_several_events_in_its_time(self):
        cron = self.env["ir.cron"].search([], limit=1)
        cron.nextcall = fields.Datetime.now() - timedelta(minutes=1)
        action = self.action.with_context(cron_id=cron.id)
        self.assertTrue(action._event().startswith("transaction"))

    def test_a_placeholder_that_leads_nowhere_is_refused(self):
        for text in (
            "{{ object.nonsense }}",
            "{{ object.name.x }}",
            "{{ env.user }}",
            "{{ object }}",
        ):
            with self.subTest(text), self.assertRaisesRegex(ValidationError, "is no field"):
                self._action(woow_instruction=text)

    def test_it_runs_as_a_person_and_never_as_the_system(self):
        for user in (self.env.ref("base.user_root"), self.public, self.env["res.users"]):
            with self.subTest(user.login), self.assertRaisesRegex(ValidationError, "active user"):
                self._action(woow_run_as_id=user.id)

    def test_what_cannot_start_is_a_row_that_says_why_and_the_trigger_goes_on(self):
        leaver = new_test_user(self.env, "ai_leaver", groups="base.group_user")
        gone = self.contact.copy()
        cases = {
            "deactivated": self._press(action=self._action(woow_run_as_id=leaver.id)),
            "may not read": self._press(gone),
            "archived": self._press(
                action=self._action(woow_assistant_id=self.assistant.copy().id)
            ),
        }
        leaver.active = False
        gone.unlink()
        cases["archived"].assistant_id.active = False
        self._start()
        for words, run in cases.items():
            with self.subTest(words):
                self.assertEqual((run.state, run.turn_id.id), ("refused", False))
                self.assertIn(words, run.problem)
        leaver.active = True
        cases["deactivated"].action_retry()
        self._start()
        self.assertEqual(cases["deactivated"].state, "started")

    def test_a_user_without_the_record_gets_nothing_of_it(self):
        """The trigger's user may read the record; the one that the action runs as may not."""
        self.env["ir.rule"].create(
            {
                "name": "Only own contacts",
                "model_id": self.env["ir.model"]._get_id("res.partner"),
                "groups": [Command.link(self.env.ref("base.group_user").id)],
                "domain_force": f"[('id', '!=', {self.contact.id})]",
            }
        )
        run = self._press()
        self._start()
        self.assertEqual(run.state, "refused")
        self.assertFalse(run.with_user(self.internal).record_label)

    def test_a_rolled_back_trigger_has_no_run(self):
        with self.assertRaises(ZeroDivisionError), self.env.cr.savepoint():
            self._press()
            raise ZeroDivisionError
        self.assertFalse(self._runs())

    def test_a_cron_runs_once_for_the_time_for_which_it_was_planned(self):
        cron = self.env["ir.cron"].create(
            {
                "name": "Morning report",
                "model_id": self.env["ir.model"]._get_id("res.partner"),
                "state": ASK,
                "woow_assistant_id": self.assistant.id,
                "woow_instruction": "Report.",
                "woow_run_as_id": self.internal.id,
                "woow_answer_to": "user",
                "interval_number": 1,
                "interval_type": "days",
                "nextcall": fields.Datetime.now() - timedelta(minutes=1),
            }
        )
        action = cron.ir_actions_server_id
        for _again in range(2):
            action.with_context(cron_id=cron.id).run()
        self.assertEqual(len(self._runs(action)), 1)
        cron.nextcall = fields.Datetime.now() - timedelta(seconds=10)
        action.with_context(cron_id=cron.id).run()
        self.assertEqual(len(self._runs(action)), 2)
        self._start()
        self.assertEqual(self._runs(action).turn_id.mapped("prompt"), ["Report.", "Report."])

    def test_a_form_offers_the_answers_that_can_be_saved(self):
        """A schedule has no record; message and field need the assistant's access to the model."""
        context = {"default_state": ASK, "default_woow_answer_to": "user"}
        schedule = {**context, "default_model_id": self.env["ir.model"]._get_id("res.users")}
        view = "woow_paas_platform.ask_cron_view_form"
        with Form(self.env["ir.cron"].with_context(**schedule), view=view) as form:
            form.name, form.woow_instruction = "Morning report", "Report."
            form.woow_assistant_id, form.woow_run_as_id = self.assistant, self.internal
            form.woow_remind_hours, form.woow_escalation_hours = 4, 8
            form.woow_escalation_group_id = self.env.ref("base.group_system")
        action = form.record.ir_actions_server_id
        self.assertEqual(action.woow_answers, ["none", "user"])
        for wrong in (
            *({"woow_answer_to": answer} for answer in ("note", "message", "field", "activity")),
            {"woow_decider": "field"},
        ):
            with (
                self.subTest(**wrong),
                self.assertRaisesRegex(ValidationError, "schedule has no record"),
            ):
                action.write(wrong)
        self.assertEqual(self.action.woow_answers, ["none", "note", "activity", "user"])
        access = {"model": "res.partner", "can_update": True, "can_message": True}
        self.assistant.record_access_ids = [Command.create(access)]
        self.assertEqual(len(self.action.woow_answers), 6)

    def test_its_own_change_starts_no_run_and_a_chain_ends(self):
        run = self._press()
        self._start()
        with db.written_by(run.turn_id.id):
            self._press()
        self.assertEqual(self._runs(), run)
        others = [self._action(name=f"Chain {number}") for number in range(4)]
        for action in others:
            with db.written_by(run.turn_id.id):
                run = self._press(action=action)
            self._start()
        self.assertEqual([self._runs(a).state for a in others], ["started"] * 3 + ["refused"])
        self.assertIn("at most 3", run.problem)

    def test_after_failures_in_a_row_the_action_is_switched_off_and_its_owner_told(self):
        runs = self._press(self.env["res.partner"].create([{"name": f"C{n}"} for n in range(5)]))
        self._start()
        for run in runs[:4]:
            self._end(run, "failed")
        self.assertFalse(self.action.woow_is_off)
        self._end(runs[4], "failed")
        self.assertTrue(self.action.woow_is_off)
        self.assertIn("last 5 runs", self.action.woow_off_sentence)
        self.assertEqual(len(self.action.activity_ids), 1)
        self._press(self.contact)
        self.assertEqual(len(self._runs()), 5)
        self.action.woow_is_off = False
        self.assertFalse(self.action.activity_ids)
        self._press(self.contact)
        self.assertEqual(len(self._runs()), 6)

    def test_without_its_user_the_action_is_switched_off_and_the_trigger_goes_on(self):
        leaver = new_test_user(self.env, "ai_leaver", groups="base.group_user")
        action = self._action(woow_run_as_id=leaver.id)
        leaver.unlink()
        self.assertFalse(self._press(action=action))
        self.assertIn("was deleted", action.woow_off_sentence)
        self.assertEqual(len(action.activity_ids), 1)

    def test_a_flood_switches_the_action_off(self):
        self.env["ir.config_parameter"].set_param("woow_paas_platform.runs_per_hour", "3")
        self._press(self.env["res.partner"].create([{"name": f"C{n}"} for n in range(5)]))
        self.assertEqual(len(self._runs()), 3)
        self.assertIn("more than 3 times", self.action.woow_off_sentence)

    def test_only_so_many_run_at_once_and_each_user_has_a_turn(self):
        self.env["ir.config_parameter"].set_param("woow_paas_platform.runs_at_once", "2")
        many = self._press(self.env["res.partner"].create([{"name": f"C{n}"} for n in range(3)]))
        other = self._press(action=self._action(woow_run_as_id=self.admin.id))
        self._start()
        self.assertEqual(many.mapped("state"), ["started", "scheduled", "scheduled"])
        self.assertEqual(other.state, "started")
        self._end(many[0])
        self._start()
        self.assertEqual(many[1].state, "started")

    def test_stop_and_try_again(self):
        run = self._press()
        run.with_user(self.internal).action_stop()
        self.assertEqual(run.state, "stopped")
        run.with_user(self.internal).action_retry()
        self._start()
        self.assertEqual(run.state, "started")
        run.with_user(self.internal).action_stop()
        self.assertEqual((run.state, run.turn_id.state), ("stopped", "stopped"))
        first = run.turn_id
        run.with_user(self.admin).action_retry()
        self.assertEqual((run.state, run.turn_id.retry_of_id), ("started", first))
        self._end(run)
        self.assertEqual(run.state, "done")

    def test_a_retry_in_the_chat_is_the_run_again(self):
        """Nobody else tries it again meanwhile, which would repeat its calls."""
        run = self._press()
        self._start()
        first = self._end(run, "failed").turn_id
        second = self._retry_in_chat(first)
        self.assertEqual((run.state, run.turn_id, run.ended_at), ("started", second, False))
        with self.assertRaisesRegex(UserError, "has not failed"):
            run.with_user(self.internal).action_retry()
        self._wait(run)
        self._end(run)
        self.assertEqual(run.state, "done")

    def test_another_answer_in_the_chat_is_not_put_down_again(self):
        run = self._press()
        self._start()
        first = self._end(run).turn_id
        notes = self.contact.message_ids
        another = self._wait(run, self._retry_in_chat(first))
        self.assertFalse(self.contact.activity_ids)
        self._end(run, "failed", turn=another)
        self.assertEqual((run.state, run.turn_id), ("done", first))
        self.assertEqual(self.contact.message_ids, notes)

    def test_it_works_in_the_companies_of_its_user_whoever_tries_again(self):
        own = self.internal.company_id
        first, theirs = self.env["res.company"].create(
            [{"name": "A first one", "sequence": -1}, {"name": "Of an administrator"}]
        )
        self.internal.company_ids += first
        self.admin.company_ids += theirs
        run = self._press()
        self._start()
        self.assertEqual(run.turn_id.companies, [own.id, first.id])
        self._end(run, "failed")
        presser = run.with_user(self.admin).with_context(allowed_company_ids=theirs.ids)
        presser.action_retry()
        turn = run.turn_id
        self.assertEqual(turn.companies, [own.id, first.id])
        self.assertEqual(turn.lang, self.internal.lang)

    def test_a_copy_of_the_database_starts_and_keeps_none(self):
        started = self._press()
        self._start()
        scheduled = self._press(self.env["res.partner"].create({"name": "Another"})) - started
        self.env.flush_all()
        copies.end_what_is_under_way(self.env.cr)
        self.env.invalidate_all()
        self._start()
        both = started | scheduled
        self.assertEqual(both.mapped("state"), ["stopped", "stopped"])
        self.assertTrue(all(both.mapped("ended_at")))
        self.assertFalse(scheduled.turn_id)

    def test_a_run_is_over_when_its_conversation_is_deleted(self):
        run = self._press()
        self._start()
        run.channel_id.unlink()
        self.assertEqual((run.state, bool(run.ended_at)), ("stopped", True))

    def test_the_form_tells_the_answer_and_what_was_changed(self):
        run = self._press()
        self._start()
        secret = self.env["res.partner"].create({"name": "Theirs", "company_id": self._elsewhere()})
        rows = [{"id": one.id} for one in self.contact | secret] + [{"id": self.contact.id}]
        self.env["woow_paas_platform.tool_call"].create(
            {
                "turn_id": run.turn_id.id,
                "call_id": "c1",
                "tool_name": "update_records",
                "records": "write",
                "outcome": "ok",
                "result": {"records": {"model": "res.partner", "rows": rows}},
            }
        )
        self._end(run)
        own, of_admin = run.with_user(self.internal), run.with_user(self.admin)
        link = f'<a href="/odoo/res.partner/{self.contact.id}">Acme Corp</a>'
        self.assertEqual(own.changed, link)
        self.assertIn("<p>All is well.</p>", own.answer_html)
        self.assertFalse(of_admin.answer_html)

    def test_administrators_search_by_what_they_may_read(self):
        runs = self.env[RUN].with_user(self.admin)
        self._press()
        offered = etree.fromstring(runs.get_view(view_type="search")["arch"]).xpath("//field/@name")
        self.assertIn("name", offered)
        for name in offered:
            with self.subTest(name):
                runs.search([(name, "ilike", "Check")])

    def _elsewhere(self):
        return self.env["res.company"].create({"name": "Elsewhere"}).id

    def test_strangers_neither_see_nor_move_a_run(self):
        run = self._press()
        stranger = new_test_user(self.env, "ai_other", groups="base.group_user")
        for user in (stranger, self.member, self.guest, self.public):
            with self.subTest(user.login):
                self.assertFalse(run.with_user(user).has_access("read"))
                for method in ("action_stop", "action_retry"):
                    with self.assertRaises(AccessError):
                        getattr(run.with_user(user), method)()

    def test_an_answer_that_fits_nowhere_is_told_and_the_turn_ends(self):
        run = self._press()
        self._start()
        self.contact.unlink()
        self._end(run)
        self.assertEqual((run.state, run.turn_id.state), ("done", "done"))
        self.assertIn("could not be put", run.problem)

    def test_runs_of_a_deleted_action_say_so(self):
        started = self._press()
        self._start()
        scheduled = self._press(self.contact.copy()) - started
        self.action.unlink()
        with self.assertNoLogs("odoo.addons.woow_paas_platform", "ERROR"):
            self._start()
        self.assertEqual(scheduled.state, "refused")
        self._end(started)
        self.assertEqual(started.state, "done")
        for run in (scheduled, started):
            self.assertEqual(run.problem, "The action was deleted.")

    def test_an_activity_is_planned_for_the_user(self):
        run = self._press(action=self._action(woow_answer_to="activity"))
        self._start()
        self._end(run)
        activity = self.contact.activity_ids
        self.assertEqual((activity.user_id, activity.summary), (self.internal, "Check the contact"))
        self.assertIn("All is well.", activity.note)

    def test_the_runs_of_a_user_end_with_the_user(self):
        leaver = new_test_user(self.env, "ai_leaver", groups="base.group_user")
        contacts = self.contact | self.contact.copy() | self.contact.copy()
        action = self._action(woow_run_as_id=leaver.id)
        runs = self._press(contacts, action)
        self.env["ir.config_parameter"].set_param("woow_paas_platform.runs_at_once", "2")
        self._start()
        runs[1].turn_id.state = "running"
        leaver.active = False
        self.assertEqual((runs[0].state, runs[0].turn_id.state), ("stopped", "stopped"))
        self.assertTrue(runs[1].turn_id.stop_requested)
        self._end(runs[1], "stopped", "")
        self._start()
        self.assertEqual(runs.mapped("state"), ["stopped", "stopped", "refused"])

    def test_decisions_wait_for_days(self):
        run = self._press()
        self._start()
        turn = self._wait(run)
        left = turn.waiting_until - fields.Datetime.now()
        self.assertGreater(left, timedelta(hours=71))
        self.assertEqual(run.turn_state, "waiting")

    def test_a_decision_is_an_activity_of_the_record_until_it_is_made(self):
        for over in ("decided", "stopped", "expired"):
            with self.subTest(over):
                action = self._action(woow_answer_to="none")
                run = self._press(action=action)
                self._start()
                turn = self._wait(run)
                activity = self.contact.activity_ids
                self.assertEqual(activity.user_id, self.internal)
                self.assertIn("Check the contact", activity.summary)
                self.assertIn(f"/my/ai/{run.channel_id.id}", activity.note)
                if over == "decided":
                    turn.with_user(self.internal).sudo()._decide(events.round_id(3), "continue")
                elif over == "stopped":
                    run.with_user(self.internal).action_stop()
                else:
                    turn._expire_decisions()
                self.assertFalse(self.contact.activity_ids)
                self.assertEqual(run.state, "stopped" if over == "stopped" else "started")
