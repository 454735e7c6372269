"""Waiting turns: nothing is held while the person decides, and the decision queues the turn again."""

import logging
from datetime import timedelta

from markupsafe import Markup
from odoo import api, fields, models

from ...services import events
from ...tools import db, limits, notify
from ...tools.moments import utc
from ...tools.refusals import BadInput, NotThere, TooLate

_logger = logging.getLogger(__name__)

DECISIONS = ("continue", "stop")  # about a round


class AiTurn(models.Model):
    _inherit = "woow_paas_platform.ai_turn"

    waiting_round = fields.Integer(
        "Round to Confirm",
        readonly=True,
        help="Round that is waiting for the user's confirmation; 0 if the turn is waiting for decisions on calls.",
    )
    waiting_until = fields.Datetime(readonly=True)
    _waiting = models.Index("(waiting_until) WHERE state = 'waiting'")

    # ------------------------------------------------------------ waiting

    def _begin_wait(self, confirm):
        """Let go of the turn until a person has decided, or of one that was decided meanwhile, to go on.

        :param confirm: the round to confirm, 0 when calls wait
        :return: the events that say so
        """
        self.ensure_one()
        hours = limits.get(self.env, "approval_hours")
        self.write(
            {
                "state": "waiting",
                "lease_owner": False,
                "lease_until": False,
                "waiting_round": confirm,
                "waiting_until": fields.Datetime.now() + timedelta(hours=hours),
            }
        )
        if not self._is_undecided():
            return self._queue_again()
        self._tell_discuss_to_decide()
        return [*self._waiting_for(), events.state("waiting")]

    def _waiting_for(self):
        """The questions that are open, as the events that asked them."""
        if self.state != "waiting":
            return []
        if self.waiting_round:
            return [self._confirm_event()]
        return [call._approval_event() for call in self._pending_calls()]

    def _pending_calls(self):
        return self.call_ids.filtered(lambda call: call.approval == "pending" and not call.outcome)

    def _is_undecided(self):
        return bool(self.waiting_round or self._pending_calls())

    def _confirm_event(self):
        return events.confirm_required(
            self.waiting_round,
            max_rounds=self.assistant_id.max_rounds,
            expires_at=utc(self.waiting_until),
        )

    def _tell_discuss_to_decide(self):
        if not self.is_from_discuss:
            return
        self.channel_id._show_typing(self.assistant_id, False)
        link = Markup('<a href="/my/ai/%s">%s</a>') % (
            self.channel_id.id,
            self.env._("Decide in the chat"),
        )
        sentence = Markup("%s %s") % (
            self.env._("The assistant is waiting for your decision."),
            link,
        )
        self.channel_id._post_ending(self.assistant_id, sentence)

    # ------------------------------------------------------------ decisions

    def _lock_for_decision(self):
        """One decision at a time: who has read the turn before this one's commit is run again and sees it.

        A lock alone is not enough: a transaction that waits for it goes on with what it has read before.
        """
        self.env.cr.execute(
            "UPDATE woow_paas_platform_ai_turn SET write_date = now() AT TIME ZONE 'UTC' WHERE id = %s",
            [self.id],
            log_exceptions=False,
        )
        self.env.invalidate_all()

    def _decide(self, asked, decision, **values):
        """Answer what an `approval_required`, `confirm_required` or `input_required` event asked.

        The caller has checked that the current user is the turn's.

        :param asked: the event's id
        :param values: arguments and reason of a call, content of an answer
        :raises Refusal: with a subclass for what is not asked, comes too late, or does not fit
        """
        self.ensure_one()
        self._change_decisions(lambda: self._record_decision(asked, decision, **values))

    def _change_decisions(self, change):
        """One at a time, and the turn goes on when nothing is left to decide."""
        self._lock_for_decision()
        change()
        self._go_on_when_decided()

    def _record_decision(self, asked, decision, **_values):
        """Hook of `_decide`, for one kind of question each."""
        if decision not in DECISIONS:
            raise BadInput("This decision does not exist.")
        if self.state != "waiting" or not self.waiting_round:
            raise TooLate(self.env._("This has already been decided or has expired."))
        if asked != events.round_id(self.waiting_round):
            raise NotThere(self.env._("This question does not exist."))
        self._decide_round(decision, by=self.env.user.name)

    def _decide_round(self, decision, by=""):
        """:param decision: continue, stop or, when nobody answered, expired"""
        self.ensure_one()
        change = {"confirmed": self.waiting_round} if decision == "continue" else {"sum_up": True}
        transcript = self.transcript or {}
        event = events.round_confirmed(self.waiting_round, decision=decision, by=by)
        aside = {"step": transcript.get("step", 0), "event": event}
        self.transcript = {
            **transcript,
            **change,
            "asides": [*transcript.get("asides", ()), aside],
        }
        self._append_events([events.decided(event["id"], decision, by=by)])
        self.waiting_round = 0

    def _go_on_when_decided(self):
        """Queue the turn again when nothing is left to decide."""
        self.ensure_one()
        if self.state != "waiting" or self._is_undecided():
            return
        self._append_events(self._queue_again())

    def _queue_again(self):
        """:return: the events that say so"""
        self.write({"state": "queued", "waiting_until": False})
        notify.queued(self.env.cr, self.id)
        return [events.state("queued")]

    def _close_open_calls(self):
        self.write({"waiting_round": 0, "waiting_until": False})
        self._pending_calls().approval = "cancelled"
        return super()._close_open_calls()

    def _running_data(self):
        # sudo: ai_turn - names and schemas of the tools that the person is asked about
        return {**super()._running_data(), "waiting_for": self.sudo()._waiting_for()}

    @api.model
    def _cron_expire_decisions(self):
        """What nobody decided in time is denied; a round that nobody confirmed ends the turn's calls."""
        late = self.sudo().search(
            [("state", "=", "waiting"), ("waiting_until", "<", fields.Datetime.now())]
        )
        dbname, commit = self.env.cr.dbname, self.env["ir.cron"]._commit_progress
        commit(remaining=len(late))
        for turn_id in late.ids:
            try:
                db.transaction(
                    dbname, lambda env, i=turn_id: env[self._name].browse(i)._expire_if_late()
                )
            except Exception:
                _logger.exception("The decisions of turn %s cannot expire.", turn_id)
            if not commit(1):
                break

    def _expire_if_late(self):
        """The list of late turns may be old: this one may have gone on, and wait for something else."""
        if not self.try_lock_for_update(allow_referencing=True):
            return
        if self.state == "waiting" and self.waiting_until < fields.Datetime.now():
            self._expire_decisions()

    def _expire_decisions(self):
        self.ensure_one()
        if self.waiting_round:
            self._decide_round("expired")
        for call in self._pending_calls():
            call.approval = "expired"
            self._append_events([call._decided_event()])
        self._go_on_when_decided()
