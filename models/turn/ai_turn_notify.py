"""Notifications of an answer, or of a question that waits: to open pages at once, by mail to who has left."""

from datetime import timedelta

from odoo import api, fields, models
from odoo.tools import html_escape

from ...tools import db, limits
from ...tools.moments import utc
from .ai_turn import FINAL_STATES

ENDED = "woow_ai/turn_ended"
SEEN = "woow_ai/seen"
MAILS = 100  # of one run of the cron
STALE = 24  # hours after which an answer is no news


class AiTurn(models.Model):
    _inherit = "woow_paas_platform.ai_turn"

    waiting_since = fields.Datetime(readonly=True)
    is_mailed = fields.Boolean(
        "Mail Sent",
        readonly=True,
        help="The user was told by mail that a decision waits, or that there is an answer.",
    )
    is_unseen = fields.Boolean(
        "Not Seen",
        readonly=True,
        # Programs that use the API tell nobody what they have read.
        default=lambda self: bool(self.env.context.get("woow_ai_in_browser")),
        help="Asked in a browser, where nobody has looked at the answer yet.",
    )

    _unseen = models.Index("(channel_id) WHERE is_unseen IS TRUE")
    _to_mail = models.Index("(ended_at) WHERE is_unseen IS TRUE AND is_mailed IS NOT TRUE")

    @api.model
    def _start(self, channel, *args, **kwargs):
        self._see(channel)  # who writes has read what stands above
        return super()._start(channel, *args, **kwargs)

    def _end(self, state, *args, **kwargs):
        last = super()._end(state, *args, **kwargs)
        if state == "stopped":
            self.is_unseen = False
        else:
            self.is_mailed = False
            self._tell_person()
        return last

    @api.model
    def _see(self, channel):
        """The person has this conversation in view."""
        # sudo: ai_turn - people have no write access; a mark at the caller's own turns
        self.sudo().search(self._unseen_domain(channel)).is_unseen = False
        self.env.user._bus_send(SEEN, {"conversation_id": channel.id})

    @api.model
    def _has_unseen(self, channel):
        # sudo: ai_turn - whether there is one among the caller's own
        return bool(self.sudo().search_count(self._unseen_domain(channel), limit=1))

    @api.model
    def _unseen_in(self, channels):
        """Those of these conversations with an answer that the caller has not seen."""
        # sudo: ai_turn - see `_has_unseen`
        return self.sudo().search(self._unseen_domain(channels)).channel_id.sudo(False)

    @api.model
    def _unseen_domain(self, channel):
        return [
            ("channel_id", "in", channel.ids),
            ("user_id", "=", self.env.uid),
            ("is_unseen", "=", True),
            ("state", "in", FINAL_STATES),
        ]

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
        db.transaction(self.env.cr.dbname, lambda env: env[self._name]._mail_unseen())

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
            turn._mail_question()

    @api.model
    def _mail_unseen(self):
        """Write to people who have left: one mail for each conversation with answers that nobody has looked at."""
        minutes = limits.get(self.env, "answer_mail_after_minutes")
        if not minutes:
            return
        now = fields.Datetime.now()
        unseen = self.search(
            [
                ("is_unseen", "=", True),
                ("ended_at", "<=", now - timedelta(minutes=minutes)),
                ("ended_at", ">", now - timedelta(hours=STALE)),
                ("is_mailed", "=", False),
                ("entered_id", "=", False),
            ],
            order="id desc",
            limit=MAILS,
        )
        unseen.is_mailed = True
        for turns in unseen.grouped("channel_id").values():
            last = turns[0]
            if last._is_private() and last.user_id.woow_ai_notify:
                last._mail_answer()

    def _mail_answer(self):
        _ = self.with_context(lang=self.user_id.lang).env._
        values = {"assistant": self.assistant_id.name or "", "name": self.channel_id.name}
        if self.state == "failed":
            subject = _("%(assistant)s could not answer", **values)
            sentence = _("There is no answer in the conversation “%(name)s”.", **values)
        else:
            subject = _("%(assistant)s has answered", **values)
            sentence = _("The answer in the conversation “%(name)s” is ready.", **values)
        self.user_id._woow_ai_mail(subject, html_escape(sentence), f"/my/ai/{self.channel_id.id}")

    def _mail_question(self):
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
