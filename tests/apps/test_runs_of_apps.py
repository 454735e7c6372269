"""Runs that automation rules start, and what happens when a call on records sets one off."""

from unittest.mock import patch

from odoo import Command
from odoo.tests import tagged

from ...tools import db
from ..records_data import RehearsalCase
from ..test_runs import ASK, RUN


@tagged("post_install", "-at_install")
class TestRunsOfAutomationRules(RehearsalCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.internal.group_ids += cls.env.ref("sales_team.group_sale_manager")
        cls.stage = cls.env["crm.stage"].create({"name": "To qualify"})
        cls.lead = cls.env["crm.lead"].create({"name": "Fifty chairs", "type": "opportunity"})

    def _rule(self, trigger, **values):
        return self.env["base.automation"].create(
            {
                "name": "Qualify",
                "model_id": self.env["ir.model"]._get_id("crm.lead"),
                "trigger": trigger,
                "action_server_ids": [
                    Command.create(
                        {
                            "name": "Qualify the lead",
                            "usage": "base_automation",
                            "state": ASK,
                            "model_id": self.env["ir.model"]._get_id("crm.lead"),
                            "woow_assistant_id": self.assistant.id,
                            "woow_instruction": "Qualify {{ object.name }}.",
                            "woow_run_as_id": self.internal.id,
                        }
                    )
                ],
                **values,
            }
        )

    def _runs(self, rule):
        return self.env[RUN].search([("action_id", "in", rule.action_server_ids.ids)])

    def test_a_change_of_stage_starts_one(self):
        field = self.env["ir.model.fields"]._get("crm.lead", "stage_id")
        rule = self._rule("on_stage_set", trg_field_ref=self.stage.id, trigger_field_ids=field.ids)
        self.lead.name = "Sixty chairs"
        self.assertFalse(self._runs(rule))
        self.lead.stage_id = self.stage
        run = self._runs(rule)
        self.assertEqual(
            (run.res_model, run.res_id, run.state), ("crm.lead", self.lead.id, "scheduled")
        )

    def test_a_webhook_starts_one(self):
        rule = self._rule(
            "on_webhook", record_getter="model.env['crm.lead'].browse(payload.get('id'))"
        )
        rule._execute_webhook({"id": self.lead.id})
        self.assertEqual(self._runs(rule).res_id, self.lead.id)

    def test_a_message_from_outside_starts_one(self):
        rule = self._rule("on_message_received")
        self.lead.message_post(
            body="Hello?",
            message_type="email",
            subtype_xmlid="mail.mt_comment",
            author_id=self.env["res.partner"].create({"name": "Customer"}).id,
        )
        self.assertEqual(self._runs(rule).res_id, self.lead.id)

    def test_a_rehearsed_change_starts_none_and_the_real_one_does(self):
        rule = self._rule("on_create_or_write")
        lead = Command.create({"model": "crm.lead", "can_update": True})
        self.assistant.record_access_ids = [lead]
        new = {"model": "crm.lead", "ids": [self.lead.id], "values": {"name": "Sixty chairs"}}
        shown = self._rehearse("update_records", **new)
        self.assertNotIn("impossible", shown, shown)
        self.assertFalse(self._runs(rule))
        self.assertEqual(self._allow().outcome, "ok")
        run = self._runs(rule)
        self.assertEqual((run.state, run.depth), ("scheduled", 0))

    def test_what_a_run_changes_does_not_start_it_anew(self):
        rule = self._rule("on_create_or_write")
        self.lead.name = "Sixty chairs"
        run = self._runs(rule)
        with patch.object(type(self.env["ir.cron"]), "_commit_progress", lambda *_, **__: 1.0):
            self.env[RUN]._cron_start()
        with db.written_by(run.turn_id.id):
            self.lead.with_context(__action_done={}).name = "Seventy chairs"
        self.assertEqual(self._runs(rule), run)
