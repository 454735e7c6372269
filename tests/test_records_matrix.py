"""The rights matrix, generated: each way to read × rule, field group, company × kind of person: nothing leaks.

Each model has a record that nobody here may read, and one that leads to it by every relation. What only the hidden
record says must not be read, and a question about it must get the answer of a question about nothing.
"""

from contextlib import contextmanager
from unittest.mock import patch

from odoo import Command
from odoo.exceptions import AccessError, UserError
from odoo.models import MAGIC_COLUMNS
from odoo.tests import new_test_user, tagged

from ..runtime.records import executor, mentions, write
from ..runtime.records.changes import Changes
from ..runtime.records.record_scope import RecordScope
from ..services.records.catalog import Access
from ..services.records.errors import RecordError
from ..tools import rehearsal
from .common import AiCase
from .doubles.sampling import some

CANARY = "zqcanaryqz"
NOTHING = "zqnothingqz"
TEXTS = ("char", "text", "html")
# What a record of each model needs; the models of applications are tried where they are installed.
MODELS = {
    "res.partner.category": lambda env: {},
    "res.partner": lambda env: {
        "is_company": True
    },  # or its name would begin with that of its parent
    "crm.tag": lambda env: {},
    "crm.team": lambda env: {},
    "crm.lead": lambda env: {},
    "sale.order": lambda env: {"partner_id": env.user.partner_id.id},
    "project.project": lambda env: {},
    "project.task": lambda env: {"project_id": env["project.project"].create({"name": "P"}).id},
    "hr.department": lambda env: {},
    "hr.employee": lambda env: {},
}


class _Undone(Exception):
    """Nothing of a rehearsal stays."""


def rehearse(scope, given):
    """What a question would show of a change, as `executor.rehearse` finds it out."""
    recorder, shown = rehearsal.Recorder(), {}
    cr = scope.env.cr
    try:
        with cr.savepoint():  # the test's cursor refuses commits by itself
            with executor.record_errors(scope.env), rehearsal.recording(recorder):
                write.update_records(scope, given)
                executor.settle(cr)
                shown = Changes(scope, recorder).shown()
            raise _Undone
    except _Undone:
        return "", shown


def mention(scope, given):
    found = mentions.offered(scope, given["query"])
    return "", {"rows": found} if found else {}


# Ways to read that are no tools: what `@` offers and attaches, and what a rehearsal shows.
WAYS = {
    **executor.READS,
    "mention": mention,
    "attach": lambda scope, given: ("", mentions.kept(scope, given["model"], given["id"])),
    "rehearse": rehearse,
}


@tagged("post_install", "-at_install")
class TestRecordsMatrix(AiCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.models = [name for name in MODELS if name in cls.env]
        cls.access = {
            name: Access(model=name, operations=frozenset({"read", "update"}))
            for name in cls.models
        }
        foreign = cls.env["res.company"].create({"name": "Foreign Company"})
        groups = ["base.group_user", "base.group_partner_manager"]
        for group in (
            "sales_team.group_sale_manager",
            "project.group_project_manager",
            "hr.group_hr_manager",
        ):
            if cls.env.ref(group, raise_if_not_found=False):
                groups.append(group)
        cls.people = {
            "internal with all rights": new_test_user(
                cls.env, "matrix_all", groups=",".join(groups)
            ),
            "internal": cls.internal,
            "portal": cls.member,
            "of another company": new_test_user(
                cls.env,
                "matrix_foreign",
                groups=",".join(groups),
                company_id=foreign.id,
                company_ids=[Command.set(foreign.ids)],
            ),
        }
        cls.hidden, cls.open = {}, {}
        for name in cls.models:
            cls.hidden[name] = cls._make(name, f"{CANARY} {name}")
            cls.open[name] = cls._make(name, f"Open {name}")
        beside = cls.env["res.partner"].search([("name", "ilike", CANARY)])  # contacts of employees
        (beside - cls.hidden["res.partner"]).name = "Beside"
        cls.env.flush_all()
        for name in cls.models:
            for field in cls.open[name]._fields.values():
                cls._lead(cls.open[name], field)
        cls.env.flush_all()

    @classmethod
    def _make(cls, name, called):
        model = cls.env[name].with_context(tracking_disable=True, mail_create_nolog=True)
        return model.create({cls._written(model): called, **MODELS[name](cls.env)})

    @staticmethod
    def _written(model):
        """The field that a record's name is written into."""
        name = model._rec_name
        return name if not model._fields[name].compute else "name"

    @classmethod
    def _lead(cls, record, field):
        """Let a relation lead to the hidden record, where one can be set."""
        if (
            field.comodel_name not in cls.hidden
            or field.readonly
            or field.name in MAGIC_COLUMNS
            or not field.store
        ):
            return
        target = cls.hidden[field.comodel_name]
        value = target.id if field.type == "many2one" else [Command.link(target.id)]
        if field.type not in ("many2one", "many2many") or field.name == "company_ids":
            return
        try:
            with cls.env.cr.savepoint():
                record.write({field.name: value})
                cls.env.flush_all()
                cls._check_says_nothing(record)
        except (UserError, ValueError):
            cls.env.invalidate_all()

    @staticmethod
    def _check_says_nothing(record):
        """Odoo itself may copy what the hidden record says; then it is no secret."""
        for field in record._fields.values():
            if field.type in TEXTS and CANARY in str(record[field.name] or ""):
                raise ValueError(field.name)

    # ------------------------------------------------------------ axes

    @contextmanager
    def _by_rule(self):
        """A rule for everybody."""
        for name in self.models:
            self.env["ir.rule"].create(
                {
                    "name": f"Hidden {name}",
                    "model_id": self.env["ir.model"]._get_id(name),
                    "domain_force": f"[('id', '!=', {self.hidden[name].id})]",
                }
            )
        self.env.flush_all()
        yield [(name, self.env[name]._rec_name) for name in self.models]

    @contextmanager
    def _by_field_group(self):
        """A field of a group that none of these people has; the canary stands in it."""
        found = []
        patches = []
        for name in self.models:
            fields = (
                field
                for field in self.env[name]._fields.values()
                if field.type == "char"
                and field.store
                and not field.compute
                and not field.related
                and not field.readonly
                and not field.translate
                and not field.inherited
                and field.name != self.env[name]._rec_name
                and not field.required
                and field.name
                not in ("vat", "company_registry", "lang", "tz", "email", "phone", "website")
            )
            field = next((field for field in fields if self._takes_any_text(name, field)), None)
            if field is None:
                continue
            patches.append(patch.object(field, "groups", "base.group_system"))
            found.append((name, field.name))
        self._show_all_but([])
        self.env.invalidate_all()
        for one in patches:
            self.enterContext(one)
        yield found

    def _takes_any_text(self, name, field):
        """Puts the canary into a field, unless a constraint of its model asks for something else there."""
        try:
            with self.env.cr.savepoint():
                self.open[name].with_context(tracking_disable=True)[field.name] = CANARY
                self.env.flush_all()
        except UserError:
            self.env.invalidate_all()
            return False
        return True

    @contextmanager
    def _by_company(self):
        """Records of a company that none of these people has, of models with Odoo's own rule about companies."""
        other = self.env["res.company"].create({"name": "Nobody's Company"})
        found = []
        for name in self.models:
            rules = self.env["ir.rule"].search(
                [("model_id.model", "=", name), ("global", "=", True)]
            )
            if "company_id" not in self.env[name]._fields or not any(
                "company_id" in (r.domain_force or "") for r in rules
            ):
                continue
            try:
                with self.env.cr.savepoint():
                    self.hidden[name].write({"company_id": other.id})
                    self.env.flush_all()
            except UserError:
                continue
            found.append((name, self.env[name]._rec_name))
        self._show_all_but([name for name, _field in found])
        yield found

    def _show_all_but(self, models):
        """Records of the other models are no secret here, so they say nothing secret."""
        for name in self.models:
            if name not in models:
                record = self.hidden[name]
                record[self._written(record)] = f"Shown {name}"
                kept = [f for f in record._fields.values() if f.type in TEXTS and f.store]
                for field in kept:  # Odoo itself keeps copies, such as a legal name
                    if not field.readonly and CANARY in str(record[field.name] or ""):
                        record[field.name] = f"Shown {name}"
        self.env.flush_all()
        self.env.invalidate_all()

    # ------------------------------------------------------------ ways to read

    def _questions(self, name, field, said):
        """(tool, arguments) that say something of a value, or about it."""
        model = {"model": name}
        yield "find_models", {"query": said}
        yield "describe_model", {**model, "query": said}
        yield "mention", {"query": said}
        for path in self._paths(name, field):
            for operator in ("=", "ilike", "=like"):
                value = f"{said}%" if operator == "=like" else said
                yield "search_records", {**model, "domain": [[path, operator, value]], "limit": 200}
            yield "search_records", {**model, "domain": [[path, "in", [said]]]}
            yield (
                "aggregate_records",
                {**model, "filters": [{"field": path, "operator": "ilike", "value": said}]},
            )
            yield "open_view", {**model, "view": "list", "domain": [[path, "ilike", said]]}

    def _looks(self, name, field):
        """(tool, arguments) that show what there is."""
        model = {"model": name}
        relations = [
            f.name
            for f in self.env[name]._fields.values()
            if f.relational and f.comodel_name in self.models
        ]
        yield "search_records", {**model, "limit": 200}
        yield "search_records", {**model, "limit": 200, "fields": [field]}
        yield "search_records", {**model, "limit": 200, "order": field}
        yield "read_records", {**model, "ids": [self.hidden[name].id]}
        yield "read_records", {**model, "ids": [self.open[name].id]}
        yield "read_records", {**model, "ids": [self.open[name].id], "fields": [field]}
        for record in (self.hidden[name], self.open[name]):
            yield "read_chatter", {**model, "id": record.id}
            yield "read_chatter", {**model, "id": record.id, "file": NOTHING}
        yield "aggregate_records", {**model, "group_by": [field], "limit": 200}
        yield "aggregate_records", {**model, "measures": [f"{field}:count_distinct"]}
        yield "open_view", {**model, "view": "form", "ids": [self.hidden[name].id]}
        yield "open_view", {**model, "view": "list", "group_by": [field]}
        yield "attach", {**model, "id": self.hidden[name].id}
        yield "attach", {**model, "id": self.open[name].id}
        yield "mention", {"query": f"Open {name}"}
        for change in self._changes(name, field):
            yield "rehearse", {**model, "ids": [self.open[name].id], "values": change}
        for relation in relations:
            yield "search_records", {**model, "limit": 200, "fields": [relation]}
            yield "search_records", {**model, "limit": 200, "fields": [f"{relation}.{field}"]}
            shown = [f"{relation}.{field}", f"{relation}.{relation}.{field}"]
            yield "read_records", {**model, "ids": [self.open[name].id], "fields": shown[:1]}
            yield "read_records", {**model, "ids": [self.open[name].id], "fields": shown[1:]}
            yield "aggregate_records", {**model, "group_by": [relation], "limit": 200}

    def _changes(self, name, field):
        """What shows a former value beside the new one: of the field, and of each relation that leads somewhere."""
        yield {field: "Other"}
        for relation in self.open[name]._fields.values():
            if (
                relation.relational
                and relation.comodel_name in self.models
                and relation.store
                and not relation.readonly
                and not relation.required
            ):
                lines = self.open[name][relation.name].ids
                removed = {"many2one": False, "one2many": {"remove": lines}}
                yield {relation.name: removed.get(relation.type, {"set": []})}

    def _paths(self, name, field):
        """The field, and what leads to it from this model in one step and in two."""
        yield field
        for first in self.env[name]._fields.values():
            if not first.relational or first.comodel_name not in self.models:
                continue
            if first.comodel_name == name:
                yield f"{first.name}.{field}"
            yield first.name
            for second in self.env[first.comodel_name]._fields.values():
                if second.relational and second.comodel_name == name and second.store:
                    yield f"{first.name}.{second.name}.{field}"
                    break

    def _ask(self, person, tool, arguments):
        context = {"allowed_company_ids": person.company_ids.ids, "lang": "en_US", "tz": "UTC"}
        env = self.env(user=person.id, su=False, context=context)
        try:
            with executor.record_errors(self.env), self.env.cr.savepoint():
                return WAYS[tool](RecordScope(env, self.access), arguments)
        except (RecordError, AccessError) as error:
            return str(error), {}

    def _nothing_leaks(self, axis):
        asked = 0
        with axis as found:
            for name, field in found:
                for who, person in self.people.items():
                    for tool, arguments in some(self._looks(name, field), 3, name + who):
                        answer = self._ask(person, tool, arguments)
                        asked += 1
                        self.assertNotIn(CANARY, str(answer), (who, tool, arguments))
                        self._only_readable(person, answer[1], (who, tool, arguments))
                    pairs = zip(
                        self._questions(name, field, CANARY),
                        self._questions(name, field, NOTHING),
                        strict=True,
                    )
                    for (tool, arguments), (_tool, about_nothing) in some(pairs, 3, name + who):
                        answer = str(self._ask(person, tool, arguments)).replace(CANARY, NOTHING)
                        asked += 1
                        self.assertEqual(
                            answer,
                            str(self._ask(person, tool, about_nothing)),
                            (who, tool, arguments),
                        )
        self.assertGreater(asked, 100)

    def _only_readable(self, person, data, way):
        """Rows have links and pictures, so each must be of a record that the person may open."""
        by_model = {}
        for row in data.get("rows", ()):
            by_model.setdefault(row.get("model") or data["model"], []).append(row["id"])
        for model, ids in by_model.items():
            context = {"allowed_company_ids": person.company_ids.ids}
            records = self.env(user=person.id, su=False, context=context)[model].browse(ids)
            self.assertEqual(records._filtered_access("read").ids, ids, way)

    def test_record_rules(self):
        self._nothing_leaks(self._by_rule())

    def test_groups_of_fields(self):
        self._nothing_leaks(self._by_field_group())

    def test_companies(self):
        self._nothing_leaks(self._by_company())

    def test_without_any_right_there_is_nothing(self):
        self.env["ir.model.access"].search([("model_id.model", "in", self.models)]).active = False
        self.env.registry.clear_cache()
        for name in self.models:
            for tool, arguments in self._looks(name, self.env[name]._rec_name):
                said, data = self._ask(self.internal, tool, arguments)
                self.assertFalse(data, (tool, arguments, said))
