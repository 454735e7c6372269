"""Hidden fields beside Odoo's applications: whatever an administrator hides, no answer depends on what it holds.

Every field of every model is looked at as a dependency. Of some, chosen by lot, two worlds are made that differ in its
value alone, and whatever an assistant can ask is asked in both. `WOOW_TEST_SEED=2` draws others.
"""

import os
import random
from contextlib import contextmanager, nullcontext, suppress
from datetime import date, datetime
from functools import cache

import psycopg2
import psycopg2.extras
from odoo import Command
from odoo.exceptions import AccessError, UserError
from odoo.models import MAGIC_COLUMNS
from odoo.tests import new_test_user, tagged
from odoo.tools import SQL, mute_logger

from ...models.turn.ai_turn import Question
from ...runtime.records import aggregate, executor, mentions, vals, write
from ...runtime.records.record_scope import RecordScope
from ...services.records import conditions, deny_list
from ...services.records.catalog import Access
from ...services.records.errors import RecordError
from ..common import AiCase
from ..doubles.sampling import draws, some

APPLICATIONS = (
    *("res", "crm", "sale", "account", "product", "project", "hr", "calendar", "utm"),
    *("purchase", "stock", "mail"),
)
GROUPS = (
    "base.group_user",
    "base.group_partner_manager",
    "sales_team.group_sale_manager",
    "account.group_account_manager",
    "project.group_project_manager",
    "hr.group_hr_manager",
    "purchase.group_purchase_manager",
    "stock.group_stock_manager",
)
DRAWS = draws(4, 60)
SEED = int(os.environ.get("WOOW_TEST_SEED", "37"))
FIRST = (
    *("res.partner.email", "res.partner.phone", "product.product.default_code"),
    *("crm.lead.expected_revenue", "stock.picking.origin", "sale.order.partner_id"),
    *("project.task.priority", "account.move.invoice_date", "crm.lead.name"),
)
# By type: what a field holds in the one world, and what in the other. No record is called so, and texts are as long.
WORLDS = {
    **dict.fromkeys(("char", "text"), ("zqcanaryqz", "xkmartenkx")),
    "html": ("<p>zqcanaryqz</p>", "<p>xkmartenkx</p>"),
    **dict.fromkeys(("float", "monetary"), (913577.0, 264318.0)),
    "integer": (913577, 264318),
    "boolean": (True, False),
    "date": (date(2031, 3, 14), date(2019, 8, 21)),
    "datetime": (datetime(2031, 3, 14, 9, 26, 53), datetime(2019, 8, 21, 17, 5, 9)),
}
LEADING = 2  # records that lead to one, and to which one leads, that are looked at
MAX_FIELDS = 60
GROUPED = 4
SUMMED = 8
SAMPLE = 8  # stored fields by which it is asked
REPORT = b"%PDF-1.4\n/Creator (wkhtmltopdf)\n"
# What answers depend on all the same, each with the reason.
OPEN = {
    "res.currency.symbol": "names with prices in them are written with it",
}


@tagged("post_install", "-at_install")
class TestHiddenFields(AiCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.models = [
            name
            for name, model in cls.env.items()
            if name.partition(".")[0] in APPLICATIONS
            and not (model._abstract or model._transient or deny_list.is_denied(name))
            and model._auto
        ]
        cls.person = new_test_user(cls.env, "hidden_all", groups=",".join(GROUPS))
        # What is noted of a change is made by hand.
        cls.env = cls.env(context={**cls.env.context, "tracking_disable": True})
        cls.rules = cls.env["woow_paas_platform.record_access"]
        cls.env["res.partner"].create({"name": "Two Worlds", "email": "two@worlds.example"})
        cls.env.flush_all()

    def _scope(self, hidden=()):
        by_model = {}
        for model, name in hidden:
            by_model.setdefault(model, set()).add(name)
        access = {
            name: Access(
                model=name,
                hidden=frozenset(by_model.get(name, ())),
                operations=frozenset({"read", "update"}),
            )
            for name in self.models
        }
        context = {"lang": "en_US", "tz": "UTC", "allowed_company_ids": self.person.company_ids.ids}
        return RecordScope(self.env(user=self.person.id, su=False, context=context), access)

    # ------------------------------------------------------------ dependencies

    def test_no_field_in_reach_depends_on_a_hidden_one(self):
        """As fields say themselves of what they depend on, step by step, not as the registry turns it round."""

        @cache
        def direct(field):
            found = set()
            for path in field.get_depends(self.env[field.model_name])[0]:
                model = field.model_name
                for name in path.split("."):
                    step = self.env[model]._fields[name]
                    found.add(step)
                    model = step.comodel_name
            return found

        def origins(field):
            todo, found = [field], {field}
            while todo:
                new = direct(todo.pop()) - found
                todo += new
                found |= new
            return found

        asked = 0
        closed = {}
        for model in self.models:
            for field in some(self.env[model]._fields.values(), 4, model):
                for origin in origins(field) if field.name != "display_name" else ():
                    key = (origin.model_name, origin.name)
                    if key not in closed:
                        closed[key] = self.rules._closed_fields(frozenset([key]))
                    self.assertIn(field.name, closed[key].get(model, ()), (str(field), key))
                    asked += 1
        self.assertGreater(asked, draws(2_000, 10_000))

    def test_what_searches_by_a_hidden_field_is_nowhere(self):
        """Though nothing computes it, it answers whether a guess is right."""
        for hidden, model, name in (
            ("res.partner.phone", "res.partner", "phone_mobile_search"),
            ("crm.lead.phone", "crm.lead", "phone_mobile_search"),
            ("account.move.line.account_id", "account.move.line", "search_account_id"),
            ("account.move.journal_id", "account.move", "journal_group_id"),
            ("purchase.order.line.qty_received", "purchase.order", "is_late"),
            ("product.product.default_code", "product.template", "default_code"),
        ):
            with self.subTest(hidden=hidden):
                self.assertTrue(self._scope().is_visible(self.env[model], name))
                scope = self._scope([hidden.rsplit(".", 1)])
                given = {"model": model, "domain": [[name, "=", "+32470"]]}
                self.assertIn("There is no field", self._ask(scope, "search_records", given))

    # ------------------------------------------------------------ two worlds

    def test_no_answer_depends_on_a_hidden_value(self):
        def closing(field):
            return nullcontext(self._scope([(field.model_name, field.name)]))

        self._draw(closing, DRAWS)

    def test_no_answer_depends_on_a_value_of_other_groups(self):
        """But for names, and for what code reads that says nothing of it: Odoo itself shows these to this person."""

        @contextmanager
        def closing(field):
            field.groups = "base.group_system"
            self.env.registry.clear_cache()
            try:
                yield self._scope()
            finally:
                field.groups = None
                self.env.registry.clear_cache()

        def is_told_by_names(field):
            telling = self.rules._telling_names(frozenset([(field.model_name, field.name)]))
            return bool(telling.intersection(self.models))

        self._draw(closing, DRAWS // 4, is_told_by_names)

    def _draw(self, closing, draws, leaves_out=lambda field: False):
        dice, seen = random.Random(SEED), []
        fields = [
            field
            for name in self.models
            for field in self.env[name]._fields.values()
            if field.store
            and field.column_type
            and field.name not in (*MAGIC_COLUMNS, self.env[name]._active_name)
            and not (field.company_dependent or field.groups)
            and str(field) not in OPEN
        ]
        dice.shuffle(fields)
        fields.sort(key=lambda field: str(field) not in FIRST)
        for field in fields:
            if len(seen) == draws:
                break
            if leaves_out(field) or not (values := self._values(field)):
                continue
            if record := self._record(field, values):
                seen.append(str(field))
                with self.subTest(field=str(field)), self._undone():
                    self._compare(record, field, values, closing)
        self.assertEqual(len(seen), draws)

    def _values(self, field):
        """What a field holds in the two worlds, None of a type that has no two."""
        if field.type == "selection":
            keys = [key for key in field.get_values(self.env) if key]
            return (keys[0], keys[-1]) if len(keys) > 1 else None
        if field.type == "many2one":
            comodel = self.env[field.comodel_name].with_user(self.person)
            found = (
                comodel.search([], limit=2, order="id").ids if comodel.has_access("read") else ()
            )
            return tuple(found) if len(found) > 1 else None
        values = WORLDS.get(field.type)
        size = getattr(field, "size", None)
        return tuple(one[:size] for one in values) if values and size else values

    def _record(self, field, values):
        """A record in which the person, as long as nothing is hidden, reads the one value and the other."""
        model = self.env[field.model_name].with_user(self.person)
        if not (model.has_access("read") and self._scope().is_visible(model, field.name)):
            return None
        found, shown = model.search([], limit=1, order="id").sudo(), set()
        given = {"model": model._name, "ids": found.ids, "fields": [field.name]}
        for value in values if found else ():
            with self._world(found, field, value) as is_one:
                shown.add(self._ask(self._scope(), "read_records", given) if is_one else None)
        return found if len(shown - {None}) > 1 else None

    @contextmanager
    def _world(self, record, field, value):
        """The database with this value, and with what Odoo computes of it; False where it cannot be."""
        with self._undone():
            yield self._holds(record, field, value)

    @contextmanager
    def _undone(self):
        savepoint = self.env.cr.savepoint()
        try:
            yield
        finally:
            savepoint.close(rollback=True)
            self.env.invalidate_all(flush=False)

    def _holds(self, record, field, value):
        if field.translate:
            value = psycopg2.extras.Json({"en_US": value})
        query = SQL(
            "UPDATE %s SET %s = %s WHERE id = %s",
            SQL.identifier(record._table),
            SQL.identifier(field.name),
            value,
            record.id,
        )
        try:
            with mute_logger("odoo.sql_db"), self.env.cr.savepoint():
                self.env.cr.execute(query)
                self.env.invalidate_all(flush=False)
                record.modified([field.name])
                self.env.flush_all()
        except (
            UserError,
            ValueError,
            psycopg2.Error,
        ):  # it does not hold this, or not in this record
            return False
        self.env.invalidate_all()
        return True

    def _compare(self, record, field, values, closing):
        with closing(field) as scope:
            said = self._said_of(record, field, scope)
            one, other = (
                self._answers_in(record, field, value, scope, said, values) for value in values
            )
            if one != other:  # or is it the time that has passed?
                again = self._answers_in(record, field, values[0], scope, said, values)
                for way in one:
                    if one[way] == again[way]:
                        self.assertEqual(one[way], other[way], way)
        self.assertGreater(len(one), 20)

    # ------------------------------------------------------------ what is said elsewhere

    def _said_of(self, record, field, scope):
        """A turn about the record, records beside it, a message that notes a change of the field, one that Odoo has
        written, and a report."""
        self.assistant.record_access_ids = [
            Command.clear(),
            Command.create({"model": record._name, "hidden_fields": field.name}),
        ]
        about = record.with_user(self.person)
        Channel = self.env["discuss.channel"].with_user(self.person)
        channel = Channel._create_ai_conversation(
            self.assistant.with_user(self.person), record=about
        )
        turn = channel._ask(Question("What is it?")).sudo()
        beside = self._beside(scope, record.with_env(scope.env))
        if not hasattr(record, "message_post"):
            return turn, beside, None, None, None
        noted = record.message_post(body="Changed", message_type="comment")
        tracked = self.env["mail.tracking.value"].create(
            {
                "mail_message_id": noted.id,
                "field_id": self.env["ir.model.fields"]._get(record._name, field.name).id,
                **dict.fromkeys(("old_value_char", "new_value_char"), "-"),
            }
        )
        written = record.message_post(body="-", message_type="notification")
        report = self.env["ir.attachment"].create(
            {"name": "report.pdf", "raw": REPORT, "res_model": record._name, "res_id": record.id}
        )
        return turn, beside, tracked, written, report

    def _says(self, value, said):
        _turn, _beside, tracked, written, report = said
        if tracked:
            told = f"{value!s:_<40.40}"
            tracked.write(
                {"new_value_char": told, "new_value_text": told, "new_value_float": hash(value)}
            )
            written.body = told
            report.raw = REPORT + told.encode()
            self.env.flush_all()
            self.env.invalidate_all()

    # ------------------------------------------------------------ answers

    def _answers_in(self, record, field, value, scope, said, values):
        with self._world(record, field, value) as is_one:
            self.assertTrue(is_one)
            self._says(value, said)
            return dict(self._answers(scope, record, field, said, values))

    def _answers(self, scope, record, field, said, values):
        """``(way, answer)`` of all that an assistant may ask about a record, and records beside it."""
        turn, beside, *in_chatter = said
        own = record.with_env(scope.env)
        for one in (own, *beside):
            given, names = {"model": one._name}, self._names(scope, one, field)
            for at in range(0, len(names), MAX_FIELDS):
                some = {**given, "ids": one.ids, "fields": names[at : at + MAX_FIELDS]}
                yield ("read", one, at), self._ask(scope, "read_records", some)
            yield ("search", one._name), self._ask(scope, "search_records", given)
            own_search = [name for name in names if isinstance(one._fields[name].search, str)]
            yield from self._conditions(scope, one, own_search, values)
        given, names = {"model": own._name}, self._names(scope, own, field)
        known = [scope.env[own._name]._fields[name] for name in names]
        by_id = {**given, "domain": [["id", "=", own.id]]}
        grouped = [one.name for one in known if one.store and one.type in aggregate.GROUPED]
        for at in range(0, len(grouped), GROUPED):
            some = {**by_id, "group_by": grouped[at : at + GROUPED]}
            yield ("group", at), self._ask(scope, "aggregate_records", some)
        summed = [f"{one.name}:sum" for one in known if one.store and one.type in aggregate.SUMMED]
        for at in range(0, len(summed), SUMMED):
            some = {**by_id, "measures": summed[at : at + SUMMED]}
            yield ("sum", at), self._ask(scope, "aggregate_records", some)
        # What is stored is read as it is, so that some will do.
        stored = [one.name for one in known if one.store]
        stored = random.Random(f"{SEED} {field}").sample(stored, min(len(stored), SAMPLE))
        yield from self._conditions(scope, own, stored, values)
        few = {**given, "limit": 3, "fields": ["id"]}
        for name in stored:
            yield ("order", name), self._ask(scope, "search_records", {**few, "order": name})
        near = {one._name: scope.access[one._name] for one in (own, *beside)}
        for value in values if field.type in ("char", "text") else ():
            yield ("@", value), str(mentions.offered(RecordScope(scope.env, near), value))
        yield "models", self._ask(scope, "find_models", {})
        yield "fields", self._ask(scope, "describe_model", {**given, "query": field.name})
        yield "prompt", turn._system_prompt()
        yield "change", self._changed(scope, own, known)
        label = field.string.lower()  # which may be the name of another one
        if field.name not in [one.string.lower() for one in known] and label != field.name:
            for question in self._questions(own, field):
                self.assertIn("There is no field", self._ask(scope, *question))
        if any(in_chatter) and scope.hides:  # else it is told as Odoo tells it
            about = {**given, "id": own.id}
            yield "chatter", self._ask(scope, "read_chatter", about)
            yield "file", self._ask(scope, "read_chatter", {**about, "file": "report.pdf"})

    def _names(self, scope, record, field):
        """Of fields in reach; of what is closed to groups without what code reads that says nothing of it."""
        hidden = self._scope([(field.model_name, field.name)])
        return [
            name
            for name in scope.fields(record)
            if name not in MAGIC_COLUMNS and hidden.is_visible(record, name)
        ]

    def _beside(self, scope, record):
        """Records that lead to this one, and to which it leads."""
        found = []
        for name in scope.models():
            for field in scope.fields(scope.env[name]).values():
                if field.type == "many2one" and field.store and field.comodel_name == record._name:
                    found += scope.env[name].search(
                        [(field.name, "in", record.ids)], limit=1, order="id"
                    )
                    break
            if len(found) >= LEADING:
                break
        to = [
            one
            for one in scope.fields(record).values()
            if one.relational and one.store and one.comodel_name in self.models
        ]
        for one in to:
            with suppress(AccessError):  # lines may be in the order of what is closed
                found += record[one.name][:1]
            if len(found) >= 2 * LEADING:
                break
        return found

    def _conditions(self, scope, record, names, values):
        """Whether a record matches, by these fields, with both values where they are of their type."""
        model, named = scope.env[record._name], set()
        for name in names:
            field = model._fields[name]
            asked = [("!=", False)]
            if field.type in ("char", "text", "html"):
                asked += [("ilike", str(value)) for value in values]
            elif field.type in ("boolean", "date", "datetime", "float", "integer", "monetary"):
                asked += [
                    (">=" if field.type != "boolean" else "=", str(value)) for value in values
                ]
            elif field.type in ("many2one", "many2many", "one2many", "selection"):
                asked += [("=", value) for value in values]
                if field.relational and field.comodel_name not in named:  # it is told what is near
                    named.add(field.comodel_name)
                    asked += [("=", f"{value}"[:-1] + "q") for value in values]
            for operator, value in asked:
                given = [["id", "=", record.id], [name, operator, value]]
                yield (record, name, operator, value), self._matches(scope, model, given)

    def _matches(self, scope, model, domain):
        try:
            with (
                mute_logger(
                    "odoo.sql_db", executor.__name__
                ),  # Odoo's own searches fail for some values
                executor.record_errors(self.env),
                self.env.cr.savepoint(),
            ):
                return model.search_count(scope.domain(model, conditions.parse(domain, None)))
        except RecordError as error:
            return str(error)

    def _changed(self, scope, record, known):
        """What a change of another field answers, or why it fails."""
        name = next(
            (one.name for one in known if vals.is_writable(record, one) and one.type == "char"),
            None,
        )
        if not name:
            return ""
        given = {"model": record._name, "ids": record.ids, "values": {name: "Another value"}}
        try:
            with executor.record_errors(self.env), self.env.cr.savepoint() as savepoint:
                answer = write.TOOLS["update_records"](scope, given)
                savepoint.rollback()
                return str(answer)
        except RecordError as error:
            return str(error)

    def _questions(self, record, field):
        """About the field itself."""
        given, name = {"model": field.model_name}, field.name
        yield "search_records", {**given, "fields": [name]}
        yield "search_records", {**given, "domain": [[name, "!=", False]]}
        yield "search_records", {**given, "order": name}
        yield "aggregate_records", {**given, "group_by": [name]}
        yield "aggregate_records", {**given, "measures": [f"{name}:count_distinct"]}
        yield "read_records", {**given, "ids": record.ids, "fields": [name]}

    def _ask(self, scope, tool, given):
        try:
            with executor.record_errors(self.env), self.env.cr.savepoint():
                said, data = executor.READS[tool](scope, given)
                return f"{said}\n{data}"
        except RecordError as error:
            return str(error)
