import ast
import json
from dataclasses import replace

from odoo import api, fields, models
from odoo.exceptions import AccessError, UserError, ValidationError

from ...services import text
from ...services.errors import EngineError
from ...services.records import deny_list
from ...services.replay import recordings
from ...services.replay.expectations import MAX_EXPECTATIONS, Expectation
from ...services.replay.replay import MAX_QUESTIONS, ReplaySpec
from ...services.sentence import _lt
from ...services.versions import exchange
from ...services.versions.exchange import Shape
from ...tools import db
from ...tools.refusals import Refusal
from ..mixins.exchange_mixin import found, shape_of, value_of
from ..turn.ai_turn import FINAL_STATES, PROMPT_CHARS

MAX_TESTS = 200  # of one assistant
NAME_CHARS = 80
BETWEEN = "---"  # line between two questions
RUBRIC_CHARS = 4_000
# What of the version's provider is used, whatever the provider is set to now; not its address.
PROVIDER = (
    "model",
    "temperature",
    "max_tokens",
    "tool_protocol",
    "supports_vision",
    "embedding_model",
)
# What decides which words and records of its user a test brings to light.
SENSITIVE = {
    "assistant_id",
    "user_id",
    "questions",
    "is_live",
    "expectation_ids",
    "recordings",
    "recordings_text",
}
RECORDING = {  # of a recorded result in a configuration file
    "tool": Shape("text", is_required=True),
    "arguments": Shape("text"),
    "outcome": Shape("choice", tuple(sorted(recordings.OUTCOMES))),
    "text": Shape("text"),
}

TEXT_CHARS = 2_000
JSON_CHARS = 8_000
DOMAIN_CHARS = 2_000
MAX_RECORDS = 1_000  # whose computed values are added up
STATEMENT_TIMEOUT = 10.0  # s of a statement that reads a value
NUMBERS = ("integer", "float", "monetary")
EXCHANGED = ("kind", "tool", "arguments", "text", "number", "domain", "field_name")


class AssistantTest(models.Model):
    """Test of an assistant: questions, the results that tools gave, and what is expected of the answer.

    It holds words of people, so only administrators see it. It runs with the rights of one user, who is its author
    unless an administrator of Odoo chose another.
    """

    _name = "woow_paas_platform.assistant_test"
    _description = "Assistant Test"
    _inherit = ["woow_paas_platform.filter.mixin", "woow_paas_platform.exchange.mixin"]
    _exchanged = (
        "name",
        "active",
        "sequence",
        "assistant_id",
        "questions",
        "is_live",
        "is_nightly",
        "judge_id",
        "rubric",
    )
    _order = "assistant_id, sequence, id"

    name = fields.Char(required=True)
    active = fields.Boolean(default=True)
    sequence = fields.Integer(default=10)
    assistant_id = fields.Many2one("ai.assistant", required=True, ondelete="cascade", index=True)
    questions = fields.Text(
        required=True,
        help="Asked one after the other in one conversation. A line with only --- stands between two questions.",
    )
    user_id = fields.Many2one(
        "res.users",
        "Rights Of",
        required=True,
        ondelete="cascade",
        copy=False,
        default=lambda self: self.env.user,
        help="The test asks as this user. Only an administrator of Odoo can choose another user than oneself.",
    )
    recordings = fields.Json(
        "Recorded Results",
        readonly=True,
        default=lambda _self: [],
        help="Tool, arguments, outcome and text of each result.",
    )
    recordings_text = fields.Text(
        "Recorded Results (JSON)",
        compute="_compute_recordings_text",
        inverse="_inverse_recordings_text",
        help="List of objects with tool, arguments, text and optionally outcome. A call gets the result that was "
        "recorded for the same tool and arguments.",
    )
    recording_count = fields.Integer("Recorded", compute="_compute_recordings_text")
    is_live = fields.Boolean(
        "Read Odoo Records",
        help="Calls that only read Odoo records, and of which no result is recorded, are made with the rights of the "
        "user. Nothing is changed, and no MCP server is called.",
    )
    expectation_ids = fields.One2many(
        "woow_paas_platform.test_expectation", "test_id", "Expectations", copy=True
    )
    judge_id = fields.Many2one(
        "ai.config",
        ondelete="set null",
        help="A provider whose model compares the answer with the rubric.",
    )
    rubric = fields.Text(help="What the judge looks for in the answer.")
    is_nightly = fields.Boolean(
        "Every Night", default=True, help="Run the test every night against the current version."
    )
    turn_id = fields.Many2one(
        "woow_paas_platform.ai_turn",
        "Made From",
        readonly=True,
        ondelete="set null",
        copy=False,
        index="btree_not_null",
    )
    asked_by_id = fields.Many2one(
        "res.users",
        readonly=True,
        ondelete="cascade",
        copy=True,
        index="btree_not_null",
        help="User whose questions the test holds, also after the conversation is deleted.",
    )
    uses_records = fields.Boolean(compute="_compute_uses_records", store=True)
    result_ids = fields.One2many(
        "woow_paas_platform.assistant_test_result", "test_id", "Results", readonly=True
    )
    last_state = fields.Selection(
        [("passed", "Passed"), ("failed", "Failed")], "Last Result", compute="_compute_last_state"
    )

    @api.model
    def _fields_to_filter(self):
        return {"name", "assistant_id", "user_id", "is_live", "is_nightly", "create_date", "active"}

    @api.depends("recordings")
    def _compute_recordings_text(self):
        for test in self:
            rows = test.recordings or []
            test.recording_count = len(rows)
            written = json.dumps(rows, indent=2, ensure_ascii=False)
            test.recordings_text = written if rows else False

    def _inverse_recordings_text(self):
        for test in self:
            written = (test.recordings_text or "").strip()
            try:
                rows = json.loads(written) if written else []
            except (ValueError, RecursionError):
                rows = None
            test._check_rows(rows)
            test.recordings = text.storable(rows)

    @api.depends("is_live", "expectation_ids.kind")
    def _compute_uses_records(self):
        for test in self:
            test.uses_records = test.is_live or "value" in test.expectation_ids.mapped("kind")

    def _compute_last_state(self):
        for test in self:
            # sudo: assistant_test_result - only whether the test passed, for who may read it
            ended = [("test_id", "=", test.id), ("state", "in", ("passed", "failed"))]
            last = test.result_ids.sudo().search(ended, order="id desc", limit=1)
            test.last_state = last.state

    # ------------------------------------------------------------ limits

    @api.constrains("assistant_id", "active")
    def _check_number(self):
        for assistant in self.assistant_id:
            if (
                self.search_count([("assistant_id", "=", assistant.id)], limit=MAX_TESTS + 1)
                > MAX_TESTS
            ):
                raise ValidationError(
                    self.env._("An assistant can have at most %(limit)s tests.", limit=MAX_TESTS)
                )

    @api.constrains("questions", "rubric", "judge_id")
    def _check_questions(self):
        for test in self:
            questions = test._questions()
            if not questions or len(questions) > MAX_QUESTIONS:
                raise ValidationError(
                    self.env._("A test has 1 to %(limit)s questions.", limit=MAX_QUESTIONS)
                )
            if any(len(question) > PROMPT_CHARS for question in questions):
                raise ValidationError(
                    self.env._(
                        "A question can have at most %(limit)s characters.", limit=PROMPT_CHARS
                    )
                )
            if len(test.rubric or "") > RUBRIC_CHARS:
                raise ValidationError(
                    self.env._(
                        "The rubric can have at most %(limit)s characters.", limit=RUBRIC_CHARS
                    )
                )
            if test.judge_id and not (test.rubric or "").strip():
                raise ValidationError(self.env._("Write a rubric for the judge."))

    @api.constrains("judge_id", "assistant_id")
    def _check_judge(self):
        """A judge reads the answers and costs something: it is shared, or of a company that the assistant's may use."""
        for test in self:
            if not test._may_ask_judge():
                raise ValidationError(
                    self.env._(
                        "The judge of “%(test)s” belongs to another company.", test=test.name
                    )
                )

    def _may_ask_judge(self):
        # sudo: ai.assistant, ai.config - whose they are, read to decide
        judge, company = self.sudo().judge_id, self.sudo().assistant_id.company_id
        return judge == judge.filtered_domain(judge._check_company_domain(company))

    @api.constrains("recordings")
    def _check_recordings(self):
        for test in self:
            test._check_rows(test.recordings or [])

    def _check_rows(self, rows):
        """:param rows: recorded results as JSON, None where they are none"""
        _found, problem = recordings.read(rows)
        if problem in ("too_many", "too_long"):
            raise ValidationError(
                self.env._(
                    "A test keeps at most %(count)s recorded results, of %(characters)s characters each.",
                    count=recordings.MAX_RESULTS,
                    characters=recordings.MAX_CHARS,
                )
            )
        if problem:
            raise ValidationError(
                self.env._(
                    "Recorded results are a JSON list of objects with “tool”, “arguments” and “text”."
                )
            )

    @api.constrains("user_id")
    def _check_user(self):
        for user in self.user_id:
            if not user.active or user._is_public() or user._is_superuser():
                raise ValidationError(
                    self.env._(
                        "Choose an active user whose rights the test has: neither the public user nor the system."
                    )
                )

    def _check_author(self):
        """Refuse what would show an administrator the records of somebody else.

        :raises AccessError: neither the test's user nor an administrator of Odoo
        """
        if self.env.su or self.env.user.has_group("base.group_system"):
            return
        if others := self.user_id - self.env.user:
            raise AccessError(
                self.env._(
                    "This test has the rights of %(user)s. Only this user or an administrator of Odoo can change it.",
                    user=others[0].name,
                )
            )

    @api.model_create_multi
    def create(self, vals_list):
        tests = super().create(vals_list)
        tests._check_author()
        return tests

    def write(self, vals):
        if is_sensitive := not SENSITIVE.isdisjoint(vals):
            self._check_author()
        result = super().write(vals)
        if is_sensitive:
            self._check_author()
        return result

    # ------------------------------------------------------------ from a conversation

    @api.model
    def _add_turn(self, turn):
        """Make a test of a turn: its questions, and the results that its tools gave.

        Of one's own conversation that is what led to the answer, too; of somebody else's only what was shared.

        :param turn: readable to the caller
        :raises UserError: not finished, not shared, or with files or records that a test cannot hold
        """
        turn.ensure_one()
        self.check_access("create")
        # sudo: ai_turn, answer_rating, tool_call - of a turn that is the caller's, or that its user has shared
        turn = turn.sudo()
        is_own = turn.user_id == self.env.user
        if not is_own and not turn.rating_ids.filtered("is_shared"):
            raise UserError(
                self.env._(
                    "Only answers of your own conversations, or those that their users have shared with a rating, can "
                    "become tests."
                )
            )
        if turn.state not in FINAL_STATES or turn.is_compact or not turn.assistant_id:
            raise UserError(
                self.env._("Only a complete answer of an existing assistant can become a test.")
            )
        turns = turn
        if is_own:  # in a thread, others have asked, too
            mine = turn._earlier_turns().filtered(
                lambda one: one.user_id == turn.user_id and one.assistant_id == turn.assistant_id
            )
            turns = mine[: MAX_QUESTIONS - 1][::-1] + turn
        if any(one.attachment_ids or one.mentions or not one.prompt for one in turns):
            raise UserError(
                self.env._(
                    "A test holds no files and no attached records, and this conversation has some."
                )
            )
        rows = [
            {
                "tool": call.tool_name,
                "arguments": call.asked_arguments or call.arguments or {},
                "outcome": call.outcome,
                "text": call.llm_text or "",
            }
            for one in turns
            for call in one._calls_with_taken_over()
            if call.outcome and not call.result_pruned
        ]
        return self.create(
            {
                "name": text.one_line(turn.prompt, NAME_CHARS),
                "assistant_id": turn.assistant_id.id,
                "questions": f"\n{BETWEEN}\n".join(one.prompt for one in turns),
                "recordings": text.storable(recordings.fitting(rows)),
                "expectation_ids": [
                    fields.Command.create({"kind": "called", "tool": name})
                    for name in list(dict.fromkeys(row["tool"] for row in rows))[:5]
                ],
                "turn_id": turn.id,
                "asked_by_id": turn.user_id.id,
            }
        )

    # ------------------------------------------------------------ in a configuration file, without its user

    @api.model
    def _exchange_shapes(self):
        lines = self.env["woow_paas_platform.test_expectation"]._exchange_shapes()
        return {
            **super()._exchange_shapes(),
            "expectation_ids": Shape("lines", inside=lines),
            "recordings": Shape("lines", inside=RECORDING),
        }

    def _exchange_data(self):
        return {
            **super()._exchange_data(),
            "expectation_ids": [line._exchange_data() for line in self.expectation_ids],
            "recordings": self._exchange_recordings(),
        }

    def _exchange_recordings(self):
        rows, _problem = recordings.read(self.recordings or [])
        return [{**one._asdict(), "arguments": recordings.canonical(one.arguments)} for one in rows]

    def _exchange_fit(self, entry, coming):
        entry, notes = super()._exchange_fit(entry, coming)
        assistant = found(self.env, "ai.assistant", entry["assistant_id"]["id"])
        if assistant and not assistant.has_access("write"):
            raise self._lacks(entry["assistant_id"]["name"])
        checked = ("name", "assistant_id", "questions", "rubric", "judge_id", "recordings")
        written = self.new(self._exchange_vals(entry, checked))
        Line = self.env["woow_paas_platform.test_expectation"]
        try:
            written._check_questions()
            written._check_recordings()
            if assistant:
                written._check_judge()
            Line._exchange_check(entry["expectation_ids"])
        except ValidationError as error:
            raise Refusal(str(error.args[0])) from error
        entry["recordings"] = written._exchange_recordings()
        if not self:
            notes.append(self.env._("It will ask with your rights."))
        elif exchange.changes(self._exchange_data(), entry):
            self._check_author()
        return entry, notes

    @api.model
    def _exchange_vals(self, entry, names):
        vals = super()._exchange_vals(entry, [name for name in names if name in self._exchanged])
        if "recordings" in names:
            vals["recordings"] = [
                {**row, "arguments": _arguments(row["arguments"])} for row in entry["recordings"]
            ]
        if "expectation_ids" in names:
            Line = self.env["woow_paas_platform.test_expectation"]
            vals["expectation_ids"] = [
                fields.Command.clear(),
                *(
                    fields.Command.create({**Line._exchange_vals(line), "sequence": number})
                    for number, line in enumerate(entry["expectation_ids"], 1)
                ),
            ]
        return vals

    @api.model
    def _exchange_words(self, name, value):
        if name == "expectation_ids":
            Line = self.env["woow_paas_platform.test_expectation"]
            return "\n".join(map(Line._exchange_words, value))
        if name == "recordings":
            return "\n".join(f"{row['tool']} {row['arguments']}: {row['text']}" for row in value)
        return super()._exchange_words(name, value)

    # ------------------------------------------------------------ buttons

    def action_run(self):
        """Run these tests against the current version of their assistant."""
        tests = self.filtered("active") or self.search(
            [("assistant_id", "=", self.env.context.get("default_assistant_id"))]
        )
        if len(tests.assistant_id) != 1:
            raise UserError(self.env._("Choose tests of one assistant."))
        run = self.env["woow_paas_platform.assistant_test_run"].create(
            {"assistant_id": tests.assistant_id.id, "test_ids": [fields.Command.set(tests.ids)]}
        )
        run.action_start()
        return run.get_formview_action()

    # ------------------------------------------------------------ the replay

    def _questions(self):
        parts, lines = [], []
        for line in [*(self.questions or "").splitlines(), BETWEEN]:
            if line.strip() == BETWEEN:
                parts.append("\n".join(lines).strip())
                lines = []
            else:
                lines.append(line)
        return [part for part in parts if part]

    def _changed_at(self):
        """Moment of the last change of the test or of what it expects."""
        return max([self.write_date, *self.expectation_ids.mapped("write_date")])

    def _replay_spec(self, content, provider):
        """Everything that a replay against a state of the assistant needs, read as in a chat of the test's user.

        The assistant gets this state, and a conversation is made, so the caller has to roll back.

        :param content: of a version or draft, as `AssistantVersion._content_of`
        :param provider: `ai.config` that answers instead of its own; may be empty
        :return: the `ReplaySpec`, and `Access` by model for calls that read records
        :raises EngineError: the user cannot ask the assistant
        """
        self.ensure_one()
        assistant, user = self.assistant_id, self.user_id
        if not user.active:
            raise EngineError(_lt("The user was deactivated."))
        self._check_judge()  # either may have moved since
        self.env["woow_paas_platform.assistant_version"]._write_content(assistant, content, "")
        if provider:
            assistant.config_id = provider
        service = assistant.cloud_service_id
        if reason := assistant._refusal_to(user, service):
            raise EngineError(reason)
        first, *others = self._questions()
        Channel = self.env["discuss.channel"].with_user(user).sudo(False)
        channel = Channel._create_ai_conversation(
            assistant.with_env(Channel.env), service.with_env(Channel.env), is_of_run=True
        )
        # sudo: ai_turn - of a transaction that is rolled back; what it may use is read as its user
        turn = self.env["woow_paas_platform.ai_turn"].create(
            {
                "channel_id": channel.id,
                "assistant_id": assistant.id,
                "cloud_service_id": service.id,
                "user_id": user.id,
                "lang": user.lang,
                "prompt": first,
                "companies": user._woow_ai_companies(None).ids,
            }
        )
        turn = turn._for_its_user().with_user(user).sudo()
        request = turn._turn_request()
        if not provider:
            request = replace(request, llm=_as_stated(request.llm, content))
        access = turn._record_access()
        found, _problem = recordings.read(self.recordings or [])
        judge = self.judge_id
        return ReplaySpec(
            request=request,
            questions=tuple(others),
            recorded=tuple(found),
            is_live=self.is_live,
            expected=tuple(line._expectation(user) for line in self.expectation_ids),
            asks=self._asking(turn, request, access),
            confirm_round=request.limits.confirm_round,
            judge=judge._llm_spec() if judge else None,
            rubric=self.rubric or "",
        ), access

    def _asking(self, turn, request, access):
        """Tools, as models call them, of which a call would ask the user."""
        user, assistant = turn.user_id, turn.assistant_id
        asking = set()
        for tool in turn._tools():
            decision = tool._decision({}, assistant, user)
            is_allowed = decision.grantable and tool._is_allowed_for_good(user)
            if decision.policy == "ask" and not is_allowed:
                asking.add(tool.id)
        asks = any(one.asks for one in access.values())
        return frozenset(
            spec.alias
            for spec in request.tools
            if (spec.records == "write" and asks)
            or (not spec.records and spec.operation is None and spec.id in asking)
        )


def _arguments(written):
    """Arguments of a recorded result as a file has them; what is no JSON stays as it is, and is refused as that."""
    try:
        return json.loads(written) if written else {}
    except (ValueError, RecursionError):
        return written


def _as_stated(llm, content):
    """The endpoint with the settings that its provider had in this state."""
    stated = content.get("config_id") or {}
    if stated.get("id") != llm.id:
        return llm
    values = {name: stated[name] for name in PROVIDER if name in stated}
    if "max_tokens" in values:
        values["max_tokens"] = values["max_tokens"] or None
    if "embedding_model" in values:
        values["embedding_model"] = (values["embedding_model"] or "").strip()
    return replace(llm, **values)


class TestExpectation(models.Model):
    """One thing that a test expects: a call, a text, a value of the database, or a limit."""

    _name = "woow_paas_platform.test_expectation"
    _description = "Test Expectation"
    _order = "sequence, id"

    test_id = fields.Many2one(
        "woow_paas_platform.assistant_test", required=True, ondelete="cascade", index=True
    )
    sequence = fields.Integer(default=10)
    kind = fields.Selection(
        [
            ("called", "Tool is called"),
            ("not_called", "Tool is not called"),
            ("contains", "Answer contains"),
            ("not_contains", "Answer does not contain"),
            ("value", "Answer contains a value of Odoo"),
            ("no_question", "User is asked nothing"),
            ("tokens", "Tokens at most"),
            ("seconds", "Seconds at most"),
        ],
        required=True,
        default="contains",
    )
    tool = fields.Char()
    arguments = fields.Text(
        "Arguments (JSON)",
        help="Some of the arguments. In a text, * stands for anything. Empty: any arguments.",
    )
    text = fields.Char(help="Upper and lower case are the same, and * stands for anything.")
    number = fields.Float("Limit")
    model_id = fields.Many2one("ir.model", ondelete="cascade")
    model = fields.Char(related="model_id.model", string="Model Name")
    domain = fields.Char(
        default="[]", help="Read with the rights of the test's user when the test runs."
    )
    field_name = fields.Char(
        "Field", help="Of numbers the sum, else that of the first record. Empty: number of records."
    )
    summary = fields.Char("Expected", compute="_compute_summary")

    @api.depends("kind", "tool", "arguments", "text", "number", "model_id", "field_name", "domain")
    @api.depends_context("lang")
    def _compute_summary(self):
        for line in self:
            if line.kind in ("called", "not_called"):
                parts = [line.tool, line.arguments]
            elif line.kind in ("contains", "not_contains"):
                parts = [line.text]
            elif line.kind == "value":
                parts = [line.model_id.name, line.field_name, line.domain != "[]" and line.domain]
            else:
                parts = [line.kind != "no_question" and f"{line.number:g}"]
            line.summary = " ".join(filter(None, parts))

    @api.constrains(
        "kind", "tool", "arguments", "text", "number", "model_id", "domain", "field_name"
    )
    def _check_line(self):
        for line in self:
            if problem := line._problem():
                raise ValidationError(problem)

    @api.constrains("test_id")
    def _check_number(self):
        for test in self.test_id:
            if len(test.expectation_ids) > MAX_EXPECTATIONS:
                raise ValidationError(self._too_many())

    def _too_many(self):
        return self.env._("A test has at most %(limit)s expectations.", limit=MAX_EXPECTATIONS)

    def _problem(self):
        """:return: what is wrong with the line, empty if nothing is"""
        _ = self.env._
        written = (
            (self.text, TEXT_CHARS),
            (self.arguments, JSON_CHARS),
            (self.domain, DOMAIN_CHARS),
        )
        if any(len(said or "") > limit for said, limit in written):
            return _("This is too long for an expectation.")
        if self.kind in ("called", "not_called"):
            if not (self.tool or "").strip():
                return _("Enter the name of the tool.")
            return "" if self._arguments() is not None else _("Arguments are a JSON object.")
        if self.kind in ("contains", "not_contains") and not (self.text or "").strip():
            return _("Enter the text that is looked for in the answer.")
        if self.kind in ("tokens", "seconds") and self.number <= 0:
            return _("Enter a limit above zero.")
        return self._problem_of_value() if self.kind == "value" else ""

    def _problem_of_value(self):
        _ = self.env._
        if not self.model_id or self.model not in self.env or deny_list.is_denied(self.model):
            return _("Choose a model whose records an assistant may read.")
        if self._domain() is None:
            return _("The domain is not valid.")
        if self.field_name and self.field_name not in self.env[self.model]._fields:
            return _("“%(name)s” is no field of this model.", name=self.field_name)
        return ""

    def _arguments(self):
        """Arguments as JSON, None if they are no object."""
        written = (self.arguments or "").strip()
        try:
            arguments = json.loads(written) if written else {}
        except (ValueError, RecursionError):
            return None
        return arguments if isinstance(arguments, dict) else None

    def _domain(self):
        """The domain as data, None if it is none."""
        try:
            domain = ast.literal_eval((self.domain or "[]").strip())
            if not isinstance(domain, list):
                return None
            self.env[self.model]._search(domain)
        except (ValueError, SyntaxError, TypeError, KeyError, RecursionError, MemoryError):
            return None
        except AccessError:  # of who writes it; read as somebody else
            pass
        return domain

    @api.model_create_multi
    def create(self, vals_list):
        lines = super().create(vals_list)
        lines.test_id._check_author()
        return lines

    def write(self, vals):
        self.test_id._check_author()
        result = super().write(vals)
        self.test_id._check_author()
        return result

    # ------------------------------------------------------------ in a configuration file

    @api.model
    def _exchange_shapes(self):
        return {**{name: shape_of(self, name) for name in EXCHANGED}, "model": Shape("text")}

    def _exchange_data(self):
        """Line of a test's entry, see `AssistantTest._exchange_data`."""
        self.ensure_one()
        values = {name: value_of(self, name) for name in EXCHANGED}
        return {**values, "model": self.model or ""}

    @api.model
    def _exchange_vals(self, entry):
        """Values of a line.

        :raises Refusal: it compares with records of a model that is not here
        """
        name = entry["model"]
        # sudo: ir.model - the id of a model
        model = self.env["ir.model"].sudo()._get(name) if name else self.env["ir.model"]
        if name and not model:
            raise Refusal(self.env._("It needs “%(name)s”, which is not here.", name=name))
        return {**{one: entry[one] for one in EXCHANGED}, "model_id": model.id}

    @api.model
    def _exchange_check(self, entries):
        """Refuse lines that would not be taken.

        :raises ValidationError: says why
        """
        if len(entries) > MAX_EXPECTATIONS:
            raise ValidationError(self._too_many())
        for entry in entries:
            if problem := self.new(self._exchange_vals(entry))._problem():
                raise ValidationError(problem)

    @api.model
    def _exchange_words(self, entry):
        """Line of a test's entry as people read it."""
        line = self.new(self._exchange_vals(entry))
        kinds = dict(self._fields["kind"]._description_selection(self.env))
        return f"{kinds[line.kind]}: {line.summary}".removesuffix(": ")

    # ------------------------------------------------------------ the replay

    def _expectation(self, user):
        """The line for the engine; a value is read with the rights of this user.

        :raises EngineError: the value cannot be read
        """
        self.ensure_one()
        if self.kind == "value":
            found = self._read_value(user)
            is_number = isinstance(found, int | float)
            return Expectation(
                kind="value",
                number=found if is_number else None,
                text="" if is_number else str(found),
            )
        return Expectation(
            kind=self.kind,
            tool=(self.tool or "").strip(),
            arguments=self._arguments() or {},
            text=self.text or "",
            number=self.number,
        )

    def _read_value(self, user):
        """Number of the records, the sum of a field of numbers, or how people read the field of the first record."""
        companies = user._woow_ai_companies(None)
        env = self.with_context(lang=user.lang, tz=user.tz, allowed_company_ids=companies.ids).env(
            user=user.id, su=False
        )
        name, domain = self.field_name, self._domain()
        try:
            if domain is None or self.model not in env or deny_list.is_denied(self.model):
                raise KeyError(self.model)
            with db.timeouts(env.cr, statement=STATEMENT_TIMEOUT):
                model = env[self.model]
                field = model._fields[name] if name else None
                is_sum = field and field.type in NUMBERS
                if not field or (is_sum and field.store):
                    # Counted as lists and record tools count.
                    asked = f"{name}:sum" if field else "__count"
                    return model.formatted_read_group(domain, [], [asked])[0][asked] or 0
                records = model.search(domain, limit=MAX_RECORDS)
                return sum(records.mapped(name)) if is_sum else _as_read(records[:1], field)
        except (AccessError, UserError, KeyError, ValueError, TypeError) as error:
            raise EngineError(
                _lt(
                    "The expected value of %(model)s cannot be read with the rights of the test's user.",
                    model=self.model or "",
                )
            ) from error


def _as_read(record, field):
    """Value of a record in words; of no record, and of nothing, there are none."""
    value = record[field.name] if record else False
    if field.relational:
        return ", ".join(value.mapped("display_name")) if value else ""
    if field.type == "selection" and value:
        return dict(field._description_selection(record.env)).get(value, value)
    return "" if value is False else value
