from odoo import api, fields, models
from odoo.exceptions import UserError
from odoo.tools import plaintext2html

from ...services import events
from ...services.errors import LlmError
from ...tools import copies, host, notify
from ...tools import sentences as known_sentences
from ...tools.refusals import TooManyTurns

PROMPT_CHARS = 32_000  # characters of one message

CONVERSATION = "woow_ai_chat"  # type of the channels that hold a conversation with an assistant
MAX_OPEN_TURNS = 100  # of one person
RETRY_AFTER = 5  # s, for who has as many

FINAL_STATES = ("done", "failed", "stopped")
SENTENCES_BY_CODE = {kind.code: kind.default_message for kind in LlmError.__subclasses__()}


class AiTurn(models.Model):
    """A turn: one message of a person and everything that the assistant does about it; a durable job.

    Rows are written by the runner (`runtime/turns/store.py`) and by the few methods here, never by people.
    """

    _name = "woow_paas_platform.ai_turn"
    _description = "AI Turn"
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
    is_from_discuss = fields.Boolean(
        "From Discuss",
        readonly=True,
        help="The question was asked in Discuss, so the answer is posted there.",
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
    lang = fields.Char(
        "Language", readonly=True, help="Language of the page on which the question was asked."
    )
    client_token = fields.Char(
        readonly=True, help="Prevents the same message from being processed twice."
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
    usage = fields.Json(readonly=True)
    error_code = fields.Char(readonly=True)
    error_message = fields.Char(readonly=True)
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
    call_ids = fields.One2many(
        "woow_paas_platform.tool_call", "turn_id", "Tool Calls", readonly=True
    )

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

    # ------------------------------------------------------------ life of a turn

    @api.model
    def _start(
        self,
        channel,
        content,
        client_token=None,
        message=None,
        assistant=None,
        attachments=None,
        steers=False,
    ):
        """Queue a turn for the current user; the caller has checked the access to the channel.

        :param message: the question, when it stands in the channel already (Discuss)
        :param assistant: who answers, when it is not the conversation's own (a mention)
        :param attachments: files that belong to the question; those of `message` do
        :param steers: whether it may enter the answer that is being written; not with files
        """
        if copies.settle(self.env.cr):  # before there is a turn of the copy's own
            self.env.invalidate_all()
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
                attachment_ids=attachments.ids if attachments else [],
            )
            if attachments:
                # sudo: mail.message - Odoo leaves out files that portal users have not put into its own composer
                message.sudo().attachment_ids |= attachments
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
                "client_token": client_token or False,
                "is_from_discuss": is_from_discuss,
                "steers": steers and not attachments,
            }
        )
        if is_from_discuss:
            channel._show_typing(turn.assistant_id, True)
        turn._append_events([events.state("queued")])
        notify.queued(self.env.cr, turn.id)
        return turn.sudo(False)

    def _language(self):
        """What is said to the person in the course of the turn is in the language of the page, if it is still there."""
        self.ensure_one()
        return self.env["res.lang"]._get_code(self.lang or "") or self.user_id.lang

    def _check_open_turns(self):
        """:raises TooManyTurns: the person has queued more than anybody reads"""
        # sudo: ai_turn - the caller's own, counted
        mine = [("user_id", "=", self.env.uid), ("state", "in", ("queued", "running", "waiting"))]
        if self.sudo().search_count(mine, limit=MAX_OPEN_TURNS) >= MAX_OPEN_TURNS:
            raise TooManyTurns(
                self.env._(
                    "Too many of your messages are waiting for an answer. Try again in a moment."
                ),
                retry_after=RETRY_AFTER,
            )

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

    def _end(self, state, text_html="", usage=None, error=None):
        """Post the answer and close the turn, with every call and question of it that is open.

        :param error: ``(code, sentence)`` or None
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
        return [*last, events.state(state), self._final_event()]

    def _close_open_calls(self):
        """Give every call that has no result its one: nobody runs it any more.

        One that had started is unknown, any other cancelled.

        :return: their `tool_result` events
        """
        open_calls = self.call_ids.filtered(lambda call: not call.outcome)
        for call in open_calls:
            outcome = "unknown" if call.started_at else "cancelled"
            call.write({"outcome": outcome, "llm_text": "The call was not finished."})
        return [call._result_event() for call in open_calls]

    def _error_sentence(self, code, fallback):
        """What the person reads, in the person's language; `fallback` is the engine's English one."""
        _ = self.env._
        sentences = {
            "internal_error": _(
                "Something went wrong. An administrator can find the details in the log."
            ),
            "turn_timeout": _("The answer took too long and was stopped. Try again."),
            "secret_unreadable": _(
                "A stored secret cannot be read. An administrator must enter it again."
            ),
        }
        if code in sentences:
            return sentences[code]
        # What the engine says where it knows more than the code does.
        sentence = (
            fallback if known_sentences.knows(fallback) else SENTENCES_BY_CODE.get(code, fallback)
        )
        return known_sentences.translated(self.env, sentence)

    def _final_event(self):
        self.ensure_one()
        answer = self.answer_message_id.id or None
        if self.state == "failed":
            return events.error(self.error_code, self.error_message, answer)
        return events.done(self.state, answer)

    # ------------------------------------------------------------ what the API says

    def _stream_url(self):
        return f"/api/ai/turns/{self.id}/stream"

    def _last_seq(self):
        self.env.cr.execute(
            "SELECT COALESCE(MAX(seq), 0) FROM woow_paas_platform_ai_turn_event WHERE turn_id = %s",
            [self.id],
        )
        return self.env.cr.fetchone()[0]

    def _is_streamed_until(self, seq):
        """Whether nothing follows `seq`: the turn ended and its last event was seen."""
        return self.state in FINAL_STATES and seq >= max(self._last_seq(), 1)

    def _running_data(self):
        return {
            "id": self.id,
            "state": self.state,
            "stream_url": self._stream_url(),
            "last_seq": self._last_seq(),
        }

    def _queued_data(self):
        return {
            "id": self.id,
            "message_id": self.message_id.id or None,
            "stream_url": self._stream_url(),
            "steers": self.steers,
        }

    def _ended_data(self):
        # It was stored in the language in which was asked; the reader may have another one by now.
        sentence = self._error_sentence(self.error_code, self.error_message)
        error = {"code": self.error_code, "message": sentence}
        return {
            "id": self.id,
            "state": self.state,
            "tool_calls": [call._api_format() for call in self._calls_with_taken_over()],
            "usage": self.usage or None,
            "error": error if self.error_code else None,
        }
