import json
import uuid
from contextlib import suppress
from datetime import timedelta

from odoo import api, fields, models
from odoo.exceptions import UserError, ValidationError
from odoo.tools import SQL
from psycopg2.errors import SerializationFailure

from ...services.errors import EngineError, SecretUnreadable
from ...services.net import egress, webhooks
from ...services.sentence import _lt
from ...tools import copies, db, host, sentences, settings
from ...tools.moments import utc

MAX_WEBHOOKS = 20
MAX_DELIVERIES = 1_000  # of one webhook that are kept
FAILING_DAYS = 3  # without a success, after which a webhook is switched off
OLD_SECRET_HOURS = 24  # for which the secret before the current one signs, too
EVENTS = ("turn.ended", "turn.waiting", "run.ended", "run.waiting", "run.refused")
DELIVERY = "woow_paas_platform.webhook_delivery"

FAILED = _lt("No message could be delivered for %(days)s days.", days=FAILING_DAYS)
GONE = _lt("The address answered that it is gone for good (HTTP status 410).")
NO_USER = _lt("The user who saved it last was deactivated or is no longer an administrator.")

RETRY_AFTER = (5, 60, 600, 3_600, 21_600, 86_400)  # s after each failed try; then it is given up
LEASE = 2 * webhooks.TIMEOUT  # s; a process that says nothing for so long has died
SOON = 10.0  # s for which the process that delivers waits for the next try
KEPT_DAYS = 30
GC_BATCH = 1_000  # rows that one sweep deletes
MAX_WAITING = 1_000  # messages of one webhook that are not delivered yet; further ones are dropped
GONE_STATUS = 410  # status of HTTP by which an address asks to be told nothing more


def _column(event):
    return event.replace(".", "_")


class Webhook(models.Model):
    """Webhook: an address outside that is told when turns and runs end or wait.

    The message is a row of the transaction in which that happens, so what is rolled back is not told. It is delivered
    afterwards, see `WebhookDelivery` and `runtime/servers/webhooks.py`, at least once.
    """

    _name = "woow_paas_platform.webhook"
    _description = "AI Webhook"
    _inherit = [
        "mail.thread",
        "mail.activity.mixin",
        "woow_paas_platform.secret.mixin",
        "woow_paas_platform.filter.mixin",
    ]
    _order = "name, id"

    name = fields.Char(required=True)
    url = fields.Char("Address", required=True, tracking=True)
    active = fields.Boolean(default=True, tracking=True)
    secret = fields.Char(
        "Signing Secret",
        compute="_compute_secret",
        inverse="_inverse_secret",
        default=lambda self: webhooks.new_secret(),
        copy=False,
        help="Signs the messages. Stored encrypted. Leave empty to keep the current secret. After a change the old "
        "secret signs, too, for 24 hours.",
    )
    secret_encrypted = fields.Char(groups=fields.NO_ACCESS, copy=False)
    old_secret_encrypted = fields.Char("Old Signing Secret", groups=fields.NO_ACCESS, copy=False)
    old_secret_until = fields.Datetime("Old Secret Signs Until", readonly=True, copy=False)
    user_id = fields.Many2one(
        "res.users",
        "Responsible",
        readonly=True,
        required=True,
        ondelete="cascade",
        default=lambda self: self.env.user,
        help="Whoever saved the webhook last. It is told of what this user may see, and this user is told "
        "when it switches itself off.",
    )
    assistant_ids = fields.Many2many(
        "ai.assistant", string="Assistants", help="Leave empty for all assistants."
    )
    turn_ended = fields.Boolean(default=True)
    turn_waiting = fields.Boolean("Turn Waits for a Decision", default=True)
    run_ended = fields.Boolean(default=True)
    run_waiting = fields.Boolean("Run Waits for a Decision", default=True)
    run_refused = fields.Boolean("Run Not Started", default=True)
    failing_since = fields.Datetime(readonly=True, copy=False)
    paused_until = fields.Datetime(
        readonly=True,
        copy=False,
        help="Moment until which the address has asked to be told nothing.",
    )
    off_reason = sentences.SentenceField("Reason", readonly=True, copy=False)
    off_sentence = fields.Char("Why Switched Off", compute="_compute_off_sentence")
    dropped = fields.Integer(
        "Dropped Messages",
        readonly=True,
        copy=False,
        help="Messages that were not delivered, since too many others were waiting.",
    )
    delivery_ids = fields.One2many(DELIVERY, "webhook_id", "Deliveries", readonly=True)
    delivery_count = fields.Integer("Number of Deliveries", compute="_compute_delivery_count")
    last_tried_at = fields.Datetime("Last Try", compute="_compute_last_result")
    last_result = fields.Char(compute="_compute_last_result")

    @api.model
    def _fields_to_filter(self):
        return {"name", "url", "active", "user_id", "failing_since"}

    @api.depends("secret_encrypted")
    def _compute_secret(self):
        self._blank_secrets("secret")

    def _inverse_secret(self):
        for webhook in self.filtered("secret"):
            try:
                webhooks.key_of(webhook.secret)
            except EngineError as error:
                raise ValidationError(sentences.translated(self.env, str(error))) from error
            webhook._keep_old_secret()
        self._store_secret("secret")

    def _keep_old_secret(self):
        """Let the secret that is replaced sign for a day, or the one before while it still does: receivers know that
        one for sure."""
        # sudo: the stores are readable by nobody; who may write the webhook may replace its secret
        webhook = self.sudo()
        signing = webhook.old_secret_until and webhook.old_secret_until > fields.Datetime.now()
        if webhook.secret_encrypted and not (webhook.old_secret_encrypted and signing):
            until = fields.Datetime.now() + timedelta(hours=OLD_SECRET_HOURS)
            webhook.old_secret_encrypted = webhook.secret_encrypted
            webhook.old_secret_until = until

    def _secrets(self):
        """:return: the current secret and the one before, while it signs; each empty if there is none to read"""
        names, until = ["secret"], self.old_secret_until
        if until and until > fields.Datetime.now():
            names.append("old_secret")
        found = []
        for name in names:
            try:
                found.append(self._read_secret(name))
            except SecretUnreadable:
                found.append("")
        return (*found, "")[:2]

    @api.depends("off_reason")
    @api.depends_context("lang")
    def _compute_off_sentence(self):
        for webhook in self:
            webhook.off_sentence = sentences.translated(self.env, webhook.off_reason or "")

    def _compute_delivery_count(self):
        own = [("webhook_id", "in", self.ids)]
        counts = dict(self.env[DELIVERY]._read_group(own, ["webhook_id"], ["__count"]))
        for webhook in self:
            webhook.delivery_count = counts.get(webhook, 0)

    @api.depends_context("lang")
    def _compute_last_result(self):
        for webhook in self:
            tried = [("webhook_id", "=", webhook.id), ("tried_at", "!=", False)]
            last = self.env[DELIVERY].search(tried, order="tried_at desc, id desc", limit=1)
            webhook.last_tried_at, webhook.last_result = last.tried_at, last.result_text

    @api.constrains("url")
    def _check_url(self):
        for webhook in self:
            try:
                egress.check_url(webhook.url, settings.get().egress_allow)
            except EngineError as error:
                raise ValidationError(sentences.translated(self.env, str(error))) from error

    @api.constrains("active", *map(_column, EVENTS))
    def _check_events(self):
        for webhook in self:
            if not any(webhook[_column(event)] for event in EVENTS):
                raise ValidationError(self.env._("Choose at least one event."))

    @api.model_create_multi
    def create(self, vals_list):
        if not self.env.su:
            vals_list = [{**vals, "user_id": self.env.uid} for vals in vals_list]
        made = super().create(vals_list)
        # sudo: webhook - counted
        count = self.sudo().with_context(active_test=False).search_count([], limit=MAX_WEBHOOKS + 1)
        if count > MAX_WEBHOOKS:
            raise UserError(
                self.env._("There can be at most %(limit)s webhooks.", limit=MAX_WEBHOOKS)
            )
        return made

    def write(self, vals):
        """Make the user who changes a webhook responsible for it: it is told of what that user may see."""
        if not self.env.su:
            vals = {**vals, "user_id": self.env.uid}
        if vals.get("active"):
            anew = dict.fromkeys(("off_reason", "failing_since", "paused_until"), False)
            vals = {**vals, **anew, "dropped": 0}
            self.activity_unlink(["mail.mail_activity_data_warning"])
        return super().write(vals)

    # ------------------------------------------------------------ buttons

    def action_test(self):
        """Deliver a message of the type ``webhook.test``."""
        self.ensure_one()
        self.check_access("write")
        if not self.active:
            raise UserError(self.env._("Switch the webhook on first."))
        # sudo: webhook_delivery - written by the system only; the caller may write the webhook
        if not self.env[DELIVERY].sudo()._add_messages(self, "webhook.test", {}):
            raise UserError(self.env._("Too many messages are waiting. Try again later."))
        return self._notification(
            "info",
            self.env._("A test message is being sent. Its result is listed under Deliveries."),
        )

    def action_new_secret(self):
        """Replace the secret, and show the new one this once."""
        self.ensure_one()
        secret = webhooks.new_secret()
        self.secret = secret
        message = self.env._("Copy the new secret now, it is not shown again: %s", secret)
        return self._notification("warning", message, sticky=True)

    def _notification(self, kind, message, sticky=False):
        params = {"type": kind, "message": message, "sticky": sticky}
        after = {"type": "ir.actions.client", "tag": "soft_reload"}
        return {
            "type": "ir.actions.client",
            "tag": "display_notification",
            "params": {**params, "next": after},
        }

    def action_view_deliveries(self):
        self.ensure_one()
        action = self.env["ir.actions.actions"]._for_xml_id(
            "woow_paas_platform.webhook_delivery_action"
        )
        return {**action, "domain": [("webhook_id", "=", self.id)]}

    # ------------------------------------------------------------ tell, in the transaction of the event

    @api.model
    def _tell(self, event, record):
        """:param record: the turn or run that the event is about"""
        # sudo: webhook, webhook_delivery, ai_turn, ai_run - of the system, whoever ends the turn
        webhook, record = self.sudo().search([(_column(event), "=", True)]), record.sudo()
        told = webhook.filtered(lambda one: one._is_told_of(record))
        if told:
            self.env[DELIVERY].sudo()._add_messages(
                told, event, record._webhook_data(), record.assistant_id
            )

    def _count_dropped(self):
        """Count a message that is not kept; nobody waits for a webhook's row, nor fails by it."""
        self.flush_recordset(["dropped"])
        with suppress(SerializationFailure), self.env.cr.savepoint():
            self.env.cr.execute(
                SQL(
                    """
                    UPDATE woow_paas_platform_webhook SET dropped = COALESCE(dropped, 0) + 1
                     WHERE id IN (SELECT id FROM woow_paas_platform_webhook
                                   WHERE id = ANY(%s) FOR UPDATE SKIP LOCKED)
                    """,
                    self.ids,
                ),
                log_exceptions=False,
            )
        self.invalidate_recordset(["dropped"])

    def _is_told_of(self, record):
        """Tell whether the webhook wants to know of the record's assistant, and its user may see both."""
        assistant = record.assistant_id
        if self.assistant_ids and assistant not in self.assistant_ids:
            return False
        if self.user_id._is_superuser():
            return True
        env = self._env_of_user()
        return self._has_administrator() and all(
            one.with_env(env).has_access("read") for one in (record, assistant) if one
        )

    def _env_of_user(self):
        return self.env(user=self.user_id.id, su=False, context={})

    def _has_administrator(self):
        user = self.user_id
        is_active = user.active or user._is_superuser()
        return is_active and self.with_env(self._env_of_user()).has_access("write")

    # ------------------------------------------------------------ deliver, and upkeep

    @api.model
    def _deliver_soon(self):
        """Have the cron look for messages after the commit."""
        # sudo: ir.cron - one of our own, which delivers only what is written
        cron = self.env.ref("woow_paas_platform.ir_cron_deliver_webhooks", raise_if_not_found=False)
        if cron:  # else an administrator has deleted it, and turns end all the same
            cron.sudo()._trigger()

    @api.model
    def _cron_deliver(self):
        """Deliver what is due in the background, each webhook by itself."""
        dbname = self.env.cr.dbname
        if ids := db.transaction(dbname, lambda env: env[self._name]._take_due()):
            host.current().deliver_later(dbname, ids)

    @api.model
    def _take_due(self):
        """:return: ids of the webhooks that have messages to deliver now"""
        Delivery = self.env[DELIVERY]
        for webhook, count in Delivery._drop_oldest(MAX_DELIVERIES):
            webhook.dropped += count
        webhook = self.search([("active", "=", True)])
        webhook.filtered(lambda one: not one._has_administrator())._switch_off(NO_USER)
        old = self.search([("old_secret_until", "<=", fields.Datetime.now())])
        old.write({"old_secret_encrypted": False, "old_secret_until": False})
        due = Delivery._due_webhooks()
        if due and copies.settle(self.env.cr):  # the original delivers them
            self.env.invalidate_all()
            due = Delivery._due_webhooks()
        return due.ids

    def _note_result(self, has_succeeded, pause, *, is_gone):
        """Remember since when nothing could be delivered; after some days the webhook is switched off.

        :param pause: time for which the address asks to be left alone
        :param is_gone: True if it asks to be told nothing more
        """
        self.ensure_one()
        now = fields.Datetime.now()
        if pause and not has_succeeded:
            self.paused_until = now + pause
        elif self.paused_until:
            self.paused_until = False
        if is_gone:
            self._switch_off(GONE)
        elif has_succeeded:
            if self.failing_since:
                self.failing_since = False
        elif not self.failing_since:
            self.failing_since = now
        elif self.failing_since < now - timedelta(days=FAILING_DAYS):
            self._switch_off(FAILED)

    def _switch_off(self, reason):
        """:param reason: a `Sentence`, told the responsible user, else the administrator"""
        for webhook in self.filtered("active"):
            webhook.write({"active": False, "off_reason": reason})
            webhook.delivery_ids._give_up()
            user = webhook.user_id
            owner = user if user.active else webhook.env.ref("base.user_admin")
            webhook.activity_schedule(
                "mail.mail_activity_data_warning",
                summary=webhook.with_context(lang=owner.lang).env._("The webhook was switched off"),
                note=webhook.with_context(lang=owner.lang).off_sentence,
                user_id=owner.id,
            )


class WebhookDelivery(models.Model):
    """Message for a webhook, with what became of it; its rows are the outbox."""

    _name = "woow_paas_platform.webhook_delivery"
    _description = "AI Webhook Delivery"
    _inherit = ["woow_paas_platform.filter.mixin"]
    _order = "id desc"
    _rec_name = "message_id"

    webhook_id = fields.Many2one(
        "woow_paas_platform.webhook", required=True, readonly=True, ondelete="cascade"
    )
    assistant_id = fields.Many2one("ai.assistant", readonly=True, ondelete="set null")
    event = fields.Char(required=True, readonly=True)
    message_id = fields.Char(
        "Message ID", required=True, readonly=True, help="Header webhook-id, the same in every try."
    )
    payload = fields.Text("Message", required=True, readonly=True)
    state = fields.Selection(
        [("pending", "Pending"), ("delivered", "Delivered"), ("failed", "Given Up")],
        required=True,
        readonly=True,
        default="pending",
    )
    tries = fields.Integer(readonly=True)
    status = fields.Integer("HTTP Status", readonly=True, aggregator=None)
    problem = sentences.SentenceField(readonly=True)
    result_text = fields.Char("Result", compute="_compute_result_text")
    duration_ms = fields.Integer("Duration (ms)", readonly=True, aggregator="avg")
    tried_at = fields.Datetime("Last Try", readonly=True)
    next_try_at = fields.Datetime("Next Try", readonly=True, default=fields.Datetime.now)
    sending_until = fields.Datetime(readonly=True)

    _pending = models.Index("(webhook_id, next_try_at) WHERE state = 'pending'")
    _of_webhook = models.Index("(webhook_id, id)")

    @api.model
    def _fields_to_filter(self):
        return {"webhook_id", "event", "state", "status", "create_date", "tried_at"}

    @api.depends("status", "problem")
    @api.depends_context("lang")
    def _compute_result_text(self):
        for delivery in self:
            status = f"HTTP {delivery.status}" if delivery.status else ""
            delivery.result_text = sentences.translated(self.env, delivery.problem or "") or status

    # ------------------------------------------------------------ put

    @api.model
    def _add_messages(self, webhook_records, event, data, assistant=None):
        """Write a message for each webhook; it is delivered after the commit.

        A webhook for which too many wait gets none.

        :param data: JSON object
        """
        if full := self._full(webhook_records):
            full._count_dropped()
            webhook_records -= full
        message = {"type": event, "timestamp": utc(fields.Datetime.now()), "data": data}
        payload = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
        made = self.create(
            [
                {
                    "webhook_id": webhook.id,
                    "assistant_id": assistant and assistant.id,
                    "event": event,
                    "message_id": f"msg_{uuid.uuid4().hex}",
                    "payload": payload,
                }
                for webhook in webhook_records
            ]
        )
        webhook_records._deliver_soon()
        return made

    @api.model
    def _full(self, webhooks):
        """Webhooks for which as many messages wait as are kept."""
        waiting = [("webhook_id", "in", webhooks.ids), ("state", "=", "pending")]
        counts = dict(self._read_group(waiting, ["webhook_id"], ["__count"]))
        return webhooks.filtered(lambda webhook: counts.get(webhook, 0) >= MAX_WAITING)

    def action_send_again(self):
        """Deliver the message once more, with the same id."""
        self.check_access("read")
        self.webhook_id.check_access("write")
        if not all(self.webhook_id.mapped("active")):
            raise UserError(self.env._("Switch the webhook on first."))
        # sudo: webhook_delivery - written by the system only; the caller may write the webhook
        self.sudo().write(
            {"state": "pending", "tries": 0, "next_try_at": fields.Datetime.now(), "problem": False}
        )
        self.webhook_id._deliver_soon()

    # ------------------------------------------------------------ deliver, by `runtime/servers/webhooks.py`

    @api.model
    def _due_webhooks(self):
        """Webhooks that are on and have messages to deliver now."""
        now = fields.Datetime.now()
        due = [("state", "=", "pending"), ("next_try_at", "<=", now)]
        found = self._read_group([*due, ("webhook_id.active", "=", True)], ["webhook_id"])
        webhooks = self.env["woow_paas_platform.webhook"].union(*(webhook for (webhook,) in found))
        return webhooks.filtered(lambda one: not one.paused_until or one.paused_until <= now)

    @api.model
    def _claim(self, webhook_id):
        """Take the oldest message that is due, for as long as a try may take.

        :return: ``(id, services.net.webhooks.Delivery)``; seconds until the next one if that is soon; None where there
            is nothing to do, or another process is at it
        """
        webhook = self.env["woow_paas_platform.webhook"].browse(webhook_id).exists()
        if not webhook.active:
            return None
        now = fields.Datetime.now()
        if webhook.paused_until and webhook.paused_until > now:
            return _wait(webhook.paused_until, now)
        own = [("webhook_id", "=", webhook_id), ("state", "=", "pending")]
        if self.search_count([*own, ("sending_until", ">", now)], limit=1):
            return None
        rows = self.env.execute_query(
            SQL(
                """
                SELECT id FROM woow_paas_platform_webhook_delivery
                 WHERE webhook_id = %s AND state = 'pending' AND next_try_at <= %s
                 ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED
                """,
                webhook_id,
                now,
            )
        )
        if not rows:
            following = self.search(own, order="next_try_at", limit=1)
            return _wait(following.next_try_at, now) if following else None
        delivery = self.browse(rows[0])
        delivery.write(
            {"tries": delivery.tries + 1, "sending_until": now + timedelta(seconds=LEASE)}
        )
        secret, old_secret = webhook._secrets()
        return delivery.id, webhooks.Delivery(
            webhook.url, secret, delivery.message_id, delivery.payload, old_secret
        )

    def _record(self, answer, problem, duration_ms):
        """Keep what a try came to.

        :param answer: `services.net.webhooks.Answer`, with status 0 if there was none
        :param problem: a `Sentence` where there was none
        """
        if not self.exists() or self.state != "pending":
            return
        now, status = fields.Datetime.now(), answer.status
        has_succeeded = 200 <= status < 300
        if status and not has_succeeded:
            problem = _lt("The address answered with HTTP status %(status)s.", status=status)
        values = {
            "status": status,
            "problem": problem or False,
            "duration_ms": duration_ms,
            "tried_at": now,
            "sending_until": False,
        }
        if has_succeeded:
            values |= {"state": "delivered", "next_try_at": False}
        elif self.tries > len(RETRY_AFTER) or status == GONE_STATUS:
            values |= {"state": "failed", "next_try_at": False}
        else:
            wait = max(RETRY_AFTER[self.tries - 1], answer.retry_after or 0)
            values["next_try_at"] = now + timedelta(seconds=wait)
        self.write(values)
        pause = timedelta(seconds=answer.retry_after or 0)
        self.webhook_id._note_result(has_succeeded, pause, is_gone=status == GONE_STATUS)

    def _give_up(self):
        pending = self.filtered(lambda delivery: delivery.state == "pending")
        pending.write({"state": "failed", "next_try_at": False, "sending_until": False})

    # ------------------------------------------------------------ upkeep

    @api.model
    def _drop_oldest(self, limit):
        """Delete what each webhook has beyond the limit, first what needs no delivery any more.

        :return: ``[(webhook, number of messages that were not delivered)]``
        """
        self.flush_model()
        rows = self.env.execute_query(
            SQL(
                """
                WITH ranked AS (
                    SELECT id, row_number() OVER (
                               PARTITION BY webhook_id ORDER BY state = 'pending' DESC, id DESC) AS place
                      FROM woow_paas_platform_webhook_delivery),
                dropped AS (
                    DELETE FROM woow_paas_platform_webhook_delivery d USING ranked
                     WHERE ranked.id = d.id AND place > %s
                 RETURNING webhook_id, state)
                SELECT webhook_id, COUNT(*) FROM dropped WHERE state = 'pending' GROUP BY webhook_id
                """,
                limit,
            )
        )
        self.invalidate_model()
        Webhook = self.env["woow_paas_platform.webhook"]
        return [(Webhook.browse(webhook_id), count) for webhook_id, count in rows]

    @api.autovacuum
    def _gc_deliveries(self):
        gone = self.search(self._due_domain(), limit=GC_BATCH)
        gone.unlink()
        return len(gone), len(gone) == GC_BATCH

    @api.model
    def _due_domain(self):
        old = fields.Datetime.subtract(fields.Datetime.now(), days=KEPT_DAYS)
        return [("create_date", "<", old), ("state", "!=", "pending")]


def _wait(moment, now):
    """:return: s until then, if that is soon; else None, and the cron comes back"""
    wait = (moment - now).total_seconds()
    return max(wait, 1.0) if wait <= SOON else None
