import base64
import logging
from itertools import islice

from markupsafe import Markup
from odoo import Command, api, fields, models
from odoo.exceptions import UserError
from odoo.fields import Domain
from odoo.tools import SQL, plaintext2html
from psycopg2.errors import UniqueViolation

from ...services import const, text
from ...services.errors import EngineError
from ...services.records import catalog
from ...services.sentence import _lt
from ...services.specs import ClosingCall
from ...tools import db, limits, sentences
from ..base.discuss_channel import readable
from ..turn.ai_turn import DECISIONS, FINAL_STATES, Question

_logger = logging.getLogger(__name__)

NAME_CHARS = 60  # of a record's name in the name of a conversation
MAX_CHANGED = 50  # records that a run links to
MAX_DEPTH = 3  # runs of which each was started by what the one before it has changed
FAILURES_IN_A_ROW = 5  # after which an action is switched off
START_BATCH = 50  # runs that one look of the cron starts
GC_BATCH = 1_000  # runs that one sweep deletes
MAX_TOLD = 20  # people who are told of one question
MAX_CANDIDATES = 1_000  # that are looked through for somebody who may decide
MAX_WAITING = 1_000  # runs of others that one list of decisions looks through
ADMIN = "woow_paas_platform.group_admin"

NO_USER = _lt("The user that the action runs as was deactivated.")
NO_ASSISTANT = _lt("The assistant of the action was deleted or archived.")
NO_RECORD = _lt("The record was deleted, or the user that the action runs as may not read it.")
TOO_DEEP = _lt(
    "Other runs led to this one: at most %(limit)s may follow each other.", limit=MAX_DEPTH
)
UNEXPECTED = _lt("The run could not be started. An administrator can find the details in the log.")
NO_ADDRESS = _lt("The mail address was deleted or archived.")
NO_ACTION = _lt("The action was deleted.")
NOT_DELIVERED = _lt(
    "The answer could not be put on the record: the record was deleted, or the user may not change it."
)
NOT_MADE = _lt("The answer was not put on the record: the last call of the conversation says why.")


class AiRun(models.Model):
    """Run: one start of an *Ask an AI Assistant* action, and the conversation that came of it.

    The row is made in the transaction of the trigger, so that a trigger that is rolled back has no run. A cron makes
    the conversation and its turn, as many at a time as `limits` allow, so that people's questions go first.
    """

    _name = "woow_paas_platform.ai_run"
    _description = "AI Run"
    _inherit = ["woow_paas_platform.filter.mixin", "woow_paas_platform.audit.mixin"]
    _order = "id desc"

    name = fields.Char("Action Name", readonly=True)
    action_id = fields.Many2one(
        "ir.actions.server", readonly=True, ondelete="set null", index="btree_not_null"
    )
    assistant_id = fields.Many2one("ai.assistant", readonly=True, ondelete="set null")
    user_id = fields.Many2one(
        "res.users",
        "Runs As",
        readonly=True,
        ondelete="cascade",
        index=True,
        help="Empty if the sender of a mail was not verified.",
    )
    res_model = fields.Char("Related Model", readonly=True)
    res_id = fields.Many2oneReference("Related Record", model_field="res_model", readonly=True)
    record_label = fields.Char("Record", compute="_compute_record_label")
    event = fields.Char(
        required=True,
        readonly=True,
        help="Event that started the run. An action runs once for each event and record.",
    )
    depth = fields.Integer(
        readonly=True, help="Number of runs that led to this one, by what each of them has changed."
    )
    state = fields.Selection(
        [
            ("scheduled", "Scheduled"),
            ("started", "In Progress"),
            ("done", "Done"),
            ("failed", "Failed"),
            ("stopped", "Stopped"),
            ("refused", "Not Started"),
        ],
        required=True,
        readonly=True,
        default="scheduled",
    )
    problem = sentences.SentenceField(
        readonly=True, help="Why the run did not start, or where its answer could not be put."
    )
    channel_id = fields.Many2one(
        "discuss.channel",
        "Conversation",
        readonly=True,
        ondelete="set null",
        index="btree_not_null",
    )
    turn_id = fields.Many2one(
        "woow_paas_platform.ai_turn", readonly=True, ondelete="set null", index="btree_not_null"
    )
    requester_ids = fields.Many2many(
        "res.users",
        "woow_paas_platform_ai_run_requester_rel",
        string="Triggered By",
        readonly=True,
        help="The user who started the run, and the users behind the run that led to it.",
    )
    requester_is_excluded = fields.Boolean(
        "Requester May Not Approve",
        readonly=True,
        help="As set in the action when the run started.",
    )
    is_reminded = fields.Boolean("Reminder Sent", readonly=True)
    is_escalated = fields.Boolean("Escalated", readonly=True)
    decider_ids = fields.Many2many(
        "res.users", string="Waits For", compute="_compute_decider_ids", compute_sudo=True
    )
    activity_ids = fields.Many2many(
        "mail.activity",
        "woow_paas_platform_ai_run_activity_rel",
        string="Activities of the Decision",
        readonly=True,
        groups=fields.NO_ACCESS,
    )
    address_id = fields.Many2one(
        "woow_paas_platform.mail_address", "Mail Address", readonly=True, ondelete="set null"
    )
    mail_from = fields.Char(
        "Sender", readonly=True, help="Sender of the mail that started the run."
    )
    # {"subject", "question", "references": Message-Ids of the thread}
    mail = fields.Json(readonly=True, groups=fields.NO_ACCESS, copy=False)
    mail_answer_id = fields.Char(readonly=True, groups=fields.NO_ACCESS, copy=False)
    turn_state = fields.Selection(related="turn_id.state", string="Answer")
    error_sentence = fields.Char(related="turn_id.error_sentence")
    call_ids = fields.One2many(related="turn_id.call_ids")
    call_count = fields.Integer(related="turn_id.call_count")
    answer_html = fields.Html(
        "Answer Text", compute="_compute_outcome", help="Shown to the user of the run."
    )
    changed = fields.Html("Changed Records", compute="_compute_outcome")
    tokens = fields.Integer(related="turn_id.tokens")
    duration_ms = fields.Integer(related="turn_id.duration_ms")
    ended_at = fields.Datetime(readonly=True)

    _once = models.UniqueIndex(
        "(action_id, COALESCE(res_model, ''), COALESCE(res_id, 0), event)",
        "The action has run for this event already.",
    )
    _once_by_mail = models.UniqueIndex(
        "(address_id, event) WHERE address_id IS NOT NULL AND user_id IS NOT NULL",
        "The mail was answered already.",
    )
    _senders = models.Index("(mail_from, create_date) WHERE mail_from IS NOT NULL")
    _answers = models.Index("(mail_answer_id) WHERE mail_answer_id IS NOT NULL")
    _open = models.Index("(id) WHERE state IN ('scheduled', 'started')")
    _created = models.Index("(create_date)")

    @api.model
    def _fields_to_filter(self):
        return {"name", "action_id", "assistant_id", "user_id", "state", "create_date", "ended_at"}

    @api.depends("name", "record_label")
    def _compute_display_name(self):
        for run in self:
            run.display_name = ": ".join(filter(None, (run.name, run.record_label)))

    @api.depends("res_model", "res_id")
    @api.depends_context("uid")
    def _compute_record_label(self):
        """Only for users who may read the record; the row may be readable to others."""
        for run in self:
            record = run._record_of(self.env.user)
            run.record_label = text.one_line(record.display_name, NAME_CHARS) if record else False

    def _compute_decider_ids(self):
        for run in self:
            turn = run.turn_id
            run.decider_ids = turn._deciders() if turn.state == "waiting" else False

    @api.depends("turn_id.answer_message_id", "turn_id.call_ids.outcome")
    @api.depends_context("uid")
    def _compute_outcome(self):
        """The answer is part of the conversation, which is its user's; records are for those who may read them."""
        user = self.env.user
        for run in self:
            # sudo: ai_turn - of a run that the user may read
            turn = run.sudo().turn_id
            run.answer_html = turn.answer_message_id.body if run.user_id == user else False
            records = turn.call_ids._changed_records(user)[:MAX_CHANGED]
            links = (
                Markup('<a href="/odoo/%s/%s">%s</a>')
                % (one._name, one.id, text.one_line(one.display_name or "", NAME_CHARS))
                for one in records
            )
            run.changed = Markup(", ").join(links) or False

    def _record_of(self, user):
        """The record of the run with this user's rights; None if there is none, or it is not theirs to read."""
        # sudo: ai_run - which record it is; reading it is up to the user's rights
        run = self.sudo()
        return readable(user, run.res_model, run.res_id)

    def _record_for(self, user):
        """The record in all companies of the user, whoever asks; see `_record_of`."""
        return self._record_of(user.with_context(allowed_company_ids=user.company_ids.ids))

    # ------------------------------------------------------------ schedule, in the trigger's transaction

    @api.model
    def _schedule(self, action, record, event):
        """Add the run of an action for a record and an event, unless there is one.

        :param action: `ir.actions.server` that asks an assistant
        :param record: may be empty
        :param event: text, the same whenever the same event is told again
        :return: the run, empty if there is nothing to do
        """
        # sudo: ai_run - runs are written by the system only
        runs = self.sudo()
        about = {"res_model": record._name if record else False, "res_id": record.id}
        cause = runs._of_writer()
        if cause and cause.action_id == action and cause._is_about(about):
            return runs.browse()  # its own change
        same = [("action_id", "=", action.id), ("event", "=", event)]
        same += [(name, "=", value) for name, value in about.items()]
        if runs.search_count(same, limit=1):
            return runs.browse()
        depth = cause.depth + 1 if cause else 0
        refusal = {"state": "refused", "problem": TOO_DEEP} if depth > MAX_DEPTH else {}
        run = runs.create(
            {
                "name": action.name,
                "action_id": action.id,
                "assistant_id": action.woow_assistant_id.id,
                "user_id": action.woow_run_as_id.id,
                "event": event,
                "depth": depth,
                "requester_ids": (cause.requester_ids | cause.user_id | self.env.user).ids,
                "requester_is_excluded": action.woow_requester_is_excluded,
                **about,
                **refusal,
            }
        )
        if refusal:
            run._tell_webhooks("run.refused")
        self._look_soon()
        return run

    @api.model
    def _schedule_mail(self, vals, files):
        """Add the run of a mail, with its files, unless another delivery of the mail is quicker.

        :param files: ``[(name, bytes)]``
        """
        run = self._create_of_mail(vals)
        if not run:
            return
        # sudo: ir.attachment - who may read a run may read its files
        self.env["discuss.channel"].sudo()._create_files(
            [
                {"name": name, "mimetype": False, "data": base64.b64encode(content)}
                for name, content in files
            ],
            res_model=self._name,
            res_id=run.id,
        )
        self._look_soon()

    @api.model
    def _create_of_mail(self, vals):
        """Add the row of a mail; empty if another delivery of the mail has added it.

        The key decides, and not a look before: that does not see a row which another transaction has just committed.
        While one is at it, this one waits for its end.

        :param vals: as for `create`, with address_id, user_id and event
        """
        # sudo: ai_run - runs are written by the system only
        Run, now = self.sudo(), fields.Datetime.now()
        insert = SQL(
            """
            INSERT INTO woow_paas_platform_ai_run
                   (address_id, user_id, event, state, create_uid, create_date, write_uid, write_date)
            VALUES (%s, %s, %s, 'scheduled', %s, %s, %s, %s) RETURNING id
            """,
            vals["address_id"],
            vals["user_id"] or None,
            vals["event"],
            *(self.env.uid, now) * 2,
        )
        try:
            with self.env.cr.savepoint():
                self.env.cr.execute(insert, log_exceptions=False)
                run = Run.browse(self.env.cr.fetchone())
        except UniqueViolation:
            return Run
        run.write(vals)
        return run

    def _mail_files(self):
        # sudo: ir.attachment - files of the mail that the run is about
        own = [("res_model", "=", self._name), ("res_id", "=", self.id)]
        return self.env["ir.attachment"].sudo().search(own, order="id")

    def _of_writer(self):
        """The run whose turn writes in this thread; empty if a person or anything else does."""
        turn = self.env["woow_paas_platform.ai_turn"].sudo().browse(db.writer())
        return self._of_turn(turn) if turn else self

    @api.model
    def _of_turn(self, turn):
        """The run of a turn, or of the one that it tries again: a thread of mails has several in one conversation."""
        runs = self.search([("channel_id", "=", turn.channel_id.id)])
        tried = turn
        while earlier := tried[-1:].retry_of_id - tried:
            tried += earlier
        return runs.filtered(lambda run: run.turn_id in tried)[:1] or runs[:1]

    def _is_about(self, about):
        return (self.res_model or False, self.res_id or False) == tuple(about.values())

    @api.model
    def _look_soon(self):
        """Have the cron look for scheduled runs after the commit."""
        # sudo: ir.cron - one of our own, which starts only what is scheduled
        self.env.ref("woow_paas_platform.ir_cron_start_runs").sudo()._trigger()

    # ------------------------------------------------------------ start

    @api.model
    def _cron_start(self):
        """Start scheduled runs while there is room, first those of users who have fewest in progress."""
        commit = self.env["ir.cron"]._commit_progress
        started = 0
        while run := self._next():
            run._begin()
            started += 1
            if started >= START_BATCH or not commit(1):
                self._look_soon()
                return

    def _next(self):
        """The scheduled run that is started next, locked; empty without one, or without room for it."""
        open_turns = [("is_unattended", "=", True), ("state", "in", ("queued", "running"))]
        at_once = limits.get(self.env, "runs_at_once")
        Turn = self.env["woow_paas_platform.ai_turn"]
        if Turn.search_count(open_turns, limit=at_once) >= at_once:
            return self.browse()
        self.flush_model(["state", "user_id"])
        Turn.flush_model(["state", "user_id", "is_unattended"])
        rows = self.env.execute_query(
            SQL(
                """
                WITH busy AS (
                    SELECT user_id, COUNT(*) AS turns FROM woow_paas_platform_ai_turn
                     WHERE is_unattended AND state IN ('queued', 'running') GROUP BY user_id)
                SELECT r.id FROM woow_paas_platform_ai_run r LEFT JOIN busy USING (user_id)
                 WHERE r.state = 'scheduled' ORDER BY COALESCE(busy.turns, 0), r.id
                   FOR UPDATE OF r SKIP LOCKED LIMIT 1
                """
            )
        )
        return self.browse(run_id for (run_id,) in rows)

    def _begin(self):
        """Make the conversation and its turn, or keep why there is none."""
        self.ensure_one()
        try:
            with self.env.cr.savepoint():
                problem = self._problem()
                if not problem:
                    self._ask()
        except (UserError, EngineError) as error:
            problem = str(error)
        except Exception as error:
            if db.passes(error):
                raise
            _logger.exception("Run %s cannot start.", self.id)
            problem = UNEXPECTED
        if problem:
            self.write({"state": "refused", "problem": problem, "ended_at": fields.Datetime.now()})
            self._tell_webhooks("run.refused")
            self._count_failures()

    def _problem(self):
        """:return: a `Sentence` that says why the run cannot start, else ``""``"""
        if not self.user_id.active:
            return NO_USER
        if not self.assistant_id.active:
            return NO_ASSISTANT
        if self.mail_from and not self.address_id.active:
            return NO_ADDRESS
        if not self.mail_from and not self.action_id:
            return NO_ACTION
        if self.res_id and self._record_of(self.user_id) is None:
            return NO_RECORD
        return ""

    def _ask(self):
        user, action, env = self.user_id, self.action_id, self._env_of_user()
        if self.mail_from:
            turn = self.address_id._ask(self, env)
            self.write({"state": "started", "channel_id": turn.channel_id.id, "turn_id": turn.id})
            return
        record = self._record_of(user)
        instruction, is_foreign = action._instruction_for(record)
        name = text.one_line(record.display_name, NAME_CHARS) if record else ""
        channel = env["discuss.channel"]._create_ai_conversation(
            self.assistant_id.with_env(env),
            name=": ".join(filter(None, (self.name, name))),
            record=record and record.with_env(env),
            is_of_run=action.woow_answer_to != "user",
        )
        turn = channel._ask(
            Question(
                instruction,
                companies=env.companies.ids,
                # The record may have no name; the words are others' all the same.
                foreign_name=(name or record._description) if is_foreign else None,
                is_unattended=True,
                in_browser=action.woow_answer_to == "user",
            )
        )
        self.write({"state": "started", "channel_id": channel.id, "turn_id": turn.id})
        self._record_ran_as()

    def _env_of_user(self):
        """Environment of the run's user in all companies of theirs, their own first."""
        user = self.user_id
        companies = user._woow_ai_companies(None)
        context = {"lang": user.lang, "tz": user.tz, "allowed_company_ids": companies.ids}
        return self.env(user=user.id, su=False, context={**context, **db.SEND_LATER})

    def _record_ran_as(self):
        self._record_act("ran_as", of=self.user_id, action=self.action_id, turn=self.turn_id)

    # ------------------------------------------------------------ while the turn goes on, and its end

    @api.model
    def _follow(self, turn, html):
        """Follow the turn of a run: ask for a decision where it waits, and put the answer where the action says.

        :param html: the answer, ``""`` if there is none
        """
        # sudo: ai_run - the system's row of a turn that the caller decides, stops or ends
        run = turn.sudo()._run()
        if not run:
            return
        run.activity_ids.unlink()
        if turn.state == "waiting":
            run.write({"turn_id": turn.id, "is_reminded": False})
            run._plan_activities(turn._deciders())
            self._look_soon()
            run._tell_webhooks("run.waiting")
        elif turn.state in FINAL_STATES:
            run._end(turn, html)

    def _end(self, turn, html):
        self.write({"turn_id": turn.id, "state": turn.state, "ended_at": fields.Datetime.now()})
        if turn.state == "done" and html:
            self._deliver(html)
        elif turn.state == "failed" and self.address_id:
            self._deliver(plaintext2html(self.with_context(lang=self.user_id.lang).error_sentence))
        self._tell_webhooks("run.ended")
        self._count_failures()
        self._look_soon()

    def _stop(self):
        if self:
            self.write({"state": "stopped", "ended_at": fields.Datetime.now()})
            self.activity_ids.unlink()
            self._look_soon()
            self._tell_webhooks("run.ended")

    def _tell_webhooks(self, event):
        for run in self:
            self.env["woow_paas_platform.webhook"]._tell(event, run)

    def _webhook_data(self):
        """Ids and states for a webhook, and no words."""
        turn = self.turn_id
        waits = self.state == "started" and turn.state == "waiting"
        return {
            "run_id": self.id,
            "turn_id": turn.id or None,
            "state": "waiting" if waits else self.state,
            "conversation_id": self.channel_id.id or None,
            "user_id": self.user_id.id,
            "assistant_id": self.assistant_id.id or None,
            "model": self.res_model or None,
            "record_id": self.res_id or None,
            "error_code": turn.error_code or None,
            "url": f"{self.get_base_url()}/odoo/ai-runs/{self.id}",
        }

    def _plan_activities(self, users):
        """Plan activities on the record until the decision is made; without one, the list of decisions has to do."""
        for user in users.filtered(lambda user: user._is_internal()):
            record = self._record_for(user)
            if record is None or not hasattr(record, "activity_schedule"):
                continue
            env = self.with_context(lang=user.lang).env
            # sudo: mail.activity, mail.thread - for a user who may read the record
            record = record.sudo()
            followers = record.message_partner_ids if "message_partner_ids" in record else None
            self.activity_ids |= record.activity_schedule(
                "mail.mail_activity_data_todo",
                summary=env._("Decide what “%(action)s” may do", action=self.name),
                note=Markup('<a href="%s">%s</a>')
                % (self.turn_id._question_path(user), env._("Open the question")),
                user_id=user.id,
            )
            if followers is not None:  # who decides once need not follow the record
                record.message_unsubscribe((user.partner_id - followers).ids)

    # ------------------------------------------------------------ who decides

    def _right_to_decide(self, user):
        """Right of a user to decide calls and rounds of this run, as of now.

        The action names users. While none of them may allow, it is up to the user that the run runs as, or, where
        that one is excluded, to administrators.

        :return: as `AiTurn._right_to_decide`
        """
        if self._is_decider(user) or (self._may_stand_in(user) and not self._named_deciders(1)):
            return "deny" if self._is_excluded(user) else "allow"
        return "deny" if user == self.user_id else ""

    def _deciders(self):
        """Users who may allow calls and rounds of this run, as many as are told."""
        if found := self._named_deciders(MAX_TOLD):
            return found
        admins = self.env.ref(ADMIN).all_user_ids if self.requester_is_excluded else self.user_id
        return self._those_who_allow(admins)

    def _those_who_allow(self, users):
        allow = (user for user in users[:MAX_CANDIDATES] if self._right_to_decide(user) == "allow")
        return users.browse(user.id for user in islice(allow, MAX_TOLD))

    def _named_deciders(self, limit):
        candidates = self._candidates()[:MAX_CANDIDATES]
        allow = (u for u in candidates if self._is_decider(u) and not self._is_excluded(u))
        return candidates.browse(user.id for user in islice(allow, limit))

    def _candidates(self):
        """Users whom the action names; whether they may decide, `_is_decider` says."""
        action = self.action_id
        named = {
            "group": action.woow_decider_group_id.all_user_ids,
            "field": self._user_of_field(),
        }.get(action.woow_decider, self.user_id)
        escalated = action.woow_escalation_group_id if self.is_escalated else self.env["res.groups"]
        return named | escalated.all_user_ids

    def _is_named(self, user):
        """True for one of the `_candidates`, without reading a whole group."""
        action, groups = self.action_id, user.all_group_ids
        if self.is_escalated and action.woow_escalation_group_id in groups:
            return True
        if action.woow_decider == "group":
            return action.woow_decider_group_id in groups
        return user == (self._user_of_field() if action.woow_decider == "field" else self.user_id)

    def _user_of_field(self):
        """User in the field of the record that the action names."""
        field, model = self.action_id.woow_decider_field_id, self.env.get(self.res_model)
        if not field or model is None or field.name not in model._fields:
            return self.user_id.browse()
        # sudo: any model - one user, who is asked
        return model.sudo().browse(self.res_id).exists()[field.name]

    def _is_decider(self, user):
        """True for a user whom the action names, and who may read the record."""
        return self._is_named(user) and self._may_see(user)

    def _may_stand_in(self, user):
        if not self.requester_is_excluded:
            return user == self.user_id
        return user.sudo().has_group(ADMIN) and self._may_see(user)

    def _is_excluded(self, user):
        return self.requester_is_excluded and user in self.user_id | self.requester_ids

    def _may_see(self, user):
        """True for an active internal or portal user who may read the record, if there is one, and what the calls
        that wait would change."""
        user = user.sudo()
        if not user.active or not (user._is_internal() or user._is_portal()):
            return False
        if user == self.user_id:
            return True
        if self.res_id and self._record_for(user) is None:
            return False
        return all(call._is_shown_to(user) for call in self.turn_id._pending_calls())

    def _deliver(self, html):
        """Put the answer on the record, with the rights of the run's user; that of a mail goes to its sender."""
        if not self.address_id and not self.action_id:
            self.problem = NO_ADDRESS if self.mail_from else NO_ACTION
            return
        if self.address_id:
            self.mail_answer_id = self.address_id._answer(self, html)
        to, record = self.action_id.woow_answer_to, self._record_of(self.user_id)
        if to in ("message", "field"):
            calls = self.turn_id._calls_with_taken_over()
            made = calls.filtered(lambda call: call.call_id.startswith(const.CLOSING))[-1:]
            reason = NOT_MADE if made else NOT_DELIVERED
            self.problem = made.outcome != "ok" and reason
        if to not in ("note", "activity"):
            return
        if record is None or not record.has_access("write"):
            self.problem = NOT_DELIVERED
            return
        try:
            with self.env.cr.savepoint(), db.written_by(self.turn_id.id):
                if to == "note":
                    self._log_note(record, html)
                else:
                    self._plan_activity(record, html)
        except Exception as error:
            if db.passes(error):
                raise
            _logger.info("The answer of run %s was not delivered.", self.id, exc_info=True)
            self.problem = NOT_DELIVERED

    def _closing_call(self):
        """The call of a record tool that takes the answer; None if the answer goes elsewhere, or nowhere."""
        record, action = self._record_of(self.user_id), self.action_id
        if record is None:
            return None
        if action.woow_answer_to == "message":
            return ClosingCall(
                tool=catalog.TOOLS["post_message"].spec,
                arguments={"model": record._name, "id": record.id},
                path=("body",),
            )
        name = action.woow_answer_field_id.name
        if action.woow_answer_to == "field" and name:
            return ClosingCall(
                tool=catalog.TOOLS["update_records"].spec,
                arguments={"model": record._name, "ids": record.ids, "values": {}},
                path=("values", name),
            )
        return None

    def _log_note(self, record, html):
        # sudo: mail.thread - the user may write the record; the author is the assistant, which has no login
        thread = record.sudo().with_context(
            woow_ai_no_turn=True, mail_post_autofollow_author_skip=True, **db.SEND_LATER
        )
        thread.message_post(
            author_id=self.assistant_id.partner_id.id,
            body=Markup(html),  # noqa: S704 rendered by services/render, raw HTML escaped
            message_type="comment",
            subtype_xmlid="mail.mt_note",
        )

    def _plan_activity(self, record, html):
        record.with_context(**db.SEND_LATER).activity_schedule(
            "mail.mail_activity_data_todo",
            summary=self.name,
            note=Markup(html),  # noqa: S704 as above
            user_id=self.user_id.id,
        )

    def _count_failures(self):
        """Switch the action off after several failures in a row."""
        ended = [
            ("action_id", "=", self.action_id.id),
            ("state", "not in", ("scheduled", "started")),
        ]
        last = self.search([*ended, ("state", "!=", "stopped")], limit=FAILURES_IN_A_ROW)
        if len(last) == FAILURES_IN_A_ROW and set(last.mapped("state")) <= {"failed", "refused"}:
            self.action_id._switch_off(
                _lt("The last %(count)s runs have failed.", count=FAILURES_IN_A_ROW)
            )

    # ------------------------------------------------------------ reminder and escalation

    @api.model
    def _remind_and_escalate(self):
        """Remind those who decide of questions that have waited for long, and ask a second group; each once."""
        for run in self._late("woow_remind_hours", "is_reminded"):
            run.turn_id._mail_question(run.turn_id._deciders(), is_reminder=True)
        for run in self._late("woow_escalation_hours", "is_escalated", is_for_deciders=True):
            run._tell_second_group()

    def _late(self, hours, mark, is_for_deciders=False):
        """Mark runs whose question has waited for so many hours of their action.

        :param hours: field of the action
        :param mark: field of the run
        :param is_for_deciders: leaves out runs that wait for their user only
        """
        found = self.browse()
        for action in self.env["ir.actions.server"].search([(hours, ">", 0)]):
            since = fields.Datetime.subtract(fields.Datetime.now(), hours=action[hours])
            late = [
                ("action_id", "=", action.id),
                (mark, "=", False),
                ("turn_id.state", "=", "waiting"),
                ("turn_id.waiting_since", "<=", since),
            ]
            runs = self.search(late)
            if is_for_deciders:
                runs = runs.filtered(lambda run: run.turn_id._is_for_deciders())
            found += runs[:START_BATCH]
        found.write({mark: True})
        return found

    def _tell_second_group(self):
        """Tell the group that may decide from now on, too."""
        turn, group = self.turn_id, self.action_id.woow_escalation_group_id
        others = self._those_who_allow(group.all_user_ids - self.activity_ids.user_id)
        self._plan_activities(others)
        turn._mail_question(others)
        for user in others:
            user._bus_send(DECISIONS, {})

    # ------------------------------------------------------------ buttons, for all who may read the run

    def action_stop(self):
        self.ensure_one()
        self.check_access("read")
        # sudo: ai_run, ai_turn - the run is the caller's, or the caller is an administrator
        run = self.sudo()
        if run.state == "started" and run.turn_id:
            run.turn_id._request_stop()
        elif run.state in ("scheduled", "started"):  # of the latter, one whose turn was deleted
            run._stop()

    def action_retry(self):
        """Try again as the same user: a turn that was begun keeps the calls that it has made."""
        self.ensure_one()
        self.check_access("read")
        # sudo: ai_run, ai_turn - see `action_stop`
        run = self.sudo()
        if run.state not in ("refused", "failed", "stopped"):
            raise UserError(self.env._("This run has not failed."))
        if run.mail_from and not run.mail:
            raise UserError(
                self.env._("A refused mail is not kept. Ask the sender to send it again.")
            )
        run.requester_ids = [Command.link(self.env.uid)]
        if run.turn_id.state in FINAL_STATES:
            run.turn_id.with_env(run._env_of_user())._retry()
            run._record_ran_as()
        else:
            run._go_on("scheduled", depth=0)
            self._look_soon()

    def _go_on(self, state, **values):
        """Take up a run that has ended."""
        self.write(
            {"state": state, "problem": False, "ended_at": False, "is_escalated": False, **values}
        )

    def action_open_chat(self):
        self.ensure_one()
        return self.turn_id.action_open_chat()

    # ------------------------------------------------------------ upkeep

    @api.autovacuum
    def _gc_runs(self):
        """Delete runs when the results of their calls go."""
        gone = self.search(self._due_domain(), limit=GC_BATCH)
        gone.unlink()
        return len(gone), len(gone) == GC_BATCH

    @api.model
    def _due_domain(self):
        days = limits.get(self.env, "result_retention_days")
        old = fields.Datetime.subtract(fields.Datetime.now(), days=days)
        return [("create_date", "<", old), ("ended_at", "!=", False)]


class AiTurn(models.Model):
    """Turn, followed by its run and by webhooks."""

    _inherit = "woow_paas_platform.ai_turn"

    def _leave_runs(self):
        # sudo: ai_run - the system's rows of conversations that the caller deletes
        runs = self.env["woow_paas_platform.ai_run"].sudo()
        runs.search([("turn_id", "in", self.ids), ("state", "=", "started")])._stop()
        return super()._leave_runs()

    def _retry(self, assistant=None, in_browser=False):
        turn = super()._retry(assistant, in_browser)
        run = self._run()
        if run and run.state != "done":  # its answer is where it belongs
            run._go_on("started", turn_id=turn.id)
        return turn

    def action_add_to_tests(self):
        """Make a test of the turn, and open it."""
        self.ensure_one()
        self.check_access("read")
        test = self.env["woow_paas_platform.assistant_test"]._add_turn(self)
        return test.get_formview_action()

    def _run(self):
        """The run of an unattended turn, with sudo; empty for any other, also where the user of a run that is done asks
        for another answer in the chat."""
        # sudo: ai_run - the system's row of a turn that the caller holds
        Run = self.env["woow_paas_platform.ai_run"].sudo()
        run = Run._of_turn(self) if self.is_unattended else Run
        return run if run.state != "done" or run.turn_id == self else Run

    def _right_to_decide(self, user):
        run = self._run()
        return run._right_to_decide(user) if run else super()._right_to_decide(user)

    def _deciders(self):
        run = self._run()
        if not run:
            return super()._deciders()
        deciders = run._deciders() if self._is_for_deciders() else run.user_id
        return deciders | run.user_id if self._open_questions() else deciders

    def _is_for_deciders(self):
        """True if calls or a round wait; servers ask the user of the run only."""
        return bool(self.waiting_round or self._pending_calls())

    @api.model
    def _cron_mail_waiting(self):
        result = super()._cron_mail_waiting()
        runs = "woow_paas_platform.ai_run"
        db.transaction(self.env.cr.dbname, lambda env: env[runs]._remind_and_escalate())
        return result

    def _tell_decisions(self):
        if run := self._run():
            for user in run._deciders() - self.user_id:
                user._bus_send(DECISIONS, {})
        return super()._tell_decisions()

    @api.model
    def _waiting_for_decider(self):
        user = self.env.user
        groups = user.all_group_ids.ids
        action = [
            Domain("action_id.woow_decider", "=", "group")
            & Domain("action_id.woow_decider_group_id", "in", groups),
            Domain("action_id.woow_decider", "=", "field"),
            Domain("is_escalated", "=", True)
            & Domain("action_id.woow_escalation_group_id", "in", groups),
        ]
        if user.has_group(ADMIN):
            action.append(Domain("requester_is_excluded", "=", True))
        waiting = Domain("turn_id.state", "=", "waiting") & Domain("user_id", "!=", user.id)
        # sudo: ai_run, ai_turn - those that are up to the user
        Run = self.env["woow_paas_platform.ai_run"].sudo()
        runs = Run.search(waiting & Domain.OR(action), limit=MAX_WAITING)
        return runs.filtered(lambda run: run._right_to_decide(user)).turn_id

    def _tell_followers(self, text_html=""):
        if self.state in FINAL_STATES or self.state == "waiting":
            event = "turn.waiting" if self.state == "waiting" else "turn.ended"
            self.env["woow_paas_platform.webhook"]._tell(event, self)
        if self.is_unattended:
            self.env["woow_paas_platform.ai_run"]._follow(self, text_html)
        return super()._tell_followers(text_html)

    def _webhook_data(self):
        """Ids and states for a webhook, and no words."""
        channel, is_internal = self.channel_id, self.user_id._is_internal()
        page = f"odoo/ai-chat/{channel.id}" if is_internal else f"my/ai/{channel.id}"
        return {
            "turn_id": self.id,
            "state": self.state,
            "conversation_id": channel.id,
            "user_id": self.user_id.id,
            "assistant_id": self.assistant_id.id or None,
            "model": channel.woow_res_model or None,
            "record_id": channel.woow_res_id or None,
            "error_code": self.error_code or None,
            "url": f"{self.get_base_url()}/{page}",
        }

    def _closing_call(self):
        if not self.is_unattended:
            return super()._closing_call()
        # sudo: ai_run - the system's row of this turn, read for its next step
        return self.env["woow_paas_platform.ai_run"].sudo()._of_turn(self)._closing_call()
