import ast
import json

from odoo import api, fields, models
from odoo.exceptions import AccessError, UserError, ValidationError

from ...services.errors import EngineError
from ...services.records import deny_list
from ...services.replay.expectations import MAX_EXPECTATIONS, Expectation
from ...services.sentence import _lt
from ...services.versions.exchange import Shape
from ...tools import db
from ...tools.refusals import Refusal
from ..mixins.exchange_mixin import shape_of, value_of

TEXT_CHARS = 2_000
JSON_CHARS = 8_000
DOMAIN_CHARS = 2_000
MAX_RECORDS = 1_000  # whose computed values are added up
STATEMENT_TIMEOUT = 10.0  # s of a statement that reads a value
NUMBERS = ("integer", "float", "monetary")
EXCHANGED = ("kind", "tool", "arguments", "text", "number", "domain", "field_name")


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
