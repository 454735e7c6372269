"""Webhooks: what is told, to whom, and what becomes of it; the request itself: tests/core/net and tests/e2e."""

import asyncio
import json
from datetime import timedelta
from types import SimpleNamespace
from unittest.mock import patch

from odoo import Command, fields
from odoo.exceptions import AccessError, UserError, ValidationError
from odoo.tests import Form, new_test_user, tagged
from odoo.tools import mute_logger

from ..models.automation import ai_run as run_module
from ..models.automation import webhook as webhook_module
from ..models.automation.webhook import MAX_WEBHOOKS, RETRY_AFTER
from ..runtime.servers import webhooks
from ..runtime.servers.webhooks import Outbox
from ..services.net.webhooks import Answer
from .test_neutralize import neutralize
from .test_runs import RUN, RunCase

WEBHOOK = "woow_paas_platform.webhook"
DELIVERY = "woow_paas_platform.webhook_delivery"
ADDRESS = "https://example.com/hook"
DAY = timedelta(days=1)


@tagged("post_install", "-at_install")
class TestWebhooks(RunCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.webhook = cls._hook()

    @classmethod
    def _hook(cls, user=None, **values):
        Webhook = cls.env[WEBHOOK].with_user(user or cls.admin)
        return Webhook.create({"name": "Operations", "url": ADDRESS, **values})

    def _told(self, webhook=None):
        """Events of the webhook with their data, in their order."""
        own = [("webhook_id", "=", (webhook or self.webhook).id)]
        found = self.env[DELIVERY].search(own, order="id")
        return [(one.event, json.loads(one.payload)["data"]) for one in found]

    def _events(self, webhook=None):
        return [event for event, _data in self._told(webhook)]

    def _end_turn(self, user=None):
        turn = self._ask(user or self.member).sudo()
        self._end(SimpleNamespace(turn_id=turn))
        return turn

    def test_the_end_of_a_turn_is_told_by_ids_and_without_a_word(self):
        turn = self._end_turn()
        ((event, data),) = self._told()
        self.assertEqual(event, "turn.ended")
        self.assertEqual((data["turn_id"], data["state"]), (turn.id, "done"))
        self.assertEqual(data["user_id"], self.member.id)
        self.assertTrue(data["url"].endswith(f"/my/ai/{turn.channel_id.id}"))
        words = {key for key, value in data.items() if isinstance(value, str)}
        self.assertLessEqual(words, {"state", "url", "model", "error_code"})
        payload = self.env[DELIVERY].search([("webhook_id", "=", self.webhook.id)]).payload
        self.assertNotIn(turn.prompt, payload)
        self.assertNotIn("well", payload)

    def test_a_run_is_told_with_its_record(self):
        run = self._press()
        self._start()
        self._end(run, "failed")
        self.assertEqual(self._events(), ["turn.ended", "run.ended"])
        _event, data = self._told()[1]
        self.assertEqual((data["run_id"], data["state"]), (run.id, "failed"))
        self.assertEqual((data["model"], data["record_id"]), ("res.partner", self.contact.id))
        self.assertEqual(data["error_code"], "llm_unavailable")

    def test_a_decision_that_waits_is_told_each_time(self):
        run = self._press()
        self._start()
        self._wait(run)
        self.assertEqual(self._events(), ["turn.waiting", "run.waiting"])
        self.assertEqual({data["state"] for _event, data in self._told()}, {"waiting"})
        self._wait(run)
        self.assertEqual(self._events(), 2 * ["turn.waiting", "run.waiting"])
        run.action_stop()
        self.assertEqual(self._events()[4:], ["turn.ended", "run.ended"])

    def test_a_run_whose_conversation_is_deleted_has_ended(self):
        run = self._press()
        self._start()
        self._wait(run)
        run.channel_id.unlink()
        event, data = self._told()[-1]
        self.assertEqual((event, data["run_id"], data["state"]), ("run.ended", run.id, "stopped"))

    def test_a_run_that_cannot_start_or_was_stopped_before_is_told(self):
        gone = self.contact.copy()
        refused = self._press(gone)
        gone.unlink()
        self._start()
        stopped = self._press() - refused
        stopped.action_stop()
        told = [(event, data["run_id"], data["state"]) for event, data in self._told()]
        self.assertEqual(
            told,
            [("run.refused", refused.id, "refused"), ("run.ended", stopped.id, "stopped")],
        )

    def test_old_runs_and_deliveries_go_in_batches(self):
        run = self._press()
        self._start()
        self._end(run, "failed")
        Delivery, Run = self.env[DELIVERY], self.env[RUN]
        Delivery.search([]).write({"state": "delivered"})
        self.env.flush_all()
        for model, module, sweep in (
            (Delivery, webhook_module, Delivery._gc_deliveries),
            (Run, run_module, Run._gc_runs),
        ):
            with self.subTest(model=model._name):
                self.env.cr.execute(f"UPDATE {model._table} SET create_date = '2020-01-01'")
                self.env.invalidate_all()
                with patch.object(module, "GC_BATCH", 1):
                    self.assertEqual(sweep(), (1, True), "Odoo comes back while there may be more")
                self.assertFalse(sweep()[1])

    def test_what_is_rolled_back_is_not_told(self):
        with self.assertRaises(ZeroDivisionError), self.env.cr.savepoint():
            self._end_turn()
            self.env.flush_all()
            raise ZeroDivisionError
        self.assertFalse(self._told())

    def test_only_chosen_events_of_chosen_assistants_are_told(self):
        other = self.assistant.copy()
        runs = {"turn_ended": False, "turn_waiting": False}
        elsewhere = self._hook(assistant_ids=[Command.link(other.id)])
        here = self._hook(assistant_ids=[Command.link(self.assistant.id)], **runs)
        off = self._hook(active=False)
        run = self._press()
        self._start()
        self._end(run)
        self.assertEqual(self._events(here), ["run.ended"])
        self.assertFalse(self._told(elsewhere) + self._told(off))

    def test_it_is_told_of_what_its_user_may_see(self):
        company = self.env["res.company"].create({"name": "Elsewhere"})
        self.provider.company_id = False
        self.assistant.company_id = company
        self.internal.company_ids += company
        self._end_turn(self.internal)
        self.assertFalse(self._told())
        self.admin.company_ids += company
        self._end_turn(self.internal)
        self.assertEqual(self._events(), ["turn.ended"])
        self.admin.group_ids -= self.env.ref("woow_paas_platform.group_admin")
        self._end_turn(self.internal)
        self.assertEqual(len(self._told()), 1)

    def test_who_changes_it_is_responsible(self):
        other = new_test_user(self.env, "ai_other", groups="woow_paas_platform.group_admin")
        self.webhook.with_user(other).write({"url": ADDRESS + "2", "user_id": self.admin.id})
        self.assertEqual(self.webhook.user_id, other)
        self.assertEqual(self._hook(user_id=other.id).user_id, self.admin)

    def test_its_secret_is_shown_once(self):
        form = Form(self.env[WEBHOOK].with_user(self.admin))
        form.name, form.url = "Alerts", ADDRESS
        secret = form.secret
        self.assertRegex(secret, r"^whsec_[A-Za-z0-9+/]{43}=$")
        webhook = form.save()
        self.env.flush_all()
        self.env.invalidate_all()
        self.assertFalse(webhook.secret)
        self.assertNotIn(secret, str(webhook.read()))
        with self.assertRaises(AccessError):
            webhook.read(["secret_encrypted"])
        self.env.cr.execute(
            f"SELECT row_to_json(w)::text FROM {webhook._table} w WHERE id = %s", [webhook.id]
        )
        self.assertNotIn(secret[6:], self.env.cr.fetchone()[0])
        self.assertIn(secret, str(self._claim(webhook).secret))
        shown = webhook.action_new_secret()["params"]["message"]
        self.assertIn(self._claim(webhook).secret, shown)
        self.assertNotIn(secret, shown)

    def test_after_a_change_the_old_secret_signs_too_for_a_day(self):
        first = self._claim(self.webhook).secret
        self.assertEqual(self._claim(self.webhook).old_secret, "")
        self.webhook.action_new_secret()
        self.assertEqual(self._claim(self.webhook).old_secret, first)
        second = self._claim(self.webhook).secret
        self.webhook.action_new_secret()
        third = self._claim(self.webhook).secret
        self.assertNotEqual(third, second)
        self.assertEqual(self._claim(self.webhook).old_secret, first, "which receivers know")
        with self.assertRaises(AccessError):
            self.webhook.read(["old_secret_encrypted"])
        self.webhook.sudo().old_secret_until = fields.Datetime.now() - timedelta(seconds=1)
        self.assertEqual(self._claim(self.webhook).old_secret, "")
        self._cron()
        self.assertFalse(self.webhook.sudo().old_secret_encrypted)

    @mute_logger("odoo.addons.woow_paas_platform.services.net.egress")
    def test_what_cannot_be_delivered_is_refused(self):
        with patch.dict("os.environ", {"WOOW_AI_EGRESS_ALLOW": ""}):
            webhook_module.settings.get.cache_clear()
            self.addCleanup(webhook_module.settings.get.cache_clear)
            for url, words in (
                ("http://127.0.0.1:8069/", "only public addresses"),
                ("http://169.254.169.254/latest", "only public addresses"),
                ("ftp://example.com", "must start with"),
                ("https://me:pw@example.com", "user name"),
            ):
                with self.subTest(url), self.assertRaisesRegex(ValidationError, words):
                    self.webhook.url = url
        with self.assertRaisesRegex(ValidationError, "random bytes"):
            self.webhook.secret = "whsec_short"
        none = dict.fromkeys(
            ("turn_ended", "turn_waiting", "run_ended", "run_waiting", "run_refused"), False
        )
        with self.assertRaisesRegex(ValidationError, "at least one event"):
            self.webhook.write(none)

    def test_there_are_only_so_many(self):
        for _more in range(MAX_WEBHOOKS - self.env[WEBHOOK].search_count([])):
            self._hook()
        with self.assertRaisesRegex(UserError, "at most 20"):
            self._hook()

    def test_the_oldest_messages_are_dropped_and_that_is_said(self):
        other = self._hook()
        for _one in range(5):
            self.webhook.action_test()
        other.action_test()
        with patch.object(webhook_module, "MAX_DELIVERIES", 3):
            self._cron()
        self.assertEqual((self.webhook.delivery_count, self.webhook.dropped), (3, 2))
        self.assertEqual((other.delivery_count, other.dropped), (1, 0))

    def test_of_too_many_that_wait_the_new_ones_are_dropped_at_once_and_that_is_said(self):
        other = self._hook()
        with patch.object(webhook_module, "MAX_WAITING", 2):
            for _more in range(4):
                self._end_turn()
            with self.assertRaisesRegex(UserError, "Too many messages"):
                self.webhook.action_test()
        self.assertEqual((self.webhook.delivery_count, self.webhook.dropped), (2, 3))
        self.assertEqual((other.delivery_count, other.dropped), (2, 2))
        self._try(204)
        self._end_turn()
        self.assertEqual(self.webhook.delivery_count, 3)

    # ------------------------------------------------------------ deliver

    def _cron(self):
        self.env.flush_all()
        with self.enter_registry_test_mode():
            self.env.ref("woow_paas_platform.ir_cron_deliver_webhooks").ir_actions_server_id.run()
        self.env.invalidate_all()

    def _claim(self, webhook):
        """The message that a process that delivers now takes."""
        webhook.active = True
        webhook.action_test()
        newest = self.env[DELIVERY].search([("webhook_id", "=", webhook.id)])
        newest[1:].sudo().unlink()
        return self._outbox(lambda outbox: outbox.claim(webhook.id))[1]

    def _outbox(self, work):
        self.env.flush_all()
        with self.enter_registry_test_mode():
            done = work(Outbox(self.env.cr.dbname))
        self.env.invalidate_all()
        return done

    def _try(self, status, retry_after=None):
        """A try of the webhook's message that is due, as a runner makes it.

        :return: the row
        """
        delivery_id, _delivery = self._outbox(lambda outbox: outbox.claim(self.webhook.id))
        answer = Answer(status, retry_after)
        self._outbox(lambda outbox: outbox.record(delivery_id, answer, "", 12))
        return self.env[DELIVERY].browse(delivery_id)

    def test_an_address_that_asks_to_be_left_alone_is_told_nothing_until_then(self):
        for _one in range(2):
            self.webhook.action_test()
        row = self._try(429, 1_800.0)
        self.assertEqual(round((row.next_try_at - row.tried_at).total_seconds()), 1_800)
        self.assertFalse(self._outbox(lambda outbox: outbox.claim(self.webhook.id)))
        self.assertNotIn(self.webhook, self.env[DELIVERY]._due_webhooks())
        self.webhook.sudo().paused_until = fields.Datetime.now() + timedelta(seconds=4)
        wait = self._outbox(lambda outbox: outbox.claim(self.webhook.id))
        self.assertGreater(wait, 2)
        self.assertLess(wait, 5)
        self.webhook.sudo().paused_until = fields.Datetime.now()
        self.assertIn(self.webhook, self.env[DELIVERY]._due_webhooks())
        self._try(503, 1.0)
        row.sudo().next_try_at = self.webhook.sudo().paused_until = fields.Datetime.now()
        self._try(204, 600.0)
        self.assertFalse(self.webhook.paused_until)

    def test_an_address_that_is_gone_switches_it_off(self):
        for _one in range(2):
            self.webhook.action_test()
        self._try(410)
        self.assertFalse(self.webhook.active)
        self.assertIn("410", self.webhook.off_sentence)
        self.assertEqual(set(self.webhook.delivery_ids.mapped("state")), {"failed"})

    def test_a_message_is_tried_again_later_each_time_then_given_up(self):
        self.webhook.action_test()
        waits = []
        for _try in RETRY_AFTER:
            row = self._try(503)
            waits.append(round((row.next_try_at - row.tried_at).total_seconds()))
            self.assertEqual(self.webhook.last_result, "The address answered with HTTP status 503.")
            row.sudo().next_try_at = fields.Datetime.now()
        self.assertEqual(tuple(waits), RETRY_AFTER)
        row = self._try(503)
        self.assertEqual((row.state, row.tries), ("failed", 7))
        self.assertTrue(self.webhook.failing_since)
        first = row.message_id
        row.with_user(self.admin).action_send_again()
        self.assertEqual(self._try(204).message_id, first)
        self.assertEqual((row.state, row.result_text), ("delivered", "HTTP 204"))
        self.assertFalse(self.webhook.failing_since)

    def test_one_process_at_a_time_delivers_to_an_address(self):
        for _one in range(2):
            self.webhook.action_test()
        claimed = self._outbox(lambda outbox: outbox.claim(self.webhook.id))
        self.assertFalse(self._outbox(lambda outbox: outbox.claim(self.webhook.id)))
        row = self.env[DELIVERY].browse(claimed[0]).sudo()
        row.sending_until = fields.Datetime.now() - timedelta(seconds=1)  # it has died
        again = self._outbox(lambda outbox: outbox.claim(self.webhook.id))
        self.assertEqual((again[0], again[1].message_id), (row.id, row.message_id))

    def test_a_slow_address_delays_no_other(self):
        slow, fast = self.webhook, self._hook(url=ADDRESS + "/fast")
        for webhook in (slow, slow, fast):
            webhook.action_test()

        async def deliver(outbox):
            others = asyncio.Event()

            async def answer(delivery):
                if delivery.url == fast.url:
                    others.set()
                await others.wait()
                return Answer(204, None)

            async def db(_name, method, *arguments):
                return method(*arguments)

            engine, loop = SimpleNamespace(deliver=answer), SimpleNamespace(db=db)
            async with asyncio.timeout(10):
                await webhooks.deliver(engine, loop, outbox, [slow.id, fast.id])

        self._outbox(lambda outbox: asyncio.run(deliver(outbox)))
        rows = (slow | fast).delivery_ids
        self.assertEqual([row.state for row in rows], ["delivered"] * 3)

    def test_after_days_of_failures_it_switches_itself_off(self):
        for _one in range(2):
            self.webhook.action_test()
        self._try(500)
        self.webhook.sudo().failing_since = fields.Datetime.now() - 4 * DAY
        self._try(500)
        self.assertFalse(self.webhook.active)
        self.assertIn("3 days", self.webhook.off_sentence)
        self.assertEqual(self.webhook.activity_ids.user_id, self.admin)
        self.assertEqual(set(self.webhook.delivery_ids.mapped("state")), {"failed"})
        self._end_turn()
        self.assertEqual(self.webhook.delivery_count, 2)
        with self.assertRaisesRegex(UserError, "on first"):
            self.webhook.action_test()
        self.webhook.active = True
        self.assertFalse(self.webhook.off_reason or self.webhook.activity_ids)

    def test_without_its_user_it_switches_itself_off(self):
        leaver = new_test_user(self.env, "ai_leaver", groups="woow_paas_platform.group_admin")
        webhook = self._hook(leaver)
        leaver.active = False
        self._end_turn()
        self.assertFalse(self._told(webhook))
        self._cron()
        self.assertFalse(webhook.active)
        self.assertIn("deactivated", webhook.off_sentence)

    def test_strangers_can_do_nothing_with_it(self):
        self.webhook.action_test()
        row = self.webhook.delivery_ids
        for user in (self.internal, self.member, self.guest, self.stranger, self.public):
            for record, method in (
                (self.webhook, "action_test"),
                (self.webhook, "action_new_secret"),
                (row, "action_send_again"),
            ):
                with self.subTest(user.login), self.assertRaises(AccessError):
                    getattr(record.with_user(user), method)()

    def test_a_copy_delivers_nothing(self):
        self.webhook.action_test()
        self.env.flush_all()
        neutralize(self.env)
        self.assertFalse(self.webhook.active or self.webhook.delivery_ids)
        self.assertFalse(self.webhook.sudo().secret_encrypted)
