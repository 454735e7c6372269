import json

from odoo import api, fields, models

from ...services import events, text
from ...services.specs import CallResult
from ...services.turn import read_result
from ...tools import sentences


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
    arguments = fields.Json(readonly=True)
    arguments_text = fields.Text("Arguments as Text", compute="_compute_arguments_text")
    fixed = fields.Json(readonly=True, help="Names of the arguments filled in from the record.")
    result = fields.Json(readonly=True, help="Result as shown to users, up to a maximum length.")
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
    tokens = fields.Integer(readonly=True, help="Estimated number of tokens in the result.")
    truncated = fields.Boolean(readonly=True)
    attachment_ids = fields.Many2many("ir.attachment", string="Files", readonly=True)
    result_pruned = fields.Boolean(
        readonly=True, help="The result was deleted when its retention period ended."
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
        return {
            "outcome": result.outcome,
            "result": text.storable(shown),
            "llm_text": text.storable(result.text),
            "tokens": text.tokens(result.text),
            "whole_text": text.storable(result.whole) or False,
            "duration_ms": result.duration_ms,
            "bytes": result.bytes,
            "truncated": result.truncated,
        }

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
            sentence = "This result was deleted when its retention period ended."
            return CallResult(outcome="error", text=sentence, display=sentence)
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

    def _effect_on_records(self):
        """``read`` or ``write`` of a call on records of this database, ``""`` of any other."""
        return ""

    def _tool_message(self):
        """The call's result as the transcript keeps it; a call that was cut says so."""
        self.ensure_one()
        message = {
            "role": "tool",
            "call_id": self.call_id,
            "content": self.llm_text or "The call was not finished.",
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
