import hashlib
import json
import logging
from datetime import timedelta
from urllib.parse import urlsplit

from odoo import api, fields, models
from odoo.fields import Domain
from odoo.tools import SQL
from odoo.tools.sql import column_exists
from psycopg2.extras import Json

from ...services import const, events, jsonrpc, text
from ...services.approval import approval, explanation, hints, taint
from ...services.errors import ElicitationRequired, EngineError, SecretUnreadable, SignInRequired
from ...services.gateway import questions, results
from ...services.gateway.tasks import Task
from ...services.llm.files import MAX_BYTES, fitting_files
from ...services.llm.transcript import DIFFERS
from ...services.mcp.session import elicitation
from ...services.records import catalog
from ...services.records.actions import READS
from ...services.schemas import schema
from ...services.sentence import _lt
from ...services.specs import CallResult, Verdict
from ...services.toolset import lookup
from ...services.turn import read_result, remember
from ...services.turn.calls import NOT_FINISHED
from ...tools import labels, limits, sentences, vault
from ...tools.limits import MEGABYTE
from ...tools.moments import utc
from ...tools.refusals import BadInput, Refusal, TooLate
from ..base.discuss_channel import readable
from ..mcp.callable_mixin import BLOCKED
from ..mcp.mcp_server_secrets import START
from .ai_turn import DECISIONS, LABEL_CHARS, OrderedJson
from .memory import FULL

_logger = logging.getLogger(__name__)

QUESTION = "woow_paas_platform.call_question"
MEMORY = "woow_paas_platform.memory"

# What the model is told.
RESULT_PRUNED = _lt("This result is no longer kept.")
NOBODY_TO_APPROVE = _lt(
    "This call needs the user's permission, and nobody can be asked here. "
    "Tell the user to ask for it in a conversation with the assistant."
)
NOBODY_TO_ANSWER = _lt(
    "The MCP server has a question for the user, and nobody can be asked here. "
    "Tell the user to ask for it in a conversation with the assistant."
)
NOBODY_TO_SIGN_IN = _lt(
    "The MCP server requires the user to sign in, which is not possible here. "
    "Tell the user to ask for it in a conversation with the assistant."
)
ASKS_FOR_EVER = _lt("The MCP server keeps asking questions.")
DECLINED = _lt(
    "The user did not complete what the MCP server requested first, so the call was not made."
)
NOT_ANSWERED = _lt("A question of the MCP server was not answered in time.")
NOT_MADE_AGAIN = _lt("The MCP client did not make this call in time after the user had allowed it.")
MADE_SINCE = _lt("The same call was made since without this permission.")
NOT_DECIDED = _lt("The user did not decide on this call in time, so it was not made.")
REMOVED = _lt("The MCP server was removed.")
BY_A_MANAGER = _lt(
    "The MCP server requires a sign-in that only its managers can complete. "
    "Tell the user to ask them."
)

SMALL = 4 * 1024  # bytes of a result that nobody counts
MAX_VALUES, VALUE_CHARS = 20, 120  # of a call that stand in these, for the person
MAX_SOURCES = 20  # latest results in which the values of a call are looked for
DESCRIPTION_CHARS = 300  # of a server's own, beside the question
MAX_TURN_FILES = 60  # that the tools of one turn send
MAX_TURN_BYTES = 8 * MAX_BYTES  # of them together
MAX_REASON = 500  # characters of a person's reason
CLIENT_WAIT = timedelta(
    hours=1
)  # for a decision on a call of an MCP client, and for the call after it
MAX_OF_CLIENTS = 20  # calls of one user that wait for one
MAX_WEIGHT_OF_CLIENTS = 2 * MEGABYTE  # bytes of their arguments, about: all of them are on one page
TASK_TTL = CLIENT_WAIT + timedelta(hours=1)  # in which a client finds a task and its result
TASK_SILENCE = timedelta(minutes=3)  # without a sign of life, see `runtime.web.client_tasks.BEAT`
MAX_TASKS = 20  # of one user that are not over
MAX_STATE = 64 * 1024  # bytes that a server may want back with the answers, about
MAX_QUESTION = 1_500  # characters of the arguments, in a question that a client shows
SLACK = 20  # a full share gives up one part in so many at once


class ToolCall(models.Model):
    """A tool call, kept for history and audit. The runner writes it in three moments:
    asked for (created), started (`started_at`), ended (`outcome`). A direct call, that a program made
    over the API, belongs to a person but to no turn."""

    _name = "woow_paas_platform.tool_call"
    _description = "Tool Call"
    _inherit = ["woow_paas_platform.filter.mixin", "woow_paas_platform.audit.mixin"]
    _order = "id"
    _rec_name = "tool_name"

    turn_id = fields.Many2one(
        "woow_paas_platform.ai_turn", readonly=True, ondelete="cascade", index="btree_not_null"
    )
    user_id = fields.Many2one("res.users", readonly=True, ondelete="cascade", index=True)
    assistant_id = fields.Many2one(related="turn_id.assistant_id")
    channel_id = fields.Many2one(related="turn_id.channel_id")
    client_name = fields.Char(
        "Client", readonly=True, help="MCP client that has made the call, by its own name."
    )
    gateway_id = fields.Many2one(
        "woow_paas_platform.gateway", readonly=True, ondelete="set null", index="btree_not_null"
    )
    asked_turn_id = fields.Many2one(
        "woow_paas_platform.ai_turn",
        "Answer",
        readonly=True,
        ondelete="set null",
        index="btree_not_null",
        help="Turn of the assistant that the client has asked.",
    )
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
    definition = fields.Char(
        readonly=True,
        help="Identifies the definition of the requested tool; empty if the tool does not exist.",
    )
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
            ("ok", "Done"),
            ("error", "Failed"),
            ("denied", "Not allowed"),
            ("timeout", "Timed out"),
            ("cancelled", "Stopped"),
            ("unknown_tool", "Unknown tool"),
            ("invalid_args", "Wrong arguments"),
            ("unknown", "Outcome unknown"),
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
    taint = fields.Selection(
        [
            ("open_world", "Open world"),
            ("untrusted", "Untrusted server"),
            ("record", "Odoo records"),
        ],
        "Untrusted Content",
        readonly=True,
        help="The result may hold text that strangers have written. Later calls of the conversation that have an "
        "effect require a decision.",
    )
    result_pruned = fields.Boolean(
        readonly=True,
        help="The result was deleted: its retention period ended, or newer results needed the room.",
    )
    is_summed = fields.Boolean(
        "Counted in Statistics", readonly=True, help="The call is included in the statistics."
    )

    approval = fields.Selection(
        [
            ("pending", "Waiting for a decision"),
            ("granted", "Allowed before"),
            ("approved", "Allowed"),
            ("denied", "Denied"),
            ("expired", "Not decided in time"),
            ("cancelled", "Not decided"),
        ],
        readonly=True,
        help="Empty if no approval was required.",
    )
    approval_reason = fields.Char(readonly=True, help="Why the user was asked.")
    approval_choices = fields.Json(readonly=True)
    decision = fields.Selection(
        [
            ("approve_once", "Allow once"),
            ("approve_conversation", "Allow in this conversation"),
            ("approve_always", "Allow always"),
            ("deny", "Deny"),
        ],
        readonly=True,
    )
    trace = fields.Json(
        readonly=True,
        prefetch=False,
        help="Checks before the call was made, asked about or refused, each with its answer.",
    )
    decision_reason = fields.Char(readonly=True)
    decided_by_id = fields.Many2one("res.users", "Decided by", readonly=True, ondelete="set null")
    decided_at = fields.Datetime(readonly=True)
    is_changed = fields.Boolean("Arguments Changed", readonly=True)
    asked_arguments = OrderedJson(
        "Original Arguments",
        readonly=True,
        help="Arguments requested by the model, if the user changed them.",
    )

    question_ids = fields.One2many(QUESTION, "call_id", "Questions", readonly=True)
    ask_round = fields.Integer(
        "Question Round", readonly=True, help="Number of times the call ended with questions."
    )
    ask_state = fields.Json(
        groups=fields.NO_ACCESS, help="Data that is sent back to the server with the answers."
    )

    task = fields.Json(
        prefetch=False,
        groups=fields.NO_ACCESS,
        help="Set for calls whose MCP client comes back for the result, which is kept here for it.",
    )

    records = fields.Selection(
        [("read", "Read"), ("write", "Change")],
        "Odoo Records",
        readonly=True,
        help="Set for calls that act on records of this database.",
    )
    rehearsal = fields.Json(
        readonly=True,
        prefetch=False,
        groups="woow_paas_platform.group_admin",
        help="What the call would change, as it was shown when the user was asked.",
    )
    made = fields.Json(
        readonly=True,
        prefetch=False,
        groups="woow_paas_platform.group_admin",
        help="Model and ID of each record that the call has made, for the calls of the same answer behind it: what they"
        " change of these is compared with what was shown before these were there.",
    )
    losses = fields.Integer(
        readonly=True,
        help="How often the connection to the database was lost while the call was running.",
    )

    _has_owner = models.Constraint(
        "CHECK (turn_id IS NOT NULL OR user_id IS NOT NULL)",
        "A tool call must belong to a turn or to a user.",
    )
    _tainted = models.Index("(turn_id) WHERE taint IS NOT NULL")
    _open_direct = models.Index("(create_date) WHERE turn_id IS NULL AND outcome IS NULL")
    _unpruned = models.Index("(create_date) WHERE result_pruned IS NOT TRUE")
    _unsummed = models.Index(
        "((create_date::date)) WHERE outcome IS NOT NULL AND is_summed IS NOT TRUE"
    )
    _tasks = models.Index("(create_date) WHERE task IS NOT NULL")
    _kept = models.Index("(user_id, id) INCLUDE (kept_bytes) WHERE kept_bytes > 0")
    _created = models.Index("(create_date)")
    _call_id_unique = models.Constraint("UNIQUE (call_id)", "The ID of a tool call must be unique.")

    def _auto_init(self):
        """Results of versions without the column count as foreign words: what asked must not run after an update."""
        is_new = not column_exists(self.env.cr, self._table, "taint")
        result = super()._auto_init()
        if is_new:
            self.env.cr.execute(
                """
                UPDATE woow_paas_platform_tool_call
                   SET taint = CASE WHEN records IS NULL THEN 'untrusted' ELSE 'record' END
                 WHERE (started_at IS NOT NULL OR records IS NOT NULL) AND outcome IN ('ok', 'error')
                   AND (tool_name <> ALL(%s) OR server_name <> '')
                """,
                [list(lookup.NAMES)],
            )
        return result

    @api.depends("arguments")
    def _compute_arguments_text(self):
        for call in self:
            call.arguments_text = json.dumps(call.arguments or {}, indent=2, ensure_ascii=False)

    # ------------------------------------------------------------ start

    def _may_start(self, origin):
        """Everything is read again in the transaction that records the start.

        :param origin: of the tool that would be called, see `_asked_of`
        :return: a `Verdict`: run, deny or ask
        """
        self.ensure_one()
        trace = []
        verdict = self._verdict_on_start(origin, trace)
        if (self.trace or []) != trace:
            self.trace = trace
        return verdict

    def _verdict_on_start(self, origin, trace):
        """:param trace: takes each check and its answer, see `_explanation`"""
        if self._asked_of() != origin or (self.definition or "") != self._definition_now():
            trace.append(["same_tool", "no"])
            return Verdict(kind="deny", reason=DIFFERS)
        turn = self.turn_id
        trace.append(["same_tool", "yes"])
        if reason := turn._check_still_allowed() or self._refusal_by_switch():
            trace.append(["switches", "off"])
            return Verdict(kind="deny", reason=reason)
        trace.append(["switches", "on"])
        if problem := self.tool_id.server_id._key_problem(turn._private_user()):
            trace.append(["key", "missing"])
            return Verdict(kind="deny", reason=str(problem))
        return self._approval_verdict(trace) or self._question_verdict() or Verdict(kind="run")

    def _is_one_transaction(self):
        """True if all that the call does happens in one transaction of this database, or not at all.

        An action may send mail or ask another service, and so may what could not be rehearsed.
        """
        if not self.records:
            return False
        return self.tool_name != "run_action" and "impossible" not in (self.rehearsal or {})

    def _asked_of(self):
        """Identity of the requested tool, by ids: what was approved is what runs, whatever it is called by now."""
        return {
            "tool_id": self.tool_id.id,
            "operation_id": self.operation_id.id,
            "server_id": self.server_id.id,
            "action_id": self.action_id.id,
            "definition": self.definition or "",
            "records": self.records,
        }

    def _definition_now(self):
        if tool := self._record_tool():
            return tool.spec.definition
        source = self.tool_id or self.operation_id
        return source._definition(self.action_id) if source else ""

    def _refusal_by_switch(self):
        turn, tool = self.turn_id, self.tool_id
        if self.records:
            record_tool = self._record_tool()
            is_offered = record_tool is not None and record_tool in turn._record_tools()
            return "" if is_offered else _lt("This assistant may not do this with Odoo's records.")
        if self._is_remember():
            if not turn._may_remember():
                return _lt("The user's memory is switched off here.")
            facts = self.env[MEMORY]._of(turn.user_id).mapped("text")
            return "" if remember.has_room(facts) else FULL
        if self.action_id:
            is_offered = self.action_id in turn._actions()
            return "" if is_offered else _lt("This action is no longer offered.")
        if tool and tool not in turn._tools():
            return tool._reason_of_switch()
        return ""

    def _input_schema(self):
        """Schema that the arguments must fit."""
        if tool := self._record_tool():
            return tool.schema
        if self._is_remember():
            return remember.TOOL.input_schema
        return json.loads((self.tool_id or self.operation_id).input_schema or "{}")

    def _annotations(self):
        """Annotations about the effect of the call."""
        if tool := self._record_tool():
            return tool.annotations
        source = self.tool_id or self.operation_id
        return source._annotations() if source else {}

    # ------------------------------------------------------------ approval: whether the person is asked

    def _approval_verdict(self, trace):
        """Verdict on starting the call now, read again each time.

        :param trace: takes each check and its answer
        :return: a `Verdict` that denies or asks, None when nothing is in the way
        """
        self.ensure_one()
        decision = self._policy_decision()
        if decision is None:
            return None
        trace += [list(step) for step in decision.trace]
        if decision.policy == "never":
            return Verdict(kind="deny", reason=BLOCKED[decision.reason])
        if self.approval in ("denied", "expired"):
            trace.append(["decision", self.approval])
            return Verdict(kind="deny", reason=self._denial())
        if decision.policy == "auto":
            if ("taint", "exempt") in decision.trace:
                self.approval_reason = "exempt"
            return None
        if self.approval == "approved":
            trace.append(["decision", "approved"])
            return None
        is_grantable = decision.grantable and bool(self._grantable())
        if is_grantable and self._is_granted():
            trace.append(["grant", "yes"])
            self.approval = "granted"
            return None
        trace.append(["grant", "no" if is_grantable else "not_enough"])
        if not self.turn_id._is_private():
            trace.append(["decision", "nobody"])
            return Verdict(kind="deny", reason=NOBODY_TO_APPROVE)
        self.write(
            {
                "approval": "pending",
                "approval_reason": decision.reason,
                "approval_choices": list(decision.choices if is_grantable else approval.ONCE),
            }
        )
        trace.append(["decision", "pending"])
        return Verdict(kind="ask")

    def _grant_subject(self):
        """Subject as `CallableMixin._grant_subject`, of a call on records: its tool, on this model."""
        given, tool = self.arguments or {}, self._record_tool()
        named = [tool.name, given.get("model"), given.get("action")]
        model = self.env.get(given.get("model"))
        label = given.get("model") if model is None else labels.of_model(model)
        return {"records": " ".join(str(name) for name in named if name)}, {
            "name": f"{tool.title}: {label}",
            "definition": tool.definition,
        }

    def _grantable(self):
        """Subject of an “always” of the person; empty where each call is decided by itself."""
        return self if self._record_tool() else self.tool_id

    def _is_granted(self):
        if self.rehearsal:  # shown once, it is not done on the strength of an earlier “always”
            return False
        turn = self.turn_id
        if turn._right_to_decide(turn.user_id) != "allow":  # then neither by an earlier “always”
            return False
        return self.env["woow_paas_platform.tool_grant"]._is_granted(
            self.turn_id, self._grantable()
        )

    def _policy_decision(self):
        if tool := self._record_tool():
            return self._record_policy_decision(tool)
        if self._is_remember():
            return approval.decide(
                self.arguments or {},
                policy="ask",
                annotations={},
                trust="full",
                taint=self._taint_of_call(),
                need="memory",
            )
        source = self.tool_id or self.operation_id
        if not source:
            return None
        return source._decision(
            self.arguments or {},
            self.turn_id.assistant_id,
            self.turn_id.user_id,
            taint=self._taint_of_call(),
        )

    def _record_policy_decision(self, tool):
        access, prints = self._record_line(), self._only_prints()
        # What a person is asked about once waits for the answer.
        asks = access is None or (access.asks and not prints) or bool(self.rehearsal)
        return approval.decide(
            self.arguments or {},
            policy="ask" if tool.is_write and asks else "auto",
            annotations=tool.annotations,
            trust="full",
            taint=self._taint_of_call(),
            need="effect" if tool.is_write and not prints else "nothing",
        )

    # ------------------------------------------------------------ taint: what the model has read

    def _taint_of_call(self):
        """:return: `services.approval.approval.Taint`"""
        if not (
            self._is_told_by_owner()
            or self._foreign_sources(limit=1)
            or self._turn_with_unreviewed()
        ):
            return approval.CLEAN
        arguments, said, schema = self.arguments or {}, self.turn_id._said(), self._input_schema()
        return approval.Taint(
            is_foreign=True,
            is_said=taint.is_said(arguments, said, schema, self._listed_names()),
            is_allowed=self._was_allowed_before(),
            is_exempt=self.tool_id.sudo().is_exempt,  # sudo: mcp_tool - an administrator's word
        )

    def _listed_names(self):
        """Names that the server of the call has listed here, see `services.approval.taint.listed_names`.

        A tool that has another definition or address by now has listed nothing.
        """
        turn, server = self.turn_id, self.tool_id.server_id
        if not (server and hints.read(self._annotations()).read_only):
            return frozenset()
        answered = [
            ("outcome", "=", "ok"),
            ("user_id", "=", turn.user_id.id),
            ("id", "!=", self.id),
        ]
        there = [
            ("turn_id.channel_id", "=", turn.channel_id.id),
            ("tool_id.server_id", "=", server.id),
        ]
        calls = self.search([*there, *answered], order="id DESC", limit=MAX_SOURCES)
        return taint.listed_names(
            call.llm_text or "" for call in calls if call.definition == call._definition_now()
        )

    def _foreign_sources(self, limit=None, *, with_own_round=False):
        """Calls and questions of the conversation that brought foreign words into it, the latest first.

        All of it counts, whatever the model is still shown: other wordings, retries and what was summed up, too.

        :param with_own_round: calls of the same answer count, too: they are over when the person is asked
        :return: `tool_call` records, or `ai_turn` records if there are none
        """
        turn = self.turn_id
        before = [("turn_id", "!=", turn.id), ("round", "<", self.round)]
        if with_own_round:
            before = [("turn_id", "!=", turn.id), ("id", "!=", self.id)]
        # sudo: tool_call, ai_turn - also what others did in the same thread; only what it was is shown
        calls = self.sudo().search(
            [("turn_id.channel_id", "=", turn.channel_id.id), ("taint", "!=", False), "|", *before],
            order="id DESC",
            limit=limit,
        )
        # Where several people talk with an assistant, each reads what the others have written.
        is_foreign = Domain("taint", "!=", False) | Domain("user_id", "!=", turn.user_id.id)
        return calls or turn.sudo().search(
            Domain("channel_id", "=", turn.channel_id.id) & is_foreign,
            order="id DESC",
            limit=limit,
        )

    def _turn_with_unreviewed(self):
        """Latest turn of the conversation whose model was shown definitions of servers other than the call's own that
        nobody had accepted.

        A server may say of its own tools what they are for; what it says of others' is a stranger's word.
        """
        turn = self.turn_id
        self.env["woow_paas_platform.ai_turn"].flush_model(["channel_id", "unreviewed_servers"])
        self.env.cr.execute(
            "SELECT id FROM woow_paas_platform_ai_turn WHERE channel_id = %s AND unreviewed_servers IS NOT NULL"
            " AND unreviewed_servers - %s::text <> '{}'::jsonb ORDER BY id DESC LIMIT 1",
            [turn.channel_id.id, str(self.server_id.id)],
        )
        return turn.sudo().browse(row[0] for row in self.env.cr.fetchall())

    def _is_told_by_owner(self):
        """True if the assistant's instructions are those of a cloud service's owner, and the call is none to a server
        of that service."""
        # sudo: ai.assistant, mcp_server - whose they are, compared and not shown
        assistant = self.turn_id.assistant_id.sudo()
        of_service = assistant._is_of_same_service(self.tool_id.server_id.sudo())
        return bool(assistant.cloud_service_id) and not of_service

    def _was_allowed_before(self):
        """True if the person has allowed a call in this turn that is the same in all, and only reads."""
        if not hints.read(self._annotations()).read_only:
            return False
        asked = (self._asked_of(), self.arguments or {})
        return any(
            (call._asked_of(), call.arguments or {}) == asked
            for call in self.turn_id.call_ids - self
            if call.approval == "approved" and call.outcome
        )

    def _source(self, words):
        """Source of the result, as its server is trusted now; see `services.approval.taint.SOURCES`.

        :param words: the result as the model reads it
        """
        if tool := self._record_tool():
            return "record" if hints.read(tool.annotations).open_world else "server"
        if self._is_look_up() or self._is_remember():
            return "catalog"
        if not (source := self.tool_id or self.operation_id):  # it is gone
            return "untrusted"
        facts = source._policy_facts()
        return taint.source_of(hints.read(facts["annotations"]), facts["trust"], words)

    def _taint_of_result(self, words, source=None):
        """Value of the column `taint`: nothing was read of a server that was not asked.

        :param words: the result as the model reads it
        :param source: its source, where it is known already
        """
        if not (self.records or self.started_at):
            return False
        return _taint_of(source or self._source(words))

    def _is_look_up(self):
        """Definitions, which were reviewed as they would be for being offered, are nobody's result.

        A server's tool of the same name, which may be gone by now, has left the server's name.
        """
        return not self.server_name and self.tool_name in lookup.NAMES

    # ------------------------------------------------------------ approval: the decision

    def _decide(self, decision, arguments=None, reason=None):
        """Record the person's decision; the caller has checked the person and the arguments."""
        for call in self:
            changed = arguments is not None and arguments != (call.arguments or {})
            call.write(
                {
                    "approval": "denied" if decision == "deny" else "approved",
                    "decision": decision,
                    "decision_reason": text.storable((reason or "").strip()[:MAX_REASON]) or False,
                    "decided_by_id": self.env.uid,
                    "decided_at": fields.Datetime.now(),
                }
            )
            if changed:
                call.write(
                    {
                        "is_changed": True,
                        "asked_arguments": call.arguments,
                        "arguments": arguments,
                    }
                )
            scope = {"approve_conversation": "conversation", "approve_always": "always"}
            if decision in scope:
                # sudo: tool_grant - people have no create access; made for who decides
                self.env["woow_paas_platform.tool_grant"].sudo()._grant(
                    call.turn_id or call, call._grantable(), scope[decision]
                )
            call._record_act(
                "call_decided",
                decision=decision,
                changed=changed,
                turn=call.turn_id,
                tool=call.tool_id,
                of=call.user_id,
            )
            if call.turn_id:
                call.turn_id._append_events([call._decided_event()])

    def _with_unchanged(self, arguments, unchanged):
        """Arguments with those, named, that stay as they were asked for: a browser rounds long integers."""
        before = self.arguments or {}
        both = {**before, **arguments}
        return {name: both[name] for name in both if name in arguments or name in unchanged}

    def _keeps_fixed(self, arguments):
        """True if these arguments leave alone what the conversation's record has filled in."""
        before = self.arguments or {}
        for name in self.fixed or []:
            part, _dot, inner = name.partition(".")
            path = [name] if name in before else [part, inner]
            if _dig(before, path) != _dig(arguments, path):
                return False
        return True

    def _changed_arguments(self):
        """Arguments as the person changed them, None if they are the model's own."""
        return self.arguments or {} if self.is_changed else None

    def _denial(self):
        """Text of a denial for the model."""
        if self.approval == "expired":
            return NOT_DECIDED
        if self.decision_reason:
            return _lt(
                "The user denied this call. The user's reason: %(reason)s",
                reason=self.decision_reason,
            )
        return _lt("The user denied this call.")

    def _decided_event(self):
        return events.decided(
            self.call_id,
            self.decision or "expired",
            by=self.decided_by_id.name or "",
            reason=self.decision_reason or "",
            arguments=self._changed_arguments(),
        )

    def _approval_event(self, reader=None):
        """:param reader: `res.users`, by default the turn's own; others change no arguments"""
        self.ensure_one()
        reader = reader or self.turn_id.user_id
        is_own = reader == self.turn_id.user_id
        try:
            form = schema.clean(self._input_schema())
        except EngineError:
            form = {"type": "object"}
        source = self.tool_id or self.operation_id
        return events.approval_required(
            self.call_id,
            tool=self.tool_name,
            title=self.title or self.tool_name,
            server=self.server_name or "",
            arguments=self.arguments or {},
            fixed=(self.fixed or ())
            if is_own
            else {**form.get("properties", {}), **(self.arguments or {})},
            schema=form,
            choices=self.turn_id._choices(self.approval_choices, reader),
            reason=self._approval_sentence(),
            description=text.one_line(source.description or "", DESCRIPTION_CHARS),
            is_destructive=hints.read(self._annotations()).says_destructive,
            expires_at=utc(self.turn_id.waiting_until),
            manage_path=self._manage_path() if is_own else None,
            rehearsal=self._rehearsal_shown(reader),
            review_hash=self._review_hash(),
            foreign_values=self._foreign_values(),
        )

    def _manage_path(self):
        """The page on which the person of the turn changes what is asked, None for who may not."""
        turn = self.turn_id
        if self.records:
            may_write = turn.assistant_id.with_user(turn.user_id).sudo(False).has_access("write")
            return f"/odoo/ai-assistants/{turn.assistant_id.id}" if may_write else None
        return self.tool_id._manage_path(turn.user_id) if self.tool_id else None

    def _approval_sentence(self):
        if self.approval_reason == "tainted":
            return self._tainted_sentence()
        _ = self.env._
        if self._is_remember():
            return _("Assistants read what you allow here in your later conversations.")
        return {
            "person": _("A rule requires your decision on each of your calls of this tool."),
            "rule": _("An approval rule requires your decision on calls like this one."),
            "tool": _("This tool is set to ask before it runs."),
            "assistant": _("This assistant is set to ask before every call with an effect."),
            "destructive": _("This tool can delete or overwrite data."),
            "open": _("What this does cannot be known in advance."),
        }.get(self.approval_reason, _("This tool has not been marked as safe yet."))

    def _explanation(self):
        """The checks of `_may_start` as they were answered, for the user who may read the call.

        :return: ``{"id", "outcome", "approval", "reason", "steps": [{"check", "answer", "title", "text", "setting"}],
            "summary"}``
        """
        self.ensure_one()
        steps = []
        for check, answer in self.trace or []:
            if self.outcome and (check, answer) == ("decision", "pending"):
                answer = "ended"
            steps.append(
                {
                    "check": check,
                    "answer": answer,
                    "title": self._said_of(explanation.TITLES, check),
                    "text": self._said_of(explanation.ANSWERS, f"{check}.{answer}"),
                    "setting": self._setting_of(check),
                }
            )
        return {
            "id": self.call_id,
            "outcome": self.outcome or None,
            "approval": self.approval or None,
            "reason": self.approval_reason or "",
            "steps": steps,
            "summary": "" if steps else self._untraced_sentence(),
        }

    def _setting_of(self, check):
        """Setting that a check reads, for users who may change it, else None.

        :return: ``{"path", "changed_by", "changed_at"}``: its page, and its last change if that is recorded
        """
        turn, tool = self.turn_id, self.tool_id
        if check == "assistant" or (self.records and check in explanation.BY_TOOL):
            settings, path = turn.assistant_id, f"/odoo/ai-assistants/{turn.assistant_id.id}"
        elif check == "rule" and tool:
            settings = self.env["woow_paas_platform.approval_rule"]
            if settings.has_access("write"):
                settings = settings._records_of(tool, turn.assistant_id)
            path = f"/odoo/mcp-tools/{tool.id}"
        elif check in explanation.BY_PERSON and tool:
            settings = self.env["woow_paas_platform.person_rule"]._rules_for(tool, turn.user_id)
            path = "/odoo/tool-rules"
        elif check in explanation.BY_TOOL and tool:
            path = tool._manage_path(self.env.user)
            return path and {"path": path, **tool._last_change(explanation.BY_TOOL[check])}
        else:
            return None
        if not settings or not settings.with_user(self.env.uid).has_access("write"):
            return None
        last = max(settings, key=lambda setting: setting.write_date)
        return {
            "path": path,
            "changed_by": last.write_uid.display_name,
            "changed_at": utc(last.write_date),
        }

    def _said_of(self, sentences_by_name, name):
        return sentences.translated(self.env, sentences_by_name.get(name, name))

    def _untraced_sentence(self):
        _ = self.env._
        if self.outcome in ("unknown_tool", "invalid_args"):
            return _("The call was refused before anything was decided: see its result.")
        if self.outcome:
            return _("No decision is recorded for this call.")
        return _("Nothing has been decided yet.")

    def _tainted_sentence(self):
        if source := self._foreign_sources(limit=1, with_own_round=True):
            origin = source._foreign_label()
        elif turn := self._turn_with_unreviewed():
            origin = turn._unreviewed_label(self.server_id)
        elif self._is_told_by_owner():
            origin = self.env._("instructions of the service's owner")
        else:
            origin = self.env._("earlier in this conversation")
        return self.env._(
            "The assistant has read text that others may have written (%(origin)s). Allow this call only if it is "
            "what you want.",
            origin=origin,
        )

    def _foreign_label(self):
        """Label of the result that brought foreign words into the conversation, for the person."""
        self.ensure_one()
        name = text.one_line(self.title or self.tool_name, LABEL_CHARS)
        if not self.server_name:
            return name
        server = text.one_line(self.server_name, LABEL_CHARS)
        return self.env._("%(tool)s of %(server)s", tool=name, server=server)

    def _foreign_values(self):
        """Values of the call that stand in what was read and that the person did not write."""
        sources = self._foreign_sources(limit=MAX_SOURCES, with_own_round=True)
        if sources._name != self._name:
            return []
        words = [call.llm_text or "" for call in sources]
        said = self.turn_id._said()
        found = taint.values_from(self.arguments or {}, words)
        own = [value for value in found if not taint.is_said({"": value}, said, {})]
        return [text.one_line(value, VALUE_CHARS) for value in own[:MAX_VALUES]]

    # ------------------------------------------------------------ calls on Odoo's own records

    def _record_tool(self):
        """The `RecordTool` of the call, None if it is no such call."""
        return catalog.TOOLS.get(self.tool_name) if self.records else None

    def _record_line(self):
        """`services.records.catalog.Access` of the assistant to the model of the call, or None."""
        return self.turn_id._record_access().get((self.arguments or {}).get("model"))

    def _effect_on_records(self):
        """``read`` or ``write`` of a call on records of this database, ``""`` of any other."""
        return self.records or ""

    def _changes_before(self):
        """Calls of the same answer that change records before this one."""
        return self._changes_of_answer().filtered(lambda one: one.id < self.id)

    def _changes_after(self):
        """Changes behind it, which may wait."""
        return self._changes_of_answer().filtered(lambda one: one.id > self.id)

    def _changes_of_answer(self):
        own = [
            ("turn_id", "=", self.turn_id.id),
            ("round", "=", self.round),
            ("records", "=", "write"),
        ]
        return self.search(own, order="id")

    def _only_prints(self):
        """True for a standard action that changes nothing; whoever makes it looks whether that is so."""
        action, line = (self.arguments or {}).get("action"), self._record_line()
        is_action = self._record_tool() == catalog.TOOLS["run_action"]
        return is_action and line is not None and action in READS and line.actions.get(action) == 0

    def _rehearsal_shown(self, reader):
        """Changes of this database's records that the call would make, None of any other call.

        :param reader: `res.users`; sees what was shown ``before``, too, if all of it is the reader's to read
        """
        found = self.rehearsal
        if not self.records or not found:
            return None
        if "impossible" in found:
            shown = {"impossible": self._impossible_sentence(found["impossible"])}
        else:
            shown = found["shown"]
        before = found.get("before")
        if before and (reader == self.turn_id.user_id or _reads_all(reader, before)):
            return {**shown, "before": before}
        return shown

    def _is_shown_to(self, user):
        """True for a user who may read all records and fields that the rehearsal shows."""
        self.ensure_one()
        found = self.rehearsal or {}
        return _reads_all(user, [found[part] for part in ("shown", "further") if part in found])

    def _review_hash(self):
        """Hash of what the question shows, empty where that cannot change."""
        if not self.records or not self.rehearsal:
            return ""
        return hashlib.sha256(json.dumps(self.rehearsal, sort_keys=True).encode()).hexdigest()

    def _is_as_shown(self, shown):
        """True if a decision is one on what is asked now.

        :param shown: ``{call id: review_hash}``, None for a decision that does not say it: it counts where the
            person was asked once
        """
        if shown is None:
            return not (self.rehearsal or {}).get("again")
        return shown.get(self.call_id) == self._review_hash()

    def _impossible_sentence(self, refused):
        """:param refused: what a rehearsal does not let happen, see `tools/rehearsal.py`; may be empty"""
        _ = self.env._
        if not refused:
            return _("What this changes cannot be shown in advance.")
        said = {
            "the network": _("the network"),
            "another program": _("another program"),
            "another thread": _("another thread"),
            "a commit of its own": _("a commit of its own"),
            "a transaction of its own": _("a transaction of its own"),
        }.get(refused, refused)
        return _("What this changes cannot be shown in advance: it needs %(what)s.", what=said)

    def _further_changes(self):
        """Records of a rehearsal for which its question has no room, see `Changes.further`."""
        return (self.rehearsal or {}).get("further") or []

    # ------------------------------------------------------------ questions of servers during the call

    def _suspend(self, wanted):
        """The call ended with questions, or with the need to sign in: ask, once; a call that is not in flight has
        done so before.

        :param wanted: `services.errors.ElicitationRequired` or `SignInRequired`
        :return: empty, or why nobody can be asked
        """
        self.ensure_one()
        if not self.started_at:
            return ""
        if isinstance(wanted, SignInRequired):
            return self._ask_to_sign_in(wanted)
        return self._ask_questions(wanted)

    def _ask_questions(self, wanted):
        if not self.turn_id._is_private():
            return NOBODY_TO_ANSWER
        if self.ask_round >= elicitation.MAX_ROUNDS:
            return ASKS_FOR_EVER
        # Not in flight any more: the server has ended the request and holds nothing.
        self.write({"ask_round": self.ask_round + 1, "started_at": False, "started_epoch": False})
        self._put_questions(wanted)
        return ""

    def _ask_to_sign_in(self, wanted):
        """The turn waits for the sign-in, and goes on by itself."""
        if not self.turn_id._is_private():
            return NOBODY_TO_SIGN_IN
        if not self.server_id:
            return REMOVED
        if not self.server_id._can_sign_in(self.turn_id.user_id):
            return BY_A_MANAGER
        link = elicitation.ElicitRequest(message="", url=f"{START}/{self.server_id.id}")
        question = ElicitationRequired(questions={"sign_in": link}, more=None)
        if refused := self._ask_questions(question):
            return refused
        asked = self.question_ids.filtered(lambda question: question.ask_round == self.ask_round)
        asked.write({"kind": "sign_in", "host": urlsplit(wanted.url).netloc})
        return ""

    def _put_questions(self, wanted):
        self.ask_state = text.storable({"more": wanted.more and dict(wanted.more)})
        for key, asked in wanted.questions.items():
            self._put_question(asked, key=key)

    def _put_question(self, asked, **values):
        """:param asked: `services.mcp.session.elicitation.ElicitRequest`"""
        return self.question_ids.create(
            {
                "call_id": self.id,
                "ask_round": self.ask_round,
                "host": urlsplit(asked.url).netloc,
                **_question_vals(asked),
                **values,
            }
        )

    def _hold(self, asked, seconds):
        """A server waits in its session for the answer. What is open already is not asked a second time.

        :return: the question, or an empty recordset when nobody can be asked
        """
        self.ensure_one()
        held = self.question_ids.filtered("is_held")
        vals = _question_vals(asked)
        for question in held.filtered(lambda question: not question.action):
            if all((question[name] or "") == (vals[name] or "") for name in vals):
                return question
        if not self.turn_id._is_private() or len(held) >= elicitation.MAX_ROUNDS:
            return held.browse()
        self.turn_id._tell_decisions()
        expires_at = fields.Datetime.now() + timedelta(seconds=seconds)
        return self._put_question(asked, is_held=True, expires_at=expires_at)

    def _question_verdict(self):
        """Verdict on a call that had ended with questions; None if it had none."""
        self.ensure_one()
        asked = self.question_ids.filtered(
            lambda question: not question.is_held and question.ask_round == self.ask_round
        )
        if not asked:
            return None
        return self._verdict_of(asked)

    def _verdict_of(self, asked):
        if not all(question.action for question in asked):
            return Verdict(kind="ask")  # its runner went before the turn could wait
        more = (self.ask_state or {}).get("more")
        if more is None:
            is_done = all(question.action == "accept" for question in asked)
            return None if is_done else Verdict(kind="deny", reason=DECLINED)
        wanted = ElicitationRequired(
            questions={question.key: question._as_request() for question in asked}, more=more
        )
        answers = {question.key: question._as_answer() for question in asked}
        return Verdict(kind="run", resume=elicitation.retry_params(wanted, answers))

    # ------------------------------------------------------------ approval: calls of MCP clients

    # A client that asks nobody makes the same call once more, after its user has decided on a page of Odoo.

    @api.model
    def _undone_for_client(self):
        """Calls of the current user's MCP clients that were asked about and not made; the newest first."""
        since = fields.Datetime.now() - CLIENT_WAIT
        return self.search_fetch(
            [
                ("user_id", "=", self.env.uid),
                ("turn_id", "=", False),
                ("approval", "in", ("pending", "approved", "denied")),
                ("started_at", "=", False),
                "|",
                ("decided_at", ">", since),
                "&",
                ("approval", "=", "pending"),
                ("create_date", ">", since),
                "|",
                ("approval", "=", "denied"),
                ("outcome", "=", False),
            ],
            ["approval", "call_id", "create_date", "turn_id"],  # arguments may be long
            order="id desc",
        )

    @api.model
    def _waiting_for_client(self):
        """Calls of the current user's MCP clients that wait for a decision."""
        return self._undone_for_client().filtered(lambda call: call.approval == "pending")

    @api.model
    def _asked_for_client(self, tool, arguments, columns):
        """The same call, asked about before; empty if it was not, has been made since, or the tool has changed.

        :param columns: `client_name` and `gateway_id` of the client that asks
        """
        definition = tool._pinned()
        found = self._undone_for_client().filtered(
            lambda call: (
                call._is_same_call(tool, arguments)
                and call.definition == definition
                and (call.client_name, call.gateway_id.id)
                == (columns["client_name"], columns["gateway_id"])
            )
        )[:1]
        if found.approval == "approved" and found._is_used_up():
            said = sentences.translated(self.env, MADE_SINCE)
            # sudo: tool_call - people have no write access; the call is the current user's own
            found.sudo()._end_direct(CallResult(outcome="cancelled", text=said, display=said))
            return self.browse()
        return found

    def _is_same_call(self, tool, arguments):
        """True if the tool and, type by type, the arguments are the same: 1 is neither 1.0 nor true."""
        own = json.dumps(self.arguments or {}, sort_keys=True)
        return self.tool_id == tool and own == json.dumps(arguments, sort_keys=True)

    def _is_used_up(self):
        """True if the permission has counted for a call since: it was one for all, or nobody had to ask for a while."""
        if self.decision == "approve_always":  # what still holds of it was looked at before
            return True
        made = [
            ("user_id", "=", self.env.uid),
            ("turn_id", "=", False),
            ("tool_id", "=", self.tool_id.id),
            ("id", ">", self.id),
            ("started_at", ">=", self.decided_at),
        ]
        own = SQL(
            "SELECT COALESCE(arguments::text, '{}') FROM %s WHERE id = %s",
            SQL.identifier(self._table),
            self.id,
        )
        # In PostgreSQL, as there may be many with long arguments; its text of a number tells 1 from 1.0.
        same = Domain.custom(
            to_sql=lambda _model, alias, _query: SQL(
                "COALESCE(%s::text, '{}') = (%s)", SQL.identifier(alias, "arguments"), own
            )
        )
        return bool(self.search_count(Domain(made) & same, limit=1))

    @api.model
    def _values_to_ask(self, tool, arguments):
        """Columns of a call that its user is asked about.

        :raises Refusal: too many of this user wait
        """
        waiting = self._waiting_for_client()
        weights = [
            text.weight(one, MAX_WEIGHT_OF_CLIENTS)
            for one in [*waiting.mapped("arguments"), arguments]
        ]
        if len(waiting) >= MAX_OF_CLIENTS or sum(weights) > MAX_WEIGHT_OF_CLIENTS:
            raise Refusal(
                self.env._("Too many calls are waiting for the user's decision."), "too_many_calls"
            )
        decision = tool._direct_call_decision(arguments)
        self.env.user._bus_send(DECISIONS, {})
        return {
            "started_at": False,
            "definition": tool._pinned(),
            "approval": "pending",
            "approval_reason": decision.reason,
            "approval_choices": [c for c in decision.choices if c != "approve_conversation"],
        }

    def _asked_assistant(self, name, arguments, gateway):
        """The same question of a client of the current user to an assistant, as long as its turn is open and for
        `CLIENT_WAIT` after its end, unless that was told; empty without one.

        :return: with sudo
        """
        ended_at = "asked_turn_id.ended_at"
        # sudo: tool_call - the current user's own
        open_ones = self.sudo().search(
            [
                *self._open_questions(),
                ("tool_name", "=", name),
                ("gateway_id", "=", gateway.id),
                "|",
                (ended_at, "=", False),
                (ended_at, ">", fields.Datetime.now() - CLIENT_WAIT),
            ],
            order="id desc",
        )
        return open_ones.filtered(lambda call: call.arguments == arguments)[:1]

    @api.model
    def _open_questions(self):
        return [*self._open_for_client(self.env.user), ("asked_turn_id", "!=", False)]

    @api.model
    def _open_for_client(self, user):
        """Domain of the calls of a user's MCP clients that are not over."""
        return [("user_id", "=", user.id), ("turn_id", "=", False), ("outcome", "=", False)]

    @api.model
    def _check_running_questions(self, limit):
        """:raises Refusal: clients of the current user wait for as many assistants as they may"""
        running = [
            *self._open_questions(),
            ("asked_turn_id.state", "in", ("queued", "running")),
        ]
        # sudo: tool_call - the current user's own, counted
        if self.sudo().search_count(running, limit=limit) >= limit:
            raise Refusal(
                self.env._(
                    "%(limit)s questions to assistants are being answered already. Wait for one of them.",
                    limit=limit,
                ),
                "too_many_calls",
            )

    def _decide_for_client(self, decision, reason=None):
        """Record the decision of the current user, whose call it is.

        :raises Refusal: with a subclass for what comes too late
        """
        self.ensure_one()
        if self not in self._waiting_for_client():
            raise TooLate(self.env._("This has already been decided or has expired."))
        if decision not in self.approval_choices:
            raise BadInput("This decision does not exist.")
        call = self.sudo()  # people have no write access; the call is the current user's own
        if decision != "deny" and call._is_outdated():
            raise TooLate(sentences.translated(self.env, DIFFERS))
        call._decide(decision, reason=reason)
        self.env.user._bus_send(DECISIONS, {})
        if decision == "deny":
            denial = sentences.translated(self.env, call._denial())
            call._end_direct(CallResult(outcome="denied", text=denial, display=denial))

    def _is_outdated(self):
        """True if the tool is no longer the one that was asked about."""
        tool = self.tool_id
        return bool(tool and self.definition and self.definition != tool._pinned())

    def _start_for_client(self):
        """Begin a call that was approved. Who begins the same one at the same time is run again, and asks anew."""
        # sudo: tool_call - people have no write access; the call is the current user's own
        self.sudo().started_at = fields.Datetime.now()

    def _question_for_client(self):
        """Question that a client shows; empty where only a page of Odoo asks: of a task, or of arguments for which
        there is no room."""
        arguments = json.dumps(self.arguments or {}, ensure_ascii=False)
        # sudo: tool_call - whether the current user's own call is a task
        if self.sudo().task or len(arguments) > MAX_QUESTION:
            return ""
        return self.env._(
            "Allow “%(tool)s” of “%(server)s”? %(reason)s Arguments: %(arguments)s",
            tool=text.visible(self.title or self.tool_name),
            server=text.visible(self.server_name or ""),
            reason=self._approval_sentence(),
            arguments=text.visible(arguments),
        )

    def _is_asked_by_client(self):
        """True if the client shows the question itself, and it waits for the answer."""
        return self.approval == "pending" and bool(self._question_for_client())

    def _client_data(self):
        """:return: list of questions for the page on which their user decides"""
        return [
            {
                "id": call.call_id,
                "client": call.client_name or "",
                "tool": call.title or call.tool_name,
                "server": call.server_name or "",
                "args": call.arguments or {},
                "reason": call._approval_sentence(),
                # sudo: mcp_tool - what the tool says of itself, told its caller
                "destructive": hints.read(call.sudo()._annotations()).says_destructive,
                "choices": call.approval_choices,
                "asked_at": utc(call.create_date),
                "expires_at": utc(call.create_date + CLIENT_WAIT),
            }
            for call in self
        ]

    @api.model
    def _where_to_decide(self):
        return self.env._(
            "This call needs the user's approval. The user can allow or deny it on this page: %(page)s "
            "Once it is allowed, make the same call again within an hour.",
            page=self._decisions_page(),
        )

    @api.model
    def _decisions_page(self):
        """Address of the page on which a client's user decides."""
        return self.env["ir.http"]._woow_base() + "/my/ai/decisions"

    @api.model
    def _asked_about(self, state, tool, arguments, client):
        """The very call of the current user and client that waits for answers.

        :param state: as the client was told it, not checked
        """
        call_id, _, ask_round = state.partition(".")
        found = self._of_client(call_id, client).filtered(
            lambda call: call._is_same_call(tool, arguments)
        )
        if ask_round:
            return found.filtered(lambda call: call._state_for_client() == state)
        return found & self._undone_for_client()

    @api.model
    def _of_client(self, call_id, client):
        """Call of this id, if it is a direct one of the current user and client; it has system rights.

        :param client: name by its sign-in, False for a key
        """
        # sudo: tool_call - people have no write access, nor clients what is kept for them; the call is the caller's own
        return self.sudo().search(
            [
                ("call_id", "=", call_id),
                ("user_id", "=", self.env.uid),
                ("turn_id", "=", False),
                ("client_name", "=", client or False),
                ("create_date", ">", fields.Datetime.now() - TASK_TTL),
            ]
        )

    # ------------------------------------------------------------ questions of servers: calls of MCP clients

    def _ask_client(self, wanted, shows, run=None):
        """Let the client pass the questions of a server on to its user.

        :param wanted: an `ElicitationRequired`
        :param shows: kinds of questions that the client shows
        :param run: names what of a task's call has ended with them, so that they are asked once
        :return: False where it cannot, or too much of this user waits
        """
        self.ensure_one()
        if run and (self.task or {}).get("asked") == run:
            return True
        waiting = [*self._open_for_client(self.user_id), ("ask_state", "!=", False)]
        if (
            self.outcome
            or not questions.can_be_shown(wanted.questions, shows)
            or self.ask_round >= elicitation.MAX_ROUNDS
            or text.weight(wanted.more, MAX_STATE) >= MAX_STATE
            or self.search_count(waiting, limit=MAX_OF_CLIENTS) >= MAX_OF_CLIENTS
        ):
            return False
        asked = {
            key: {"message": one.message, "schema": dict(one.schema), "url": one.url}
            for key, one in wanted.questions.items()
        }
        more = None if wanted.more is None else dict(wanted.more)
        self.ask_round += 1
        self.ask_state = text.storable({"questions": asked, "more": more})
        if self.tool_id and not self.definition:
            self.definition = self.tool_id._pinned()
        if run and self.task:
            self.task = {**self.task, "asked": run}
        return True

    def _state_for_client(self):
        """Opaque name of the call and its round of questions; empty where it does not ask."""
        asks = not self.outcome and "questions" in (self.ask_state or {})
        return f"{self.call_id}.{self.ask_round}" if asks else ""

    def _questions_for_client(self):
        """`services.gateway.questions.Asked` of the questions that are open."""
        answered = self._kept_answers()
        asked = {key: one for key, one in self._asked_of_client().items() if key not in answered}
        return questions.Asked(self._state_for_client(), asked, self.server_name or "")

    def _asked_of_client(self):
        asked = (self.ask_state or {}).get("questions") or {}
        return {key: elicitation.ElicitRequest(**one) for key, one in asked.items()}

    def _kept_answers(self):
        """Answers so far, where they come one by one."""
        try:
            kept = vault.decrypt((self.ask_state or {}).get("answers", ""))
        except SecretUnreadable:  # then they are asked for again
            return {}
        found = json.loads(kept) if kept else {}
        return {key: elicitation.ElicitResult(**one) for key, one in found.items()}

    def _answer_for_client(self, responses):
        """Take answers of the user; what does not fit its question is asked again.

        :param responses: by the keys of the questions, not checked
        :return: params with which the call goes on, None as long as there are open questions or where it ends
        """
        self.ensure_one()
        asked, known = self._asked_of_client(), self._kept_answers()
        known |= questions.fitting({key: asked[key] for key in asked.keys() - known}, responses)
        if len(known) < len(asked):
            told = {
                key: {"action": one.action, "content": dict(one.content)}
                for key, one in known.items()
            }
            if told:
                kept = vault.encrypt(json.dumps(told))
                self.ask_state = {**self.ask_state, "answers": kept}
            return None
        more, self.ask_state = self.ask_state["more"], False
        if more is None and any(one.action != "accept" for one in known.values()):
            said = sentences.translated(self.env, DECLINED)
            self._end_direct(CallResult(outcome="denied", text=said, display=said))
            return None
        wanted = ElicitationRequired(questions=asked, more=more)
        return elicitation.retry_params(wanted, known) if more is not None else {}

    def _hold_for_client(self, key):
        """A server waits for the answer to a question that a legacy client shows its user.

        :param key: of the question
        """
        self.ask_state = {"held": key}

    def _take_for_client(self, key, result):
        """Keep an answer for the process whose server waits for it.

        :param key: of the question, not checked
        :param result: MCP's ``ElicitResult``, not checked
        :return: False where nobody waits
        """
        state = self.ask_state or {}
        if self.outcome or state.get("held") != key or "answers" in state:
            return False
        kept = vault.encrypt(json.dumps({"": result}))
        self.ask_state = {**state, "answers": kept}
        return True

    def _answer_held(self, key, question):
        """Answer to the question that a server waits with, None until there is one.

        :param key: of the question
        :param question: a `services.mcp.session.elicitation.ElicitRequest`
        """
        state = self.ask_state or {}
        if self.outcome or state.get("held") != key or "answers" not in state:
            return None
        told = json.loads(vault.decrypt(state["answers"]))
        found = questions.fitting({"": question}, told)
        return found.get("") or elicitation.ElicitResult(action="cancel")

    def _forget_held(self, key):
        """Forget the answer, which the server has by now."""
        if (self.ask_state or {}).get("held") == key:
            self.ask_state = False

    # ------------------------------------------------------------ tasks of MCP clients

    @api.model
    def _task_of_client(self, call_id, client):
        """Task of the current user and client, see `_of_client`."""
        return self._of_client(call_id, client).filtered("task")

    def _make_task(self, server="", shows=(), resumes=()):
        """Keep the result for a client that comes back for it.

        :param server: of `services.gateway.uris.address`
        :param shows: kinds of questions that the client shows
        :param resumes: of `services.gateway.stream.Stream`, for a client that resumes a stream
        :return: False where too many tasks of this user are not over
        """
        self.ensure_one()
        if not self.task:
            open_tasks = [*self._open_for_client(self.user_id), ("task", "!=", False)]
            if self.search_count(open_tasks, limit=MAX_TASKS) >= MAX_TASKS:
                return False
            companies = self.env.context.get("allowed_company_ids", [])
            self.task = {
                "server": server,
                "shows": sorted(shows),
                "resumes": list(resumes),
                "companies": list(companies),
            }
        return True

    def _keep_alive(self):
        """Note that the process that makes the call of a task still does; the state of the task stays as it is.

        :return: False where it is over
        """
        self.env.cr.execute(
            """
            UPDATE woow_paas_platform_tool_call
               SET task = jsonb_set(task, '{alive}', to_jsonb(extract(epoch FROM now())))
             WHERE id = ANY(%s) AND outcome IS NULL AND task IS NOT NULL
            """,
            [self.ids],
        )
        self.invalidate_recordset(["task"])
        return bool(self.filtered(lambda call: not call.outcome))

    def _message_for_client(self):
        """Answer to the request of a client that resumes its stream; None until it is over, or where there is none."""
        self.ensure_one()
        request_id, version = (self.task or {}).get("resumes") or (None, "")
        if not self.outcome or request_id is None:
            return None
        _status, more = self._state_of_task()
        said = sentences.translated(self.env, self.llm_text or RESULT_PRUNED)
        result = more.get("result") or results.failed(said, self.outcome)
        return jsonrpc.result(request_id, results.for_version(result, version))

    def _as_task(self):
        """The task as its client is told it."""
        self.ensure_one()
        self.flush_recordset()  # which sets the moment of the last change
        status, more = self._state_of_task()
        return Task(
            id=self.call_id,
            status=status,
            created_at=utc(self.create_date),
            updated_at=utc(self.write_date),
            ttl=int(TASK_TTL.total_seconds() * 1000),
            **more,
        )

    def _state_of_task(self):
        """:return: status, and what it has beside it"""
        if not self.outcome:
            if self.approval == "pending":
                said = self.env._(
                    "The call waits until the user has allowed it on this page: %(page)s",
                    page=self._decisions_page(),
                )
                return "input_required", {"message": said}
            if self._state_for_client():
                asked = self._questions_for_client()
                return "input_required", {
                    "requests": questions.requests(asked.questions, asked.server)
                }
            return "working", {}
        if self.outcome == "cancelled":
            return "cancelled", {}
        if "result" in self.task:
            return "completed", {"result": self.task["result"]}
        if "error" in self.task:
            return "failed", {"error": self.task["error"]}
        said = sentences.translated(self.env, self.llm_text or RESULT_PRUNED)
        if self.outcome == "unknown" or self.result_pruned:
            code = "result_pruned" if self.result_pruned else "unknown"
            return "failed", {
                "error": {"code": jsonrpc.INTERNAL_ERROR, "message": said, "data": {"code": code}}
            }
        return "completed", {"result": results.failed(said, self.outcome)}

    def _cancel_for_client(self):
        """End a task that its client no longer wants; one that is over stays as it is."""
        self.ensure_one()
        if self.outcome:
            return
        if self.approval == "pending":
            self.approval = "cancelled"
            self.env.user._bus_send(DECISIONS, {})
        said = self.env._("The MCP client cancelled this call.")
        self._end_direct(CallResult(outcome="cancelled", text=said, display=said))

    def _end_task(self, executed):
        """Record what became of a task, once, and keep it for the client.

        :param executed: `services.specs.Executed`
        """
        self.ensure_one()
        if self.outcome:
            return
        error = executed.error
        if executed.raw is not None:
            kept = {"result": results.of_tool(executed.raw, self.task["server"])}
        else:
            said = str(sentences.shown(self._reader_language(), executed.result.text))
            data = {"code": getattr(error, "code", executed.result.outcome)}
            code = getattr(error, "rpc_code", None) or jsonrpc.INTERNAL_ERROR
            kept = {"error": {"code": code, "message": said, "data": data}}
        self._end_direct(executed.result)
        size = text.weight(kept, const.WIRE_CAP)
        if size > SMALL:
            if not self._make_room(size):
                kept = {"result": results.failed(self.llm_text or "", "too_large")}
                size = len(self.llm_text or "")
            self.kept_bytes += size
        self.task = {**self.task, **text.storable(kept)}

    # ------------------------------------------------------------ result

    def _end_direct(self, result, source=None):
        """Record what became of a direct call, once.

        :param result: as `source` see `_vals_of_result`
        """
        self.filtered(lambda call: not call.outcome).write(self._vals_of_result(result, source))

    def _reader_language(self):
        return self.turn_id._language() if self.turn_id else self.env.lang

    def _vals_of_result(self, result, source=None):
        """The columns of a call that is over. Of a result that its person has no room for, what the model reads is
        kept.

        :param result: `services.specs.CallResult`
        :param source: see `_taint_of_result`
        """
        vals = _columns_of_result(result, self._reader_language())
        vals["taint"] = self._taint_of_result(result.text, source)
        size = vals["kept_bytes"]
        if size and not self._make_room(size):
            vals |= {"result": vals["llm_text"], "whole_text": False, "truncated": True}
            vals["kept_bytes"] = 2 * len(vals["llm_text"])
        return vals

    def _make_room(self, size):
        """Forget the person's oldest results of turns that are over, and these turns' events, where all together would
        take more than a person's files may.

        :return: whether there is room for so many bytes
        """
        share = limits.get(self.env, "max_file_megabytes_per_person") * MEGABYTE
        query = """
            SELECT COALESCE(SUM(kept_bytes), 0) FROM woow_paas_platform_tool_call
             WHERE user_id = %s AND kept_bytes > 0
            """
        self.env.cr.execute(query, [self.user_id.id])
        missing = self.env.cr.fetchone()[0] + size - share
        if missing <= 0:
            return True
        self.env.cr.execute(
            """
            SELECT id, kept_bytes FROM (
                SELECT call.id, call.kept_bytes,
                       SUM(call.kept_bytes) OVER (ORDER BY call.id) - call.kept_bytes AS before
                  FROM woow_paas_platform_tool_call call
             LEFT JOIN woow_paas_platform_ai_turn turn ON turn.id = call.turn_id
                 WHERE call.user_id = %s AND call.kept_bytes > 0
                   AND (call.turn_id IS NULL OR turn.ended_at IS NOT NULL)) AS old
             WHERE before < %s
            """,
            [self.user_id.id, max(missing, share // SLACK)],
        )
        found = dict(self.env.cr.fetchall())
        old = self.browse(found)
        old.turn_id._forget_events()
        old._forget_results()
        return sum(found.values()) >= missing

    def _keep_files(self, files):
        """Keep what the tool sent, as far as its turn and its person have room for it.

        :return: `ir.attachment` records
        """
        before = self.turn_id.call_ids.attachment_ids
        kept = fitting_files(
            files,
            MAX_TURN_FILES - len(before),
            MAX_TURN_BYTES - sum(before.mapped("file_size")),
        )
        attachments = self.turn_id.channel_id._keep_files(kept)
        if len(attachments) < len(files):
            _logger.info(
                "Call %s: no room for %s files.", self.call_id, len(files) - len(attachments)
            )
        return attachments

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
            sentence = _lt("There is no result with this id in this conversation.")
            return CallResult(outcome="invalid_args", text=sentence, display=sentence)
        if source.result_pruned:
            return CallResult(outcome="error", text=RESULT_PRUNED, display=RESULT_PRUNED)
        whole = source.whole_text or source.llm_text or ""
        return read_result.part(whole, source.call_id, given.get("start"))

    def _is_remember(self):
        """True for a call of `remember`: a server's or a toolbox's tool of this name is another one."""
        is_others = self.server_name or self.records or self.tool_id or self.operation_id
        return self.tool_name == remember.NAME and not is_others

    def _begin_remember(self, origin):
        """Ask the person about a fact; once it is allowed, keep it in the transaction that answers the call.

        :param origin: as `_may_start` takes it
        :return: a `Verdict`
        """
        verdict = self._may_start(origin)
        if verdict.kind != "run":
            return verdict
        self.started_at = fields.Datetime.now()
        words = (self.arguments or {}).get("text")
        if self.env[MEMORY]._keep(self.turn_id, words if isinstance(words, str) else ""):
            sentence, outcome = _lt("This is remembered from now on."), "ok"
        else:
            sentence, outcome = _lt("There is nothing to remember."), "invalid_args"
        result = CallResult(outcome=outcome, text=sentence, display=sentence)
        if self.is_changed:
            result = approval.told_of_change(result, self.arguments)
        return Verdict(kind="answered", result=result)

    # ------------------------------------------------------------ retention

    def _forget_results(self):
        """The rows stay. Models are told results out of transcripts, also by the turns that retry these."""
        self.env.cr.execute(
            """
            UPDATE woow_paas_platform_tool_call
               SET result = NULL, llm_text = NULL, whole_text = NULL, rehearsal = NULL,
                   task = CASE WHEN task IS NOT NULL THEN '{"server": ""}'::jsonb END,
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
        """Direct calls whose process died: no server may take longer than its limit. Those that were asked about and
        never made are over, too.

        All moments but the end of a turn are PostgreSQL's: the clock of the host that calls may be another one.
        """
        self.env.cr.execute(
            """
            UPDATE woow_paas_platform_tool_call
               SET outcome = 'unknown', llm_text = %(text)s, ask_state = NULL,
                   write_date = now() AT TIME ZONE 'UTC'
             WHERE turn_id IS NULL AND outcome IS NULL
               AND (ask_state IS NULL OR ask_state ? 'held')
               AND (approval IS NULL OR started_at IS NOT NULL)
               AND CASE WHEN asked_turn_id IS NOT NULL
                        THEN EXISTS (
                             SELECT 1 FROM woow_paas_platform_ai_turn t
                              WHERE t.id = asked_turn_id AND t.ended_at < now() AT TIME ZONE 'UTC' - %(wait)s)
                        ELSE write_date < now() AT TIME ZONE 'UTC'
                           - CASE WHEN task ? 'alive' THEN %(silence)s ELSE interval '15 minutes' END END
               AND ((task ? 'alive') IS NOT TRUE
                    OR to_timestamp((task ->> 'alive')::float) < now() - %(silence)s)
            """,
            {"text": NOT_FINISHED, "silence": TASK_SILENCE, "wait": CLIENT_WAIT},
        )
        self.env.cr.execute(
            """
            UPDATE woow_paas_platform_tool_call
               SET outcome = 'cancelled', ask_state = NULL, llm_text = %s,
                   write_date = now() AT TIME ZONE 'UTC'
             WHERE turn_id IS NULL AND outcome IS NULL AND ask_state ? 'questions'
               AND write_date < now() AT TIME ZONE 'UTC' - %s
            """,
            [NOT_ANSWERED, CLIENT_WAIT],
        )
        self.env.cr.execute(
            """
            UPDATE woow_paas_platform_tool_call SET task = NULL
             WHERE task IS NOT NULL AND outcome IS NOT NULL
               AND create_date < now() AT TIME ZONE 'UTC' - %s
            """,
            [TASK_TTL],
        )
        self.env.cr.execute(
            """
            UPDATE woow_paas_platform_tool_call
               SET outcome = CASE approval WHEN 'pending' THEN 'denied' ELSE 'cancelled' END,
                   approval = CASE approval WHEN 'pending' THEN 'expired' ELSE approval END,
                   llm_text = CASE approval WHEN 'pending' THEN %s ELSE %s END,
                   write_date = now() AT TIME ZONE 'UTC'
             WHERE turn_id IS NULL AND outcome IS NULL
               AND approval IS NOT NULL AND started_at IS NULL
               AND write_date < now() AT TIME ZONE 'UTC' - %s
            """,
            [NOT_DECIDED, NOT_MADE_AGAIN, CLIENT_WAIT],
        )
        self.invalidate_model()

    # ------------------------------------------------------------ events, API and views

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
        result = self.result
        if result is False:  # the call was closed by who did not run it
            result = sentences.in_language(self._reader_language(), self.llm_text or "")
        return events.tool_result(
            self.call_id,
            tool=self.tool_name,
            result=result,
            outcome=self.outcome,
            is_error=self.outcome != "ok",
            duration_ms=self.duration_ms,
            truncated=self.truncated,
            attachments=files._ai_file_data(),
            arguments=self._changed_arguments(),
        )

    def _changed_records(self, user):
        """Records that these calls have changed and a user may read, in their order, each once."""
        found = {}
        for call in self.filtered(lambda call: call.records == "write" and call.outcome == "ok"):
            told = call.result.get("records") if isinstance(call.result, dict) else None
            for row in (told or {}).get("rows") or ():
                record = readable(user, told.get("model"), row.get("id"))
                if record is not None:
                    found[record] = None
        return list(found)

    def _api_format(self):
        """One entry of a message's ``turn.tool_calls``, see docs/api.md."""
        event = self._result_event()
        data = {
            **{key: event[key] for key in event if key != "type"},
            "title": self.title or self.tool_name,
            "server": self.server_name or "",
            "args": self.arguments or {},
            "fixed": self.fixed or [],
            "round": self.round,
            "max_rounds": self._max_rounds(),
        }
        if self.approval:
            data["approval"] = {
                "state": self.approval,
                "decision": self.decision or None,
                "reason": self.decision_reason or "",
                "by": self.decided_by_id.name or "",
                "at": utc(self.decided_at),
            }
        # sudo: call_question - readable like its call; who answered may be hidden from the reader
        if questions := self.sudo().question_ids:
            data["questions"] = [question._api_format() for question in questions]
        if self.records:
            data["records"] = self.records
        return data

    def _card(self):
        """Card of the call in Discuss: no arguments and no result."""
        self.ensure_one()
        return {
            "id": self.call_id,
            "tool": self.tool_name,
            "title": self.title or self.tool_name,
            "server": self.server_name or "",
            "outcome": self.outcome or None,
            "duration_ms": self.duration_ms,
            "round": self.round,
        }

    def _max_rounds(self):
        # sudo: ai.assistant - one number, of the assistant that the caller has talked to
        return self.sudo().turn_id.assistant_id.max_rounds

    @api.model
    def _fields_to_filter(self):
        return super()._fields_to_filter() | {
            "action_id",
            "approval",
            "assistant_id",
            "bytes",
            "create_date",
            "decided_at",
            "decided_by_id",
            "decision",
            "duration_ms",
            "is_changed",
            "operation_id",
            "outcome",
            "records",
            "round",
            "server_id",
            "server_name",
            "started_at",
            "title",
            "tokens",
            "tool_id",
            "tool_name",
            "turn_id",
            "user_id",
        }


def _dig(data, path):
    for key in path:
        data = data.get(key) if isinstance(data, dict) else None
    return data


def _question_vals(asked):
    """The columns of what a server asks."""
    return {
        "kind": "url" if asked.url else "form",
        "message": text.storable(asked.message),
        "schema": text.storable(dict(asked.schema)),
        "url": asked.url,
    }


def _reads_all(user, told):
    """True for a user who may read all records and fields in a rehearsal, or in a part of one."""
    everywhere = user.with_context(allowed_company_ids=user.company_ids.ids)
    left = [told]
    while left:
        one = left.pop()
        if isinstance(one, list):
            left += one
        elif isinstance(one, dict):
            left += one.values()
            is_told = "model" in one and (
                "name" in one or "record" in one
            )  # itself, or a message on it
            if is_told and not _reads_change(everywhere, one):
                return False
            if one.get("kind") == "note" and not user._is_internal():
                return False
            # a message, of whose record nothing is known
            if "recipients" in one and "model" not in one:
                return False
    return True


def _reads_change(user, change):
    """True for a user who may read the record of a rehearsal's change, and its fields that are shown."""
    name, number = change["model"], change.get("id")
    if name not in user.env:
        return False
    model = user.env[name].with_user(user).sudo(False)
    told = (one["name"] for one in change.get("fields") or ())
    fields = [model._fields[field] for field in told if field in model._fields]
    return (
        model.has_access("read")
        and (not number or readable(user, name, number) is not None)
        and all(model._has_field_access(field, "read") for field in fields)
    )


def _columns_of_result(result, lang=None):
    """:param lang: in which sentences of the host are shown, None for English"""
    shown = sentences.shown(lang, result.display)
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


def _taint_of(source):
    """Value of the column `taint` for the source of a result."""
    return source if taint.SOURCES[source] else False


def end_small(cr, call_id, result, source):
    """Record what became of a direct call of a server, once, if it is small: `ToolCall._end_direct` in one statement.

    :param cr: a cursor of its own
    :param result: as `source` see `ToolCall._vals_of_result`
    :return: False if the result is too large for that, which is recorded nowhere then
    """
    vals = {**_columns_of_result(result), "taint": _taint_of(source) or None}
    if vals["kept_bytes"]:
        return False
    vals["result"] = Json(vals["result"]) if vals["result"] else None
    vals["whole_text"] = vals["whole_text"] or None
    pairs = (SQL("%s = %s", SQL.identifier(name), value) for name, value in vals.items())
    cr.execute(
        SQL(
            """
            UPDATE woow_paas_platform_tool_call
               SET %s, write_date = now() AT TIME ZONE 'UTC'
             WHERE call_id = %s AND outcome IS NULL
            """,
            SQL(", ").join(pairs),
            call_id,
        )
    )
    return True
