"""Notifications to the person's open pages: an answer is ready, or waits for a decision."""

from datetime import timedelta

from odoo import api, fields, models
from odoo.tools import html_escape

from ...tools import db, limits
from ...tools.moments import utc

ENDED = "woow_ai/turn_ended"
MAILS = 100  # of one run of the cron


class AiTurn(models.Model):
    _inherit = "woow_paas_platform.ai_turn"

    waiting_since = fields.Datetime(readonly=True)
    is_mailed = fields.Boolean(
        "Mail Sent", readonly=True, help="The user was told by mail that a decision waits."
    )

    def _end(self, state, *args, **kwargs):
        last = super()._end(state, *args, **kwargs)
        if state != "stopped":
            self._tell_person()
        return last

    def _begin_wait(self, confirm):
        events = super()._begin_wait(confirm)
        if self.state == "waiting":
            self.write({"waiting_since": fields.Datetime.now(), "is_mailed": False})
            self._tell_person()
        return events

    @api.model
    def _waiting_count(self):
        """How many turns of this person wait for a word."""
        # sudo: ai_turn - the caller's own, counted
        mine = [("user_id", "=", self.env.uid), ("state", "=", "waiting")]
        return self.sudo().search_count(mine)

    @api.model
    def _cron_mail_waiting(self):
        db.transaction(self.env.cr.dbname, lambda env: env[self._name]._mail_waiting())

    @api.model
    def _mail_waiting(self):
        """Write to people who have left: one mail for each turn that has waited long enough for a word."""
        minutes = limits.get(self.env, "mail_after_minutes")
        if not minutes:
            return
        before = fields.Datetime.now() - timedelta(minutes=minutes)
        waiting = self.search(
            [
                ("state", "=", "waiting"),
                ("waiting_since", "<=", before),
                ("is_mailed", "=", False),
            ],
            order="id",
            limit=MAILS,
        )
        waiting.is_mailed = True
        for turn in waiting.filtered(lambda t: t._is_private() and t.user_id.woow_ai_notify):
            turn._mail_person()

    def _mail_person(self):
        _ = self.with_context(lang=self.user_id.lang).env._
        self.user_id._woow_ai_mail(
            _("%(assistant)s is waiting for your decision", assistant=self.assistant_id.name or ""),
            html_escape(
                _(
                    "In the conversation “%(name)s” a tool may only be called when you allow it.",
                    name=self.channel_id.name,
                )
            ),
            f"/my/ai/{self.channel_id.id}",
        )

    def _tell_person(self):
        """Only names of the person's own conversation are sent; what was said is not."""
        if not self._is_private():
            return
        self.user_id._bus_send(
            ENDED,
            {
                "conversation_id": self.channel_id.id,
                "name": self.channel_id.name,
                "assistant": self.assistant_id.name or "",
                "state": self.state,
                "at": utc(fields.Datetime.now()),
            },
        )
