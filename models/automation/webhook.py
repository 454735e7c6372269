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

MAX_WEBHOOKS = 20
MAX_DELIVERIES = 1_000  # of one webhook that are kept
FAILING_DAYS = 3  # without a success, after which a webhook is switched off
OLD_SECRET_HOURS = 24  # for which the secret before the current one signs, too
EVENTS = ("turn.ended", "turn.waiting", "run.ended", "run.waiting", "run.refused")
DELIVERY = "woow_paas_platform.webhook_delivery"

FAILED = _lt("No message could be delivered for %(days)s days.", days=FAILING_DAYS)
GONE = _lt("The address answered that it is gone for good (HTTP status 410).")
NO_USER = _lt("The user who saved it last was deactivated or is no longer an administrator.")


def _column(event):
    return event.replace(".", "_")


class Webhook(models.Model):
    """Webhook: an address outside that is told when turns and runs end or wait.

    The message is a row of the transaction in which that happens, so what is rolled back is not told. It is delivered
    afterwards, see `webhook_delivery.py` and `runtime/servers/webhooks.py`, at least once.
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
