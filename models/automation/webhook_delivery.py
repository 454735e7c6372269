import json
import uuid
from datetime import timedelta

from odoo import api, fields, models
from odoo.exceptions import UserError
from odoo.tools import SQL

from ...services.net import webhooks
from ...services.sentence import _lt
from ...tools import sentences
from ...tools.moments import utc

RETRY_AFTER = (5, 60, 600, 3_600, 21_600, 86_400)  # s after each failed try; then it is given up
LEASE = 2 * webhooks.TIMEOUT  # s; a process that says nothing for so long has died
SOON = 10.0  # s for which the process that delivers waits for the next try
KEPT_DAYS = 30
GC_BATCH = 1_000  # rows that one sweep deletes
MAX_WAITING = 1_000  # messages of one webhook that are not delivered yet; further ones are dropped
GONE = 410  # status of HTTP by which an address asks to be told nothing more


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
        elif self.tries > len(RETRY_AFTER) or status == GONE:
            values |= {"state": "failed", "next_try_at": False}
        else:
            wait = max(RETRY_AFTER[self.tries - 1], answer.retry_after or 0)
            values["next_try_at"] = now + timedelta(seconds=wait)
        self.write(values)
        pause = timedelta(seconds=answer.retry_after or 0)
        self.webhook_id._note_result(has_succeeded, pause, is_gone=status == GONE)

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
