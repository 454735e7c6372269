import json

from odoo import api, fields, models

from ...services import const, events, text
from ...services.specs import CallResult
from ...services.turn import read_result
from ...tools import sentences
from .ai_turn_event import OrderedJson

SMALL = 4 * 1024  # bytes of a result that nobody counts
NOT_FINISHED = "The call was not finished."
RESULT_PRUNED = "This result is no longer kept."


class ToolCall(models.Model):
    """A tool call, kept for history and audit. The runner writes it in three moments:
    asked for (created), started (`started_at`), ended (`outcome`). A direct call, that a program made
    over the API, belongs to a person but to no turn."""

    _name = "woow_paas_platform.tool_call"
    _description = "Tool Call"
    _order = "id"
    _rec_name = "tool_name"

    turn_id = fields.Many2one(
        "woow_paas_platform.ai_turn", readonly=True, ondelete="cascade", index="btree_not_null"
    )
    user_id = fields.Many2one("res.users", readonly=True, ondelete="cascade", index=True)
    assistant_id = fields.Many2one(related="turn_id.assistant_id")
    call_id = fields.Char(required=True, readonly=True)
    round = fields.Integer(readonly=True)
    tool_id = fields.Many2one(
        "woow_paas_platform.mcp_tool", readonly=True, ondelete="set null", index="btree_not_null"
    )
    operation_id = fields.Many2one(
        "woow_paas_platform.toolbox_operation",
        readonly=True,
        ondelete="set null",
        index="btree_not_null",
    )
    action_id = fields.Many2one(
        "woow_paas_platform.action_type",
        readonly=True,
        ondelete="set null",
        index="btree_not_null",
        help="The action type that offered the tool.",
    )
    tool_name = fields.Char(readonly=True, required=True)
    title = fields.Char(readonly=True)
    server_id = fields.Many2one(
        "woow_paas_platform.mcp_server", readonly=True, ondelete="set null", index="btree_not_null"
    )
    server_name = fields.Char(readonly=True)
    arguments = OrderedJson(readonly=True)
    arguments_text = fields.Text("Arguments as Text", compute="_compute_arguments_text")
    fixed = fields.Json(readonly=True, help="Names of the arguments filled in from the record.")
    result = OrderedJson(readonly=True, help="Result as shown to users, up to a maximum length.")
    llm_text = fields.Text(
        readonly=True, help="Result as read by the model, up to a maximum length."
    )
    whole_text = fields.Text(
        readonly=True,
        prefetch=False,
        help="Full text of a result that the model has read only in part.",
    )
    outcome = fields.Selection(
        [
            ("ok", "OK"),
            ("error", "Error"),
            ("denied", "Denied"),
            ("timeout", "Timeout"),
            ("cancelled", "Cancelled"),
            ("unknown_tool", "Unknown tool"),
            ("invalid_args", "Invalid arguments"),
            ("unknown", "Unknown"),
        ],
        readonly=True,
        index=True,
    )
    started_at = fields.Datetime(readonly=True)
    started_epoch = fields.Integer(readonly=True)
    duration_ms = fields.Integer("Duration (ms)", readonly=True, aggregator="avg")
    bytes = fields.Integer(readonly=True)
    kept_bytes = fields.Integer(
        readonly=True, help="Size of the stored result; small ones are not counted."
    )
    tokens = fields.Integer(readonly=True, help="Estimated number of tokens in the result.")
    truncated = fields.Boolean(readonly=True)
    attachment_ids = fields.Many2many("ir.attachment", string="Files", readonly=True)
    result_pruned = fields.Boolean(
        readonly=True,
        help="The result was deleted: its retention period ended, or newer results needed the room.",
    )
    is_summed = fields.Boolean(
        "Counted in Statistics", readonly=True, help="The call is included in the statistics."
    )

    _has_owner = models.Constraint(
        "CHECK (turn_id IS NOT NULL OR user_id IS NOT NULL)",
        "A tool call must belong to a turn or to a user.",
    )
    _open_direct = models.Index("(create_date) WHERE turn_id IS NULL AND outcome IS NULL")
    _unpruned = models.Index("(create_date) WHERE result_pruned IS NOT TRUE")
    _unsummed = models.Index(
        "((create_date::date)) WHERE outcome IS NOT NULL AND is_summed IS NOT TRUE"
    )

    _kept = models.Index("(user_id, id) INCLUDE (kept_bytes) WHERE kept_bytes > 0")
    _created = models.Index("(create_date)")
    _call_id_unique = models.Constraint("UNIQUE (call_id)", "The ID of a tool call must be unique.")

    @api.depends("arguments")
    def _compute_arguments_text(self):
        for call in self:
            call.arguments_text = json.dumps(call.arguments or {}, indent=2, ensure_ascii=False)

    def _end_direct(self, result):
        """Record what became of a direct call, once.

        :param result: `services.specs.CallResult`
        """
        self.filtered(lambda call: not call.outcome).write(self._vals_of_result(result))

    def _vals_of_result(self, result):
        """The columns of a call that is over.

        :param result: `services.specs.CallResult`
        """
        shown = result.display
        if isinstance(shown, str):  # also where the engine says why there is no answer of the tool
            lang = self.turn_id._language() if self.turn_id else self.env.lang
            shown = sentences.in_language(lang, shown)
        kept = text.weight([shown, result.text, result.whole], const.WIRE_CAP)
        return {
            "outcome": result.outcome,
            "result": text.storable(shown),
            "llm_text": text.storable(result.text),
            "tokens": text.tokens(result.text),
            "whole_text": text.storable(result.whole) or False,
            "duration_ms": result.duration_ms,
            "bytes": result.bytes,
            "kept_bytes": kept if kept > SMALL else 0,
            "truncated": result.truncated,
        }

    def _forget_results(self):
        """The rows stay. Models are told results out of transcripts, also by the turns that retry these."""
        self.env.cr.execute(
            """
            UPDATE woow_paas_platform_tool_call
               SET result = NULL, llm_text = NULL, whole_text = NULL, rehearsal = NULL,
                   kept_bytes = 0, result_pruned = TRUE
             WHERE id = ANY(%s)
            """,
            [self.ids],
        )
        self.env.cr.execute(
            """
            WITH RECURSIVE told (id) AS (
                SELECT unnest(%(turns)s::int[])
                 UNION
                SELECT t.id FROM woow_paas_platform_ai_turn t JOIN told ON t.retry_of_id = told.id)
            UPDATE woow_paas_platform_ai_turn t
               SET transcript = jsonb_set(t.transcript, '{messages}', (
                    SELECT jsonb_agg(
                               CASE WHEN m.one ->> 'role' = 'tool' AND m.one ->> 'call_id' = ANY(%(calls)s)
                                    THEN m.one - 'truncated' || jsonb_build_object('content', %(said)s::text)
                                    ELSE m.one END
                               ORDER BY m.place)
                      FROM jsonb_array_elements(t.transcript -> 'messages') WITH ORDINALITY AS m (one, place)))
              FROM told
             WHERE t.id = told.id AND jsonb_array_length(t.transcript -> 'messages') > 0
            """,
            {
                "turns": self.turn_id.ids,
                "calls": self.mapped("call_id"),
                "said": RESULT_PRUNED,
            },
        )
        self.invalidate_recordset()
        self.turn_id.invalidate_recordset(["transcript"])

    @api.model
    def _close_lost_direct_calls(self):
        """Direct calls whose process died: no server may take longer than its limit.

        Both moments are PostgreSQL's: the clock of the host that calls may be another one.
        """
        self.env.cr.execute(
            """
            UPDATE woow_paas_platform_tool_call
               SET outcome = 'unknown', llm_text = 'The call was not finished.'
             WHERE turn_id IS NULL AND outcome IS NULL
               AND create_date < now() AT TIME ZONE 'UTC' - interval '15 minutes'
            """
        )
        if self.env.cr.rowcount:
            self.invalidate_model()

    def _as_result(self):
        self.ensure_one()
        return CallResult(
            outcome=self.outcome,
            text=self.llm_text or "",
            display=self.result if self.result is not False else "",
            duration_ms=self.duration_ms,
            bytes=self.bytes,
            truncated=self.truncated,
        )

    def _read_on(self):
        """The answer of `read_result`: a part of what an earlier call of this person said in this conversation."""
        self.ensure_one()
        given = self.arguments or {}
        source = self.search(
            [
                ("call_id", "=", str(given.get("id"))),
                ("turn_id.channel_id", "=", self.turn_id.channel_id.id),
                ("user_id", "=", self.user_id.id),
                ("outcome", "!=", False),
            ]
        )
        if not source:
            sentence = "There is no result with this id in this conversation."
            return CallResult(outcome="invalid_args", text=sentence, display=sentence)
        if source.result_pruned:
            return CallResult(outcome="error", text=RESULT_PRUNED, display=RESULT_PRUNED)
        whole = source.whole_text or source.llm_text or ""
        return read_result.part(whole, source.call_id, given.get("start"))

    def _call_event(self):
        self.ensure_one()
        return events.tool_call(
            self.call_id,
            tool=self.tool_name,
            title=self.title or self.tool_name,
            server=self.server_name or "",
            arguments=self.arguments or {},
            fixed=self.fixed or (),
            round_=self.round,
            max_rounds=self._max_rounds(),
            records=self._effect_on_records(),
        )

    def _input_schema(self):
        """What the arguments must fit."""
        return json.loads((self.tool_id or self.operation_id).input_schema or "{}")

    def _effect_on_records(self):
        """``read`` or ``write`` of a call on records of this database, ``""`` of any other."""
        return ""

    def _tool_message(self):
        """The call's result as the transcript keeps it; a call that was cut says so."""
        self.ensure_one()
        message = {
            "role": "tool",
            "call_id": self.call_id,
            "content": RESULT_PRUNED if self.result_pruned else self.llm_text or NOT_FINISHED,
            "outcome": self.outcome or "unknown",
        }
        return {**message, "truncated": True} if self.truncated else message

    def _result_event(self):
        self.ensure_one()
        # sudo: tool_call - the files of a call that the caller may read; portal users see no attachments
        files = self.sudo().attachment_ids
        return events.tool_result(
            self.call_id,
            tool=self.tool_name,
            result=self.result if self.result is not False else (self.llm_text or ""),
            outcome=self.outcome,
            is_error=self.outcome != "ok",
            duration_ms=self.duration_ms,
            truncated=self.truncated,
            attachments=files._ai_file_data(),
            arguments=self._changed_arguments(),
        )

    def _api_format(self):
        """One entry of a message's ``turn.tool_calls``, see docs/api.md."""
        event = self._result_event()
        return {
            **{key: event[key] for key in event if key != "type"},
            "title": self.title or self.tool_name,
            "server": self.server_name or "",
            "args": self.arguments or {},
            "fixed": self.fixed or [],
            "round": self.round,
            "max_rounds": self._max_rounds(),
        }

    def _max_rounds(self):
        # sudo: ai.assistant - one number, of the assistant that the caller has talked to
        return self.sudo().turn_id.assistant_id.max_rounds
