"""Hidden fields beside Odoo's applications: no answer tells a value that an administrator hides, whichever it is.

Every field of every model is looked at as a dependency; of some, chosen by lot, the value is looked for in answers.
"""

import random
from functools import cache

import psycopg2
from odoo.exceptions import UserError
from odoo.models import MAGIC_COLUMNS
from odoo.tests import new_test_user, tagged

from ...runtime.records import executor, mentions
from ...runtime.records.reach import Reach
from ...services.records import reach as limits
from ...services.records.access import Access
from ...services.records.errors import RecordError
from ..common import AiCase

APPLICATIONS = ("res", "crm", "sale", "account", "product", "project", "hr", "calendar", "utm")
GROUPS = (
    "base.group_user",
    "base.group_partner_manager",
    "sales_team.group_sale_manager",
    "account.group_account_manager",
    "project.group_project_manager",
    "hr.group_hr_manager",
)
TRIES = 30
FIRST = ("res.partner.email", "product.product.default_code", "crm.lead.expected_revenue")
CANARY = "zqcanaryqz"
NOTHING = "zqnothingqz"
NUMBER = 913_577.0
VALUES = {"char": CANARY, "text": CANARY, "html": CANARY, "float": NUMBER, "monetary": NUMBER}
TOLD = (CANARY, "913577", "913,577")
MAX_FIELDS = 60
# Odoo writes these elsewhere, as a fact of its own.
COPIED = {"account.bank.statement.line.amount": "it is posted, and the entry's lines hold it"}


@tagged("post_install", "-at_install")
class TestHiddenFields(AiCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.models = [
            name
            for name, model in cls.env.items()
            if name.partition(".")[0] in APPLICATIONS
            and not (model._abstract or model._transient or limits.is_denied(name))
            and model._auto
        ]
        cls.person = new_test_user(cls.env, "hidden_all", groups=",".join(GROUPS))
        cls.rules = cls.env["woow_paas_platform.record_access"]

    def _reach(self, hidden=()):
        by_model = {}
        for model, name in hidden:
            by_model.setdefault(model, set()).add(name)
        access = {
            name: Access(model=name, hidden=frozenset(by_model.get(name, ())))
            for name in self.models
        }
        context = {"lang": "en_US", "tz": "UTC", "allowed_company_ids": self.person.company_ids.ids}
        return Reach(self.env(user=self.person.id, su=False, context=context), access)

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
            for field in self.env[model]._fields.values():
                for origin in origins(field) if field.name != "display_name" else ():
                    key = (origin.model_name, origin.name)
                    if key not in closed:
                        closed[key] = self.rules._closed_fields(frozenset([key]))
                    self.assertIn(field.name, closed[key].get(model, ()), (str(field), key))
                    asked += 1
        self.assertGreater(asked, 10_000)

    # ------------------------------------------------------------ values

    def test_no_answer_tells_a_hidden_value(self):
        fields = [
            field
            for name in self.models
            for field in self.env[name]._fields.values()
            if field.type in VALUES
            and field.store
            and field.name not in MAGIC_COLUMNS
            and str(field) not in COPIED
        ]
        random.Random(37).shuffle(fields)
        fields.sort(key=lambda field: str(field) not in FIRST)
        tried, told = [], []
        for field in fields:
            if len(tried) == TRIES:
                break
            try:
                with self.env.cr.savepoint() as savepoint:
                    record = self._written(field)
                    if record:
                        told += self._told(record, field)
                        tried.append(str(field))
                    savepoint.rollback()
            except (UserError, ValueError, psycopg2.Error):  # this field does not take it
                continue
            finally:
                self.env.invalidate_all()
        self.assertEqual(len(tried), TRIES)
        self.assertFalse(told)

    def _written(self, field):
        """A record that the person may read, with the value in this field."""
        model = self.env[field.model_name].with_context(tracking_disable=True)
        found = model.with_user(self.person).search([], limit=1, order="id").sudo()
        if not found:
            return None
        found[field.name] = VALUES[field.type]
        self.env.flush_all()
        self.env.invalidate_all()
        is_there = str(VALUES[field.type]).removesuffix(".0") in str(found[field.name])
        return found if is_there else None

    def _told(self, record, field):
        """What tells of the value though it is hidden; first that it is told as long as it is not."""
        name, model = field.name, {"model": record._name}
        if not self._reach().reaches(record, name):
            return []
        sees = self._answers(self._reach(), record, [name])
        hidden = self._reach([(record._name, name)])
        self.assertTrue(
            not sees or any(one in answer for _way, answer in sees for one in TOLD), (name, sees)
        )
        found = [
            (str(field), way[:60], line[:200])
            for way, answer in self._answers(hidden, record)
            for line in answer.splitlines()
            if any(one in line for one in TOLD)
        ]
        for tool, given in (
            ("search_records", {"fields": [name]}),
            ("search_records", {"domain": [[name, "!=", False]]}),
            ("search_records", {"order": name}),
            ("aggregate_records", {"group_by": [name]}),
            ("aggregate_records", {"measures": [f"{name}:count_distinct"]}),
            ("aggregate_records", {"measures": [f"{name}:sum"]}),
        ):
            answer = self._ask(hidden, tool, {**model, **given})
            if "There is no field" not in answer:
                found.append((str(field), tool, given))
        return found + self._questions(hidden, record, field)

    def _answers(self, reach, record, names=()):
        """``(way, answer)`` of all that shows this record, and records that lead to it."""
        model = {"model": record._name}
        by_id = [["id", "=", record.id]]
        yield_of = [("read_records", {**model, "ids": record.ids, "fields": list(names)})]
        if not names:
            yield_of += [
                ("search_records", {**model, "domain": by_id}),
                *self._sheets(reach, record),
                *(
                    sheet
                    for leading in self._leading(reach, record)
                    for sheet in self._sheets(reach, leading)
                ),
            ]
        answers = [(str(way), self._ask(reach, *way)) for way in yield_of]
        if not names:
            answers.append(("@", str(mentions.offered(reach, CANARY))))
        return answers

    def _sheets(self, reach, record):
        names = list(reach.fields(reach.env[record._name]))
        for at in range(0, len(names), MAX_FIELDS):
            given = {
                "model": record._name,
                "ids": record.ids,
                "fields": names[at : at + MAX_FIELDS],
            }
            yield "read_records", given

    def _leading(self, reach, record):
        for name in reach.models():
            for field in reach.fields(reach.env[name]).values():
                if field.type == "many2one" and field.store and field.comodel_name == record._name:
                    found = reach.env[name].search([(field.name, "in", record.ids)], limit=1)
                    if found:
                        yield found
                        break

    def _questions(self, reach, record, field):
        """Conditions on other fields by which the value could be guessed."""
        if field.type not in ("char", "text", "html"):
            return []
        found = []
        for other in reach.fields(reach.env[record._name]).values():
            if other.type not in ("char", "text", "html") or not other.store:
                continue
            domain = [["id", "=", record.id], [other.name, "ilike", CANARY]]
            given = {"model": record._name, "domain": domain}
            about_nothing = {**given, "domain": [domain[0], [other.name, "ilike", NOTHING]]}
            if self._ask(reach, "search_records", given) != self._ask(
                reach, "search_records", about_nothing
            ):
                found.append((str(field), "condition", other.name))
        by_name = {"model": record._name, "domain": [["display_name", "ilike", CANARY]]}
        if "No records" not in self._ask(reach, "search_records", by_name):
            found.append((str(field), "condition", "display_name"))
        return found

    def _ask(self, reach, tool, given):
        try:
            with executor.record_errors(), self.env.cr.savepoint():
                said, data = executor.READS[tool](reach, given)
                return f"{said}\n{data}"
        except RecordError as error:
            return str(error)
