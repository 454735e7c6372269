import logging
import time
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from odoo import api, fields, models
from odoo.exceptions import AccessError, UserError
from odoo.fields import Domain
from odoo.tools import SQL, plaintext2html
from psycopg2.errors import LockNotAvailable

from ...services import events, text
from ...services.approval import taint
from ...services.const import PROMPT_CHARS
from ...services.errors import (
    LlmContextTooLong,
)
from ...services.llm import thinking
from ...services.render import markdown
from ...services.schemas import arguments as argument_checks
from ...services.turn.calls import NOT_FINISHED
from ...tools import copies, db, host, limits, notify, sentences
from ...tools.moments import utc
from ...tools.refusals import (
    BadInput,
    Changed,
    InvalidAnswer,
    InvalidArguments,
    NotThere,
    Refusal,
    TooLate,
    TooManyTurns,
)

_logger = logging.getLogger(__name__)

FINAL_STATES = ("done", "failed", "stopped")

LABEL_CHARS = 60  # of a name in a sentence
MAX_OPEN_TURNS = 100  # of one person
RETRY_AFTER = 5  # s, for who has as many
MAX_ENTERING = 10  # messages that enter a turn at one safe point
RETENTION_BATCH = 500  # turns, or calls, that one transaction of the cron prunes

ROUND_DECISIONS = ("continue", "stop")
DENIALS = ("deny", "stop")
FOR_ONCE = ("approve_once", "continue", *DENIALS)  # decisions that say nothing of later calls
CALL_DECISIONS = ("approve_once", "approve_conversation", "approve_always", "deny")
QUESTION_DECISIONS = ("accept", "decline", "cancel")
ALL_CALLS = "all"  # in place of a call's id
PENDING = [("approval", "=", "pending"), ("outcome", "=", False)]  # calls that wait for a decision
DECISIONS = "woow_ai/decisions"  # on the bus: what waits for the person is not what it was
# Of a turn `w`: it waits for a runner and for nothing else of its conversation.
CLAIMABLE = """
    w.state = 'queued'
    AND NOT EXISTS (
        SELECT 1 FROM woow_paas_platform_ai_turn o
         WHERE o.channel_id = w.channel_id
           AND (o.state = 'running' OR o.id < w.id AND o.state IN ('queued', 'waiting')))
    """

OLD = "< now() AT TIME ZONE 'UTC' - %s * interval '1 day'"
AT_REST = """
    AND NOT EXISTS (
        SELECT 1 FROM woow_paas_platform_ai_turn t WHERE t.channel_id = r.id AND t.ended_at IS NULL)
    """
CALL_AT_REST = """
    AND NOT EXISTS (
        SELECT 1 FROM woow_paas_platform_ai_turn t WHERE t.id = r.turn_id AND t.ended_at IS NULL)
    """
# What goes after some days, by kind: table, column of the order, limit of days (0: never), condition of a row `r`.
DUE = {
    "events": (
        "woow_paas_platform_ai_turn",
        "ended_at",
        "event_retention_days",
        f"r.ended_at {OLD} AND r.events_pruned IS NOT TRUE",
    ),
    "unlisted": (
        "discuss_channel",
        "id",
        "result_retention_days",
        f"(r.woow_is_of_program OR r.woow_is_of_run) AND r.last_interest_dt {OLD} {AT_REST}",
    ),
    "unused": (
        "discuss_channel",
        "id",
        "conversation_retention_days",
        "r.woow_user_id IS NOT NULL AND r.woow_is_of_program IS NOT TRUE AND r.woow_is_of_run IS NOT TRUE"
        f" AND COALESCE(r.last_interest_dt, r.create_date) {OLD} {AT_REST}",
    ),
    "results": (
        "woow_paas_platform_tool_call",
        "create_date",
        "result_retention_days",
        # of an open turn, the runner would save the transcript with the result again
        f"r.create_date {OLD} AND r.outcome IS NOT NULL AND r.result_pruned IS NOT TRUE {CALL_AT_REST}",
    ),
}


class OrderedJson(fields.Json):
    """JSON whose objects keep the order of their keys, which `jsonb` sorts by their length: what people read."""

    _column_type = ("json", "json")


class AiTurn(models.Model):
    """A turn: one message of a person and everything that the assistant does about it; a durable job.

    Rows are written by the runner (`runtime/turns/store.py`) and by the few methods here, never by people. What the
    model is shown stands in `ai_turn_request.py`, what people are shown in `ai_turn_view.py`.
    """

    _name = "woow_paas_platform.ai_turn"
    _description = "AI Turn"
    _inherit = ["woow_paas_platform.filter.mixin", "woow_paas_platform.audit.mixin"]
    _order = "id desc"

    channel_id = fields.Many2one(
        "discuss.channel", "Conversation", required=True, readonly=True, ondelete="cascade"
    )
    assistant_id = fields.Many2one("ai.assistant", readonly=True, ondelete="set null", index=True)
    user_id = fields.Many2one(
        "res.users", required=True, readonly=True, ondelete="cascade", index=True
    )
    cloud_service_id = fields.Many2one(
        "woow_paas_platform.cloud_service", readonly=True, ondelete="set null"
    )
    message_id = fields.Many2one("mail.message", "Question", readonly=True, ondelete="set null")
    answer_message_id = fields.Many2one(
        "mail.message", "Answer", readonly=True, ondelete="set null"
    )
    prompt = fields.Text(readonly=True)
    attachment_ids = fields.Many2many(
        "ir.attachment", string="Question Attachments", readonly=True, copy=False
    )
    mentions = fields.Json(
        "Attached Records",
        readonly=True,
        help="Records that the user attached to the question: model, ID and name.",
    )
    client_messages = fields.Json(
        "Messages of the Program",
        readonly=True,
        help="Earlier messages and instructions that a program sent with the question.",
    )
    given_call = OrderedJson(
        "Call of the Program",
        readonly=True,
        help="The only call of the turn, which a program has asked for; no model is asked.",
    )
    is_response = fields.Boolean(
        "Stored Response",
        readonly=True,
        help="A program can read the answer by its ID and continue from it (Responses API).",
    )
    prompt_server = fields.Char(
        "Prompt of", readonly=True, help="Name of the MCP server whose prompt the question is."
    )
    foreign_name = fields.Char(
        readonly=True,
        help="Name of the conversation's record that the model was shown, if it holds enough words for an instruction.",
    )
    has_foreign_folder = fields.Boolean(
        readonly=True,
        help="The model was shown files of the conversation's folder, or instructions there that hold foreign words.",
    )
    taint = fields.Selection(
        [
            ("file", "File"),
            ("record", "Odoo record"),
            ("prompt", "Prompt of a server"),
            ("quote", "Quote"),
            ("program", "Program"),
            ("folder", "Folder"),
        ],
        "Untrusted Content",
        compute="_compute_taint",
        store=True,
        help="The question comes with text that others may have written. Later calls of the conversation that have an "
        "effect require a decision.",
    )
    unreviewed_servers = fields.Json(
        readonly=True,
        help="ID and name of each server that is not trusted and of which the model was shown definitions that nobody "
        "had accepted. Later calls with an effect on other servers or Odoo records require a decision.",
    )
    companies = fields.Json(
        readonly=True, help="IDs of the companies that were active when the question was asked."
    )
    is_from_discuss = fields.Boolean(
        "From Discuss",
        readonly=True,
        help="The question was asked in Discuss, so the answer is posted there.",
    )
    is_unattended = fields.Boolean(
        "Unattended",
        readonly=True,
        help="A server action or a mail has asked the question, so nobody waits for the answer.",
    )
    is_compact = fields.Boolean(
        "Only Sums Up",
        readonly=True,
        help="The person has asked to sum up the conversation; there is no question to answer.",
    )
    lang = fields.Char(
        "Language", readonly=True, help="Language of the page on which the question was asked."
    )
    client_token = fields.Char(
        readonly=True, help="Prevents the same message from being processed twice."
    )

    retry_of_id = fields.Many2one(
        "woow_paas_platform.ai_turn",
        readonly=True,
        ondelete="set null",
        help="Turn on the same question whose completed calls this turn reuses.",
    )
    retry_ids = fields.One2many(
        "woow_paas_platform.ai_turn", "retry_of_id", "Retries", readonly=True
    )
    version_of_id = fields.Many2one(
        "woow_paas_platform.ai_turn",
        readonly=True,
        ondelete="set null",
        help="Turn of the first version of the question.",
    )
    hidden = fields.Integer(
        readonly=True,
        help="0 if the turn is on the current branch. Turns that were hidden together share the same number.",
    )
    steers = fields.Boolean(
        readonly=True, help="The message may enter the answer that is being written."
    )
    entered_id = fields.Many2one(
        "woow_paas_platform.ai_turn",
        readonly=True,
        ondelete="cascade",
        help="Turn that the message was added to.",
    )

    state = fields.Selection(
        [
            ("queued", "Queued"),
            ("running", "Running"),
            ("waiting", "Waiting for user"),
            ("done", "Done"),
            ("failed", "Failed"),
            ("stopped", "Stopped"),
        ],
        required=True,
        readonly=True,
        default="queued",
    )
    round = fields.Integer(readonly=True)
    transcript = fields.Json(
        readonly=True, prefetch=False, help="Progress of the turn, saved after every step."
    )
    call_ids = fields.One2many(
        "woow_paas_platform.tool_call", "turn_id", "Tool Calls", readonly=True
    )
    rating_ids = fields.One2many(
        "woow_paas_platform.answer_rating", "turn_id", "Ratings", readonly=True
    )
    summary_until = fields.Integer(
        compute="_compute_summary",
        store=True,
        precompute=True,
        help="The last turn that the summary made in this turn stands for.",
    )
    summary_failures = fields.Integer(
        compute="_compute_summary",
        store=True,
        precompute=True,
        help="How many attempts to sum up have failed in a row, this one included.",
    )
    usage = fields.Json(readonly=True)
    tokens = fields.Integer(
        compute="_compute_cost",
        store=True,
        precompute=True,
        aggregator="sum",
        help="Tokens that the language model has read and written.",
    )
    duration_ms = fields.Integer(
        "Duration (ms)", compute="_compute_cost", store=True, precompute=True, aggregator="avg"
    )
    error_code = fields.Char(readonly=True)
    error_message = sentences.SentenceField(readonly=True)
    error_sentence = fields.Char("Error", compute="_compute_error_sentence")
    config_id = fields.Many2one(
        "ai.config",
        "Provider",
        readonly=True,
        ondelete="set null",
        index="btree_not_null",
        groups="woow_paas_platform.group_admin",
        help="The provider that answered, or was asked last.",
    )
    version_id = fields.Many2one(
        "woow_paas_platform.assistant_version",
        "Assistant Version",
        readonly=True,
        ondelete="set null",
        index="btree_not_null",
        groups="woow_paas_platform.group_admin",
        help="Version of the assistant that answered, or was asked last.",
    )
    technical_cause = fields.Text(
        readonly=True,
        groups="woow_paas_platform.group_admin",
        help="Errors of language models, in their own words.",
    )

    lease_owner = fields.Char(
        readonly=True,
        groups="woow_paas_platform.group_admin",
        help="Host and process that run the turn.",
    )
    lease_epoch = fields.Integer(readonly=True, default=0)
    lease_until = fields.Datetime(readonly=True)
    stop_requested = fields.Boolean(readonly=True)
    started_at = fields.Datetime(readonly=True)
    ended_at = fields.Datetime(readonly=True)
    events_pruned = fields.Boolean(readonly=True)

    waiting_round = fields.Integer(
        "Round to Confirm",
        readonly=True,
        help="Round that is waiting for the user's confirmation; 0 if the turn is waiting for decisions on calls.",
    )
    waiting_until = fields.Datetime(readonly=True)
    waiting_since = fields.Datetime(readonly=True)
    is_mailed = fields.Boolean(
        "Mail Sent",
        readonly=True,
        help="The user was told by mail that a decision waits, or that there is an answer.",
    )
    is_unseen = fields.Boolean(
        "Not Seen",
        readonly=True,
        help="Asked in a browser, where nobody has looked at the answer yet.",
    )

    call_count = fields.Integer("Number of Calls", compute="_compute_counts")
    conversation_turn_count = fields.Integer("Questions in Conversation", compute="_compute_counts")

    _queued = models.Index("(id) WHERE state = 'queued'")
    _one_runs = models.UniqueIndex(
        "(channel_id) WHERE state = 'running'",
        "Another answer in this conversation is still being written.",
    )
    _open = models.Index("(id) WHERE state IN ('queued', 'running')")
    _open_of_user = models.Index("(user_id) WHERE state IN ('queued', 'running', 'waiting')")
    _channel = models.Index("(channel_id, id)")
    _question = models.Index("(message_id) WHERE message_id IS NOT NULL")
    _answer = models.Index("(answer_message_id) WHERE answer_message_id IS NOT NULL")
    _ended = models.Index("(ended_at) WHERE ended_at IS NOT NULL AND events_pruned IS NOT TRUE")
    _created = models.Index("(create_date)")
    _waiting = models.Index("(waiting_until) WHERE state = 'waiting'")
    _unseen = models.Index("(channel_id) WHERE is_unseen IS TRUE")
    _to_mail = models.Index("(ended_at) WHERE is_unseen IS TRUE AND is_mailed IS NOT TRUE")
    _entered = models.Index("(entered_id) WHERE entered_id IS NOT NULL")
    _branched = models.Index(
        "(channel_id) WHERE hidden > 0 OR version_of_id IS NOT NULL OR entered_id IS NOT NULL"
    )
    _summed_up = models.Index("(channel_id, id) WHERE summary_until > 0 OR summary_failures > 0")
    _client_token_unique = models.UniqueIndex(
        "(channel_id, client_token) WHERE client_token IS NOT NULL",
        "This message has already been sent.",
    )
    _retry_unique = models.UniqueIndex(
        "(retry_of_id) WHERE retry_of_id IS NOT NULL",
        "This answer is already being retried.",
    )

    def init(self):
        """Heartbeats write a new version of the row into its page, without a new entry in any index."""
        # Each turn is written a dozen times within seconds, and the table keeps all turns there ever were.
        self.env.cr.execute(
            "ALTER TABLE woow_paas_platform_ai_turn"
            " SET (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02)"
        )

    def _register_hook(self):
        super()._register_hook()
        host.current().registry_loaded(self.env.cr.dbname)

    @api.depends("prompt")
    def _compute_display_name(self):
        for turn in self:
            prompt = (turn.prompt or "").strip().split("\n")[0]
            turn.display_name = prompt[:60] or f"#{turn.id}"

    @api.depends("transcript")
    def _compute_summary(self):
        for turn in self:
            progress = turn.transcript or {}
            made = progress.get("summary") or {}
            turn.summary_until = made["event"]["until"] if made else 0
            turn.summary_failures = progress.get("summary_failures") or 0

    @api.depends("usage")
    def _compute_cost(self):
        for turn in self:
            usage = turn.usage or {}
            turn.tokens = (usage.get("input_tokens") or 0) + (usage.get("output_tokens") or 0)
            turn.duration_ms = usage.get("duration_ms") or 0

    @api.depends("error_code", "error_message")
    @api.depends_context("lang")
    def _compute_error_sentence(self):
        for turn in self:
            said = turn.error_message or ""
            turn.error_sentence = turn.error_code and turn._error_sentence(turn.error_code, said)

    @api.depends(
        "prompt",
        "attachment_ids",
        "mentions",
        "prompt_server",
        "client_messages",
        "foreign_name",
        "given_call",
        "has_foreign_folder",
    )
    def _compute_taint(self):
        for turn in self:
            if turn.attachment_ids:
                turn.taint = "file"
            elif turn.mentions or turn.foreign_name:
                turn.taint = "record"
            elif turn.prompt_server:
                turn.taint = "prompt"
            elif turn.given_call or any(
                message["role"] != "user" for message in turn.client_messages or ()
            ):
                turn.taint = "program"  # who has written it is not known
            elif turn.has_foreign_folder:
                turn.taint = "folder"
            else:
                said = [turn.prompt or "", *turn._earlier_said()]
                turn.taint = "quote" if any(map(taint.has_quote, said)) else False

    def _earlier_said(self):
        """Earlier questions of the person, as the program has sent them."""
        messages = self.client_messages or ()
        return [message["content"] for message in messages if message["role"] == "user"]

    def _foreign_label(self):
        """Label of the foreign words of this question, for the person."""
        self.ensure_one()
        _ = self.env._
        if not self.taint:
            # sudo: res.users - the name of a member of the same thread
            name = text.one_line(self.sudo().user_id.name or "", LABEL_CHARS)
            return _("a message of %(user)s", user=name)
        return {
            "file": _("a file of this conversation"),
            "record": _("an Odoo record of this conversation"),
            "prompt": _("a prompt of “%(server)s”", server=self.prompt_server or ""),
            "quote": _("a quote of this conversation"),
            "program": _("messages of the program that asks"),
            "folder": _("the folder of this conversation"),
        }[self.taint]

    def _unreviewed_label(self, server):
        """Label of the definitions that nobody had accepted, for the person.

        :param server: that of the call, which is not meant
        """
        names = [name for key, name in self.unreviewed_servers.items() if key != str(server.id)]
        return self.env._(
            "the description of the tools of “%(server)s”, which nobody has reviewed",
            server=text.one_line(names[0], LABEL_CHARS),
        )

    def _compute_counts(self):
        calls = dict(
            self.env["woow_paas_platform.tool_call"]._read_group(
                [("turn_id", "in", self.ids)], ["turn_id"], ["__count"]
            )
        )
        turns = dict(
            self._read_group(
                [("channel_id", "in", self.channel_id.ids)], ["channel_id"], ["__count"]
            )
        )
        for turn in self:
            turn.call_count = calls.get(turn, 0)
            turn.conversation_turn_count = turns.get(turn.channel_id, 0)

    # ------------------------------------------------------------ start

    @api.model
    def _start(self, channel, question, assistant=None):
        """Queue a turn for the current user; the caller has checked the access to the channel.

        :param question: a `Question`
        :param assistant: who answers, when it is not the conversation's own (a mention)
        """
        content, message = question.content, question.message
        self._see(channel)  # who writes has read what stands above
        if copies.settle(self.env.cr):  # before there is a turn of the copy's own
            self.env.invalidate_all()
        if not question.is_unattended:
            self._check_open_turns()
        is_from_discuss = bool(message)
        assistant = assistant or channel.woow_assistant_id
        if len(content) > PROMPT_CHARS:
            raise UserError(
                self.env._(
                    "The message is too long: it can have at most %(limit)s characters.",
                    limit=PROMPT_CHARS,
                )
            )
        if not message:
            message = channel.with_context(woow_ai_no_turn=True).message_post(
                body=plaintext2html(content),
                message_type="comment",
                subtype_xmlid="mail.mt_comment",
                attachment_ids=question.attachments.ids if question.attachments else [],
            )
            if question.attachments:
                # sudo: mail.message - Odoo leaves out files that portal users have not put into its own composer
                message.sudo().attachment_ids |= question.attachments
        # sudo: ai_turn - people have no write access; the turn is bound to the caller
        turn = self.sudo().create(
            {
                "channel_id": channel.id,
                "assistant_id": assistant.id,
                "cloud_service_id": channel.woow_cloud_service_id.id,
                "user_id": self.env.uid,
                "lang": self.env.lang,
                "message_id": message.id,
                "prompt": content,
                # sudo: mail.message - the caller's own
                "attachment_ids": message.sudo().attachment_ids.ids,
                "client_token": question.client_token or False,
                "is_from_discuss": is_from_discuss,
                "companies": question.companies or self._companies_in_use(),
                "mentions": question.mentions or False,
                "prompt_server": self._prompt_server_of(question) or False,
                "client_messages": question.client_messages or False,
                "given_call": question.given or False,
                "foreign_name": question.foreign_name or False,
                "is_unattended": question.is_unattended,
                "is_response": question.is_response,
                "steers": question.steers and not question.attachments and not question.mentions,
                "version_of_id": question.edits
                and (question.edits.version_of_id or question.edits).id,
                "is_compact": question.compacts,
                "is_unseen": question.in_browser and not question.compacts,
            }
        )
        if is_from_discuss:
            channel._show_typing(turn.assistant_id, True)
        if not is_from_discuss and not question.is_unattended:  # there the turn tells it
            turn._left_of_budget()
        turn._append_events([events.state("queued")])
        notify.queued(self.env.cr, turn.id)
        if is_from_discuss:
            turn.attachment_ids = turn.attachment_ids._ai_readable_by(self.env.user)
            return turn.sudo(False)
        turn = turn.sudo(False)
        turn._show_in_discuss(turn.message_id)
        return turn

    def _prompt_server_of(self, question):
        """Name of the MCP server whose prompt the question holds, also if the client does not say so; else None.

        :param question: a `Question`
        """
        if question.prompt_server:
            return question.prompt_server
        others = question.client_messages or ()
        said = "\n".join([question.content, *(message["content"] for message in others)])
        former = question.edits
        if former and former.prompt_server and taint.shares_words(said, former.prompt or ""):
            return former.prompt_server
        return self.env["woow_paas_platform.delivered_prompt"]._server_of(said)

    def _check_open_turns(self):
        """:raises TooManyTurns: the person has queued more than anybody reads"""
        # sudo: ai_turn - the caller's own, counted
        mine = [
            ("user_id", "=", self.env.uid),
            ("state", "in", ("queued", "running", "waiting")),
            ("is_unattended", "!=", True),
        ]
        if self.sudo().search_count(mine, limit=MAX_OPEN_TURNS) >= MAX_OPEN_TURNS:
            raise TooManyTurns(
                self.env._(
                    "Too many of your messages are waiting for an answer. Try again in a moment."
                ),
                retry_after=RETRY_AFTER,
            )

    def _language(self):
        """The page's language, if it is still installed, for sentences in the course of the turn."""
        self.ensure_one()
        return self.env["res.lang"]._get_code(self.lang or "") or self.user_id.lang

    @api.model
    def _companies_in_use(self):
        return self.env.context.get("allowed_company_ids")

    # ------------------------------------------------------------ retry

    def _retry(self, assistant=None, in_browser=False):
        """Queue a new turn on the same question; it takes over every call of this one and repeats none.

        :param assistant: another one, who answers this question only
        :param in_browser: as `Question` has it
        :raises AccessError: the assistant is not available to the person, or no longer
        """
        self.ensure_one()
        if assistant is None:
            self.assistant_id.check_access("read")
        elif assistant not in self.assistant_id._alternatives():
            raise AccessError(self.env._("This assistant is not available."))
        self._check_open_turns()
        # sudo: ai_turn - people have no write access; the caller may read, so owns, the turn
        old = self.sudo()
        turn = old.create(
            {
                "channel_id": old.channel_id.id,
                "assistant_id": (assistant or old.assistant_id).id,
                "cloud_service_id": old.cloud_service_id.id,
                "user_id": old.user_id.id,
                "lang": self.env.lang,
                "message_id": old.message_id.id,
                "prompt": old.prompt,
                "attachment_ids": old.attachment_ids.ids,
                "companies": old.companies,
                "mentions": old.mentions,
                "prompt_server": old.prompt_server,
                "client_messages": old.client_messages,
                "given_call": old.given_call,
                "foreign_name": old.foreign_name,
                "is_unattended": old.is_unattended,
                "is_compact": old.is_compact,
                "is_unseen": in_browser and not old.is_compact,
                "retry_of_id": old.id,
                "transcript": old._transcript_for_retry(assistant),
            }
        )
        turn._left_of_budget()
        replayed = old._events_for_retry(turn.transcript)
        turn._append_events([events.state("queued"), *replayed])
        notify.queued(self.env.cr, turn.id)
        turn = turn.sudo(False)
        turn._show_in_discuss(turn.message_id)
        return turn

    def _events_for_retry(self, transcript):
        """First events of the new turn: its summary, the text up to the last call, and the calls."""
        rows = {call.call_id: call for call in self._calls_with_taken_over()}
        made = transcript.get("summary")
        replayed = [self._summary_event(made)] if made else []
        step = blocks = 0
        for message in transcript["messages"]:
            if message["role"] == "user":
                replayed.append(events.steered(message["turn"], message["content"]))
            if message["role"] != "assistant":
                continue
            if thought := message.get(thinking.KEY):
                replayed.append(events.thinking(thought, step, message.get(thinking.MS, 0)))
            for source in markdown.blocks(message["content"]):
                replayed.append(events.text(source, step))
                replayed.append(events.text_block(blocks, markdown.shown(source), step))
                blocks += 1
            for call in (rows.pop(asked["id"], None) for asked in message["tool_calls"]):
                replayed += [call._call_event(), call._result_event()] if call else []
            step += 1
        for call in rows.values():
            replayed += [call._call_event(), call._result_event()]
        return replayed

    def _transcript_for_retry(self, assistant=None):
        """The transcript up to the last call; a call without a message gets the one of its row.

        A retry of an answer keeps the summary before it; one of the command that sums up does not.

        :param assistant: who answers; nobody takes over what another one said between its calls
        """
        is_other = assistant and assistant != self.assistant_id
        rows = {call.call_id: call for call in self._calls_with_taken_over()}
        former = (self.transcript or {}).get("messages", [])
        answered = {message["call_id"] for message in former if message["role"] == "tool"}
        messages, rounds = [], 0
        for message in former:
            if message["role"] in ("tool", "user"):
                messages.append(message)
            elif calls := message.get("tool_calls"):
                rounds += 1
                own = {"role": "assistant", "content": "", "tool_calls": calls}
                messages.append(own if is_other else message)
                messages += [
                    rows[call["id"]]._tool_message()
                    for call in calls
                    if call["id"] not in answered and call["id"] in rows
                ]
        transcript = {"step": rounds, "round": rounds, "messages": messages}
        made = not self.is_compact and (self.transcript or {}).get("summary")
        return {**transcript, "summary": made} if made else transcript

    def _calls_with_taken_over(self):
        """The turn's calls, after those of the turns that it retries."""
        self.ensure_one()
        earlier = (
            self.retry_of_id._calls_with_taken_over()
            if self.retry_of_id
            else self.call_ids.browse()
        )
        return earlier + self.call_ids

    # ------------------------------------------------------------ branches: several wordings of one question

    def _message_ids(self):
        return [*self.message_id.ids, *self.answer_message_id.ids]

    def _version_groups(self):
        """``{turn id: [turn ids]}``: for each wording all wordings of its question, oldest first."""
        groups = {}
        for turn in self.filtered("version_of_id"):
            first = turn.version_of_id.id
            groups.setdefault(first, [first]).append(turn.id)
        return {turn_id: group for group in groups.values() for turn_id in group}

    def _versions(self):
        """The turns of all wordings of this question, oldest first."""
        self.ensure_one()
        first = self.version_of_id or self
        return (first + self.search([("version_of_id", "=", first.id)])).sorted("id")

    def _show_version(self):
        """Bring this wording and all that followed it back in the place of the one that is shown."""
        self.ensure_one()
        if not self.hidden:
            return
        # sudo: ai_turn - people have no write access; the caller may read, so owns, the turns
        left, versions = self.hidden, self._versions().sudo()
        if all(versions.mapped("hidden")):  # another wording of an earlier question is shown
            raise Changed(
                self.env._("This question is no longer shown. Reload the conversation."),
                "turn_outdated",
            )
        self._leave_branch(min(versions.message_id.ids))
        self.sudo().search(
            [("channel_id", "=", self.channel_id.id), ("hidden", "=", left)]
        ).hidden = 0

    @api.model
    def _stop_all_by(self, providers):
        """Stop the running turns that these providers, which are switched off, answer."""
        config = "assistant_id.config_id"
        using = Domain(config, "in", providers.ids) | Domain(
            f"{config}.fallback_id", "in", providers.ids
        )
        # sudo: ai_turn - whoever asked; who may switch the provider ends what it is used for
        running = self.sudo().search(Domain("state", "=", "running") & using)
        for turn in running.filtered(lambda turn: turn._provider() in providers):
            turn._request_stop()

    @api.model
    def _stop_all_of(self, users):
        """Stop all open turns of these users."""
        # sudo: ai_turn - whoever may archive a user ends what runs with that user's rights
        open_states = ("queued", "running", "waiting")
        own = [("user_id", "in", users.ids), ("state", "in", open_states)]
        for turn in self.sudo().search(own):
            turn._request_stop()

    def _leave_branch(self, message_id):
        """Hide all shown turns of the conversation from this message on."""
        # sudo: ai_turn - of the caller's own conversation, see `_own_conversation`
        Turn = self.sudo()
        of_channel = [("channel_id", "=", self.channel_id.id)]
        last = Turn.search([*of_channel, ("hidden", ">", 0)], order="hidden desc", limit=1).hidden
        Turn.search([*of_channel, ("hidden", "=", 0), ("message_id", ">=", message_id)]).hidden = (
            last + 1
        )

    def _show_to_here(self):
        """Hide what followed this turn, so that the next question goes on from it."""
        self.ensure_one()
        later = self.search(
            [
                ("channel_id", "=", self.channel_id.id),
                ("hidden", "=", 0),
                ("message_id", ">", self.message_id.id),
            ],
            order="message_id",
            limit=1,
        )
        if later:
            self._leave_branch(later.message_id.id)

    # ------------------------------------------------------------ the log

    def _append_events(self, events):
        """Write events of a turn that no runner holds; the caller's transaction owns the row.

        :raises RuntimeError: a runner numbers the events of this turn
        """
        self.ensure_one()
        if self.state == "running":
            raise RuntimeError("The log of a running turn is its runner's.")
        last = self._last_seq()
        # sudo: ai_turn_event - the log is written by the system only
        self.env["woow_paas_platform.ai_turn_event"].sudo().create(
            [
                {"turn_id": self.id, "seq": seq, "payload": payload}
                for seq, payload in enumerate(events, last + 1)
            ]
        )
        notify.events(self.env.cr)

    def _wait_count(self):
        """Number of times that the turn has waited, as far as its log tells."""
        self.env.cr.execute(
            """
            SELECT count(*) FROM woow_paas_platform_ai_turn_event
             WHERE turn_id = %s AND payload->>'type' = 'state' AND payload->>'state' = 'waiting'
            """,
            [self.id],
        )
        return self.env.cr.fetchone()[0]

    def _last_seq(self):
        self.env.cr.execute(
            "SELECT COALESCE(MAX(seq), 0) FROM woow_paas_platform_ai_turn_event WHERE turn_id = %s",
            [self.id],
        )
        return self.env.cr.fetchone()[0]

    def _keep_progress(self, progress):
        """Keep what has been done so far.

        :param progress: `services.specs.TurnProgress` as JSON
        """
        kept = text.storable({**progress, "spent": []})
        self.write({"transcript": kept, "round": progress["round"]})

    # ------------------------------------------------------------ end

    def _end(self, state, text_html="", usage=None, error=None):
        """Post the answer and close the turn, with every call and question of it that is open.

        :param error: ``(code, the engine's sentence)`` or None
        :return: the last events, for who writes the log to append
        """
        self.ensure_one()
        last = self._close_open_calls()
        message = self.env["mail.message"]
        if text_html:
            message = self.channel_id._post_answer(
                self.assistant_id,
                text_html + str(self._call_summary()),
                silent=not self.is_from_discuss,
            )
        code, sentence = error or (False, False)
        self.write(
            {
                "state": state,
                "answer_message_id": message.id,
                "usage": usage or self.usage,
                "error_code": code,
                "error_message": sentence,
                "ended_at": fields.Datetime.now(),
                "lease_owner": False,
                "lease_until": False,
            }
        )
        self._tell_discuss(message)
        if usage is not None:
            last.append(events.usage(usage))
        last += [events.state(state), self._final_event()]
        self._release_steering()
        if state == "stopped":
            self.is_unseen = False
        else:
            self.is_mailed = False
            self._tell_person()
        if self.answer_message_id:
            self._show_in_discuss(self.answer_message_id)
        self._tell_followers(text_html)
        return last

    def _tell_followers(self, text_html=""):
        """Tell whatever follows the turn that it waits, goes on or has ended. A hook.

        :param text_html: the answer
        """

    def _leave_runs(self):
        """Tell the runs of these turns that their conversations are deleted. A hook."""

    def _close_open_calls(self):
        """Give every call that has no result its one: nobody runs it any more.

        One that had started is unknown, any other cancelled.

        :return: their `tool_result` events
        """
        if self._is_undecided():
            self._tell_decisions()
        open_calls = self.call_ids.filtered(lambda call: not call.outcome)
        open_calls.question_ids._close()
        self.write({"waiting_round": 0, "waiting_until": False})
        self._pending_calls().approval = "cancelled"
        for call in open_calls:
            outcome = "unknown" if call.started_at else "cancelled"
            call.write({"outcome": outcome, "llm_text": NOT_FINISHED})
        return [call._result_event() for call in open_calls]

    def _final_event(self):
        self.ensure_one()
        answer = self.answer_message_id.id or None
        if self.state == "failed":
            said = self._error_sentence(self.error_code, self.error_message or "")
            return events.error(self.error_code, said, answer)
        return events.done(self.state, answer)

    # ------------------------------------------------------------ stop

    def _request_stop(self, deadline=None):
        """Stop the turn, whatever holds its row; one that no runner holds ends here and now.

        A runner that holds it is told, and reads it with its next heartbeat and when it takes the turn up or
        lets go of it (`_is_stop_requested`). Where somebody keeps the row locked, the wish is written beside it:
        every sweep applies what waits there, so a wait, a claim or a release of that moment is not the end of it.

        :param deadline: `time.monotonic` seconds until which it waits for the row; None: not at all
        :return: the state after the request; "running" while who holds the row decides
        """
        self.ensure_one()
        left = 0.0 if deadline is None else deadline - time.monotonic()
        if not self._lock_for_stop(left):
            self._leave_stop()
            notify.stop(self.env.cr, self.id)
            return "running"
        if self.state in ("queued", "waiting") and not self._is_entering():
            turn = self.with_context(lang=self._language())
            turn._append_events(turn._end("stopped"))
        elif self.state in ("queued", "running"):
            self.stop_requested = True
            notify.stop(self.env.cr, self.id)
        return self.state

    def _is_entering(self):
        """True if another running turn is taking the message in."""
        return self.state == "queued" and bool(self.entered_id)

    def _is_stop_requested(self):
        """True if a Stop waits for the runner, in the row or beside it; `TurnQueue.heartbeat` reads both too."""
        self.ensure_one()
        return self.stop_requested or bool(
            self.env.execute_query(
                SQL("SELECT 1 FROM woow_paas_platform_ai_turn_stop WHERE turn_id = %s", self.id)
            )
        )

    def _lock_for_stop(self, seconds):
        """:return: whether the row is ours within so many seconds"""
        cr = self.env.cr
        try:
            with cr.savepoint(flush=False), db.timeouts(cr, lock=seconds):
                cr.execute(
                    "SELECT id FROM woow_paas_platform_ai_turn WHERE id = %s FOR NO KEY UPDATE",
                    [self.id],
                    log_exceptions=False,  # two writers met: `db.transaction` repeats it
                )
        except LockNotAvailable:
            return False
        self.invalidate_recordset()
        return True

    def _leave_stop(self):
        self.env.cr.execute(
            "INSERT INTO woow_paas_platform_ai_turn_stop (turn_id) VALUES (%s) ON CONFLICT DO NOTHING",
            [self.id],
        )

    @api.model
    def _apply_stops(self):
        """Carry out each Stop that met a locked row, or a turn that was given back before its runner heard."""
        rows = self.env.execute_query(
            SQL(
                """
                SELECT id FROM woow_paas_platform_ai_turn
                 WHERE state IN ('queued', 'waiting') AND stop_requested
                 UNION SELECT turn_id FROM woow_paas_platform_ai_turn_stop
                """
            )
        )
        asked = self.browse(turn_id for (turn_id,) in rows)
        there = asked.exists()
        done = (asked - there) | there.try_lock_for_update(allow_referencing=True)
        done.invalidate_recordset()
        for turn in done & there:
            turn._request_stop()
        if done:
            self.env.cr.execute(
                "DELETE FROM woow_paas_platform_ai_turn_stop WHERE turn_id = ANY(%s)", [done.ids]
            )

    # ------------------------------------------------------------ steering

    # A message that is sent while a turn runs may enter it, instead of waiting for its end. It is a turn that waits in
    # the queue like any other. The turn before it may take it at its next safe point: then it is part of that one's
    # transcript and has nothing more to do. Else it is answered next.

    def _take_steering(self, known):
        """The messages that enter this turn now; asked again, the same ones as long as they are not known.

        :param known: ids of turns whose messages stand in the transcript
        :return: ``[{"turn", "message_id", "content"}]``
        """
        self.ensure_one()
        waiting = self._steering().filtered(
            lambda turn: turn.id not in known and not turn._is_stop_requested()
        )[:MAX_ENTERING]
        waiting.filtered(lambda turn: not turn.entered_id).entered_id = self.id
        return [
            {"turn": turn.id, "message_id": turn.message_id.id or None, "content": turn.prompt}
            for turn in waiting
        ]

    def _steering(self):
        """Messages that are to enter this turn, or are taken and not yet closed; none that was begun already."""
        return self.search(
            [
                ("channel_id", "=", self.channel_id.id),
                ("user_id", "=", self.user_id.id),
                ("id", ">", self.id),
                ("steers", "=", True),
                ("state", "=", "queued"),
                ("started_at", "=", False),
                ("entered_id", "in", [False, self.id]),
            ],
            order="id",
        )

    def _close_entered(self):
        """Close turns whose message stands in the transcript now."""
        messages = (self.transcript or {}).get("messages", ())
        known = {message["turn"] for message in messages if message.get("turn")}
        if not known:
            return
        for turn in self._steering().filtered(lambda turn: turn.entered_id and turn.id in known):
            turn.write({"state": "done", "ended_at": fields.Datetime.now()})
            turn._append_events([events.state("done"), events.done("done", None)])
            turn._tell_followers()

    def _release_steering(self):
        """Leave to the next turn what was taken and did not get into the transcript any more."""
        self._close_entered()
        left = self._steering()
        left.entered_id = False
        for turn in left.filtered("stop_requested"):
            turn._request_stop()

    def _reword(self, content):
        """Take over what became of the message in Discuss, also where it has entered an answer; empty if deleted."""
        self.prompt = content[:PROMPT_CHARS]
        for turn in self:
            holder = turn.entered_id
            while holder.ended_at:  # of one that runs, its runner has the transcript
                transcript = holder.transcript or {}
                messages = [
                    {**said, "content": turn.prompt} if said.get("turn") == turn.id else said
                    for said in transcript.get("messages", ())
                    if turn.prompt or said.get("turn") != turn.id
                ]
                holder.transcript = {**transcript, "messages": messages}
                holder = holder.retry_ids

    # ------------------------------------------------------------ waiting

    def _begin_wait(self, confirm):
        """Let go of the turn until a person has decided, or of one that was decided meanwhile, to go on.

        Nothing is held while the person decides, and the decision queues the turn again.

        :param confirm: the round to confirm, 0 when calls wait
        :return: the events that say so
        """
        self.ensure_one()
        limit = "run_approval_hours" if self.is_unattended else "approval_hours"
        hours = limits.get(self.env, limit)
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
        asked = [*self._waiting_for(), events.state("waiting")]
        self.write({"waiting_since": fields.Datetime.now(), "is_mailed": False})
        self._tell_person()
        self._tell_decisions()
        self._tell_followers()
        return asked

    def _waiting_for(self, reader=None):
        """The questions that are open, as the events that asked them.

        :param reader: `res.users`, by default the turn's own; others are asked nothing by servers
        """
        if self.state != "waiting":
            return []
        reader = reader or self.user_id
        if self.waiting_round:
            asked = [self._confirm_event(reader)]
        else:
            asked = [call._approval_event(reader) for call in self._pending_calls()]
        questions = self._open_questions() if reader == self.user_id else ()
        return asked + [question._event() for question in questions]

    def _is_undecided(self):
        return bool(self.waiting_round or self._pending_calls() or self._open_questions())

    def _pending_calls(self):
        return self.call_ids.filtered_domain(PENDING)

    def _open_questions(self):
        """Questions that the turn waits for."""
        calls = self.call_ids.filtered(lambda call: not call.outcome)
        return calls.question_ids.filtered(lambda asked: not asked.action and not asked.is_held)

    def _question_of(self, public_id):
        """The question of an id on the wire, or an empty recordset."""
        return self.call_ids.question_ids.filtered(lambda asked: asked._public_id() == public_id)

    def _call_that_asks(self, call_id):
        """The call of this turn that waits for a decision on what it was rehearsed to change; empty without one."""
        # sudo: tool_call - what was found out is told to whoever may read the turn, as its events are
        calls = self.sudo().call_ids
        return calls.filtered(lambda call: call.call_id == call_id and call.approval == "pending")

    def _confirm_event(self, reader):
        return events.confirm_required(
            self.waiting_round,
            choices=self._choices(ROUND_DECISIONS, reader),
            max_rounds=self.assistant_id.max_rounds,
            expires_at=utc(self.waiting_until),
        )

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
        self._tell_followers()
        return [events.state("queued")]

    # ------------------------------------------------------------ decisions

    def _right_to_decide(self, user):
        """Right of a user to decide calls and rounds of this turn, as of now. A hook.

        :return: ``"allow"`` (and deny), ``"deny"``, or ``""``
        """
        return "allow" if user == self.user_id else ""

    def _deciders(self):
        """Users who are told that the turn waits for them. A hook."""
        return self.user_id

    def _question_path(self, user, asked=None):
        """Path of the page on which a user decides: the chat or, of others, the list.

        :param asked: id in the list of what is opened there
        """
        if user == self.user_id:
            return f"/my/ai/{self.channel_id.id}"
        return f"/my/ai/decisions?open={asked or self._asked_ids()[0]}"

    def _asked_ids(self):
        """Ids, in the list of decisions, of the calls that wait, or of the round."""
        return self._pending_calls().mapped("call_id") or [self._round_public_id()]

    def _round_public_id(self):
        """Id of the round to confirm in the list of decisions."""
        return f"turn-{self.id}"

    @api.model
    def _waiting_for_decider(self):
        """Waiting turns of others of which the current user may decide something, with sudo. A hook."""
        return self.sudo().browse()

    def _choices(self, choices, user):
        """Decisions among these that a user may make on a call or a round; only the turn's own make lasting ones."""
        right = self._right_to_decide(user)
        if right == "allow":
            return [one for one in choices if user == self.user_id or one in FOR_ONCE]
        return [one for one in choices if right and one in DENIALS]

    def _decide(self, asked, decision, **values):
        """Answer what an `approval_required`, `confirm_required` or `input_required` event asked.

        :param asked: the event's id
        :param values: arguments of a call, or those changed and the names of those unchanged, reason and what was
            shown of it; content of an answer
        :raises Refusal: with a subclass for what is not asked, not up to the current user, comes too late, or does
            not fit
        """
        self.ensure_one()
        self._check_right(decision)  # strangers lock no row
        self._change_decisions(lambda: self._record_decision(asked, decision, **values))

    def _check_right(self, decision):
        right = self._right_to_decide(self.env.user)
        is_own = self.env.user == self.user_id
        if not is_own and (not right or decision in QUESTION_DECISIONS):
            raise NotThere(self.env._("This turn does not exist."))
        if decision in QUESTION_DECISIONS or decision not in (*CALL_DECISIONS, *ROUND_DECISIONS):
            return
        if not self._choices([decision], self.env.user):
            if right == "allow":
                raise Refusal(self.env._("You can allow this call only once."))
            raise Refusal(self.env._("You can only deny this. Somebody else must allow it."))

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

    def _change_decisions(self, change):
        """One at a time, and the turn goes on when nothing is left to decide."""
        self._lock_for_decision()
        change()
        self._go_on_when_decided()
        self._tell_decisions()

    def _record_decision(
        self,
        asked,
        decision,
        *,
        arguments=None,
        unchanged=None,
        reason=None,
        content=None,
        shown=None,
    ):
        """Each kind of question has its own decisions."""
        self._check_right(decision)  # as of now
        if decision in QUESTION_DECISIONS:
            self._record_answer(asked, decision, content)
        elif decision in CALL_DECISIONS:
            self._record_call_decision(asked, decision, arguments, unchanged, reason, shown)
        elif decision in ROUND_DECISIONS:
            self._record_round_decision(asked, decision)
        else:
            raise BadInput("This decision does not exist.")

    def _record_answer(self, asked, decision, content):
        question = self._question_of(asked)
        if not question:
            raise NotThere(self.env._("This question does not exist."))
        if not question._is_open():
            raise TooLate(self.env._("This has already been decided or has expired."))
        if decision not in question._choices():
            raise Refusal(
                self.env._("This question must be answered on the page that it links to.")
            )
        if decision == "accept" and (problems := question._problems(content or {})):
            sentence = self.env._(
                "These answers are not valid: %(fields)s.", fields=", ".join(problems)
            )
            raise InvalidAnswer(sentence, fields=problems)
        question._answer(decision, (content or {}) if decision == "accept" else None)

    def _record_call_decision(self, asked, decision, arguments, unchanged, reason, shown):
        calls = self._calls_to_decide(asked)
        if decision != "deny" and not all(call._is_as_shown(shown) for call in calls):
            raise Changed(
                self.env._("The question has changed. Review what is asked now, then decide.")
            )
        if any(decision not in call.approval_choices for call in calls):
            raise Refusal(self.env._("Calls like this one must be decided one at a time."))
        if arguments is not None or unchanged is not None:
            if decision == "deny" or len(calls) > 1:
                raise BadInput("Arguments can only be sent when one call is allowed.")
            arguments = calls._with_unchanged(arguments or {}, unchanged or ())
            self._check_changed_arguments(calls, arguments)
        calls._decide(decision, text.storable(arguments), reason)

    def _calls_to_decide(self, asked):
        """:param asked: the id of a call, or `ALL_CALLS`"""
        pending = self._pending_calls()
        if asked == ALL_CALLS:
            calls = pending
        else:
            calls = self.call_ids.filtered(lambda call: call.approval and call.call_id == asked)
            if not calls:
                raise NotThere(self.env._("This call does not exist or needs no decision."))
        if self.state != "waiting" or not calls or calls - pending:
            raise TooLate(self.env._("This has already been decided or has expired."))
        return calls

    def _check_changed_arguments(self, calls, arguments):
        if self.env.user != self.user_id and arguments != (calls.arguments or {}):
            raise Refusal(self.env._("Only the user of the conversation can change the arguments."))
        problem = sentences.translated(
            self.env, argument_checks.problem(arguments, calls._input_schema())
        )
        if not calls._keeps_fixed(arguments):
            problem = self.env._("Values filled in from the record cannot be changed.")
        elif not problem and calls._is_remember():
            problem = self.env["woow_paas_platform.memory"]._quote_problem(arguments["text"])
        if problem:
            raise InvalidArguments(problem)

    def _record_round_decision(self, asked, decision):
        if self.state != "waiting" or not self.waiting_round:
            raise TooLate(self.env._("This has already been decided or has expired."))
        if asked != events.round_id(self.waiting_round):
            raise NotThere(self.env._("This question does not exist."))
        self._record_act("round_decided", decision=decision, of=self.user_id)
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

    @api.model
    def _cron_expire_decisions(self):
        """Deny decisions that were not made in time; a round that was not confirmed ends the turn's calls."""
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
        self._open_questions()._answer("expired")
        if self.waiting_round:
            self._decide_round("expired")
        for call in self._pending_calls():
            call.approval = "expired"
            self._append_events([call._decided_event()])
        self._go_on_when_decided()
        self._tell_decisions()

    # ------------------------------------------------------------ providers

    def _provider(self):
        """The one that is asked now."""
        self.ensure_one()
        first, asked = self.assistant_id.config_id, (self.transcript or {}).get("llm")
        return first.fallback_id if asked and asked == first.fallback_id.id else first

    def _note_provider(self):
        """Record the provider of these tokens, for the statistics."""
        provider = self._provider()
        if self.config_id != provider:
            self.config_id = provider

    def _tell_providers(self):
        """Record a step's findings: how the model calls tools, and which provider was left because it is down."""
        progress = self.transcript
        self._note_provider()
        self._provider()._remember_protocol(progress["found_protocol"])
        if self.technical_cause:  # told by an earlier step
            return
        self.env["ai.config"]._record_faults(progress.get("llm_faults", ()))
        self._note_causes()

    def _record_cause(self, code, message, detail):
        """The turn has ended; what failed is told to administrators, and the provider's state follows."""
        self._note_provider()
        if code:
            self._provider()._record_fault(code, message, detail)
        elif self.state == "done" and self._has_model_answered():
            self._provider()._set_state("connected")
        self._note_causes(f"{code}: {detail}" if code and detail else "")
        if code == LlmContextTooLong.code and not self._provider()._note_refusal(detail):
            self._note_density()

    def _has_model_answered(self):
        """True if a model was asked: a call that was given needs none, nor does a command with nothing to do."""
        progress = self.transcript or {}
        said = (
            one["role"] == "assistant" and one["content"] for one in progress.get("messages", ())
        )
        return bool(progress.get("summary")) or any(said)

    def _note_causes(self, last=""):
        progress = self.transcript or {}
        faults = [f"{fault['code']}: {fault['detail']}" for fault in progress.get("llm_faults", ())]
        if cause := text.storable("\n".join(filter(None, [*faults, last]))):
            self.technical_cause = cause

    # ------------------------------------------------------------ upkeep

    @api.model
    def _cron_sweep(self):
        """Requeue what nobody holds, end what somebody has stopped, and see that somebody listens."""
        dbname = self.env.cr.dbname
        calls = "woow_paas_platform.tool_call"
        db.transaction(dbname, lambda env: env[calls]._close_lost_direct_calls())
        host.current().sweep(dbname)

    @api.model
    def _cron_retention(self):
        """Events of old turns go, later the results of their calls, at last the calls of programs;
        turns, the calls of conversations and the sums stay."""
        commit = self.env["ir.cron"]._commit_progress
        for prune in self._prunes():
            while done := prune(RETENTION_BATCH):
                if not commit(done, remaining=1):  # at least: nobody has counted what follows
                    return
        commit(remaining=0)

    @api.model
    def _prunes(self):
        """Prunings, in this order: each takes so many rows, and returns how many there were."""
        fold_old = self.env["woow_paas_platform.tool_call_sum"]._fold_old
        return [
            self._prune_events,
            self._prune_unlisted,
            self._prune_unused,
            self._prune_results,
            fold_old,
        ]

    @api.model
    def _take_due(self, kind, limit):
        """Lock the oldest rows of which something goes now.

        :param kind: a key of `DUE`
        :return: their ids
        """
        table, order, days, condition = DUE[kind]
        kept = limits.get(self.env, days)
        if not kept:
            return []
        self.env.flush_all()
        rows = self.env.execute_query(
            SQL(
                "SELECT id FROM %s r WHERE %s ORDER BY %s LIMIT %s FOR UPDATE SKIP LOCKED",
                SQL.identifier(table),
                SQL(condition, kept),
                SQL.identifier(order),
                limit,
            )
        )
        return [row_id for (row_id,) in rows]

    @api.model
    def _count_due(self, kind):
        """Number of rows of which something would go now."""
        table, _order, days, condition = DUE[kind]
        kept = limits.get(self.env, days)
        if not kept:
            return 0
        self.env.flush_all()
        query = SQL(
            "SELECT COUNT(*) FROM %s r WHERE %s", SQL.identifier(table), SQL(condition, kept)
        )
        return self.env.execute_query(query)[0][0]

    @api.model
    def _prune_events(self, limit):
        """:return: the number of turns whose events were removed"""
        old = self.browse(self._take_due("events", limit))
        old._forget_events()
        return len(old)

    def _forget_events(self):
        """Delete events of turns that are over: their streams tell the end only."""
        self.env.cr.execute(
            """
            WITH old AS (
                UPDATE woow_paas_platform_ai_turn SET events_pruned = TRUE
                 WHERE id = ANY(%s) AND events_pruned IS NOT TRUE
             RETURNING id)
            DELETE FROM woow_paas_platform_ai_turn_event e USING old WHERE e.turn_id = old.id
            """,
            [self.ids],
        )
        self.invalidate_recordset(["events_pruned"])

    @api.model
    def _prune_unlisted(self, limit):
        """Delete conversations of programs and runs that were last used when results of calls go.

        :return: the number of conversations that were removed
        """
        return self._prune_channels("unlisted", limit)

    @api.model
    def _prune_unused(self, limit):
        """Delete people's conversations that were not used for as long as administrators set, if they did.

        :return: the number of conversations that were removed
        """
        return self._prune_channels("unused", limit)

    @api.model
    def _prune_channels(self, kind, limit):
        old = self.env["discuss.channel"].browse(self._take_due(kind, limit))
        old.unlink()
        return len(old)

    @api.model
    def _prune_results(self, limit):
        """:return: the number of calls whose results were removed"""
        old = self.env["woow_paas_platform.tool_call"].browse(self._take_due("results", limit))
        old._forget_results()
        return len(old)


class AiTurnEvent(models.Model):
    """An event of a turn's log, which every stream replays: written once, in order, never changed."""

    _name = "woow_paas_platform.ai_turn_event"
    _description = "AI Turn Event"
    _order = "turn_id, seq"
    _log_access = False

    turn_id = fields.Many2one(
        "woow_paas_platform.ai_turn", required=True, readonly=True, ondelete="cascade"
    )
    seq = fields.Integer(required=True, readonly=True)
    payload = OrderedJson(required=True, readonly=True)

    _turn_seq_unique = models.UniqueIndex("(turn_id, seq)")


class AiTurnStop(models.Model):
    """A stop request that met a locked row and waits for it, see `AiTurn._apply_stops`.

    It has no foreign key, which would wait for the row too.
    """

    _name = "woow_paas_platform.ai_turn_stop"
    _description = "AI Turn Stop Request"
    _log_access = False

    turn_id = fields.Integer(required=True, readonly=True)

    _turn_unique = models.UniqueIndex("(turn_id)")


@dataclass(frozen=True)
class Question:
    """Message that an assistant is to answer, on its way from the request to the row of its turn.

    :param content: its text, which files and a `/compact` may come without
    :param client_token: the client's name for it, so that it is asked once however often it is sent
    :param message: `mail.message` that stands in the channel already (Discuss)
    :param attachments: `ir.attachment` records for a message that does not; those of `message` belong to it
    :param mentions: records that it names, as `{"model", "id", "name"}`; None says nothing of
        them, so that another wording keeps those of the former one
    :param prompt_server: name of the MCP server whose prompt `content` is
    :param companies: ids of companies; None: those of the environment
    :param steers: enter the answer that is being written; not with files or records, which are read when a turn begins
    :param edits: `ai_turn` whose question it words anew
    :param compacts: sum up the conversation; `content` is what the summary is to keep
    :param client_messages: what a program says went before, see `services.openai_api.question.ChatRequest`
    :param foreign_name: name of a record whose words stand in `content`
    :param is_unattended: asked by an action, so that nobody waits for the answer
    :param is_response: a program may find the answer by its id and go on from it
    :param given: ``{"alias", "arguments", "models"}`` of a call on records of these models that a program asks for; the
        turn does nothing else
    :param in_browser: asked on a page, whose person is told of the answer; programs tell nobody what they have read
    """

    content: str
    client_token: str | None = None
    message: Any = None
    attachments: Any = None
    mentions: list | None = None
    prompt_server: str | None = None
    companies: list[int] | None = None
    steers: bool = False
    edits: Any = None
    compacts: bool = False
    client_messages: list | None = None
    foreign_name: str | None = None
    is_unattended: bool = False
    in_browser: bool = False
    is_response: bool = False
    given: dict | None = None
